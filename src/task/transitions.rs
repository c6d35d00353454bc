//! The state machine of a task: pure functions from a row, a command and the time to the row that follows,
//! or to a refusal. They know no store, no lock and no clock. A refusal is decided in one order: the task is
//! not there, it is terminal, it is held under another lease, it has another revision, cancelation was requested,
//! and then what the operation itself demands.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::arguments::NewTask;
use super::input::decoded_key;
use super::lease::{
    Authority, check_authority, is_held_by_nobody, not_queued, parked, unannounced, with_checkpoint,
    without_lease,
};
use super::options::ManagerOptions;
use super::render;
use super::responses::Judgement;
use crate::clock::Now;
use crate::error::{Error, Reason, Result};
use crate::json::Value;
use crate::store::{Change, InputState, Member, TaskRow, TaskStatus, TaskTexts};
use crate::text::Text;

/// What a caller demands of the task beside the rules of the operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preconditions {
    /// The task must have this revision.
    pub(crate) expected_revision: Option<u64>,
    /// The client must not have asked for cancelation.
    pub(crate) unless_cancelation_requested: bool,
    /// Under what the worker acts; a client never says.
    pub(crate) authority: Authority,
}

impl Preconditions {
    /// What a client demands.
    fn check(self, row: &TaskRow) -> Result<()> {
        if self.expected_revision.is_some_and(|expected| expected != row.revision) {
            return Err(Error::new(Reason::RevisionMismatch, "the task has another revision"));
        }
        if self.unless_cancelation_requested && row.cancelation_requested {
            return Err(Error::new(Reason::CancelationRequested, "cancelation of the task was requested"));
        }
        Ok(())
    }

    /// What a worker demands of a task that has not ended, and the task of the worker.
    pub(super) fn check_nonterminal(self, row: &TaskRow) -> Result<()> {
        if row.status.is_terminal() {
            return Err(Error::new(Reason::TaskTerminal, "the task is terminal"));
        }
        check_authority(row, self.authority)?;
        self.check(row)
    }
}

/// How a task ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending<'a> {
    Completed(&'a str),
    Failed(&'a str),
    Cancelled,
}

/// The one answer for a task that is unknown, expired or not the caller's.
pub(crate) fn not_found() -> Error {
    Error::new(Reason::TaskNotFound, "no such task")
}

/// A new working task.
pub(crate) fn create(id: &str, task: &NewTask<'_>, options: &ManagerOptions, now: Now) -> Result<TaskRow> {
    Ok(TaskRow {
        texts: TaskTexts::new(id, now.wall_ms, &task.given, None)?,
        created_tick_ns: now.tick_ns,
        updated_ms: now.wall_ms,
        ttl_ms: task.time_to_live_ms.unwrap_or(options.task_time_to_live_ms),
        poll_interval_ms: options.poll_interval_ms,
        status: TaskStatus::Working,
        status_message: None,
        revision: 1,
        cancelation_requested: false,
        input: None,
        work: task.work.as_ref().map(|work| Arc::new(work.begin(now))),
    })
}

/// Marks the task as working. `withdraw` names the requests that are superseded, `None` all of them; while
/// others stay open, so does the status. Keys that are not outstanding are passed over.
pub(crate) fn mark_working(
    row: &TaskRow,
    message: Option<&Arc<str>>,
    withdraw: Option<&[String]>,
    checkpoint: Option<&Arc<str>>,
    preconditions: Preconditions,
    now: Now,
) -> Result<Change<TaskRow>> {
    preconditions.check_nonterminal(row)?;
    let mut next = row.clone();
    if checkpoint.is_some() {
        next.work = with_checkpoint(row, checkpoint)?;
    }
    if let Some(input) = row.input.as_ref().filter(|input| !input.outstanding.is_empty()) {
        let mut input = InputState::clone(input);
        match withdraw {
            None => input.outstanding.clear(),
            Some(keys) => {
                let keys: HashSet<&str> = keys.iter().map(String::as_str).collect();
                input.outstanding.retain(|request| !keys.contains(decoded_key(request).as_ref()));
            }
        }
        next.status =
            if input.outstanding.is_empty() { TaskStatus::Working } else { TaskStatus::InputRequired };
        next.input = Some(Arc::new(input));
    }
    next.status_message = message.cloned();
    Ok(updated(next, now))
}

/// What goes with a request for input beside the requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asking {
    /// Whether the worker lets go of the task until they are answered.
    pub(crate) parks: bool,
    pub(crate) checkpoint: Option<Arc<str>>,
}

/// Asks the client for input: `requests` are added to those outstanding.
pub(crate) fn request_input(
    row: &TaskRow,
    requests: &[Member],
    message: Option<&Arc<str>>,
    asking: &Asking,
    preconditions: Preconditions,
    now: Now,
) -> Result<Change<TaskRow>> {
    preconditions.check_nonterminal(row)?;
    if asking.parks && row.work.as_ref().is_none_or(|work| work.order.queue.is_none()) {
        return Err(not_queued());
    }
    let mut input = row.input.as_deref().cloned().unwrap_or_default();
    if !input.responses.is_empty() {
        return Err(Error::new(Reason::InputResponsesUntaken, "accepted input responses are untaken"));
    }
    let added = added_requests(&input, requests)?;
    let mut next = TaskRow { work: with_checkpoint(row, asking.checkpoint.as_ref())?, ..row.clone() };
    if asking.parks {
        if row.cancelation_requested {
            return Ok(ended(&next, TaskStatus::Cancelled, row.texts.clone(), None, now));
        }
        next.work = parked(&next, now);
    }
    if added.is_empty() && row.status_message.as_ref() == message {
        // What was asked is asked already.
        return Ok(match asking {
            Asking { parks: true, .. } => unannounced(next),
            Asking { checkpoint: Some(_), .. } => Change::PutUnannounced(next),
            _ => Change::Keep,
        });
    }
    next.status_message = message.cloned();
    if !added.is_empty() {
        input.used_keys.extend(added.iter().map(|request| Arc::from(decoded_key(request))));
        input.outstanding.extend(added);
        next.status = TaskStatus::InputRequired;
        next.input = Some(Arc::new(input));
    }
    Ok(updated(next, now))
}

