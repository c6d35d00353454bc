//! Queued work in a file: tasks are created under an operation, claimed, renewed and ended by lapses within the
//! transactions that the writer shares out. Who looks for a task reads first; only what is there is written.

#![forbid(unsafe_code)]

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _};

use super::super::sql::operation_key;
use super::super::{
    AsOf, Decide, DecideClaim, DecideEach, Limits, Operation, Row as _, TaskQuery, TaskRow, TaskTable,
    WorkCounters,
};
use super::failure::Failure;
use super::row::{Place, SqlRow as _};
use super::table::{SqlTable, Stored};
use super::writer::Transaction;
use crate::claimers::Claimers;
use crate::clock::{Moment, Now};
use crate::error::Result;
use crate::sync::atomic::Ordering;

/// Expired tasks at the front of queues that one claim removes.
const SWEEP_PER_CLAIM: usize = 64;
/// How long a look at the next lapse is good for: other processes may have stored an earlier one.
const LOOK_FOR_LAPSES_EVERY_MS: i64 = 1000;

/// `?1` the name, `?2` the queue, `?3` now.
const IS_DUE: &str = "SELECT 1 FROM work WHERE name = ?1 AND queue = ?2 AND due_at <= ?3 LIMIT 1";
/// The same behind the place `?4`, `?5`.
const NEXT_DUE: &str = "SELECT due_at, task FROM work WHERE name = ?1 AND queue = ?2 AND due_at <= ?3 \
     AND (due_at, task) > (?4, ?5) ORDER BY due_at, task LIMIT 1";
const OF_OPERATION: &str = "SELECT t.id FROM work w JOIN tasks t ON t.sequence = w.task \
     WHERE w.name = ?1 AND w.operation_key = ?2";
const LAPSED: &str = "SELECT t.id FROM work w JOIN tasks t ON t.sequence = w.task \
     WHERE w.name = ?1 AND w.ends_at <= ?2 AND t.expires_at > ?2 ORDER BY w.ends_at LIMIT ?3";
const NEXT_LAPSE: &str = "SELECT min(ends_at) FROM work WHERE name = ?1 AND ends_at > ?2";

impl TaskTable for SqlTable<TaskRow> {
    fn list(
        &self,
        query: &TaskQuery<'_>,
        as_of: AsOf,
        visit: &mut dyn FnMut(&TaskRow, u64),
        corrupt: &mut Vec<String>,
    ) -> Result<Option<u64>> {
        self.list_tasks(query, as_of, visit, corrupt)
    }

    fn create(
        &self,
        operation: Option<Operation<'_>>,
        id: &str,
        limits: Limits,
        decide: &mut Decide<'_, TaskRow>,
    ) -> Result<bool> {
        let mut expired = Vec::new();
        let key = operation.as_ref().map(operation_key);
        let decided = self.shared.write(|transaction| {
            let holder: Option<String> = match &key {
                Some(key) => {
                    transaction.query(OF_OPERATION, (self.name, key.as_slice()), |row| row.get(0))?
                }
                None => None,
            };
            // Where the holder has expired, the new task takes its place in the same step.
            let id = holder.as_deref().unwrap_or(id);
            self.step(transaction, None, id, limits, decide, &mut expired)
        })?;
        self.tell_expired(&expired);
        decided.map(|()| true)
    }

    fn claim(&self, queues: &[Arc<str>], decide: &mut DecideClaim<'_>) -> Result<Option<TaskRow>> {
        let now = self.shared.now();
        let is_due = self.shared.read(|connection| {
            let mut statement = connection.prepare_cached(IS_DUE)?;
            for queue in queues {
                if statement.exists((self.name, &**queue, now.wall_ms))? {
                    return Ok(true);
                }
            }
            Ok(false)
        })?;
        if !is_due {
            return Ok(None);
        }
        let mut expired = Vec::new();
        let claimed =
            self.shared.write(|transaction| self.claim_in(transaction, queues, decide, &mut expired))?;
        self.tell_expired(&expired);
        claimed
    }

