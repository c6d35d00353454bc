//! The connections that read. A read takes one that is free or opens another; a few are kept. No transaction
//! and no cursor of theirs outlives the call.

#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::backoff::Backoff;
use super::failure::{is_busy, storage_error};
use super::file::StoreFile;
use crate::error::Result;

/// Most connections that are kept for later reads.
const KEPT: usize = 8;

/// Connections that read.
pub(super) struct Pool {
    free: Mutex<Vec<Connection>>,
    /// Goes after the connections.
    file: Arc<StoreFile>,
    busy_timeout: Duration,
}

impl Pool {
    pub(super) fn new(file: Arc<StoreFile>, busy_timeout: Duration) -> Self {
        Self { free: Mutex::default(), file, busy_timeout }
    }

    /// Runs `read` on a connection. It may run more than once, while the file is locked.
    pub(super) fn read<T>(
        &self,
        backoff: &Backoff,
        mut read: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
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
        let done = done.map_err(|error| storage_error(&error))?;
        // One that failed is closed instead.
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < KEPT {
            free.push(connection);
        }
        Ok(done)
    }
}
