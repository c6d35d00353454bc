//! Forks. A forked child inherits the parent's objects with locks that a thread of the parent may have held
//! at that instant, so it must not touch them. Each handle remembers the epoch it was made in; a hook that
//! runs in every new child moves the epoch on, and a look-up compares the two before it touches the object.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;

static EPOCH: AtomicU64 = AtomicU64::new(0);

/// How many handles of this process are open. In a new child that is none: what is open belongs to the parent.
pub(super) static LIVE_HANDLES: AtomicU64 = AtomicU64::new(0);

/// The number of forks between the process that first loaded the library and this one.
#[inline]
pub(super) fn epoch() -> u64 {
    // The hook runs before the child has a second thread: there is nothing to order.
    EPOCH.load(Ordering::Relaxed)
}

/// Makes sure that forks are noticed from now on. Every call does so before anything else, so that there is
/// nothing yet that a fork could disturb.
#[cfg(all(unix, not(miri)))]
pub(super) fn watch() -> Result<()> {
    use std::sync::atomic::AtomicBool;

    use crate::error::{Error, Reason};

    static HOOKED: AtomicBool = AtomicBool::new(false);

    // Not `Once`: a fork while another thread is inside would leave the child waiting for a thread that it
    // does not have. Two threads that both register are harmless: the child then counts two.
    if !HOOKED.load(Ordering::Acquire) {
        // SAFETY: the hooks are functions of this library, which is never unloaded (it is linked with
        // `-z nodelete`), and do nothing that a fork forbids.
        let failed = unsafe { libc::pthread_atfork(Some(before), None, Some(in_child)) };
        if failed != 0 {
            return Err(Error::new(Reason::SystemResource, "the fork hook could not be registered"));
        }
        HOOKED.store(true, Ordering::Release);
    }
    Ok(())
}

/// Makes sure that forks are noticed: there are none here.
#[cfg(not(all(unix, not(miri))))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail where forks exist")]
pub(super) fn watch() -> Result<()> {
    Ok(())
}

/// Runs in the forking thread before a fork: finishes the process-wide initialisation that the child could
/// otherwise find half done by a thread that it does not have. These are all that there is: the first instant
/// of the system's clock, and the seed of the hash tables.
#[cfg(all(unix, not(miri)))]
extern "C" fn before() {
    crate::clock::Clock::System.tick_ns();
    hashbrown::DefaultHashBuilder::default();
}

/// Runs in a new child, before anything else does.
#[cfg(all(unix, not(miri)))]
extern "C" fn in_child() {
    EPOCH.fetch_add(1, Ordering::Relaxed);
    LIVE_HANDLES.store(0, Ordering::Relaxed);
    // The parent's connections to servers stay the parent's alone.
    #[cfg(feature = "postgres")]
    crate::store::postgres::sockets::forget_all(|descriptor| {
        // SAFETY: the descriptor is a copy that only this library knows, and nothing in this process uses it any more:
        // what owns it belongs to handles of the parent, which are refused here and never dropped.
        unsafe { libc::close(descriptor) };
    });
}
