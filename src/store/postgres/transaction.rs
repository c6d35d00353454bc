//! Running statements. What the server gave up in favour of others is tried again, and so is what a broken connection
//! cannot have committed; whether a commit came through that nobody answered for is not guessed at (`outcome_unknown`).

#![forbid(unsafe_code)]

use std::time::Duration;

use super::Shared;
use super::connection::{Answer, COMMIT, Query, ROLLBACK};
use super::fault::{Failure, Fault};
use super::pool::{Denied, Lent};
use super::values::{Row, Values};
use crate::error::{Error, Result};
use crate::sync::atomic::Ordering;
use crate::sync::thread;

/// How often a step is tried again on a new connection, and how often in favour of others.
const MOST_CONNECTIONS: u32 = 3;
const MOST_CONFLICTS: u32 = 64;
/// After how many tries in vain a change locks what it reads: with others at the same row without a break, one that only
/// compares may lose every time.
const CONFLICTS_BEFORE_LOCK: u32 = 4;
/// The longest rest before a step is tried again in favour of others.
const LONGEST_REST_MICROS: u64 = 8_000;

impl Denied {
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Fault(fault) => fault.into_error(),
            Self::Refused(error) => error,
        }
    }
}

/// Counts tries, and says whether there is another.
#[derive(Default)]
pub(super) struct Tries {
    connections: u32,
    conflicts: u32,
}

impl Tries {
    /// Whether to try again after `fault`, which left nothing behind.
    pub(super) fn again(&mut self, shared: &Shared, fault: Fault) -> bool {
        if fault.gave_way() {
            return self.again_after_conflict(shared);
        }
        self.connections += 1;
        fault.is_of_the_connection() && self.connections < MOST_CONNECTIONS
    }

    /// Whether others were in the way so often that the next try locks what it reads.
    pub(super) fn is_losing(&self) -> bool {
        self.conflicts >= CONFLICTS_BEFORE_LOCK
    }

    /// Whether there is no other try after this one.
    pub(super) fn is_last(&self) -> bool {
        self.conflicts + 1 >= MOST_CONFLICTS
    }

    /// Whether to try again after others changed what was read.
    pub(super) fn again_after_conflict(&mut self, shared: &Shared) -> bool {
        self.conflicts += 1;
        shared.conflicts.fetch_add(1, Ordering::Relaxed);
        // The first few come at once: somebody has just moved on, and will not come back soon.
        if self.conflicts > 2 {
            let span = (50u64 << self.conflicts.min(10)).min(LONGEST_REST_MICROS);
            thread::sleep(Duration::from_micros(shared.next_random() % span));
        }
        self.conflicts < MOST_CONFLICTS
    }
}

/// A transaction. It begins with its first statement, in the same write, and so does the commit go with the last ones.
pub(super) struct Transaction<'t> {
    shared: &'t Shared,
    lent: Option<Lent<'t>>,
    has_begun: bool,
    deferred: Vec<Query<'t>>,
}

impl<'t> Transaction<'t> {
    fn new(shared: &'t Shared) -> Self {
        Self { shared, lent: None, has_begun: false, deferred: Vec::new() }
    }

    /// The number that stands for this open store in the database.
    pub(super) fn store(&self) -> i64 {
        self.shared.number
    }

    /// Adds a statement that runs with the next one, or with the commit.
    pub(super) fn defer(&mut self, sql: &'t str, values: Values) {
        self.deferred.push(Query::new(sql, values));
    }

    /// Runs a statement, behind those that were deferred.
    pub(super) fn run(&mut self, sql: &'t str, values: Values) -> std::result::Result<Answer, Failure> {
        self.deferred.push(Query::new(sql, values));
        Ok(self.flush(false)?.pop().unwrap_or_default())
    }

    /// The same for a query: its rows.
    pub(super) fn query(&mut self, sql: &'t str, values: Values) -> std::result::Result<Vec<Row>, Failure> {
        Ok(self.run(sql, values)?.rows)
    }

