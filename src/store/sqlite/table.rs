//! The rows of one kind under one name. The read, the atomic read-transition-write, the limit and the expiry
//! are written here once for every kind of row.

#![forbid(unsafe_code)]

use std::sync::{Arc, Weak};

use rusqlite::{Connection, Row as Columns};

use super::super::{
    Change, Claim, Decide, ExpiryListener, Limits, Table, WorkCounters, add_listener, corrupt_row,
};
use super::changes::{self, FileNotifier};
use super::columns::Statements;
use super::failure::Failure;
use super::queue_watch::QueueWatch;
use super::row::{
    HEAD_COLUMNS, Head, Place, Reader, SqlRow, Unreadable, WRITE_CONTEXT_COLUMNS, WriteContext, read_row,
    signed,
};
use super::writer::Transaction;
use super::{OpenStore, Shared};
use crate::claimers::Claimers;
use crate::clock::Now;
use crate::error::{Error, Reason, Result};
use crate::events::{EventKind, Hub};
use crate::sync::RwLock;
use crate::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// Expired rows that one write removes beside its own work.
const SWEEP_PER_WRITE: usize = 4;
/// Expired rows that are removed in one go to make room.
const SWEEP_TO_MAKE_ROOM: usize = 64;
/// How long a look at the next deadline is good for: other processes may have stored an earlier one.
const SWEEP_INTERVAL_MS: i64 = 1000;

/// The rows of one kind under one name.
pub(super) struct SqlTable<R: SqlRow> {
    pub(super) shared: Arc<OpenStore>,
    /// The name's number.
    pub(super) name: i64,
    pub(super) statements: Statements,
    hub: Arc<Hub>,
    _notifier: Arc<FileNotifier>,
    /// Not before then is there something to sweep, as far as is known: milliseconds since 1970.
    sweep_at_ms: AtomicI64,
    /// Who waits for tasks, and what became of them here; of tables of tasks only.
    pub(super) claimers: Arc<Claimers>,
    pub(super) queue_watch: Arc<QueueWatch>,
    pub(super) counters: WorkCounters,
    /// When to look for lapses next: milliseconds since 1970.
    pub(super) look_for_lapses_at_ms: AtomicI64,
    has_listeners: AtomicBool,
    listeners: RwLock<Vec<Weak<dyn ExpiryListener<R>>>>,
}

/// A row that was found.
pub(super) struct Stored<R> {
    pub(super) head: Head,
    pub(super) row: std::result::Result<R, Unreadable>,
}

impl<R: SqlRow> Stored<R> {
    /// Reads the columns from `at` on; `None` when there is no row.
    pub(super) fn read(
        columns: &Columns<'_>,
        at: usize,
        shared: &Shared,
        now: Now,
    ) -> rusqlite::Result<Option<Self>> {
        let Some(head) = Head::read(columns, at)? else { return Ok(None) };
        let row = read_row::<R>(Reader::new(columns, at + HEAD_COLUMNS), shared.ticks, now.tick_ns)?;
        Ok(Some(Self { head, row }))
    }

    /// Corrects it by what this process knows and the file does not say yet, which is the same for as long as the
    /// transaction keeps other writers out.
    pub(super) fn correct(&mut self, shared: &Shared, connection: &Connection) -> rusqlite::Result<()> {
        let ended = shared.pins.ended();
        self.row.as_mut().map_or(Ok(()), |row| row.correct(self.head.sequence, &ended, connection))
    }

    /// Whether it is gone. The row knows best; the column speaks for one that cannot be read.
    pub(super) fn is_expired(&self, now: Now, now_ms: i64) -> bool {
        match &self.row {
            Ok(row) => row.expires_at().is_some_and(|deadline| deadline <= now.tick_ns),
            Err(Unreadable) => self.head.expires_at_ms.is_some_and(|deadline| deadline <= now_ms),
        }
    }
}

/// Takes slots, or gives them back. Within a limit, if one is given.
const CHANGE_SLOTS: &str =
    "UPDATE names SET slots = slots + ?2 WHERE number = ?1 AND (?3 IS NULL OR slots < ?3)";
