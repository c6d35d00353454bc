//! Queued work: creating it, claiming it, renewing leases, giving it back.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use super::arguments::NewTask;
use super::id::TaskId;
use super::lease::{self, NewWork};
use super::render::{self, Answer};
use super::steps::Dates;
use super::work_arguments::{ClaimRequest, Renewal, Renewals, release};
use super::{Record, TaskManager, lapse, transitions};
use crate::claimers::{Claim, Counter};
use crate::clock::Now;
use crate::error::{Error, Reason, Result};
use crate::fault;
use crate::json::{ObjectWriter, Value};
use crate::options::check_identifier;
use crate::store::{Change, Operation, TaskRow, WorkOrder, timer};
use crate::sync::atomic::Ordering;
use crate::text::Text;

#[allow(missing_docs)] // Documented in ffi, function by function.
impl TaskManager {
    /// `timeout` `None` waits for ever. `None` when no task came.
    pub fn claim_task(&self, claim: &str, timeout: Option<Duration>) -> Result<Option<Record>> {
        let request = ClaimRequest::parse(claim)?;
        self.store_lapses();
        let mut counter = Claiming { manager: self, request: &request, has_come: false, room: None };
        let row = self.table.claimers().wait(&request.queues, timeout, &self.closed, &mut counter)?;
        let answer = Answer { with_token: true, created: None };
        Ok(row.map(|row| Record { row, answer, room: counter.room }))
    }

    pub fn renew_leases(&self, renewals: &str) -> Result<Text> {
        let renewals = Renewals::parse(renewals, self.options.maximum_payload_bytes)?;
        let tasks = &renewals.tasks;
        let mut outcomes: Vec<Option<Renewed>> = vec![None; tasks.len()];
        let ids: Vec<&str> = tasks.iter().map(|task| task.task_id.as_ref()).collect();
        self.table.transact_each(&ids, &mut |place, row, now| {
            fault::point("task_transition");
            let Renewal { token, checkpoint, .. } = &tasks[place];
            // One that the lapse has ended is stored by whoever comes by.
            let renewed = row
                .filter(|row| lapse::ended(row, now).is_none())
                .and_then(|row| lease::renew(row, *token, renewals.lease_ms, checkpoint.as_ref(), now));
            outcomes[place] = renewed.as_ref().map(|row| Renewed {
                dates: Dates::of(row),
                now,
                is_cancelation_requested: row.cancelation_requested,
            });
            renewed.map_or(Change::Keep, Change::PutUnannounced)
        })?;
        for Renewed { dates, now, .. } in outcomes.iter().flatten() {
            self.note(dates, *now);
        }
        self.store_lapses();
        Ok(renewal_outcome(tasks, &outcomes))
    }

    pub fn release_task(&self, task_id: &str, options: Option<&str>) -> Result<Record> {
        check_identifier(task_id, "task_id")?;
        let release = release(options, self.options.maximum_payload_bytes)?;
        self.change(task_id, |row, now| lease::release(row, &release, now))
    }
}

/// A lease that was renewed.
#[derive(Clone)]
struct Renewed {
    dates: Dates,
    now: Now,
    is_cancelation_requested: bool,
}

fn renewal_outcome(tasks: &[Renewal<'_>], outcomes: &[Option<Renewed>]) -> Text {
    let mut text = Text::with_capacity(64 + tasks.iter().map(|task| task.raw_id.len() + 1).sum::<usize>());
    let mut outcome = ObjectWriter::new(&mut text);
    let mut list = |name: &str, belongs: fn(Option<&Renewed>) -> bool| {
        let mut ids = outcome.array(name);
        for (task, outcome) in tasks.iter().zip(outcomes) {
            if belongs(outcome.as_ref()) {
                ids.json(&[task.raw_id]);
            }
        }
    };
    list("renewed", |renewed| renewed.is_some());
    list("lost", |renewed| renewed.is_none());
    list("cancelationRequested", |renewed| renewed.is_some_and(|renewed| renewed.is_cancelation_requested));
    drop(outcome);
    text
}

/// A worker at its queues.
struct Claiming<'a> {
    manager: &'a TaskManager,
    request: &'a ClaimRequest,
    /// Whether the table knows that it waits.
    has_come: bool,
    /// Where the record goes, as [`Record`] has it.
    room: Option<Text>,
}

