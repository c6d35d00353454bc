//! The figures of `taskhold_store_stats` for a store on SQLite. Rows are counted by reading, which takes time
//! in a large store: it is for operators, not for a hot path.

#![forbid(unsafe_code)]

use rusqlite::Connection;

use super::Shared;
use super::table::system_ms;
use crate::error::Result;
use crate::json::ObjectWriter;
use crate::store::work_figures::{self, WorkTotals};
use crate::store::{QueueFigures, Queues, TaskStatus};
use crate::text::Text;

#[derive(Default)]
struct Counts {
    tasks: Vec<(String, i64)>,
    sessions: i64,
    a2a_tasks: i64,
    expired: i64,
    pins: i64,
    listeners: i64,
    pages: i64,
    free_pages: i64,
    page_bytes: i64,
    queues: Queues,
}

/// Of each table, and without looking at payloads, the rows that have expired.
const EXPIRED: &str = "SELECT (SELECT count(*) FROM tasks WHERE name = n.number AND expires_at <= ?1) \
     + (SELECT count(*) FROM sessions WHERE name = n.number AND expires_at <= ?1) \
     + (SELECT count(*) FROM a2a_tasks WHERE name = n.number AND expires_at <= ?1) FROM names n";

/// The status of a task as of `?1`: that to which the lapse of its lease has brought it, if there is one.
const EFFECTIVE_STATUS: &str = "iif(t.work IS NULL, t.status, coalesce((SELECT iif(t.cancelation_requested, \
     'cancelled', 'failed') FROM work WHERE task = t.sequence AND ends_at <= ?1), t.status))";

/// The open tasks of each queue by their states, at `?1`.
const QUEUES: &str = "SELECT n.name, w.queue, \
     sum(state = 'scheduled'), sum(state = 'ready'), sum(state = 'leased'), sum(state = 'parked'), \
     coalesce(max(iif(state = 'ready', ?1 - w.due_at, 0)), 0) FROM (\
     SELECT w.name, w.queue, w.due_at, CASE WHEN w.lease_ends_at > ?1 THEN 'leased' \
     WHEN t.status = 'input_required' THEN 'parked' WHEN w.due_at <= ?1 THEN 'ready' ELSE 'scheduled' END AS state \
     FROM work w JOIN tasks t ON t.sequence = w.task WHERE w.queue IS NOT NULL AND t.expires_at > ?1 \
     AND t.status IN ('working', 'input_required') AND coalesce(w.ends_at > ?1, 1)) w \
     JOIN names n ON n.number = w.name GROUP BY n.name, w.queue ORDER BY n.name, w.queue";

fn queues(snapshot: &Connection, now_ms: i64) -> rusqlite::Result<Queues> {
    let mut statement = snapshot.prepare(QUEUES)?;
    let queues = statement.query_map((now_ms,), |row| {
        let tasks = [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?].map(i64::unsigned_abs);
        Ok((row.get(0)?, row.get(1)?, QueueFigures { tasks, oldest_ready_ms: row.get(6)? }))
    })?;
    queues.collect()
}

fn count(connection: &Connection, now_ms: i64) -> rusqlite::Result<Counts> {
    let snapshot = connection.unchecked_transaction()?;
    let number = |sql: &str| snapshot.query_row(sql, (), |row| row.get::<_, i64>(0));
    let alive = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table} WHERE expires_at IS NULL OR expires_at > ?1");
        snapshot.query_row(&sql, (now_ms,), |row| row.get::<_, i64>(0))
    };
    let mut by_status = snapshot.prepare(&format!(
        "SELECT {EFFECTIVE_STATUS} AS status_now, count(*) FROM tasks t \
             WHERE expires_at > ?1 GROUP BY status_now"
    ))?;
    let tasks = by_status.query_map((now_ms,), |row| {
        Ok((row.get_ref(0)?.as_str().unwrap_or_default().to_owned(), row.get(1)?))
    })?;
    let mut expired = snapshot.prepare(EXPIRED)?;
    let expired = expired.query_map((now_ms,), |row| row.get::<_, i64>(0))?;
    let system_ms = system_ms();
    Ok(Counts {
        tasks: tasks.collect::<rusqlite::Result<_>>()?,
        sessions: alive("sessions")?,
        a2a_tasks: alive("a2a_tasks")?,
        expired: expired.sum::<rusqlite::Result<i64>>()?,
        pins: number(&format!(
            "SELECT coalesce(sum(pins), 0) FROM session_pins WHERE lease_until > {system_ms}"
        ))?,
        listeners: number(&format!("SELECT count(*) FROM listeners WHERE lease_until > {system_ms}"))?,
        pages: number("PRAGMA page_count")?,
        free_pages: number("PRAGMA freelist_count")?,
        page_bytes: number("PRAGMA page_size")?,
        queues: queues(&snapshot, now_ms)?,
    })
}

/// Expired rows that are not removed yet are among no count but `expiredPending` and those of bytes.
pub(super) fn render(shared: &Shared, claimers: usize, work: WorkTotals) -> Result<Text> {
    let now_ms = shared.now().wall_ms;
    let counts = shared.read(|connection| count(connection, now_ms))?;
    let (waiters, queues) = shared.changes.audience();
    let (file_bytes, log_bytes) = shared.file.sizes();
    let mut text = Text::with_capacity(512);
    let mut stats = ObjectWriter::new(&mut text);
    stats.plain_string("backend", "sqlite");
    let mut by_status = stats.object("tasks");
    for status in TaskStatus::ALL {
        let known = counts.tasks.iter().find(|(name, _)| name == status.name());
        by_status.int(status.name(), known.map_or(0, |(_, count)| *count));
    }
    drop(by_status);
    let figures: [(&str, i128); 17] = [
        ("sessions", counts.sessions.into()),
        ("a2aTasks", counts.a2a_tasks.into()),
        ("expiredPending", counts.expired.into()),
        ("bytes", ((counts.pages - counts.free_pages) * counts.page_bytes).into()),
        ("waiters", (waiters + claimers) as i128),
        ("eventQueues", queues as i128),
        ("fileBytes", file_bytes.into()),
        ("freeBytes", (counts.free_pages * counts.page_bytes).into()),
        ("walBytes", log_bytes.into()),
        ("checkpoints", shared.log.done().into()),
        ("busyRetries", shared.backoff.retries().into()),
        ("sessionPins", counts.pins.into()),
        ("listeningProcesses", counts.listeners.into()),
        ("watching", i128::from(shared.worker.is_running())),
        ("commits", shared.writer.commits().into()),
        ("writes", shared.writer.writes().into()),
        ("caughtPanics", shared.worker.panics().into()),
    ];
    for (name, figure) in figures {
        stats.int(name, figure);
    }
    work_figures::push(&mut stats, &counts.queues, work);
    drop(stats);
    Ok(text)
}
