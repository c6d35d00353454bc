//! A second SQLite in this process, and a file that goes. File locks belong to the process: when another library
//! closes the file, the operating system drops the locks of this one as well. So a file that somebody else in this
//! process has open is refused, and a store that lost its locks writes no more. Both are read from `/proc`; on
//! other systems nothing is told. Nor does a store write on into a file that was removed or replaced at its path:
//! what it would acknowledge nobody could find again.

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
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

/// Keeps watch over the file and the locks of one open store.
#[derive(Debug)]
pub(super) struct Guard {
    path: PathBuf,
    identity: Option<Identity>,
    /// Whether the lock could be seen when the store was opened.
    is_seeing: AtomicBool,
    has_lost_locks: AtomicBool,
    has_lost_file: AtomicBool,
    looked_at_ms: AtomicI64,
}

impl Guard {
    /// Before the file is opened: refuses one that somebody else in this process has open.
    pub(super) fn before_open(path: &Path) -> Result<Self> {
        let identity = identity_of(path);
        let guard = Self {
            path: path.to_owned(),
            identity,
            is_seeing: AtomicBool::new(false),
            has_lost_locks: AtomicBool::new(false),
            has_lost_file: AtomicBool::new(false),
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

    /// Whether the file that was opened still lies at its path.
    pub(super) fn has_file(&self) -> bool {
        identity_of(&self.path) == self.identity
    }

    /// Refuses to go on when the file or the locks are gone. Looks once in a while, or now.
    pub(super) fn check(&self, now: bool) -> Result<()> {
        let is_lost =
            || self.has_lost_locks.load(Ordering::Relaxed) || self.has_lost_file.load(Ordering::Relaxed);
        let time = system_ms();
        let looked_at = self.looked_at_ms.load(Ordering::Relaxed);
        if !is_lost() && (now || time.abs_diff(looked_at) >= LOOK_EVERY_MS.unsigned_abs()) {
            self.looked_at_ms.store(time, Ordering::Relaxed);
            let sees = self.is_seeing.load(Ordering::Relaxed);
            if sees && self.identity.and_then(holds_lock) == Some(false) {
                self.has_lost_locks.store(true, Ordering::Relaxed);
            }
            if !self.has_file() {
                self.has_lost_file.store(true, Ordering::Relaxed);
            }
        }
        if self.has_lost_locks.load(Ordering::Relaxed) {
            return Err(Error::new(
                Reason::StorageUnavailable,
                "something else in this process closed the store's file and dropped its locks: open the store anew",
            ));
        }
        if self.has_lost_file.load(Ordering::Relaxed) {
            return Err(Error::new(
                Reason::StorageUnavailable,
                "the store's file was removed or replaced while it was open: open the store anew",
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

#[cfg(unix)]
fn identity_of(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity_of(_path: &Path) -> Option<Identity> {
    None
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
