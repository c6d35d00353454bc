//! A2A tasks in their table, with their log of events, and their listing. The order of a listing, newest status first
//! and absent last, stands in a column of its own, so that a page is one walk over an index; where two long names would
//! not fit into an index, their digests stand there.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use super::super::event_log::MOST_DROPPED_PER_SAVE;
use super::super::sql::{
    A2A_COLUMNS, Column, bind_a2a, listed_position, log_position, read_a2a, read_task_text, status_order,
};
use super::super::{A2aFound, A2aListed, A2aQuery, A2aRow, A2aTable, Appended, LogPosition, corrupt_row};
use super::columns::{
    Binder, INSERT_PARAMETERS, Statements, UPDATE_PARAMETERS, assignments, bind, insert, inserted, updated,
};
use super::fault::{Failure, Fault};
use super::row::{Head, NewRow, PgRow, Reader, Ticks, Unreadable, Write, signed};
use super::statement_text::{now, server_ms};
use super::table::PgTable;
use super::values::values;
use crate::error::Result;
use crate::events::EventKind;

const INSERT_WITH_EVENT: usize = 0;
const UPDATE_WITH_EVENT: usize = 1;
const UPDATE_AND_DROP_EVENTS: usize = 2;

const OLDEST_EVENTS: &str = "SELECT revision, octet_length(event)::bigint FROM @a2a_events WHERE task = $1 \
     ORDER BY revision LIMIT $2";
/// Where the log of the task `$3` stands, and its events behind the revision `$4`, at most `$5`: in one snapshot, and
/// the position in a row of its own, before them.
const READ_EVENTS: &str = concat!(
    "WITH p AS (SELECT sequence, revision, log_events, log_bytes, log_dropped_revision FROM @a2a_tasks \
     WHERE name = $1 AND id = $3 AND (expires_at IS NULL OR expires_at > ",
    now!(),
    ")) SELECT revision, log_events, log_bytes, log_dropped_revision, NULL::text, 0::bigint AS place FROM p \
     UNION ALL (SELECT e.revision, 0, 0, 0, e.event, 1::bigint FROM p, @a2a_events e \
     WHERE e.task = p.sequence AND e.revision > $4 ORDER BY e.revision LIMIT $5) ORDER BY 6, 1"
);

fn variants() -> Vec<String> {
    let columns = &A2A_COLUMNS;
    let event = |first: usize, of: &str| {
        format!(
            "e AS (INSERT INTO @a2a_events (task, revision, event) SELECT {of}.sequence, ${first}, ${} FROM {of})",
            first + 1
        )
    };
    let new = INSERT_PARAMETERS + inserted(columns) + 1;
    let changed = UPDATE_PARAMETERS + updated(columns) + 1;
    let update = format!(
        "WITH u AS (UPDATE @a2a_tasks SET {}, row_version = row_version + 1 WHERE sequence = $1 AND row_version = $2 \
         AND (expires_at IS NULL OR expires_at > (SELECT coalesce($3::bigint, {}))) RETURNING sequence), {}",
        assignments(columns, UPDATE_PARAMETERS + 1),
        server_ms!(),
        event(changed, "u")
    );
    vec![
        format!("WITH n AS ({}), {} SELECT created_at, heard FROM n", insert::<A2aRow>(), event(new, "n")),
        format!("{update} SELECT count(*) FROM u"),
        format!(
            "{update}, d AS (DELETE FROM @a2a_events USING u WHERE @a2a_events.task = u.sequence \
             AND @a2a_events.revision <= ${}) SELECT count(*) FROM u",
            changed + 2
        ),
    ]
}

impl A2aRow {
    /// The row with what its log holds once the event that comes with it is there and what is too much is dropped.
    fn with_log(&self, head: Option<Head>, table: &PgTable<Self>) -> Result<Cow<'_, Self>> {
        let Some(Appended { text, limits }) = &self.appended else { return Ok(Cow::Borrowed(self)) };
        let mut log = self.log;
        log.add(text);
        if log.exceed(*limits)
            && let Some(head) = head
        {
            // The log changes with the task only, whose version says that nobody came in between.
            let most = i64::try_from(MOST_DROPPED_PER_SAVE).unwrap_or(i64::MAX);
            for columns in table.shared.read(OLDEST_EVENTS, &values![head.sequence, most])? {
                if !log.exceed(*limits) {
                    break;
                }
                log.drop_oldest(columns.integer(0).unsigned_abs(), columns.integer(1).unsigned_abs());
            }
        }
        Ok(Cow::Owned(Self { log, ..self.clone() }))
    }
}

