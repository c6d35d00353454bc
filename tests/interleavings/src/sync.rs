//! What `src/sync/mod.rs` is to the library.

use std::sync::Arc;

#[path = "../../../src/sync/locks.rs"]
mod locks;

pub(crate) use self::locks::{Condvar, Mutex, RwLock};
pub(crate) use self::primitives::MutexGuard;
pub(crate) use arc_swap::Guard;

mod primitives {
    use std::time::Duration;

    use shuttle::sync::{LockResult, WaitTimeoutResult};
    pub(crate) use shuttle::sync::{
        Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
    };

    /// From this length on, a wait lasts until somebody wakes it: what only its timeout would wake is a deadlock.
    const LONG: Duration = Duration::from_secs(1);

    /// shuttle's, whose waits have no end but being woken. Shorter waits for a condition are over at once here.
    #[derive(Debug, Default)]
    pub(crate) struct Condvar(shuttle::sync::Condvar);

    impl Condvar {
        pub(crate) const fn new() -> Self {
            Self(shuttle::sync::Condvar::new())
        }

        pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
            self.0.wait(guard)
        }

        pub(crate) fn wait_while<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            condition: impl FnMut(&mut T) -> bool,
        ) -> LockResult<MutexGuard<'a, T>> {
            self.0.wait_while(guard, condition)
        }

        pub(crate) fn wait_timeout<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            timeout: Duration,
        ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
            self.0.wait_timeout(guard, timeout)
        }

        pub(crate) fn wait_timeout_while<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            timeout: Duration,
            condition: impl FnMut(&mut T) -> bool,
        ) -> LockResult<(MutexGuard<'a, T>, ())> {
            if timeout < LONG {
                shuttle::thread::yield_now();
                return Ok((guard, ()));
            }
            match self.0.wait_while(guard, condition) {
                Ok(guard) => Ok((guard, ())),
                Err(poisoned) => Ok((poisoned.into_inner(), ())),
            }
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

pub(crate) mod thread {
    use std::time::Duration;

    pub(crate) use shuttle::thread::{Builder, yield_now};

    /// Lets the others go on: who sleeps waits for them.
    pub(crate) fn sleep(_duration: Duration) {
        yield_now();
    }
}

pub(crate) mod atomic {
    pub(crate) use shuttle::sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };
}

/// arc-swap's own, with a place before each access where the scheduler may go on with another thread.
pub(crate) struct ArcSwapOption<T> {
    inner: arc_swap::ArcSwapOption<T>,
}

impl<T> ArcSwapOption<T> {
    pub(crate) const fn const_empty() -> Self {
        Self { inner: arc_swap::ArcSwapOption::const_empty() }
    }

    fn pass(&self) -> &arc_swap::ArcSwapOption<T> {
        // An atomic of this call alone: a static outlives the schedules.
        atomic::AtomicBool::new(false).load(atomic::Ordering::SeqCst);
        &self.inner
    }

    pub(crate) fn load(&self) -> Guard<Option<Arc<T>>> {
        self.pass().load()
    }

    pub(crate) fn store(&self, value: Option<Arc<T>>) {
        self.pass().store(value);
    }

    pub(crate) fn compare_and_swap(
        &self,
        current: &Guard<Option<Arc<T>>>,
        new: Option<Arc<T>>,
    ) -> Guard<Option<Arc<T>>> {
        self.pass().compare_and_swap(&**current, new)
    }
}
