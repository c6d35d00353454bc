//! MCP sessions in their table. Their pins have a table of their own ([`super::pins`]); the session's row has their
//! number, so that its deadline can stand in an index.

#![forbid(unsafe_code)]

use std::sync::Arc;

use rusqlite::Connection;

use super::super::{Row as _, SessionRow};
use super::columns::{Binder, Column};
use super::pins::{self, Ended};
use super::row::{Place, Reader, SqlRow, Ticks, Unreadable, signed};
use super::table::SqlTable;
use super::watchers;
use super::writer::Transaction;
use crate::clock::{NANOS_PER_MILLI, Now};
use crate::events::EventKind;

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
        Column::computed(pins::LIVE_PINS),
        Column::computed(pins::MS_SINCE_LAPSE),
    ];
    const TAKES_SLOT: &'static str = "NOT t.terminated";
    const REVISION: &'static str = "version";
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

    fn correct(&mut self, sequence: i64, ended: &[Ended], connection: &Connection) -> rusqlite::Result<()> {
        pins::leave_out_ended(self, sequence, ended, connection)
    }

    fn deleted(transaction: &Transaction<'_>, place: Place) -> rusqlite::Result<()> {
        transaction.execute("DELETE FROM session_pins WHERE session = ?1", (place.sequence,))?;
        watchers::forget_session(transaction, place.sequence)
    }

    fn expiring(&self, transaction: &Transaction<'_>, sequence: i64) -> rusqlite::Result<()> {
        watchers::tell(transaction, sequence, self)
    }

    fn settle(
        table: &SqlTable<Self>,
        transaction: &Transaction<'_>,
        now: Now,
        most: usize,
    ) -> rusqlite::Result<usize> {
        pins::settle(table, transaction, now, most)
    }

    fn events(_old: Option<&Self>, _new: &Self, _is_replicated: bool) -> &'static [EventKind] {
        &[]
    }
}
