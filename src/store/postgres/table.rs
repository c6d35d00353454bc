//! The rows of one kind under one name. A transition reads the row with the server's time, decides, and writes on
//! condition that the row is still the one that was read: no lock is held while it decides, so that a process that
//! stands still stops nobody. The read, the write, the limit and the expiry are written here once for every kind.

#![forbid(unsafe_code)]

use std::sync::{Arc, Weak};
use std::time::Instant;

use super::super::{
    Change, Claim, Decide, ExpiryListener, Limits, Table, WorkCounters, add_listener, corrupt_row,
};
use super::changes::{self, Change as Told, DatabaseNotifier, LISTENED_WITHIN};
use super::columns::Statements;
use super::connection::Answer;
use super::fault::{Failure, Fault, UNIQUE_VIOLATION};
use super::pins::Ended;
use super::queue_watch::QueueWatch;
use super::row::{NewRow, PgRow, Stored, Unreadable, Write, signed};
use super::transaction::{Transaction, Tries};
use super::values::{Row as Columns, Values, values};
use super::{OpenStore, Shared, digest};
use crate::claimers::Claimers;
use crate::clock::Now;
use crate::error::{Error, Reason, Result};
use crate::events::{EventKind, Hub};
use crate::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use crate::sync::{Mutex, RwLock};

/// Expired rows that one write removes beside its own work.
const SWEEP_PER_WRITE: usize = 4;
/// Expired rows that are removed in one go to make room.
const SWEEP_TO_MAKE_ROOM: usize = 64;
/// How long a look at the next deadline is good for: other processes may have stored an earlier one.
const SWEEP_INTERVAL_MS: i64 = 1000;

/// Two callers with this lock at once do not exclude each other, but exclude who has it alone.
const SHARE_LIMIT: &str = "SELECT pg_advisory_xact_lock_shared($1)";
const LOCK_LIMIT: &str = "SELECT pg_advisory_xact_lock($1)";

/// The rows of one kind under one name.
pub(super) struct PgTable<R: PgRow> {
    pub(super) shared: Arc<OpenStore>,
    /// The name's number.
    pub(super) name: i64,
    pub(super) statements: Statements,
    hub: Arc<Hub>,
    _notifier: Arc<DatabaseNotifier>,
    /// Not before then is there something to sweep, as far as is known: milliseconds since 1970.
    sweep_at_ms: AtomicI64,
    /// How many transactions may be under way that take a slot, once slots are counted.
    counted_with: Mutex<Option<i64>>,
    /// Who waits for tasks, and what became of them here; of tables of tasks only.
    pub(super) claimers: Arc<Claimers>,
    pub(super) queue_watch: Arc<QueueWatch>,
    pub(super) counters: WorkCounters,
    /// When to look for lapses next: milliseconds since 1970.
    pub(super) look_for_lapses_at_ms: AtomicI64,
    has_listeners: AtomicBool,
    listeners: RwLock<Vec<Weak<dyn ExpiryListener<R>>>>,
}

/// What was read before a write.
pub(super) struct Found<R> {
    pub(super) now: Now,
    pub(super) heard: Heard,
    pub(super) stored: Option<Stored<R>>,
}

/// Who listened, and when that was known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub(super) kinds: i64,
    pub(super) at: Instant,
}

/// What came of an insert.
enum Inserted {
    /// When the row was created, where the server dates it, and who listens.
    Done(Option<i64>, i64),
    /// The id, or the operation, is another row's.
    Taken,
    /// A limit is reached.
    Full(Error),
}

impl Inserted {
    fn of(answer: &Answer) -> Self {
        answer.rows.first().map_or(Self::Taken, |row| Self::Done(row.optional_integer(0), row.integer(1)))
    }
}

/// How many rows a statement changed: it counts them itself when it changes several tables.
pub(super) fn changed(answer: &Answer) -> i64 {
    match answer.rows.first() {
        Some(row) => row.integer(0),
        None => signed(answer.affected),
    }
}

