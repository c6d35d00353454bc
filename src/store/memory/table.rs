//! One table in memory: its shards, its ordered index and its count of slots. A transition holds the lock of its
//! row's shard, and so does a read, together with others; with this many shards, calls on different rows seldom meet.
//! Locks are taken in the order shard, then what an index locks; no two shards at once.
//!
//! To add an ordered index, implement [`Index`] for it and name it in [`Indexed::Index`] (for a second one over the
//! same rows, a struct of both that calls each). It is told of every row that comes, changes or goes within the
//! atomic step, and derives its keys from the rows. It keeps a [`Locator`] of each row, or the row itself as an
//! `Arc<Cell<R>>`, which is then fresh only if it takes every replacement. Whoever looks rows up in it
//! copies the candidate out, releases the index, and finds the row by [`MemoryTable::look_at`], where it may have
//! changed or gone meanwhile.

#![forbid(unsafe_code)]

use std::hash::BuildHasher as _;
use std::sync::{Arc, Weak};

use hashbrown::DefaultHashBuilder;

use super::super::{Change, Decide, ExpiryListener, Limits, Row, Table, add_listener};
use super::partitions::{Partitions, Took};
use super::shard::{Cell, Locator, NEVER, Rows, Shard, Slot, Upkeep, is_alive};
use crate::clock::{Clock, Now, Wake};
use crate::error::Result;
use crate::events::Hub;
use crate::sync::RwLock;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// So many that two threads rarely meet in one, and that growing one stays short with a million rows.
const SHARDS: usize = 128;

/// Rows that one call looks at beside its own work, to remove those that expired.
pub(super) const SWEEP_PER_CALL: usize = 4;

/// How many counters a table keeps for `taskhold_store_stats`.
pub(super) const CLASSES: usize = 5;

/// A row that a memory table can hold.
pub(super) trait Indexed: Row {
    /// The ordered index that listings of such rows need.
    type Index: Index<Self>;

    /// Which of the [`CLASSES`] counters counts it.
    fn class(&self) -> usize;

    /// The text that most of it is.
    fn text(&self) -> &Arc<str>;

    /// How many bytes of text it holds.
    fn bytes(&self) -> usize;

    /// Called when the row is about to take the place of `old`, or to be new, with the shard locked: does what belongs
    /// to the moment of storing.
    fn stored_over(&mut self, _old: Option<&Self>) {}
}

/// An ordered index over the rows of a table. Called with the shard of the row locked.
pub(super) trait Index<R: Indexed>: Default + Send + Sync {
    /// Takes what only one row may have for a row that is about to come. False when another has it.
    fn reserve(&self, _locator: Locator, _row: &R) -> bool {
        true
    }
    /// Gives it back: the row does not come.
    fn unreserve(&self, _row: &R) {}
    /// A row came.
    fn inserted(&self, locator: Locator, new: &Arc<Cell<R>>);
    /// A row took the place of another with the same id and locator.
    fn replaced(&self, locator: Locator, old: &Arc<Cell<R>>, new: &Arc<Cell<R>>);
    /// A row went.
    fn removed(&self, locator: Locator, old: &Arc<Cell<R>>);
    /// It went because it had expired. Called with no lock held.
    fn expired(&self, _row: &R) {}
    /// Who is to be woken when the clock is moved.
    fn sleeper(&self) -> Option<Arc<dyn Wake>> {
        None
    }
}

/// What came of storing a new row.
pub(super) enum Inserted {
    Done,
    IdTaken,
    /// Another row has what only one may have.
    Reserved,
}

/// The rows of one kind under one name.
pub(super) struct MemoryTable<R: Indexed> {
    clock: Clock,
    hub: Arc<Hub>,
    hasher: DefaultHashBuilder,
    shards: Box<[Shard<R>]>,
    pub(super) index: R::Index,
    sequence: AtomicU64,
    /// Rows that take a slot, expired ones that are not removed yet among them.
    slots: AtomicU64,
    partitions: Partitions,
    /// The shard that the next insertion looks at for expired rows.
    sweep_next: AtomicUsize,
    has_listeners: AtomicBool,
    listeners: RwLock<Vec<Weak<dyn ExpiryListener<R>>>>,
    /// Whether all ids have the same hash.
    #[cfg(test)]
    pub(super) all_alike: bool,
}

