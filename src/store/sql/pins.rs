//! The pins of this process's session stores, which are leases in the database: who holds which, what is to be renewed
//! and what is still to be removed there.

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::super::Holder;
use crate::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// How long a pin holds when its holder does not renew it.
const LEASE_MS: i64 = 30_000;

/// The holders of this open store.
#[derive(Debug, Default)]
pub(in super::super) struct Pins {
    state: Mutex<State>,
    /// Whether rows of an ended holder may still be in the file.
    has_ended: AtomicBool,
    opened: AtomicI64,
}

#[derive(Debug, Default)]
struct State {
    /// By open holder: how many pins it has on which session, by sequence number.
    held: HashMap<Holder, HashMap<i64, u32>>,
    ended: Vec<Ended>,
    renewed: Option<Instant>,
}

/// A holder that ended and whose rows are to be removed.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Ended {
    pub(in super::super) holder: Holder,
    /// When, by the store's clock: idle time begins then.
    pub(in super::super) tick_ns: i64,
    /// Its leases lapse by then, removed or not.
    pub(in super::super) lapses: Instant,
}

impl Pins {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// How long a pin holds without renewal.
    #[cfg(not(feature = "fault-injection"))]
    pub(in super::super) const fn lease_ms() -> i64 {
        LEASE_MS
    }

    /// The same; a test may shorten it, so that it need not wait.
    #[cfg(feature = "fault-injection")]
    pub(in super::super) fn lease_ms() -> i64 {
        chosen_by_test("TASKHOLD_TEST_PIN_LEASE_MS").unwrap_or(LEASE_MS)
    }

    pub(in super::super) fn renew_every() -> Duration {
        #[cfg(feature = "fault-injection")]
        if let Some(ms) = chosen_by_test("TASKHOLD_TEST_PIN_RENEW_MS") {
            return Duration::from_millis(ms.unsigned_abs());
        }
        Duration::from_millis(Self::lease_ms().unsigned_abs() / 4)
    }

    pub(in super::super) fn open(&self, store: i64) -> Holder {
        // Random enough: stores begin at numbers that are far apart.
        let holder = Holder(store.wrapping_add(self.opened.fetch_add(1, Ordering::Relaxed)));
        self.lock().held.insert(holder, HashMap::new());
        holder
    }

    pub(in super::super) fn add(&self, holder: Holder, session: i64) {
        let mut state = self.lock();
        // One that ended meanwhile has nothing renewed.
        if let Some(sessions) = state.held.get_mut(&holder) {
            *sessions.entry(session).or_default() += 1;
        }
    }

    pub(in super::super) fn remove(&self, holder: Holder, session: i64) {
        let mut state = self.lock();
        let Some(sessions) = state.held.get_mut(&holder) else { return };
        if let Some(count) = sessions.get_mut(&session) {
            *count -= 1;
            if *count == 0 {
                sessions.remove(&session);
            }
        }
    }

    /// Whether something is left for the worker.
    pub(in super::super) fn end(&self, holder: Holder, tick_ns: i64) -> bool {
        let mut state = self.lock();
        let had_pins = state.held.remove(&holder).is_some_and(|sessions| !sessions.is_empty());
        if had_pins {
            let lapses = Instant::now() + Duration::from_millis(Self::lease_ms().unsigned_abs());
            state.ended.push(Ended { holder, tick_ns, lapses });
            self.has_ended.store(true, Ordering::SeqCst);
        }
        had_pins
    }

    /// Those whose rows may still be in the file.
    pub(in super::super) fn ended(&self) -> Vec<Ended> {
        if self.has_ended.load(Ordering::SeqCst) { self.lock().ended.clone() } else { Vec::new() }
    }

    pub(in super::super) fn forget_ended(&self, done: &[Holder]) {
        let mut state = self.lock();
        state.ended.retain(|ended| !done.contains(&ended.holder));
        self.has_ended.store(!state.ended.is_empty(), Ordering::SeqCst);
    }

    /// How many pins each open holder has on which session.
    pub(in super::super) fn held(&self) -> HashMap<Holder, HashMap<i64, u32>> {
        self.lock().held.clone()
    }

    /// Forgets pins on sessions that are gone. A number is never given to another session.
    pub(in super::super) fn forget_gone(&self, gone: &[(Holder, i64)]) {
        let mut state = self.lock();
        for (holder, session) in gone {
            state.held.get_mut(holder).map(|sessions| sessions.remove(session));
        }
    }

    /// Ends every holder.
    pub(in super::super) fn end_all(&self, tick_ns: i64) {
        let holders: Vec<Holder> = self.lock().held.keys().copied().collect();
        for holder in holders {
            self.end(holder, tick_ns);
        }
    }

    /// The time until the leases are to be renewed; nothing while none is held.
    pub(in super::super) fn time_to_renewal(&self) -> Option<Duration> {
        let mut state = self.lock();
        if state.held.values().all(HashMap::is_empty) {
            state.renewed = None;
            return None;
        }
        // The first pin was taken just now, unless there was one before.
        let renewed = *state.renewed.get_or_insert_with(Instant::now);
        Some(Self::renew_every().saturating_sub(renewed.elapsed()))
    }

    /// The leases were renewed by what was known at this moment.
    pub(in super::super) fn renewed(&self, at: Instant) {
        self.lock().renewed = Some(at);
    }
}

#[cfg(feature = "fault-injection")]
fn chosen_by_test(variable: &str) -> Option<i64> {
    std::env::var(variable).ok()?.parse().ok()
}
