//! Waiting for other processes. SQLite has no queue between processes: who wants to write tries again and
//! again. Trying too rarely starves against a busy writer, trying without pause slows it down. So the tries
//! come at random times, closer together the longer one waits, and a process that writes without end pauses
//! for a moment now and then, if it has seen that others write too.

#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::failure::is_busy;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::thread;

/// From this age on a waiter tries as often as it ever will.
const IMPATIENT_AFTER: Duration = Duration::from_millis(16);
const LONGEST_REST: Duration = Duration::from_micros(600);
const SHORTEST_REST: Duration = Duration::from_micros(30);

/// Counts tries and spreads them.
#[derive(Debug)]
pub(super) struct Backoff {
    retries: AtomicU64,
    random: AtomicU64,
}

impl Backoff {
    pub(super) fn new(seed: u64) -> Self {
        Self { retries: AtomicU64::new(0), random: AtomicU64::new(seed | 1) }
    }

    /// How often something was tried again.
    pub(super) fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    /// Tries `work` until it is not refused because of others, or until `deadline`.
    pub(super) fn until<T>(
        &self,
        deadline: Instant,
        mut work: impl FnMut() -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut waits_since = None;
        loop {
            match work() {
                Err(error) if is_busy(&error) => {
                    let now = Instant::now();
                    if now >= deadline {
                        return Err(error);
                    }
                    self.retries.fetch_add(1, Ordering::Relaxed);
                    let age = now - *waits_since.get_or_insert(now);
                    thread::sleep(self.rest(age).min(deadline - now));
                }
                done => return done,
            }
        }
    }

    fn rest(&self, age: Duration) -> Duration {
        let left = IMPATIENT_AFTER.saturating_sub(age);
        let longest = SHORTEST_REST + LONGEST_REST * as_micros(left) / as_micros(IMPATIENT_AFTER);
        Duration::from_micros(self.next_random() % u64::from(as_micros(longest)))
    }

    fn next_random(&self) -> u64 {
        // Two threads may draw the same number; that costs nothing.
        let mut x = self.random.load(Ordering::Relaxed);
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.store(x, Ordering::Relaxed);
        x
    }
}

fn as_micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

/// How long a process writes without a pause while others write too.
const TURN: Duration = Duration::from_millis(2);
/// Long enough for a waiter to try once.
const PAUSE: Duration = Duration::from_micros(100);
/// A gap between two transactions that gives others their chance anyway.
const GAP: Duration = Duration::from_micros(300);

/// The turns that this process takes at writing.
#[derive(Debug, Default)]
pub(super) struct Turns {
    turn_since: Option<Instant>,
    last_end: Option<Instant>,
    /// SQLite's count of changes by others.
    seen: Option<i64>,
}

impl Turns {
    /// Leaves others their chance at the end of a turn.
    pub(super) fn pause_if_others_write(&mut self, connection: &Connection) {
        let Some(since) = self.turn_since.filter(|since| since.elapsed() >= TURN) else { return };
        let runs_on = self.last_end.is_some_and(|end| end > since && end.elapsed() < GAP);
        self.turn_since = None;
        if !runs_on {
            return;
        }
        let version = connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut statement| statement.query_row((), |row| row.get::<_, i64>(0)))
            .ok();
        let others_wrote = self.seen.is_some() && version != self.seen;
        self.seen = version;
        if others_wrote {
            thread::sleep(PAUSE);
        }
    }

    /// A transaction began: now.
    pub(super) fn began(&mut self) -> Instant {
        let now = Instant::now();
        if self.last_end.is_none_or(|end| now - end >= GAP) {
            self.turn_since = None;
        }
        self.turn_since.get_or_insert(now);
        now
    }

    /// A transaction ended.
    pub(super) fn ended(&mut self) {
        self.last_end = Some(Instant::now());
    }
}