/// The requests whose keys are new to the task; a key that is not new must repeat what is outstanding.
fn added_requests(input: &InputState, requests: &[Member]) -> Result<Vec<Member>> {
    let used: HashSet<&str> = input.used_keys.iter().map(|key| &**key).collect();
    let outstanding: HashMap<Cow<'_, str>, &Member> =
        input.outstanding.iter().map(|request| (decoded_key(request), request)).collect();
    let mut added = Vec::new();
    for request in requests {
        let key = decoded_key(request);
        let same =
            |known: &&Member| Value::trusted(&known.value).same_meaning(Value::trusted(&request.value));
        if !used.contains(key.as_ref()) {
            added.push(request.clone());
        } else if !outstanding.get(&key).is_some_and(same) {
            return Err(Error::new(Reason::InputRequestKeyReused, "an input request key was used before"));
        }
    }
    Ok(added)
}

/// Accepts the client's answers to outstanding requests; all others are ignored without a trace. `judgement` was
/// made for the row's input.
pub(crate) fn update(
    row: &TaskRow,
    judgement: &Judgement<'_>,
    preconditions: Preconditions,
    now: Now,
) -> Result<Change<TaskRow>> {
    preconditions.check(row)?;
    let Some(input) = judgement.answered()? else { return Ok(Change::Keep) };
    let mut next = row.clone();
    if input.outstanding.is_empty() {
        next.status = TaskStatus::Working;
        next.status_message = None;
    }
    next.input = Some(Arc::new(input));
    Ok(updated(next, now))
}

/// What goes with taking the responses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taking {
    /// Whether they are shown only.
    pub(crate) peeks: bool,
    pub(crate) checkpoint: Option<Arc<str>>,
}

/// Takes the accepted responses, as an object. The record does not change, so neither does its revision.
pub(crate) fn take_responses(
    row: &TaskRow,
    taking: &Taking,
    preconditions: Preconditions,
) -> Result<(Change<TaskRow>, Text)> {
    if row.status.is_terminal() {
        preconditions.check(row)?;
        return Ok((Change::Keep, Text::from("{}")));
    }
    preconditions.check_nonterminal(row)?;
    let work = with_checkpoint(row, taking.checkpoint.as_ref())?;
    let input = row.input.as_ref().filter(|input| !input.responses.is_empty());
    let taken = input.map_or_else(|| Text::from("{}"), |input| render::object(&input.responses));
    let input = match input.filter(|_| !taking.peeks) {
        Some(input) => Some(Arc::new(InputState { responses: Vec::new(), ..InputState::clone(input) })),
        None if taking.checkpoint.is_some() => row.input.clone(),
        None => return Ok((Change::Keep, taken)),
    };
    Ok((Change::Put(TaskRow { input, work, ..row.clone() }), taken))
}

/// Ends the task. Outstanding requests and untaken responses are gone.
pub(crate) fn end(
    row: &TaskRow,
    ending: Ending<'_>,
    message: Option<&Arc<str>>,
    preconditions: Preconditions,
    now: Now,
) -> Result<Change<TaskRow>> {
    preconditions.check_nonterminal(row)?;
    let (status, texts) = match ending {
        Ending::Completed(result) => (TaskStatus::Completed, row.texts.try_with_outcome(result)?),
        Ending::Failed(failure) => (TaskStatus::Failed, row.texts.try_with_outcome(failure)?),
        Ending::Cancelled => (TaskStatus::Cancelled, row.texts.clone()),
    };
    Ok(ended(row, status, texts, message.cloned(), now))
}

/// The task as it ends. Nobody holds it any more.
pub(super) fn ended(
    row: &TaskRow,
    status: TaskStatus,
    texts: TaskTexts,
    status_message: Option<Arc<str>>,
    now: Now,
) -> Change<TaskRow> {
    // Nothing is shared with the row for a moment only.
    let next = TaskRow {
        texts,
        created_tick_ns: row.created_tick_ns,
        updated_ms: row.updated_ms,
        ttl_ms: row.ttl_ms,
        poll_interval_ms: row.poll_interval_ms,
        status,
        status_message,
        revision: row.revision,
        cancelation_requested: row.cancelation_requested,
        input: None,
        work: without_lease(row),
    };
    updated(next, now)
}

/// Notes that the client asked for cancelation. The status stays, and so does the time of the last update; but work
/// that nobody holds ends at once.
pub(crate) fn request_cancelation(row: &TaskRow, now: Now) -> Change<TaskRow> {
    if row.status.is_terminal() || row.cancelation_requested {
        return Change::Keep;
    }
    let next = TaskRow { cancelation_requested: true, ..row.clone() };
    if is_held_by_nobody(row, now) {
        return ended(&next, TaskStatus::Cancelled, row.texts.clone(), None, now);
    }
    changed(next)
}

pub(super) fn updated(mut next: TaskRow, now: Now) -> Change<TaskRow> {
    // The wall clock may have been stepped back.
    next.updated_ms = next.updated_ms.max(now.wall_ms);
    changed(next)
}

pub(super) fn changed(mut next: TaskRow) -> Change<TaskRow> {
    next.revision += 1;
    Change::Put(next)
}

#[cfg(test)]
mod tests;
