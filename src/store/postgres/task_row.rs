//! MCP tasks in their table, and their listing. A task with work has a row of its own for that, whose version moves with
//! every change and which is locked before the task's own row is, everywhere.

#![forbid(unsafe_code)]

use std::sync::atomic::Ordering;

use super::super::sql::{
    Column, bind_task, is_of_work_alone, operation_key, read_task, task_columns, task_events,
};
use super::super::{AsOf, Operation, TaskQuery, TaskRow, TaskStatus, Work, WorkState};
use super::columns::{
    Binder, INSERT_PARAMETERS, Statements, UPDATE_PARAMETERS, assignments, bind, dated, insert, inserted,
    shown_columns, updated,
};
use super::fault::Failure;
use super::row::{
    HEAD_COLUMNS, Head, NewRow, PgRow, Reader, SEQUENCE_BITS, Stored, Ticks, Unreadable, Write, signed,
};
use super::statement_text::{now, server_ms};
use super::table::PgTable;
use super::values::{Row as Columns, Values, values};
use crate::error::Result;
use crate::events::EventKind;

/// Of the columns of a task: the narrow row, packed into one text, or NULL.
const PACKED: &str = "CASE WHEN t.work IS NOT NULL THEN (SELECT json_build_array(queue, is_fenced, operation_id, \
     maximum_attempts, backoff_ms, maximum_backoff_ms, attempt, continues_attempt, token, worker, lease_ends_at, \
     available_at)::text FROM @work WHERE task = t.sequence) END";
const CHECKPOINT: &str =
    "CASE WHEN t.work IS NOT NULL THEN (SELECT checkpoint FROM @work_texts WHERE task = t.sequence) END";
const LAST_FAILURE: &str =
    "CASE WHEN t.work IS NOT NULL THEN (SELECT last_failure FROM @work_texts WHERE task = t.sequence) END";

/// Places of the statements that tasks have beside the usual ones.
const INSERT_WITH_WORK: usize = 0;
const UPDATE_WITH_WORK: usize = 1;
const UPDATE_WITH_WORK_AND_TEXTS: usize = 2;
const UPDATE_WORK: usize = 3;
const UPDATE_WORK_AND_TEXTS: usize = 4;

/// The columns of work that an insert writes, beside those of its place.
const WORK_COLUMNS: [&str; 15] = [
    "queue",
    "is_fenced",
    "operation_id",
    "operation_key",
    "maximum_attempts",
    "backoff_ms",
    "maximum_backoff_ms",
    "attempt",
    "continues_attempt",
    "token",
    "worker",
    "lease_ends_at",
    "available_at",
    "due_at",
    "ends_at",
];
/// Of these, the first that changes.
const FIXED_WORK_COLUMNS: usize = 7;

