//! Forks and SQLite. SQLite remembers for each file, by device and inode, which locks its process has. A forked
//! child inherits that memory but not the locks, and would take none for a file that the parent had open. So
//! SQLite is shown another device number in every child: it meets each file as one that it has never seen, and
//! locks it.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::ffi;

use super::fork;
use crate::error::{Error, Reason, Result};

/// Shows SQLite its files through this module from now on. To be called before it opens the first one.
pub(super) fn watch() -> Result<()> {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    // Not `Once`, as in `fork::watch`; to install twice is harmless.
    if INSTALLED.load(Ordering::Acquire) {
        return Ok(());
    }
    fork::watch()?;
    let failed = || Error::new(Reason::SystemResource, "the fork hook could not be registered");
    // SAFETY: finds one of SQLite's own file systems, which live as long as the process.
    let vfs = unsafe { ffi::sqlite3_vfs_find(c"unix".as_ptr()) };
    // SAFETY: NULL or a valid object that nobody writes to but through its functions.
    let set = unsafe { vfs.as_ref() }.and_then(|vfs| vfs.xSetSystemCall).ok_or_else(failed)?;
    let calls = [
        // SAFETY: SQLite calls what it is given here with the type that its documentation gives to this name.
        (c"fstat", unsafe {
            std::mem::transmute::<unsafe extern "C" fn(c_int, *mut libc::stat) -> c_int, unsafe extern "C" fn()>(
                fstat,
            )
        }),
        // SAFETY: as above.
        (c"stat", unsafe {
            std::mem::transmute::<
                unsafe extern "C" fn(*const c_char, *mut libc::stat) -> c_int,
                unsafe extern "C" fn(),
            >(stat)
        }),
    ];
    for (name, call) in calls {
        // SAFETY: the object and the name are valid; the functions are never unloaded.
        if unsafe { set(vfs, name.as_ptr(), Some(call)) } != ffi::SQLITE_OK {
            return Err(failed());
        }
    }
    INSTALLED.store(true, Ordering::Release);
    Ok(())
}

unsafe extern "C" fn fstat(descriptor: c_int, status: *mut libc::stat) -> c_int {
    // SAFETY: SQLite gives what fstat(2) takes.
    let outcome = unsafe { libc::fstat(descriptor, status) };
    // SAFETY: as above.
    unsafe { disguise(outcome, status) }
}

unsafe extern "C" fn stat(path: *const c_char, status: *mut libc::stat) -> c_int {
    // SAFETY: SQLite gives what stat(2) takes.
    let outcome = unsafe { libc::stat(path, status) };
    // SAFETY: as above.
    unsafe { disguise(outcome, status) }
}

/// Gives the device a number that no process before this one knew. In the first process it keeps its own.
///
/// # Safety
/// `status` is writable, and filled if `outcome` is 0.
unsafe fn disguise(outcome: c_int, status: *mut libc::stat) -> c_int {
    if outcome == 0 {
        // SAFETY: the caller's promise.
        unsafe { (*status).st_dev ^= (fork::epoch() as libc::dev_t) << 48 };
    }
    outcome
}