const COUNT_FROM_NOW_ON: &str = "UPDATE names SET counted = 1, slots = ?2 WHERE number = ?1";
/// The number of a row that goes is not given again, so that a listing never meets another in its place.
const KEEP_SEQUENCE: &str =
    "UPDATE names SET last_sequence = max(last_sequence, ?2), slots = slots - ?3 WHERE number = ?1";

impl<R: SqlRow> SqlTable<R> {
    pub(super) fn new(shared: Arc<OpenStore>, name: i64) -> Arc<Self> {
        let statements = Statements::of::<R>();
        let notifier = Arc::new(FileNotifier::new(&shared, name));
        let hub = Arc::new(Hub::shared(Arc::downgrade(&notifier) as _));
        shared.changes.watch(name, &statements.version, &hub);
        shared.clock.watch(Arc::downgrade(&hub) as _);
        let claimers: Arc<Claimers> = Arc::default();
        shared.clock.watch(Arc::downgrade(&claimers) as _);
        let queue_watch = QueueWatch::new(&shared, name, &claimers);
        Arc::new(Self {
            shared,
            name,
            statements,
            hub,
            _notifier: notifier,
            sweep_at_ms: AtomicI64::new(i64::MIN),
            claimers,
            queue_watch,
            counters: WorkCounters::default(),
            look_for_lapses_at_ms: AtomicI64::new(i64::MIN),
            has_listeners: AtomicBool::new(false),
            listeners: RwLock::default(),
        })
    }

