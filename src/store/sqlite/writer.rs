//! The one connection that writes. A call that finds others waiting for it leaves its transaction open and
//! hands it on; the last one commits for all, so that callers share the time that a commit takes on the disk.
//! Nobody waits for company: a call that is alone commits at once.

#![forbid(unsafe_code)]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension as _, Params, Row, Statement};

use super::backoff::{Backoff, Turns};
use super::failure::{Failure, commit_error, storage_error};
use super::file::StoreFile;
use crate::error::{Error, Reason, Result};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard, thread};

/// Most calls that share a transaction, and the longest that one stays open for others to join.
const MOST_SHARING: u32 = 64;
const LONGEST_SHARING: Duration = Duration::from_millis(2);

/// A transaction that a step works in.
pub(super) struct Transaction<'a> {
    connection: &'a Connection,
    writer: &'a Writer,
    wrote: Cell<bool>,
}

impl Transaction<'_> {
    /// The number that stands for this open store in the file.
    pub(super) fn store(&self) -> i64 {
        self.writer.store
    }

    /// For reading in the transaction.
    pub(super) fn connection(&self) -> &Connection {
        self.connection
    }

    /// Runs a statement that writes.
    pub(super) fn execute(&self, sql: &str, values: impl Params) -> rusqlite::Result<usize> {
        self.wrote.set(true);
        self.connection.prepare_cached(sql)?.execute(values)
    }

    /// The same, with values that `bind` gives one by one.
    pub(super) fn execute_with(
        &self,
        sql: &str,
        bind: impl FnOnce(&mut Statement<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        self.wrote.set(true);
        let mut statement = self.connection.prepare_cached(sql)?;
        bind(&mut statement)?;
        statement.raw_execute().map(drop)
    }

    /// The first row of a query, if there is one.
    pub(super) fn query<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        self.connection.prepare_cached(sql)?.query_row(values, read).optional()
    }

    /// Every row of a query.
    pub(super) fn query_all<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        self.connection.prepare_cached(sql)?.query_map(values, read)?.collect()
    }
}

/// How a shared transaction ended, for those who left it open.
#[derive(Default)]
struct Ending {
    outcome: Mutex<Option<std::result::Result<(), Reason>>>,
    known: Condvar,
}

impl Ending {
    fn tell(&self, outcome: std::result::Result<(), Reason>) {
        *self.outcome.lock() = Some(outcome);
        self.known.notify_all();
    }

    fn wait(&self) -> Result<()> {
        let mut outcome = self.outcome.lock();
        loop {
            match *outcome {
                Some(Ok(())) => return Ok(()),
                Some(Err(reason)) => {
                    return Err(Error::new(
                        reason,
                        "the transaction that this call shared with others failed",
                    ));
                }
                None => outcome = self.known.wait(outcome),
            }
        }
    }
}

/// A transaction that is open between two calls.
struct Open {
    since: Instant,
    sharing: u32,
    wrote: bool,
    ending: Option<Arc<Ending>>,
}

impl Open {
    fn tell(&self, outcome: std::result::Result<(), Reason>) {
        if let Some(ending) = &self.ending {
            ending.tell(outcome);
        }
    }
}

struct Slot {
    connection: Connection,
    open: Option<Open>,
    turns: Turns,
}

/// The connection that writes, and the queue of those who want it.
pub(super) struct Writer {
    slot: Mutex<Slot>,
    waiting: AtomicUsize,
    store: i64,
    commits: AtomicU64,
    writes: AtomicU64,
    /// Goes after the connection.
    _file: Arc<StoreFile>,
}

impl Writer {
    pub(super) fn new(connection: Connection, file: Arc<StoreFile>, store: i64) -> Self {
        let slot = Slot { connection, open: None, turns: Turns::default() };
        Self {
            slot: Mutex::new(slot),
            waiting: AtomicUsize::new(0),
            store,
            commits: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            _file: file,
        }
    }

