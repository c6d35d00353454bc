//! The rows of one kind under one name: how they are found, how they expire, and who is told of what became of them,
//! once for every kind. [`super::transition`] changes them, and [`super::slots`] adds new ones within the limits.

#![forbid(unsafe_code)]

use std::sync::{Arc, Weak};
use std::time::Instant;

use super::super::{Claim, Decide, ExpiryListener, Limits, Table, WorkCounters, add_listener, corrupt_row};
use super::changes::{self, Change as Told, DatabaseNotifier, LISTENED_WITHIN};
use super::columns::Statements;
use super::connection::Answer;
use super::fault::{Failure, Fault};
use super::pins::Ended;
use super::queue_watch::QueueWatch;
use super::row::{PgRow, Stored, Unreadable, signed};
use super::transaction::Transaction;
use super::values::{Row as Columns, Values, values};
use super::{OpenStore, Shared, digest};
use crate::claimers::Claimers;
use crate::clock::Now;
use crate::error::Result;
use crate::events::{EventKind, Hub};
use crate::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use crate::sync::{Mutex, RwLock};

/// Expired rows that one write removes beside its own work.
pub(super) const SWEEP_PER_WRITE: usize = 4;
/// Expired rows that are removed in one go to make room.
const SWEEP_TO_MAKE_ROOM: usize = 64;
/// How long a look at the next deadline is good for: other processes may have stored an earlier one.
const SWEEP_INTERVAL_MS: i64 = 1000;

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
    pub(super) counted_with: Mutex<Option<i64>>,
    /// Who waits for tasks, and what became of them here; of tables of tasks only.
    pub(super) claimers: Arc<Claimers>,
    pub(super) queue_watch: Arc<QueueWatch>,
    pub(super) counters: WorkCounters,
    /// When to look for lapses next: milliseconds since 1970.
    pub(super) look_for_lapses_at_ms: AtomicI64,
    has_listeners: AtomicBool,
    listeners: RwLock<Vec<Weak<dyn ExpiryListener<R>>>>,
}

/// Who listened, and when that was known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub(super) kinds: i64,
    pub(super) at: Instant,
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
    pub(super) fn shown(&self, claim: Option<Claim<'_>>, id: &str) -> Values {
        let (name, now_ms) = (self.name, self.shared.manual_ms());
        let Some(Claim { endpoint, partition }) = claim else { return values![name, now_ms, id] };
        values![name, now_ms, id, self.shared.number, endpoint, partition]
    }

    pub(super) fn is_claimed(&self, claim: Claim<'_>, id: &str) -> Result<bool> {
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

    /// Whether expired rows went, or something else that counted.
    pub(super) fn make_room(&self) -> Result<bool> {
        let settled = R::settle(self, SWEEP_TO_MAKE_ROOM)?;
        Ok(self.sweep_batch(SWEEP_TO_MAKE_ROOM)? + settled > 0)
    }

    /// Deletes a row that has expired, unless somebody has changed that.
    pub(super) fn remove_expired(&self, sequence: i64) -> Result<()> {
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
    pub(super) fn sweep_batch(&self, most: usize) -> Result<usize> {
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

    pub(super) fn tell_waiters(&self, heard: Heard, id: &str) {
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

    pub(super) fn is_sweep_due(&self, now: Now) -> bool {
        let at = self.sweep_at_ms.load(Ordering::Relaxed);
        // After a step back of the clock the time stored lies too far ahead.
        now.wall_ms >= at || at.saturating_sub(now.wall_ms) > SWEEP_INTERVAL_MS
    }

    pub(super) fn expect_deadline(&self, row: &R) {
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