impl Counter<TaskRow> for Claiming<'_> {
    fn look(&mut self, leads: &[bool]) -> Result<Claim<TaskRow>> {
        let Self { manager, request, room, .. } = self;
        let table = &manager.table;
        let rest = if leads.contains(&true) { manager.store_lapses() } else { Duration::ZERO };
        let (mut taken, mut refused) = (None, None);
        let claimed = table.claim(&request.queues, &mut |row, now| {
            fault::point("task_transition");
            let claimed = lease::claim(row, &request.hold, now)?;
            // A task whose record cannot be given out is left to others.
            *room = render::reserve_record(&claimed).map_err(|error| refused = Some(error)).ok()?;
            let had_lapsed = row.work.as_ref().is_some_and(|work| work.lease.is_some());
            taken = Some((had_lapsed, now));
            Some(claimed)
        })?;
        if let (Some(row), Some((had_lapsed, now))) = (claimed, taken) {
            let counters = table.work_counters();
            counters.claims.fetch_add(1, Ordering::Relaxed);
            counters.leases_lapsed.fetch_add(u64::from(had_lapsed), Ordering::Relaxed);
            table.hub().wake(row.texts.id());
            manager.note_work(&row, now);
            let queue = row.work.as_ref().and_then(|work| work.queue());
            let place = request.queues.iter().position(|name| Some(name) == queue);
            return Ok(Claim::Taken(row, place.unwrap_or_default()));
        }
        if let Some(error) = refused {
            return Err(error);
        }
        let now = table.now()?;
        let led = request.queues.iter().zip(leads).filter(|(_, leads)| **leads);
        let due = led.filter_map(|(queue, _)| table.next_due(queue));
        let lapse = table.next_lapse().filter(|_| leads.contains(&true));
        let lapse = lapse.map(|moment| timer(moment, now).max(rest));
        // Whoever is not the first in any line waits where somebody has come before.
        if leads.contains(&true) && !std::mem::replace(&mut self.has_come, true) {
            table.claimer_came();
        }
        Ok(Claim::Nothing(due.map(|moment| timer(moment, now)).chain(lapse).min()))
    }

    fn needs_timer(&self, place: usize) -> bool {
        let table = &self.manager.table;
        table.next_due(&self.request.queues[place]).is_some() || table.next_lapse().is_some()
    }
}

/// Creating tasks with a queue, a lease or an operation id.
impl TaskManager {
    pub(super) fn create_work(&self, task: &NewTask<'_>) -> Result<Record> {
        let given = &task.given;
        let Some(NewWork { order, hold, .. }) = &task.work else { return Err(transitions::not_found()) };
        loop {
            let id = TaskId::random()?;
            let mut outcome: Option<(TaskRow, Now, bool)> = None;
            let mut decide = |existing: Option<&TaskRow>, now: Now| {
                fault::point("task_transition");
                outcome = None;
                if let Some(row) = existing {
                    check_same_operation(row, order)?;
                    outcome = Some((lapse::as_of(row, now).into_owned(), now, false));
                    return Ok(Change::Keep);
                }
                let row = transitions::create(id.as_str(), task, &self.options, now)?;
                outcome = Some((row.clone(), now, true));
                Ok(Change::Put(row))
            };
            let limits = self.options.limits();
            let operation = order.operation_id.as_ref().map(|operation_id| Operation {
                endpoint: &given.endpoint,
                partition: given.partition.as_deref(),
                id: operation_id,
            });
            let is_id_free = self.table.create(operation, id.as_str(), limits, &mut decide)?;
            let Some((row, now, created)) = outcome.filter(|_| is_id_free) else { continue };
            if created {
                self.announce_changed(row.texts.id());
                self.note_work(&row, now);
            }
            self.store_lapses();
            let answer = Answer {
                with_token: created && hold.is_some(),
                created: order.operation_id.is_some().then_some(created),
            };
            return Ok(Record::new(row, answer));
        }
    }
}

/// Whether the task that an operation made is what the same operation asks for now.
fn check_same_operation(row: &TaskRow, order: &Arc<WorkOrder>) -> Result<()> {
    let work = |order: &WorkOrder| order.work.clone().unwrap_or_else(|| Arc::from("null"));
    let is_same = row.work.as_ref().is_some_and(|known| {
        known.order.queue == order.queue
            && Value::trusted(&work(&known.order)).same_meaning(Value::trusted(&work(order)))
    });
    if is_same {
        return Ok(());
    }
    Err(Error::new(
        Reason::OperationMismatch,
        "the operation id belongs to a task with another queue or work",
    ))
}