impl<R: Indexed> MemoryTable<R> {
    pub(super) fn new(clock: Clock, hub: Arc<Hub>) -> Self {
        Self {
            clock,
            hub,
            hasher: DefaultHashBuilder::default(),
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            index: R::Index::default(),
            sequence: AtomicU64::new(0),
            slots: AtomicU64::new(0),
            partitions: Partitions::default(),
            sweep_next: AtomicUsize::new(0),
            has_listeners: AtomicBool::new(false),
            listeners: RwLock::default(),
            #[cfg(test)]
            all_alike: false,
        }
    }

    pub(super) fn tick_ns(&self) -> i64 {
        self.clock.tick_ns()
    }

    /// Rows by class, bytes of text held, and rows that expired and are not removed yet; these are counted by
    /// no class and still hold their bytes.
    pub(super) fn totals(&self) -> ([i64; CLASSES], i64, usize) {
        let (mut rows, mut bytes, mut expired) = ([0; CLASSES], 0, 0);
        for shard in &self.shards {
            let shard = shard.rows.read();
            for (total, count) in rows.iter_mut().zip(&shard.upkeep.rows) {
                *total += count;
            }
            bytes += shard.upkeep.bytes;
        }
        self.for_each_expired(self.tick_ns(), |row| {
            rows[row.class()] -= 1;
            expired += 1;
        });
        (rows, bytes, expired)
    }

    /// Shows the rows that expired and are not removed yet.
    pub(super) fn for_each_expired(&self, tick_ns: i64, mut visit: impl FnMut(&R)) {
        for shard in self.shards.iter().filter(|shard| shard.may_have_due(tick_ns)) {
            let rows = shard.rows.read();
            let due = rows.upkeep.due(tick_ns).filter_map(|locator| rows.locate(locator));
            for slot in due.filter(|slot| !is_alive(&slot.cell.row, tick_ns)) {
                visit(&slot.cell.row);
            }
        }
    }

    /// How many rows the next sweeps look at.
    #[cfg(test)]
    pub(super) fn due(&self) -> usize {
        let tick_ns = self.tick_ns();
        self.shards.iter().map(|shard| shard.rows.read().upkeep.due(tick_ns).count()).sum()
    }

    fn hash(&self, id: &str) -> u64 {
        #[cfg(test)]
        if self.all_alike {
            return 0;
        }
        self.hasher.hash_one(id)
    }

    fn shard(&self, hash: u64) -> &Shard<R> {
        // The table itself uses the lowest and the highest bits.
        &self.shards[(hash >> 32) as usize % SHARDS]
    }

    /// Shows the row that an index told of, unless it is removed or expired.
    pub(super) fn look_at<T>(
        &self,
        locator: Locator,
        tick_ns: i64,
        visit: impl FnOnce(&R) -> T,
    ) -> Option<T> {
        let rows = self.shard(locator.hash).rows.read();
        let row = rows.locate(locator).map(|slot| &slot.cell.row)?;
        is_alive(row, tick_ns).then(|| visit(row))
    }

    /// Puts a row in the place of the one that is there, which comes back to be dropped without a lock.
    fn replace(
        &self,
        shard: &Shard<R>,
        (slot, upkeep): (&mut Slot<R>, &mut Upkeep),
        mut new: R,
    ) -> Arc<Cell<R>> {
        new.stored_over(Some(&slot.cell.row));
        let deadline = new.expires_at().unwrap_or(NEVER);
        let new = Arc::new(slot.cell.with(new));
        self.index.replaced(slot.locator(), &slot.cell, &new);
        upkeep.count(&slot.cell.row, -1);
        upkeep.count(&new.row, 1);
        match (slot.cell.row.takes_slot(), new.row.takes_slot()) {
            (true, false) => self.give_slot_back(&new.row),
            (false, true) => {
                self.take_slot(&new.row, Limits::default());
            }
            _ => {}
        }
        let old = slot.replace(new);
        if deadline < old.scheduled() {
            shard.schedule(upkeep, slot, deadline);
        }
        old
    }

