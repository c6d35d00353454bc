//! The statements over the table of one kind of row, made once for each open table from the list of its columns.

#![forbid(unsafe_code)]

use std::fmt::Write as _;

use super::super::sql::{self, Column, SqlValue};
use super::row::{PgRow, Ticks};
use super::statement_text::{now, server_ms};
use super::values::Values;

/// Statements that show rows begin with the columns of [`super::row::Head`], behind those that are said; then come those
/// that [`PgRow::read`] reads. Where nothing else is said, `$1` is the number of the name and `$2` the time of a clock
/// that is moved by hand, or NULL.
#[derive(Debug)]
pub(super) struct Statements {
    /// The time, and the row with the id `$3`.
    pub(super) select: String,
    /// The same for a caller with a claim: `$5` the endpoint, `$6` the partition or owner.
    pub(super) select_claimed: String,
    /// The time, who listens, and the columns of the row with the id `$3`, in one row that is always there: the
    /// record's are NULL when there is none. `$4` is this store's number among the listeners.
    pub(super) select_to_write: String,
    /// The same for a caller with a claim.
    pub(super) select_to_write_claimed: String,
    /// Whether there is a row with the id `$3` to which a caller has a claim: parameters as for `select_claimed`.
    pub(super) is_claimed: String,
    /// The time, and rows that have expired, those that expired first before others, at most `$3`, locked; those that
    /// others have locked are left out.
    pub(super) select_expired: String,
    /// The time, and the row with the sequence number `$3`, locked.
    pub(super) lock: String,
    /// The same with the id `$3`.
    pub(super) lock_id: String,
    /// Lock the row with the id `$2`, and what belongs to it and is locked before it: one statement after another.
    pub(super) lock_to_write: Vec<String>,
    /// The time, and rows with a sequence number above `$3`, in its order, at most `$4`.
    pub(super) select_all: String,
    /// Ids behind `$2`, at most `$3`.
    pub(super) ids: String,
    /// How many slots are taken.
    pub(super) count_slots: String,
    /// The same, and how many of them by rows that have expired, counted up to `$3`: in one snapshot, since these may
    /// just go.
    pub(super) count_expired: String,
    /// Whether there is a row with the id `$2`, or of the operation `$3`.
    pub(super) is_taken: String,
    /// How many rows of the partition `$3` take a slot, or, without that parameter, of the anonymous one.
    pub(super) count_in_partition: [String; 2],
    /// Sequence number, revision and id of the rows with the ids `$2`.
    pub(super) versions: String,
    /// Deletes the row with the sequence number `$1` and the version `$2`, and what belongs to it.
    pub(super) delete: String,
    /// Deletes the rows with the sequence numbers `$1`, and what belongs to them: one statement after another.
    pub(super) delete_all: Vec<String>,
    /// Inserts a row.
    pub(super) insert: String,
    /// Writes what may have changed of the row with the sequence number `$1` and the version `$2`.
    pub(super) update: String,
    /// Others that a kind has.
    pub(super) variants: Vec<String>,
}

/// Parameters of an update before those of the columns: sequence number, version, time.
pub(super) const UPDATE_PARAMETERS: usize = 3;

