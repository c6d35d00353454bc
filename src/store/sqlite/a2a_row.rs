//! A2A tasks in their table, and their listing. The order of a listing, newest status first and absent last,
//! stands in a column of its own, so that a page is one walk over an index.

#![forbid(unsafe_code)]

use std::sync::Arc;

use rusqlite::{ToSql, params};

use super::super::{A2aFound, A2aPosition, A2aQuery, A2aRow, A2aTable, ArrayIndex, Row as _};
use super::row::{HEAD_COLUMNS, Place, Reader, SqlRow, Ticks, Unreadable, select_to_write, signed};
use super::table::SqlTable;
use super::task_row::id_of;
use super::writer::Transaction;
use crate::error::Result;
use crate::events::EventKind;

macro_rules! columns {
    () => {
        "t.sequence, t.expires_at, 1, t.id, owner, context_id, state, is_final, status_at, finalized_at, \
         retention_ms, revision, history_spans, artifacts_spans, task, status_order"
    };
}
macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), " FROM a2a_tasks t ", $rest)
    };
}

const INSERT: &str = "INSERT INTO a2a_tasks (sequence, name, id, owner, context_id, state, is_final, status_at, \
     status_order, finalized_at, retention_ms, expires_at, revision, history_spans, artifacts_spans, task) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";

const UPDATE: &str = "UPDATE a2a_tasks SET row_version = row_version + 1, owner = ?4, context_id = ?5, \
     state = ?6, is_final = ?7, status_at = ?8, status_order = ?9, finalized_at = ?10, retention_ms = ?11, \
     expires_at = ?12, revision = ?13, history_spans = ?14, artifacts_spans = ?15, task = ?16 \
     WHERE sequence = ?1 AND name = ?2 AND id = ?3";

/// Beside `status_order`, so that tasks without a status timestamp come last.
const NO_STATUS_TIMESTAMP: i64 = i64::MAX;

fn status_order(status_timestamp_ms: Option<i64>) -> i64 {
    status_timestamp_ms.map_or(NO_STATUS_TIMESTAMP, |ms| ms.checked_neg().unwrap_or(NO_STATUS_TIMESTAMP - 1))
}

/// Spans as a sequence of 32-bit numbers, least significant byte first.
fn spans_to_bytes(index: Option<&ArrayIndex>) -> Option<Vec<u8>> {
    let index = index?;
    let head = [index.member_start, index.value_start, index.value_end];
    Some(head.iter().chain(&*index.elements).flat_map(|at| at.to_le_bytes()).collect())
}

/// The spans, if they fit `text`: a cut must never fall outside it or into a character.
fn spans_from_bytes(
    bytes: Option<&[u8]>,
    text: &str,
) -> std::result::Result<Option<Arc<ArrayIndex>>, Unreadable> {
    let Some(bytes) = bytes else { return Ok(None) };
    let (numbers, []) = bytes.as_chunks::<4>() else { return Err(Unreadable) };
    let mut numbers = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes));
    let mut next = || numbers.next().ok_or(Unreadable);
    let (member_start, value_start, value_end) = (next()?, next()?, next()?);
    let elements: Box<[u32]> = numbers.collect();
    let is_boundary = |at: u32| text.is_char_boundary(at as usize);
    let rises = elements.windows(2).all(|pair| pair[0] < pair[1]);
    let inside = elements.first().is_none_or(|&first| first > value_start)
        && elements.last().is_none_or(|&last| last < value_end)
        && elements.iter().all(|&at| is_boundary(at));
    let frame = text.as_bytes().get(member_start as usize) == Some(&b'"')
        && member_start < value_start
        && value_start < value_end
        && [member_start, value_start, value_end].into_iter().all(is_boundary);
    if !(rises && inside && frame) {
        return Err(Unreadable);
    }
    Ok(Some(Arc::new(ArrayIndex { member_start, value_start, value_end, elements })))
}

