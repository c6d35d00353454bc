//! Waiting for a task's next revision. A wait is "until the revision is not the one seen": a task that was deleted
//! and saved again counts from 1 again. A task that expires meanwhile ends it, by a timer of the wait's own.

#![forbid(unsafe_code)]

use std::time::Duration;

use super::transitions::not_found;
use crate::error::Result;
use crate::events::Look;
use crate::store::{A2aTable, time_left};
use crate::sync::atomic::AtomicBool;

/// The revision as soon as it is not `seen_revision`.
pub(super) fn wait_task(
    table: &dyn A2aTable,
    closed: &AtomicBool,
    task_id: &str,
    seen_revision: u64,
    timeout: Option<Duration>,
) -> Result<u64> {
    table.hub().wait(task_id, timeout, closed, &mut || {
        let mut look = None;
        let tick_ns = table.now()?.tick_ns;
        table.read(task_id, &mut |row| {
            look = Some(if row.revision == seen_revision {
                Look::Again(time_left(row, tick_ns))
            } else {
                Look::Ready(row.revision)
            });
        })?;
        look.ok_or_else(not_found)
    })
}