impl Statements {
    /// The statements of a kind.
    pub(super) fn of<R: PgRow>() -> Self {
        let (table, takes_slot) = (R::TABLE, R::TAKES_SLOT);
        let (shown, claimed) = (shown_columns::<R>(false), shown_columns::<R>(true));
        let one = "WHERE t.name = $1 AND t.id = $3";
        let dependents = |what: &str| {
            let parts = R::DEPENDENTS
                .iter()
                .map(|(name, column)| what.replace("TABLE", name).replace("COLUMN", column));
            parts.collect::<String>()
        };
        let mut delete_all: Vec<String> = R::DEPENDENTS
            .iter()
            .map(|(name, column)| format!("DELETE FROM @{name} WHERE {column} = ANY ($1)"))
            .collect();
        delete_all.push(format!("DELETE FROM @{table} WHERE sequence = ANY ($1)"));
        Self {
            select: format!("SELECT {}, {shown} FROM @{table} t {one}", now!()),
            select_claimed: format!("SELECT {}, {claimed} FROM @{table} t {one}", now!()),
            select_to_write: to_write(table, &shown),
            select_to_write_claimed: to_write(table, &claimed),
            is_claimed: format!("SELECT 1::bigint FROM @{table} t {one} AND {}", R::HAS_CLAIM),
            select_expired: format!(
                "{lock}SELECT {now}, {shown} FROM @{table} t WHERE t.name = $1 AND t.expires_at <= {now} {locked} \
                 ORDER BY t.expires_at LIMIT $3 FOR UPDATE OF t SKIP LOCKED",
                lock = R::LOCK_EXPIRED.0,
                now = now!(),
                locked = R::LOCK_EXPIRED.1
            ),
            lock_id: format!("SELECT {}, {shown} FROM @{table} t {one} FOR UPDATE OF t", now!()),
            lock_to_write: lock_to_write::<R>(),
            lock: format!("SELECT {}, {shown} FROM @{table} t WHERE t.sequence = $3 AND t.name = $1 FOR UPDATE OF t", now!()),
            select_all: format!(
                "SELECT {}, {shown} FROM @{table} t WHERE t.sequence > $3 AND t.sequence < ($1 + 1) << 40 \
                 ORDER BY t.sequence LIMIT $4",
                now!()
            ),
            ids: format!("SELECT t.id FROM @{table} t WHERE t.name = $1 AND t.id > $2 ORDER BY t.id LIMIT $3"),
            count_slots: "SELECT coalesce(sum(used), 0)::bigint FROM @slots WHERE name = $1".to_owned(),
            count_expired: format!(
                "SELECT coalesce((SELECT sum(used) FROM @slots WHERE name = $1), 0)::bigint, (SELECT count(*) FROM \
                 (SELECT 1 FROM @{table} t WHERE t.name = $1 AND t.expires_at <= {} AND {takes_slot} LIMIT $3) e)",
                now!()
            ),
            is_taken: format!(
                "SELECT 1::bigint FROM @{table} WHERE name = $1 AND id = $2{}",
                if R::HAS_OPERATIONS {
                    " UNION ALL SELECT 1::bigint FROM @work WHERE name = $1 AND operation_key = $3"
                } else {
                    ""
                }
            ),
            count_in_partition: ["= $3", "IS NULL"].map(|partition| {
                format!(
                    "SELECT count(*) FROM @{table} t WHERE t.name = $1 AND t.authorization_partition {partition} \
                     AND {takes_slot} AND (t.expires_at IS NULL OR t.expires_at > {})",
                    now!()
                )
            }),
            versions: format!(
                "SELECT t.sequence, t.{}, t.id FROM @{table} t WHERE t.name = $1 AND t.id = ANY ($2)",
                R::REVISION
            ),
            delete: format!(
                "WITH d AS (DELETE FROM @{table} WHERE sequence = $1 AND row_version = $2 RETURNING sequence){} \
                 SELECT count(*) FROM d",
                dependents(", TABLE_gone AS (DELETE FROM @TABLE USING d WHERE @TABLE.COLUMN = d.sequence)")
            ),
            delete_all,
            insert: insert::<R>(),
            update: update(table, R::COLUMNS, R::EXPIRES_BY_COLUMN),
            variants: R::variants(),
        }
    }
}

/// The columns that a statement shows, with what follows: without the time.
pub(super) fn shown_columns<R: PgRow>(is_claimed: bool) -> String {
    let mut list = format!("t.sequence, {}, t.expires_at, {}", R::VERSION, R::BESIDE);
    for column in R::COLUMNS.iter().filter(|column| column.is_read()) {
        let own = column.qualified();
        let _ = match column.concealed_as {
            Some(other) if is_claimed => {
                write!(list, ", CASE WHEN {} THEN {own} ELSE {other} END", R::HAS_CLAIM)
            }
            _ => write!(list, ", {own}"),
        };
    }
    list
}

fn lock_to_write<R: PgRow>() -> Vec<String> {
    let one = format!("FROM @{} WHERE name = $1 AND id = $2", R::TABLE);
    let mut statements: Vec<String> = R::LOCKED_FIRST
        .iter()
        .map(|(table, column)| {
            format!("SELECT 1::bigint FROM @{table} WHERE {column} = (SELECT sequence {one}) FOR UPDATE")
        })
        .collect();
    statements.push(format!("SELECT 1::bigint {one} FOR UPDATE"));
    statements
}

fn to_write(table: &str, shown: &str) -> String {
    format!(
        "SELECT n.now, n.heard, {shown} FROM (SELECT coalesce($2::bigint, {ms}) AS now, \
         coalesce((SELECT bit_or(kinds) FROM @listeners WHERE lease_until > {ms} AND listener <> $4), 0) AS heard) n \
         LEFT JOIN @{table} t ON t.name = $1 AND t.id = $3",
        ms = server_ms!()
    )
}