fn variants() -> Vec<String> {
    let columns = TaskRow::COLUMNS;
    let work = INSERT_PARAMETERS + inserted(columns) + 1;
    let texts = work + WORK_COLUMNS.len();
    let of_work: Vec<String> =
        WORK_COLUMNS.iter().zip(work..).map(|(column, at)| dated::<TaskRow>(column, at)).collect();
    // Moved as far as the task itself was.
    let insert_with_work = format!(
        "WITH n AS ({}), w AS (INSERT INTO @work (task, name, {}) SELECT n.sequence, $1, {} \
         FROM n, LATERAL (SELECT coalesce(n.created_at - $3::bigint, 0) AS ms) moved), \
         x AS (INSERT INTO @work_texts (task, checkpoint, last_failure) SELECT n.sequence, ${texts}, \
         ${} FROM n WHERE coalesce(${texts}, ${}) IS NOT NULL) SELECT created_at, heard FROM n",
        insert::<TaskRow>(),
        WORK_COLUMNS.join(", "),
        of_work.join(", "),
        texts + 1,
        texts + 1,
    );
    // The work is written before the task, and only if both are still as they were read.
    let changing = &WORK_COLUMNS[FIXED_WORK_COLUMNS..];
    let update_work = |first: usize| {
        let assigned: Vec<String> =
            changing.iter().zip(first..).map(|(column, at)| format!("{column} = ${at}")).collect();
        format!(
            "WITH w AS (UPDATE @work SET {}, row_version = row_version + 1 WHERE task = $1 AND row_version = $2 \
             AND EXISTS (SELECT 1 FROM @tasks e WHERE e.sequence = $1 AND e.expires_at > \
             (SELECT coalesce($3::bigint, {}))) RETURNING task)",
            assigned.join(", "),
            server_ms!()
        )
    };
    let write_texts = |first: usize| {
        format!(
            ", x AS (INSERT INTO @work_texts (task, checkpoint, last_failure) SELECT w.task, ${first}, ${} FROM w \
             ON CONFLICT (task) DO UPDATE SET checkpoint = excluded.checkpoint, \
             last_failure = excluded.last_failure)",
            first + 1
        )
    };
    let own = UPDATE_PARAMETERS + changing.len() + 1;
    let update_task = format!(
        ", u AS (UPDATE @tasks SET {}, row_version = @tasks.row_version + 1 FROM w WHERE @tasks.sequence = w.task)",
        assignments(columns, own)
    );
    let count = " SELECT count(*) FROM w";
    let work = update_work(UPDATE_PARAMETERS + 1);
    let (texts_alone, texts_behind) = (write_texts(own), write_texts(own + updated(columns)));
    vec![
        insert_with_work,
        format!("{work}{update_task}{count}"),
        format!("{work}{update_task}{texts_behind}{count}"),
        format!("{work}{count}"),
        format!("{work}{texts_alone}{count}"),
    ]
}

fn bind_changing_work(row: &TaskRow, work: &Work, values: &mut Values) {
    values.push(i64::from(work.attempt).into());
    values.push(work.continues_attempt.into());
    values.push(signed(work.token).into());
    values.push(work.lease.as_ref().map(|lease| &*lease.worker).into());
    values.push(work.lease.as_ref().map(|lease| lease.ends.wall_ms).into());
    values.push(work.available_at.map(|moment| moment.wall_ms).into());
    values.push(row.due_at().map(|moment| moment.wall_ms).into());
    values.push(row.ends_at().map(|moment| moment.wall_ms).into());
}

impl PgRow for TaskRow {
    const KIND: &'static str = "task";
    const TABLE: &'static str = "tasks";
    const COLUMNS: &'static [Column] = &task_columns(PACKED, CHECKPOINT, LAST_FAILURE);
    const TAKES_SLOT: &'static str = "true";
    const VERSION: &'static str = "CASE WHEN t.work IS NULL THEN t.row_version \
         ELSE (SELECT row_version FROM @work WHERE task = t.sequence) END";
    const REVISION: &'static str = "revision";
    const HAS_CLAIM: &'static str = "t.endpoint = $5 AND t.authorization_partition IS NOT DISTINCT FROM $6";
    const EXPIRES_BY_COLUMN: bool = true;
    const DEPENDENTS: &'static [(&'static str, &'static str)] = &[("work", "task"), ("work_texts", "task")];
    const LOCKED_FIRST: &'static [(&'static str, &'static str)] = &[("work", "task")];
    const LOCK_EXPIRED: (&'static str, &'static str) = (
        concat!(
            "WITH w AS MATERIALIZED (SELECT task FROM @work WHERE task IN (SELECT sequence FROM @tasks \
             WHERE name = $1 AND expires_at <= ",
            now!(),
            " ORDER BY expires_at LIMIT $3) FOR UPDATE SKIP LOCKED) "
        ),
        "AND (t.work IS NULL OR t.sequence IN (SELECT task FROM w))",
    );

