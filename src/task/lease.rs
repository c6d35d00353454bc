//! The rules of queued work: who may move a task on, and what claiming, renewing and releasing it make of it. Pure
//! functions as in `transitions`; the rows that they are shown are those that `lapse` left.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::lapse::lapsed_available_at;
use super::transitions::{Preconditions, changed, ended, updated};
use crate::clock::Now;
use crate::error::{Error, Reason, Result};
use crate::store::{Change, Lease, TaskRow, TaskStatus, Work, WorkOrder};
use crate::text::to_shared;

/// With what a task fails whose last attempt was given up without saying why.
const GIVEN_UP: &str = r#"{"code":-32603,"message":"The work on this task did not succeed."}"#;

/// Under what a worker moves a task on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Authority {
    /// It says nothing of a lease.
    #[default]
    Unstated,
    /// The lease with this token.
    Lease(u64),
    /// An operator's own.
    Forced,
}

/// Who is to hold a task, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) worker: Arc<str>,
    pub(crate) lease_ms: i64,
}

impl Hold {
    fn begin(&self, now: Now) -> Lease {
        Lease { worker: Arc::clone(&self.worker), ends: now.plus_ms(self.lease_ms) }
    }
}

/// The work of a task that is to be created.
#[derive(Clone, Debug)]
pub(crate) struct NewWork {
    pub(crate) order: Arc<WorkOrder>,
    pub(crate) delay_ms: i64,
    pub(crate) hold: Option<Hold>,
}

impl NewWork {
    /// The work of a task that is created now.
    pub(crate) fn begin(&self, now: Now) -> Work {
        let lease = self.hold.as_ref().map(|hold| hold.begin(now));
        let begun = u32::from(lease.is_some());
        Work {
            order: Arc::clone(&self.order),
            attempt: begun,
            continues_attempt: false,
            token: begun.into(),
            lease,
            available_at: self.order.queue.is_some().then(|| now.plus_ms(self.delay_ms)),
            checkpoint: None,
            last_failure: None,
        }
    }
}

/// Whether a worker with this authority may move the task on.
pub(crate) fn check_authority(row: &TaskRow, authority: Authority) -> Result<()> {
    let work = row.work.as_deref().filter(|work| work.order.is_fenced);
    match (work, authority) {
        (None, Authority::Unstated) | (_, Authority::Forced) => Ok(()),
        (Some(_), Authority::Unstated) => Err(lease_required()),
        (Some(work), Authority::Lease(token)) if work.lease.is_some() && work.token == token => Ok(()),
        (_, Authority::Lease(_)) => {
            Err(Error::new(Reason::LeaseLost, "the lease is not the task's current one"))
        }
    }
}

fn lease_required() -> Error {
    Error::new(Reason::LeaseRequired, "the call must name the lease under which it is made").with_key("lease")
}

pub(crate) fn not_queued() -> Error {
    Error::new(Reason::NotQueued, "the task has no queue")
}

/// The work with `change` made to it.
fn with_work(row: &TaskRow, change: impl FnOnce(&mut Work)) -> Option<Arc<Work>> {
    row.work.as_ref().map(|work| {
        let mut work = Work::clone(work);
        change(&mut work);
        Arc::new(work)
    })
}

/// The work held by nobody.
pub(crate) fn without_lease(row: &TaskRow) -> Option<Arc<Work>> {
    match &row.work {
        Some(work) if work.lease.is_some() => with_work(row, |work| work.lease = None),
        work => work.clone(),
    }
}

/// The work with another checkpoint, if one is given. One that nobody holds under a lease keeps none.
pub(crate) fn with_checkpoint(row: &TaskRow, checkpoint: Option<&Arc<str>>) -> Result<Option<Arc<Work>>> {
    match checkpoint {
        None => Ok(row.work.clone()),
        Some(_) if row.work.as_ref().is_none_or(|work| !work.order.is_fenced) => Err(lease_required()),
        Some(checkpoint) => Ok(with_work(row, |work| work.checkpoint = Some(Arc::clone(checkpoint)))),
    }
}

/// Gives the task to a worker. `None` when it may not be claimed.
pub(crate) fn claim(row: &TaskRow, hold: &Hold, now: Now) -> Option<TaskRow> {
    row.due_at().filter(|due| due.has_come(now))?;
    let work = with_work(row, |work| {
        if let Some(available_at) = lapsed_available_at(work, now) {
            work.available_at = Some(available_at);
        }
        work.attempt += u32::from(!work.continues_attempt);
        work.continues_attempt = false;
        work.token += 1;
        work.lease = Some(hold.begin(now));
    });
    Some(TaskRow { work, revision: row.revision + 1, ..row.clone() })
}

