//! What visitors do to a store's files while they are open. The file, its log and the log's index may be removed,
//! moved or replaced: what is written then nobody finds again, so that nothing more is acknowledged. And file locks
//! belong to the process: when another library in it closes the file, the operating system drops this library's locks
//! as well. So a file that somebody else in this process has open is refused, and a store that lost its locks writes
//! no more. Locks are read from `/proc`; on other systems nothing is told of them.

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::locks;
use super::table::system_ms;
use crate::error::{Error, Reason, Result};
use crate::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use crate::sync::{ArcSwapOption, Guard, Mutex, thread};

/// Device and inode.
pub(super) type Identity = (u64, u64);

/// The files that stores of this process have open. A list that is replaced as a whole: a fork at any moment leaves
/// the child one that is whole. The child finds its parent's files there.
static OPEN: ArcSwapOption<OpenFiles> = ArcSwapOption::const_empty();

type OpenFiles = HashMap<Identity, OpenFile>;

#[derive(Clone, Debug)]
struct OpenFile {
    path: Arc<Path>,
    process: u32,
    stores: u32,
    /// What SQLite keeps of it in this process is not to be used any more.
    is_lost: bool,
}

/// How often a store looks whether its files and its locks are there.
const LOOK_EVERY_MS: i64 = 100;
const LOOK_AT_LOCKS_EVERY_MS: i64 = 1000;
/// How soon an opener looks again that meets what is in between: a store of this process that is being closed, a
/// process that opens or closes the file.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// What was lost, as [`FileGuard::lost`] has it.
const NOTHING: u32 = 0;
const FILES: u32 = 1;
const LOCKS: u32 = 2;

fn unavailable(message: &'static str) -> Error {
    Error::new(Reason::StorageUnavailable, message)
}

/// Keeps watch over the files and the locks of one open store.
#[derive(Debug)]
pub(super) struct FileGuard {
    path: PathBuf,
    log: PathBuf,
    index: PathBuf,
    identity: Option<Identity>,
    /// `None` where files cannot be told apart.
    registration: Option<Registration>,
    opened: Mutex<Opened>,
    lost: AtomicU32,
    looked_at_ms: AtomicI64,
    looked_at_locks_ms: AtomicI64,
}

/// What was there when the store was open.
#[derive(Debug, Default)]
struct Opened {
    log: Option<Identity>,
    index: Option<Identity>,
    /// A descriptor on which the lock was seen. `None` when it could not be seen.
    locked: Option<OsString>,
}

impl FileGuard {
    /// Before the file is opened: refuses one that somebody else in this process has open, and one whose log was
    /// taken from under other processes.
    pub(super) fn before_open(path: &Path, patience: Duration) -> Result<Self> {
        let beside = |suffix: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        let identity = identity_of(path);
        let mut guard = Self {
            path: path.to_owned(),
            log: beside("-wal"),
            index: beside("-shm"),
            identity,
            registration: None,
            opened: Mutex::default(),
            lost: AtomicU32::new(NOTHING),
            looked_at_ms: AtomicI64::new(i64::MIN),
            looked_at_locks_ms: AtomicI64::new(i64::MIN),
        };
        // While the index is in use, the log is there.
        wait_until(patience, || {
            let users = identity_of(&guard.index).map(locks::holders).unwrap_or_default();
            let has_log = users.iter().all(|&user| user == std::process::id()) || guard.log.exists();
            // An index that is made anew does not know what others still write into the log.
            has_log && guard.is_index_of_all() && guard.is_index_of_no_other_file()
        })?;
        guard.registration =
            identity.map(|identity| Registration::new(identity, path, patience)).transpose()?;
        Ok(guard)
    }

    /// After it was opened: notes what is to stay as it is. Refuses when another process goes on with an index that is
    /// not the one at its path: each would overwrite what the other acknowledged.
    pub(super) fn after_open(&self, patience: Duration) -> Result<()> {
        wait_until(patience, || self.is_index_of_all() && self.is_index_of_no_other_file())?;
        *self.opened.lock() = Opened {
            log: identity_of(&self.log),
            index: identity_of(&self.index),
            locked: locks::locked_descriptor(&self.path),
        };
        Ok(())
    }

    /// Whether all other processes that have the file open use the index at its path.
    fn is_index_of_all(&self) -> bool {
        let Some(file) = self.identity else { return true };
        let users = locks::holders(file);
        let on_index = identity_of(&self.index).map(locks::holders).unwrap_or_default();
        users.iter().all(|user| *user == std::process::id() || on_index.contains(user))
    }

    /// Whether all other processes that use the index at the path have this file open. Those that do not go on with a
    /// file that was moved or replaced, and would write what is in this one's index.
    fn is_index_of_no_other_file(&self) -> bool {
        let Some(file) = self.identity else { return true };
        // SQLite locks the file before the index and unlocks it after that, hence in this order.
        let on_index = identity_of(&self.index).map(locks::holders).unwrap_or_default();
        let users = locks::holders(file);
        on_index.iter().all(|user| *user == std::process::id() || users.contains(user))
    }

    /// The file of the log.
    pub(super) fn log(&self) -> &Path {
        &self.log
    }

    /// Whether the files that were opened still lie at their paths.
    pub(super) fn has_files(&self) -> bool {
        let opened = self.opened.lock();
        identity_of(&self.path) == self.identity
            && (opened.log.is_none() || identity_of(&self.log) == opened.log)
            && (opened.index.is_none() || identity_of(&self.index) == opened.index)
    }

