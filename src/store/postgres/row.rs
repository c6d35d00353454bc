//! How a kind of record stands in its table on PostgreSQL. Everything else, the transition, the limit, the expiry, is
//! written once over this trait.

#![forbid(unsafe_code)]

use super::super::Row;
use super::super::sql::Column;
pub(super) use super::super::sql::{SEQUENCE_BITS, Ticks, Unreadable, signed};
use super::columns::{Binder, INSERT_PARAMETERS, Statements, bind};
use super::fault::{Failure, Fault};
use super::pins::Ended;
use super::table::PgTable;
use super::transaction::Transaction;
use super::values::{self, Values, values};
use crate::clock::Now;
use crate::error::Result;
use crate::events::EventKind;

/// Reads columns one after another.
pub(super) type Reader<'r> = super::super::sql::Reader<'r, &'r values::Row>;

/// A statement that writes a row, chosen among those of its kind.
pub(super) struct Write<'s> {
    pub(super) sql: &'s str,
    pub(super) values: Values,
}

/// What an insert must know beside the row.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewRow {
    pub(super) name: i64,
    /// Only while less slots than that are taken.
    pub(super) limit: Option<i64>,
    /// When the row was made, by what is known here of the server's time, which then dates it.
    pub(super) made_at_ms: Option<i64>,
    /// This store's number among the listeners.
    pub(super) store: i64,
}

impl NewRow {
    pub(super) fn values(&self) -> Values {
        let values = values![self.name, self.limit, self.made_at_ms, self.store];
        debug_assert_eq!(values.len(), INSERT_PARAMETERS);
        values
    }
}

/// A record that has a table.
pub(super) trait PgRow: Row {
    /// What `names.kind` says.
    const KIND: &'static str;
    /// Its table, without the store's prefix.
    const TABLE: &'static str;
    /// Its columns, in the order in which [`Self::read`] and [`Self::bind`] go through them.
    const COLUMNS: &'static [Column];
    /// Whether a row takes a slot, in SQL.
    const TAKES_SLOT: &'static str;
    /// The version that every write moves, in SQL.
    const VERSION: &'static str = "t.row_version";
    /// The column that grows with every change that a waiter waits for.
    const REVISION: &'static str;
    /// Whether a caller has a claim to a row, in SQL: `$5` is the endpoint, `$6` the partition or owner.
    const HAS_CLAIM: &'static str;
    /// A text that is read with the row's head for [`Self::correct`], in SQL.
    const BESIDE: &'static str = "NULL::text";
    /// Instants that are counted from the row's creation: they move with it when that is dated by the server.
    const DATED: &'static [&'static str] = &[];
    /// When a new row was created, in SQL, where the server dates it.
    const CREATED_AT: &'static str = "NULL::bigint";
    /// Whether `expires_at` alone says when the row ends.
    const EXPIRES_BY_COLUMN: bool;
    /// Tables with what belongs to a row, and their columns with its sequence number, in the order in which they are
    /// locked.
    const DEPENDENTS: &'static [(&'static str, &'static str)];
    /// The tables of these that are locked before the row itself.
    const LOCKED_FIRST: &'static [(&'static str, &'static str)] = &[];
    /// What is locked before expired rows are: a `WITH` before the statement, and a condition.
    const LOCK_EXPIRED: (&'static str, &'static str) = ("", "");

    /// Whether rows may belong to an operation.
    const HAS_OPERATIONS: bool = false;

    /// The key of its operation, if it has one.
    fn operation(&self) -> Option<[u8; 32]> {
        None
    }

    /// Statements beside those that every kind has.
    fn variants() -> Vec<String> {
        Vec::new()
    }

    /// Reads the columns, as they mean at `now_tick`.
    fn read(columns: &mut Reader<'_>, ticks: Ticks, now_tick: i64) -> std::result::Result<Self, Unreadable>;

    /// Gives the value of each column of the table.
    fn bind(
        &self,
        columns: &mut Binder<'_>,
        ticks: Ticks,
    ) -> std::result::Result<(), std::convert::Infallible>;

    /// The statement that inserts the row.
    fn insert<'s>(&self, statements: &'s Statements, new: &NewRow, ticks: Ticks) -> Write<'s> {
        let mut values = new.values();
        bind(self, &mut values, true, ticks);
        Write { sql: &statements.insert, values }
    }

    /// The statement that writes what may differ from `old`, which was read with `head`.
    fn update<'s>(
        &self,
        _old: &Self,
        head: Head,
        table: &'s PgTable<Self>,
    ) -> std::result::Result<Write<'s>, Failure> {
        let mut values = values![head.sequence, head.version, table.shared.manual_ms()];
        bind(self, &mut values, false, table.shared.ticks);
        Ok(Write { sql: &table.statements.update, values })
    }

    /// Corrects a row that was read by what this process knew before and the database did not say yet. `beside` is
    /// what [`Self::BESIDE`] gave.
    fn correct(&mut self, _beside: &str, _ended: &[Ended]) {}

    /// The row is about to be removed because it has expired.
    fn expiring(
        &self,
        _transaction: &mut Transaction<'_>,
        _sequence: i64,
    ) -> std::result::Result<(), Failure> {
        Ok(())
    }

    /// Writes what time alone changed in rows of this table, at most `most` of them, and says how many.
    fn settle(_table: &PgTable<Self>, _most: usize) -> Result<usize> {
        Ok(0)
    }

    /// A row of this table was stored.
    fn stored(_table: &PgTable<Self>, _row: &Self) {}

    /// A row of this table was removed because it had expired.
    fn expired(_table: &PgTable<Self>, _row: &Self) {}

    /// What event queues in other processes are told of this change, which another node may have made first.
    fn events(old: Option<&Self>, new: &Self, is_replicated: bool) -> &'static [EventKind];

    /// Whether somebody may wait for this change.
    fn is_news(_old: Option<&Self>, _new: &Self) -> bool {
        false
    }

    /// The queue in which this change made something due, now or later.
    fn queue_changed<'r>(_old: Option<&Self>, _new: &'r Self) -> Option<&'r str> {
        None
    }

    /// Whether the row was read without its texts, since these are damaged.
    fn is_damaged(&self) -> bool {
        false
    }
}