/// Sets the end of a lease to a time from now. `None` when the lease is lost.
pub(crate) fn renew(
    row: &TaskRow,
    token: u64,
    lease_ms: i64,
    checkpoint: Option<&Arc<str>>,
    now: Now,
) -> Option<TaskRow> {
    if row.status.is_terminal() || check_authority(row, Authority::Lease(token)).is_err() {
        return None;
    }
    let work = with_work(row, |work| {
        if let Some(lease) = &mut work.lease {
            lease.ends = now.plus_ms(lease_ms);
        }
        if let Some(checkpoint) = checkpoint {
            work.checkpoint = Some(Arc::clone(checkpoint));
        }
    });
    Some(TaskRow { work, ..row.clone() })
}

/// What becomes of the status message.
#[derive(Clone, Debug, Default)]
pub(crate) enum Message {
    #[default]
    Kept,
    Set(Arc<str>),
    Cleared,
}

/// How a worker gives a task back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Release<'a> {
    pub(crate) authority: Authority,
    pub(crate) delay_ms: i64,
    /// Whether the attempt is over; else the next claim goes on with it.
    pub(crate) counts_as_attempt: bool,
    pub(crate) message: Message,
    pub(crate) checkpoint: Option<Arc<str>>,
    /// Why it did not succeed: JSON text.
    pub(crate) failure: Option<&'a str>,
}

/// Gives a held task back to its queue. It ends where cancelation was requested, and after its last attempt.
pub(crate) fn release(row: &TaskRow, release: &Release<'_>, now: Now) -> Result<Change<TaskRow>> {
    if release.authority == Authority::Unstated && !row.status.is_terminal() {
        return Err(lease_required());
    }
    Preconditions { authority: release.authority, ..Preconditions::default() }.check_nonterminal(row)?;
    let Some(work) = row.work.as_deref().filter(|work| work.order.queue.is_some()) else {
        return Err(not_queued());
    };
    let has_attempts_left = work.has_attempts_left();
    let backoff_ms = work.order.attempts.backoff_after(work.attempt);
    let failure = release.failure.map(to_shared).transpose()?;
    let work = with_work(row, |work| {
        if let Some(checkpoint) = &release.checkpoint {
            work.checkpoint = Some(Arc::clone(checkpoint));
        }
        if failure.is_some() {
            work.last_failure = failure;
        }
    });
    let message = match &release.message {
        Message::Kept => row.status_message.clone(),
        Message::Set(message) => Some(Arc::clone(message)),
        Message::Cleared => None,
    };
    let row = TaskRow { work, ..row.clone() };
    if row.cancelation_requested {
        return Ok(ended(&row, TaskStatus::Cancelled, row.texts.clone(), message, now));
    }
    if release.counts_as_attempt && !has_attempts_left {
        let texts = row.texts.try_with_outcome(release.failure.unwrap_or(GIVEN_UP))?;
        return Ok(ended(&row, TaskStatus::Failed, texts, message, now));
    }
    let wait_ms = if release.counts_as_attempt { release.delay_ms.max(backoff_ms) } else { release.delay_ms };
    let work = with_work(&row, |work| {
        work.lease = None;
        work.continues_attempt = !release.counts_as_attempt;
        work.available_at = Some(now.plus_ms(wait_ms));
    });
    let is_told = message != row.status_message;
    let next = TaskRow { work, status_message: message, ..row };
    Ok(if is_told { updated(next, now) } else { unannounced(next) })
}

/// Lets go of a held task while its requests are outstanding: the next claim goes on with the attempt, not before
/// the time that a lapse had set.
pub(crate) fn parked(row: &TaskRow, now: Now) -> Option<Arc<Work>> {
    with_work(row, |work| {
        if let Some(available_at) = lapsed_available_at(work, now) {
            work.available_at = Some(available_at);
        }
        work.lease = None;
        work.continues_attempt = true;
    })
}

/// Whether a client's wish to cancel ends the task at once: nobody is there whom it could ask.
pub(crate) fn is_held_by_nobody(row: &TaskRow, now: Now) -> bool {
    row.work.as_ref().is_some_and(|work| work.order.is_fenced && work.held(now).is_none())
}

/// A change that waits see, and nobody is told of.
pub(crate) fn unannounced(next: TaskRow) -> Change<TaskRow> {
    match changed(next) {
        Change::Put(next) => Change::PutUnannounced(next),
        other => other,
    }
}

#[cfg(test)]
mod tests;
