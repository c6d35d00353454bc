//! A shard of a table in memory: the rows whose ids hash into it, and the index of those that expire, under one
//! lock. A row is never changed but replaced, so that whoever holds one may look at it with no lock held.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use hashbrown::HashTable;

use super::super::{Row, is_too_roomy};
use super::table::{CLASSES, Indexed};
use crate::sync::RwLock;
use crate::sync::atomic::{AtomicI64, Ordering};

/// No deadline.
pub(super) const NEVER: i64 = i64::MAX;

/// A row as it is now.
pub(super) struct Cell<R> {
    /// Order of insertion. A row that takes the place of another inherits it.
    pub(super) sequence: u64,
    /// Its key in the expiry index, never later than the row's deadline; `NEVER` when it is not there. Changed with
    /// the shard locked.
    scheduled: AtomicI64,
    pub(super) row: R,
}

impl<R> Cell<R> {
    /// A row that no index has.
    pub(super) fn new(sequence: u64, row: R) -> Self {
        Self { sequence, scheduled: AtomicI64::new(NEVER), row }
    }

    /// What takes this cell's place with another row.
    pub(super) fn with(&self, row: R) -> Self {
        Self { sequence: self.sequence, scheduled: AtomicI64::new(self.scheduled()), row }
    }

    pub(super) fn scheduled(&self) -> i64 {
        self.scheduled.load(Ordering::Relaxed)
    }
}

/// Finds a row again without its id.
#[derive(Clone, Copy)]
pub(super) struct Locator {
    pub(super) hash: u64,
    pub(super) sequence: u64,
}

/// Beside the row stand its hash, so that growing a shard follows no pointer, and its text, so that a look-up fetches
/// both from memory at the same time.
pub(super) struct Slot<R> {
    hash: u64,
    pub(super) cell: Arc<Cell<R>>,
    text: Arc<str>,
}

impl<R: Indexed> Slot<R> {
    pub(super) fn new(hash: u64, cell: Cell<R>) -> Self {
        Self { hash, text: Arc::clone(cell.row.text()), cell: Arc::new(cell) }
    }

    pub(super) fn locator(&self) -> Locator {
        Locator { hash: self.hash, sequence: self.cell.sequence }
    }

    /// Puts another row into the slot and gives the old one.
    pub(super) fn replace(&mut self, new: Arc<Cell<R>>) -> Arc<Cell<R>> {
        self.text = Arc::clone(new.row.text());
        std::mem::replace(&mut self.cell, new)
    }

    #[inline]
    fn is_of(&self, hash: u64, id: &str) -> bool {
        if self.hash != hash {
            return false;
        }
        // Nobody needs this byte; the processor starts to fetch the text before it has the row.
        black_box(self.text.as_bytes().first().copied());
        self.cell.row.id() == id
    }
}

/// Two cache lines: processors fetch them in pairs, and what a look-up needs is in the first.
#[repr(C, align(128))]
pub(super) struct Shard<R> {
    /// First deadline in the expiry index, for those who do not hold the lock.
    next_expiry: AtomicI64,
    pub(super) rows: RwLock<Rows<R>>,
}

#[repr(C)]
pub(super) struct Rows<R> {
    slots: HashTable<Slot<R>>,
    pub(super) upkeep: Upkeep,
}

/// What is kept in step with the rows of a shard.
#[derive(Default)]
pub(super) struct Upkeep {
    /// Deadline and sequence of each row that expires, with the hash of its id.
    expiry: BTreeMap<(i64, u64), u64>,
    /// Rows by class.
    pub(super) rows: [i64; CLASSES],
    /// Bytes of text.
    pub(super) bytes: i64,
}

pub(super) fn is_alive<R: Row>(row: &R, tick_ns: i64) -> bool {
    row.expires_at().is_none_or(|deadline| tick_ns < deadline)
}

fn byte_count<R: Indexed>(row: &R) -> i64 {
    i64::try_from(row.bytes()).unwrap_or(0)
}

