//! One table in memory: its shards, its ordered index and its count of slots. A transition holds its entry's
//! lock, so calls on different rows meet only where two entries share a shard, and there only to be inserted or
//! removed.

#![forbid(unsafe_code)]

use std::hash::BuildHasher as _;
use std::sync::{Arc, Weak};

use hashbrown::DefaultHashBuilder;

use super::super::{Change, Decide, ExpiryListener, Row, Table, add_listener};
use super::shard::{Cell, Entry, Likeness, NEVER, Shard, Slot, alike, due, is_alive, lock, read, write};
use crate::clock::{Clock, Now};
use crate::error::{Error, Reason, Result};
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

    /// What that index orders rows of the same rank by.
    type Key: Send + Sync;

    /// The key of this row, which stays what it is as long as the row's entry lives.
    fn key(&self) -> Self::Key;

    /// Which of the [`CLASSES`] counters counts it.
    fn class(&self) -> usize;

    /// How many bytes of text it holds.
    fn bytes(&self) -> usize;
}

/// An ordered index over the entries of a table. Called with the entry's lock held.
pub(super) trait Index<R: Indexed>: Default + Send + Sync {
    /// A row came.
    fn inserted(&self, entry: &Arc<Entry<R>>, row: &R);
    /// A row took the place of another with the same id.
    fn replaced(&self, entry: &Arc<Entry<R>>, old: &R, new: &R);
    /// A row went.
    fn removed(&self, entry: &Arc<Entry<R>>, old: &R);
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
    /// The shard that the next insertion looks at for expired rows.
    sweep_next: AtomicUsize,
    has_listeners: AtomicBool,
    listeners: RwLock<Vec<Weak<dyn ExpiryListener<R>>>>,
    /// Whether all ids have the same hash.
    #[cfg(test)]
    pub(super) all_alike: bool,
}

/// What the look for an existing row came to.
enum Attempt<R: Indexed> {
    Done,
    /// There is no row, and the decision is to store this one.
    Insert(R),
    /// An expired or removed row is in the way, in this entry.
    InTheWay(Arc<Entry<R>>),
}

