//! The state machine of a task: pure functions from a row, a command and the time to the row that follows,
//! or to a refusal. They know no store, no lock and no clock. A refusal is decided in one order: the task is
//! not there, it is terminal, it has another revision, cancelation was requested, and then what the
//! operation itself demands.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::input::decoded_key;
use super::options::ManagerOptions;
use super::render;
use super::responses::Judgement;
use crate::clock::Now;
use crate::error::{Error, Reason, Result};
use crate::json::Value;
use crate::store::{Change, InputState, Member, TaskCreation, TaskRow, TaskStatus, TaskTexts};
use crate::text::Text;

/// What a caller demands of the task beside the rules of the operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preconditions {
    /// The task must have this revision.
    pub(crate) expected_revision: Option<u64>,
    /// The client must not have asked for cancelation.
    pub(crate) unless_cancelation_requested: bool,
}

impl Preconditions {
    fn check(self, row: &TaskRow) -> Result<()> {
        if self.expected_revision.is_some_and(|expected| expected != row.revision) {
            return Err(Error::new(Reason::RevisionMismatch, "the task has another revision"));
        }
        if self.unless_cancelation_requested && row.cancelation_requested {
            return Err(Error::new(Reason::CancelationRequested, "cancelation of the task was requested"));
        }
        Ok(())
    }

    /// The same for an operation that a terminal task refuses.
    fn check_nonterminal(self, row: &TaskRow) -> Result<()> {
        if row.status.is_terminal() {
            return Err(Error::new(Reason::TaskTerminal, "the task is terminal"));
        }
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
pub(crate) fn create(
    id: &str,
    creation: &TaskCreation<'_>,
    options: &ManagerOptions,
    now: Now,
) -> Result<TaskRow> {
    Ok(TaskRow {
        texts: TaskTexts::new(id, now.wall_ms, creation, None)?,
        created_tick_ns: now.tick_ns,
        updated_ms: now.wall_ms,
        ttl_ms: options.task_time_to_live_ms,
        poll_interval_ms: options.poll_interval_ms,
        status: TaskStatus::Working,
        status_message: None,
        revision: 1,
        cancelation_requested: false,
        input: None,
    })
}

/// Marks the task as working. `withdraw` names the requests that are superseded, `None` all of them; while
/// others stay open, so does the status. Keys that are not outstanding are passed over.
pub(crate) fn mark_working(
    row: &TaskRow,
    message: Option<&Arc<str>>,
    withdraw: Option<&[String]>,
    preconditions: Preconditions,
    now: Now,
) -> Result<Change<TaskRow>> {
    preconditions.check_nonterminal(row)?;
    let mut next = row.clone();
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

/// Asks the client for input: `requests` are added to those outstanding.
pub(crate) fn request_input(
    row: &TaskRow,
    requests: &[Member],
    message: Option<&Arc<str>>,
    preconditions: Preconditions,
    now: Now,
) -> Result<Change<TaskRow>> {
    preconditions.check_nonterminal(row)?;
    let mut input = row.input.as_deref().cloned().unwrap_or_default();
    if !input.responses.is_empty() {
        return Err(Error::new(Reason::InputResponsesUntaken, "accepted input responses are untaken"));
    }
    let added = added_requests(&input, requests)?;
    if added.is_empty() && row.status_message.as_ref() == message {
        return Ok(Change::Keep);
    }
    let mut next = row.clone();
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
    let Some(input) = judgement.answered() else { return Ok(Change::Keep) };
    let mut next = row.clone();
    if input.outstanding.is_empty() {
        next.status = TaskStatus::Working;
        next.status_message = None;
    }
    next.input = Some(Arc::new(input));
    Ok(updated(next, now))
}

/// Takes the accepted responses, as an object. The record does not change, so neither does its revision.
pub(crate) fn take_responses(row: &TaskRow, preconditions: Preconditions) -> Result<(Change<TaskRow>, Text)> {
    preconditions.check(row)?;
    let Some(input) = row.input.as_ref().filter(|input| !input.responses.is_empty()) else {
        return Ok((Change::Keep, Text::from("{}")));
    };
    let taken = render::object(&input.responses);
    let mut input = InputState::clone(input);
    input.responses = Vec::new();
    Ok((Change::Put(TaskRow { input: Some(Arc::new(input)), ..row.clone() }), taken))
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
        Ending::Completed(result) => (TaskStatus::Completed, row.texts.with_outcome(result)),
        Ending::Failed(failure) => (TaskStatus::Failed, row.texts.with_outcome(failure)),
        Ending::Cancelled => (TaskStatus::Cancelled, row.texts.clone()),
    };
    let next = TaskRow { status, texts, status_message: message.cloned(), input: None, ..row.clone() };
    Ok(updated(next, now))
}

/// Notes that the client asked for cancelation. The status stays, and so does the time of the last update.
pub(crate) fn request_cancelation(row: &TaskRow) -> Change<TaskRow> {
    if row.status.is_terminal() || row.cancelation_requested {
        return Change::Keep;
    }
    changed(TaskRow { cancelation_requested: true, ..row.clone() })
}

fn updated(mut next: TaskRow, now: Now) -> Change<TaskRow> {
    // The wall clock may have been stepped back.
    next.updated_ms = next.updated_ms.max(now.wall_ms);
    changed(next)
}

fn changed(mut next: TaskRow) -> Change<TaskRow> {
    next.revision += 1;
    Change::Put(next)
}

#[cfg(test)]
mod tests;
