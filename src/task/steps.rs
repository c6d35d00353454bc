//! The steps that a manager's calls share: a rule is run inside the store's atomic step, on the row as time has left
//! it, and what came of it is told to whom it concerns.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use super::arguments::{self, Caller};
use super::render::Answer;
use super::responses::{Judgement, UpdateOutcome};
use super::subscribers::Subscribers;
use super::transitions::{Ending, Preconditions, not_found};
use super::{Record, TaskManager, lapse, render, transitions};
use crate::clock::Now;
use crate::error::{Result, Status};
use crate::events::{EventKind, Keeper};
use crate::fault;
use crate::json::Value;
use crate::store::{Change, TaskRow, TaskTable, timer};
use crate::sync::atomic::Ordering;
use crate::text::Text;

/// Lapses that one call stores beside its own work.
pub(super) const LAPSES_PER_CALL: usize = 4;

/// How long lapses that could not be stored are left alone by those who wait.
const LAPSES_AGAIN: Duration = Duration::from_secs(1);

/// Decides what becomes of a task that is there.
type Step<'a> = dyn FnMut(&TaskRow, Now) -> Result<Change<TaskRow>> + 'a;

/// What a step made of its task.
pub(super) struct Changed {
    /// The row as it is to be shown.
    pub(super) row: TaskRow,
    /// Where its record goes, if it is a large one.
    room: Option<Text>,
    /// Whether everybody who listens is told.
    pub(super) is_announced: bool,
    /// The revision before.
    old_revision: u64,
    now: Now,
}

impl TaskManager {
    /// What `look` makes of the task, if it is there and, with a caller, is the caller's.
    pub(super) fn read<T>(
        &self,
        task_id: &str,
        caller: Option<Caller<'_>>,
        look: impl Fn(&TaskRow) -> T,
    ) -> Result<Option<T>> {
        let mut seen = None;
        let mut visit = |row: &TaskRow| {
            if caller.is_some_and(|caller| !caller.owns(row)) {
                return;
            }
            seen = Some(if row.work.is_none() {
                Ok(look(row))
            } else {
                self.table.now().map(|now| look(&lapse::as_of(row, now)))
            });
        };
        match caller {
            Some(caller) => self.table.read_claimed(caller.claim(), task_id, &mut visit)?,
            None => self.table.read(task_id, &mut visit)?,
        };
        seen.transpose()
    }

    /// One atomic step on a task that is there and, with a caller, is the caller's. Whoever waits for the task or
    /// for work learns of it; announcing it is left to the caller.
    pub(super) fn transact(
        &self,
        task_id: &str,
        caller: Option<Caller<'_>>,
        decide: &mut Step<'_>,
    ) -> Result<Option<Changed>> {
        let mut changed = None;
        let mut step = |row: Option<&TaskRow>, now: Now| {
            fault::point("task_transition");
            changed = None;
            let stored =
                row.filter(|row| caller.is_none_or(|caller| caller.owns(row))).ok_or_else(not_found)?;
            let ended = lapse::ended(stored, now);
            let change = decide(ended.as_ref().unwrap_or(stored), now)?;
            if let Change::Put(next) | Change::PutUnannounced(next) = &change {
                let row = lapse::as_of(next, now).into_owned();
                changed = Some(Changed {
                    room: render::reserve_record(&row)?,
                    row,
                    is_announced: matches!(change, Change::Put(_)),
                    old_revision: stored.revision,
                    now,
                });
            }
            Ok(change)
        };
        match caller {
            Some(caller) => self.table.transact_claimed(caller.claim(), task_id, None, &mut step)?,
            None => self.table.transact(task_id, None, &mut step)?,
        }
        if let Some(changed) = &changed {
            self.note_work(&changed.row, changed.now);
            if !changed.is_announced && changed.row.revision != changed.old_revision {
                self.table.hub().wake(task_id);
            }
        }
        self.store_lapses();
        Ok(changed)
    }

    /// Lets `decide` change the task, and gives the record that came of it.
    pub(super) fn change(&self, task_id: &str, decide: &mut Step<'_>) -> Result<Record> {
        let mut kept = None;
        let changed = self.transact(task_id, None, &mut |row, now| {
            let change = decide(row, now)?;
            kept = matches!(change, Change::Keep).then(|| lapse::as_of(row, now).into_owned());
            Ok(change)
        })?;
        if changed.as_ref().is_some_and(|changed| changed.is_announced) {
            self.announce_changed(task_id);
        }
        let shown =
            changed.map(|changed| (changed.row, changed.room)).or_else(|| kept.map(|row| (row, None)));
        let (row, room) = shown.ok_or_else(not_found)?;
        Ok(Record { row, answer: Answer::default(), room })
    }

