//! A2A tasks in their table, and their listing.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use rusqlite::{Connection, ToSql};

use super::super::event_log::MOST_DROPPED_PER_SAVE;
use super::super::sql::{
    A2A_COLUMNS, Column, bind_a2a, listed_position, log_position, read_a2a, read_task_text, status_order,
};
use super::super::{
    A2aFound, A2aListed, A2aPosition, A2aQuery, A2aRow, A2aTable, Appended, LogPosition, corrupt_row,
};
use super::columns::{Binder, Statements};
use super::failure::storage_error;
use super::row::{Place, Reader, SqlRow, Ticks, Unreadable, check_room, signed};
use super::table::SqlTable;
use super::task_row::id_of;
use super::writer::Transaction;
use crate::error::Result;
use crate::events::EventKind;
use crate::text::Text;

const APPEND_EVENT: &str = "INSERT INTO a2a_events (task, revision, event) VALUES (?1, ?2, ?3)";
const OLDEST_EVENTS: &str =
    "SELECT revision, octet_length(event) FROM a2a_events WHERE task = ?1 ORDER BY revision LIMIT ?2";
const DROP_EVENTS: &str = "DELETE FROM a2a_events WHERE task = ?1 AND revision <= ?2";
const DELETE_EVENTS: &str = "DELETE FROM a2a_events WHERE task = ?1";
/// Where the log of the task `?2` stands, at the time `?3`.
const LOG_POSITION: &str = "SELECT sequence, revision, log_events, log_bytes, log_dropped_revision FROM a2a_tasks \
     WHERE name = ?1 AND id = ?2 AND (expires_at IS NULL OR expires_at > ?3)";
const READ_EVENTS: &str =
    "SELECT revision, event FROM a2a_events WHERE task = ?1 AND revision > ?2 ORDER BY revision LIMIT ?3";

impl A2aRow {
    /// Writes the event that comes with the row into the log, and drops what is too much. Gives the row with what
    /// the log then holds.
    fn with_log_written(
        &self,
        transaction: &Transaction<'_>,
        place: Place,
    ) -> rusqlite::Result<Cow<'_, Self>> {
        let Some(Appended { text, limits }) = &self.appended else { return Ok(Cow::Borrowed(self)) };
        let mut log = self.log;
        transaction.execute(APPEND_EVENT, (place.sequence, signed(self.revision), &**text))?;
        log.add(text);
        if log.exceed(*limits) {
            let oldest = (place.sequence, i64::try_from(MOST_DROPPED_PER_SAVE).unwrap_or(i64::MAX));
            let oldest =
                transaction.query_all(OLDEST_EVENTS, oldest, |row| Ok((row.get(0)?, row.get(1)?)))?;
            for (revision, bytes) in oldest {
                if !log.exceed(*limits) {
                    break;
                }
                let (revision, bytes): (i64, i64) = (revision, bytes);
                log.drop_oldest(revision.unsigned_abs(), bytes.unsigned_abs());
            }
            transaction.execute(DROP_EVENTS, (place.sequence, signed(log.dropped_revision)))?;
        }
        Ok(Cow::Owned(Self { log, ..self.clone() }))
    }
}

impl SqlRow for A2aRow {
    const KIND: &'static str = "a2a";
    const TABLE: &'static str = "a2a_tasks";
    const COLUMNS: &'static [Column] = &A2A_COLUMNS;
    const TAKES_SLOT: &'static str = "1";
    const REVISION: &'static str = "revision";
    const HAS_CLAIM: &'static str = "t.owner IS ?6";

    fn read(
        columns: &mut Reader<'_, '_>,
        ticks: Ticks,
        _now_tick: i64,
    ) -> std::result::Result<Self, Unreadable> {
        read_a2a(columns, ticks)
    }

    fn bind(&self, columns: &mut Binder<'_, '_>, ticks: Ticks) -> rusqlite::Result<()> {
        bind_a2a(self, columns, ticks)
    }

    fn insert(
        &self,
        statements: &Statements,
        transaction: &Transaction<'_>,
        place: Place,
        ticks: Ticks,
    ) -> rusqlite::Result<()> {
        statements.insert(self.with_log_written(transaction, place)?.as_ref(), transaction, place, ticks)
    }

