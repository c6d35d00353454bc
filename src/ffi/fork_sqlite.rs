//! Forks and SQLite. A child may open a file that its parent has open, and gets connections and locks of its own;
//! what it inherited is never used or closed there. Two things stand in the way.
//!
//! SQLite remembers for each file, by device and inode, which locks its process has. A child inherits that memory
//! but not the locks, and would take none for a file that the parent had open. So SQLite is shown another device
//! number in every child, and meets each file as one that it has never seen. It asks for the number with fstat(2)
//! of an open file and with stat(2) of a path, compares the answers with each other, and uses them for nothing else.
//! Should a later version ask otherwise, `tests/sqlite_fork.rs` fails: the parent then takes the log away under its
//! child. The calls are replaced in the copy of SQLite that is compiled into this library, and in no other.
//!
//! A thread of the parent may be inside SQLite at that instant. Its connections do not matter to the child, but the
//! few mutexes that all connections share do. So the forking thread holds these while it forks.

use std::ffi::{c_char, c_int};
use std::mem::transmute;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::ffi;

use super::fork;
use crate::error::{Error, Reason, Result};

/// Any function, as SQLite's table of system calls keeps it.
type SystemCall = unsafe extern "C" fn();
type Fstat = unsafe extern "C" fn(c_int, *mut libc::stat) -> c_int;
type Stat = unsafe extern "C" fn(*const c_char, *mut libc::stat) -> c_int;

/// Prepares SQLite for forks from now on. To be called before it opens its first file.
pub(super) fn watch() -> Result<()> {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    // Not `Once`, as in `fork::watch`; to replace the calls twice is harmless.
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
        // SAFETY: only changes the type in which the address is kept; SQLite calls what has this name as fstat(2).
        (c"fstat", unsafe { transmute::<Fstat, SystemCall>(fstat) }),
        // SAFETY: as above, as stat(2).
        (c"stat", unsafe { transmute::<Stat, SystemCall>(stat) }),
    ];
    for (name, call) in calls {
        // SAFETY: the object and the name are valid; the functions are never unloaded.
        if unsafe { set(vfs, name.as_ptr(), Some(call)) } != ffi::SQLITE_OK {
            return Err(failed());
        }
    }
    hold_mutexes_in_forks().ok_or_else(failed)?;
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

/// Gives the device a number that no process before this one knew, in bits that numbers of devices leave free.
/// In the first process it keeps its own.
///
/// # Safety
/// `status` is writable, and filled if `outcome` is 0.
unsafe fn disguise(outcome: c_int, status: *mut libc::stat) -> c_int {
    if outcome == 0 {
        let epoch = (fork::epoch() as libc::dev_t).wrapping_shl(libc::dev_t::BITS - 16);
        // SAFETY: the caller's promise.
        unsafe { (*status).st_dev ^= epoch };
    }
    outcome
}

/// The mutexes that a child needs to open files of its own, in the order in which SQLite nests them: random numbers,
/// which ask the settings for a file system when they are seeded; the settings; the table of files and their locks;
/// caches; memory.
const SHARED: [c_int; 6] = [
    ffi::SQLITE_MUTEX_STATIC_PRNG,
    ffi::SQLITE_MUTEX_STATIC_MAIN,
    ffi::SQLITE_MUTEX_STATIC_VFS1,
    ffi::SQLITE_MUTEX_STATIC_LRU,
    ffi::SQLITE_MUTEX_STATIC_PMEM,
    ffi::SQLITE_MUTEX_STATIC_MEM,
];

/// `None` when the hooks cannot be registered.
fn hold_mutexes_in_forks() -> Option<()> {
    static HOLDER: AtomicBool = AtomicBool::new(false);
    // A thread that took a mutex twice would wait for itself: these hooks are there once.
    if HOLDER.swap(true, Ordering::AcqRel) {
        return Some(());
    }
    // SAFETY: the hooks are never unloaded, and only take and give back mutexes of SQLite, which is initialised.
    let failed = unsafe { libc::pthread_atfork(Some(enter_all), Some(leave_all), Some(leave_all)) };
    if failed != 0 {
        HOLDER.store(false, Ordering::Release);
    }
    (failed == 0).then_some(())
}

extern "C" fn enter_all() {
    for mutex in SHARED {
        // SAFETY: a static mutex is there from initialisation on, and SQLite calls nobody while it holds one, so
        // that this thread holds none.
        unsafe { ffi::sqlite3_mutex_enter(ffi::sqlite3_mutex_alloc(mutex)) };
    }
}

extern "C" fn leave_all() {
    for mutex in SHARED.into_iter().rev() {
        // SAFETY: the thread that forks entered it; in the child it is the only thread.
        unsafe { ffi::sqlite3_mutex_leave(ffi::sqlite3_mutex_alloc(mutex)) };
    }
}
