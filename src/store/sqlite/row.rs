//! How a kind of record stands in its table: its columns, and the way between them and a record. Everything else, the transition, the limit, the expiry, is written once over this trait.

#![forbid(unsafe_code)]

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row as Columns};

use super::super::Row;
use super::super::sql::{Column, Source, SqlValue};
pub(super) use super::super::sql::{SEQUENCE_BITS, Ticks, Unreadable, signed};
use super::columns::{Binder, Statements};
use super::pins::Ended;
use super::table::SqlTable;
use super::writer::Transaction;
use crate::clock::Now;
use crate::events::EventKind;

/// A row's place: the name that it belongs to, and its sequence number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) name: i64,
    pub(super) sequence: i64,
}

/// A record that has a table.
pub(super) trait SqlRow: Row {
    /// What `names.kind` says.
    const KIND: &'static str;
    /// Its table. It has the columns `sequence`, `name`, `id` and `expires_at`, and those of [`Self::COLUMNS`].
    const TABLE: &'static str;
    /// Its columns, in the order in which [`Self::read`] and [`Self::bind`] go through them.
    const COLUMNS: &'static [Column];
    /// Whether a row takes a slot, in SQL.
    const TAKES_SLOT: &'static str;
    /// The column that grows with every change that a waiter waits for.
    const REVISION: &'static str;
    /// Whether a caller has a claim to a row, in SQL: `?5` is the endpoint, `?6` the partition or owner.
    const HAS_CLAIM: &'static str;

    /// Reads the columns, as they mean at `now_tick`.
    fn read(columns: &mut Reader<'_, '_>, ticks: Ticks, now_tick: i64) -> Result<Self, Unreadable>;

    /// Gives the value of each column of the table.
    fn bind(&self, columns: &mut Binder<'_, '_>, ticks: Ticks) -> rusqlite::Result<()>;

    /// Inserts the row.
    fn insert(
        &self,
        statements: &Statements,
        transaction: &Transaction<'_>,
        place: Place,
        ticks: Ticks,
    ) -> rusqlite::Result<()> {
        statements.insert(self, transaction, place, ticks)
    }

    /// Writes what may differ from `old`.
    fn update(
        &self,
        _old: &Self,
        statements: &Statements,
        transaction: &Transaction<'_>,
        place: Place,
        ticks: Ticks,
    ) -> rusqlite::Result<()> {
        statements.update(self, transaction, place, ticks)
    }

    /// Corrects a row that was read by what this process knew before and the file did not say yet.
    fn correct(
        &mut self,
        _sequence: i64,
        _ended: &[Ended],
        _connection: &Connection,
    ) -> rusqlite::Result<()> {
        Ok(())
    }

    /// What else is deleted with the row.
    fn deleted(_transaction: &Transaction<'_>, _place: Place) -> rusqlite::Result<()> {
        Ok(())
    }

    /// The row is about to be removed because it has expired.
    fn expiring(&self, _transaction: &Transaction<'_>, _sequence: i64) -> rusqlite::Result<()> {
        Ok(())
    }

    /// Writes what time alone changed in rows of this table, at most `most` of them, and says how many.
    fn settle(
        _table: &SqlTable<Self>,
        _transaction: &Transaction<'_>,
        _now: Now,
        _most: usize,
    ) -> rusqlite::Result<usize> {
        Ok(0)
    }

    /// A row of this table was stored.
    fn stored(_table: &SqlTable<Self>, _row: &Self) {}

    /// A row of this table was removed because it had expired.
    fn expired(_table: &SqlTable<Self>, _row: &Self) {}

    /// What event queues in other processes are told of this change, which another node may have made first.
    fn events(old: Option<&Self>, new: &Self, is_replicated: bool) -> &'static [EventKind];

    /// Whether the row was read without its texts, since these are damaged.
    fn is_damaged(&self) -> bool {
        false
    }
}

/// What every row begins with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) sequence: i64,
    pub(super) expires_at_ms: Option<i64>,
    pub(super) takes_slot: bool,
}

/// Columns of [`Head`].
pub(super) const HEAD_COLUMNS: usize = 3;

impl Head {
    /// Reads the columns from `at` on; `None` when there is no row.
    pub(super) fn read(columns: &Columns<'_>, at: usize) -> rusqlite::Result<Option<Self>> {
        let Some(sequence) = columns.get(at)? else { return Ok(None) };
        Ok(Some(Self {
            sequence,
            // Whatever else stands there does not end the row.
            expires_at_ms: columns.get_ref(at + 1)?.as_i64().ok(),
            takes_slot: columns.get_ref(at + 2)?.as_i64().ok() != Some(0),
        }))
    }
}

/// What a writer must know beside the row.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteContext {
    /// Whether the name's slots are counted, which begins with the first limit.
    pub(super) is_counted: bool,
    /// Whether another process listens for events.
    pub(super) is_heard: bool,
    /// The highest sequence number that was ever given under the name.
    pub(super) last_sequence: i64,
}

/// Columns of [`WriteContext`].
pub(super) const WRITE_CONTEXT_COLUMNS: usize = 3;

impl WriteContext {
    pub(super) fn read(columns: &Columns<'_>) -> rusqlite::Result<Self> {
        Ok(Self { is_counted: columns.get(0)?, is_heard: columns.get(1)?, last_sequence: columns.get(2)? })
    }
}

/// Reads columns one after another.
pub(super) type Reader<'r, 's> = super::super::sql::Reader<'r, &'r Columns<'s>>;

impl<'r> Source<'r> for &'r Columns<'_> {
    fn value(&self, at: usize) -> Result<SqlValue<'r>, Unreadable> {
        Ok(match self.get_ref(at).map_err(|_| Unreadable)? {
            ValueRef::Null => SqlValue::Integer(None),
            ValueRef::Integer(number) => number.into(),
            ValueRef::Text(bytes) => SqlValue::Text(Some(bytes)),
            ValueRef::Blob(bytes) => bytes.into(),
            ValueRef::Real(_) => SqlValue::Other,
        })
    }
}

/// Reads a row. A row that there is no memory for is not one that cannot be read.
pub(super) fn read_row<R: SqlRow>(
    mut columns: Reader<'_, '_>,
    ticks: Ticks,
    now_tick: i64,
) -> rusqlite::Result<Result<R, Unreadable>> {
    let row = R::read(&mut columns, ticks, now_tick);
    check_room(&columns)?;
    Ok(row)
}

/// Fails when there was no memory for what a column held.
pub(super) fn check_room(columns: &Reader<'_, '_>) -> rusqlite::Result<()> {
    if columns.lacks_room() {
        return Err(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOMEM),
            None,
        ));
    }
    Ok(())
}
