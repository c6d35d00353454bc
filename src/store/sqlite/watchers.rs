//! Which holders are to be told when a session expires, and what is kept for them. A holder that keeps expired sessions
//! has a row with a lease, a row for each session that it created or pinned, and one for each that another process
//! removed, up to its bound. Who removes a session writes those in the same transaction. What is left of a holder
//! whose lease ended is removed by whoever renews next; one that is closed ends its lease at once.

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::super::{ExpiredSession, Holder, SessionRow};
use super::Shared;
use super::table::system_ms;
use super::writer::Transaction;
use crate::error::Result;
use crate::sync::Mutex;

/// How long a holder is told without renewal: long, so that one which stood still for a while is told, too.
const LEASE_MS: i64 = 600_000;
const RENEW_EVERY_MS: i64 = LEASE_MS / 4;
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

/// The holders of this open store that keep expired sessions.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<Holder, Watcher>,
    /// Closed, and perhaps still in the file.
    ended: Vec<Holder>,
    /// When the worker renews next, by the system's time; `None` while there is nobody to renew.
    renew_at_ms: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
struct Watcher {
    keep_expired: i64,
    /// As far as is known; 0 before its first session.
    lease_until_ms: i64,
}

impl Watchers {
    pub(super) fn open(&self, holder: Holder, keep_expired: usize) {
        if keep_expired > 0 {
            let keep_expired = i64::try_from(keep_expired).unwrap_or(i64::MAX);
            self.state.lock().open.insert(holder, Watcher { keep_expired, lease_until_ms: 0 });
        }
    }

    /// Whether something is left for the worker.
    pub(super) fn end(&self, holder: Holder) -> bool {
        let mut state = self.state.lock();
        let Some(watcher) = state.open.remove(&holder) else { return false };
        // A lease that is in the file for a transaction only is known, too.
        if watcher.lease_until_ms > 0 {
            state.ended.push(holder);
            state.renew_at_ms = Some(0);
        }
        watcher.lease_until_ms > 0
    }

    /// A renewal that is due: the holders to renew and those to end. Else the time until then.
    fn due(&self, now_ms: i64) -> std::result::Result<Due, Option<Duration>> {
        let state = self.state.lock();
        let left = state.renew_at_ms.map(|at| u64::try_from(at.saturating_sub(now_ms)).unwrap_or(0));
        if left != Some(0) {
            return Err(left.map(Duration::from_millis));
        }
        let known = state.open.iter().filter(|(_, watcher)| watcher.lease_until_ms > 0);
        Ok(Due {
            open: known.map(|(&holder, &watcher)| (holder, watcher)).collect(),
            ended: state.ended.clone(),
        })
    }

    fn renewed(&self, due: &Due, now_ms: i64) {
        let mut state = self.state.lock();
        for (holder, _) in &due.open {
            if let Some(watcher) = state.open.get_mut(holder) {
                watcher.lease_until_ms = now_ms + LEASE_MS;
            }
        }
        state.ended.retain(|holder| !due.ended.contains(holder));
        let is_left = !state.ended.is_empty();
        let holds_any = state.open.values().any(|watcher| watcher.lease_until_ms > 0);
        state.renew_at_ms = if is_left { Some(0) } else { holds_any.then_some(now_ms + RENEW_EVERY_MS) };
    }
}

struct Due {
    open: Vec<(Holder, Watcher)>,
    ended: Vec<Holder>,
}

/// Notes that `holder` is to be told when a session expires, if it keeps such. True when the worker has to look after
/// it from now on.
pub(super) fn watch(
    transaction: &Transaction<'_>,
    shared: &Shared,
    holder: Holder,
    session: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<Option<i64>>,
) -> rusqlite::Result<bool> {
    let now_ms = system_ms();
    let (watcher, is_new) = {
        let mut state = shared.watchers.state.lock();
        // One that ended meanwhile is told nothing.
        let Some(watcher) = state.open.get_mut(&holder) else { return Ok(false) };
        let before = *watcher;
        let is_new = before.lease_until_ms <= now_ms;
        if is_new {
            // Known before it is written, so that a close in between ends it.
            watcher.lease_until_ms = now_ms + LEASE_MS;
            state.renew_at_ms = Some(0);
        }
        (before, is_new)
    };
    let Some(session) = session(transaction)? else { return Ok(is_new) };
    if is_new {
        let values = (holder.0, transaction.store(), watcher.keep_expired, now_ms + LEASE_MS);
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
fn renew(shared: &Arc<Shared>, due: &Due) -> Result<bool> {
    shared.write(|transaction| {
        let now_ms = system_ms();
        for (holder, watcher) in &due.open {
            // One that was closed meanwhile must not come back.
            if shared.watchers.state.lock().open.contains_key(holder) {
                let values = (holder.0, transaction.store(), watcher.keep_expired, now_ms + LEASE_MS);
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
    let holders: Vec<Holder> = shared.watchers.state.lock().open.keys().copied().collect();
    for holder in holders {
        shared.watchers.end(holder);
    }
    while let Ok(due) = shared.watchers.due(system_ms()) {
        match renew(shared, &due) {
            Ok(true) => {}
            Ok(false) => shared.watchers.renewed(&due, system_ms()),
            Err(_) => return,
        }
    }
}
