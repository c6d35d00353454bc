//! What a task has that was created with a queue, a lease or an operation id. A row holds it behind one pointer,
//! which is empty for every other task. Here stand the facts and the two instants that stores keep indexes of;
//! what becomes of them is decided by the rules in `task`.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::rows::{TaskRow, TaskStatus};
use crate::clock::{Moment, Now};

/// How often work may be begun, and how long after one attempt the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempts {
    /// Most attempts, at least 1.
    pub maximum: u32,
    /// Time between the end of the first attempt and the second, ms; doubled for each one after.
    pub backoff_ms: i64,
    /// Most that it grows to, ms.
    pub maximum_backoff_ms: i64,
}

impl Attempts {
    /// How long after the end of attempt `number` the next may begin, ms.
    pub fn backoff_after(&self, number: u32) -> i64 {
        let doublings = number.saturating_sub(1);
        let factor = if doublings < 63 { 1_i64 << doublings } else { i64::MAX };
        self.backoff_ms.saturating_mul(factor).min(self.maximum_backoff_ms)
    }
}

/// What was asked for at creation. It never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkOrder {
    /// The queue from which workers may claim the task.
    pub queue: Option<Arc<str>>,
    /// What a worker needs: JSON text.
    pub work: Option<Arc<str>>,
    /// By which creating is idempotent.
    pub operation_id: Option<Arc<str>>,
    /// How often and how soon.
    pub attempts: Attempts,
    /// Whether only who holds the lease may move the task on: it was created with a queue or a lease.
    pub is_fenced: bool,
}

/// Somebody's right to work on a task, for a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who has it.
    pub worker: Arc<str>,
    /// From then on it has lapsed.
    pub ends: Moment,
}

/// Where the work on a task stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// What was asked for.
    pub order: Arc<WorkOrder>,
    /// Attempts begun.
    pub attempt: u32,
    /// Whether the next claim goes on with the last attempt instead of beginning another.
    pub continues_attempt: bool,
    /// The token of the last lease; 0 before the first.
    pub token: u64,
    /// Who holds the task, or held it until the lease lapsed.
    pub lease: Option<Lease>,
    /// Not claimable before then. Of a task without a queue, none.
    pub available_at: Option<Moment>,
    /// What the worker noted: JSON text.
    pub checkpoint: Option<Arc<str>>,
    /// With what the last attempt was given up: JSON text.
    pub last_failure: Option<Arc<str>>,
}

impl Work {
    /// The queue's name.
    pub fn queue(&self) -> Option<&Arc<str>> {
        self.order.queue.as_ref()
    }

    /// The lease, if it has not lapsed.
    pub fn held(&self, now: Now) -> Option<&Lease> {
        self.lease.as_ref().filter(|lease| !lease.ends.has_come(now))
    }

    /// Whether another attempt may begin.
    pub fn has_attempts_left(&self) -> bool {
        self.attempt < self.order.attempts.maximum
    }

    /// When the next attempt may begin should the lease lapse.
    pub fn available_after(&self, lease: &Lease) -> Moment {
        lease.ends.plus_ms(self.order.attempts.backoff_after(self.attempt))
    }

    /// Bytes of text.
    pub fn bytes(&self) -> usize {
        let order = &self.order;
        let texts = [&order.queue, &order.work, &order.operation_id, &self.checkpoint, &self.last_failure];
        let worker = self.lease.as_ref().map_or(0, |lease| lease.worker.len());
        texts.into_iter().flatten().map(|text| text.len()).sum::<usize>() + worker
    }
}

/// Where a task stands with regard to its queue and its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkState {
    /// To be claimed, but not yet.
    Scheduled,
    /// To be claimed.
    Ready,
    /// Held.
    Leased,
    /// Held by nobody while requests to the client are outstanding.
    Parked,
}

impl WorkState {
    /// Every state, in order.
    pub const ALL: [Self; 4] = [Self::Scheduled, Self::Ready, Self::Leased, Self::Parked];

    /// The name that filters and figures have for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Ready => "ready",
            Self::Leased => "leased",
            Self::Parked => "parked",
        }
    }

    /// The state with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

impl TaskRow {
    /// The work, while the task has not ended.
    fn open_work(&self) -> Option<&Work> {
        self.work.as_deref().filter(|_| !self.status.is_terminal())
    }

    /// From when on the task may be claimed, as things stand: while it is free, when it becomes available; while it
    /// is held and has attempts left, when the next one could begin.
    pub fn due_at(&self) -> Option<Moment> {
        let work = self.open_work()?;
        if self.status != TaskStatus::Working || self.cancelation_requested {
            return None;
        }
        let available_at = work.available_at?;
        match &work.lease {
            None => Some(available_at),
            Some(lease) => work.has_attempts_left().then(|| work.available_after(lease)),
        }
    }

    /// When the lapse of its lease ends the task, as things stand.
    pub fn ends_at(&self) -> Option<Moment> {
        let work = self.open_work()?;
        let lease = work.lease.as_ref()?;
        (self.cancelation_requested || !work.has_attempts_left()).then_some(lease.ends)
    }

    /// As what that lapse ends it.
    pub fn ends_as(&self) -> TaskStatus {
        if self.cancelation_requested { TaskStatus::Cancelled } else { TaskStatus::Failed }
    }

    /// Where it stands, if it is open and has a queue or a lease. The row is one as it is to be shown.
    pub fn work_state(&self, now: Now) -> Option<WorkState> {
        let work = self.open_work().filter(|work| work.order.is_fenced)?;
        if work.held(now).is_some() {
            return Some(WorkState::Leased);
        }
        if self.status == TaskStatus::InputRequired {
            return Some(WorkState::Parked);
        }
        let is_due = self.due_at().is_some_and(|due| due.has_come(now));
        Some(if is_due { WorkState::Ready } else { WorkState::Scheduled })
    }
}
