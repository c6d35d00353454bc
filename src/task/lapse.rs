//! What time alone does to a task: the lapse of a lease. It is a function of the row and the time, applied before a
//! row is shown or judged, so that every answer agrees whether the lapse was stored or not.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::Arc;

use super::lease::without_lease;
use crate::clock::Now;
use crate::store::{TaskRow, TaskStatus, Work};

/// With what a task fails whose last attempt was abandoned.
const ABANDONED: &str = r#"{"code":-32603,"message":"The work on this task was abandoned."}"#;

/// The row that the lapse of its lease has ended. `None` while there is no such lapse.
#[inline]
pub(crate) fn ended(row: &TaskRow, now: Now) -> Option<TaskRow> {
    if row.work.is_some() { ended_work(row, now) } else { None }
}

fn ended_work(row: &TaskRow, now: Now) -> Option<TaskRow> {
    let lapse = row.ends_at().filter(|lapse| lapse.has_come(now))?;
    let status = row.ends_as();
    let texts = match status {
        TaskStatus::Failed => row.texts.with_outcome(ABANDONED),
        _ => row.texts.clone(),
    };
    Some(TaskRow {
        texts,
        status,
        updated_ms: row.updated_ms.max(lapse.wall_ms),
        status_message: None,
        revision: row.revision + 1,
        input: None,
        work: without_lease(row),
        ..row.clone()
    })
}

/// The row as it is to be shown: ended, or available again some time after a lapse.
#[inline]
pub(crate) fn as_of(row: &TaskRow, now: Now) -> Cow<'_, TaskRow> {
    match row.work.as_deref() {
        Some(work) => work_as_of(row, work, now),
        None => Cow::Borrowed(row),
    }
}

fn work_as_of<'r>(row: &'r TaskRow, work: &Work, now: Now) -> Cow<'r, TaskRow> {
    if let Some(ended) = ended(row, now) {
        return Cow::Owned(ended);
    }
    match lapsed_available_at(work, now) {
        Some(available_at) if work.available_at != Some(available_at) => {
            let work = Work { available_at: Some(available_at), ..work.clone() };
            Cow::Owned(TaskRow { work: Some(Arc::new(work)), ..row.clone() })
        }
        _ => Cow::Borrowed(row),
    }
}

/// When work whose lease has lapsed may begin again; `None` for any other.
pub(crate) fn lapsed_available_at(work: &Work, now: Now) -> Option<crate::clock::Moment> {
    work.available_at?;
    let lease = work.lease.as_ref().filter(|lease| lease.ends.has_come(now))?;
    Some(work.available_after(lease))
}
