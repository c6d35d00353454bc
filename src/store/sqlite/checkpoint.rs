//! Keeping the log short. Changes are copied from the log back into the file by a thread of its own that
//! starts when the log has grown and ends when that is done, so that no caller waits for the copying. Only its
//! last part, after which the log begins anew, keeps writers of this process out for a moment.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rusqlite::{Connection, OpenFlags};

use super::Shared;
use super::failure::storage_error;
use super::file::{CHECKPOINT_PAGES, StoreFile};
use super::writer::Writer;
use crate::error::Result;

/// How long the last part waits for other processes, while it keeps writers of this one out.
const LONGEST_WAIT: std::time::Duration = std::time::Duration::from_millis(10);

/// Counts the pages in the log.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    pages: Arc<AtomicU32>,
    is_running: AtomicBool,
    done: AtomicU64,
    /// Pages at which the next one is due: more after one that could not finish because somebody reads.
    due_at: AtomicU32,
}

impl Checkpoints {
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

    /// Starts the thread when the log is long.
    #[inline]
    pub(super) fn start_if_due(self: &Arc<Self>, shared: &Shared) {
        if self.pages.load(Ordering::Relaxed) >= self.due_at.load(Ordering::Relaxed) {
            self.start(shared);
        }
    }

    #[cold]
    fn start(self: &Arc<Self>, shared: &Shared) {
        if self.is_running.swap(true, Ordering::AcqRel) {
            return;
        }
        let (this, file, writer) = (Arc::clone(self), Arc::clone(&shared.file), Arc::clone(&shared.writer));
        let thread = std::thread::Builder::new().name("taskhold-checkpoint".to_owned());
        let spawned = thread.spawn(move || {
            this.run(&file, &writer);
            this.is_running.store(false, Ordering::Release);
        });
        if spawned.is_err() {
            self.is_running.store(false, Ordering::Release);
        }
    }

    fn run(&self, file: &StoreFile, writer: &Writer) {
        let finished = Connection::open_with_flags(
            file.path(),
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )
        .and_then(|connection| {
            connection.busy_timeout(LONGEST_WAIT)?;
            // Beside the writers, as far as the log goes now.
            checkpoint(&connection, "PASSIVE")?;
            // Then the little that came meanwhile. Only when all is copied does the log begin anew.
            writer.outside(|_| checkpoint(&connection, "RESTART"))
        });
        let finished = finished.unwrap_or(false);
        let now = self.pages.load(Ordering::Relaxed);
        let more = if finished { CHECKPOINT_PAGES } else { now.saturating_add(CHECKPOINT_PAGES / 4) };
        self.due_at.store(more, Ordering::Relaxed);
        if finished {
            self.pages.store(0, Ordering::Relaxed);
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Whether all of the log was copied.
fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<bool> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), (), |row| {
        let (busy, log, copied): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(busy == 0 && log == copied)
    })
}
