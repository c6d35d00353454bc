//! MCP sessions in columns. Their pins have a table of their own; the session's row has their number, so that its
//! deadline can stand in an index.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::super::{Row as _, SessionRow};
use super::{Binder, Column, Reader, Source, Ticks, Unreadable, signed};
use crate::clock::NANOS_PER_MILLI;

/// The columns of a session. Pins whose leases run, and how long ago the last of them lapsed, are read by two
/// expressions, and last.
pub(in super::super) const fn session_columns(
    live_pins: &'static str,
    ms_since_lapse: &'static str,
) -> [Column; 18] {
    [
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
        Column::computed(live_pins),
        Column::computed(ms_since_lapse),
    ]
}

/// Reads the columns of a session, as they mean at `now_tick`.
pub(in super::super) fn read_session<'r, S: Source<'r>>(
    columns: &mut Reader<'r, S>,
    ticks: Ticks,
    now_tick: i64,
) -> Result<SessionRow, Unreadable> {
    let mut row = SessionRow {
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

/// Gives the values of a session's columns.
pub(in super::super) fn bind_session<B: Binder>(
    row: &SessionRow,
    columns: &mut B,
    ticks: Ticks,
) -> Result<(), B::Error> {
    columns.put((&*row.id).into())?;
    columns.put(signed(row.version).into())?;
    columns.put(row.initialized.into())?;
    columns.put(row.terminated.into())?;
    columns.put(row.created_ms.into())?;
    columns.put(row.last_activity_ms.into())?;
    columns.put(ticks.ms(row.active_tick_ns).into())?;
    columns.put(row.unpinned_tick_ns.map(|tick| ticks.ms(tick)).into())?;
    columns.put(row.expires_at().map(|deadline| ticks.deadline_ms(deadline)).into())?;
    columns.put(row.idle_timeout_ms.into())?;
    columns.put(row.initialization_timeout_ms.into())?;
    columns.put(row.instance.into())?;
    columns.put((&*row.endpoint).into())?;
    columns.put(row.partition.as_deref().into())?;
    columns.put((&*row.snapshot).into())?;
    columns.put(i64::from(row.pins).into())
}
