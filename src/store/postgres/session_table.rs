//! What session stores ask of their table beside rows: creating and pinning for a holder, and what is kept for it.

#![forbid(unsafe_code)]

use super::super::sql::{Listed, list_in_order};
use super::super::{
    Decide, ExpiredSession, HeldPins, Holder, Limits, SessionQuery, SessionRow, SessionTable,
};
use super::columns::shown_columns;
use super::pins::{PIN, Pins, UNPIN, recount};
use super::row::Unreadable;
use super::statement_text::now;
use super::table::PgTable;
use super::task_row::id_of;
use super::values::values;
use super::watchers;
use crate::error::Result;

const SEQUENCE: &str = "SELECT sequence FROM @sessions WHERE name = $1 AND id = $2";

/// `$1` the name, `$2` now, `$3` the last sequence number shown, `$4` how many; then the filters, NULL where there is
/// none. `$6` tells "any partition" from the anonymous one. Of a session with pins only the row itself knows whether it
/// has expired: their leases may have lapsed.
fn list_sql() -> String {
    format!(
        "SELECT n.now, {} FROM (SELECT {} AS now) n, @sessions t \
         WHERE t.sequence > $3 AND t.sequence < ($1 + 1) << 40 \
         AND (t.expires_at IS NULL OR t.expires_at > n.now OR t.pins > 0) \
         AND ($5 IS NULL OR t.endpoint = $5) AND ($6 OR t.authorization_partition IS NOT DISTINCT FROM $7) \
         ORDER BY t.sequence LIMIT $4",
        shown_columns::<SessionRow>(false),
        now!(),
    )
}

impl PgTable<SessionRow> {
    /// The sessions behind a sequence number, at most so many.
    fn following(
        &self,
        query: &SessionQuery<'_>,
        after: i64,
        most: usize,
    ) -> Result<Vec<Listed<SessionRow>>> {
        // Before the database is read: what is removed from it meanwhile is forgotten here.
        let ended = self.shared.pins.ended();
        let values = values![
            self.name,
            self.shared.manual_ms(),
            after,
            i64::try_from(most).unwrap_or(i64::MAX),
            query.endpoint,
            query.partition.is_none(),
            query.partition.flatten(),
        ];
        let rows = self.shared.read(&list_sql(), &values)?;
        let mut listed = Vec::with_capacity(rows.len());
        for columns in &rows {
            let now = self.shared.now_at(columns.integer(0));
            let Some(stored) = self.stored(columns, 1, now, &ended)? else { continue };
            let (sequence, is_expired) = (stored.head.sequence, stored.is_expired(now));
            let row = stored.row.map_err(|Unreadable| id_of(columns, 1));
            listed.push(Listed { sequence, row: (!is_expired).then_some(row) });
        }
        Ok(listed)
    }
}

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
