//! The open tasks of each queue in the order in which they are due, the leases whose lapse ends a task, and the tasks
//! of operations. Kept beside the rows, under locks of their own; plain tasks are in none of them.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;

use super::super::{Operation, QueueFigures, Row as _, TaskRow, TaskStatus, WorkState};
use super::shard::{Locator, NEVER};
use crate::clock::{Clock, Moment, Now};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicI64, Ordering};

/// A task's place: when it is due, `NEVER` while it cannot be claimed, and among equals the order of creation.
pub(super) type Place = (i64, u64);

/// A task, and what the figures need beside its place: whoever holds the lock of the queue takes no other.
struct Item {
    hash: u64,
    /// The end of its lease.
    lease_ends: Option<Moment>,
    /// From when on it is gone, or ended by the lapse of its lease.
    over_at: i64,
    asks_for_input: bool,
}

/// The open tasks of one queue.
type Queue = BTreeMap<Place, Item>;

/// An operation, as the key of a table.
#[derive(PartialEq, Eq, Hash)]
struct OperationKey {
    endpoint: Box<str>,
    partition: Option<Box<str>>,
    id: Box<str>,
}

impl hashbrown::Equivalent<OperationKey> for Operation<'_> {
    fn equivalent(&self, key: &OperationKey) -> bool {
        *self.endpoint == *key.endpoint && self.partition == key.partition.as_deref() && *self.id == *key.id
    }
}

#[derive(Default)]
pub(super) struct Queues {
    by_name: Mutex<HashMap<Arc<str>, Queue>>,
    /// Hashes of ids by the end of the lease.
    ends: Mutex<BTreeMap<Place, u64>>,
    /// First key of `ends`.
    next_end: AtomicI64Never,
    operations: Mutex<HashMap<OperationKey, Locator>>,
}

/// An instant that begins at `NEVER`.
struct AtomicI64Never(AtomicI64);

impl Default for AtomicI64Never {
    fn default() -> Self {
        Self(AtomicI64::new(NEVER))
    }
}

fn tick(moment: Option<Moment>) -> i64 {
    moment.map_or(NEVER, |moment| moment.tick_ns)
}

/// A tick as an instant of which only that matters.
fn moment(tick_ns: i64) -> Moment {
    Moment { wall_ms: 0, tick_ns }
}

impl Queues {
    /// Puts the task to its places, instead of those that the row before had.
    pub(super) fn place(&self, locator: Locator, old: Option<&TaskRow>, new: Option<&TaskRow>) {
        let queue = new.or(old).and_then(|row| row.work.as_ref()?.queue());
        if let Some(name) = queue {
            let is_open = |row: &&TaskRow| !row.status.is_terminal();
            let (old, new) = (old.filter(is_open), new.filter(is_open));
            self.place_in_queue(name, locator, old, new);
        }
        let key = |row: Option<&TaskRow>| row.and_then(TaskRow::ends_at).map(|ends| ends.tick_ns);
        let (old, new) = (key(old), key(new));
        if old != new {
            let mut ends = self.ends.lock();
            if let Some(old) = old {
                ends.remove(&(old, locator.sequence));
            }
            if let Some(new) = new {
                ends.insert((new, locator.sequence), locator.hash);
            }
            let next = ends.first_key_value().map_or(NEVER, |((tick_ns, _), _)| *tick_ns);
            self.next_end.0.store(next, Ordering::SeqCst);
        }
    }

    fn place_in_queue(
        &self,
        name: &Arc<str>,
        locator: Locator,
        old: Option<&TaskRow>,
        new: Option<&TaskRow>,
    ) {
        let key = |row: &TaskRow| (tick(row.due_at()), locator.sequence);
        let mut queues = self.by_name.lock();
        let queue = match queues.get_mut(name) {
            Some(queue) => queue,
            None if new.is_none() => return,
            None => queues.entry(Arc::clone(name)).or_default(),
        };
        let (old, place) = (old.map(key), new.map(key));
        if old != place
            && let Some(old) = old
        {
            queue.remove(&old);
        }
        if let (Some(place), Some(new)) = (place, new) {
            queue.insert(place, Item::of(locator, new));
        } else if queue.is_empty() {
            queues.remove(name);
        }
    }

