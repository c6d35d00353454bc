//! The connections that read. A read takes one that is free, opens another, or waits for one: there is a bound, since
//! each costs descriptors and memory. No transaction and no cursor of theirs outlives the call.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::backoff::Backoff;
use super::failure::{is_busy, storage_error};
use super::file::StoreFile;
use crate::error::Result;
use crate::sync::{Condvar, Mutex};

/// Most connections at once: more readers than processors gain nothing.
pub(super) const MOST: usize = 16;

/// Connections that read.
pub(super) struct Pool {
    connections: Mutex<Connections>,
    given_back: Condvar,
    /// Goes after the connections.
    file: Arc<StoreFile>,
    busy_timeout: Duration,
    most: usize,
}

#[derive(Default)]
struct Connections {
    free: Vec<Connection>,
    /// Those that are free or in use.
    open: usize,
}

/// The room of a connection that is in use.
struct Room<'p> {
    pool: &'p Pool,
    is_kept: bool,
}

impl Drop for Room<'_> {
    /// A panic, too, must leave the others their room.
    fn drop(&mut self) {
        if !self.is_kept {
            self.pool.connections.lock().open -= 1;
        }
        self.pool.given_back.notify_one();
    }
}

impl Pool {
    /// With at most so many connections at once, of which half are kept for later reads.
    pub(super) fn new(file: Arc<StoreFile>, busy_timeout: Duration, most: usize) -> Self {
        Self { connections: Mutex::default(), given_back: Condvar::new(), file, busy_timeout, most }
    }

    /// Runs `read` on a connection. It may run more than once, while the file is locked.
    pub(super) fn read<T>(
        &self,
        backoff: &Backoff,
        mut read: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let (free, mut room) = self.take();
        let connection = if let Some(connection) = free {
            connection
        } else {
            let deadline = Instant::now() + self.busy_timeout;
            backoff.until(deadline, || self.file.open_reader()).map_err(|error| storage_error(&error))?
        };
        // Others are hardly ever in the way, and until then the time is not looked at.
        let done = match read(&connection) {
            Err(error) if is_busy(&error) => {
                backoff.until(Instant::now() + self.busy_timeout, || read(&connection))
            }
            done => done,
        };
        // One that failed is closed instead of given back.
        let done = done.map_err(|error| storage_error(&error))?;
        let mut connections = self.connections.lock();
        if connections.free.len() < self.most / 2 {
            connections.free.push(connection);
            room.is_kept = true;
        }
        drop(connections);
        Ok(done)
    }

    /// A connection that is free, or the room to open one.
    fn take(&self) -> (Option<Connection>, Room<'_>) {
        let mut connections = self.connections.lock();
        loop {
            let free = connections.free.pop();
            if free.is_some() || connections.open < self.most {
                connections.open += usize::from(free.is_none());
                return (free, Room { pool: self, is_kept: false });
            }
            connections = self.given_back.wait(connections);
        }
    }
}
