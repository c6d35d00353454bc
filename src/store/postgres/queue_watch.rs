//! One look, by the store's worker, at all queues at which claimers of this process wait. It sees what any process
//! makes claimable, and when the next task is due, so that no claimer has to look by itself.

#![forbid(unsafe_code)]

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::Shared;
use super::changes::is_queue;
use super::statement_text::now;
use super::values::values;
use super::worker::Chore;
use crate::claimers::Claimers;
use crate::error::Result;
use crate::sync::Mutex;

/// How long a due task that nobody could take is not offered again while nothing is notified.
const OFFER_AGAIN: Duration = Duration::from_secs(1);
/// A look at queues that failed, or where the clock is moved by hand, is repeated after this time.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// When the first task of each of the queues `$3` is due, and the time.
const FIRST_DUE: &str = concat!(
    "SELECT q.queue, (SELECT w.due_at FROM @work w WHERE w.name = $1 AND w.queue = q.queue \
     AND w.due_at IS NOT NULL ORDER BY w.due_at LIMIT 1), ",
    now!(),
    " FROM unnest($3) q (queue)"
);

pub(super) struct QueueWatch {
    shared: Weak<Shared>,
    /// The number of the managers' name.
    name: i64,
    claimers: Arc<Claimers>,
    /// When to look though nothing is notified; `None`: at the next turn.
    look_at: Mutex<Option<Instant>>,
}

impl QueueWatch {
    /// A watch over the queues of one table, which the worker keeps from now on.
    pub(super) fn new(shared: &Arc<Shared>, name: i64, claimers: &Arc<Claimers>) -> Arc<Self> {
        let watch = Arc::new(Self {
            shared: Arc::downgrade(shared),
            name,
            claimers: Arc::clone(claimers),
            look_at: Mutex::default(),
        });
        shared.worker.add_chore(Arc::downgrade(&watch) as _);
        watch
    }

    /// Somebody came to wait, maybe at a queue where nobody waited before.
    pub(super) fn claimer_came(&self) {
        *self.look_at.lock() = None;
        if let Some(shared) = self.shared.upgrade() {
            shared.worker.call(&shared);
        }
    }

    /// This process changed what is due, while somebody may wait: nobody notifies it of that.
    pub(super) fn changed(&self) {
        if self.needs_listening() {
            self.claimer_came();
        }
    }

    /// Calls a claimer to each queue that has a due task. Gives the time until the next look.
    fn look(&self, shared: &Shared) -> Result<Duration> {
        let queues = self.claimers.queues();
        let mut values = values![self.name, shared.manual_ms()];
        values.push_texts(queues.iter().map(|queue| &**queue));
        let mut next = Duration::MAX;
        for columns in shared.read(FIRST_DUE, &values)? {
            let Some(due) = columns.optional_integer(1) else { continue };
            let left = due.saturating_sub(columns.integer(2));
            next = next.min(if left <= 0 {
                self.claimers.offer(&columns.text(0), Duration::ZERO);
                OFFER_AGAIN
            } else if shared.manual_ms().is_some() {
                LOOK_AGAIN
            } else {
                Duration::from_millis(left.unsigned_abs())
            });
        }
        Ok(next)
    }
}

impl Chore for QueueWatch {
    fn turn(&self, woken: &[u64], is_full_look: bool) -> Option<Duration> {
        let (true, Some(shared)) = (self.needs_listening(), self.shared.upgrade()) else { return None };
        let is_woken = || {
            let queues = self.claimers.queues();
            woken.iter().any(|woken| queues.iter().any(|queue| is_queue(*woken, self.name, queue)))
        };
        let now = Instant::now();
        let is_due = self.look_at.lock().is_none_or(|at| at <= now);
        if is_full_look || is_due || is_woken() {
            // Whoever comes during the look sets an earlier time, which stays.
            let far = now + Duration::from_hours(1);
            *self.look_at.lock() = Some(far);
            let next = self.look(&shared).unwrap_or(LOOK_AGAIN);
            let next = now.checked_add(next).unwrap_or(far);
            let mut look_at = self.look_at.lock();
            *look_at = look_at.map(|at| at.min(next));
        }
        let look_at = *self.look_at.lock();
        Some(look_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now())))
    }

    fn needs_listening(&self) -> bool {
        self.claimers.count() > 0
    }
}
