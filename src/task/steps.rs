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
use crate::clock::{Moment, Now};
use crate::error::{Result, Status};
use crate::events::{EventKind, Keeper};
use crate::fault;
use crate::json::Value;
use crate::store::{Change, Limits, TaskRow, TaskTable, timer};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::text::Text;

/// Lapses that one call stores beside its own work.
pub(super) const LAPSES_PER_CALL: usize = 4;

/// How long lapses that could not be stored are left alone by those who wait.
const LAPSES_AGAIN: Duration = Duration::from_secs(1);

/// What a step made of its task.
pub(super) struct Stepped {
    /// The row as it is to be shown.
    pub(super) row: TaskRow,
    /// Where its record goes, if it is a large one.
    room: Option<Text>,
    pub(super) outcome: Outcome,
    /// The revision before.
    old_revision: u64,
    now: Now,
}

/// Whether a step changed its task.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Kept,
    /// It did, and that is no news.
    Unannounced,
    /// It did, and everybody who listens is to be told.
    Announced,
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
        let mut told_time = Ok(());
        let mut visit = |row: &TaskRow| {
            if caller.is_some_and(|caller| !caller.owns(row)) {
                return;
            }
            if row.work.is_none() {
                seen = Some(look(row));
                return;
            }
            match self.table.now() {
                Ok(now) => seen = Some(look(&lapse::as_of(row, now))),
                Err(error) => told_time = Err(error),
            }
        };
        match caller {
            Some(caller) => self.table.read_claimed(caller.claim(), task_id, &mut visit)?,
            None => self.table.read(task_id, &mut visit)?,
        };
        told_time.map(|()| seen)
    }

    /// One atomic step on a task that is there and, with a caller, is the caller's. `decide` says what becomes of it.
    /// Whoever waits for the task or for work learns of it; announcing it is left to the caller.
    // Not through a `dyn` of its own: rows are large, and each closure that one passes through would move it.
    #[inline]
    pub(super) fn transact(
        &self,
        task_id: &str,
        caller: Option<Caller<'_>>,
        mut decide: impl FnMut(&TaskRow, Now) -> Result<Change<TaskRow>>,
    ) -> Result<Stepped> {
        let mut stepped = None;
        let mut step = |row: Option<&TaskRow>, now: Now| {
            fault::point("task_transition");
            stepped = None;
            let stored =
                row.filter(|row| caller.is_none_or(|caller| caller.owns(row))).ok_or_else(not_found)?;
            let ended = lapse::ended(stored, now);
            let current = ended.as_ref().unwrap_or(stored);
            let change = decide(current, now)?;
            let (row, outcome) = match &change {
                Change::Put(next) => (next, Outcome::Announced),
                Change::PutUnannounced(next) => (next, Outcome::Unannounced),
                _ => (current, Outcome::Kept),
            };
            let row = lapse::as_of(row, now).into_owned();
            let room = if outcome == Outcome::Kept { None } else { render::reserve_record(&row)? };
            stepped = Some(Stepped { row, room, outcome, old_revision: stored.revision, now });
            Ok(change)
        };
        match caller {
            Some(caller) => self.table.transact_claimed(caller.claim(), task_id, None, &mut step)?,
            None => self.table.transact_within(task_id, Limits::default(), &mut step)?,
        }
        let stepped = stepped.ok_or_else(not_found)?;
        if stepped.outcome != Outcome::Kept {
            self.note_work(&stepped.row, stepped.now);
        }
        if stepped.outcome == Outcome::Unannounced && stepped.row.revision != stepped.old_revision {
            self.table.hub().wake(task_id);
        }
        self.store_lapses();
        Ok(stepped)
    }

    /// Lets `decide` change the task, and gives the record that came of it.
    #[inline]
    pub(super) fn change(
        &self,
        task_id: &str,
        decide: impl FnMut(&TaskRow, Now) -> Result<Change<TaskRow>>,
    ) -> Result<Record> {
        let Stepped { row, room, outcome, .. } = self.transact(task_id, None, decide)?;
        if outcome == Outcome::Announced {
            self.announce_changed(task_id);
        }
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
        self.change(task_id, |row, now| transitions::end(row, ending, message.as_ref(), preconditions, now))
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
        self.transact(task_id, Some(caller), |row, now| {
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
        let Stepped { row, outcome, .. } =
            self.transact(task_id, Some(caller), |row, now| Ok(transitions::request_cancelation(row, now)))?;
        match outcome {
            Outcome::Kept => {}
            _ if row.status.is_terminal() => self.announce_changed(task_id),
            _ => self.table.hub().announce(EventKind::CancelationRequested, task_id),
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
    #[inline]
    pub(super) fn note_work(&self, row: &TaskRow, now: Now) {
        if row.work.is_some() {
            self.note(&Dates::of(row), now);
        }
    }

    /// Tells those who wait for work when that of a row that was stored now is due and when it ends.
    pub(super) fn note(&self, dates: &Dates, now: Now) {
        if let Some((queue, due)) = &dates.due {
            self.table.claimers().offer(queue, due.left(now));
        }
        if let Some(ends) = dates.ends {
            self.remind_of_lapse(ends.left(now), now);
        }
    }

    /// Tells those who wait that the lapse of a lease ends a task after this time, if that is the next.
    fn remind_of_lapse(&self, after: Duration, now: Now) {
        // One that comes before it has been told of.
        if self.table.next_lapse().is_some_and(|next| next.left(now) >= after) {
            self.table.claimers().remind(after);
            self.table.hub().stir_queues();
        }
    }

    /// Stores and announces a few lapses that ended their tasks.
    /// Gives the shortest time until that is worth another try.
    #[inline]
    pub(super) fn store_lapses(&self) -> Duration {
        self.lapses.store()
    }
}

/// What those who wait for work need to know of a row.
#[derive(Clone)]
pub(super) struct Dates {
    /// Its queue, and when it is due there.
    due: Option<(Arc<str>, Moment)>,
    /// When the lapse of its lease ends it.
    ends: Option<Moment>,
}

impl Dates {
    pub(super) fn of(row: &TaskRow) -> Self {
        let queue = row.work.as_ref().and_then(|work| work.queue());
        let due = queue.and_then(|queue| row.due_at().map(|due| (Arc::clone(queue), due)));
        Self { due, ends: row.ends_at() }
    }
}

/// Sees to the lapses that end tasks of one table.
pub(super) struct Lapses {
    pub(super) table: Arc<dyn TaskTable>,
    pub(super) subscribers: Arc<Subscribers>,
    /// How many of the first ones cannot be read: those behind them have their turn, too.
    pub(super) unreadable: AtomicUsize,
}

impl Lapses {
    /// Stores and announces a few. What fails here is left to a later call: every answer is the same with and
    /// without. Gives the shortest time until another try is worth it.
    #[inline]
    fn store(&self) -> Duration {
        if self.table.next_lapse().is_some() { self.store_a_few() } else { Duration::ZERO }
    }

    fn store_a_few(&self) -> Duration {
        let known = self.unreadable.load(Ordering::Relaxed);
        let most = known + LAPSES_PER_CALL;
        let Ok(lapsed) = self.table.lapsed(most) else { return LAPSES_AGAIN };
        // Behind those that cannot be read, or from the first on when nothing is left there.
        let begin = if known < lapsed.len() { known } else { 0 };
        let mut unreadable = begin;
        let mut rest = if lapsed.is_empty() { Duration::ZERO } else { LAPSES_AGAIN };
        for id in lapsed.iter().skip(begin).take(LAPSES_PER_CALL) {
            let mut ended = false;
            // Whoever waits with a timeout, or changes another task, is not to wait for others' transactions here.
            let stored = self.table.transact_unless_busy(id, &mut |row, now| {
                let lapsed = row.and_then(|row| lapse::ended(row, now));
                ended = lapsed.is_some();
                Ok(lapsed.map_or(Change::Keep, Change::Put))
            });
            if ended && matches!(stored, Ok(true)) {
                self.table.work_counters().leases_lapsed.fetch_add(1, Ordering::Relaxed);
                self.table.hub().announce(EventKind::Changed, id);
                self.subscribers.tell(id);
            }
            match stored {
                Ok(true) => rest = Duration::ZERO,
                // The others would meet the same.
                Ok(false) => return LAPSES_AGAIN,
                Err(error) if error.status() == Status::Unavailable => return LAPSES_AGAIN,
                Err(_) => unreadable += 1,
            }
        }
        self.unreadable.store(unreadable, Ordering::Relaxed);
        if unreadable > begin && lapsed.len() == most { Duration::ZERO } else { rest }
    }
}

impl Keeper for Lapses {
    fn keep(&self) -> Option<Duration> {
        let rest = self.store();
        let now = self.table.now().ok()?;
        self.table.next_lapse().map(|next| timer(next, now).max(rest))
    }
}