impl PgRow for A2aRow {
    const KIND: &'static str = "a2a";
    const TABLE: &'static str = "a2a_tasks";
    const COLUMNS: &'static [Column] = &A2A_COLUMNS;
    const TAKES_SLOT: &'static str = "true";
    const REVISION: &'static str = "revision";
    const HAS_CLAIM: &'static str = "t.owner IS NOT DISTINCT FROM $6";
    const EXPIRES_BY_COLUMN: bool = true;
    const DEPENDENTS: &'static [(&'static str, &'static str)] = &[("a2a_events", "task")];

    fn variants() -> Vec<String> {
        variants()
    }

    fn read(columns: &mut Reader<'_>, ticks: Ticks, _now_tick: i64) -> std::result::Result<Self, Unreadable> {
        read_a2a(columns, ticks)
    }

    fn bind(
        &self,
        columns: &mut Binder<'_>,
        ticks: Ticks,
    ) -> std::result::Result<(), std::convert::Infallible> {
        bind_a2a(self, columns, ticks)
    }

    fn insert<'s>(&self, statements: &'s Statements, new: &NewRow, ticks: Ticks) -> Write<'s> {
        let mut values = new.values();
        let Some(Appended { text, .. }) = &self.appended else {
            bind(self, &mut values, true, ticks);
            return Write { sql: &statements.insert, values };
        };
        let mut row = self.clone();
        row.log.add(text);
        bind(&row, &mut values, true, ticks);
        values.push(signed(self.revision).into());
        values.push((&**text).into());
        Write { sql: &statements.variants[INSERT_WITH_EVENT], values }
    }

    fn update<'s>(
        &self,
        _old: &Self,
        head: Head,
        table: &'s PgTable<Self>,
    ) -> std::result::Result<Write<'s>, Failure> {
        let statements = &table.statements;
        let mut values = values![head.sequence, head.version, table.shared.manual_ms()];
        let row = self.with_log(Some(head), table).map_err(Failure::Refused)?;
        bind(row.as_ref(), &mut values, false, table.shared.ticks);
        let Some(Appended { text, .. }) = &self.appended else {
            return Ok(Write { sql: &statements.update, values });
        };
        values.push(signed(self.revision).into());
        values.push((&**text).into());
        if row.log.dropped_revision == self.log.dropped_revision {
            return Ok(Write { sql: &statements.variants[UPDATE_WITH_EVENT], values });
        }
        values.push(signed(row.log.dropped_revision).into());
        Ok(Write { sql: &statements.variants[UPDATE_AND_DROP_EVENTS], values })
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

    fn is_news(old: Option<&Self>, new: &Self) -> bool {
        old.is_none_or(|old| old.revision != new.revision)
    }

    fn is_damaged(&self) -> bool {
        Self::is_damaged(self) || self.has_damaged_push_configs()
    }
}

/// The statements of a listing. Each has only the conditions that the query has, so that the index that fits is walked.
/// `$1` is the name, `$2` now.
fn list_sql(query: &A2aQuery<'_>, columns: &str, pages: bool) -> String {
    let is_narrow = query.context_id.is_some() || query.state.is_some();
    let mut sql = format!("SELECT {columns} FROM @a2a_tasks t WHERE name = $1 AND ");
    sql.push_str(match (query.owner, is_narrow) {
        (Some(_), false) => "owner = $3",
        (Some(_), true) => "hashtextextended(owner, 0) = hashtextextended($3, 0) AND owner = $3",
        (None, false) => "owner IS NULL",
        (None, true) => "hashtextextended(owner, 0) IS NULL AND owner IS NULL",
    });
    sql.push_str(" AND (expires_at IS NULL OR expires_at > ");
    sql.push_str(now!());
    sql.push(')');
    if query.context_id.is_some() {
        sql.push_str(" AND hashtextextended(context_id, 0) = hashtextextended($4, 0) AND context_id = $4");
    }
    if query.state.is_some() {
        sql.push_str(" AND hashtextextended(state, 0) = hashtextextended($5, 0) AND state = $5");
    }
    if query.status_timestamp_from_ms.is_some() {
        sql.push_str(" AND status_order <= $6");
    }
    if pages {
        if query.after.is_some() {
            sql.push_str(" AND (status_order, id) > ($7, $8)");
        }
        sql.push_str(" ORDER BY status_order, id LIMIT $9");
    }
    sql
}

const HAS_ANONYMOUS: &str = "SELECT 1::bigint FROM @a2a_tasks WHERE name = $1 AND owner IS NULL LIMIT 1";
/// The next owners behind `$2` (NULL: from the first on), at most `$3`: one look into an index for each, however many
/// tasks these have.
const OWNERS: &str = "WITH RECURSIVE o AS ((SELECT owner, 1::bigint AS place FROM @a2a_tasks WHERE name = $1 \
     AND owner IS NOT NULL AND ($2 IS NULL OR owner > $2) ORDER BY owner LIMIT 1) UNION ALL \
     SELECT (SELECT t.owner FROM @a2a_tasks t WHERE t.name = $1 AND t.owner > o.owner ORDER BY t.owner LIMIT 1), \
     o.place + 1 FROM o WHERE o.owner IS NOT NULL AND o.place < $3) \
     SELECT owner FROM o WHERE owner IS NOT NULL ORDER BY place LIMIT $3";

