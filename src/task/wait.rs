//! Waiting for a task to change. A wait is "until the revision is above the one seen", so that nothing is
//! missed between a read and a wait; a task that expires meanwhile ends it, by a timer of the wait's own.

#![forbid(unsafe_code)]

use std::time::Duration;

use super::render;
use super::transitions::not_found;
use crate::error::Result;
use crate::events::Look;
use crate::store::{TaskTable, time_left};
use crate::sync::atomic::AtomicBool;
use crate::text::Text;

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
                Look::Again(time_left(row, tick_ns))
            });
        })?;
        look.ok_or_else(not_found)
    })
}
