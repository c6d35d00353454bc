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
const NEXT_DUE: &str = "SELECT due_at FROM work WHERE name = ?1 AND queue = ?2 AND due_at > ?3 \
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
        let mut next = i64::MAX;
        for queue in self.claimers.queues() {
            let dates = dates(connection, self.name, &queue, now_ms)?;
            if dates.is_due {
                self.claimers.offer(&queue, Duration::ZERO);
            }
            next = next.min(dates.look_at_ms);
        }
        Ok(next)
    }
}

/// What a look at a queue finds.
struct Dates {
    is_due: bool,
    look_at_ms: i64,
}

fn dates(connection: &Connection, name: i64, queue: &str, now_ms: i64) -> rusqlite::Result<Dates> {
    let first: Option<i64> =
        connection.prepare_cached(FIRST_DUE)?.query_row((name, queue), |row| row.get(0)).optional()?;
    let is_due = first.is_some_and(|first| first <= now_ms);
    if !is_due {
        return Ok(Dates { is_due, look_at_ms: first.unwrap_or(i64::MAX) });
    }
    // Whatever nobody can take does not hold up what comes behind it.
    let next: Option<i64> =
        connection.prepare_cached(NEXT_DUE)?.query_row((name, queue, now_ms), |row| row.get(0)).optional()?;
    let again = now_ms.saturating_add(OFFER_AGAIN_MS);
    Ok(Dates { is_due, look_at_ms: next.map_or(again, |next| next.min(again)) })
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

#[cfg(test)]
mod tests {
    use super::{Dates, dates};
    use rusqlite::Connection;

    #[test]
    fn a_due_task_that_stays_hides_none_that_is_due_soon() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE work (name, queue, due_at);
                 INSERT INTO work VALUES (1, 'q', 10), (1, 'q', 150), (1, 'late', 5000), (2, 'q', 60), (1, 'due', 7)",
            )
            .unwrap();
        for (queue, is_due, look_at_ms) in
            [("q", true, 150), ("late", false, 5000), ("due", true, 1050), ("empty", false, i64::MAX)]
        {
            let Dates { is_due: found, look_at_ms: at } = dates(&connection, 1, queue, 50).unwrap();
            assert_eq!((found, at), (is_due, look_at_ms), "{queue}");
        }
    }
}