impl Upkeep {
    #[inline]
    pub(super) fn count<R: Indexed>(&mut self, row: &R, sign: i64) {
        self.rows[row.class()] += sign;
        self.bytes += sign * byte_count(row);
    }

    /// The rows that are due by `tick_ns`, the first one first.
    pub(super) fn due(&self, tick_ns: i64) -> impl Iterator<Item = Locator> {
        let due = self.expiry.iter().take_while(move |((deadline, _), _)| *deadline <= tick_ns);
        due.map(|((_, sequence), hash)| Locator { hash: *hash, sequence: *sequence })
    }
}

impl<R: Indexed> Rows<R> {
    #[inline]
    pub(super) fn find(&self, hash: u64, id: &str) -> Option<&Slot<R>> {
        self.slots.find(hash, |slot| slot.is_of(hash, id))
    }

    /// The slot of an id, and what to keep in step when it changes.
    #[inline]
    pub(super) fn find_mut(&mut self, hash: u64, id: &str) -> Option<(&mut Slot<R>, &mut Upkeep)> {
        let slot = self.slots.find_mut(hash, |slot| slot.is_of(hash, id))?;
        Some((slot, &mut self.upkeep))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &R> {
        self.slots.iter().map(|slot| &slot.cell.row)
    }

    pub(super) fn locate(&self, locator: Locator) -> Option<&Slot<R>> {
        self.slots.find(locator.hash, |slot| slot.cell.sequence == locator.sequence)
    }

    pub(super) fn locate_mut(&mut self, locator: Locator) -> Option<(&mut Slot<R>, &mut Upkeep)> {
        let slot = self.slots.find_mut(locator.hash, |slot| slot.cell.sequence == locator.sequence)?;
        Some((slot, &mut self.upkeep))
    }

    pub(super) fn insert(&mut self, slot: Slot<R>) {
        self.slots.insert_unique(slot.hash, slot, |slot| slot.hash);
    }

    pub(super) fn remove(&mut self, locator: Locator) -> Option<Slot<R>> {
        let is_same = |slot: &Slot<R>| slot.cell.sequence == locator.sequence;
        let (slot, _) = self.slots.find_entry(locator.hash, is_same).ok()?.remove();
        // A table that once was large gives its room back.
        if is_too_roomy(self.slots.len(), self.slots.capacity()) {
            let keep = self.slots.len() * 2;
            self.slots.shrink_to(keep, |slot| slot.hash);
        }
        Some(slot)
    }
}

impl<R> Default for Shard<R> {
    fn default() -> Self {
        Self {
            next_expiry: AtomicI64::new(NEVER),
            rows: RwLock::new(Rows { slots: HashTable::new(), upkeep: Upkeep::default() }),
        }
    }
}

impl<R> Shard<R> {
    /// Whether a row may be due. A row that is no longer due by this has given its slot back.
    #[inline]
    pub(super) fn may_have_due(&self, tick_ns: i64) -> bool {
        self.next_expiry.load(Ordering::Acquire) <= tick_ns
    }

    /// Moves a row of this shard to `deadline` in the expiry index.
    #[inline]
    pub(super) fn schedule(&self, upkeep: &mut Upkeep, slot: &Slot<R>, deadline: i64) {
        let (sequence, scheduled) = (slot.cell.sequence, slot.cell.scheduled());
        if scheduled == deadline {
            return;
        }
        if scheduled != NEVER {
            upkeep.expiry.remove(&(scheduled, sequence));
        }
        if deadline != NEVER {
            upkeep.expiry.insert((deadline, sequence), slot.hash);
        }
        slot.cell.scheduled.store(deadline, Ordering::Relaxed);
        let next = upkeep.expiry.first_key_value().map_or(NEVER, |((deadline, _), _)| *deadline);
        self.next_expiry.store(next, Ordering::Release);
    }
}
