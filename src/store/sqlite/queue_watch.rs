//! One look, by the store's worker, at all queues at which claimers of this process wait. It sees what any process
//! makes claimable, and when the next task is due, so that no claimer has to look by itself.

#![forbid(unsafe_code)]

use std::sync::{Arc, Weak};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _};

use super::Shared;
use super::worker::Chore;
use crate::claimers::Claimers;
use crate::sync::atomic::{AtomicI64, Ordering};

/// How long a due task that nobody could take is not offered again while the file does not change, ms.
const OFFER_AGAIN_MS: i64 = 1000;

const FIRST_DUE: &str = "SELECT due_at FROM work WHERE name = ?1 AND queue = ?2 AND due_at IS NOT NULL \
     ORDER BY due_at LIMIT 1";

pub(super) struct QueueWatch {
    shared: Weak<Shared>,
    /// The number of the managers' name.
    name: i64,
    claimers: Arc<Claimers>,
    /// From when on to look though the file has not changed: milliseconds since 1970.
    look_at_ms: AtomicI64,
}

impl QueueWatch {
    /// A watch over the queues of one table, which the worker keeps from now on.
    pub(super) fn new(shared: &Arc<Shared>, name: i64, claimers: &Arc<Claimers>) -> Arc<Self> {
        let watch = Arc::new(Self {
            shared: Arc::downgrade(shared),
            name,
            claimers: Arc::clone(claimers),
            look_at_ms: AtomicI64::new(i64::MIN),
        });
        shared.worker.add_chore(Arc::downgrade(&watch) as _);
        watch
    }

    /// Somebody came to wait, maybe at a queue where nobody waited before.
    pub(super) fn claimer_came(&self) {
        self.look_at_ms.store(i64::MIN, Ordering::SeqCst);
        if let Some(shared) = self.shared.upgrade() {
            shared.worker.call(&shared);
        }
    }

    /// Calls a claimer to each queue that has a due task. Gives the time of the next look.
    fn look(&self, connection: &Connection, now_ms: i64) -> rusqlite::Result<i64> {
        let mut statement = connection.prepare_cached(FIRST_DUE)?;
        let mut next = i64::MAX;
        for queue in self.claimers.queues() {
            let due: Option<i64> = statement.query_row((self.name, &*queue), |row| row.get(0)).optional()?;
            next = next.min(match due {
                Some(due) if due <= now_ms => {
                    self.claimers.offer(&queue, Duration::ZERO);
                    now_ms.saturating_add(OFFER_AGAIN_MS)
                }
                due => due.unwrap_or(i64::MAX),
            });
        }
        Ok(next)
    }
}

impl Chore for QueueWatch {
    fn turn(&self, connection: Option<&Connection>, changed: bool) -> Option<Duration> {
        let (true, Some(connection), Some(shared)) =
            (self.needs_polling(), connection, self.shared.upgrade())
        else {
            return None;
        };
        let now_ms = shared.now().wall_ms;
        if changed || self.look_at_ms.load(Ordering::SeqCst) <= now_ms {
            // Whoever comes during the look sets an earlier time, which stays.
            self.look_at_ms.store(i64::MAX, Ordering::SeqCst);
            let next = self.look(connection, now_ms).unwrap_or(now_ms.saturating_add(OFFER_AGAIN_MS));
            self.look_at_ms.fetch_min(next, Ordering::SeqCst);
        }
        // While somebody waits the worker polls, and every turn compares the time.
        None
    }

    fn needs_polling(&self) -> bool {
        self.claimers.count() > 0
    }
}