impl<R: PgRow> PgTable<R> {
    pub(super) fn new(shared: Arc<OpenStore>, name: i64) -> Arc<Self> {
        let statements = Statements::of::<R>();
        let notifier = Arc::new(DatabaseNotifier::new(&shared, name));
        let hub = Arc::new(Hub::shared(Arc::downgrade(&notifier) as _));
        shared.changes.watch(name, &statements.versions, &hub);
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
            counted_with: Mutex::default(),
            claimers,
            queue_watch,
            counters: WorkCounters::default(),
            look_for_lapses_at_ms: AtomicI64::new(i64::MIN),
            has_listeners: AtomicBool::new(false),
            listeners: RwLock::default(),
        })
    }

    /// The parameters of statements that show the row `id`, to a caller with a claim or to any.
    fn shown(&self, claim: Option<Claim<'_>>, id: &str) -> Values {
        let (name, now_ms) = (self.name, self.shared.manual_ms());
        let Some(Claim { endpoint, partition }) = claim else { return values![name, now_ms, id] };
        values![name, now_ms, id, self.shared.number, endpoint, partition]
    }

    fn is_claimed(&self, claim: Claim<'_>, id: &str) -> Result<bool> {
        Ok(!self.shared.read(&self.statements.is_claimed, &self.shown(Some(claim), id))?.is_empty())
    }

    pub(super) fn stored(
        &self,
        columns: &Columns,
        at: usize,
        now: Now,
        ended: &[Ended],
    ) -> Result<Option<Stored<R>>> {
        Stored::read(columns, at, self.shared.ticks, now, ended).map_err(Fault::into_error)
    }

    /// Reads the row `id` and all that a write must know beside it.
    fn read_to_write(&self, claim: Option<Claim<'_>>, id: &str) -> Result<Found<R>> {
        // Before the database is read: what is removed from it meanwhile is forgotten here.
        let ended = self.shared.pins.ended();
        let at = Instant::now();
        let rows = if claim.is_some() {
            self.shared.read(&self.statements.select_to_write_claimed, &self.shown(claim, id))?
        } else {
            let values = values![self.name, self.shared.manual_ms(), id, self.shared.number];
            self.shared.read(&self.statements.select_to_write, &values)?
        };
        let columns = rows.first().ok_or_else(|| Fault::Protocol.into_error())?;
        let now = self.shared.note_time(columns.integer(0));
        let heard = Heard { kinds: columns.integer(1), at };
        Ok(Found { now, heard, stored: self.stored(columns, 2, now, &ended)? })
    }

    /// What `decide` makes of the row, as often as others come in between.
    pub(super) fn change(
        &self,
        claim: Option<Claim<'_>>,
        id: &str,
        limits: Limits,
        decide: &mut Decide<'_, R>,
    ) -> Result<()> {
        let mut tries = Tries::default();
        while !self.try_change(claim, id, limits, decide)? {
            if !tries.again_after_conflict(&self.shared) {
                return Err(Failure::Again.into_error());
            }
        }
        Ok(())
    }

    /// One try. False when others came in between.
    pub(super) fn try_change(
        &self,
        claim: Option<Claim<'_>>,
        id: &str,
        limits: Limits,
        decide: &mut Decide<'_, R>,
    ) -> Result<bool> {
        let Found { now, heard, stored } = self.read_to_write(claim, id)?;
        let (alive, gone) = match stored {
            Some(stored) if stored.is_expired(now) => (None, Some(stored.head)),
            Some(Stored { row: Err(Unreadable), .. }) => {
                if claim.is_some_and(|claim| !self.is_claimed(claim, id).unwrap_or(true)) {
                    // To all others it is not there, but its id is taken.
                    return match decide(None, now)? {
                        Change::Keep | Change::Remove => Ok(true),
                        _ => Err(Error::new(Reason::TaskNotFound, "there is no such task for this owner")),
                    };
                }
                return Err(corrupt_row());
            }
            Some(Stored { head, row: Ok(row) }) => (Some((head, row)), None),
            None => (None, None),
        };
        let change = decide(alive.as_ref().map(|(_, row)| row), now)?;
        let is_replicated = matches!(change, Change::PutReplicated(_));
        let is_announced = !matches!(change, Change::PutUnannounced(_));
        match (change, alive) {
            (Change::Keep, _) | (Change::Remove, None) => return Ok(true),
            (
                Change::Put(new) | Change::PutReplicated(new) | Change::PutUnannounced(new),
                Some((head, old)),
            ) => {
                let Write { sql, values } = new.update(&old, head, self).map_err(Failure::into_error)?;
                if self.write(sql, &values)? == 0 {
                    return Ok(false);
                }
                self.expect_deadline(&new);
                R::stored(self, &new);
                let events = R::events(Some(&old), &new, is_replicated);
                self.tell(heard, if is_announced { events } else { &[] }, Some(&old), &new);
            }
            (Change::Put(new) | Change::PutReplicated(new) | Change::PutUnannounced(new), None) => {
                if let Some(head) = gone {
                    self.remove_expired(head.sequence)?;
                }
                match self.insert(&new, limits, None)? {
                    Inserted::Done(..) => {}
                    Inserted::Taken => return Ok(false),
                    Inserted::Full(error) => {
                        // Expired rows give way, as many as it takes.
                        return if self.make_room()? { Ok(false) } else { Err(error) };
                    }
                }
                self.expect_deadline(&new);
                R::stored(self, &new);
                let events = R::events(None, &new, is_replicated);
                self.tell(heard, if is_announced { events } else { &[] }, None, &new);
            }
            (Change::Remove, Some((head, _))) => {
                let values = values![head.sequence, head.version];
                if self.write(&self.statements.delete, &values)? == 0 {
                    return Ok(false);
                }
                self.tell_waiters(heard, id);
            }
        }
        if self.is_sweep_due(now) {
            // What cannot be removed now is removed by whoever comes by later.
            let _ = self.sweep_batch(SWEEP_PER_WRITE);
        }
        Ok(true)
    }

    /// Runs a statement that writes, and says how many rows it changed; none where another has what must be unique.
    fn write(&self, sql: &str, values: &Values) -> Result<i64> {
        match self.shared.write(sql, values) {
            Ok(answer) => Ok(changed(&answer)),
            Err(Failure::Storage(fault)) if fault.is(UNIQUE_VIOLATION) => Ok(0),
            Err(failure) => Err(failure.into_error()),
        }
    }

    fn new_row(&self, limit: Option<i64>, made_at_ms: Option<i64>) -> NewRow {
        NewRow { name: self.name, limit, made_at_ms, store: self.shared.number }
    }

    /// Creates a row that is most likely not there, in one way to the server and back. What `decide` makes of it is
    /// dated by what is known here of the server's time, and by the server itself where it is stored; then it is
    /// decided again with that date, for the caller.
    pub(super) fn create_new(&self, id: &str, limits: Limits, decide: &mut Decide<'_, R>) -> Result<()> {
        let at = Instant::now();
        let now = self.shared.now()?;
        let Change::Put(new) = decide(None, now)? else { return self.change(None, id, limits, decide) };
        let made_at_ms = self.shared.manual_ms().is_none().then_some(now.wall_ms);
        let Inserted::Done(created_at, kinds) = self.insert(&new, limits, made_at_ms)? else {
            // The id is taken, or the limit is reached: that is decided on what is there.
            return self.change(None, id, limits, decide);
        };
        let created_at = created_at.filter(|_| made_at_ms.is_some()).unwrap_or(now.wall_ms);
        let now = self.shared.note_time(created_at);
        let Change::Put(new) = decide(None, now)? else { return Err(Fault::Protocol.into_error()) };
        self.expect_deadline(&new);
        R::stored(self, &new);
        self.tell(Heard { kinds, at }, R::events(None, &new, false), None, &new);
        if self.is_sweep_due(now) {
            let _ = self.sweep_batch(SWEEP_PER_WRITE);
        }
        Ok(())
    }

    /// Inserts a row within `limits`.
    fn insert(&self, new: &R, limits: Limits, made_at_ms: Option<i64>) -> Result<Inserted> {
        let ticks = self.shared.ticks;
        let is_limited = limits.total.is_some() || limits.per_partition.is_some();
        if !is_limited || !new.takes_slot() {
            let Write { sql, values } = new.insert(&self.statements, &self.new_row(None, made_at_ms), ticks);
            return match self.shared.write(sql, &values) {
                Ok(answer) => Ok(Inserted::of(&answer)),
                Err(Failure::Storage(fault)) if fault.is(UNIQUE_VIOLATION) => Ok(Inserted::Taken),
                Err(failure) => Err(failure.into_error()),
            };
        }
        let most_under_way = if limits.total.is_some() { self.count_from_now_on()? } else { 0 };
        // As long as all transactions under way together cannot reach the limit, they need not wait for each other.
        let far_limit =
            limits.total.map(|total| signed(total).saturating_sub(most_under_way)).filter(|far| *far > 0);
        if let Some(far_limit) = far_limit
            && let done @ (Inserted::Done(..) | Inserted::Full(_)) =
                self.insert_within(new, limits, Some(far_limit), made_at_ms)?
        {
            return Ok(done);
        }
        self.insert_within(new, limits, None, made_at_ms)
    }

    /// The same in one transaction that holds the locks of the limits: that of the total shared while `far_limit` is
    /// not reached, and alone to count exactly.
    fn insert_within(
        &self,
        new: &R,
        limits: Limits,
        far_limit: Option<i64>,
        made_at_ms: Option<i64>,
    ) -> Result<Inserted> {
        let ticks = self.shared.ticks;
        let total_key = self.total_key();
        let partition = new.partition();
        let done = self.shared.transaction(|transaction| {
            if let Some(limit) = limits.per_partition {
                let key = self.partition_key(partition.as_deref());
                transaction.defer(LOCK_LIMIT, values![key]);
                let mut values = values![self.name, self.shared.manual_ms()];
                let [named, anonymous] = &self.statements.count_in_partition;
                let sql = if let Some(partition) = partition.as_deref() {
                    values.push(partition.into());
                    named
                } else {
                    anonymous
                };
                let count = transaction.query(sql, values)?.first().map_or(0, |row| row.integer(0));
                if count >= signed(limit) {
                    return self.full(transaction, new, limits.partition_reached());
                }
            }
            if let (Some(total), None) = (limits.total, far_limit) {
                transaction.defer(LOCK_LIMIT, values![total_key]);
                let rows = transaction.query(&self.statements.count_slots, values![self.name])?;
                let beyond = rows.first().map_or(0, |row| row.integer(0)).saturating_sub(signed(total)) + 1;
                if beyond > 0 {
                    // Those that have expired do not count, whether they are removed or not.
                    let values = values![self.name, self.shared.manual_ms(), beyond];
                    let expired = transaction.query(&self.statements.count_expired, values)?;
                    if expired.first().is_none_or(|row| row.integer(0) - row.integer(1) >= signed(total)) {
                        return self.full(transaction, new, limits.total_reached());
                    }
                }
            } else if limits.total.is_some() {
                transaction.defer(SHARE_LIMIT, values![total_key]);
            }
            let Write { sql, values } =
                new.insert(&self.statements, &self.new_row(far_limit, made_at_ms), ticks);
            match transaction.finish(sql, values) {
                Ok(answer) => Ok(Inserted::of(&answer)),
                Err(Failure::Storage(fault)) if fault.is(UNIQUE_VIOLATION) => {
                    transaction.give_up();
                    Ok(Inserted::Taken)
                }
                Err(failure) => Err(failure),
            }
        })?;
        Ok(done)
    }

    /// A limit is reached, unless another has made the very row meanwhile: that goes before.
    fn full<'t>(
        &'t self,
        transaction: &mut Transaction<'t>,
        new: &R,
        error: Error,
    ) -> std::result::Result<Inserted, Failure> {
        let operation = new.operation();
        let values = values![self.name, new.id(), operation.as_ref().map(<[u8; 32]>::as_slice)];
        let is_taken = !transaction.query(&self.statements.is_taken, values)?.is_empty();
        Ok(if is_taken { Inserted::Taken } else { Inserted::Full(error) })
    }

    /// The lock of the limit of the total.
    fn total_key(&self) -> i64 {
        self.shared.lock_key(&["total", &self.name.to_string()])
    }

    /// The lock of the limit of a partition.
    fn partition_key(&self, partition: Option<&str>) -> i64 {
        let name = self.name.to_string();
        match partition {
            None => self.shared.lock_key(&["anonymous", &name]),
            Some(partition) => self.shared.lock_key(&["partition", &name, partition]),
        }
    }

    /// Makes sure that slots are counted, and says how many transactions may be under way at most.
    fn count_from_now_on(&self) -> Result<i64> {
        let mut counted_with = self.counted_with.lock();
        if let Some(most) = *counted_with {
            return Ok(most);
        }
        let table = format!("{}.taskhold_{}", self.shared.pool.setup().schema, R::TABLE);
        let look = "SELECT @is_counted($1::regclass), current_setting('max_connections')::bigint";
        let rows = self.shared.read(look, &values![table.as_str()])?;
        let row = rows.first().ok_or_else(|| Fault::Protocol.into_error())?;
        let most = row.integer(1);
        if !row.flag(0) {
            let count = format!("SELECT @count_{}()", R::TABLE);
            self.shared.change_schema(&count)?;
        }
        *counted_with = Some(most);
        Ok(most)
    }

    /// Whether expired rows went, or something else that counted.
    fn make_room(&self) -> Result<bool> {
        let settled = R::settle(self, SWEEP_TO_MAKE_ROOM)?;
        Ok(self.sweep_batch(SWEEP_TO_MAKE_ROOM)? + settled > 0)
    }

    /// Deletes a row that has expired, unless somebody has changed that.
    fn remove_expired(&self, sequence: i64) -> Result<()> {
        let mut expired = Vec::new();
        let ended = self.shared.pins.ended();
        self.shared.transaction(|transaction| {
            expired.clear();
            let values = values![self.name, self.shared.manual_ms(), sequence];
            let rows = transaction.query(&self.statements.lock, values)?;
            self.remove_those_expired(transaction, &rows, &ended, &mut expired)
        })?;
        self.tell_expired(&expired);
        Ok(())
    }

    fn remove_those_expired<'t>(
        &'t self,
        transaction: &mut Transaction<'t>,
        rows: &[Columns],
        ended: &[Ended],
        expired: &mut Vec<R>,
    ) -> std::result::Result<usize, Failure> {
        let mut sequences = Vec::with_capacity(rows.len());
        for columns in rows {
            let now = self.shared.now_at(columns.integer(0));
            let stored = self.stored(columns, 1, now, ended).map_err(Failure::Refused)?;
            let Some(stored) = stored else { continue };
            // A pin of this very moment may keep a row whose column is older.
            if !stored.is_expired(now) {
                continue;
            }
            sequences.push(stored.head.sequence);
            if let Ok(row) = stored.row {
                row.expiring(transaction, stored.head.sequence)?;
                expired.push(row);
            }
        }
        if !sequences.is_empty() {
            for sql in &self.statements.delete_all {
                let mut values = Values::default();
                values.push_integers(&sequences);
                transaction.defer(sql, values);
            }
        }
        Ok(sequences.len())
    }

    /// Removes up to `most` expired rows and says how many.
    fn sweep_batch(&self, most: usize) -> Result<usize> {
        R::settle(self, most)?;
        let at_most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut expired = Vec::new();
        let ended = self.shared.pins.ended();
        let mut now_ms = None;
        let (found, removed) = self.shared.transaction(|transaction| {
            expired.clear();
            let values = values![self.name, self.shared.manual_ms(), at_most];
            let rows = transaction.query(&self.statements.select_expired, values)?;
            now_ms = rows.first().map(|row| row.integer(0));
            Ok((rows.len(), self.remove_those_expired(transaction, &rows, &ended, &mut expired)?))
        })?;
        self.tell_expired(&expired);
        let now_ms = now_ms.map_or_else(|| self.shared.now().map(|now| now.wall_ms), Ok)?;
        let next = if found == most { now_ms } else { now_ms.saturating_add(SWEEP_INTERVAL_MS) };
        self.sweep_at_ms.store(next, Ordering::Relaxed);
        Ok(removed)
    }

    /// Shows the row, with its texts if the claim is good or none is needed.
    fn find(&self, claim: Option<Claim<'_>>, id: &str, visit: &mut dyn FnMut(&R)) -> Result<bool> {
        let ended = self.shared.pins.ended();
        let statements = &self.statements;
        let sql = if claim.is_some() { &statements.select_claimed } else { &statements.select };
        let rows = self.shared.read(sql, &self.shown(claim, id))?;
        let Some(columns) = rows.first() else { return Ok(false) };
        let now = self.shared.note_time(columns.integer(0));
        let Some(stored) = self.stored(columns, 1, now, &ended)? else { return Ok(false) };
        if stored.row.is_err()
            && let Some(claim) = claim
            && !self.is_claimed(claim, id)?
        {
            // Nobody else is told that it is there.
            return Ok(false);
        }
        if stored.is_expired(now) {
            // Whoever finds an expired row removes it.
            let _ = self.sweep_batch(SWEEP_PER_WRITE);
            return Ok(false);
        }
        visit(&stored.row.map_err(|Unreadable| corrupt_row())?);
        Ok(true)
    }

    /// Tells other processes what became of a row, as far as somebody there listens.
    pub(super) fn tell(&self, heard: Heard, events: &[EventKind], old: Option<&R>, new: &R) {
        let queue = R::queue_changed(old, new);
        if events.is_empty() && queue.is_none() && !R::is_news(old, new) {
            return;
        }
        if let Some(kinds) = self.kinds_heard(heard) {
            let told = Told { name: self.name, id: new.id(), events, queue };
            self.shared.changes.tell(&self.shared, kinds, &told);
        }
    }

    fn tell_waiters(&self, heard: Heard, id: &str) {
        if let Some(kinds) = self.kinds_heard(heard) {
            let told = Told { name: self.name, id, events: &[], queue: None };
            self.shared.changes.tell(&self.shared, kinds, &told);
        }
    }

    /// Who listens, unless nobody does. What was known long before the commit is asked for again.
    fn kinds_heard(&self, heard: Heard) -> Option<i64> {
        let kinds = if heard.kinds == 0 && heard.at.elapsed() > LISTENED_WITHIN {
            changes::who_listens(&self.shared).unwrap_or(0)
        } else {
            heard.kinds
        };
        (kinds != 0).then_some(kinds)
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

impl<R: PgRow> Table<R> for PgTable<R> {
    fn read(&self, id: &str, visit: &mut dyn FnMut(&R)) -> Result<bool> {
        self.find(None, id, visit)
    }

    fn read_claimed(&self, claim: Claim<'_>, id: &str, visit: &mut dyn FnMut(&R)) -> Result<bool> {
        self.find(Some(claim), id, visit)
    }

    fn transact_within(&self, id: &str, limits: Limits, decide: &mut Decide<'_, R>) -> Result<()> {
        self.change(None, id, limits, decide)
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

    fn create_within(&self, id: &str, limits: Limits, decide: &mut Decide<'_, R>) -> Result<()> {
        self.create_new(id, limits, decide)
    }

    fn count_partitions(&self) -> Result<()> {
        // Tables without such a limit do without the index and its cost.
        let index = format!("{}.taskhold_{}_partition", self.shared.pool.setup().schema, R::TABLE);
        let rows = self.shared.read("SELECT to_regclass($1) IS NOT NULL", &values![index.as_str()])?;
        if rows.first().is_some_and(|row| row.flag(0)) {
            return Ok(());
        }
        let make = format!("SELECT @index_{}()", R::TABLE);
        self.shared.change_schema(&make)
    }

    fn now(&self) -> Result<Now> {
        self.shared.now()
    }

    fn ids(&self, after: Option<&str>, limit: usize) -> Result<Vec<Arc<str>>> {
        // No id is empty.
        let (after, limit) = (after.unwrap_or_default(), i64::try_from(limit).unwrap_or(i64::MAX));
        let rows = self.shared.read(&self.statements.ids, &values![self.name, after, limit])?;
        Ok(rows.iter().map(|row| row.text(0).into()).collect())
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

impl Shared {
    /// The key of a lock in the database: other stores there have others.
    pub(super) fn lock_key(&self, parts: &[&str]) -> i64 {
        let mut all = vec![&*self.pool.setup().schema];
        all.extend(parts);
        digest(&all).cast_signed()
    }
}
