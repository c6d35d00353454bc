//! Waiting for a task to change. A wait is "until the revision is above the one seen", so that nothing is
//! missed between a read and a wait; a task that expires meanwhile ends it, by a timer of the wait's own.

#![forbid(unsafe_code)]

use std::time::Duration;

use super::transitions::not_found;
use super::{lapse, render};
use crate::clock::Now;
use crate::error::Result;
use crate::events::Look;
use crate::store::{TaskRow, TaskTable, time_left, timer};
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
        let now = table.now()?;
        table.read(task_id, &mut |row| {
            let row = lapse::as_of(row, now);
            look = Some(if row.revision > seen_revision {
                Look::Ready(render::record(&row))
            } else {
                Look::Again(time_to_next(&row, now))
            });
        })?;
        look.ok_or_else(not_found)
    })
}

/// How long it takes until time alone changes the task.
fn time_to_next(row: &TaskRow, now: Now) -> Option<Duration> {
    let lapse = row.ends_at().map(|ends| timer(ends, now));
    time_left(row, now.tick_ns).into_iter().chain(lapse).min()
}
