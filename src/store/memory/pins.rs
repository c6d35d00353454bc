//! Pins in memory. They end with the process, as everything does here, so that a session's row only counts them.

#![forbid(unsafe_code)]

use super::super::{Change, HeldPins, Holder, SessionRow, SessionTable, Table as _};
use super::table::MemoryTable;
use crate::error::Result;

impl MemoryTable<SessionRow> {
    /// False when the session is gone, or another one has its id.
    fn unpin_all(&self, id: &str, instance: i64, count: u32) -> Result<bool> {
        let mut is_there = false;
        self.transact(id, None, &mut |row, now| {
            let row = row.filter(|row| row.instance == instance);
            is_there = row.is_some();
            Ok(row.map_or(Change::Keep, |row| Change::Put(row.unpinned(count, now.tick_ns))))
        })?;
        Ok(is_there)
    }
}

impl SessionTable for MemoryTable<SessionRow> {
    /// Whoever holds a pin says so when it is let go: holders need not be told apart.
    fn open_holder(&self, _keep_expired: usize) -> Holder {
        Holder(0)
    }

    fn pin(&self, _holder: Holder, id: &str) -> Result<Option<i64>> {
        let mut pinned = None;
        self.transact(id, None, &mut |row, _| {
            pinned = row.map(|row| row.instance);
            Ok(row.map_or(Change::Keep, |row| Change::Put(row.pinned())))
        })?;
        Ok(pinned)
    }

    fn unpin(&self, _holder: Holder, id: &str, instance: i64) -> Result<bool> {
        self.unpin_all(id, instance, 1)
    }

    fn close_holder(&self, _holder: Holder, held: Vec<HeldPins>) {
        for (id, instance, count) in held {
            // To change a row in memory does not fail.
            let _ = self.unpin_all(&id, instance, count);
        }
    }
}
