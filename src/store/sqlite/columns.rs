//! The columns of each kind of row, named once. A kind lists them in the order in which it reads and binds them;
//! every statement over its table is generated from that list, once for each open table.

#![forbid(unsafe_code)]

use std::fmt::Write as _;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Statement, ToSql};

use super::super::sql::{self, Column, SqlValue};
use super::row::{Place, SqlRow, Ticks};
use super::writer::Transaction;

/// The statements over the table of one kind of row. Those that show rows begin with the columns of
/// [`super::row::Head`]; then come those that [`SqlRow::read`] reads. Where nothing else is said, `?1` is the
/// number of the name and `?2` the system's time.
#[derive(Debug)]
pub(super) struct Statements {
    /// The row with the id `?3`.
    pub(super) select: String,
    /// The same for a caller with a claim: `?5` the endpoint, `?6` the partition or owner.
    pub(super) select_claimed: String,
    /// The columns of [`super::row::WriteContext`] and those of `select`, in one row that is always there: the
    /// record's are NULL when there is none. `?4` is this store's number among the listeners.
    pub(super) select_to_write: String,
    /// The same for a caller with a claim.
    pub(super) select_to_write_claimed: String,
    /// Whether there is a row with the id `?3` to which a caller has a claim: parameters as for `select_claimed`.
    pub(super) is_claimed: String,
    /// Rows that expired until `?3`, those that expired first before others, at most `?4`.
    pub(super) select_expired: String,
    /// The row with the sequence number `?3`.
    pub(super) select_by_sequence: String,
    /// All rows with a sequence number above `?3`.
    pub(super) select_all: String,
    /// Ids behind `?2`, at most `?3`.
    pub(super) ids: String,
    /// How many rows take a slot. Has no `?2`.
    pub(super) count_slots: String,
    /// How many rows of the partition `?2` take a slot, counted up to `?3`.
    pub(super) count_in_partition: String,
    /// Makes the index that this counts by, if it is not there.
    pub(super) index_partitions: String,
    /// Sequence number and revision of the row with the id `?2`: together they tell it from what it was before a change.
    pub(super) version: String,
    /// Deletes the row with the sequence number `?1`.
    pub(super) delete: String,
    insert: String,
    update: String,
}

impl Statements {
    /// The statements of a kind.
    pub(super) fn of<R: SqlRow>() -> Self {
        let (table, takes_slot) = (R::TABLE, R::TAKES_SLOT);
        let (shown, claimed) = (shown_columns::<R>(false), shown_columns::<R>(true));
        let one = "WHERE t.name = ?1 AND t.id = ?3";
        Self {
            select: format!("SELECT {shown} FROM {table} t {one}"),
            select_claimed: format!("SELECT {claimed} FROM {table} t {one}"),
            select_to_write: to_write(table, &shown),
            select_to_write_claimed: to_write(table, &claimed),
            is_claimed: format!("SELECT 1 FROM {table} t {one} AND {}", R::HAS_CLAIM),
            select_expired: select::<R>(
                "WHERE t.name = ?1 AND t.expires_at <= ?3 ORDER BY t.expires_at LIMIT ?4",
            ),
            select_by_sequence: select::<R>("WHERE t.sequence = ?3 AND t.name = ?1 AND ?2 IS NOT NULL"),
            select_all: select::<R>("WHERE t.name = ?1 AND t.sequence > ?3"),
            ids: format!("SELECT t.id FROM {table} t WHERE t.name = ?1 AND t.id > ?2 ORDER BY t.id LIMIT ?3"),
            count_slots: format!("SELECT count(*) FROM {table} t WHERE t.name = ?1 AND {takes_slot}"),
            count_in_partition: format!(
                "SELECT count(*) FROM (SELECT 1 FROM {table} t WHERE t.name = ?1 \
                 AND t.authorization_partition IS ?2 AND {takes_slot} LIMIT ?3)"
            ),
            index_partitions: format!(
                "CREATE INDEX IF NOT EXISTS {table}_partition ON {table} (name, authorization_partition)"
            ),
            version: format!(
                "SELECT t.sequence, t.{} FROM {table} t WHERE t.name = ?1 AND t.id = ?2",
                R::REVISION
            ),
            delete: format!("DELETE FROM {table} WHERE sequence = ?1"),
            insert: insert(table, R::COLUMNS),
            update: update(table, R::COLUMNS),
        }
    }

