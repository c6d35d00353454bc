//! Waiting for a task to change. A wait is "until the revision is above the one seen", so that nothing is
//! missed between a read and a wait; a task that expires meanwhile ends it, by a timer of the wait's own.

#![forbid(unsafe_code)]

use std::time::Duration;

use super::render;
use super::transitions::not_found;
use crate::error::Result;
use crate::events::Look;
use crate::store::{Row, TaskRow, TaskTable};
use crate::sync::atomic::AtomicBool;
use crate::text::Text;

/// Shortest time between two looks that nobody asked for: a clock that is moved by hand may stand right before
/// an expiry for ever.
const SHORTEST_TIMER: Duration = Duration::from_millis(1);

/// The record as soon as its revision is above `seen_revision`.
pub(super) fn wait_task(
    table: &dyn TaskTable,
    closed: &AtomicBool,
    task_id: &str,
    seen_revision: u64,
    timeout: Option<Duration>,
) -> Result<Text> {
    table.hub().wait(task_id, timeout, closed, &mut || {
        let mut look = None;
        let tick_ns = table.now()?.tick_ns;
        table.read(task_id, &mut |row| {
            look = Some(if row.revision > seen_revision {
                Look::Ready(render::record(row))
            } else {
                Look::Again(time_to_live(row, tick_ns))
            });
        })?;
        look.ok_or_else(not_found)
    })
}

fn time_to_live(row: &TaskRow, tick_ns: i64) -> Option<Duration> {
    let left_ns = row.expires_at()?.saturating_sub(tick_ns);
    Some(Duration::from_nanos(u64::try_from(left_ns).unwrap_or(0)).max(SHORTEST_TIMER))
}
