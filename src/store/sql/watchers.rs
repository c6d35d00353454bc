//! The session stores of this process that keep expired sessions: which of them others are to tell, by a lease in the
//! database, and which ended.

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::time::Duration;

use super::super::Holder;
use crate::sync::Mutex;

/// How long a holder is told without renewal: long, so that one which stood still for a while is told, too.
pub(in super::super) const WATCH_LEASE_MS: i64 = 600_000;
const RENEW_EVERY_MS: i64 = WATCH_LEASE_MS / 4;

/// The holders of this open store that keep expired sessions.
#[derive(Debug, Default)]
pub(in super::super) struct Watchers {
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
pub(in super::super) struct Watcher {
    pub(in super::super) keep_expired: i64,
    /// As far as is known; 0 before its first session.
    lease_until_ms: i64,
}

impl Watchers {
    pub(in super::super) fn open(&self, holder: Holder, keep_expired: usize) {
        if keep_expired > 0 {
            let keep_expired = i64::try_from(keep_expired).unwrap_or(i64::MAX);
            self.state.lock().open.insert(holder, Watcher { keep_expired, lease_until_ms: 0 });
        }
    }

    /// Whether something is left for the worker.
    pub(in super::super) fn end(&self, holder: Holder) -> bool {
        let mut state = self.state.lock();
        let Some(watcher) = state.open.remove(&holder) else { return false };
        // A lease that is in the file for a transaction only is known, too.
        if watcher.lease_until_ms > 0 {
            state.ended.push(holder);
            state.renew_at_ms = Some(0);
        }
        watcher.lease_until_ms > 0
    }

    /// A holder created or pinned a session. Says what it keeps, and whether its lease is to be written; nothing for one
    /// that keeps none, or that ended meanwhile.
    pub(in super::super) fn begin(&self, holder: Holder, now_ms: i64) -> Option<(Watcher, bool)> {
        let mut state = self.state.lock();
        let watcher = state.open.get_mut(&holder)?;
        let before = *watcher;
        let is_new = before.lease_until_ms <= now_ms;
        if is_new {
            // Known before it is written, so that a close in between ends it.
            watcher.lease_until_ms = now_ms + WATCH_LEASE_MS;
            state.renew_at_ms = Some(0);
        }
        Some((before, is_new))
    }

    /// Whether a holder was not closed yet.
    pub(in super::super) fn is_open(&self, holder: Holder) -> bool {
        self.state.lock().open.contains_key(&holder)
    }

    /// Ends every holder.
    pub(in super::super) fn end_each(&self) {
        let holders: Vec<Holder> = self.state.lock().open.keys().copied().collect();
        for holder in holders {
            self.end(holder);
        }
    }

    /// A renewal that is due: the holders to renew and those to end. Else the time until then.
    pub(in super::super) fn due(&self, now_ms: i64) -> std::result::Result<DueWatchers, Option<Duration>> {
        let state = self.state.lock();
        let left = state.renew_at_ms.map(|at| u64::try_from(at.saturating_sub(now_ms)).unwrap_or(0));
        if left != Some(0) {
            return Err(left.map(Duration::from_millis));
        }
        let known = state.open.iter().filter(|(_, watcher)| watcher.lease_until_ms > 0);
        Ok(DueWatchers {
            open: known.map(|(&holder, &watcher)| (holder, watcher)).collect(),
            ended: state.ended.clone(),
        })
    }

    pub(in super::super) fn renewed(&self, due: &DueWatchers, now_ms: i64) {
        let mut state = self.state.lock();
        for (holder, _) in &due.open {
            if let Some(watcher) = state.open.get_mut(holder) {
                watcher.lease_until_ms = now_ms + WATCH_LEASE_MS;
            }
        }
        state.ended.retain(|holder| !due.ended.contains(holder));
        let is_left = !state.ended.is_empty();
        let holds_any = state.open.values().any(|watcher| watcher.lease_until_ms > 0);
        state.renew_at_ms = if is_left { Some(0) } else { holds_any.then_some(now_ms + RENEW_EVERY_MS) };
    }
}

/// What a renewal is to write.
pub(in super::super) struct DueWatchers {
    pub(in super::super) open: Vec<(Holder, Watcher)>,
    pub(in super::super) ended: Vec<Holder>,
}
