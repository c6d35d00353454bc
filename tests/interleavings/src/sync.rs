//! What `src/sync/mod.rs` is to the library.

use std::sync::Arc;

#[path = "../../../src/sync/locks.rs"]
mod locks;

pub(crate) use self::locks::{Condvar, Mutex, RwLock};
pub(crate) use self::primitives::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};
pub(crate) use arc_swap::Guard;

mod primitives {
    pub(crate) use shuttle::sync::{
        Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    };
}

pub(crate) mod atomic {
    pub(crate) use shuttle::sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };
}

/// arc-swap's own, with a place before each access where the scheduler may go on with another thread.
pub(crate) struct ArcSwapOption<T> {
    inner: arc_swap::ArcSwapOption<T>,
    place: atomic::AtomicBool,
}

impl<T> ArcSwapOption<T> {
    pub(crate) const fn const_empty() -> Self {
        Self { inner: arc_swap::ArcSwapOption::const_empty(), place: atomic::AtomicBool::new(false) }
    }

    fn pass(&self) -> &arc_swap::ArcSwapOption<T> {
        self.place.load(atomic::Ordering::SeqCst);
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
