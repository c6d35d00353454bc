//! MCP sessions in their table. Pins are leases: each holder, that is each open store of a process, has a row
//! of its own that it renews while it lives. What a holder that ended left behind lapses, and the session's
//! idle time begins at that instant.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::super::{Row as _, SessionRow};
use super::columns::{Binder, Column, Statements, select};
use super::row::{HEAD_COLUMNS, Place, Reader, SEQUENCE_BITS, SqlRow, Ticks, Unreadable, signed};
use super::table::system_ms;
use super::writer::Transaction;
use crate::clock::NANOS_PER_MILLI;
use crate::events::EventKind;

/// How long a pin holds when its holder does not renew it.
pub(super) const PIN_LEASE_MS: i64 = 30_000;

/// Pins whose leases run.
const LIVE_PINS: &str = "CASE WHEN t.pins > 0 THEN (SELECT coalesce(sum(p.pins), 0) FROM session_pins p \
     WHERE p.session = t.sequence AND p.lease_until > ?2) END";
/// How long ago the last lease lapsed.
const MS_SINCE_LAPSE: &str = "CASE WHEN t.pins > 0 THEN (SELECT ?2 - max(p.lease_until) FROM session_pins p \
     WHERE p.session = t.sequence) END";

const PIN: &str = "INSERT INTO session_pins (session, holder, pins, lease_until) VALUES (?1, ?2, ?3, ?4) \
     ON CONFLICT (session, holder) DO UPDATE SET pins = pins + excluded.pins, lease_until = excluded.lease_until";

const UNPIN: &str = "UPDATE session_pins SET pins = pins - ?3 WHERE session = ?1 AND holder = ?2";

const DROP_PINS: &str = "DELETE FROM session_pins WHERE session = ?1 AND (pins <= 0 OR lease_until <= ?2)";

const COUNT_PINS: &str = "SELECT coalesce(sum(pins), 0) FROM session_pins WHERE session = ?1";

/// Sessions of a name on which a lease lapsed: `?1` the first sequence number of the name, `?3` the first of
/// the next, `?2` the system's time, `?4` at most.
const LAPSED: &str = "WHERE t.sequence IN (SELECT session FROM session_pins WHERE lease_until <= ?2 \
     AND session >= ?1 AND session < ?3 LIMIT ?4)";

impl SqlRow for SessionRow {
    const KIND: &'static str = "session";
    const TABLE: &'static str = "sessions";
    const COLUMNS: &'static [Column] = &[
        Column::fixed("id"),
        Column::changing("version"),
        Column::changing("initialized"),
        Column::changing("terminated"),
        Column::fixed("created_at"),
        Column::changing("last_activity_at"),
        Column::changing("active_at"),
        Column::changing("unpinned_at"),
        Column::changing_for_index("expires_at"),
        Column::changing("idle_timeout_ms"),
        Column::changing("initialization_timeout_ms"),
        Column::fixed("instance"),
        Column::fixed("endpoint"),
        Column::fixed("authorization_partition"),
        Column::changing("snapshot").concealed_as("'{}'"),
        Column::changing("pins"),
        Column::computed(LIVE_PINS),
        Column::computed(MS_SINCE_LAPSE),
    ];
    const TAKES_SLOT: &'static str = "NOT t.terminated";
    const HAS_CLAIM: &'static str = "t.endpoint = ?5 AND t.authorization_partition IS ?6";

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

    fn bind(&self, columns: &mut Binder<'_, '_>, ticks: Ticks) -> rusqlite::Result<()> {
        columns.put(&*self.id)?;
        columns.put(signed(self.version))?;
        columns.put(self.initialized)?;
        columns.put(self.terminated)?;
        columns.put(self.created_ms)?;
        columns.put(self.last_activity_ms)?;
        columns.put(ticks.ms(self.active_tick_ns))?;
        columns.put(self.unpinned_tick_ns.map(|tick| ticks.ms(tick)))?;
        columns.put(self.expires_at().map(|deadline| ticks.deadline_ms(deadline)))?;
        columns.put(self.idle_timeout_ms)?;
        columns.put(self.initialization_timeout_ms)?;
        columns.put(self.instance)?;
        columns.put(&*self.endpoint)?;
        columns.put(self.partition.as_deref())?;
        columns.put(&*self.snapshot)?;
        columns.put(self.pins)
    }

    fn update(
        &self,
        old: &Self,
        statements: &Statements,
        transaction: &Transaction<'_>,
        place: Place,
        ticks: Ticks,
    ) -> rusqlite::Result<()> {
        let pins = i64::from(self.pins) - i64::from(old.pins);
        if pins == 0 {
            return statements.update(self, transaction, place, ticks);
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
        let row = Self { pins: held, unpinned_tick_ns, ..self.clone() };
        statements.update(&row, transaction, place, ticks)
    }

    fn deleted(transaction: &Transaction<'_>, place: Place) -> rusqlite::Result<()> {
        transaction.execute("DELETE FROM session_pins WHERE session = ?1", (place.sequence,)).map(|_| ())
    }

    fn settle(
        statements: &Statements,
        transaction: &Transaction<'_>,
        name: i64,
        ticks: Ticks,
        now_tick: i64,
        most: i64,
    ) -> rusqlite::Result<()> {
        let system_ms = system_ms();
        let values = (name << SEQUENCE_BITS, system_ms, (name + 1) << SEQUENCE_BITS, most);
        let lapsed = transaction.query_all(&select::<Self>(LAPSED), values, |columns| {
            Ok((columns.get(0)?, Self::read(&mut Reader::new(columns, HEAD_COLUMNS), ticks, now_tick)))
        })?;
        for (sequence, row) in lapsed {
            if let Ok(row) = row {
                statements.update(&row, transaction, Place { name, sequence }, ticks)?;
            }
            transaction.execute(DROP_PINS, (sequence, system_ms))?;
        }
        Ok(())
    }

    fn events(_old: Option<&Self>, _new: &Self, _is_replicated: bool) -> &'static [EventKind] {
        &[]
    }
}