    /// What `decide` makes of the row, in an open transaction. Rows that expired and were removed on the way
    /// go to `expired`.
    pub(super) fn step(
        &self,
        transaction: &Transaction<'_>,
        claim: Option<Claim<'_>>,
        id: &str,
        limits: Limits,
        decide: &mut Decide<'_, R>,
        expired: &mut Vec<R>,
    ) -> std::result::Result<(), Failure> {
        let now = self.shared.now();
        let read = |columns: &Columns<'_>| {
            Ok((
                WriteContext::read(columns)?,
                Stored::<R>::read(columns, WRITE_CONTEXT_COLUMNS, &self.shared, now)?,
            ))
        };
        let (time_ms, store) = (system_ms(), transaction.store());
        let found = if let Some(Claim { endpoint, partition }) = claim {
            let values = (self.name, time_ms, id, store, endpoint, partition);
            transaction.query(&self.statements.select_to_write_claimed, values, read)?
        } else {
            transaction.query(&self.statements.select_to_write, (self.name, time_ms, id, store), read)?
        };
        // The name was written before the table was there to be asked.
        let (context, mut stored) = found.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        if let Some(stored) = &mut stored {
            stored.correct(&self.shared, transaction.connection())?;
        }
        let (alive, gone) = match stored {
            Some(stored) if stored.is_expired(now, now.wall_ms) => (None, Some(stored)),
            Some(Stored { row: Err(Unreadable), .. }) => {
                let is_anothers = match claim {
                    Some(Claim { endpoint, partition }) => {
                        let values = (self.name, time_ms, id, store, endpoint, partition);
                        transaction.query(&self.statements.is_claimed, values, |_| Ok(()))?.is_none()
                    }
                    None => false,
                };
                if is_anothers {
                    // To all others it is not there, but its id is taken.
                    return match decide(None, now).map_err(Failure::Refused)? {
                        Change::Keep | Change::Remove => Ok(()),
                        _ => Err(Failure::Refused(Error::new(
                            Reason::TaskNotFound,
                            "there is no such task for this owner",
                        ))),
                    };
                }
                return Err(Failure::Refused(corrupt_row()));
            }
            Some(Stored { head, row: Ok(row) }) => (Some((head, row)), None),
            None => (None, None),
        };
        let change = decide(alive.as_ref().map(|(_, row)| row), now).map_err(Failure::Refused)?;
        let is_replicated = matches!(change, Change::PutReplicated(_));
        let is_heard = context.is_heard && !matches!(change, Change::PutUnannounced(_));
        match (change, alive) {
            (Change::Keep, _) | (Change::Remove, None) => return Ok(()),
            (
                Change::Put(new) | Change::PutReplicated(new) | Change::PutUnannounced(new),
                Some((head, old)),
            ) => {
                let place = Place { name: self.name, sequence: head.sequence };
                new.update(&old, &self.statements, transaction, place, self.shared.ticks)?;
                let slots = i64::from(new.takes_slot()) - i64::from(head.takes_slot);
                if context.is_counted && slots != 0 {
                    transaction.execute(CHANGE_SLOTS, (self.name, slots, None::<i64>))?;
                }
                self.expect_deadline(&new);
                R::stored(self, &new);
                if is_heard {
                    self.note_events(transaction, R::events(Some(&old), &new, is_replicated), id)?;
                }
            }
            (Change::Put(new) | Change::PutReplicated(new) | Change::PutUnannounced(new), None) => {
                if let Some(gone) = gone {
                    self.remove_expired(transaction, gone, expired)?;
                }
                if new.takes_slot() {
                    self.take_slot(transaction, &new, limits, context.is_counted, now, expired)?;
                }
                let place = Place { name: self.name, sequence: context.last_sequence + 1 };
                new.insert(&self.statements, transaction, place, self.shared.ticks)?;
                self.expect_deadline(&new);
                R::stored(self, &new);
                if is_heard {
                    self.note_events(transaction, R::events(None, &new, is_replicated), new.id())?;
                }
            }
            (Change::Remove, Some((head, _))) => {
                self.delete(transaction, head)?;
            }
        }
        if self.is_sweep_due(now) {
            self.sweep_in(transaction, now, SWEEP_PER_WRITE, expired)?;
        }
        Ok(())
    }

    /// Writes down what event queues in other processes are to hear.
    fn note_events(
        &self,
        transaction: &Transaction<'_>,
        events: &[EventKind],
        id: &str,
    ) -> rusqlite::Result<()> {
        events.iter().try_for_each(|&event| changes::note_event(transaction, self.name, event, id))
    }

    /// Takes a slot for `row` within `limits`. Expired rows give way, as many as it takes. Without a limit nothing is
    /// counted, until the first one comes.
    fn take_slot(
        &self,
        transaction: &Transaction<'_>,
        row: &R,
        limits: Limits,
        is_counted: bool,
        now: Now,
        expired: &mut Vec<R>,
    ) -> std::result::Result<(), Failure> {
        let mut make_room = || -> rusqlite::Result<bool> {
            let settled = R::settle(self, transaction, now, SWEEP_TO_MAKE_ROOM)?;
            Ok(self.sweep_in(transaction, now, SWEEP_TO_MAKE_ROOM, expired)? + settled > 0)
        };
        if let Some(limit) = limits.per_partition {
            let partition = row.partition();
            let values = (self.name, partition.as_deref(), signed(limit));
            let count = &self.statements.count_in_partition;
            while transaction.query(count, values, |row| row.get::<_, i64>(0))? >= Some(signed(limit)) {
                if !make_room()? {
                    return Err(Failure::Refused(limits.partition_reached()));
                }
            }
        }
        if !is_counted {
            if limits.total.is_none() {
                return Ok(());
            }
            let slots: Option<i64> =
                transaction.query(&self.statements.count_slots, (self.name,), |row| row.get(0))?;
            transaction.execute(COUNT_FROM_NOW_ON, (self.name, slots.unwrap_or(0)))?;
        }
        while transaction.execute(CHANGE_SLOTS, (self.name, 1, limits.total.map(signed)))? == 0 {
            if !make_room()? {
                return Err(Failure::Refused(limits.total_reached()));
            }
        }
        Ok(())
    }

    /// Deletes a row, and gives its slots back.
    pub(super) fn delete(&self, transaction: &Transaction<'_>, head: Head) -> rusqlite::Result<()> {
        transaction.execute(&self.statements.delete, (head.sequence,))?;
        R::deleted(transaction, Place { name: self.name, sequence: head.sequence })?;
        let values = (self.name, head.sequence, i64::from(head.takes_slot));
        transaction.execute(KEEP_SEQUENCE, values).map(|_| ())
    }

    /// Deletes a row that has expired and adds it to `expired`.
    fn remove_expired(
        &self,
        transaction: &Transaction<'_>,
        stored: Stored<R>,
        expired: &mut Vec<R>,
    ) -> rusqlite::Result<()> {
        if let Ok(row) = &stored.row {
            row.expiring(transaction, stored.head.sequence)?;
        }
        self.delete(transaction, stored.head)?;
        expired.extend(stored.row);
        Ok(())
    }

    /// Removes up to `most` expired rows and says how many.
    fn sweep_in(
        &self,
        transaction: &Transaction<'_>,
        now: Now,
        most: usize,
        expired: &mut Vec<R>,
    ) -> rusqlite::Result<usize> {
        let at_most = i64::try_from(most).unwrap_or(i64::MAX);
        R::settle(self, transaction, now, most)?;
        let values = (self.name, system_ms(), now.wall_ms, at_most);
        let gone = transaction.query_all(&self.statements.select_expired, values, |columns| {
            Stored::<R>::read(columns, 0, &self.shared, now)
        })?;
        let found = gone.len();
        let mut removed = 0;
        for stored in gone.into_iter().flatten() {
            // A pin of this very moment may keep a row whose column is older.
            if stored.is_expired(now, now.wall_ms) {
                self.remove_expired(transaction, stored, expired)?;
                removed += 1;
            }
        }
        let next = if found == most { now.wall_ms } else { now.wall_ms.saturating_add(SWEEP_INTERVAL_MS) };
        self.sweep_at_ms.store(next, Ordering::Relaxed);
        Ok(removed)
    }

    /// Removes up to `most` expired rows in a transaction of its own.
    fn sweep_batch(&self, most: usize) -> Result<usize> {
        let mut expired = Vec::new();
        let removed = self.shared.write(|transaction| {
            Ok(self.sweep_in(transaction, self.shared.now(), most, &mut expired)?)
        })??;
        self.tell_expired(&expired);
        Ok(removed)
    }

    /// Removes a few expired rows, unless somebody else writes just now.
    fn sweep_if_free(&self) {
        let mut expired = Vec::new();
        let swept = self.shared.try_write(|transaction| {
            Ok(self.sweep_in(transaction, self.shared.now(), SWEEP_PER_WRITE, &mut expired)?)
        });
        if matches!(swept, Some(Ok(Ok(_)))) {
            self.tell_expired(&expired);
        }
    }

    /// Shows the row, with its texts if the claim is good or none is needed.
    fn find(&self, claim: Option<Claim<'_>>, id: &str, visit: &mut dyn FnMut(&R)) -> Result<bool> {
        let now = self.shared.now();
        let time_ms = self.shared.system_ms(now);
        let statements = &self.statements;
        let found = self.shared.read(|connection| {
            // Before the file is read: what is removed from it meanwhile is forgotten here.
            let ended = self.shared.pins.ended();
            let mut statement = connection.prepare_cached(if claim.is_some() {
                &statements.select_claimed
            } else {
                &statements.select
            })?;
            let mut rows = if let Some(Claim { endpoint, partition }) = claim {
                statement.query((self.name, time_ms, id, 0, endpoint, partition))?
            } else {
                statement.query((self.name, time_ms, id))?
            };
            let Some(columns) = rows.next()? else { return Ok(None) };
            let mut row = read_row::<R>(Reader::new(columns, HEAD_COLUMNS), self.shared.ticks, now.tick_ns)?;
            if let Ok(row) = &mut row {
                row.correct(columns.get(0)?, &ended, connection)?;
            }
            // The head is read only for a row that cannot tell by itself.
            let is_expired = if let Ok(row) = &row {
                row.expires_at().is_some_and(|deadline| deadline <= now.tick_ns)
            } else {
                let head = Head::read(columns, 0)?;
                head.and_then(|head| head.expires_at_ms).is_some_and(|deadline| deadline <= now.wall_ms)
            };
            if row.is_err()
                && let Some(Claim { endpoint, partition }) = claim
                && !connection
                    .prepare_cached(&statements.is_claimed)?
                    .exists((self.name, time_ms, id, 0, endpoint, partition))?
            {
                // Nobody else is told that it is there.
                return Ok(None);
            }
            Ok(Some((row, is_expired)))
        })?;
        let Some((row, is_expired)) = found else { return Ok(false) };
        if is_expired {
            // Whoever finds an expired row removes it, but a read waits for no writer.
            self.sweep_if_free();
            return Ok(false);
        }
        visit(&row.map_err(|Unreadable| corrupt_row())?);
        Ok(true)
    }

    fn change(
        &self,
        claim: Option<Claim<'_>>,
        id: &str,
        limits: Limits,
        decide: &mut Decide<'_, R>,
    ) -> Result<()> {
        let mut expired = Vec::new();
        let decided = self
            .shared
            .write(|transaction| self.step(transaction, claim, id, limits, decide, &mut expired))?;
        self.tell_expired(&expired);
        decided
    }

    fn is_sweep_due(&self, now: Now) -> bool {
        let at = self.sweep_at_ms.load(Ordering::Relaxed);
        // After a step back of the clock the time stored lies too far ahead.
        now.wall_ms >= at || at.saturating_sub(now.wall_ms) > SWEEP_INTERVAL_MS
    }

    fn expect_deadline(&self, row: &R) {
        if let Some(deadline) = row.expires_at() {
            self.sweep_at_ms.fetch_min(self.shared.ticks.deadline_ms(deadline), Ordering::Relaxed);
        }
    }

    pub(super) fn tell_expired(&self, rows: &[R]) {
        for row in rows {
            R::expired(self, row);
        }
        if rows.is_empty() || !self.has_listeners.load(Ordering::Relaxed) {
            return;
        }
        let listeners = self.listeners.read().clone();
        for listener in listeners.iter().filter_map(Weak::upgrade) {
            for row in rows {
                listener.expired(row);
            }
        }
    }
}