    /// Takes a row out of the table and out of every index.
    fn remove(&self, shard: &Shard<R>, rows: &mut Rows<R>, locator: Locator) -> Option<Arc<Cell<R>>> {
        let slot = rows.remove(locator)?;
        self.index.removed(locator, &slot.cell);
        rows.upkeep.count(&slot.cell.row, -1);
        if slot.cell.row.takes_slot() {
            self.give_slot_back(&slot.cell.row);
        }
        // Last: a shard without due rows says that no expired row takes a slot.
        shard.schedule(&mut rows.upkeep, &slot, NEVER);
        Some(slot.cell)
    }

    fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Stores a row whose id is not there.
    fn insert(&self, shard: &Shard<R>, rows: &mut Rows<R>, Locator { hash, sequence }: Locator, mut row: R) {
        row.stored_over(None);
        let deadline = row.expires_at().unwrap_or(NEVER);
        let slot = Slot::new(hash, Cell::new(sequence, row));
        self.index.inserted(slot.locator(), &slot.cell);
        rows.upkeep.count(&slot.cell.row, 1);
        shard.schedule(&mut rows.upkeep, &slot, deadline);
        rows.insert(slot);
    }

    /// Takes a slot for a row that takes one.
    fn take_slot(&self, row: &R, limits: Limits) -> Took {
        let limit = limits.total.unwrap_or(u64::MAX);
        let free = |slots: u64| (slots < limit).then(|| slots + 1);
        let take = || self.slots.fetch_update(Ordering::SeqCst, Ordering::SeqCst, free).is_ok();
        if self.partitions.are_counted() {
            return self.partitions.take(row.partition(), limits.per_partition, take);
        }
        if take() { Took::Slot } else { Took::Full }
    }

    fn give_slot_back(&self, row: &R) {
        self.slots.fetch_sub(1, Ordering::SeqCst);
        if self.partitions.are_counted() {
            self.partitions.give_back(row.partition().as_deref());
        }
    }

    /// Counts the rows of each partition, those that are there and those that come.
    pub(super) fn count_partitions_from_now_on(&self) {
        self.partitions.begin(|| {
            // All at once, which nobody else does: no row may come or go between those that are counted.
            let shards: Vec<_> = self.shards.iter().map(|shard| shard.rows.write()).collect();
            let rows = shards.iter().flat_map(|rows| rows.iter()).filter(|row| row.takes_slot());
            self.partitions.count(rows.map(Row::partition));
        });
    }

    /// Stores a new row that may want what only one row has.
    pub(super) fn insert_reserved(&self, row: R, limits: Limits) -> Result<Inserted> {
        let hash = self.hash(row.id());
        let shard = self.shard(hash);
        let mut nothing_expired = false;
        loop {
            let mut rows = shard.rows.write();
            if rows.find(hash, row.id()).is_some() {
                return Ok(Inserted::IdTaken);
            }
            let locator = Locator { hash, sequence: self.next_sequence() };
            if !self.index.reserve(locator, &row) {
                return Ok(Inserted::Reserved);
            }
            let took = self.take_slot(&row, limits);
            if took == Took::Slot {
                self.insert(shard, &mut rows, locator, row);
                drop(rows);
                self.sweep_after_insertion(shard, self.clock.recent_tick_ns());
                return Ok(Inserted::Done);
            }
            self.index.unreserve(&row);
            drop(rows);
            nothing_expired = self.make_room(nothing_expired, limits, took)?;
        }
    }

    /// Removes an expired row so that another may come. Once more after a sweep that found nothing: others may have
    /// removed what had expired.
    fn make_room(&self, nothing_expired: bool, limits: Limits, full: Took) -> Result<bool> {
        if nothing_expired { Err(limits.reached(full)) } else { Ok(self.sweep_all(1) == 0) }
    }

