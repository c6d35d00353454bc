//! The figures of `taskhold_store_stats` for a store on PostgreSQL. Rows are counted by reading, which takes time in a
//! large store: it is for operators, not for a hot path.

#![forbid(unsafe_code)]

use super::Shared;
use super::statement_text::{now, server_ms};
use super::values::values;
use crate::error::Result;
use crate::json::ObjectWriter;
use crate::store::work_figures::{self, WorkTotals};
use crate::store::{QueueFigures, Queues, TaskStatus};
use crate::sync::atomic::Ordering;
use crate::text::Text;

/// Alive tasks by status: that to which the lapse of a lease has brought one, if there is one. `$2` is now.
const BY_STATUS: &str = concat!(
    "SELECT s.status, count(*) FROM (SELECT ",
    now!(),
    " AS now) n, LATERAL (SELECT CASE WHEN t.work IS NULL THEN t.status ELSE coalesce((SELECT CASE WHEN \
     t.cancelation_requested THEN 'cancelled' ELSE 'failed' END FROM @work WHERE task = t.sequence \
     AND ends_at <= n.now), t.status) END AS status FROM @tasks t WHERE t.expires_at > n.now) s \
     WHERE $1 IS NOT NULL GROUP BY s.status"
);

/// The other counts, in one row.
const COUNTS: &str = concat!(
    "SELECT (SELECT count(*) FROM @sessions WHERE expires_at IS NULL OR expires_at > n.now), \
     (SELECT count(*) FROM @a2a_tasks WHERE expires_at IS NULL OR expires_at > n.now), \
     (SELECT count(*) FROM @tasks WHERE expires_at <= n.now) \
     + (SELECT count(*) FROM @sessions WHERE expires_at <= n.now) \
     + (SELECT count(*) FROM @a2a_tasks WHERE expires_at <= n.now), \
     (SELECT coalesce(sum(pins), 0)::bigint FROM @session_pins WHERE lease_until > ",
    server_ms!(),
    "), (SELECT count(*) FROM @listeners WHERE lease_until > ",
    server_ms!(),
    "), (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c \
     WHERE c.relnamespace = $3::regnamespace AND c.relkind = 'r' AND starts_with(c.relname, 'taskhold_')) \
     FROM (SELECT ",
    now!(),
    " AS now) n WHERE $1 IS NOT NULL"
);

/// The open tasks of each queue by their states.
const QUEUES: &str = concat!(
    "SELECT s.name, w.queue, count(*) FILTER (WHERE w.state = 'scheduled'), count(*) FILTER (WHERE w.state = 'ready'), \
     count(*) FILTER (WHERE w.state = 'leased'), count(*) FILTER (WHERE w.state = 'parked'), \
     coalesce(max(w.now - w.due_at) FILTER (WHERE w.state = 'ready'), 0) FROM (\
     SELECT n.now, w.name, w.queue, w.due_at, CASE WHEN w.lease_ends_at > n.now THEN 'leased' \
     WHEN t.status = 'input_required' THEN 'parked' WHEN w.due_at <= n.now THEN 'ready' ELSE 'scheduled' END AS state \
     FROM (SELECT ",
    now!(),
    " AS now) n, @work w JOIN @tasks t ON t.sequence = w.task WHERE w.queue IS NOT NULL AND t.expires_at > n.now \
     AND t.status IN ('working', 'input_required') AND coalesce(w.ends_at > n.now, true)) w \
     JOIN @names s ON s.number = w.name WHERE $1 IS NOT NULL GROUP BY s.name, w.queue ORDER BY s.name, w.queue"
);

fn queues(shared: &Shared) -> Result<Queues> {
    let rows = shared.read(QUEUES, &values![0, shared.manual_ms()])?;
    let queue = |columns: &super::values::Row| {
        let tasks = [2, 3, 4, 5].map(|at| columns.integer(at).unsigned_abs());
        let figures = QueueFigures { tasks, oldest_ready_ms: columns.integer(6) };
        (columns.text(0).into(), columns.text(1).into(), figures)
    };
    Ok(rows.iter().map(queue).collect())
}

/// Expired rows that are not removed yet are among no count but `expiredPending` and those of bytes.
pub(super) fn render(shared: &Shared, claimers: usize, work: WorkTotals) -> Result<Text> {
    let tasks = shared.read(BY_STATUS, &values![0, shared.manual_ms()])?;
    let schema = &*shared.pool.setup().schema;
    let counts = shared.read(COUNTS, &values![0, shared.manual_ms(), schema])?;
    let count = |at| counts.first().map_or(0, |columns| columns.integer(at));
    let queues = queues(shared)?;
    let (waiters, event_queues) = shared.changes.audience();
    let (notified, heard) = shared.changes.figures();
    let (open, free, opened) = shared.pool.figures();
    let mut text = Text::with_capacity(512);
    let mut stats = ObjectWriter::new(&mut text);
    stats.plain_string("backend", "postgres");
    let mut by_status = stats.object("tasks");
    for status in TaskStatus::ALL {
        let known = tasks.iter().find(|columns| columns.text(0) == status.name());
        by_status.int(status.name(), known.map_or(0, |columns| columns.integer(1)));
    }
    drop(by_status);
    let figures: [(&str, i128); 17] = [
        ("sessions", count(0).into()),
        ("a2aTasks", count(1).into()),
        ("expiredPending", count(2).into()),
        ("bytes", count(5).into()),
        ("waiters", (waiters + claimers) as i128),
        ("eventQueues", event_queues as i128),
        ("sessionPins", count(3).into()),
        ("listeningProcesses", count(4).into()),
        ("watching", i128::from(shared.worker.is_running())),
        ("connections", open as i128),
        ("freeConnections", free as i128),
        ("connectionsOpened", opened.into()),
        ("writes", shared.writes.load(Ordering::Relaxed).into()),
        ("conflictRetries", shared.conflicts.load(Ordering::Relaxed).into()),
        ("notificationsSent", notified.into()),
        ("notificationsHeard", heard.into()),
        ("caughtPanics", shared.worker.panics().into()),
    ];
    for (name, figure) in figures {
        stats.int(name, figure);
    }
    work_figures::push(&mut stats, &queues, work);
    drop(stats);
    Ok(text)
}
