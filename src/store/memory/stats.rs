//! The figures of `taskhold_store_stats` for a memory store, read from counters.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::super::{A2aRow, SessionRow, Table as _, TaskRow, TaskStatus};
use super::table::{CLASSES, Indexed, MemoryTable};
use crate::text::Text;

#[derive(Default)]
struct Sum {
    rows: [i64; CLASSES],
    bytes: i64,
    expired: usize,
    waiters: usize,
    queues: usize,
}

impl Sum {
    fn of<R: Indexed>(tables: &[Arc<MemoryTable<R>>]) -> Self {
        let mut sum = Self::default();
        for table in tables {
            let (rows, bytes, expired) = table.totals();
            for (total, count) in sum.rows.iter_mut().zip(rows) {
                *total += count;
            }
            let (waiters, queues) = table.hub().counts();
            sum.bytes += bytes;
            sum.expired += expired;
            sum.waiters += waiters;
            sum.queues += queues;
        }
        sum
    }

    fn count(&self) -> i64 {
        self.rows.iter().sum()
    }
}

/// Expired rows that are not removed yet are among no count but `expiredPending` and `bytes`.
pub(super) fn render(
    tasks: &[Arc<MemoryTable<TaskRow>>],
    sessions: &[Arc<MemoryTable<SessionRow>>],
    a2a_tasks: &[Arc<MemoryTable<A2aRow>>],
) -> Text {
    let (tasks, sessions, a2a_tasks) = (Sum::of(tasks), Sum::of(sessions), Sum::of(a2a_tasks));
    let mut text = Text::with_capacity(256);
    text.push_str("{\"backend\":\"memory\",\"tasks\":{");
    for status in TaskStatus::ALL {
        if status != TaskStatus::ALL[0] {
            text.push_str(",");
        }
        text.push_json_string(status.name());
        text.push_str(":");
        text.push_int(tasks.rows[status as usize]);
    }
    text.push_str("},\"sessions\":");
    text.push_int(sessions.count());
    text.push_str(",\"a2aTasks\":");
    text.push_int(a2a_tasks.count());
    text.push_str(",\"expiredPending\":");
    text.push_int((tasks.expired + sessions.expired + a2a_tasks.expired) as u64);
    text.push_str(",\"bytes\":");
    text.push_int(tasks.bytes + sessions.bytes + a2a_tasks.bytes);
    text.push_str(",\"waiters\":");
    text.push_int((tasks.waiters + sessions.waiters + a2a_tasks.waiters) as u64);
    text.push_str(",\"eventQueues\":");
    text.push_int((tasks.queues + sessions.queues + a2a_tasks.queues) as u64);
    text.push_str("}");
    text
}