    /// Insertions walk over all shards, so that rows expire even where nobody looks.
    fn sweep_after_insertion(&self, shard: &Shard<R>, tick_ns: i64) {
        let next = self.sweep_next.fetch_add(1, Ordering::Relaxed) % SHARDS;
        self.sweep_a_few(&self.shards[next], tick_ns);
        self.sweep_a_few(shard, tick_ns);
    }

    /// Puts what `change` makes of the row that an index told of in its place, and gives it.
    pub(super) fn change_at(&self, locator: Locator, change: &mut dyn FnMut(&R) -> Option<R>) -> Option<R> {
        let shard = self.shard(locator.hash);
        let mut rows = shard.rows.write();
        let (slot, upkeep) = rows.locate_mut(locator)?;
        let new = change(&slot.cell.row)?;
        let old = self.replace(shard, (slot, upkeep), new.clone());
        drop(rows);
        drop(old);
        Some(new)
    }

    /// Removes the row that an index told of, if it has expired.
    pub(super) fn retire_at(&self, locator: Locator, tick_ns: i64) {
        let shard = self.shard(locator.hash);
        let mut rows = shard.rows.write();
        let is_expired = rows.locate(locator).is_some_and(|slot| !is_alive(&slot.cell.row, tick_ns));
        let removed = if is_expired { self.remove(shard, &mut rows, locator) } else { None };
        drop(rows);
        if let Some(cell) = removed {
            self.tell_listeners(&cell.row);
        }
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn sweep_all(&self, most: usize) -> usize {
        let tick_ns = self.tick_ns();
        let mut removed = 0;
        for shard in &self.shards {
            // Rows whose deadline moved on are passed over, however many these are.
            while removed < most && shard.may_have_due(tick_ns) {
                removed += self.sweep(shard, tick_ns, most - removed);
            }
        }
        removed
    }

    /// What one call does beside its own work. Rows whose deadline moved on count as well, or one call could have to
    /// reschedule them all.
    #[inline]
    fn sweep_a_few(&self, shard: &Shard<R>, tick_ns: i64) {
        if shard.may_have_due(tick_ns) {
            self.sweep(shard, tick_ns, SWEEP_PER_CALL);
        }
    }

    /// Looks at up to `most` rows that are due: removes those that expired, and moves the others to their
    /// deadlines. Says how many were removed.
    #[cold]
    fn sweep(&self, shard: &Shard<R>, tick_ns: i64, most: usize) -> usize {
        let mut expired = Vec::new();
        let mut rows = shard.rows.write();
        for _ in 0..most.min(SWEEP_PER_CALL) {
            let Some(locator) = rows.upkeep.due(tick_ns).next() else { break };
            let Some((slot, upkeep)) = rows.locate_mut(locator) else { break };
            if is_alive(&slot.cell.row, tick_ns) {
                let deadline = slot.cell.row.expires_at().unwrap_or(NEVER);
                shard.schedule(upkeep, slot, deadline);
            } else {
                expired.extend(self.remove(shard, &mut rows, locator));
            }
        }
        drop(rows);
        for cell in &expired {
            self.tell_listeners(&cell.row);
        }
        expired.len()
    }

    /// Removes the row of an id, if it has expired.
    #[cold]
    fn retire(&self, shard: &Shard<R>, hash: u64, id: &str, tick_ns: i64) {
        let mut rows = shard.rows.write();
        let expired = rows.find(hash, id).filter(|slot| !is_alive(&slot.cell.row, tick_ns));
        let locator = expired.map(Slot::locator);
        let removed = locator.and_then(|locator| self.remove(shard, &mut rows, locator));
        drop(rows);
        if let Some(cell) = removed {
            self.tell_listeners(&cell.row);
        }
    }

    fn tell_listeners(&self, row: &R) {
        self.index.expired(row);
        if self.has_listeners.load(Ordering::Relaxed) {
            let listeners = self.listeners.read().clone();
            for listener in listeners.iter().filter_map(Weak::upgrade) {
                listener.expired(row);
            }
        }
    }
}

impl<R: Indexed> Table<R> for MemoryTable<R> {
    fn read(&self, id: &str, visit: &mut dyn FnMut(&R)) -> Result<bool> {
        let hash = self.hash(id);
        let shard = self.shard(hash);
        let recent_tick_ns = self.clock.recent_tick_ns();
        let rows = shard.rows.read();
        let slot = rows.find(hash, id);
        // The schedule is never later than the row's deadline.
        let alive = slot.filter(|slot| {
            self.clock.is_before(slot.cell.scheduled(), recent_tick_ns)
                || is_alive(&slot.cell.row, self.tick_ns())
        });
        let (is_there, is_alive) = (slot.is_some(), alive.is_some());
        if let Some(slot) = alive {
            visit(&slot.cell.row);
        }
        drop(rows);
        if is_there && !is_alive {
            self.retire(shard, hash, id, self.tick_ns());
        }
        self.sweep_a_few(shard, recent_tick_ns);
        Ok(is_alive)
    }