    const DATED: &'static [&'static str] =
        &["created_at", "updated_at", "expires_at", "lease_ends_at", "available_at", "due_at", "ends_at"];
    const CREATED_AT: &'static str = "t.created_at";
    const HAS_OPERATIONS: bool = true;

    fn operation(&self) -> Option<[u8; 32]> {
        let id = self.work.as_ref()?.order.operation_id.as_deref()?;
        let (endpoint, partition) = (self.texts.endpoint(), self.texts.partition());
        Some(operation_key(&Operation { endpoint: &endpoint, partition: partition.as_deref(), id }))
    }

    fn variants() -> Vec<String> {
        variants()
    }

    fn read(columns: &mut Reader<'_>, ticks: Ticks, _now_tick: i64) -> std::result::Result<Self, Unreadable> {
        read_task(columns, ticks)
    }

    fn bind(
        &self,
        columns: &mut Binder<'_>,
        ticks: Ticks,
    ) -> std::result::Result<(), std::convert::Infallible> {
        bind_task(self, columns, ticks)
    }

    fn insert<'s>(&self, statements: &'s Statements, new: &NewRow, ticks: Ticks) -> Write<'s> {
        let mut values = new.values();
        bind(self, &mut values, true, ticks);
        let Some(work) = &self.work else { return Write { sql: &statements.insert, values } };
        let order = &work.order;
        let key = self.operation();
        values.push(order.queue.as_deref().into());
        values.push(order.is_fenced.into());
        values.push(order.operation_id.as_deref().into());
        values.push(key.as_ref().map(<[u8; 32]>::as_slice).into());
        values.push(i64::from(order.attempts.maximum).into());
        values.push(order.attempts.backoff_ms.into());
        values.push(order.attempts.maximum_backoff_ms.into());
        bind_changing_work(self, work, &mut values);
        values.push(work.checkpoint.as_deref().into());
        values.push(work.last_failure.as_deref().into());
        Write { sql: &statements.variants[INSERT_WITH_WORK], values }
    }

    fn update<'s>(
        &self,
        old: &Self,
        head: Head,
        table: &'s PgTable<Self>,
    ) -> std::result::Result<Write<'s>, Failure> {
        let (statements, ticks) = (&table.statements, table.shared.ticks);
        let mut values = values![head.sequence, head.version, table.shared.manual_ms()];
        let Some(work) = &self.work else {
            bind(self, &mut values, false, ticks);
            return Ok(Write { sql: &statements.update, values });
        };
        bind_changing_work(self, work, &mut values);
        let is_of_work = is_of_work_alone(old, self);
        if !is_of_work {
            bind(self, &mut values, false, ticks);
        }
        let texts = |work: &Work| (work.checkpoint.clone(), work.last_failure.clone());
        let has_texts = old.work.as_deref().map_or((None, None), texts) != texts(work);
        if has_texts {
            values.push(work.checkpoint.as_deref().into());
            values.push(work.last_failure.as_deref().into());
        }
        let variant = match (is_of_work, has_texts) {
            (false, false) => UPDATE_WITH_WORK,
            (false, true) => UPDATE_WITH_WORK_AND_TEXTS,
            (true, false) => UPDATE_WORK,
            (true, true) => UPDATE_WORK_AND_TEXTS,
        };
        Ok(Write { sql: &statements.variants[variant], values })
    }

    fn stored(table: &PgTable<Self>, row: &Self) {
        table.expect_lapse(row);
        if row.due_at().is_some() {
            table.queue_watch.changed();
        }
    }

    fn expired(table: &PgTable<Self>, row: &Self) {
        if row.work.is_some() && !row.status.is_terminal() {
            table.counters.expired_unfinished.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn events(old: Option<&Self>, new: &Self, _is_replicated: bool) -> &'static [EventKind] {
        task_events(old, new)
    }

    fn is_news(old: Option<&Self>, new: &Self) -> bool {
        old.is_some_and(|old| old.revision != new.revision)
    }

    fn queue_changed<'r>(old: Option<&Self>, new: &'r Self) -> Option<&'r str> {
        let due = new.due_at()?;
        let is_sooner = old.and_then(Self::due_at).is_none_or(|before| due.wall_ms < before.wall_ms);
        new.work.as_ref()?.queue().filter(|_| is_sooner).map(|queue| &**queue)
    }
}

