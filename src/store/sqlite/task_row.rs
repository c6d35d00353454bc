//! MCP tasks in their table, and their listing.

#![forbid(unsafe_code)]

use rusqlite::params;

use super::super::sql::{Column, bind_task, is_of_work_alone, read_task, task_columns, task_events};
use super::super::{AsOf, TaskQuery, TaskRow, TaskStatus, WorkState};
use super::columns::{Binder, Statements, select};
use super::row::{HEAD_COLUMNS, Place, Reader, SEQUENCE_BITS, SqlRow, Ticks, Unreadable, read_row, signed};
use super::table::SqlTable;
use super::work_row;
use super::writer::Transaction;
use crate::error::Result;
use crate::events::EventKind;
use crate::sync::atomic::Ordering;

/// `?1` the name, `?2` now, `?3` the last sequence number shown, `?4` the name's last, `?5` how many; then the
/// filters, NULL where there is none. `?8` tells "any partition" from the anonymous one, and `?10` that none of the
/// filters after it is given: those are about the work. A task counts as what the lapse of its lease has made of it.
pub(super) fn list_sql() -> String {
    select::<TaskRow>(
        "WHERE +t.name = ?1 AND t.sequence > ?3 AND t.sequence < ?4 AND +t.expires_at > ?2 \
         AND (?6 IS NULL OR ?6 = iif(t.work IS NULL, t.status, coalesce((SELECT iif(t.cancelation_requested, \
         'cancelled', 'failed') FROM work WHERE task = t.sequence AND ends_at <= ?2), t.status))) \
         AND (?7 IS NULL OR t.endpoint = ?7) AND (?8 OR t.authorization_partition IS ?9) \
         AND (?10 OR (t.work IS NOT NULL AND EXISTS (SELECT 1 FROM work w WHERE w.task = t.sequence \
         AND (?11 IS NULL OR w.queue = ?11) \
         AND (?12 IS NULL OR (w.worker = ?12 AND w.lease_ends_at > ?2)) \
         AND (?13 IS NULL OR (w.is_fenced AND t.status IN ('working', 'input_required') \
         AND coalesce(w.ends_at > ?2, 1) AND ?13 = CASE WHEN w.lease_ends_at > ?2 THEN 'leased' \
         WHEN t.status = 'input_required' THEN 'parked' WHEN w.due_at <= ?2 THEN 'ready' ELSE 'scheduled' END))))) \
         ORDER BY t.sequence LIMIT ?5",
    )
}

impl SqlRow for TaskRow {
    const KIND: &'static str = "task";
    const TABLE: &'static str = "tasks";
    const COLUMNS: &'static [Column] =
        &task_columns(work_row::PACKED, work_row::CHECKPOINT, work_row::LAST_FAILURE);
    const TAKES_SLOT: &'static str = "1";
    const REVISION: &'static str = "revision";
    const HAS_CLAIM: &'static str = "t.endpoint = ?5 AND t.authorization_partition IS ?6";

    fn read(
        columns: &mut Reader<'_, '_>,
        ticks: Ticks,
        _now_tick: i64,
    ) -> std::result::Result<Self, Unreadable> {
        read_task(columns, ticks)
    }

    fn bind(&self, columns: &mut Binder<'_, '_>, ticks: Ticks) -> rusqlite::Result<()> {
        bind_task(self, columns, ticks)
    }

    fn insert(
        &self,
        statements: &Statements,
        transaction: &Transaction<'_>,
        place: Place,
        ticks: Ticks,
    ) -> rusqlite::Result<()> {
        statements.insert(self, transaction, place, ticks)?;
        work_row::insert(self, transaction, place)
    }

    fn update(
        &self,
        old: &Self,
        statements: &Statements,
        transaction: &Transaction<'_>,
        place: Place,
        ticks: Ticks,
    ) -> rusqlite::Result<()> {
        if !is_of_work_alone(old, self) {
            statements.update(self, transaction, place, ticks)?;
        }
        work_row::update(old, self, transaction, place)
    }

    fn stored(table: &SqlTable<Self>, row: &Self) {
        table.expect_lapse(row);
    }

    fn expired(table: &SqlTable<Self>, row: &Self) {
        if row.work.is_some() && !row.status.is_terminal() {
            table.counters.expired_unfinished.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn events(old: Option<&Self>, new: &Self, _is_replicated: bool) -> &'static [EventKind] {
        task_events(old, new)
    }
}

/// What one row of a listing came to.
enum Listed {
    Row(Box<TaskRow>),
    Corrupt(String),
}

impl SqlTable<TaskRow> {
    pub(super) fn list_tasks(
        &self,
        query: &TaskQuery<'_>,
        as_of: AsOf,
        visit: &mut dyn FnMut(&TaskRow, u64),
        corrupt: &mut Vec<String>,
    ) -> Result<Option<u64>> {
        let now = self.shared.now();
        let first = self.name << SEQUENCE_BITS;
        // What a caller counts is the order within the name.
        let after = first.saturating_add(signed(query.after).min((1 << SEQUENCE_BITS) - 1));
        // One more tells whether anything is left.
        let most = i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1);
        let sql = list_sql();
        let mut rows = self.shared.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let values = params![
                self.name,
                now.wall_ms,
                after,
                (self.name + 1) << SEQUENCE_BITS,
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
            let listed = statement.query_map(values, |columns| {
                let sequence: i64 = columns.get(0)?;
                let row =
                    read_row::<TaskRow>(Reader::new(columns, HEAD_COLUMNS), self.shared.ticks, now.tick_ns)?;
                Ok((
                    sequence - first,
                    match row {
                        Ok(row) => Listed::Row(Box::new(row)),
                        Err(Unreadable) => Listed::Corrupt(id_of(columns, HEAD_COLUMNS)),
                    },
                ))
            })?;
            listed.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let is_more = rows.len() > query.limit;
        rows.truncate(query.limit);
        let next = rows.last().filter(|_| is_more).map(|(order, _)| order.unsigned_abs());
        for (order, listed) in rows {
            match listed {
                Listed::Row(row) => visit(&as_of(&row, now), order.unsigned_abs()),
                Listed::Corrupt(id) => corrupt.push(id),
            }
        }
        Ok(next)
    }
}

/// The id of a row that may not be readable, as far as it can be read, from the column `at`.
pub(super) fn id_of(columns: &rusqlite::Row<'_>, at: usize) -> String {
    columns
        .get_ref(at)
        .ok()
        .and_then(|id| id.as_bytes().ok().map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
        .unwrap_or_default()
}
