//! Queued work in a database: tasks are created under an operation, claimed, renewed and ended by lapses. Who looks for
//! a task reads first, without a lock; only what is there is locked, and what others have locked is passed over.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Instant;

use super::super::sql::operation_key;
use super::super::{
    AsOf, Decide, DecideClaim, DecideEach, Limits, Operation, Row as _, TaskQuery, TaskRow, TaskTable,
    WorkCounters,
};
use super::columns::shown_columns;
use super::fault::Failure;
use super::row::{PgRow as _, Stored, Write};
use super::statement_text::{now, server_ms};
use super::table::{Heard, PgTable, changed};
use super::transaction::{Transaction, Tries};
use super::values::{Row as Columns, Values, values};
use crate::claimers::Claimers;
use crate::clock::Moment;
use crate::error::Result;
use crate::sync::atomic::Ordering;

/// Expired tasks at the front of queues that one claim removes.
const SWEEP_PER_CLAIM: usize = 64;
/// How long a look at the next lapse is good for: other processes may have stored an earlier one.
const LOOK_FOR_LAPSES_EVERY_MS: i64 = 1000;

/// The first of the queues `$3` that has a due task, counted from 1. `$1` is the name, `$2` now.
const FIRST_DUE_QUEUE: &str = concat!(
    "SELECT q.place FROM unnest($3) WITH ORDINALITY q (queue, place) WHERE EXISTS (SELECT 1 FROM @work w \
     WHERE w.name = $1 AND w.queue = q.queue AND w.due_at <= ",
    now!(),
    ") ORDER BY q.place LIMIT 1"
);
const OF_OPERATION: &str = "SELECT t.id FROM @work w JOIN @tasks t ON t.sequence = w.task \
     WHERE w.name = $1 AND w.operation_key = $2";
/// Locks the tasks with the ids `$2`, one after another in their order.
const LOCK_WORK: &str = "SELECT 1::bigint FROM @work w JOIN @tasks t ON t.sequence = w.task \
     WHERE t.name = $1 AND t.id = ANY ($2) ORDER BY t.id FOR UPDATE OF w";
/// The time, and lapsed tasks that have not expired, at most `$3`; then, in a row without an id, when the next lapses.
const LAPSED: &str = concat!(
    "SELECT n.now, l.id, l.ends_at FROM (SELECT ",
    now!(),
    " AS now) n LEFT JOIN LATERAL ((SELECT t.id, w.ends_at FROM @work w JOIN @tasks t ON t.sequence = w.task \
     WHERE w.name = $1 AND w.ends_at <= n.now AND t.expires_at > n.now ORDER BY w.ends_at LIMIT $3) UNION ALL \
     (SELECT NULL, w.ends_at FROM @work w WHERE w.name = $1 AND w.ends_at > n.now ORDER BY w.ends_at LIMIT 1)) l \
     ON true"
);

/// The first due tasks of the queue `$3` behind the place `$4`, `$5`, locked, with the time and who listens: `$6` is
/// this store's number among the listeners.
pub(super) fn next_due_sql() -> String {
    format!(
        "SELECT n.now, n.heard, {} , w.due_at FROM (SELECT coalesce($2::bigint, {ms}) AS now, \
         coalesce((SELECT bit_or(kinds) FROM @listeners WHERE lease_until > {ms} AND listener <> $6), 0) AS heard) n, \
         @work w JOIN @tasks t ON t.sequence = w.task WHERE w.name = $1 AND w.queue = $3 \
         AND w.due_at <= (SELECT coalesce($2::bigint, {ms})) AND (w.due_at, w.task) > ($4, $5) \
         ORDER BY w.due_at, w.task LIMIT 1 FOR UPDATE OF w SKIP LOCKED",
        shown_columns::<TaskRow>(false),
        ms = server_ms!()
    )
}

/// What was claimed: the new row beside the old one, and who listens.
type Claimed = (TaskRow, TaskRow, Heard);