    pub(super) fn end(
        &self,
        task_id: &str,
        ending: Ending<'_>,
        status_message: Option<&str>,
        preconditions: Preconditions,
    ) -> Result<Record> {
        let message = self.status_message(status_message)?;
        self.change(task_id, &mut |row, now| {
            transitions::end(row, ending, message.as_ref(), preconditions, now)
        })
    }

    /// Hands a client's responses to its task. Should its requests change after the responses were judged, these
    /// are judged again within the store's step.
    pub(super) fn accept_responses<'a>(
        &self,
        caller: Caller<'_>,
        task_id: &str,
        responses: Value<'a>,
        preconditions: Preconditions,
    ) -> Result<UpdateOutcome<'a>> {
        let input = self.read(task_id, Some(caller), |row| row.input.clone())?.ok_or_else(not_found)?;
        let mut judgement = Judgement::of(responses, input);
        self.transact(task_id, Some(caller), &mut |row, now| {
            if !judgement.is_for(row.input.as_ref()) {
                judgement = Judgement::of(responses, row.input.clone());
            }
            transitions::update(row, &judgement, preconditions, now)
        })?;
        if !judgement.outcome.accepted.is_empty() {
            self.announce_changed(task_id);
        }
        Ok(judgement.outcome)
    }

    /// Sets a client's wish to cancel on its task.
    pub(super) fn note_cancelation_request(&self, caller: Caller<'_>, task_id: &str) -> Result<()> {
        let changed = self.transact(task_id, Some(caller), &mut |row, now| {
            Ok(transitions::request_cancelation(row, now))
        })?;
        match changed {
            None => {}
            Some(changed) if changed.row.status.is_terminal() => self.announce_changed(task_id),
            Some(_) => self.table.hub().announce(EventKind::CancelationRequested, task_id),
        }
        Ok(())
    }

    pub(super) fn status_message(&self, text: Option<&str>) -> Result<Option<Arc<str>>> {
        arguments::status_message(text, self.options.maximum_payload_bytes)
    }

    pub(super) fn announce_changed(&self, task_id: &str) {
        self.table.hub().announce(EventKind::Changed, task_id);
        self.subscribers.tell(task_id);
    }

    /// Tells those who wait for work what became of this row.
    pub(super) fn note_work(&self, row: &TaskRow, now: Now) {
        let Some(work) = &row.work else { return };
        if let (Some(queue), Some(due)) = (work.queue(), row.due_at()) {
            self.table.claimers().offer(queue, due.left(now));
        }
        if let Some(ends) = row.ends_at() {
            self.remind_of_lapse(ends.left(now));
        }
    }

    /// Tells those who wait that the lapse of a lease ends a task after this time, if that is the next.
    fn remind_of_lapse(&self, after: Duration) {
        let Ok(now) = self.table.now() else { return };
        // One that comes before it has been told of.
        if self.table.next_lapse().is_some_and(|next| next.left(now) >= after) {
            self.table.claimers().remind(after);
            self.table.hub().stir_queues();
        }
    }

    /// Stores and announces a few lapses that ended their tasks.
    /// Gives the shortest time until that is worth another try.
    pub(super) fn store_lapses(&self) -> Duration {
        self.lapses.store()
    }
}

/// Sees to the lapses that end tasks of one table.
pub(super) struct Lapses {
    pub(super) table: Arc<dyn TaskTable>,
    pub(super) subscribers: Arc<Subscribers>,
}

impl Lapses {
    /// Stores and announces a few. What fails here is left to a later call: every answer is the same with and
    /// without. Gives the shortest time until another try is worth it.
    fn store(&self) -> Duration {
        let Ok(lapsed) = self.table.lapsed(LAPSES_PER_CALL) else { return LAPSES_AGAIN };
        let mut rest = if lapsed.is_empty() { Duration::ZERO } else { LAPSES_AGAIN };
        for id in lapsed {
            let mut ended = false;
            let stored = self.table.transact(&id, None, &mut |row, now| {
                let lapsed = row.and_then(|row| lapse::ended(row, now));
                ended = lapsed.is_some();
                Ok(lapsed.map_or(Change::Keep, Change::Put))
            });
            if ended && stored.is_ok() {
                self.table.work_counters().leases_lapsed.fetch_add(1, Ordering::Relaxed);
                self.table.hub().announce(EventKind::Changed, &id);
                self.subscribers.tell(&id);
            }
            match stored {
                Ok(()) => rest = Duration::ZERO,
                // The others would wait for the storage as long.
                Err(error) if error.status() == Status::Unavailable => return LAPSES_AGAIN,
                Err(_) => {}
            }
        }
        rest
    }
}

impl Keeper for Lapses {
    fn keep(&self) -> Option<Duration> {
        let rest = self.store();
        let now = self.table.now().ok()?;
        self.table.next_lapse().map(|next| timer(next, now).max(rest))
    }
}