impl A2aRow {
    fn write(
        &self,
        sql: &str,
        transaction: &Transaction<'_>,
        place: Place,
        ticks: Ticks,
    ) -> rusqlite::Result<()> {
        let values = params![
            place.sequence,
            place.name,
            &*self.id,
            self.owner.as_deref(),
            self.context_id.as_deref(),
            &*self.state,
            self.is_final,
            self.status_timestamp_ms,
            status_order(self.status_timestamp_ms),
            self.finalized_tick_ns.map(|tick| ticks.ms(tick)),
            self.finalized_retention_ms,
            self.expires_at().map(|deadline| ticks.deadline_ms(deadline)),
            signed(self.revision),
            spans_to_bytes(self.history.as_deref()),
            spans_to_bytes(self.artifacts.as_deref()),
            &*self.task,
        ];
        transaction.execute(sql, values).map(|_| ())
    }
}

impl SqlRow for A2aRow {
    const KIND: &'static str = "a2a";
    const SELECT: &'static str = select!("WHERE name = ?1 AND id = ?3");
    const SELECT_TO_WRITE: &'static str = select_to_write!(columns!(), "a2a_tasks");
    const COUNT_SLOTS: &'static str = "SELECT count(*) FROM a2a_tasks WHERE name = ?1";
    const SELECT_EXPIRED: &'static str =
        select!("WHERE name = ?1 AND expires_at <= ?3 ORDER BY expires_at LIMIT ?4");
    const SELECT_ALL: &'static str = select!("WHERE name = ?1 AND ?2 IS NOT NULL");
    const DELETE: &'static str = "DELETE FROM a2a_tasks WHERE sequence = ?1";

    fn read(
        columns: &mut Reader<'_, '_>,
        ticks: Ticks,
        _now_tick: i64,
    ) -> std::result::Result<Self, Unreadable> {
        let id = columns.text()?.into();
        let owner = columns.optional_text()?.map(Arc::from);
        let context_id = columns.optional_text()?.map(Arc::from);
        let state = columns.text()?.into();
        let is_final = columns.flag()?;
        let status_timestamp_ms = columns.optional_integer()?;
        let finalized_tick_ns = columns.optional_integer()?.map(|ms| ticks.tick(ms));
        let finalized_retention_ms = columns.integer()?;
        let revision = columns.count()?;
        let (history, artifacts) = (columns.optional_bytes()?, columns.optional_bytes()?);
        let task = columns.json()?;
        if finalized_tick_ns.is_some() != is_final {
            return Err(Unreadable);
        }
        Ok(Self {
            id,
            owner,
            context_id,
            state,
            is_final,
            status_timestamp_ms,
            finalized_tick_ns,
            finalized_retention_ms,
            revision,
            history: spans_from_bytes(history, task)?,
            artifacts: spans_from_bytes(artifacts, task)?,
            task: task.into(),
        })
    }

    fn insert(&self, transaction: &Transaction<'_>, place: Place, ticks: Ticks) -> rusqlite::Result<()> {
        self.write(INSERT, transaction, place, ticks)
    }

    fn update(
        &self,
        _old: &Self,
        transaction: &Transaction<'_>,
        place: Place,
        ticks: Ticks,
    ) -> rusqlite::Result<()> {
        self.write(UPDATE, transaction, place, ticks)
    }

    fn event(old: Option<&Self>, new: &Self) -> Option<EventKind> {
        (new.is_final && old.is_none_or(|old| !old.is_final)).then_some(EventKind::Finalized)
    }
}

/// The statements of a listing. Each has only the conditions that the query has, so that SQLite walks the
/// index that fits.
pub(super) fn list_sql(query: &A2aQuery<'_>, columns: &str, pages: bool) -> String {
    let mut sql = format!(
        "SELECT {columns} FROM a2a_tasks t WHERE name = ?1 AND owner IS ?2 \
         AND (expires_at IS NULL OR expires_at > ?3)"
    );
    if query.context_id.is_some() {
        sql.push_str(" AND context_id = ?4");
    }
    if query.state.is_some() {
        sql.push_str(" AND state = ?5");
    }
    if query.status_timestamp_from_ms.is_some() {
        sql.push_str(" AND status_order <= ?6");
    }
    if pages {
        if query.after.is_some() {
            sql.push_str(" AND (status_order, id) > (?7, ?8)");
        }
        sql.push_str(" ORDER BY status_order, id LIMIT ?9");
    }
    sql
}

