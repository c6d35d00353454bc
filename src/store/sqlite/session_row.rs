//! MCP sessions in their table. Pins are leases: each holder, that is each open store of a process, has a row
//! of its own that it renews while it lives. What a holder that ended left behind lapses, and the session's
//! idle time begins at that instant.

#![forbid(unsafe_code)]

use std::sync::Arc;

use rusqlite::params;

use super::super::{Row as _, SessionRow};
use super::row::{
    HEAD_COLUMNS, Place, Reader, SEQUENCE_BITS, SqlRow, Ticks, Unreadable, claimed, select_to_write, signed,
};
use super::table::system_ms;
use super::writer::Transaction;
use crate::clock::NANOS_PER_MILLI;
use crate::events::EventKind;

/// How long a pin holds when its holder does not renew it.
pub(super) const PIN_LEASE_MS: i64 = 30_000;

/// The columns with `$snapshot` for the last text.
macro_rules! columns_with {
    ($snapshot:expr) => {
        concat!(
            "t.sequence, t.expires_at, NOT terminated, t.id, version, initialized, terminated, created_at, \
         last_activity_at, active_at, unpinned_at, idle_timeout_ms, initialization_timeout_ms, instance, \
         endpoint, authorization_partition, ",
            $snapshot,
            ", pins, \
         CASE WHEN pins > 0 THEN (SELECT coalesce(sum(p.pins), 0) FROM session_pins p \
         WHERE p.session = t.sequence AND p.lease_until > ?2) END, \
         CASE WHEN pins > 0 THEN (SELECT ?2 - max(p.lease_until) FROM session_pins p \
         WHERE p.session = t.sequence) END"
        )
    };
}
macro_rules! columns {
    () => {
        columns_with!("snapshot")
    };
}
macro_rules! columns_claimed {
    () => {
        columns_with!(claimed!(endpoint, "snapshot", "'{}'"))
    };
}
macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), " FROM sessions t ", $rest)
    };
}

const INSERT: &str = "INSERT INTO sessions (sequence, name, id, version, initialized, terminated, created_at, \
     last_activity_at, active_at, unpinned_at, expires_at, idle_timeout_ms, initialization_timeout_ms, pins, \
     instance, endpoint, authorization_partition, snapshot) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";

const UPDATE: &str = "UPDATE sessions SET row_version = row_version + 1, version = ?2, initialized = ?3, \
     terminated = ?4, last_activity_at = ?5, active_at = ?6, unpinned_at = ?7, expires_at = ?8, pins = ?9, \
     snapshot = ?10, idle_timeout_ms = ?11, \
     initialization_timeout_ms = ?12 WHERE sequence = ?1";

const PIN: &str = "INSERT INTO session_pins (session, holder, pins, lease_until) VALUES (?1, ?2, ?3, ?4) \
     ON CONFLICT (session, holder) DO UPDATE SET pins = pins + excluded.pins, lease_until = excluded.lease_until";

const UNPIN: &str = "UPDATE session_pins SET pins = pins - ?3 WHERE session = ?1 AND holder = ?2";

const DROP_PINS: &str = "DELETE FROM session_pins WHERE session = ?1 AND (pins <= 0 OR lease_until <= ?2)";

const COUNT_PINS: &str = "SELECT coalesce(sum(pins), 0) FROM session_pins WHERE session = ?1";

/// Sessions of a name on which a lease lapsed: `?1` the first sequence number of the name, `?3` the first of
/// the next, `?2` the system's time, `?4` at most.
const LAPSED: &str = select!(
    "WHERE sequence IN (SELECT session FROM session_pins WHERE lease_until <= ?2 \
     AND session >= ?1 AND session < ?3 LIMIT ?4)"
);

impl SqlRow for SessionRow {
    const KIND: &'static str = "session";
    const SELECT: &'static str = select!("WHERE name = ?1 AND id = ?3");
    const SELECT_TO_WRITE: &'static str = select_to_write!(columns!(), "sessions");
    const SELECT_CLAIMED: &'static str =
        concat!("SELECT ", columns_claimed!(), " FROM sessions t WHERE name = ?1 AND id = ?3");
    const IS_CLAIMED: &'static str = "SELECT 1 FROM sessions WHERE name = ?1 AND id = ?2 AND endpoint = ?3 AND authorization_partition IS ?4";
    const SELECT_TO_WRITE_CLAIMED: &'static str = select_to_write!(columns_claimed!(), "sessions");
    const COUNT_SLOTS: &'static str = "SELECT count(*) FROM sessions WHERE name = ?1 AND NOT terminated";
    const SELECT_EXPIRED: &'static str =
        select!("WHERE name = ?1 AND expires_at <= ?3 ORDER BY expires_at LIMIT ?4");
    const SELECT_ALL: &'static str = select!("WHERE name = ?1");
    const DELETE: &'static str = "DELETE FROM sessions WHERE sequence = ?1";

