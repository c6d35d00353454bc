//! Where time comes from. A [`Clock`] is the system's, or one that a test moves by hand. It gives wall time
//! for the timestamps that people read and a monotonic tick for ages, because a stepped wall clock must
//! neither expire everything nor keep anything for ever.

#![forbid(unsafe_code)]

use std::sync::{Arc, Weak};

use crate::error::{Error, Reason, Result};
use crate::sync::Mutex;
use crate::time::WALL_RANGE_MS;

/// Nanoseconds in a millisecond: durations are configured in milliseconds and ticks count nanoseconds.
pub(crate) const NANOS_PER_MILLI: i64 = 1_000_000;

/// One reading of both clocks of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub wall_ms: i64,
    /// Nanoseconds on the clock by which the store measures ages.
    pub tick_ns: i64,
}

impl Now {
    /// The instant `ms` later.
    pub fn plus_ms(self, ms: i64) -> Moment {
        Moment { wall_ms: self.wall_ms, tick_ns: self.tick_ns }.plus_ms(ms)
    }
}

/// An instant on both clocks of a store: people read the wall time, the tick decides whether it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub wall_ms: i64,
    /// Nanoseconds on the clock by which the store measures ages.
    pub tick_ns: i64,
}

impl Moment {
    /// The instant `ms` later, as far as the clocks go.
    #[must_use]
    pub fn plus_ms(self, ms: i64) -> Self {
        Self {
            wall_ms: self.wall_ms.saturating_add(ms).min(*WALL_RANGE_MS.end()),
            tick_ns: self.tick_ns.saturating_add(ms.saturating_mul(NANOS_PER_MILLI)),
        }
    }

    /// Whether it is `now` or before.
    pub fn has_come(self, now: Now) -> bool {
        self.tick_ns <= now.tick_ns
    }

    /// How long until then; nothing when it has come.
    pub fn left(self, now: Now) -> std::time::Duration {
        let left_ns = self.tick_ns.saturating_sub(now.tick_ns);
        std::time::Duration::from_nanos(u64::try_from(left_ns).unwrap_or(0))
    }
}

/// Something that sleeps until a clock is moved.
pub trait Wake: Send + Sync {
    /// Wakes everyone who waits here, so that they look at the clock again.
    fn wake_all(&self);
}

/// The source of time of one store.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The operating system's clocks.
    #[default]
    System,
    /// A clock that only moves when it is told to.
    Manual(Arc<ManualClock>),
}

impl Clock {
    /// Both clocks in one reading.
    pub fn now(&self) -> Now {
        match self {
            Self::System => Now { wall_ms: system_ms(), tick_ns: system_tick_ns() },
            Self::Manual(clock) => clock.now(),
        }
    }

    /// The monotonic clock alone.
    #[inline]
    pub fn tick_ns(&self) -> i64 {
        match self {
            Self::System => system_tick_ns(),
            Self::Manual(clock) => clock.now().tick_ns,
        }
    }

    /// The monotonic clock, cheaply: never ahead of [`Self::tick_ns`], and a few milliseconds behind it. For
    /// what need not be on time.
    #[inline]
    pub fn recent_tick_ns(&self) -> i64 {
        match self {
            Self::System => system_recent_tick_ns(),
            Self::Manual(clock) => clock.now().tick_ns,
        }
    }

    /// Whether `deadline_ns` is still to come. Exact; with a recent tick at hand this asks the hardware only when
    /// the deadline is close.
    #[inline]
    pub fn is_before(&self, deadline_ns: i64, recent_tick_ns: i64) -> bool {
        /// Far more than a recent tick is ever behind.
        const CLOSE_NS: i64 = 1_000 * NANOS_PER_MILLI;
        match self {
            Self::System => {
                recent_tick_ns < deadline_ns.saturating_sub(CLOSE_NS) || system_tick_ns() < deadline_ns
            }
            Self::Manual(_) => recent_tick_ns < deadline_ns,
        }
    }

    /// Lets `sleeper` be woken whenever this clock is moved. The system's clock moves by itself: a sleeper
    /// there sets a timer of its own.
    pub fn watch(&self, sleeper: Weak<dyn Wake>) {
        if let Self::Manual(clock) = self {
            let mut sleepers = clock.sleepers.lock();
            // Those that are gone are looked for when there is no room: opening many tables must not look at each of
            // them each time.
            if sleepers.len() == sleepers.capacity() {
                sleepers.retain(|known| known.strong_count() > 0);
            }
            sleepers.push(sleeper);
        }
    }
}

