//! The figures of `taskhold_store_stats` for a memory store, read from counters.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::super::work_figures::{self, WorkTotals};
use super::super::{A2aRow, SessionRow, Table as _, TaskRow, TaskStatus, TaskTable as _};
use super::table::{CLASSES, Indexed, MemoryTable};
use crate::json::ObjectWriter;
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
    managers: &[(Arc<str>, Arc<MemoryTable<TaskRow>>)],
    sessions: &[Arc<MemoryTable<SessionRow>>],
    a2a_tasks: &[Arc<MemoryTable<A2aRow>>],
) -> Text {
    let mut work = WorkTotals::default();
    let mut queues = Vec::new();
    let mut lapsed = [0; CLASSES];
    for (manager, table) in managers {
        work.add(table.work_counters());
        let of_table = table.queue_figures().into_iter();
        queues.extend(of_table.map(|(queue, figures)| (Arc::clone(manager), queue, figures)));
        table.note_lapses(&mut lapsed);
    }
    let tasks: Vec<_> = managers.iter().map(|(_, table)| Arc::clone(table)).collect();
    let (mut tasks, sessions, a2a_tasks) = (Sum::of(&tasks), Sum::of(sessions), Sum::of(a2a_tasks));
    tasks.rows.iter_mut().zip(lapsed).for_each(|(rows, lapsed)| *rows += lapsed);
    tasks.waiters += managers.iter().map(|(_, table)| table.claimers().count()).sum::<usize>();
    let mut text = Text::with_capacity(256);
    let mut stats = ObjectWriter::new(&mut text);
    stats.plain_string("backend", "memory");
    let mut by_status = stats.object("tasks");
    for status in TaskStatus::ALL {
        by_status.int(status.name(), tasks.rows[status as usize]);
    }
    drop(by_status);
    stats
        .int("sessions", sessions.count())
        .int("a2aTasks", a2a_tasks.count())
        .int("expiredPending", (tasks.expired + sessions.expired + a2a_tasks.expired) as u64)
        .int("bytes", tasks.bytes + sessions.bytes + a2a_tasks.bytes)
        .int("waiters", (tasks.waiters + sessions.waiters + a2a_tasks.waiters) as u64)
        .int("eventQueues", (tasks.queues + sessions.queues + a2a_tasks.queues) as u64);
    work_figures::push(&mut stats, &queues, work);
    drop(stats);
    text
}
