//! What session stores ask of their table beside rows: creating and pinning for a holder, and what is kept for it.

#![forbid(unsafe_code)]

use rusqlite::params;

use super::super::sql::{Listed, list_in_order};
use super::super::{
    Decide, ExpiredSession, HeldPins, Holder, Limits, SessionQuery, SessionRow, SessionTable, corrupt_row,
};
use super::columns::select;
use super::failure::Failure;
use super::pins::{PIN, Pins, UNPIN, UNPIN_LAST, recount};
use super::row::{HEAD_COLUMNS, SEQUENCE_BITS, SqlRow as _, Unreadable};
use super::table::{SqlTable, Stored, system_ms};
use super::task_row::id_of;
use super::watchers;
use super::writer::Transaction;
use crate::error::Result;

const SEQUENCE: &str = "SELECT sequence FROM sessions WHERE name = ?1 AND id = ?2";

/// `?1` the name, `?2` the system's time, `?3` the last sequence number shown, `?4` the name's last, `?5` how many, `?6`
/// now; then the filters, NULL where there is none. `?8` tells "any partition" from the anonymous one. Of a session with
/// pins only the row itself knows whether it has expired: their leases may have lapsed.
pub(super) fn list_sql() -> String {
    select::<SessionRow>(
        "WHERE +t.name = ?1 AND t.sequence > ?3 AND t.sequence < ?4 \
         AND (t.expires_at IS NULL OR t.expires_at > ?6 OR t.pins > 0) \
         AND (?7 IS NULL OR t.endpoint = ?7) AND (?8 OR t.authorization_partition IS ?9) \
         ORDER BY t.sequence LIMIT ?5",
    )
}

impl SqlTable<SessionRow> {
    /// The sessions behind a sequence number, at most so many.
    fn following(
        &self,
        query: &SessionQuery<'_>,
        after: i64,
        most: usize,
    ) -> Result<Vec<Listed<SessionRow>>> {
        let now = self.shared.now();
        let time_ms = self.shared.system_ms(now);
        let sql = list_sql();
        self.shared.read(|connection| {
            // Before the file is read: what is removed from it meanwhile is forgotten here.
            let ended = self.shared.pins.ended();
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params![
                self.name,
                time_ms,
                after,
                (self.name + 1) << SEQUENCE_BITS,
                i64::try_from(most).unwrap_or(i64::MAX),
                now.wall_ms,
                query.endpoint,
                query.partition.is_none(),
                query.partition.flatten(),
            ])?;
            let mut listed = Vec::new();
            while let Some(columns) = rows.next()? {
                let stored = Stored::<SessionRow>::read(columns, 0, &self.shared, now)?;
                let Some(Stored { head, mut row }) = stored else { continue };
                if let Ok(row) = &mut row {
                    row.correct(head.sequence, &ended, connection)?;
                }
                let stored = Stored { head, row };
                let is_expired = stored.is_expired(now, now.wall_ms);
                let row = stored.row.map_err(|Unreadable| id_of(columns, HEAD_COLUMNS));
                listed.push(Listed { sequence: head.sequence, row: (!is_expired).then_some(row) });
            }
            Ok(listed)
        })
    }

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

    fn list(
        &self,
        query: &SessionQuery<'_>,
        visit: &mut dyn FnMut(&SessionRow),
        corrupt: &mut Vec<String>,
    ) -> Result<Option<u64>> {
        let following = &mut |after, most| self.following(query, after, most);
        list_in_order(self.name, query.after, query.limit, following, visit, corrupt)
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