    /// Runs statements one behind another.
    pub(super) fn run_all(
        &mut self,
        queries: impl Iterator<Item = (&'t str, Values)>,
    ) -> std::result::Result<Vec<Answer>, Failure> {
        let before = self.deferred.len();
        self.deferred.extend(queries.map(|(sql, values)| Query::new(sql, values)));
        let wanted = self.deferred.len() - before;
        let mut answers = self.flush(false)?;
        Ok(answers.split_off(answers.len().saturating_sub(wanted)))
    }

    /// Gives up what was done, so that nothing is left to commit.
    pub(super) fn give_up(&mut self) {
        self.roll_back();
        self.has_begun = false;
        self.deferred.clear();
        self.lent = None;
    }

    /// Runs the last statement of the transaction, and commits, in one write.
    pub(super) fn finish(&mut self, sql: &'t str, values: Values) -> std::result::Result<Answer, Failure> {
        self.deferred.push(Query::new(sql, values));
        let flushed = self.flush(true);
        if let Err(Failure::Storage(fault @ (Fault::Lost | Fault::TimedOut | Fault::Protocol))) = flushed {
            return Err(Failure::Refused(fault.into_commit_error()));
        }
        let mut answers = flushed?;
        // A transaction that was given up ends with this answer, too, but the statement then has failed before.
        answers.pop();
        self.has_begun = false;
        self.lent = None;
        Ok(answers.pop().unwrap_or_default())
    }

    fn flush(&mut self, commits: bool) -> std::result::Result<Vec<Answer>, Failure> {
        let lent = match &mut self.lent {
            Some(lent) => lent,
            none => none.insert(self.shared.lend()?),
        };
        let mut batch = if self.has_begun { Vec::new() } else { lent.begin() };
        self.has_begun = true;
        batch.append(&mut self.deferred);
        if commits {
            batch.push(COMMIT);
        }
        Ok(lent.run(&batch)?)
    }

    fn commit(&mut self) -> std::result::Result<(), Failure> {
        if self.has_begun || !self.deferred.is_empty() {
            self.flush(true)?;
        }
        Ok(())
    }

    fn roll_back(&mut self) {
        if self.has_begun
            && let Some(lent) = &mut self.lent
        {
            // One that fails goes with its connection.
            let _ = lent.run(&[ROLLBACK]);
        }
    }
}

impl Shared {
    /// A connection.
    pub(super) fn lend(&self) -> std::result::Result<Lent<'_>, Failure> {
        self.pool.lend().map_err(|denied| match denied {
            Denied::Fault(fault) => Failure::Storage(fault),
            Denied::Refused(error) => Failure::Refused(error),
        })
    }

    /// Runs a statement that only reads, as often as it takes.
    pub(super) fn read(&self, sql: &str, values: &Values) -> Result<Vec<Row>> {
        let mut tries = Tries::default();
        loop {
            let done = self.lend().and_then(|mut lent| Ok(lent.run_alone(Query::of(sql, values))?.rows));
            match done {
                Ok(rows) => return Ok(rows),
                Err(Failure::Storage(fault)) if tries.again(self, fault) => {}
                Err(failure) => return Err(failure.into_error()),
            }
        }
    }

    /// Runs a statement that changes something by itself.
    pub(super) fn write(&self, sql: &str, values: &Values) -> std::result::Result<Answer, Failure> {
        let mut tries = Tries::default();
        loop {
            let mut lent = match self.lend() {
                Ok(lent) => lent,
                Err(Failure::Storage(fault)) if tries.again(self, fault) => continue,
                Err(failure) => return Err(failure),
            };
            match lent.run_alone(Query::of(sql, values)) {
                Ok(answer) => {
                    self.writes.fetch_add(1, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(Fault::Lost | Fault::TimedOut | Fault::Protocol) => {
                    return Err(Failure::Refused(Fault::Lost.into_commit_error()));
                }
                Err(fault) if tries.again(self, fault) => {}
                Err(fault) => return Err(Failure::Storage(fault)),
            }
        }
    }

    /// Runs `step` in a transaction, and again when others were in the way. It changes nothing when it refuses.
    pub(super) fn transaction<'t, T>(
        &'t self,
        mut step: impl FnMut(&mut Transaction<'t>) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        let mut tries = Tries::default();
        loop {
            let mut transaction = Transaction::new(self);
            let failure = match step(&mut transaction) {
                Ok(done) => match transaction.commit() {
                    Ok(()) => {
                        self.writes.fetch_add(1, Ordering::Relaxed);
                        return Ok(done);
                    }
                    Err(Failure::Storage(fault @ (Fault::Lost | Fault::TimedOut | Fault::Protocol))) => {
                        return Err(fault.into_commit_error());
                    }
                    Err(failure) => failure,
                },
                Err(failure) => failure,
            };
            transaction.roll_back();
            drop(transaction);
            match failure {
                Failure::Storage(fault) if tries.again(self, fault) => {}
                Failure::Again if tries.again_after_conflict(self) => {}
                failure => return Err(failure.into_error()),
            }
        }
    }

    /// Sends a statement whose answer nobody waits for, and that is no harm if it is lost.
    pub(super) fn send_only(&self, sql: &str, values: Values) {
        if let Ok(mut lent) = self.lend() {
            lent.send_only(&Query::new(sql, values));
        }
    }
}

impl Failure {
    /// The error that a caller gets.
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Refused(error) => error,
            Self::Storage(fault) => fault.into_error(),
            Self::Again => Fault::Server(super::fault::SERIALIZATION_FAILURE).into_error(),
        }
    }
}
