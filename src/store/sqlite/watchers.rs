//! Which holders are to be told when a session expires, and what is kept for them. A holder that keeps expired sessions
//! has a row with a lease, a row for each session that it created or pinned, and one for each that another process
//! removed, up to its bound. Who removes a session writes those in the same transaction. What is left of a holder
//! whose lease ended is removed by whoever renews next; one that is closed ends its lease at once.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use super::super::sql::{DueWatchers, WATCH_LEASE_MS};
use super::super::{ExpiredSession, Holder, SessionRow};
use super::Shared;
use super::table::system_ms;
use super::writer::Transaction;
use crate::error::Result;

/// How soon what failed is tried again.
const RETRY: Duration = Duration::from_millis(500);
/// Rows of ended holders that one transaction removes from each table.
const MOST_AT_ONCE: usize = 500;

const RENEW: &str = "INSERT INTO session_watchers (holder, store, keep_expired, lease_until) VALUES (?1, ?2, ?3, ?4) \
     ON CONFLICT (holder) DO UPDATE SET lease_until = excluded.lease_until";
const END: &str = "UPDATE session_watchers SET lease_until = 0 WHERE holder = ?1";
const WATCH: &str = "INSERT OR IGNORE INTO session_watches (session, holder) VALUES (?1, ?2)";
const FORGET: &str = "DELETE FROM session_watches WHERE session = ?1";
/// The next number of each holder that is to be told of the session `?1` by the store `?2`.
const NUMBER: &str = "UPDATE session_watchers SET last_number = last_number + 1 \
     WHERE store <> ?2 AND holder IN (SELECT holder FROM session_watches WHERE session = ?1)";
const KEEP: &str = "INSERT INTO expired_sessions (holder, number, reason, id, endpoint) \
     SELECT w.holder, w.last_number, ?3, ?4, ?5 FROM session_watches s JOIN session_watchers w \
     ON w.holder = s.holder WHERE s.session = ?1 AND w.store <> ?2";
/// One came, so that one goes where the bound is reached.
const DROP_OLDEST: &str = "DELETE FROM expired_sessions WHERE (holder, number) IN \
     (SELECT w.holder, w.last_number - w.keep_expired FROM session_watches s JOIN session_watchers w \
     ON w.holder = s.holder WHERE s.session = ?1 AND w.store <> ?2)";
const HAS_ANY: &str = "SELECT 1 FROM expired_sessions WHERE holder = ?1 LIMIT 1";
const TAKE: &str = "SELECT reason, id, endpoint FROM expired_sessions WHERE holder = ?1 ORDER BY number";
const TAKEN: &str = "DELETE FROM expired_sessions WHERE holder = ?1";
const PURGE_WATCHES: &str = "DELETE FROM session_watches WHERE (session, holder) IN \
     (SELECT session, holder FROM session_watches WHERE holder IN \
     (SELECT holder FROM session_watchers WHERE lease_until <= ?1) LIMIT ?2)";
const PURGE_EXPIRED: &str = "DELETE FROM expired_sessions WHERE (holder, number) IN \
     (SELECT holder, number FROM expired_sessions WHERE holder IN \
     (SELECT holder FROM session_watchers WHERE lease_until <= ?1) LIMIT ?2)";
const PURGE: &str = "DELETE FROM session_watchers WHERE lease_until <= ?1";

/// Notes that `holder` is to be told when a session expires, if it keeps such. True when the worker has to look after
/// it from now on.
pub(super) fn watch(
    transaction: &Transaction<'_>,
    shared: &Shared,
    holder: Holder,
    session: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<Option<i64>>,
) -> rusqlite::Result<bool> {
    let now_ms = system_ms();
    let Some((watcher, is_new)) = shared.watchers.begin(holder, now_ms) else { return Ok(false) };
    let Some(session) = session(transaction)? else { return Ok(is_new) };
    if is_new {
        let values = (holder.0, transaction.store(), watcher.keep_expired, now_ms + WATCH_LEASE_MS);
        transaction.execute(RENEW, values)?;
    }
    transaction.execute(WATCH, (session, holder.0))?;
    Ok(is_new)
}

/// Keeps a session that is removed by expiry for the holders of other processes that are to be told.
pub(super) fn tell(transaction: &Transaction<'_>, session: i64, row: &SessionRow) -> rusqlite::Result<()> {
    let store = transaction.store();
    if transaction.execute(NUMBER, (session, store))? > 0 {
        transaction.execute(KEEP, (session, store, row.expiry_reason(), &*row.id, &*row.endpoint))?;
        transaction.execute(DROP_OLDEST, (session, store))?;
    }
    Ok(())
}

/// A session is gone.
pub(super) fn forget_session(transaction: &Transaction<'_>, session: i64) -> rusqlite::Result<()> {
    transaction.execute(FORGET, (session,)).map(drop)
}

/// Takes what is kept for a holder, oldest first.
pub(super) fn take(shared: &Arc<Shared>, holder: Holder) -> Result<Vec<ExpiredSession>> {
    if !shared.read(|connection| connection.prepare_cached(HAS_ANY)?.exists((holder.0,)))? {
        return Ok(Vec::new());
    }
    shared.write(|transaction| {
        let taken = transaction.query_all(TAKE, (holder.0,), |columns| {
            Ok(ExpiredSession { reason: columns.get(0)?, id: columns.get(1)?, endpoint: columns.get(2)? })
        })?;
        transaction.execute(TAKEN, (holder.0,))?;
        Ok(taken)
    })?
}

/// The worker's turn: renews and ends leases, and removes what is left of ended holders. Says when to come back.
pub(super) fn turn(shared: &Arc<Shared>) -> Option<Duration> {
    let due = match shared.watchers.due(system_ms()) {
        Ok(due) => due,
        Err(left) => return left,
    };
    match renew(shared, &due) {
        Err(_) => Some(RETRY),
        // Bit by bit: pins must be renewed in between.
        Ok(true) => Some(Duration::ZERO),
        Ok(false) => {
            shared.watchers.renewed(&due, system_ms());
            shared.watchers.due(system_ms()).err().unwrap_or(Some(Duration::ZERO))
        }
    }
}

/// Writes leases down and removes a bounded part of what ended holders left. True when some of it is left.
fn renew(shared: &Arc<Shared>, due: &DueWatchers) -> Result<bool> {
    shared.write(|transaction| {
        let now_ms = system_ms();
        for (holder, watcher) in &due.open {
            // One that was closed meanwhile must not come back.
            if shared.watchers.is_open(*holder) {
                let values = (holder.0, transaction.store(), watcher.keep_expired, now_ms + WATCH_LEASE_MS);
                transaction.execute(RENEW, values)?;
            }
        }
        for holder in &due.ended {
            transaction.execute(END, (holder.0,))?;
        }
        let values = (now_ms, i64::try_from(MOST_AT_ONCE).unwrap_or(i64::MAX));
        let mut is_left = false;
        for purge in [PURGE_WATCHES, PURGE_EXPIRED] {
            is_left |= transaction.execute(purge, values)? == MOST_AT_ONCE;
        }
        if !is_left {
            transaction.execute(PURGE, (now_ms,))?;
        }
        Ok(is_left)
    })?
}

/// The store is closed: nobody is told any more. What cannot be removed now lapses.
pub(super) fn end_all(shared: &Arc<Shared>) {
    shared.watchers.end_each();
    while let Ok(due) = shared.watchers.due(system_ms()) {
        match renew(shared, &due) {
            Ok(true) => {}
            Ok(false) => shared.watchers.renewed(&due, system_ms()),
            Err(_) => return,
        }
    }
}
