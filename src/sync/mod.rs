//! The primitives at which threads meet, all from one place: the models in `tests/interleavings` compile these
//! same sources over primitives whose scheduler they control. `Arc` and `Weak` come from the standard library
//! everywhere, because sharing is not what is modelled.

#![forbid(unsafe_code)]

mod locks;

pub(crate) use self::locks::{Condvar, Mutex, RwLock};
pub(crate) use self::primitives::MutexGuard;
pub(crate) use arc_swap::{ArcSwapOption, Guard};

/// What the locks are made of.
mod primitives {
    #[cfg(feature = "sqlite")]
    pub(crate) use std::sync::TryLockError;
    pub(crate) use std::sync::{
        Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    };
}

pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };
}

#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) mod thread {
    #[cfg(feature = "sqlite")]
    pub(crate) use std::thread::yield_now;
    pub(crate) use std::thread::{Builder, sleep};
}
