//! The figures of `taskhold_store_stats` for a store on SQLite. Rows are counted by reading, which takes time
//! in a large store: it is for operators, not for a hot path.

#![forbid(unsafe_code)]

use rusqlite::Connection;

use super::Shared;
use super::table::system_ms;
use crate::error::Result;
use crate::json::ObjectWriter;
use crate::store::TaskStatus;
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
}

/// Of each table, and without looking at payloads, the rows that have expired.
const EXPIRED: &str = "SELECT (SELECT count(*) FROM tasks WHERE name = n.number AND expires_at <= ?1) \
     + (SELECT count(*) FROM sessions WHERE name = n.number AND expires_at <= ?1) \
     + (SELECT count(*) FROM a2a_tasks WHERE name = n.number AND expires_at <= ?1) FROM names n";

fn count(connection: &Connection, now_ms: i64) -> rusqlite::Result<Counts> {
    let snapshot = connection.unchecked_transaction()?;
    let number = |sql: &str| snapshot.query_row(sql, (), |row| row.get::<_, i64>(0));
    let alive = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table} WHERE expires_at IS NULL OR expires_at > ?1");
        snapshot.query_row(&sql, (now_ms,), |row| row.get::<_, i64>(0))
    };
    let mut by_status =
        snapshot.prepare("SELECT status, count(*) FROM tasks WHERE expires_at > ?1 GROUP BY status")?;
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
    })
}

/// Expired rows that are not removed yet are among no count but `expiredPending` and those of bytes.
pub(super) fn render(shared: &Shared) -> Result<Text> {
    let now_ms = shared.now().wall_ms;
    let counts = shared.read(|connection| count(connection, now_ms))?;
    let (waiters, queues) = shared.watch.audience();
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
    let figures: [(&str, i128); 16] = [
        ("sessions", counts.sessions.into()),
        ("a2aTasks", counts.a2a_tasks.into()),
        ("expiredPending", counts.expired.into()),
        ("bytes", ((counts.pages - counts.free_pages) * counts.page_bytes).into()),
        ("waiters", waiters as i128),
        ("eventQueues", queues as i128),
        ("fileBytes", file_bytes.into()),
        ("freeBytes", (counts.free_pages * counts.page_bytes).into()),
        ("walBytes", log_bytes.into()),
        ("checkpoints", shared.checkpoints.done().into()),
        ("busyRetries", shared.backoff.retries().into()),
        ("sessionPins", counts.pins.into()),
        ("listeningProcesses", counts.listeners.into()),
        ("watching", i128::from(shared.watch.is_running())),
        ("commits", shared.writer.commits().into()),
        ("writes", shared.writer.writes().into()),
    ];
    for (name, figure) in figures {
        stats.int(name, figure);
    }
    drop(stats);
    Ok(text)
}
