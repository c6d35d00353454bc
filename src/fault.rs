//! Panic injection for tests. With the feature `fault-injection` a test arms one named point and the next
//! thread that passes it panics; in every other build a point compiles to nothing.

#![forbid(unsafe_code)]

#[cfg(feature = "fault-injection")]
use crate::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

#[cfg(feature = "fault-injection")]
static ARMED: Mutex<Option<String>> = Mutex::new(None);

/// Whether a point is armed. While none is, a point takes no lock that a fork could leave taken.
#[cfg(feature = "fault-injection")]
static ANY_ARMED: AtomicBool = AtomicBool::new(false);

/// Makes the next pass of the point `name` panic, once.
#[cfg(feature = "fault-injection")]
pub fn arm(name: &str) {
    *ARMED.lock() = Some(name.to_owned());
    ANY_ARMED.store(true, Ordering::SeqCst);
}

/// Whether an armed point is still waiting; disarms it.
#[cfg(feature = "fault-injection")]
pub fn disarm() -> bool {
    ANY_ARMED.store(false, Ordering::SeqCst);
    ARMED.lock().take().is_some()
}

/// A place where a test may inject a panic.
#[cfg(feature = "fault-injection")]
pub fn point(name: &str) {
    if !ANY_ARMED.load(Ordering::SeqCst) {
        return;
    }
    let mut armed = ARMED.lock();
    if armed.as_deref() == Some(name) {
        *armed = None;
        drop(armed);
        panic!("injected at a fault point");
    }
}

/// A place where a test may inject a panic.
#[cfg(not(feature = "fault-injection"))]
#[inline(always)]
pub fn point(_name: &str) {}