    /// How many transactions were committed, and how many calls wrote in them.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    pub(super) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock()
    }

    /// Runs `step` in a transaction, which others may let begin until `deadline`, and returns when it is
    /// committed. A step that refuses has changed nothing
    /// and what others did in the same transaction stays; when the storage fails, all of them changed nothing.
    pub(super) fn run<T>(
        &self,
        backoff: &Backoff,
        deadline: Instant,
        step: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, Failure>,
    ) -> Result<std::result::Result<T, Error>> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let slot = self.lock();
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.run_in(slot, backoff, deadline, step)
    }

    /// The same, unless somebody in this process or another writes just now: then `None`.
    pub(super) fn try_run<T>(
        &self,
        backoff: &Backoff,
        step: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, Failure>,
    ) -> Option<Result<std::result::Result<T, Error>>> {
        let slot = self.slot.try_lock()?;
        // One that is open is another's, whose commit this call would have to wait for.
        slot.open.is_none().then(|| self.run_in(slot, backoff, Instant::now(), step))
    }

    fn run_in<T>(
        &self,
        mut slot: MutexGuard<'_, Slot>,
        backoff: &Backoff,
        deadline: Instant,
        step: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, Failure>,
    ) -> Result<std::result::Result<T, Error>> {
        slot.begin(backoff, deadline)?;
        let (stepped, wrote) = {
            let transaction =
                Transaction { connection: &slot.connection, writer: self, wrote: Cell::new(false) };
            let stepped = catch_unwind(AssertUnwindSafe(|| step(&transaction)));
            (stepped, transaction.wrote.get())
        };
        let broken = match &stepped {
            // A step that panics or refuses before it wrote leaves the transaction to the others.
            Ok(Ok(_) | Err(Failure::Refused(_))) => None,
            Ok(Err(Failure::Storage(error))) => {
                (wrote || slot.connection.is_autocommit()).then(|| storage_error(error))
            }
            Err(_) => wrote.then(|| Error::new(Reason::Panic, "a defect of the library was caught")),
        };
        let ended = match broken {
            Some(error) => {
                slot.roll_back(error.reason());
                Err(error)
            }
            None => self.end(slot, wrote),
        };
        match stepped {
            Err(panic) => resume_unwind(panic),
            Ok(stepped) => ended.map(|()| stepped.map_err(Failure::into_error)),
        }
    }

    /// Commits, or leaves that to the next in the queue and waits for it.
    fn end(&self, mut slot: MutexGuard<'_, Slot>, wrote: bool) -> Result<()> {
        let is_wanted = self.waiting.load(Ordering::SeqCst) > 0;
        let Some(open) = &mut slot.open else { return Ok(()) };
        open.wrote |= wrote;
        open.sharing += 1;
        if wrote {
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
        if is_wanted && open.sharing < MOST_SHARING && open.since.elapsed() < LONGEST_SHARING {
            // Who saw what is not committed yet must wait for it too.
            let ending = open.wrote.then(|| Arc::clone(open.ending.get_or_insert_default()));
            drop(slot);
            return ending.map_or(Ok(()), |ending| ending.wait());
        }
        self.commits.fetch_add(u64::from(open.wrote), Ordering::Relaxed);
        slot.commit()
    }

    /// Lets this connection copy the log when it closes, if it is the last of all.
    pub(super) fn copy_log_on_close(&self) {
        self.outside(|connection| {
            // It stays as it is if this fails: the next opener reads it.
            let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
        });
    }

    /// Runs `work` on the connection, outside every transaction of this process.
    pub(super) fn outside<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        loop {
            let slot = self.lock();
            if slot.open.is_none() {
                return work(&slot.connection);
            }
            drop(slot);
            // Whoever waits for the transaction that is open will end it.
            thread::yield_now();
        }
    }
}

impl Slot {
    fn begin(&mut self, backoff: &Backoff, deadline: Instant) -> Result<()> {
        if self.open.is_some() {
            return Ok(());
        }
        if !self.connection.is_autocommit() {
            // Left by a defect: nobody waits for it.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        self.turns.pause_if_others_write(&self.connection);
        backoff
            .until(deadline, || self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute(()))
            .map_err(|error| storage_error(&error))?;
        self.open = Some(Open { since: self.turns.began(), sharing: 0, wrote: false, ending: None });
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let committed = self.connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute(()));
        match committed {
            Ok(_) => {
                open.tell(Ok(()));
                self.turns.ended();
                Ok(())
            }
            Err(error) => {
                let error = commit_error(&error);
                self.open = Some(open);
                self.roll_back(error.reason());
                Err(error)
            }
        }
    }

    fn roll_back(&mut self, reason: Reason) {
        if !self.connection.is_autocommit() {
            // A rollback that fails leaves a transaction that the next one to begin rolls back.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        if let Some(open) = self.open.take() {
            open.tell(Err(reason));
        }
    }
}
