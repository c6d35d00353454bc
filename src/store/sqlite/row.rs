//! How a kind of record stands in its table: its columns, and the way between them and a record. Everything else, the transition, the limit, the expiry, is written once over this trait.

#![forbid(unsafe_code)]

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row as Columns};

use super::super::Row;
use super::columns::{Binder, Column, Statements};
use super::pins::Ended;
use super::table::SqlTable;
use super::writer::Transaction;
use crate::clock::{NANOS_PER_MILLI, Now};
use crate::events::EventKind;
use crate::text::check_room;

/// Bits of a sequence number that count within one name. The name's number stands above them, so that the rows
/// of one name lie together and in order of creation.
pub(super) const SEQUENCE_BITS: u32 = 40;

/// The columns hold something that this library did not write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unreadable;

/// The way between ticks and the milliseconds since 1970 that the file holds. Ticks count from when the store
/// was opened, so that they fit for centuries around any clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    pub(super) base_ms: i64,
}

impl Ticks {
    /// The tick of an instant.
    pub(super) fn tick(self, ms: i64) -> i64 {
        ms.saturating_sub(self.base_ms).saturating_mul(NANOS_PER_MILLI)
    }

    /// The instant of a tick.
    pub(super) fn ms(self, tick_ns: i64) -> i64 {
        self.base_ms.saturating_add(tick_ns.div_euclid(NANOS_PER_MILLI))
    }

    /// The first whole millisecond that is not before a tick.
    pub(super) fn deadline_ms(self, tick_ns: i64) -> i64 {
        self.base_ms
            .saturating_add(tick_ns.div_euclid(NANOS_PER_MILLI))
            .saturating_add(i64::from(tick_ns.rem_euclid(NANOS_PER_MILLI) > 0))
    }
}

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
pub(super) struct Reader<'r, 's> {
    columns: &'r Columns<'s>,
    at: usize,
    is_thorough: bool,
    /// Whether there was no memory for what a column holds.
    lacks_room: bool,
}

/// Reads a row. A row that there is no memory for is not one that cannot be read.
pub(super) fn read_row<R: SqlRow>(
    mut columns: Reader<'_, '_>,
    ticks: Ticks,
    now_tick: i64,
) -> rusqlite::Result<Result<R, Unreadable>> {
    let row = R::read(&mut columns, ticks, now_tick);
    columns.check_room()?;
    Ok(row)
}

impl<'r, 's> Reader<'r, 's> {
    pub(super) fn new(columns: &'r Columns<'s>, at: usize) -> Self {
        Self { columns, at, is_thorough: false, lacks_room: false }
    }

    /// One that also parses every JSON text.
    pub(super) fn thorough(columns: &'r Columns<'s>, at: usize) -> Self {
        Self { columns, at, is_thorough: true, lacks_room: false }
    }

    /// Fails when there was no memory for what a column holds.
    pub(super) fn check_room(&self) -> rusqlite::Result<()> {
        if self.lacks_room {
            return Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOMEM),
                None,
            ));
        }
        Ok(())
    }

    fn value(&mut self) -> Result<ValueRef<'r>, Unreadable> {
        self.at += 1;
        self.columns.get_ref(self.at - 1).map_err(|_| Unreadable)
    }

    pub(super) fn text(&mut self) -> Result<&'r str, Unreadable> {
        self.optional_text()?.ok_or(Unreadable)
    }

    pub(super) fn optional_text(&mut self) -> Result<Option<&'r str>, Unreadable> {
        match self.value()? {
            ValueRef::Null => Ok(None),
            // It is copied into a row, and once more to be put together with the other texts.
            ValueRef::Text(bytes) if check_room(2 * bytes.len()).is_err() => {
                self.lacks_room = true;
                Err(Unreadable)
            }
            ValueRef::Text(bytes) => simdutf8::basic::from_utf8(bytes).map(Some).map_err(|_| Unreadable),
            _ => Err(Unreadable),
        }
    }

    pub(super) fn optional_bytes(&mut self) -> Result<Option<&'r [u8]>, Unreadable> {
        self.value()?.as_blob_or_null().map_err(|_| Unreadable)
    }

    pub(super) fn integer(&mut self) -> Result<i64, Unreadable> {
        self.value()?.as_i64().map_err(|_| Unreadable)
    }

    pub(super) fn optional_integer(&mut self) -> Result<Option<i64>, Unreadable> {
        self.value()?.as_i64_or_null().map_err(|_| Unreadable)
    }

    pub(super) fn flag(&mut self) -> Result<bool, Unreadable> {
        match self.integer()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Unreadable),
        }
    }

    /// A count that this library keeps as `u64` and SQLite as a signed number.
    pub(super) fn count(&mut self) -> Result<u64, Unreadable> {
        u64::try_from(self.integer()?).map_err(|_| Unreadable)
    }

    /// A JSON text. It was validated when it came, so that a read looks only at its two ends.
    pub(super) fn json(&mut self) -> Result<&'r str, Unreadable> {
        let text = self.text()?;
        self.check_json(text)?;
        Ok(text)
    }

    /// A JSON text, or NULL.
    pub(super) fn optional_json(&mut self) -> Result<Option<&'r str>, Unreadable> {
        let text = self.optional_text()?;
        text.map_or(Ok(()), |text| self.check_json(text))?;
        Ok(text)
    }

    /// A JSON text whose parts are needed, or NULL.
    pub(super) fn optional_parsed(&mut self) -> Result<Option<&'r str>, Unreadable> {
        let text = self.optional_text()?;
        text.map_or(Ok(()), parse)?;
        Ok(text)
    }

    fn check_json(&self, text: &str) -> Result<(), Unreadable> {
        if self.is_thorough {
            return parse(text);
        }
        match text.as_bytes() {
            [b'{', .., b'}'] | [b'[', .., b']'] | [b'"', .., b'"'] => Ok(()),
            [b'{' | b'[' | b'"', ..] => Err(Unreadable),
            // Numbers and words are short.
            _ => parse(text),
        }
    }
}

fn parse(text: &str) -> Result<(), Unreadable> {
    crate::json::parse(text, u64::MAX).map(|_| ()).map_err(|_| Unreadable)
}

/// A `u64` as SQLite keeps it. Beyond a signed number it stays at the largest.
pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
