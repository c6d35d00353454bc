//! What session stores ask of their table beside rows: creating and pinning for a holder, and what is kept for it.

#![forbid(unsafe_code)]

use super::super::{Decide, ExpiredSession, HeldPins, Holder, Limits, SessionRow, SessionTable, corrupt_row};
use super::failure::Failure;
use super::pins::{PIN, Pins, UNPIN, UNPIN_LAST, recount};
use super::row::Unreadable;
use super::table::{SqlTable, Stored, system_ms};
use super::watchers;
use super::writer::Transaction;
use crate::error::Result;

const SEQUENCE: &str = "SELECT sequence FROM sessions WHERE name = ?1 AND id = ?2";

impl SqlTable<SessionRow> {
    /// The session with this id that is alive, and its sequence number.
    fn live(
        &self,
        transaction: &Transaction<'_>,
        id: &str,
    ) -> std::result::Result<Option<(i64, SessionRow)>, Failure> {
        let now = self.shared.now();
        let found = transaction.query(&self.statements.select, (self.name, system_ms(), id), |columns| {
            Stored::<SessionRow>::read(columns, 0, &self.shared, now)
        })?;
        let Some(mut stored) = found.flatten() else { return Ok(None) };
        stored.correct(&self.shared, transaction.connection())?;
        if stored.is_expired(now, now.wall_ms) {
            return Ok(None);
        }
        let row = stored.row.map_err(|Unreadable| Failure::Refused(corrupt_row()))?;
        Ok(Some((stored.head.sequence, row)))
    }
}

impl SessionTable for SqlTable<SessionRow> {
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
        let mut expired = Vec::new();
        let mut is_new_watcher = false;
        let created = self.shared.write(|transaction| {
            self.step(transaction, None, id, limits, decide, &mut expired)?;
            is_new_watcher = watchers::watch(transaction, &self.shared, holder, |transaction| {
                transaction.query(SEQUENCE, (self.name, id), |columns| columns.get(0))
            })?;
            Ok(())
        });
        if is_new_watcher {
            // Written or not: the worker writes what is not.
            self.shared.worker.call(&self.shared);
        }
        let created = created?;
        self.tell_expired(&expired);
        created
    }

    fn pin(&self, holder: Holder, id: &str) -> Result<Option<i64>> {
        // What is held changes in the transaction, so that a renewal never meets one without the other.
        let mut added = None;
        let pinned = self.shared.write(|transaction| {
            let Some((session, row)) = self.live(transaction, id)? else { return Ok(None) };
            transaction.execute(PIN, (session, holder.0, system_ms() + Pins::lease_ms()))?;
            watchers::watch(transaction, &self.shared, holder, |_| Ok(Some(session)))?;
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
        pinned?
    }

    fn unpin(&self, holder: Holder, id: &str, instance: i64) -> Result<bool> {
        let mut removed = None;
        let unpinned = self.shared.write(|transaction| {
            let live = self.live(transaction, id)?.filter(|(_, row)| row.instance == instance);
            let Some((session, row)) = live else { return Ok(false) };
            let values = (session, holder.0);
            let was_held =
                transaction.execute(UNPIN, values)? > 0 || transaction.execute(UNPIN_LAST, values)? > 0;
            if was_held {
                recount(transaction, &self.shared, session, row, Some(self.shared.now().tick_ns))?;
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
        unpinned?
    }

    fn take_expired(&self, holder: Holder) -> Result<Vec<ExpiredSession>> {
        watchers::take(&self.shared, holder)
    }

    fn close_holder(&self, holder: Holder, _held: Vec<HeldPins>) {
        let had_pins = self.shared.pins.end(holder, self.shared.now().tick_ns);
        if self.shared.watchers.end(holder) || had_pins {
            self.shared.worker.call(&self.shared);
        }
    }
}