impl TaskTable for PgTable<TaskRow> {
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
        let Some(key) = operation.as_ref().map(operation_key) else {
            self.create_new(id, limits, decide)?;
            return Ok(true);
        };
        let mut tries = Tries::default();
        loop {
            let holder = self.shared.read(OF_OPERATION, &values![self.name, key.as_slice()])?;
            let holder = holder.first().map(|columns| columns.text(0));
            // Where the holder has expired, the new task takes its place.
            if self.try_change(None, holder.as_deref().unwrap_or(id), limits, decide, &mut tries)? {
                return Ok(true);
            }
        }
    }

    fn claim(&self, queues: &[Arc<str>], decide: &mut DecideClaim<'_>) -> Result<Option<TaskRow>> {
        let Some(first) = self.first_due_queue(queues)? else { return Ok(None) };
        let mut expired = Vec::new();
        let claimed = self.shared.transaction(|transaction| {
            expired.clear();
            for queue in &queues[first.min(queues.len())..] {
                if let Some(claimed) = self.claim_in(transaction, queue, decide, &mut expired)? {
                    return Ok(Some(claimed));
                }
            }
            Ok(None)
        })?;
        self.tell_expired(&expired);
        let Some((new, old, heard)) = claimed else { return Ok(None) };
        self.expect_lapse(&new);
        // There may be another for the next in line.
        self.queue_watch.changed();
        self.tell(heard, &[], Some(&old), &new);
        Ok(Some(new))
    }

    fn transact_each(&self, ids: &[&str], decide: &mut DecideEach<'_>) -> Result<()> {
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_unstable_by_key(|&place| ids[place]);
        let mut left = order;
        let mut tries = Tries::default();
        // Those that others changed meanwhile are tried again, and no others.
        while !left.is_empty() {
            left = if tries.is_losing() {
                self.renew_each_locked(ids, &left, decide)?
            } else {
                self.renew_each(ids, &left, decide)?
            };
            if !left.is_empty() && !tries.again_after_conflict(&self.shared) {
                return Err(Failure::Again.into_error());
            }
        }
        Ok(())
    }

    fn lapsed(&self, most: usize) -> Result<Vec<Arc<str>>> {
        let now_ms = self.shared.estimated_now().wall_ms;
        let known = self.look_for_lapses_at_ms.load(Ordering::Relaxed);
        // After a step back of the clock the time stored lies too far ahead.
        if now_ms < known && known - now_ms <= LOOK_FOR_LAPSES_EVERY_MS {
            return Ok(Vec::new());
        }
        let at_most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.shared.read(LAPSED, &values![self.name, self.shared.manual_ms(), at_most])?;
        let now_ms = rows.first().map_or(now_ms, |columns| columns.integer(0));
        let lapsed: Vec<Arc<str>> =
            rows.iter().filter(|columns| !columns.is_null(1)).map(|columns| columns.text(1).into()).collect();
        let next =
            rows.iter().filter(|columns| columns.is_null(1)).find_map(|columns| columns.optional_integer(2));
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

impl PgTable<TaskRow> {
    /// The place of the first queue that may have a due task.
    fn first_due_queue(&self, queues: &[Arc<str>]) -> Result<Option<usize>> {
        // Of a single one the claim itself finds out: one way to the server and back less.
        if queues.len() == 1 {
            return Ok(Some(0));
        }
        let mut values = values![self.name, self.shared.manual_ms()];
        values.push_texts(queues.iter().map(|queue| &**queue));
        let first = self.shared.read(FIRST_DUE_QUEUE, &values)?;
        Ok(first.first().map(|columns| usize::try_from(columns.integer(0) - 1).unwrap_or(0)))
    }

    fn claim_in<'t>(
        &'t self,
        transaction: &mut Transaction<'t>,
        queue: &str,
        decide: &mut DecideClaim<'_>,
        expired: &mut Vec<TaskRow>,
    ) -> std::result::Result<Option<Claimed>, Failure> {
        let mut place = (i64::MIN, i64::MIN);
        loop {
            let at = Instant::now();
            let values =
                values![self.name, self.shared.manual_ms(), queue, place.0, place.1, self.shared.number];
            let rows = transaction.query(&self.shared.next_due, values)?;
            let Some(columns) = rows.first() else { return Ok(None) };
            let now = self.shared.note_time(columns.integer(0));
            let stored = self.stored(columns, 2, now, &[]).map_err(Failure::Refused)?;
            let Some(Stored { head, row }) = stored else { return Ok(None) };
            place = (columns.integer(columns.len() - 1), head.sequence);
            let Ok(row) = row else { continue };
            if row.expires_at().is_some_and(|deadline| deadline <= now.tick_ns) {
                if expired.len() < SWEEP_PER_CLAIM {
                    for sql in &self.statements.delete_all {
                        let mut values = Values::default();
                        values.push_integers(&[head.sequence]);
                        transaction.defer(sql, values);
                    }
                    expired.push(row);
                }
                continue;
            }
            let Some(new) = decide(&row, now) else { continue };
            let Write { sql, values } = new.update(&row, head, self)?;
            if changed(&transaction.finish(sql, values)?) == 0 {
                // The task expired in this very moment.
                return Err(Failure::Again);
            }
            let heard = Heard { kinds: columns.integer(1), at };
            return Ok(Some((new, row, heard)));
        }
    }

    /// One look at those of `ids` that are still to be done, and one transaction that changes them in the order of their
    /// ids. Gives those that others changed meanwhile.
    fn renew_each(&self, ids: &[&str], places: &[usize], decide: &mut DecideEach<'_>) -> Result<Vec<usize>> {
        let rows = self.shared.read(&self.shared.tasks_by_ids, &self.of_places(ids, places))?;
        let renewals = self.renewals(&rows, ids, places, decide)?;
        if renewals.is_empty() {
            return Ok(Vec::new());
        }
        let again = self.shared.transaction(|transaction| write_renewals(transaction, &renewals))?;
        self.renewed(&renewals);
        Ok(again)
    }

    /// The same in one transaction that locks the tasks first, in the order of their ids.
    fn renew_each_locked(
        &self,
        ids: &[&str],
        places: &[usize],
        decide: &mut DecideEach<'_>,
    ) -> Result<Vec<usize>> {
        let mut renewals = Vec::new();
        let again = self.shared.transaction(|transaction| {
            let mut locked = values![self.name];
            locked.push_texts(places.iter().map(|&place| ids[place]));
            transaction.defer(LOCK_WORK, locked);
            let rows = transaction.query(&self.shared.tasks_by_ids, self.of_places(ids, places))?;
            renewals = self.renewals(&rows, ids, places, decide).map_err(Failure::Refused)?;
            write_renewals(transaction, &renewals)
        })?;
        self.renewed(&renewals);
        Ok(again)
    }

    fn of_places(&self, ids: &[&str], places: &[usize]) -> Values {
        let mut values = values![self.name, self.shared.manual_ms()];
        values.push_texts(places.iter().map(|&place| ids[place]));
        values
    }

    /// What `decide` makes of the tasks that were found.
    fn renewals(
        &self,
        rows: &[Columns],
        ids: &[&str],
        places: &[usize],
        decide: &mut DecideEach<'_>,
    ) -> Result<Vec<Renewal<'_>>> {
        let mut found = hashbrown::HashMap::with_capacity(rows.len());
        let mut now = None;
        for columns in rows {
            let time = self.shared.note_time(columns.integer(0));
            now = Some(time);
            let Some(stored) = self.stored(columns, 1, time, &[])? else { continue };
            // One that cannot be read spoils nothing for the rest.
            if let Ok(row) = stored.row
                && row.expires_at().is_none_or(|deadline| deadline > time.tick_ns)
            {
                found.insert(row.id().to_owned(), (stored.head, row));
            }
        }
        let now = now.unwrap_or_else(|| self.shared.estimated_now());
        let mut renewals = Vec::new();
        for &place in places {
            let known = found.get(ids[place]);
            let change = decide(place, known.map(|(_, row)| row), now);
            let (super::super::Change::Put(row)
            | super::super::Change::PutReplicated(row)
            | super::super::Change::PutUnannounced(row)) = change
            else {
                continue;
            };
            if let Some((head, old)) = known {
                let write = row.update(old, *head, self).map_err(Failure::into_error)?;
                renewals.push(Renewal { place, write, row });
            }
        }
        Ok(renewals)
    }

    fn renewed(&self, renewals: &[Renewal<'_>]) {
        for renewal in renewals {
            self.expect_lapse(&renewal.row);
        }
    }

    /// Looks for lapses when that of this row comes, too.
    pub(super) fn expect_lapse(&self, row: &TaskRow) {
        if let Some(ends) = row.ends_at() {
            self.look_for_lapses_at_ms.fetch_min(ends.wall_ms, Ordering::Relaxed);
        }
    }
}

/// A task as it is written by [`TaskTable::transact_each`], and its place among the ids.
struct Renewal<'t> {
    place: usize,
    write: Write<'t>,
    row: TaskRow,
}

/// Writes renewals and gives the places of those that others changed meanwhile.
fn write_renewals<'t>(
    transaction: &mut Transaction<'t>,
    renewals: &[Renewal<'t>],
) -> std::result::Result<Vec<usize>, Failure> {
    if renewals.is_empty() {
        return Ok(Vec::new());
    }
    let batch = renewals.iter().map(|renewal| (renewal.write.sql, renewal.write.values.clone()));
    let answers = transaction.run_all(batch)?;
    let places = renewals.iter().map(|renewal| renewal.place);
    Ok(places.zip(&answers).filter(|(_, answer)| changed(answer) == 0).map(|(place, _)| place).collect())
}

/// The time, and the tasks with the ids `$3`.
pub(super) fn tasks_by_ids_sql() -> String {
    format!(
        "SELECT {}, {} FROM @tasks t WHERE t.name = $1 AND t.id = ANY ($3)",
        now!(),
        shown_columns::<TaskRow>(false)
    )
}