/// The place of `status_order` among them.
const STATUS_ORDER_COLUMN: usize = 15;

enum Listed {
    Row(A2aRow),
    Unreadable(A2aPosition),
}

impl Listed {
    fn position(&self) -> A2aPosition {
        match self {
            Self::Row(row) => {
                A2aPosition { status_timestamp_ms: row.status_timestamp_ms, id: row.id.to_string() }
            }
            Self::Unreadable(position) => position.clone(),
        }
    }
}

impl A2aTable for SqlTable<A2aRow> {
    fn list(&self, query: &A2aQuery<'_>, visit: &mut dyn FnMut(&A2aRow)) -> Result<A2aFound> {
        let now = self.shared.now();
        let page_sql = list_sql(query, columns!(), true);
        let count_sql = query.count.then(|| list_sql(query, "count(*)", false));
        let from = query.status_timestamp_from_ms.map(|ms| status_order(Some(ms)));
        let after_order = query.after.map(|after| status_order(after.status_timestamp_ms));
        let after_id = query.after.map(|after| after.id.as_str());
        let most = i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1);
        let values: [(usize, &dyn ToSql); 9] = [
            (1, &self.name),
            (2, &query.owner),
            (3, &now.wall_ms),
            (4, &query.context_id),
            (5, &query.state),
            (6, &from),
            (7, &after_order),
            (8, &after_id),
            (9, &most),
        ];
        let (mut listed, total) = self.shared.read(|connection| {
            let Some(count_sql) = &count_sql else {
                return Ok((page(connection, &page_sql, &values, self.shared.ticks, now.tick_ns)?, None));
            };
            // One snapshot for the page and its count.
            let snapshot = connection.unchecked_transaction()?;
            let total = {
                let mut count = snapshot.prepare_cached(count_sql)?;
                bind(&mut count, &values)?;
                let mut rows = count.raw_query();
                rows.next()?.map_or(Ok(0), |row| row.get::<_, i64>(0))?
            };
            let listed = page(&snapshot, &page_sql, &values, self.shared.ticks, now.tick_ns)?;
            snapshot.commit()?;
            Ok((listed, Some(total)))
        })?;
        let is_more = listed.len() > query.limit;
        listed.truncate(query.limit);
        let mut found = A2aFound { total: total.map(i64::unsigned_abs), ..A2aFound::default() };
        found.next = listed.last().filter(|_| is_more).map(Listed::position);
        for listed in listed {
            match listed {
                Listed::Row(row) => visit(&row),
                Listed::Unreadable(position) => found.corrupt.push(position.id),
            }
        }
        Ok(found)
    }
}

/// The rows of a page, read in one go so that no cursor outlives the read.
fn page(
    connection: &rusqlite::Connection,
    sql: &str,
    values: &[(usize, &dyn ToSql)],
    ticks: Ticks,
    now_tick: i64,
) -> rusqlite::Result<Vec<Listed>> {
    let mut page = connection.prepare_cached(sql)?;
    bind(&mut page, values)?;
    let listed = page.raw_query().mapped(|columns| {
        if let Ok(row) = A2aRow::read(&mut Reader::new(columns, HEAD_COLUMNS), ticks, now_tick) {
            return Ok(Listed::Row(row));
        }
        let order = columns.get_ref(STATUS_ORDER_COLUMN)?.as_i64().unwrap_or(NO_STATUS_TIMESTAMP);
        let status_timestamp_ms = (order != NO_STATUS_TIMESTAMP).then(|| order.saturating_neg());
        Ok(Listed::Unreadable(A2aPosition { status_timestamp_ms, id: id_of(columns) }))
    });
    listed.collect()
}

/// Binds those of `values` that the statement has a place for.
fn bind(
    statement: &mut rusqlite::CachedStatement<'_>,
    values: &[(usize, &dyn ToSql)],
) -> rusqlite::Result<()> {
    let places = statement.parameter_count();
    for (place, value) in values.iter().filter(|(place, _)| *place <= places) {
        statement.raw_bind_parameter(*place, value)?;
    }
    Ok(())
}
