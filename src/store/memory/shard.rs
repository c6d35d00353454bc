//! What a table in memory is made of: a shard has a hash table of entries and an index of those that expire;
//! an entry has a row and the lock of that row.
//!
//! Locks are taken in this order: shard rows, entry, then expiry index or ordered index.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashTable;

use super::super::{Row, is_too_roomy};
use super::table::{CLASSES, Indexed};
use crate::sync::atomic::{AtomicI64, Ordering};
use crate::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub(super) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read()
}

pub(super) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// A row's place. The id is found in the row alone: a look-up that takes the row's lock for that fetches nothing
/// from memory that it does not need anyway.
pub(super) struct Entry<R: Indexed> {
    /// Order of insertion.
    pub(super) sequence: u64,
    pub(super) key: R::Key,
    pub(super) cell: RwLock<Cell<R>>,
}

pub(super) struct Cell<R> {
    /// `None` once it is removed: a listing may still hold the entry.
    pub(super) row: Option<R>,
    /// Its key in the expiry index, never later than the row's deadline; `NEVER` when it is not there.
    pub(super) scheduled: i64,
}

pub(super) const NEVER: i64 = i64::MAX;

impl<R: Indexed> Entry<R> {
    /// Shows the row, unless it is removed or expired.
    pub(super) fn read<T>(&self, tick_ns: i64, visit: impl FnOnce(&R) -> T) -> Option<T> {
        let cell = read(&self.cell);
        cell.row.as_ref().filter(|row| is_alive(*row, tick_ns)).map(visit)
    }
}

/// The entries that are due by `tick_ns`, the first one first.
#[expect(clippy::mutable_key_type, reason = "what an entry is ordered by never changes")]
pub(super) fn due<R: Indexed>(expiry: &ExpiryIndex<R>, tick_ns: i64) -> impl Iterator<Item = &Arc<Entry<R>>> {
    expiry.iter().take_while(move |due| due.deadline <= tick_ns).map(|due| &due.entry)
}

pub(super) fn is_alive<R: Row>(row: &R, tick_ns: i64) -> bool {
    row.expires_at().is_none_or(|deadline| tick_ns < deadline)
}

/// An entry in the expiry index: by deadline, and by sequence among equals.
pub(super) struct Due<R: Indexed> {
    deadline: i64,
    entry: Arc<Entry<R>>,
}

impl<R: Indexed> Ord for Due<R> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // The entry is looked at for equal deadlines only: it is likely not in any cache.
        self.deadline.cmp(&other.deadline).then_with(|| self.entry.sequence.cmp(&other.entry.sequence))
    }
}

impl<R: Indexed> PartialOrd for Due<R> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: Indexed> PartialEq for Due<R> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<R: Indexed> Eq for Due<R> {}

pub(super) type ExpiryIndex<R> = BTreeSet<Due<R>>;

/// Two cache lines apart, since processors fetch them in pairs.
#[repr(align(128))]
pub(super) struct Shard<R: Indexed> {
    pub(super) rows: RwLock<HashTable<Slot<R>>>,
    pub(super) expiry: Mutex<ExpiryIndex<R>>,
    /// First key of `expiry`.
    pub(super) next_expiry: AtomicI64,
    pub(super) gauges: Gauges,
}

/// The hash stands beside the entry so that growing a shard follows no pointer.
pub(super) struct Slot<R: Indexed> {
    pub(super) hash: u64,
    pub(super) entry: Arc<Entry<R>>,
}

/// The slots with this hash: one, unless two ids share all 64 bits of it.
pub(super) fn alike<R: Indexed>(rows: &HashTable<Slot<R>>, hash: u64) -> impl Iterator<Item = &Slot<R>> {
    rows.iter_hash(hash).filter(move |slot| slot.hash == hash)
}

/// What an entry that has the hash of an id is to that id.
pub(super) enum Likeness {
    Same,
    Other,
    /// Its row is gone, and it is about to leave the table: whose it was cannot be told.
    Vacant,
}

impl<R: Row> Cell<R> {
    #[inline]
    pub(super) fn likeness(&self, id: &str) -> Likeness {
        match &self.row {
            Some(row) if row.id() == id => Likeness::Same,
            Some(_) => Likeness::Other,
            None => Likeness::Vacant,
        }
    }
}

#[derive(Default)]
pub(super) struct Gauges {
    pub(super) rows: [AtomicI64; CLASSES],
    pub(super) bytes: AtomicI64,
}

fn byte_count<R: Indexed>(row: &R) -> i64 {
    i64::try_from(row.bytes()).unwrap_or(0)
}

impl Gauges {
    pub(super) fn add<R: Indexed>(&self, row: &R, sign: i64) {
        self.rows[row.class()].fetch_add(sign, Ordering::Relaxed);
        self.bytes.fetch_add(sign * byte_count(row), Ordering::Relaxed);
    }

    pub(super) fn replace<R: Indexed>(&self, old: &R, new: &R) {
        if old.class() != new.class() {
            self.rows[old.class()].fetch_sub(1, Ordering::Relaxed);
            self.rows[new.class()].fetch_add(1, Ordering::Relaxed);
        }
        self.bytes.fetch_add(byte_count(new) - byte_count(old), Ordering::Relaxed);
    }
}

impl<R: Indexed> Default for Shard<R> {
    fn default() -> Self {
        Self {
            rows: RwLock::default(),
            expiry: Mutex::default(),
            next_expiry: AtomicI64::new(NEVER),
            gauges: Gauges::default(),
        }
    }
}

impl<R: Indexed> Shard<R> {
    /// Moves an entry to `deadline` in the expiry index. The entry's lock is held.
    pub(super) fn schedule(&self, cell: &mut Cell<R>, entry: &Arc<Entry<R>>, deadline: i64) {
        if cell.scheduled == NEVER && deadline == NEVER {
            return;
        }
        let mut expiry = lock(&self.expiry);
        let mut due = Due { deadline: cell.scheduled, entry: Arc::clone(entry) };
        if cell.scheduled != NEVER {
            expiry.remove(&due);
        }
        due.deadline = deadline;
        if deadline != NEVER {
            expiry.insert(due);
        }
        cell.scheduled = deadline;
        self.note_next(&expiry);
    }

    /// The entry that is due first. It stays in the index until its row is taken and the row's slot is free:
    /// an index without due entries means that no expired row takes a slot.
    pub(super) fn first_due(&self, tick_ns: i64) -> Option<Arc<Entry<R>>> {
        if self.next_expiry.load(Ordering::Relaxed) > tick_ns {
            return None;
        }
        let expiry = lock(&self.expiry);
        due(&expiry, tick_ns).next().map(Arc::clone)
    }

    #[expect(clippy::mutable_key_type, reason = "what an entry is ordered by never changes")]
    fn note_next(&self, expiry: &ExpiryIndex<R>) {
        let next = expiry.first().map_or(NEVER, |due| due.deadline);
        self.next_expiry.store(next, Ordering::Relaxed);
    }

    /// Takes an entry without a row out of the hash table.
    pub(super) fn unhook(&self, hash: u64, entry: &Arc<Entry<R>>) {
        let mut rows = write(&self.rows);
        if let Ok(found) = rows.find_entry(hash, |slot| Arc::ptr_eq(&slot.entry, entry)) {
            let (slot, _) = found.remove();
            // A table that once was large gives its room back.
            if is_too_roomy(rows.len(), rows.capacity()) {
                let keep = rows.len() * 2;
                rows.shrink_to(keep, |slot| slot.hash);
            }
            drop(rows);
            drop(slot);
        }
    }
}