    fn update(
        &self,
        _old: &Self,
        statements: &Statements,
        transaction: &Transaction<'_>,
        place: Place,
        ticks: Ticks,
    ) -> rusqlite::Result<()> {
        statements.update(self.with_log_written(transaction, place)?.as_ref(), transaction, place, ticks)
    }

    fn deleted(transaction: &Transaction<'_>, place: Place) -> rusqlite::Result<()> {
        transaction.execute(DELETE_EVENTS, (place.sequence,)).map(|_| ())
    }

    fn events(old: Option<&Self>, new: &Self, is_replicated: bool) -> &'static [EventKind] {
        let became_final = new.is_final && old.is_none_or(|old| !old.is_final);
        if old.is_some_and(|old| old.revision == new.revision) {
            &[]
        } else if became_final && !is_replicated {
            &[EventKind::Saved, EventKind::Finalized]
        } else {
            &[EventKind::Saved]
        }
    }

    fn is_damaged(&self) -> bool {
        Self::is_damaged(self) || self.has_damaged_push_configs()
    }
}

/// The statements of a listing. Each has only the conditions that the query has, so that SQLite walks the
/// index that fits.
pub(super) fn list_sql(query: &A2aQuery<'_>, columns: &str, pages: bool) -> String {
    let mut sql = String::with_capacity(512);
    sql.push_str("SELECT ");
    sql.push_str(columns);
    sql.push_str(
        " FROM a2a_tasks t WHERE name = ?1 AND owner IS ?2 AND (expires_at IS NULL OR expires_at > ?3)",
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

const HAS_ANONYMOUS: &str = "SELECT 1 FROM a2a_tasks WHERE name = ?1 AND owner IS NULL LIMIT 1";
// One look into an index for each owner, however many tasks these have.
const FIRST_OWNER: &str = "SELECT min(owner) FROM a2a_tasks WHERE name = ?1 AND owner IS NOT NULL";
const NEXT_OWNER: &str = "SELECT min(owner) FROM a2a_tasks WHERE name = ?1 AND owner > ?2";

/// What a listing reads of a row: what it shows and where it stands.
const LISTED: &str = "t.id, status_order, revision, history_spans, artifacts_spans, task";
const POSITION_COLUMNS: usize = 2;

/// The place that the first two of them say.
fn position(columns: &rusqlite::Row<'_>) -> rusqlite::Result<A2aPosition> {
    Ok(listed_position(columns.get_ref(1)?.as_i64().ok(), id_of(columns, 0)))
}

impl A2aTable for SqlTable<A2aRow> {
    fn list(&self, query: &A2aQuery<'_>, visit: &mut dyn FnMut(A2aListed<'_>)) -> Result<A2aFound> {
        let now_ms = self.shared.now().wall_ms;
        let page_sql = list_sql(query, LISTED, true);
        let count_sql = query.count.then(|| list_sql(query, "count(*)", false));
        let from = query.status_timestamp_from_ms.map(|ms| status_order(Some(ms)));
        let after_order = query.after.map(|after| status_order(after.status_timestamp_ms));
        let after_id = query.after.map(|after| after.id.as_str());
        let most = i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1);
        let values: [(usize, &dyn ToSql); 9] = [
            (1, &self.name),
            (2, &query.owner),
            (3, &now_ms),
            (4, &query.context_id),
            (5, &query.state),
            (6, &from),
            (7, &after_order),
            (8, &after_id),
            (9, &most),
        ];
        let mut found = A2aFound::default();
        let read = self.shared.read(|connection| {
            // One snapshot for the page and its count. Others are in the way only until it is taken, so that no
            // row is shown twice because the read was tried again.
            let snapshot = count_sql.as_ref().map(|_| connection.unchecked_transaction()).transpose()?;
            if let Some(count_sql) = &count_sql {
                let mut count = connection.prepare_cached(count_sql)?;
                bind(&mut count, &values)?;
                let mut rows = count.raw_query();
                let total = rows.next()?.map_or(Ok(0), |row| row.get::<_, i64>(0))?;
                found.total = Some(total.unsigned_abs());
            }
            let shown = page(connection, &page_sql, &values, query.limit, &mut found, visit)?;
            snapshot.map_or(Ok(()), rusqlite::Transaction::commit)?;
            Ok(shown)
        })?;
        read.map_err(|error| storage_error(&error))?;
        Ok(found)
    }

    fn owners(&self, after: Bound<Option<&str>>, limit: usize) -> Result<Vec<Option<Arc<str>>>> {
        let begins = after == Bound::Unbounded && limit > 0;
        let behind = if let Bound::Included(owner) | Bound::Excluded(owner) = after { owner } else { None };
        let owner = |row: &rusqlite::Row<'_>| Ok(row.get_ref(0)?.as_str().ok().map(Arc::from));
        self.shared.read(|connection| {
            let mut owners: Vec<Option<Arc<str>>> = Vec::new();
            if begins && connection.prepare_cached(HAS_ANONYMOUS)?.exists((self.name,))? {
                owners.push(None);
            }
            let mut first = connection.prepare_cached(FIRST_OWNER)?;
            let mut next = connection.prepare_cached(NEXT_OWNER)?;
            while owners.len() < limit {
                let found = match owners.last().map_or(behind, |owner| owner.as_deref()) {
                    Some(last) => next.query_row((self.name, last), owner)?,
                    None => first.query_row((self.name,), owner)?,
                };
                let Some(owner) = found else { break };
                owners.push(Some(owner));
            }
            Ok(owners)
        })
    }

    fn read_events(
        &self,
        id: &str,
        after: u64,
        limit: usize,
        visit: &mut dyn FnMut(u64, &str),
    ) -> Result<Option<LogPosition>> {
        let now_ms = self.shared.now().wall_ms;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut events: Vec<(u64, Text)> = Vec::new();
        let position = self.shared.read(|connection| {
            let snapshot = connection.unchecked_transaction()?;
            let mut position = connection.prepare_cached(LOG_POSITION)?;
            let mut rows = position.query((self.name, id, now_ms))?;
            let Some(columns) = rows.next()? else { return Ok(None) };
            let sequence: i64 = columns.get(0)?;
            let position = log_position(&mut Reader::new(columns, 1));
            drop(rows);
            let mut read = connection.prepare_cached(READ_EVENTS)?;
            let read = read.query_map((sequence, signed(after), limit), |row| {
                Ok((row.get::<_, i64>(0)?.unsigned_abs(), Text::from(row.get_ref(1)?.as_str()?)))
            })?;
            events = read.collect::<rusqlite::Result<_>>()?;
            snapshot.commit()?;
            Ok(Some(position))
        })?;
        let position = position.transpose().map_err(|Unreadable| corrupt_row())?;
        for (revision, event) in events {
            visit(revision, event.check()?.as_str());
        }
        Ok(position)
    }
}

