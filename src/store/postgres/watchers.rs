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
use super::statement_text::server_ms;
use super::transaction::Transaction;
use super::values::values;
use crate::clock::system_ms;
use crate::error::Result;

/// How soon what failed is tried again.
const RETRY: Duration = Duration::from_millis(500);
/// Rows of ended holders that one transaction removes from each table.
const MOST_AT_ONCE: usize = 500;

/// A lease for `$4` milliseconds.
const RENEW: &str = concat!(
    "INSERT INTO @session_watchers (holder, store, keep_expired, lease_until) VALUES ($1, $2, $3, $4 + ",
    server_ms!(),
    ") ON CONFLICT (holder) DO UPDATE SET lease_until = excluded.lease_until"
);
const END: &str = "UPDATE @session_watchers SET lease_until = 0 WHERE holder = $1";
const WATCH: &str = "INSERT INTO @session_watches (session, holder) VALUES ($1, $2) ON CONFLICT DO NOTHING";
/// Keeps the session `$1` for each holder that is to be told of it by the store `$2`, under the holder's next number.
/// Holders are locked in their order.
const KEEP: &str = "WITH l AS (SELECT holder FROM @session_watchers WHERE store <> $2 \
     AND holder IN (SELECT holder FROM @session_watches WHERE session = $1) ORDER BY holder FOR UPDATE), \
     w AS (UPDATE @session_watchers SET last_number = last_number + 1 FROM l \
     WHERE @session_watchers.holder = l.holder \
     RETURNING @session_watchers.holder AS holder, last_number, keep_expired), \
     k AS (INSERT INTO @expired_sessions (holder, number, reason, id, endpoint) \
     SELECT holder, last_number, $3, $4, $5 FROM w) \
     DELETE FROM @expired_sessions e USING w WHERE e.holder = w.holder AND e.number <= w.last_number - w.keep_expired";
const HAS_ANY: &str = "SELECT 1::bigint FROM @expired_sessions WHERE holder = $1 LIMIT 1";
const TAKE: &str = "WITH d AS (DELETE FROM @expired_sessions WHERE holder = $1 RETURNING number, reason, id, endpoint) \
     SELECT reason, id, endpoint FROM d ORDER BY number";
const PURGE_WATCHES: &str = concat!(
    "DELETE FROM @session_watches WHERE (session, holder) IN (SELECT session, holder FROM @session_watches \
     WHERE holder IN (SELECT holder FROM @session_watchers WHERE lease_until <= ",
    server_ms!(),
    ") LIMIT $1)"
);
const PURGE_EXPIRED: &str = concat!(
    "DELETE FROM @expired_sessions WHERE (holder, number) IN (SELECT holder, number FROM @expired_sessions \
     WHERE holder IN (SELECT holder FROM @session_watchers WHERE lease_until <= ",
    server_ms!(),
    ") LIMIT $1)"
);
const PURGE: &str = concat!("DELETE FROM @session_watchers WHERE lease_until <= ", server_ms!());

/// Notes that `holder` is to be told when a session expires, if it keeps such. True when the worker has to look after
/// it from now on.
pub(super) fn watch(
    transaction: &mut Transaction<'_>,
    shared: &Shared,
    holder: Holder,
    session: Option<i64>,
) -> bool {
    let Some((watcher, is_new)) = shared.watchers.begin(holder, system_ms()) else { return false };
    let Some(session) = session else { return is_new };
    if is_new {
        let values = values![holder.0, transaction.store(), watcher.keep_expired, WATCH_LEASE_MS];
        transaction.defer(RENEW, values);
    }
    transaction.defer(WATCH, values![session, holder.0]);
    is_new
}

/// Keeps a session that is removed by expiry for the holders of other processes that are to be told.
pub(super) fn tell(transaction: &mut Transaction<'_>, session: i64, row: &SessionRow) {
    let values = values![session, transaction.store(), row.expiry_reason(), &*row.id, &*row.endpoint];
    transaction.defer(KEEP, values);
}

/// Takes what is kept for a holder, oldest first.
pub(super) fn take(shared: &Arc<Shared>, holder: Holder) -> Result<Vec<ExpiredSession>> {
    if shared.read(HAS_ANY, &values![holder.0])?.is_empty() {
        return Ok(Vec::new());
    }
    shared.transaction(|transaction| {
        let taken = transaction.query(TAKE, values![holder.0])?;
        Ok(taken
            .iter()
            .map(|columns| ExpiredSession {
                reason: columns.text(0).into(),
                id: columns.text(1).into(),
                endpoint: columns.text(2).into(),
            })
            .collect())
    })
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
    shared.transaction(|transaction| {
        for (holder, watcher) in &due.open {
            // One that was closed meanwhile must not come back.
            if shared.watchers.is_open(*holder) {
                let values = values![holder.0, transaction.store(), watcher.keep_expired, WATCH_LEASE_MS];
                transaction.defer(RENEW, values);
            }
        }
        for holder in &due.ended {
            transaction.defer(END, values![holder.0]);
        }
        let most = i64::try_from(MOST_AT_ONCE).unwrap_or(i64::MAX);
        let mut is_left = false;
        for purge in [PURGE_WATCHES, PURGE_EXPIRED] {
            is_left |= transaction.run(purge, values![most])?.affected == MOST_AT_ONCE as u64;
        }
        if !is_left {
            transaction.defer(PURGE, values![]);
        }
        Ok(is_left)
    })
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