    /// Inserts a row at a place.
    pub(super) fn insert<R: SqlRow>(
        &self,
        row: &R,
        transaction: &Transaction<'_>,
        place: Place,
        ticks: Ticks,
    ) -> rusqlite::Result<()> {
        transaction.execute_with(&self.insert, |statement| {
            statement.raw_bind_parameter(1, place.sequence)?;
            statement.raw_bind_parameter(2, place.name)?;
            bind(row, statement, Column::is_inserted, 3, ticks)
        })
    }

    /// Writes what may have changed of the row at a place.
    pub(super) fn update<R: SqlRow>(
        &self,
        row: &R,
        transaction: &Transaction<'_>,
        place: Place,
        ticks: Ticks,
    ) -> rusqlite::Result<()> {
        transaction.execute_with(&self.update, |statement| {
            statement.raw_bind_parameter(1, place.sequence)?;
            bind(row, statement, Column::is_updated, 2, ticks)
        })
    }
}

/// `SELECT` of the columns of a kind, with what follows the table's name.
pub(super) fn select<R: SqlRow>(rest: &str) -> String {
    format!("SELECT {} FROM {} t {rest}", shown_columns::<R>(false), R::TABLE)
}

fn shown_columns<R: SqlRow>(is_claimed: bool) -> String {
    let mut list = format!("t.sequence, t.expires_at, {}", R::TAKES_SLOT);
    for column in R::COLUMNS.iter().filter(|column| column.is_read()) {
        let own = column.qualified();
        let _ = match column.concealed_as {
            Some(other) if is_claimed => write!(list, ", iif({}, {own}, {other})", R::HAS_CLAIM),
            _ => write!(list, ", {own}"),
        };
    }
    list
}

fn to_write(table: &str, shown: &str) -> String {
    format!(
        "SELECT n.counted, EXISTS (SELECT 1 FROM listeners WHERE lease_until > ?2 AND listener <> ?4), \
         max(n.last_sequence, coalesce((SELECT max(sequence) FROM {table} \
         WHERE sequence < (?1 + 1) << 40 AND sequence > ?1 << 40), ?1 << 40)), {shown} \
         FROM names n LEFT JOIN {table} t ON t.name = ?1 AND t.id = ?3 WHERE n.number = ?1"
    )
}

fn insert(table: &str, columns: &[Column]) -> String {
    let (mut names, mut values) = ("sequence, name".to_owned(), "?1, ?2".to_owned());
    for (column, at) in columns.iter().filter(|column| column.is_inserted()).zip(3..) {
        let _ = write!(names, ", {}", column.sql).and_then(|()| write!(values, ", ?{at}"));
    }
    format!("INSERT INTO {table} ({names}) VALUES ({values})")
}

fn update(table: &str, columns: &[Column]) -> String {
    let changing = columns.iter().filter(|column| column.is_updated()).zip(2..);
    let assigned: Vec<String> = changing.map(|(column, at)| format!("{} = ?{at}", column.sql)).collect();
    format!("UPDATE {table} SET {} WHERE sequence = ?1", assigned.join(", "))
}

/// Binds the values of a row's columns to a statement, one after another in the order of [`SqlRow::COLUMNS`].
pub(super) struct Binder<'a, 's> {
    statement: &'a mut Statement<'s>,
    columns: std::slice::Iter<'static, Column>,
    is_wanted: fn(&Column) -> bool,
    next: usize,
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Integer(Some(number)) => ValueRef::Integer(number),
            Self::Flag(flag) => ValueRef::Integer(i64::from(flag)),
            Self::Text(Some(text)) => ValueRef::Text(text),
            Self::Bytes(Some(bytes)) => ValueRef::Blob(bytes),
            _ => ValueRef::Null,
        }))
    }
}

impl sql::Binder for Binder<'_, '_> {
    type Error = rusqlite::Error;

    /// Values that this statement does not write are passed over.
    fn put(&mut self, value: SqlValue<'_>) -> rusqlite::Result<()> {
        let column = self.columns.find(|column| column.is_inserted());
        if column.is_none_or(|column| !(self.is_wanted)(column)) {
            return Ok(());
        }
        self.next += 1;
        self.statement.raw_bind_parameter(self.next - 1, value)
    }
}

fn bind<R: SqlRow>(
    row: &R,
    statement: &mut Statement<'_>,
    is_wanted: fn(&Column) -> bool,
    first: usize,
    ticks: Ticks,
) -> rusqlite::Result<()> {
    let mut binder = Binder { statement, columns: R::COLUMNS.iter(), is_wanted, next: first };
    row.bind(&mut binder, ticks)?;
    debug_assert!(
        binder.columns.all(|column| !column.is_inserted()),
        "a column of {} has no value",
        R::TABLE
    );
    Ok(())
}