/// `$1` the name, `$2` now, `$3` the last sequence number shown, `$4` how many; then the filters, NULL where there is
/// none. `$7` tells "any partition" from the anonymous one, and `$9` that none of the filters after it is given: those
/// are about the work. A task counts as what the lapse of its lease has made of it.
fn list_sql() -> String {
    format!(
        "SELECT n.now, {} FROM (SELECT {} AS now) n, @tasks t \
         WHERE t.sequence > $3 AND t.sequence < ($1 + 1) << 40 AND t.expires_at > n.now \
         AND ($5 IS NULL OR $5 = CASE WHEN t.work IS NULL THEN t.status ELSE coalesce((SELECT CASE WHEN \
         t.cancelation_requested THEN 'cancelled' ELSE 'failed' END FROM @work WHERE task = t.sequence \
         AND ends_at <= n.now), t.status) END) \
         AND ($6 IS NULL OR t.endpoint = $6) AND ($7 OR t.authorization_partition IS NOT DISTINCT FROM $8) \
         AND ($9 OR (t.work IS NOT NULL AND EXISTS (SELECT 1 FROM @work w WHERE w.task = t.sequence \
         AND ($10 IS NULL OR w.queue = $10) \
         AND ($11 IS NULL OR (w.worker = $11 AND w.lease_ends_at > n.now)) \
         AND ($12 IS NULL OR (w.is_fenced AND t.status IN ('working', 'input_required') \
         AND coalesce(w.ends_at > n.now, true) AND $12 = CASE WHEN w.lease_ends_at > n.now THEN 'leased' \
         WHEN t.status = 'input_required' THEN 'parked' WHEN w.due_at <= n.now THEN 'ready' \
         ELSE 'scheduled' END))))) ORDER BY t.sequence LIMIT $4",
        shown_columns::<TaskRow>(false),
        now!(),
    )
}

impl PgTable<TaskRow> {
    pub(super) fn list_tasks(
        &self,
        query: &TaskQuery<'_>,
        as_of: AsOf,
        visit: &mut dyn FnMut(&TaskRow, u64),
        corrupt: &mut Vec<String>,
    ) -> Result<Option<u64>> {
        let first = self.name << SEQUENCE_BITS;
        // What a caller counts is the order within the name.
        let after = first.saturating_add(signed(query.after).min((1 << SEQUENCE_BITS) - 1));
        // One more tells whether anything is left.
        let most = i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1);
        let values = values![
            self.name,
            self.shared.manual_ms(),
            after,
            most,
            query.status.map(TaskStatus::name),
            query.endpoint,
            query.partition.is_none(),
            query.partition.flatten(),
            query.queue.is_none() && query.worker.is_none() && query.work_state.is_none(),
            query.queue,
            query.worker,
            query.work_state.map(WorkState::name),
        ];
        let mut rows = self.shared.read(&list_sql(), &values)?;
        let is_more = rows.len() > query.limit;
        rows.truncate(query.limit);
        let mut last = None;
        for columns in &rows {
            let now = self.shared.now_at(columns.integer(0));
            let Some(Stored { head, row }) = self.stored(columns, 1, now, &[])? else { continue };
            let order = (head.sequence - first).unsigned_abs();
            last = Some(order);
            match row {
                Ok(row) => visit(&as_of(&row, now), order),
                Err(Unreadable) => corrupt.push(id_of(columns, 1)),
            }
        }
        Ok(last.filter(|_| is_more))
    }
}

/// The id of a row that may not be readable, whose head begins at the column `at`.
pub(super) fn id_of(columns: &Columns, at: usize) -> String {
    columns.text(at + HEAD_COLUMNS)
}