/// What a listing reads of a row: what it shows and where it stands.
const LISTED: &str = "t.id, status_order, revision, history_spans, artifacts_spans, task";
const POSITION_COLUMNS: usize = 2;

impl A2aTable for PgTable<A2aRow> {
    fn list(&self, query: &A2aQuery<'_>, visit: &mut dyn FnMut(A2aListed<'_>)) -> Result<A2aFound> {
        let most = i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1);
        let values = values![
            self.name,
            self.shared.manual_ms(),
            query.owner,
            query.context_id,
            query.state,
            query.status_timestamp_from_ms.map(|ms| status_order(Some(ms))),
            query.after.map(|after| status_order(after.status_timestamp_ms)),
            query.after.map(|after| after.id.as_str()),
            most,
        ];
        // One statement, and so one snapshot, for the page and its count. The count stands in a row before it.
        let count = query.count.then(|| list_sql(query, "count(*)", false));
        let columns = if query.count { format!("{LISTED}, NULL::bigint") } else { LISTED.to_owned() };
        let page = list_sql(query, &columns, true);
        let sql = match count {
            Some(count) => format!(
                "SELECT NULL::text, NULL::bigint, NULL::bigint, NULL::bytea, NULL::bytea, NULL::text, ({count}) \
                 UNION ALL ({page})"
            ),
            None => page,
        };
        let rows = self.shared.read(&sql, &values)?;
        let mut found = A2aFound::default();
        let mut rows = &rows[..];
        if query.count {
            let (count, page) = rows.split_first().ok_or_else(|| Fault::Protocol.into_error())?;
            found.total = Some(count.integer(6).unsigned_abs());
            rows = page;
        }
        let is_more = rows.len() > query.limit;
        for columns in &rows[..rows.len().min(query.limit)] {
            let mut reader = Reader::new(columns, POSITION_COLUMNS);
            if show(&mut reader, visit).is_err() {
                if reader.lacks_room() {
                    return Err(Fault::NoRoom.into_error());
                }
                found.corrupt.push(columns.text(0));
            }
        }
        if is_more && let Some(last) = query.limit.checked_sub(1).and_then(|last| rows.get(last)) {
            found.next = Some(listed_position(last.optional_integer(1), last.text(0)));
        }
        Ok(found)
    }

    fn owners(&self, after: Bound<Option<&str>>, limit: usize) -> Result<Vec<Option<Arc<str>>>> {
        let begins = after == Bound::Unbounded && limit > 0;
        let behind = if let Bound::Included(owner) | Bound::Excluded(owner) = after { owner } else { None };
        let mut owners: Vec<Option<Arc<str>>> = Vec::new();
        if begins && !self.shared.read(HAS_ANONYMOUS, &values![self.name])?.is_empty() {
            owners.push(None);
        }
        let left = i64::try_from(limit.saturating_sub(owners.len())).unwrap_or(i64::MAX);
        if left > 0 {
            let rows = self.shared.read(OWNERS, &values![self.name, behind, left])?;
            owners.extend(rows.iter().map(|columns| Some(columns.text(0).into())));
        }
        Ok(owners)
    }

    fn read_events(
        &self,
        id: &str,
        after: u64,
        limit: usize,
        visit: &mut dyn FnMut(u64, &str),
    ) -> Result<Option<LogPosition>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values = values![self.name, self.shared.manual_ms(), id, signed(after), limit];
        let rows = self.shared.read(READ_EVENTS, &values)?;
        let Some((position, events)) = rows.split_first() else { return Ok(None) };
        let position = log_position(&mut Reader::new(position, 0)).map_err(|Unreadable| corrupt_row())?;
        for columns in events {
            let event = Reader::new(columns, 4).text().map_err(|Unreadable| corrupt_row())?;
            visit(columns.integer(0).unsigned_abs(), event);
        }
        Ok(Some(position))
    }
}

/// Shows a row, out of the answer that it stands in.
fn show(
    columns: &mut Reader<'_>,
    visit: &mut dyn FnMut(A2aListed<'_>),
) -> std::result::Result<(), Unreadable> {
    let revision = columns.count()?;
    let (task, history, artifacts) = read_task_text(columns)?;
    visit(A2aListed { revision, task, history: history.as_ref(), artifacts: artifacts.as_ref() });
    Ok(())
}
