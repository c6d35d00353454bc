//! MCP tasks in their table, and their listing. The members of an input round stand in three JSON texts; each
//! member is the caller's text.

#![forbid(unsafe_code)]

use std::sync::Arc;

use rusqlite::params;

use super::super::{
    AsOf, InputState, Member, Row as _, TaskCreation, TaskQuery, TaskRow, TaskStatus, TaskTexts, WorkState,
};
use super::columns::{Binder, Column, Statements, select};
use super::row::{HEAD_COLUMNS, Place, Reader, SEQUENCE_BITS, SqlRow, Ticks, Unreadable, read_row, signed};
use super::table::SqlTable;
use super::work_row;
use super::writer::Transaction;
use crate::error::Result;
use crate::events::EventKind;
use crate::json::Value;
use crate::sync::atomic::Ordering;
use crate::text::Text;

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

/// The texts of an input round.
#[derive(Default)]
struct InputTexts {
    requests: Option<Text>,
    responses: Option<Text>,
    used_keys: Option<Text>,
}

impl InputTexts {
    fn of(input: Option<&InputState>) -> Self {
        let Some(input) = input else { return Self::default() };
        let mut keys = Text::with_capacity(64);
        keys.push_str("[");
        for (at, key) in input.used_keys.iter().enumerate() {
            keys.push_str(if at > 0 { "," } else { "" });
            keys.push_json_string(key);
        }
        keys.push_str("]");
        Self {
            requests: Some(object(&input.outstanding)),
            responses: Some(object(&input.responses)),
            used_keys: Some(keys),
        }
    }
}

fn object(members: &[Member]) -> Text {
    let mut text = Text::with_capacity(members.iter().map(|m| m.key.len() + m.value.len() + 2).sum());
    text.push_str("{");
    for (at, member) in members.iter().enumerate() {
        text.push_str(if at > 0 { "," } else { "" });
        text.push_str(&member.key);
        text.push_str(":");
        text.push_str(&member.value);
    }
    text.push_str("}");
    text
}

fn members(text: &str) -> Vec<Member> {
    let member = |key: &str, value: Value<'_>| Member { key: key.into(), value: value.text().into() };
    Value::trusted(text).members().map(|found| member(found.raw_key, found.value)).collect()
}

fn read_input(columns: &mut Reader<'_, '_>) -> std::result::Result<Option<Arc<InputState>>, Unreadable> {
    let texts = [columns.optional_parsed()?, columns.optional_parsed()?, columns.optional_parsed()?];
    match texts {
        [None, None, None] => Ok(None),
        [Some(requests), Some(responses), Some(used_keys)] => {
            if !requests.starts_with('{') || !responses.starts_with('{') {
                return Err(Unreadable);
            }
            let keys: Option<Vec<Arc<str>>> =
                Value::trusted(used_keys).elements().map(|key| key.as_str().map(Arc::from)).collect();
            Ok(Some(Arc::new(InputState {
                outstanding: members(requests),
                used_keys: keys.ok_or(Unreadable)?,
                responses: members(responses),
            })))
        }
        // A part that is missing is damage, never an empty value.
        _ => Err(Unreadable),
    }
}