/// Leases between processes run by the system's time, whatever clock the store has.
pub(super) use crate::clock::system_ms;

impl<R: SqlRow> Table<R> for SqlTable<R> {
    fn read(&self, id: &str, visit: &mut dyn FnMut(&R)) -> Result<bool> {
        self.find(None, id, visit)
    }

    fn read_claimed(&self, claim: Claim<'_>, id: &str, visit: &mut dyn FnMut(&R)) -> Result<bool> {
        self.find(Some(claim), id, visit)
    }

    fn transact_within(&self, id: &str, limits: Limits, decide: &mut Decide<'_, R>) -> Result<()> {
        self.change(None, id, limits, decide)
    }

    fn transact_unless_busy(&self, id: &str, decide: &mut Decide<'_, R>) -> Result<bool> {
        let mut expired = Vec::new();
        let limits = Limits::default();
        let decided = self
            .shared
            .try_write(|transaction| self.step(transaction, None, id, limits, decide, &mut expired));
        self.tell_expired(&expired);
        decided.map_or(Ok(false), |decided| decided?.map(|()| true))
    }

    fn transact_claimed(
        &self,
        claim: Claim<'_>,
        id: &str,
        limit: Option<u64>,
        decide: &mut Decide<'_, R>,
    ) -> Result<()> {
        self.change(Some(claim), id, Limits { total: limit, per_partition: None }, decide)
    }