/// Why a new row was not stored.
enum NotInserted<R> {
    /// A row with its id is there.
    Taken,
    /// No slot is free. The row comes back.
    Full(R),
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
            for (total, gauge) in rows.iter_mut().zip(&shard.gauges.rows) {
                *total += gauge.load(Ordering::Relaxed);
            }
            bytes += shard.gauges.bytes.load(Ordering::Relaxed);
        }
        self.for_each_expired(self.tick_ns(), |row| {
            rows[row.class()] -= 1;
            expired += 1;
        });
        (rows, bytes, expired)
    }

    /// Shows the rows that expired and are not removed yet.
    pub(super) fn for_each_expired(&self, tick_ns: i64, mut visit: impl FnMut(&R)) {
        for shard in self.shards.iter().filter(|shard| shard.next_expiry.load(Ordering::Relaxed) <= tick_ns) {
            // Copied out: an entry's lock comes before the index's.
            let due: Vec<_> = due(&lock(&shard.expiry), tick_ns).map(Arc::clone).collect();
            for entry in due {
                if let Some(row) = read(&entry.cell).row.as_ref().filter(|row| !is_alive(*row, tick_ns)) {
                    visit(row);
                }
            }
        }
    }

    /// How many rows the next sweeps look at.
    #[cfg(test)]
    pub(super) fn due(&self) -> usize {
        let tick_ns = self.tick_ns();
        self.shards.iter().map(|shard| due(&lock(&shard.expiry), tick_ns).count()).sum()
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

    /// Tries the transition on the row that is there, or lets `decide` see that there is none.
    fn attempt(
        &self,
        shard: &Shard<R>,
        hash: u64,
        id: &str,
        now: Now,
        decide: &mut Decide<'_, R>,
    ) -> Result<Attempt<R>> {
        let rows = read(&shard.rows);
        let mut removed = None;
        let mut is_there = false;
        for slot in alike(&rows, hash) {
            let entry = &slot.entry;
            let mut cell = write(&entry.cell);
            let old = match (cell.likeness(id), &cell.row) {
                (Likeness::Other, _) => continue,
                (Likeness::Same, Some(row)) if is_alive(row, now.tick_ns) => row,
                _ => return Ok(Attempt::InTheWay(Arc::clone(entry))),
            };
            is_there = true;
            match decide(Some(old), now)? {
                Change::Keep => {}
                Change::Put(new) | Change::PutUnannounced(new) => self.replace(shard, entry, &mut cell, new),
                Change::Remove => removed = Some((Arc::clone(entry), self.take(shard, &mut cell, entry))),
            }
            break;
        }
        drop(rows);
        if let Some((entry, _row)) = removed {
            shard.unhook(hash, &entry);
        }
        if is_there {
            return Ok(Attempt::Done);
        }
        Ok(match decide(None, now)? {
            Change::Put(row) | Change::PutUnannounced(row) => Attempt::Insert(row),
            Change::Keep | Change::Remove => Attempt::Done,
        })
    }

    /// Puts a row in the place of the one that is there.
    fn replace(&self, shard: &Shard<R>, entry: &Arc<Entry<R>>, cell: &mut Cell<R>, new: R) {
        if let Some(old) = &cell.row {
            self.index.replaced(entry, old, &new);
            shard.gauges.replace(old, &new);
            match (old.takes_slot(), new.takes_slot()) {
                (true, false) => {
                    self.slots.fetch_sub(1, Ordering::SeqCst);
                }
                (false, true) => {
                    self.slots.fetch_add(1, Ordering::SeqCst);
                }
                _ => {}
            }
        }
        let deadline = new.expires_at().unwrap_or(NEVER);
        cell.row = Some(new);
        if deadline < cell.scheduled {
            shard.schedule(cell, entry, deadline);
        }
    }

    /// Takes the row out of its cell and out of every index but the hash table. The cell's lock is held.
    fn take(&self, shard: &Shard<R>, cell: &mut Cell<R>, entry: &Arc<Entry<R>>) -> Option<R> {
        let row = cell.row.take()?;
        self.index.removed(entry, &row);
        shard.gauges.add(&row, -1);
        if row.takes_slot() {
            self.slots.fetch_sub(1, Ordering::SeqCst);
        }
        shard.schedule(cell, entry, NEVER);
        Some(row)
    }

    /// Stores a new row, which takes a slot under `limit` if it is one that does.
    fn insert(
        &self,
        shard: &Shard<R>,
        hash: u64,
        row: R,
        limit: Option<u64>,
    ) -> std::result::Result<(), NotInserted<R>> {
        let mut rows = write(&shard.rows);
        let is_other = |slot: &Slot<R>| matches!(read(&slot.entry.cell).likeness(row.id()), Likeness::Other);
        if !alike(&rows, hash).all(is_other) {
            return Err(NotInserted::Taken);
        }
        // Only now: a row that is refused for its id must not keep another out for a moment.
        if row.takes_slot() && !self.take_slot(limit) {
            return Err(NotInserted::Full(row));
        }
        let entry = Arc::new(Entry {
            sequence: self.sequence.fetch_add(1, Ordering::Relaxed) + 1,
            key: row.key(),
            cell: RwLock::new(Cell { row: None, scheduled: NEVER }),
        });
        let mut cell = write(&entry.cell);
        self.index.inserted(&entry, &row);
        shard.gauges.add(&row, 1);
        if let Some(deadline) = row.expires_at() {
            shard.schedule(&mut cell, &entry, deadline);
        }
        cell.row = Some(row);
        drop(cell);
        rows.insert_unique(hash, Slot { hash, entry }, |slot| slot.hash);
        Ok(())
    }

    fn take_slot(&self, limit: Option<u64>) -> bool {
        let limit = limit.unwrap_or(u64::MAX);
        let free = |slots: u64| (slots < limit).then(|| slots + 1);
        self.slots.fetch_update(Ordering::SeqCst, Ordering::SeqCst, free).is_ok()
    }

    /// [`Self::insert`] for which expired rows give way, as many as it takes. False when the id is taken.
    fn insert_making_room(&self, shard: &Shard<R>, hash: u64, row: R, limit: Option<u64>) -> Result<bool> {
        let mut row = row;
        let mut nothing_expired = false;
        loop {
            row = match self.insert(shard, hash, row, limit) {
                Ok(()) => return Ok(true),
                Err(NotInserted::Taken) => return Ok(false),
                Err(NotInserted::Full(_)) if nothing_expired => {
                    return Err(Error::new(
                        Reason::CapacityExhausted,
                        "the limit of retained records is reached",
                    )
                    .with_limit(limit.unwrap_or(u64::MAX)));
                }
                Err(NotInserted::Full(row)) => row,
            };
            // Once more after a sweep that found nothing: others may have removed what had expired.
            nothing_expired = self.sweep_all(1) == 0;
        }
    }

    pub(super) fn sweep_all(&self, most: usize) -> usize {
        let tick_ns = self.tick_ns();
        let mut removed = 0;
        for shard in &self.shards {
            if removed == most {
                break;
            }
            removed += self.sweep_shard(shard, tick_ns, most - removed);
        }
        removed
    }

    /// Removes up to `most` expired rows of one shard. Rows whose deadline moved on since they were scheduled
    /// are passed over, however many these are.
    fn sweep_shard(&self, shard: &Shard<R>, tick_ns: i64, most: usize) -> usize {
        let mut removed = 0;
        while removed < most {
            let Some(entry) = shard.first_due(tick_ns) else { break };
            if self.retire_due(shard, &entry, tick_ns) {
                removed += 1;
            }
        }
        removed
    }

    /// What one call does beside its own work: looks at a few rows of one shard that are due, and removes those
    /// that expired. Rows whose deadline moved on count as well, or one call could have to reschedule them all.
    fn sweep_a_few(&self, shard: &Shard<R>, tick_ns: i64) {
        for _ in 0..SWEEP_PER_CALL {
            let Some(entry) = shard.first_due(tick_ns) else { break };
            self.retire_due(shard, &entry, tick_ns);
        }
    }

    /// [`Self::retire`] for an entry that came out of the expiry index, where only rows are that were not taken.
    fn retire_due(&self, shard: &Shard<R>, entry: &Arc<Entry<R>>, tick_ns: i64) -> bool {
        let hash = read(&entry.cell).row.as_ref().map(|row| self.hash(row.id()));
        // Without a row it was taken just now, by someone who also unhooks it.
        hash.is_some_and(|hash| self.retire(shard, hash, entry, tick_ns))
    }

    /// Removes the row of `entry` if it expired; moves it to its deadline in the expiry index if it did not.
    fn retire(&self, shard: &Shard<R>, hash: u64, entry: &Arc<Entry<R>>, tick_ns: i64) -> bool {
        let mut cell = write(&entry.cell);
        let Some(row) = &cell.row else {
            drop(cell);
            // Whoever took the row is about to unhook the entry, unless this comes first.
            shard.unhook(hash, entry);
            return false;
        };
        if is_alive(row, tick_ns) {
            let deadline = row.expires_at().unwrap_or(NEVER);
            shard.schedule(&mut cell, entry, deadline);
            return false;
        }
        let expired = self.take(shard, &mut cell, entry);
        drop(cell);
        shard.unhook(hash, entry);
        if let Some(row) = expired {
            self.tell_listeners(&row);
        }
        true
    }

    fn tell_listeners(&self, row: &R) {
        if self.has_listeners.load(Ordering::Relaxed) {
            let listeners = read(&self.listeners).clone();
            for listener in listeners.iter().filter_map(Weak::upgrade) {
                listener.expired(row);
            }
        }
    }

    /// A row that was looked up has expired: removes it.
    #[cold]
    fn retire_by_id(&self, shard: &Shard<R>, hash: u64, id: &str, tick_ns: i64) {
        let is_same = |slot: &&Slot<R>| matches!(read(&slot.entry.cell).likeness(id), Likeness::Same);
        let entry = alike(&read(&shard.rows), hash).find(is_same).map(|slot| Arc::clone(&slot.entry));
        if let Some(entry) = entry {
            self.retire(shard, hash, &entry, tick_ns);
        }
    }
}