    /// Whether the log may be copied into the file when the last connection closes. If it was removed, that saves what
    /// is in it; if another lies at its path, that one would be removed. A log that lost its index only may be in use by
    /// whoever opens the file now, and is left to the next to open it.
    pub(super) fn may_copy_log(&self) -> bool {
        match self.lost.load(Ordering::Relaxed) {
            NOTHING => self.has_files(),
            FILES => {
                let index = self.opened.lock().index;
                identity_of(&self.path) == self.identity
                    && !self.log.exists()
                    && identity_of(&self.index).is_none_or(|found| Some(found) == index)
            }
            _ => false,
        }
    }

    /// Refuses to go on when the files or the locks are gone. Looks once in a while, or now.
    pub(super) fn check(&self, now: bool) -> Result<()> {
        if self.lost.load(Ordering::Relaxed) == NOTHING {
            let time_ms = system_ms();
            if now || is_due(&self.looked_at_ms, time_ms, LOOK_EVERY_MS) {
                self.looked_at_ms.store(time_ms, Ordering::Relaxed);
                self.look(now || is_due(&self.looked_at_locks_ms, time_ms, LOOK_AT_LOCKS_EVERY_MS), time_ms);
            }
        }
        match self.lost.load(Ordering::Relaxed) {
            NOTHING => Ok(()),
            FILES => Err(unavailable(
                "the store's file or its log was removed or replaced while it was open: open the store anew",
            )),
            _ => Err(unavailable(
                "something else in this process closed the store's file and dropped its locks: open the store anew",
            )),
        }
    }

    fn look(&self, at_locks: bool, time_ms: i64) {
        let lost = if !self.has_files() {
            FILES
        } else if at_locks && !self.has_lock(time_ms) {
            LOCKS
        } else {
            return;
        };
        self.lost.store(lost, Ordering::Relaxed);
        if let Some(registration) = &self.registration {
            registration.note_loss();
        }
    }

    fn has_lock(&self, time_ms: i64) -> bool {
        self.looked_at_locks_ms.store(time_ms, Ordering::Relaxed);
        let mut opened = self.opened.lock();
        let Some(locked) = &opened.locked else { return true };
        if !locks::has_lock(locked, &self.path) {
            // Another connection may have it by now.
            let Some(other) = locks::locked_descriptor(&self.path) else { return false };
            opened.locked = Some(other);
        }
        true
    }
}

fn is_due(looked_at_ms: &AtomicI64, time_ms: i64, every_ms: i64) -> bool {
    time_ms.abs_diff(looked_at_ms.load(Ordering::Relaxed)) >= every_ms.unsigned_abs()
}

/// Waits for what other processes do to the files to come to an end.
fn wait_until(patience: Duration, mut is_right: impl FnMut() -> bool) -> Result<()> {
    let begun = Instant::now();
    while !is_right() {
        if begun.elapsed() >= patience {
            return Err(unavailable(
                "the store's log was removed or replaced while another process has it open: end that process first",
            ));
        }
        thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

/// A store of this process that is counted in.
#[derive(Debug)]
struct Registration(Identity);

impl Registration {
    /// Counts it in, unless somebody else in this process has the file open.
    fn new(identity: Identity, path: &Path, patience: Duration) -> Result<Self> {
        let begun = Instant::now();
        loop {
            let seen = OPEN.load();
            let known = seen.as_ref().and_then(|files| files.get(&identity));
            let mine = known.filter(|file| file.process == std::process::id());
            let has_predecessor = seen.iter().flat_map(|files| files.iter()).any(|(other, file)| {
                *other != identity && file.process == std::process::id() && *file.path == *path
            });
            if has_predecessor || mine.is_some_and(|file| file.is_lost) {
                if begun.elapsed() >= patience {
                    return Err(unavailable(
                        "a store of this process that lost the file is still open: close all its handles first",
                    ));
                }
                thread::sleep(LOOK_AGAIN);
                continue;
            }
            if known.is_none() && locks::has_open(path) {
                if !is_same(&seen, &OPEN.load()) {
                    continue;
                }
                return Err(unavailable(
                    "something else in this process has the store's file open, which would break its locks",
                ));
            }
            let stores = mine.map_or(0, |file| file.stores) + 1;
            let open = OpenFile { path: path.into(), process: std::process::id(), stores, is_lost: false };
            let mut files = seen.as_deref().cloned().unwrap_or_default();
            files.insert(identity, open);
            // Nobody came or went since the look at what is open.
            if swap(&seen, files) {
                return Ok(Self(identity));
            }
        }
    }

    /// Nobody opens the file until all stores of this process that have it open are closed.
    fn note_loss(&self) {
        change_entry(self.0, |entry| {
            let is_mine = |file: &OpenFile| file.process == std::process::id();
            entry.map(|file| OpenFile { is_lost: file.is_lost || is_mine(&file), ..file })
        });
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        change_entry(self.0, |entry| match entry {
            Some(file) if file.process == std::process::id() => {
                (file.stores > 1).then(|| OpenFile { stores: file.stores - 1, ..file })
            }
            other => other,
        });
    }
}

/// Replaces the entry of a file.
fn change_entry(identity: Identity, change: impl Fn(Option<OpenFile>) -> Option<OpenFile>) {
    loop {
        let seen = OPEN.load();
        let mut files = seen.as_deref().cloned().unwrap_or_default();
        match change(files.get(&identity).cloned()) {
            Some(file) => files.insert(identity, file),
            None => files.remove(&identity),
        };
        if swap(&seen, files) {
            return;
        }
    }
}

type Seen = Guard<Option<Arc<OpenFiles>>>;

/// Puts `files` in the place of what was `seen`, unless that has changed.
fn swap(seen: &Seen, files: OpenFiles) -> bool {
    is_same(seen, &OPEN.compare_and_swap(seen, Some(Arc::new(files))))
}

fn is_same(one: &Seen, other: &Seen) -> bool {
    one.as_ref().map(Arc::as_ptr) == other.as_ref().map(Arc::as_ptr)
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