    fn count_partitions(&self) -> Result<()> {
        let is_there = "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?1";
        let index = format!("{}_partition", R::TABLE);
        // Tables without such a limit do without the index and its cost.
        if self.shared.read(|connection| connection.prepare_cached(is_there)?.exists((&index,)))? {
            return Ok(());
        }
        self.shared.write(|transaction| {
            transaction.execute(&self.statements.index_partitions, ())?;
            Ok(())
        })?
    }

    fn now(&self) -> Result<Now> {
        Ok(self.shared.now())
    }

    fn ids(&self, after: Option<&str>, limit: usize) -> Result<Vec<Arc<str>>> {
        // No id is empty.
        let (after, limit) = (after.unwrap_or_default(), i64::try_from(limit).unwrap_or(i64::MAX));
        self.shared.read(|connection| {
            let mut statement = connection.prepare_cached(&self.statements.ids)?;
            statement.query_map((self.name, after, limit), |row| row.get(0))?.collect()
        })
    }

    fn sweep(&self, most: usize) -> Result<usize> {
        let mut total = 0;
        while total < most {
            let removed = self.sweep_batch((most - total).min(SWEEP_TO_MAKE_ROOM))?;
            total += removed;
            if removed == 0 {
                break;
            }
        }
        Ok(total)
    }

    fn watch_expiry(&self, listener: Weak<dyn ExpiryListener<R>>) {
        add_listener(&mut self.listeners.write(), listener);
        self.has_listeners.store(true, Ordering::Relaxed);
    }

    fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }
}