    fn transact_each(&self, ids: &[&str], decide: &mut DecideEach<'_>) -> Result<()> {
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_unstable_by_key(|&place| ids[place]);
        let mut expired = Vec::new();
        self.shared.write(|transaction| {
            for place in order {
                let mut decide_one = |row: Option<&TaskRow>, now: Now| Ok(decide(place, row, now));
                let limits = Limits::default();
                match self.step(transaction, None, ids[place], limits, &mut decide_one, &mut expired) {
                    // One that cannot be read spoils nothing for the rest.
                    Ok(()) | Err(Failure::Refused(_)) => {}
                    Err(failure @ Failure::Storage(_)) => return Err(failure),
                }
            }
            Ok(())
        })??;
        self.tell_expired(&expired);
        Ok(())
    }

    fn lapsed(&self, most: usize) -> Result<Vec<Arc<str>>> {
        let now_ms = self.shared.now().wall_ms;
        let known = self.look_for_lapses_at_ms.load(Ordering::Relaxed);
        // After a step back of the clock the time stored lies too far ahead.
        if now_ms < known && known - now_ms <= LOOK_FOR_LAPSES_EVERY_MS {
            return Ok(Vec::new());
        }
        let (lapsed, next) = self.shared.read(|connection| {
            let at_most = i64::try_from(most).unwrap_or(i64::MAX);
            let mut statement = connection.prepare_cached(LAPSED)?;
            let ids = statement.query_map((self.name, now_ms, at_most), |row| row.get::<_, Arc<str>>(0))?;
            let ids = ids.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok((ids, next_lapse(connection, self.name, now_ms)?))
        })?;
        let soon = now_ms.saturating_add(LOOK_FOR_LAPSES_EVERY_MS);
        let next = if lapsed.len() == most { now_ms } else { next.map_or(soon, |next| next.min(soon)) };
        // Unless a lease that was stored meanwhile has put an earlier time there.
        let _ =
            self.look_for_lapses_at_ms.compare_exchange(known, next, Ordering::Relaxed, Ordering::Relaxed);
        Ok(lapsed)
    }

    fn next_due(&self, _queue: &str) -> Option<Moment> {
        None
    }

    fn next_lapse(&self) -> Option<Moment> {
        let wall_ms = self.look_for_lapses_at_ms.load(Ordering::Relaxed);
        Some(Moment { wall_ms, tick_ns: self.shared.ticks.tick(wall_ms) })
    }

    fn claimer_came(&self) {
        self.queue_watch.claimer_came();
    }

    fn claimers(&self) -> &Claimers {
        &self.claimers
    }

    fn work_counters(&self) -> &WorkCounters {
        &self.counters
    }
}

impl SqlTable<TaskRow> {
    fn claim_in(
        &self,
        transaction: &Transaction<'_>,
        queues: &[Arc<str>],
        decide: &mut DecideClaim<'_>,
        expired: &mut Vec<TaskRow>,
    ) -> std::result::Result<Option<TaskRow>, Failure> {
        let now = self.shared.now();
        for queue in queues {
            let mut place = (i64::MIN, i64::MIN);
            loop {
                let values = (self.name, &**queue, now.wall_ms, place.0, place.1);
                let next = transaction.query(NEXT_DUE, values, |row| Ok((row.get(0)?, row.get(1)?)))?;
                let Some(next) = next else { break };
                place = next;
                let stored = transaction.query(
                    &self.statements.select_by_sequence,
                    (self.name, 0, place.1),
                    |columns| Stored::<TaskRow>::read(columns, 0, &self.shared, now),
                )?;
                let Some(Stored { head, row: Ok(row) }) = stored.flatten() else { continue };
                if row.expires_at().is_some_and(|deadline| deadline <= now.tick_ns) {
                    if expired.len() < SWEEP_PER_CLAIM {
                        self.delete(transaction, head)?;
                        expired.push(row);
                    }
                    continue;
                }
                let Some(new) = decide(&row, now) else { continue };
                let place = Place { name: self.name, sequence: head.sequence };
                new.update(&row, &self.statements, transaction, place, self.shared.ticks)?;
                self.expect_lapse(&new);
                return Ok(Some(new));
            }
        }
        Ok(None)
    }

    /// Looks for lapses when that of this row comes, too.
    pub(super) fn expect_lapse(&self, row: &TaskRow) {
        if let Some(ends) = row.ends_at() {
            self.look_for_lapses_at_ms.fetch_min(ends.wall_ms, Ordering::Relaxed);
        }
    }
}

fn next_lapse(connection: &Connection, name: i64, now_ms: i64) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(NEXT_LAPSE)?
        .query_row((name, now_ms), |row| row.get(0))
        .optional()
        .map(Option::flatten)
}