/// Shows the rows of a page. A failure behind the first row is not tried again.
fn page(
    connection: &Connection,
    sql: &str,
    values: &[(usize, &dyn ToSql)],
    limit: usize,
    found: &mut A2aFound,
    visit: &mut dyn FnMut(A2aListed<'_>),
) -> rusqlite::Result<rusqlite::Result<()>> {
    let mut page = connection.prepare_cached(sql)?;
    bind(&mut page, values)?;
    let mut rows = page.raw_query();
    let mut row = rows.next()?;
    let mut shown = 0;
    while let Some(columns) = row {
        if shown == limit {
            return Ok(Ok(()));
        }
        shown += 1;
        let mut reader = Reader::new(columns, POSITION_COLUMNS);
        if show(&mut reader, visit).is_err() {
            check_room(&reader)?;
            found.corrupt.push(id_of(columns, 0));
        }
        found.next = if shown == limit { Some(position(columns)?) } else { None };
        row = match rows.next() {
            Ok(row) => row,
            Err(error) => return Ok(Err(error)),
        };
    }
    found.next = None;
    Ok(Ok(()))
}

/// Shows a row, out of the page of the file that it stands in.
fn show(
    columns: &mut Reader<'_, '_>,
    visit: &mut dyn FnMut(A2aListed<'_>),
) -> std::result::Result<(), Unreadable> {
    let revision = columns.count()?;
    let (task, history, artifacts) = read_task_text(columns)?;
    visit(A2aListed { revision, task, history: history.as_ref(), artifacts: artifacts.as_ref() });
    Ok(())
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
