//! A second SQLite in this process. File locks belong to the process: when another library closes the file, the
//! operating system drops the locks of this one as well. So a file that somebody else in this process has open is
//! refused, and a store that lost its locks writes no more. Both are read from `/proc`; on other systems
//! nothing is told.

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use super::table::system_ms;
use crate::error::{Error, Reason, Result};

/// Device and inode.
type Identity = (u64, u64);

/// How many stores of which process have a file open. A forked child finds its parent's here.
static OPEN: Mutex<Option<OpenFiles>> = Mutex::new(None);

/// Process and count by file.
type OpenFiles = HashMap<Identity, (u32, u32)>;

/// The table of open files, unless another thread keeps it for long: a fork may have left it locked.
fn open_files() -> Option<MutexGuard<'static, Option<OpenFiles>>> {
    for _ in 0..10_000 {
        match OPEN.try_lock() {
            Ok(files) => return Some(files),
            Err(TryLockError::Poisoned(files)) => return Some(files.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}

/// How often a store looks whether it still has its locks.
const LOOK_EVERY_MS: i64 = 1000;

/// Keeps watch over the locks of one open store.
#[derive(Debug)]
pub(super) struct Guard {
    identity: Option<Identity>,
    /// Whether the lock could be seen when the store was opened.
    is_seeing: AtomicBool,
    is_lost: AtomicBool,
    looked_at_ms: AtomicI64,
}

impl Guard {
    /// Before the file is opened: refuses one that somebody else in this process has open.
    pub(super) fn before_open(identity: Option<Identity>) -> Result<Self> {
        let guard = Self {
            identity,
            is_seeing: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
            looked_at_ms: AtomicI64::new(i64::MIN),
        };
        let (Some(identity), Some(mut files)) = (identity, open_files()) else { return Ok(guard) };
        let pid = std::process::id();
        let files = files.get_or_insert_default();
        let known = files.get(&identity).copied();
        if known.is_none() && !descriptors_of(identity).is_empty() {
            return Err(Error::new(
                Reason::StorageUnavailable,
                "something else in this process has the store's file open, which would break its locks",
            ));
        }
        let mine = known.filter(|&(owner, _)| owner == pid).map_or(0, |(_, count)| count);
        files.insert(identity, (pid, mine + 1));
        Ok(guard)
    }

    /// After it was opened: notes whether its lock can be seen.
    pub(super) fn after_open(&self) {
        let sees = self.identity.and_then(holds_lock) == Some(true);
        self.is_seeing.store(sees, Ordering::Relaxed);
    }

    /// Refuses to go on when the locks are gone. Looks once in a while, or now.
    pub(super) fn check(&self, now: bool) -> Result<()> {
        if self.is_seeing.load(Ordering::Relaxed) && !self.is_lost.load(Ordering::Relaxed) {
            let time = system_ms();
            if now || time.abs_diff(self.looked_at_ms.load(Ordering::Relaxed)) >= LOOK_EVERY_MS.unsigned_abs()
            {
                self.looked_at_ms.store(time, Ordering::Relaxed);
                if self.identity.and_then(holds_lock) == Some(false) {
                    self.is_lost.store(true, Ordering::Relaxed);
                }
            }
        }
        if self.is_lost.load(Ordering::Relaxed) {
            return Err(Error::new(
                Reason::StorageUnavailable,
                "something else in this process closed the store's file and dropped its locks: open the store anew",
            ));
        }
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let (Some(identity), Some(mut files)) = (self.identity, open_files()) else { return };
        let Some(files) = &mut *files else { return };
        match files.get_mut(&identity) {
            Some((pid, count)) if *pid == std::process::id() && *count > 1 => *count -= 1,
            Some((pid, _)) if *pid == std::process::id() => drop(files.remove(&identity)),
            _ => {}
        }
    }
}

/// The descriptors that this process has of the file.
#[cfg(target_os = "linux")]
fn descriptors_of((device, inode): Identity) -> Vec<String> {
    use std::os::unix::fs::MetadataExt as _;
    let is_of_file = |entry: &std::fs::DirEntry| {
        std::fs::metadata(entry.path())
            .is_ok_and(|metadata| metadata.dev() == device && metadata.ino() == inode)
    };
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let found = entries.flatten().filter(is_of_file);
    found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(not(target_os = "linux"))]
fn descriptors_of(_identity: Identity) -> Vec<String> {
    Vec::new()
}

/// Whether this process has a lock on the file, as far as can be told. SQLite keeps one as long as it has the
/// file open. The kernel tells the locks of a descriptor in one piece, unlike those of the whole system.
fn holds_lock(identity: Identity) -> Option<bool> {
    let descriptors = descriptors_of(identity);
    let infos =
        descriptors.iter().map(|number| std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")));
    let infos: Vec<String> = infos.flatten().collect();
    (!infos.is_empty()).then(|| infos.iter().any(|info| info.contains("POSIX")))
}
