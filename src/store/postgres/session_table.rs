//! What session stores ask of their table beside rows: creating and pinning for a holder, and what is kept for it.

#![forbid(unsafe_code)]

use super::super::{Decide, ExpiredSession, HeldPins, Holder, Limits, SessionRow, SessionTable};
use super::pins::{PIN, Pins, UNPIN, recount};
use super::table::PgTable;
use super::values::values;
use super::watchers;
use crate::error::Result;

const SEQUENCE: &str = "SELECT sequence FROM @sessions WHERE name = $1 AND id = $2";

impl SessionTable for PgTable<SessionRow> {
    fn open_holder(&self, keep_expired: usize) -> Holder {
        let holder = self.shared.pins.open(self.shared.number);
        self.shared.watchers.open(holder, keep_expired);
        holder
    }

    fn create(
        &self,
        holder: Holder,
        id: &str,
        limits: Limits,
        decide: &mut Decide<'_, SessionRow>,
    ) -> Result<()> {
        self.change(None, id, limits, decide)?;
        if self.shared.watchers.is_open(holder) {
            // A session that nobody is told of is still created: the watch is made behind it.
            let watched = self.shared.transaction(|transaction| {
                let session = transaction.query(SEQUENCE, values![self.name, id])?;
                let session = session.first().map(|columns| columns.integer(0));
                Ok(watchers::watch(transaction, &self.shared, holder, session))
            });
            if !matches!(watched, Ok(false)) {
                // Written or not: the worker writes what is not.
                self.shared.worker.call(&self.shared);
            }
        }
        Ok(())
    }

    fn pin(&self, holder: Holder, id: &str) -> Result<Option<i64>> {
        // Known before it is in the database, so that a renewal never misses it.
        let mut added = None;
        let pinned = self.shared.transaction(|transaction| {
            if let Some(session) = added.take() {
                self.shared.pins.remove(holder, session);
            }
            let Some((session, row, _)) = self.live(transaction, id)? else { return Ok(None) };
            transaction.defer(PIN, values![session, holder.0, Pins::lease_ms()]);
            watchers::watch(transaction, &self.shared, holder, Some(session));
            let instance = row.instance;
            recount(transaction, &self.shared, session, row, None)?;
            self.shared.pins.add(holder, session);
            added = Some(session);
            Ok(Some(instance))
        });
        if pinned.is_err()
            && let Some(session) = added
        {
            self.shared.pins.remove(holder, session);
        }
        self.shared.worker.call(&self.shared);
        pinned
    }

    fn unpin(&self, holder: Holder, id: &str, instance: i64) -> Result<bool> {
        let mut removed = None;
        let unpinned = self.shared.transaction(|transaction| {
            if let Some(session) = removed.take() {
                self.shared.pins.add(holder, session);
            }
            let live = self.live(transaction, id)?.filter(|(_, row, _)| row.instance == instance);
            let Some((session, row, now)) = live else { return Ok(false) };
            let was_held = transaction.query(UNPIN, values![session, holder.0])?;
            if was_held.first().is_some_and(|columns| columns.integer(0) > 0) {
                recount(transaction, &self.shared, session, row, Some(now.tick_ns))?;
            }
            self.shared.pins.remove(holder, session);
            removed = Some(session);
            Ok(true)
        });
        if unpinned.is_err()
            && let Some(session) = removed
        {
            self.shared.pins.add(holder, session);
        }
        unpinned
    }

    fn take_expired(&self, holder: Holder) -> Result<Vec<ExpiredSession>> {
        watchers::take(&self.shared, holder)
    }

    fn close_holder(&self, holder: Holder, _held: Vec<HeldPins>) {
        let tick_ns = self.shared.estimated_now().tick_ns;
        let had_pins = self.shared.pins.end(holder, tick_ns);
        if self.shared.watchers.end(holder) || had_pins {
            self.shared.worker.call(&self.shared);
        }
    }
}