impl SqlRow for TaskRow {
    const KIND: &'static str = "task";
    const TABLE: &'static str = "tasks";
    const COLUMNS: &'static [Column] = &[
        Column::fixed("id"),
        Column::changing("status").concealed_as("'working'"),
        Column::changing("revision"),
        Column::fixed("created_at"),
        Column::changing("updated_at"),
        Column::fixed("ttl_ms"),
        Column::fixed_for_index("expires_at"),
        Column::fixed("poll_interval_ms"),
        Column::changing("cancelation_requested"),
        Column::fixed("endpoint"),
        Column::fixed("authorization_partition"),
        Column::changing("status_message").concealed_as("NULL"),
        Column::fixed("origin").concealed_as("'{}'"),
        Column::fixed("metadata").concealed_as("NULL"),
        Column::fixed("declared_input_requests").concealed_as("NULL"),
        Column::changing("input_requests").concealed_as("NULL"),
        Column::changing("input_responses").concealed_as("NULL"),
        Column::changing("used_input_keys").concealed_as("NULL"),
        Column::changing("outcome").concealed_as("NULL"),
        Column::fixed("work").concealed_as("NULL"),
        Column::computed(work_row::PACKED).concealed_as("NULL"),
        Column::computed(work_row::CHECKPOINT).concealed_as("NULL"),
        Column::computed(work_row::LAST_FAILURE).concealed_as("NULL"),
    ];
    const TAKES_SLOT: &'static str = "1";
    const REVISION: &'static str = "revision";
    const HAS_CLAIM: &'static str = "t.endpoint = ?5 AND t.authorization_partition IS ?6";

    fn read(
        columns: &mut Reader<'_, '_>,
        ticks: Ticks,
        _now_tick: i64,
    ) -> std::result::Result<Self, Unreadable> {
        let id = columns.text()?;
        let status = TaskStatus::from_name(columns.text()?).ok_or(Unreadable)?;
        let revision = columns.count()?;
        let created_ms = columns.integer()?;
        let updated_ms = columns.integer()?;
        let ttl_ms = columns.integer()?;
        let poll_interval_ms = columns.integer()?;
        let cancelation_requested = columns.flag()?;
        let endpoint = columns.text()?;
        let partition = columns.optional_text()?;
        let status_message = columns.optional_text()?.map(Arc::from);
        let creation = TaskCreation {
            endpoint: endpoint.into(),
            partition: partition.map(Into::into),
            origin: columns.json()?,
            metadata: columns.optional_json()?,
            declared_input_requests: columns.optional_json()?,
        };
        let input = read_input(columns)?;
        let outcome = columns.optional_json()?;
        let has_outcome = matches!(status, TaskStatus::Completed | TaskStatus::Failed);
        let has_requests = input.as_ref().is_some_and(|input| !input.outstanding.is_empty());
        if outcome.is_some() != has_outcome || has_requests != (status == TaskStatus::InputRequired) {
            return Err(Unreadable);
        }
        Ok(Self {
            texts: TaskTexts::new(id, created_ms, &creation, outcome).map_err(|_| Unreadable)?,
            created_tick_ns: ticks.tick(created_ms),
            updated_ms,
            ttl_ms,
            poll_interval_ms,
            status,
            status_message,
            revision,
            cancelation_requested,
            input,
            work: work_row::read(columns, ticks)?,
        })
    }

    fn bind(&self, columns: &mut Binder<'_, '_>, ticks: Ticks) -> rusqlite::Result<()> {
        let (texts, input) = (&self.texts, InputTexts::of(self.input.as_deref()));
        columns.put(texts.id())?;
        columns.put(self.status.name())?;
        columns.put(signed(self.revision))?;
        columns.put(texts.created_ms())?;
        columns.put(self.updated_ms)?;
        columns.put(self.ttl_ms)?;
        columns.put(self.expires_at().map(|deadline| ticks.deadline_ms(deadline)))?;
        columns.put(self.poll_interval_ms)?;
        columns.put(self.cancelation_requested)?;
        columns.put(texts.endpoint())?;
        columns.put(texts.partition())?;
        columns.put(self.status_message.as_deref())?;
        columns.put(texts.origin())?;
        columns.put(texts.metadata())?;
        columns.put(texts.declared_input_requests())?;
        columns.put(input.requests.as_ref().map(Text::as_str))?;
        columns.put(input.responses.as_ref().map(Text::as_str))?;
        columns.put(input.used_keys.as_ref().map(Text::as_str))?;
        columns.put(texts.outcome())?;
        columns.put(work_row::work_column(self))
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
        if !work_row::is_of_work_alone(old, self) {
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
        let Some(old) = old else { return &[EventKind::Changed] };
        if new.revision == old.revision {
            &[]
        } else if new.cancelation_requested && !old.cancelation_requested && !new.status.is_terminal() {
            &[EventKind::CancelationRequested]
        } else {
            &[EventKind::Changed]
        }
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