    fn transact_within(&self, id: &str, limits: Limits, decide: &mut Decide<'_, R>) -> Result<()> {
        let hash = self.hash(id);
        let shard = self.shard(hash);
        let mut nothing_expired = false;
        loop {
            let now = self.clock.now();
            let mut rows = shard.rows.write();
            let Some((slot, upkeep)) = rows.find_mut(hash, id) else {
                let (Change::Put(row) | Change::PutReplicated(row) | Change::PutUnannounced(row)) =
                    decide(None, now)?
                else {
                    return Ok(());
                };
                // A row that wants to be the only one of something comes by `insert_reserved`.
                let took = if row.takes_slot() { self.take_slot(&row, limits) } else { Took::Slot };
                if took == Took::Slot {
                    let locator = Locator { hash, sequence: self.next_sequence() };
                    self.insert(shard, &mut rows, locator, row);
                    drop(rows);
                    self.sweep_after_insertion(shard, now.tick_ns);
                    return Ok(());
                }
                drop(rows);
                nothing_expired = self.make_room(nothing_expired, limits, took)?;
                continue;
            };
            if !is_alive(&slot.cell.row, now.tick_ns) {
                drop(rows);
                self.retire(shard, hash, id, now.tick_ns);
                continue;
            }
            let old = match decide(Some(&slot.cell.row), now)? {
                Change::Keep => None,
                Change::Put(new) | Change::PutReplicated(new) | Change::PutUnannounced(new) => {
                    Some(self.replace(shard, (slot, upkeep), new))
                }
                Change::Remove => {
                    let locator = slot.locator();
                    self.remove(shard, &mut rows, locator)
                }
            };
            drop(rows);
            drop(old);
            self.sweep_a_few(shard, now.tick_ns);
            return Ok(());
        }
    }

    fn count_partitions(&self) -> Result<()> {
        self.count_partitions_from_now_on();
        Ok(())
    }

    fn now(&self) -> Result<Now> {
        Ok(self.clock.now())
    }

    fn ids(&self, after: Option<&str>, limit: usize) -> Result<Vec<Arc<str>>> {
        let mut ids: Vec<Arc<str>> = Vec::new();
        for shard in &self.shards {
            let rows = shard.rows.read();
            let behind = rows.iter().map(Row::id).filter(|id| after.is_none_or(|after| *id > after));
            ids.extend(behind.map(Arc::from));
            drop(rows);
            // Those that come first, in any order, so that a page holds no more than a few pages.
            if ids.len() / 2 > limit {
                ids.select_nth_unstable(limit);
                ids.truncate(limit);
            }
        }
        ids.sort_unstable();
        ids.truncate(limit);
        Ok(ids)
    }

    fn sweep(&self, most: usize) -> Result<usize> {
        Ok(self.sweep_all(most))
    }

    fn watch_expiry(&self, listener: Weak<dyn ExpiryListener<R>>) {
        add_listener(&mut self.listeners.write(), listener);
        self.has_listeners.store(true, Ordering::Relaxed);
    }

    fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }
}