    /// The first task of the queue behind `after` that is due.
    pub(super) fn first_due(&self, name: &str, after: Option<Place>, now: Now) -> Option<(Place, Locator)> {
        use std::ops::Bound::{Excluded, Included, Unbounded};

        let from = after.map_or(Unbounded, Excluded);
        let queues = self.by_name.lock();
        let (place, item) = queues.get(name)?.range((from, Included((now.tick_ns, u64::MAX)))).next()?;
        Some((*place, Locator { hash: item.hash, sequence: place.1 }))
    }

    /// When the first task of the queue is due.
    pub(super) fn next_due(&self, name: &str) -> Option<Moment> {
        let first = self.by_name.lock().get(name)?.first_key_value().map(|((tick_ns, _), _)| *tick_ns)?;
        (first != NEVER).then(|| moment(first))
    }

    /// When the first task is ended by the lapse of its lease.
    pub(super) fn next_end(&self) -> Option<Moment> {
        let next = self.next_end.0.load(Ordering::SeqCst);
        (next != NEVER).then(|| moment(next))
    }

    /// Tasks that the lapse of their leases has ended.
    pub(super) fn ended(&self, most: usize, clock: &Clock) -> Vec<Locator> {
        let next = self.next_end.0.load(Ordering::SeqCst);
        if next == NEVER || clock.is_before(next, clock.recent_tick_ns()) {
            return Vec::new();
        }
        let tick_ns = clock.tick_ns();
        let ends = self.ends.lock();
        let due = ends.range(..=(tick_ns, u64::MAX)).take(most);
        due.map(|((_, sequence), hash)| Locator { hash: *hash, sequence: *sequence }).collect()
    }

    /// The task of an operation.
    pub(super) fn of_operation(&self, operation: &Operation<'_>) -> Option<Locator> {
        self.operations.lock().get(operation).copied()
    }

    /// Gives the operation of a new row its task, unless it has one.
    pub(super) fn reserve(&self, locator: Locator, row: &TaskRow) -> bool {
        let Some(key) = operation_key(row) else { return true };
        match self.operations.lock().entry(key) {
            hashbrown::hash_map::Entry::Occupied(_) => false,
            hashbrown::hash_map::Entry::Vacant(vacant) => {
                vacant.insert(locator);
                true
            }
        }
    }

    /// Takes its task from the operation of a row that goes.
    pub(super) fn forget_operation(&self, row: &TaskRow) {
        if let Some(key) = operation_key(row) {
            self.operations.lock().remove(&key);
        }
    }

    /// How many tasks of each queue stand where.
    pub(super) fn figures(&self, now: Now) -> Vec<(Arc<str>, QueueFigures)> {
        let queues = self.by_name.lock();
        let mut all: Vec<_> =
            queues.iter().map(|(name, queue)| (Arc::clone(name), figures(queue, now))).collect();
        drop(queues);
        all.retain(|(_, figures)| figures.tasks.iter().any(|&tasks| tasks > 0));
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }
}

fn figures(queue: &Queue, now: Now) -> QueueFigures {
    let mut figures = QueueFigures::default();
    for ((due, _), item) in queue {
        // What has expired or ended without being stored as such is nowhere any more.
        if item.over_at <= now.tick_ns {
            continue;
        }
        let state = item.state(*due, now);
        figures.tasks[state as usize] += 1;
        if state == WorkState::Ready {
            let ready_ms = now.tick_ns.saturating_sub(*due) / crate::clock::NANOS_PER_MILLI;
            figures.oldest_ready_ms = figures.oldest_ready_ms.max(ready_ms);
        }
    }
    figures
}

impl Item {
    fn of(locator: Locator, row: &TaskRow) -> Self {
        Self {
            hash: locator.hash,
            lease_ends: row.work.as_ref().and_then(|work| work.lease.as_ref()).map(|lease| lease.ends),
            over_at: row.expires_at().unwrap_or(NEVER).min(tick(row.ends_at())),
            asks_for_input: row.status == TaskStatus::InputRequired,
        }
    }

    fn state(&self, due: i64, now: Now) -> WorkState {
        if self.lease_ends.is_some_and(|ends| !ends.has_come(now)) {
            WorkState::Leased
        } else if self.asks_for_input {
            WorkState::Parked
        } else if due <= now.tick_ns {
            WorkState::Ready
        } else {
            WorkState::Scheduled
        }
    }
}

fn operation_key(row: &TaskRow) -> Option<OperationKey> {
    let id = row.work.as_ref()?.order.operation_id.as_ref()?;
    Some(OperationKey {
        endpoint: row.texts.endpoint().into(),
        partition: row.texts.partition().map(Into::into),
        id: (**id).into(),
    })
}