/// What every row begins with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) sequence: i64,
    pub(super) version: i64,
    pub(super) expires_at_ms: Option<i64>,
}

/// Columns of [`Head`], and the text beside it.
pub(super) const HEAD_COLUMNS: usize = 4;

impl Head {
    /// Reads the columns from `at` on; `None` when there is no row.
    pub(super) fn read(columns: &values::Row, at: usize) -> Option<Self> {
        if columns.is_null(at) {
            return None;
        }
        Some(Self {
            sequence: columns.integer(at),
            version: columns.integer(at + 1),
            expires_at_ms: columns.optional_integer(at + 2),
        })
    }
}

/// A row that was found.
pub(super) struct Stored<R> {
    pub(super) head: Head,
    pub(super) row: std::result::Result<R, Unreadable>,
}

impl<R: PgRow> Stored<R> {
    /// Reads the columns from `at` on; `None` when there is no row. Holders that `ended` here count no more.
    pub(super) fn read(
        columns: &values::Row,
        at: usize,
        ticks: Ticks,
        now: Now,
        ended: &[Ended],
    ) -> std::result::Result<Option<Self>, Fault> {
        let Some(head) = Head::read(columns, at) else { return Ok(None) };
        let mut reader = Reader::new(columns, at + HEAD_COLUMNS);
        let mut row = R::read(&mut reader, ticks, now.tick_ns);
        if let Ok(row) = &mut row
            && !ended.is_empty()
            && !columns.is_null(at + HEAD_COLUMNS - 1)
        {
            row.correct(&columns.text(at + HEAD_COLUMNS - 1), ended);
        }
        if reader.lacks_room() {
            return Err(Fault::NoRoom);
        }
        Ok(Some(Self { head, row }))
    }

    /// Whether it is gone. The row knows best; the column speaks for one that cannot be read.
    pub(super) fn is_expired(&self, now: Now) -> bool {
        match &self.row {
            Ok(row) => row.expires_at().is_some_and(|deadline| deadline <= now.tick_ns),
            Err(Unreadable) => self.head.expires_at_ms.is_some_and(|deadline| deadline <= now.wall_ms),
        }
    }
}