/// The system's wall clock, whatever clock a store has.
#[cfg(target_os = "linux")]
pub(crate) fn system_ms() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let ms = now.tv_sec.saturating_mul(1_000).saturating_add(now.tv_nsec / NANOS_PER_MILLI);
    ms.clamp(*WALL_RANGE_MS.start(), *WALL_RANGE_MS.end())
}

/// One call where the standard library takes the difference of two instants in 128 bits.
#[cfg(target_os = "linux")]
#[inline]
fn system_tick_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.saturating_mul(1_000 * NANOS_PER_MILLI).saturating_add(now.tv_nsec)
}

/// The same clock as of the kernel's last tick, which is read without asking the hardware.
#[cfg(target_os = "linux")]
#[inline]
fn system_recent_tick_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    now.tv_sec.saturating_mul(1_000 * NANOS_PER_MILLI).saturating_add(now.tv_nsec)
}

#[cfg(not(target_os = "linux"))]
fn system_recent_tick_ns() -> i64 {
    system_tick_ns()
}

/// The system's wall clock, whatever clock a store has.
#[cfg(not(target_os = "linux"))]
pub(crate) fn system_ms() -> i64 {
    use std::time::{SystemTime, UNIX_EPOCH};

    let ms = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    };
    ms.clamp(*WALL_RANGE_MS.start(), *WALL_RANGE_MS.end())
}

#[cfg(not(target_os = "linux"))]
fn system_tick_ns() -> i64 {
    use std::sync::LazyLock;
    use std::time::Instant;

    static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);
    i64::try_from(EPOCH.elapsed().as_nanos()).unwrap_or(i64::MAX)
}

/// A clock for tests.
pub struct ManualClock {
    now: Mutex<Now>,
    sleepers: Mutex<Vec<Weak<dyn Wake>>>,
}

impl std::fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ManualClock").field("now", &self.now()).finish_non_exhaustive()
    }
}

impl ManualClock {
    /// A clock that stands at `epoch_ms` (milliseconds since 1970).
    pub fn new(epoch_ms: i64) -> Result<Self> {
        if !WALL_RANGE_MS.contains(&epoch_ms) {
            return Err(out_of_range("epoch_ms"));
        }
        Ok(Self { now: Mutex::new(Now { wall_ms: epoch_ms, tick_ns: 0 }), sleepers: Mutex::new(Vec::new()) })
    }

    /// Moves both clocks forward by `ms` and wakes everyone who waits.
    pub fn advance(&self, ms: i64) -> Result<()> {
        {
            let mut now = self.now.lock();
            let wall_ms = now.wall_ms.checked_add(ms).filter(|wall| ms >= 0 && WALL_RANGE_MS.contains(wall));
            let tick_ns = ms.checked_mul(NANOS_PER_MILLI).and_then(|ns| now.tick_ns.checked_add(ns));
            let (Some(wall_ms), Some(tick_ns)) = (wall_ms, tick_ns) else { return Err(out_of_range("ms")) };
            *now = Now { wall_ms, tick_ns };
        }
        self.wake_sleepers();
        Ok(())
    }

    /// Moves the wall clock alone by `ms`, which may be negative.
    pub fn step_wall(&self, ms: i64) -> Result<()> {
        {
            let mut now = self.now.lock();
            let stepped = now.wall_ms.checked_add(ms).filter(|wall| WALL_RANGE_MS.contains(wall));
            now.wall_ms = stepped.ok_or_else(|| out_of_range("ms"))?;
        }
        self.wake_sleepers();
        Ok(())
    }

    fn now(&self) -> Now {
        *self.now.lock()
    }

    fn wake_sleepers(&self) {
        let sleepers = self.sleepers.lock().clone();
        for sleeper in sleepers.iter().filter_map(Weak::upgrade) {
            sleeper.wake_all();
        }
    }
}

fn out_of_range(key: &'static str) -> Error {
    Error::new(
        Reason::InvalidValue,
        "the clock cannot go there: it runs forward, between the years 0001 and 9999",
    )
    .with_key(key)
}
