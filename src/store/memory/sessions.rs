//! Sessions in memory: their order, the operators' listing, and their pins. Pins end with the process, as everything does
//! here, so that a session's row only counts them.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::super::{Change, HeldPins, Holder, SessionQuery, SessionRow, SessionTable, Table as _};
use super::creation_order::{CreationOrder, Page};
use super::shard::{Cell, Locator};
use super::table::{Index, Indexed, MemoryTable};
use crate::error::Result;

impl Index<SessionRow> for CreationOrder {
    fn inserted(&self, locator: Locator, _new: &Arc<Cell<SessionRow>>) {
        self.insert(locator);
    }

    fn replaced(&self, _locator: Locator, _old: &Arc<Cell<SessionRow>>, _new: &Arc<Cell<SessionRow>>) {}

    fn removed(&self, locator: Locator, _old: &Arc<Cell<SessionRow>>) {
        self.remove(locator);
    }
}

impl Indexed for SessionRow {
    type Index = CreationOrder;

    fn class(&self) -> usize {
        0
    }

    fn text(&self) -> &Arc<str> {
        &self.snapshot
    }

    fn bytes(&self) -> usize {
        self.id.len()
            + self.endpoint.len()
            + self.partition.as_ref().map_or(0, |text| text.len())
            + self.snapshot.len()
    }
}

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

    fn list(
        &self,
        query: &SessionQuery<'_>,
        visit: &mut dyn FnMut(&SessionRow),
        _corrupt: &mut Vec<String>,
    ) -> Result<Option<u64>> {
        let page = Page { after: query.after, limit: query.limit, tick_ns: self.tick_ns() };
        Ok(self.list_in_order(&self.index, page, &mut |row, _, is_shown| {
            let matched = query.endpoint.is_none_or(|endpoint| *row.endpoint == *endpoint)
                && query.partition.is_none_or(|partition| row.partition.as_deref() == partition);
            if matched && is_shown {
                visit(row);
            }
            matched
        }))
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
