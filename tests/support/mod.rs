//! What the tests of the exports share.

#![allow(dead_code, unused_macros, reason = "each test uses a part of it")]

pub mod calls;
pub mod erased;
pub mod exports;
pub mod fixture;
pub mod generated;
pub mod header;
pub mod hosts;
pub mod running;
#[path = "../stores/mod.rs"]
pub mod stores;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tests that count what the whole process has open hold this, and so run one after another.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
