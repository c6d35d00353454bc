//! What `taskhold_store_stats` says of queued work, the same for every backend.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::{QueueFigures, WorkCounters, WorkState};
use crate::json::ObjectWriter;
use crate::sync::atomic::Ordering;

/// What one process did over all tables.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WorkTotals([u64; 3]);

impl WorkTotals {
    pub(super) fn add(&mut self, counters: &WorkCounters) {
        let counts = [&counters.claims, &counters.leases_lapsed, &counters.expired_unfinished];
        for (total, count) in self.0.iter_mut().zip(counts) {
            *total += count.load(Ordering::Relaxed);
        }
    }
}

/// Adds the members: the queues of each manager name in their order, and the totals.
pub(super) fn push(
    stats: &mut ObjectWriter<'_>,
    queues: &[(Arc<str>, Arc<str>, QueueFigures)],
    totals: WorkTotals,
) {
    let mut array = stats.array("queues");
    for (manager, queue, figures) in queues {
        let mut object = array.object();
        object.string("manager", manager).string("queue", queue);
        for state in WorkState::ALL {
            object.int(state.name(), figures.tasks[state as usize]);
        }
        object.int("oldestReadyMs", figures.oldest_ready_ms);
    }
    drop(array);
    let [claims, lapsed, expired] = totals.0;
    stats.int("claims", claims).int("leasesLapsed", lapsed).int("expiredUnfinished", expired);
}
