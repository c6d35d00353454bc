//! Keeping the log short. Changes are copied from the log back into the file by a thread that starts when the log
//! has grown and ends when that is done, so that no caller waits for the copying, nor the worker that others wait
//! for. Only its last part, after which the log begins anew, keeps writers of this process out for a moment.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::Shared;
use super::failure::storage_error;
use super::file::{CHECKPOINT_PAGES, LOG_BYTES_KEPT, StoreFile, open_if_ours};
use super::writer::Writer;
use crate::error::Result;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::{Mutex, thread};

/// How long the last part waits for other processes, while it keeps writers of this one out.
const LONGEST_WAIT: Duration = Duration::from_millis(10);
/// How soon it is tried again after somebody was reading, at first and at last.
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// The log and its copying.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Pages in it, as the last commit left it.
    pages: Arc<AtomicU32>,
    /// Pages at which it is to be copied: more after a copy that could not finish because somebody reads.
    due_at: AtomicU32,
    done: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_copying: bool,
    /// When to try again, and how long after that, since the last time did not finish.
    retry: Option<(Instant, Duration)>,
}

impl Log {
    /// Learns from the connection that writes how long the log is.
    pub(super) fn count_pages_of(&self, connection: &mut Connection) -> Result<()> {
        self.due_at.store(CHECKPOINT_PAGES, Ordering::Relaxed);
        let pages = Arc::clone(&self.pages);
        connection
            .wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, length: std::ffi::c_int| {
                pages.store(u32::try_from(length).unwrap_or(0), Ordering::Relaxed);
                Ok(())
            }))
            .map_err(|error| storage_error(&error))
    }

    /// How often the log was copied back.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Whether it has grown so long that it is to be copied.
    #[inline]
    pub(super) fn is_long(&self) -> bool {
        self.pages.load(Ordering::Relaxed) >= self.due_at.load(Ordering::Relaxed)
    }

    /// The worker's turn: starts the copying when it is due, and says when to come back.
    pub(super) fn turn(self: &Arc<Self>, shared: &Shared) -> Option<Duration> {
        let now = Instant::now();
        let mut state = self.state.lock();
        if state.is_copying {
            // Whether it finishes is to be seen.
            return Some(FIRST_RETRY);
        }
        let is_due = self.is_long() || state.retry.is_some_and(|(at, _)| at <= now);
        if is_due {
            state.is_copying = true;
            drop(state);
            self.start(Arc::clone(&shared.file), Arc::clone(&shared.writer));
            return Some(FIRST_RETRY);
        }
        state.retry.map(|(at, _)| at.saturating_duration_since(now))
    }

    fn start(self: &Arc<Self>, file: Arc<StoreFile>, writer: Arc<Writer>) {
        let mut copying = Copying { log: Arc::clone(self), has_finished: false };
        let thread = thread::Builder::new().name("taskhold-log".to_owned());
        // A thread that cannot be started leaves it unfinished, as one that panics does.
        let _ = thread.spawn(move || {
            copying.has_finished = copy(&file, &writer).unwrap_or(false);
            drop((copying, writer, file));
        });
    }
}

/// A copying that runs. However it ends, that is written down.
struct Copying {
    log: Arc<Log>,
    has_finished: bool,
}

impl Drop for Copying {
    fn drop(&mut self) {
        let log = &self.log;
        let pages = log.pages.load(Ordering::Relaxed);
        let mut state = log.state.lock();
        state.is_copying = false;
        if self.has_finished {
            state.retry = None;
            log.pages.store(0, Ordering::Relaxed);
            log.due_at.store(CHECKPOINT_PAGES, Ordering::Relaxed);
            log.done.fetch_add(1, Ordering::Relaxed);
        } else {
            // By length while others write, and by time when they have stopped.
            log.due_at.store(pages.saturating_add(CHECKPOINT_PAGES / 4), Ordering::Relaxed);
            let after = state.retry.map_or(FIRST_RETRY, |(_, after)| (after * 2).min(LAST_RETRY));
            state.retry = Some((Instant::now() + after, after));
        }
    }
}

/// Whether all of the log was copied.
fn copy(file: &StoreFile, writer: &Writer) -> rusqlite::Result<bool> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || Connection::open_with_flags(file.path(), flags);
    let Some(connection) = open_if_ours(|| file.guard().may_copy_log(), open)? else { return Ok(false) };
    connection.busy_timeout(LONGEST_WAIT)?;
    // Beside the writers, as far as the log goes now.
    checkpoint(&connection, "PASSIVE")?;
    // Then the little that came meanwhile. Only when all is copied does the log begin anew; one that had become very
    // long gives its room back.
    let is_large = file.sizes().1 > LOG_BYTES_KEPT.unsigned_abs();
    writer.outside(|_| checkpoint(&connection, if is_large { "TRUNCATE" } else { "RESTART" }))
}

fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<bool> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), (), |row| {
        let (busy, log, copied): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(busy == 0 && log == copied)
    })
}