/// `INSERT` of a row: `$1` the name, `$2` the limit of slots or NULL, `$3` when it was made or NULL, `$4` this store's
/// number among the listeners; then the columns. Gives when it was created, who listens, and its sequence number.
pub(super) fn insert<R: PgRow>() -> String {
    let table = R::TABLE;
    let (mut names, mut values) =
        ("sequence, name".to_owned(), "($1::bigint << 40) + nextval('@sequence'), $1::bigint".to_owned());
    let columns = R::COLUMNS.iter().filter(|column| column.is_inserted());
    for (column, at) in columns.zip(INSERT_PARAMETERS + 1..) {
        let _ = write!(names, ", {}", column.sql);
        values.push_str(", ");
        values.push_str(&dated::<R>(column.sql, at));
    }
    let from = if R::DATED.is_empty() { "" } else { MOVED };
    format!(
        "INSERT INTO @{table} AS t ({names}) SELECT {values}{from} WHERE $2::bigint IS NULL \
         OR (SELECT coalesce(sum(used), 0) FROM @slots WHERE name = $1) < $2 ON CONFLICT (name, id) DO NOTHING RETURNING {created_at} AS created_at, \
         coalesce((SELECT bit_or(kinds) FROM @listeners WHERE lease_until > {ms} AND listener <> $4), 0) AS heard, \
         t.sequence",
        created_at = R::CREATED_AT,
        ms = server_ms!()
    )
}

/// By how much the server's time is ahead of that at which the row was made.
pub(super) const MOVED: &str =
    concat!(" FROM (SELECT coalesce(", server_ms!(), " - $3::bigint, 0) AS ms) moved");

/// The value of a column that an insert writes: an instant moves with the row's creation, up to the end of all time.
pub(super) fn dated<R: PgRow>(column: &str, at: usize) -> String {
    if R::DATED.contains(&column) {
        format!(
            "CASE WHEN ${at} IS NOT NULL THEN least(${at} + moved.ms, {}) END",
            crate::time::WALL_RANGE_MS.end()
        )
    } else {
        format!("${at}")
    }
}

/// Parameters of an insert before those of the columns: name, limit, time, store.
pub(super) const INSERT_PARAMETERS: usize = 4;

/// How many of `columns` an insert writes.
pub(super) fn inserted(columns: &[Column]) -> usize {
    columns.iter().filter(|column| column.is_inserted()).count()
}

/// How many of `columns` an update writes.
pub(super) fn updated(columns: &[Column]) -> usize {
    columns.iter().filter(|column| column.is_updated()).count()
}

/// The assignments of an update, whose parameters begin at `first`.
pub(super) fn assignments(columns: &[Column], first: usize) -> String {
    let changing = columns.iter().filter(|column| column.is_updated()).zip(first..);
    let assigned: Vec<String> = changing.map(|(column, at)| format!("{} = ${at}", column.sql)).collect();
    assigned.join(", ")
}

fn update(table: &str, columns: &[Column], expires_by_column: bool) -> String {
    // A caller that stood still since it read the row must not bring it back.
    let alive = if expires_by_column {
        format!(" AND (expires_at IS NULL OR expires_at > (SELECT coalesce($3::bigint, {})))", server_ms!())
    } else {
        " AND ($3::bigint IS NULL OR true)".to_owned()
    };
    format!(
        "UPDATE @{table} SET {}, row_version = row_version + 1 WHERE sequence = $1 AND row_version = $2{alive}",
        assignments(columns, UPDATE_PARAMETERS + 1)
    )
}

/// Takes the values of a row's columns, one after another in the order of [`PgRow::COLUMNS`], those that a statement
/// writes.
pub(super) struct Binder<'v> {
    pub(super) values: &'v mut Values,
    columns: std::slice::Iter<'static, Column>,
    is_wanted: fn(&Column) -> bool,
}

impl sql::Binder for Binder<'_> {
    type Error = std::convert::Infallible;

    fn put(&mut self, value: SqlValue<'_>) -> Result<(), Self::Error> {
        let column = self.columns.find(|column| column.is_inserted());
        if column.is_some_and(|column| (self.is_wanted)(column)) {
            self.values.push(value);
        }
        Ok(())
    }
}

/// Adds the values of a row's columns that an insert writes, or an update.
pub(super) fn bind<R: PgRow>(row: &R, values: &mut Values, is_insert: bool, ticks: Ticks) {
    let is_wanted = if is_insert { Column::is_inserted } else { Column::is_updated };
    let mut binder = Binder { values, columns: R::COLUMNS.iter(), is_wanted };
    let Ok(()) = row.bind(&mut binder, ticks);
    debug_assert!(
        binder.columns.all(|column| !column.is_inserted()),
        "a column of {} has no value",
        R::TABLE
    );
}