    fn read(
        columns: &mut Reader<'_, '_>,
        ticks: Ticks,
        now_tick: i64,
    ) -> std::result::Result<Self, Unreadable> {
        let mut row = Self {
            id: columns.text()?.into(),
            version: columns.count()?,
            initialized: columns.flag()?,
            terminated: columns.flag()?,
            created_ms: columns.integer()?,
            created_tick_ns: 0,
            last_activity_ms: columns.integer()?,
            active_tick_ns: ticks.tick(columns.integer()?),
            unpinned_tick_ns: columns.optional_integer()?.map(|ms| ticks.tick(ms)),
            idle_timeout_ms: columns.integer()?,
            initialization_timeout_ms: columns.integer()?,
            instance: columns.integer()?,
            endpoint: columns.text()?.into(),
            partition: columns.optional_text()?.map(Arc::from),
            snapshot: columns.json()?.into(),
            pins: u32::try_from(columns.integer()?).map_err(|_| Unreadable)?,
        };
        row.created_tick_ns = ticks.tick(row.created_ms);
        if row.pins > 0 {
            let live = columns.optional_integer()?.unwrap_or(0);
            let lapsed_since_ms = columns.optional_integer()?.unwrap_or(0);
            row.pins = u32::try_from(live).map_err(|_| Unreadable)?;
            if row.pins == 0 {
                // Leases run by the system's time, ages by the store's.
                let since = now_tick.saturating_sub(lapsed_since_ms.saturating_mul(NANOS_PER_MILLI));
                row.unpinned_tick_ns = Some(row.unpinned_tick_ns.map_or(since, |known| known.max(since)));
            }
        }
        Ok(row)
    }

    fn insert(&self, transaction: &Transaction<'_>, place: Place, ticks: Ticks) -> rusqlite::Result<()> {
        let values = params![
            place.sequence,
            place.name,
            &*self.id,
            signed(self.version),
            self.initialized,
            self.terminated,
            self.created_ms,
            self.last_activity_ms,
            ticks.ms(self.active_tick_ns),
            self.unpinned_tick_ns.map(|tick| ticks.ms(tick)),
            self.expires_at().map(|deadline| ticks.deadline_ms(deadline)),
            self.idle_timeout_ms,
            self.initialization_timeout_ms,
            self.pins,
            self.instance,
            &*self.endpoint,
            self.partition.as_deref(),
            &*self.snapshot,
        ];
        transaction.execute(INSERT, values).map(|_| ())
    }

    fn update(
        &self,
        old: &Self,
        transaction: &Transaction<'_>,
        place: Place,
        ticks: Ticks,
    ) -> rusqlite::Result<()> {
        let pins = i64::from(self.pins) - i64::from(old.pins);
        if pins == 0 {
            return self.store(transaction, place, ticks);
        }
        let (holder, system_ms) = (transaction.holder(), system_ms());
        if pins > 0 {
            transaction.execute(PIN, (place.sequence, holder, pins, system_ms + PIN_LEASE_MS))?;
            transaction.note_pins();
        } else {
            transaction.execute(UNPIN, (place.sequence, holder, -pins))?;
        }
        transaction.execute(DROP_PINS, (place.sequence, system_ms))?;
        // A holder whose lease lapsed has nothing left to let go of, so the rest is counted.
        let held: Option<i64> = transaction.query(COUNT_PINS, (place.sequence,), |row| row.get(0))?;
        let held = u32::try_from(held.unwrap_or(0)).unwrap_or(u32::MAX);
        let unpinned_tick_ns = if held > 0 { old.unpinned_tick_ns } else { self.unpinned_tick_ns };
        Self { pins: held, unpinned_tick_ns, ..self.clone() }.store(transaction, place, ticks)
    }

    fn deleted(transaction: &Transaction<'_>, place: Place) -> rusqlite::Result<()> {
        transaction.execute("DELETE FROM session_pins WHERE session = ?1", (place.sequence,)).map(|_| ())
    }

    fn settle(
        transaction: &Transaction<'_>,
        name: i64,
        ticks: Ticks,
        now_tick: i64,
        most: i64,
    ) -> rusqlite::Result<()> {
        let system_ms = system_ms();
        let values = (name << SEQUENCE_BITS, system_ms, (name + 1) << SEQUENCE_BITS, most);
        let lapsed = transaction.query_all(LAPSED, values, |columns| {
            Ok((columns.get(0)?, Self::read(&mut Reader::new(columns, HEAD_COLUMNS), ticks, now_tick)))
        })?;
        for (sequence, row) in lapsed {
            if let Ok(row) = row {
                row.store(transaction, Place { name, sequence }, ticks)?;
            }
            transaction.execute(DROP_PINS, (sequence, system_ms))?;
        }
        Ok(())
    }

    fn event(_old: Option<&Self>, _new: &Self) -> Option<EventKind> {
        None
    }
}

impl SessionRow {
    fn store(&self, transaction: &Transaction<'_>, place: Place, ticks: Ticks) -> rusqlite::Result<()> {
        let values = params![
            place.sequence,
            signed(self.version),
            self.initialized,
            self.terminated,
            self.last_activity_ms,
            ticks.ms(self.active_tick_ns),
            self.unpinned_tick_ns.map(|tick| ticks.ms(tick)),
            self.expires_at().map(|deadline| ticks.deadline_ms(deadline)),
            self.pins,
            &*self.snapshot,
            self.idle_timeout_ms,
            self.initialization_timeout_ms,
        ];
        transaction.execute(UPDATE, values).map(|_| ())
    }
}