impl<R: Indexed> Table<R> for MemoryTable<R> {
    fn read(&self, id: &str, visit: &mut dyn FnMut(&R)) -> Result<bool> {
        let hash = self.hash(id);
        let shard = self.shard(hash);
        let recent_tick_ns = self.clock.recent_tick_ns();
        let (mut found, mut expired) = (false, false);
        for slot in alike(&read(&shard.rows), hash) {
            let cell = read(&slot.entry.cell);
            let Some(row) = cell.row.as_ref().filter(|row| row.id() == id) else { continue };
            // The schedule is never later than the row's deadline.
            if self.clock.is_before(cell.scheduled, recent_tick_ns) || is_alive(row, self.tick_ns()) {
                found = true;
                visit(row);
            } else {
                expired = true;
            }
            break;
        }
        if expired {
            self.retire_by_id(shard, hash, id, self.tick_ns());
        }
        self.sweep_a_few(shard, recent_tick_ns);
        Ok(found)
    }

    fn transact(&self, id: &str, limit: Option<u64>, decide: &mut Decide<'_, R>) -> Result<()> {
        let hash = self.hash(id);
        let shard = self.shard(hash);
        loop {
            let now = self.clock.now();
            match self.attempt(shard, hash, id, now, decide)? {
                Attempt::Done => {
                    self.sweep_a_few(shard, now.tick_ns);
                    return Ok(());
                }
                Attempt::InTheWay(entry) => {
                    self.retire(shard, hash, &entry, now.tick_ns);
                }
                Attempt::Insert(row) => {
                    if self.insert_making_room(shard, hash, row, limit)? {
                        // Insertions walk over all shards, so that rows expire even where nobody looks.
                        let next = self.sweep_next.fetch_add(1, Ordering::Relaxed) % SHARDS;
                        self.sweep_a_few(&self.shards[next], now.tick_ns);
                        self.sweep_a_few(shard, now.tick_ns);
                        return Ok(());
                    }
                }
            }
        }
    }

    fn now(&self) -> Result<Now> {
        Ok(self.clock.now())
    }

    fn sweep(&self, most: usize) -> Result<usize> {
        Ok(self.sweep_all(most))
    }

    fn watch_expiry(&self, listener: Weak<dyn ExpiryListener<R>>) {
        add_listener(&mut write(&self.listeners), listener);
        self.has_listeners.store(true, Ordering::Relaxed);
    }

    fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }
}
