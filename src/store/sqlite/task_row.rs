//! MCP tasks in their table, and their listing. The members of an input round stand in three JSON texts; each
//! member is the caller's text.

#![forbid(unsafe_code)]

use std::sync::Arc;

use rusqlite::params;

use super::super::{InputState, Member, TaskCreation, TaskQuery, TaskRow, TaskStatus, TaskTable, TaskTexts};
use super::row::{
    HEAD_COLUMNS, Place, Reader, SEQUENCE_BITS, SqlRow, Ticks, Unreadable, claimed, select_to_write, signed,
};
use super::table::SqlTable;
use super::writer::Transaction;
use crate::error::Result;
use crate::events::EventKind;
use crate::json::Value;
use crate::text::Text;

macro_rules! columns {
    () => {
        "t.sequence, t.expires_at, 1, t.id, status, revision, created_at, updated_at, ttl_ms, \
         poll_interval_ms, cancelation_requested, endpoint, authorization_partition, status_message, origin, \
         metadata, declared_input_requests, input_requests, input_responses, used_input_keys, outcome"
    };
}
macro_rules! columns_claimed {
    () => {
        concat!(
            "t.sequence, t.expires_at, 1, t.id, ",
            claimed!(endpoint, "status", "'working'"),
            ", revision, created_at, updated_at, ttl_ms, poll_interval_ms, cancelation_requested, endpoint, \
             authorization_partition, ",
            claimed!(endpoint, "status_message", "NULL"),
            ", ",
            claimed!(endpoint, "origin", "'{}'"),
            ", ",
            claimed!(endpoint, "metadata", "NULL"),
            ", ",
            claimed!(endpoint, "declared_input_requests", "NULL"),
            ", ",
            claimed!(endpoint, "input_requests", "NULL"),
            ", ",
            claimed!(endpoint, "input_responses", "NULL"),
            ", ",
            claimed!(endpoint, "used_input_keys", "NULL"),
            ", ",
            claimed!(endpoint, "outcome", "NULL")
        )
    };
}
macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), " FROM tasks t ", $rest)
    };
}

const INSERT: &str = "INSERT INTO tasks (sequence, name, id, status, revision, created_at, updated_at, ttl_ms, \
     expires_at, poll_interval_ms, cancelation_requested, endpoint, authorization_partition, status_message, \
     origin, metadata, declared_input_requests, input_requests, input_responses, used_input_keys, outcome) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)";

const UPDATE: &str = "UPDATE tasks SET row_version = row_version + 1, status = ?2, revision = ?3, \
     updated_at = ?4, cancelation_requested = ?5, status_message = ?6, input_requests = ?7, \
     input_responses = ?8, used_input_keys = ?9, outcome = ?10 WHERE sequence = ?1";

/// `?1` the name, `?2` now, `?3` the last sequence number shown, `?4` the name's last, `?5` how many; then the
/// filters, NULL where there is none. `?8` tells "any partition" from the anonymous one.
pub(super) const LIST: &str = select!(
    "WHERE +name = ?1 AND sequence > ?3 AND sequence < ?4 AND +expires_at > ?2 \
     AND (?6 IS NULL OR status = ?6) AND (?7 IS NULL OR endpoint = ?7) \
     AND (?8 OR authorization_partition IS ?9) ORDER BY sequence LIMIT ?5"
);

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
    const SELECT: &'static str = select!("WHERE name = ?1 AND id = ?3");
    const SELECT_TO_WRITE: &'static str = select_to_write!(columns!(), "tasks");
    const SELECT_CLAIMED: &'static str =
        concat!("SELECT ", columns_claimed!(), " FROM tasks t WHERE name = ?1 AND id = ?3");
    const IS_CLAIMED: &'static str =
        "SELECT 1 FROM tasks WHERE name = ?1 AND id = ?2 AND endpoint = ?3 AND authorization_partition IS ?4";
    const SELECT_TO_WRITE_CLAIMED: &'static str = select_to_write!(columns_claimed!(), "tasks");
    const COUNT_SLOTS: &'static str = "SELECT count(*) FROM tasks WHERE name = ?1";
    const SELECT_EXPIRED: &'static str =
        select!("WHERE name = ?1 AND expires_at <= ?3 ORDER BY expires_at LIMIT ?4");
    const SELECT_ALL: &'static str = select!("WHERE name = ?1 AND ?2 IS NOT NULL");
    const DELETE: &'static str = "DELETE FROM tasks WHERE sequence = ?1";

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
        })
    }

    fn insert(&self, transaction: &Transaction<'_>, place: Place, ticks: Ticks) -> rusqlite::Result<()> {
        let input = InputTexts::of(self.input.as_deref());
        let texts = &self.texts;
        let values = params![
            place.sequence,
            place.name,
            texts.id(),
            self.status.name(),
            signed(self.revision),
            texts.created_ms(),
            self.updated_ms,
            self.ttl_ms,
            super::super::Row::expires_at(self).map(|deadline| ticks.deadline_ms(deadline)),
            self.poll_interval_ms,
            self.cancelation_requested,
            texts.endpoint(),
            texts.partition(),
            self.status_message.as_deref(),
            texts.origin(),
            texts.metadata(),
            texts.declared_input_requests(),
            input.requests.as_ref().map(Text::as_str),
            input.responses.as_ref().map(Text::as_str),
            input.used_keys.as_ref().map(Text::as_str),
            self.texts.outcome(),
        ];
        transaction.execute(INSERT, values).map(|_| ())
    }

    fn update(
        &self,
        _old: &Self,
        transaction: &Transaction<'_>,
        place: Place,
        _ticks: Ticks,
    ) -> rusqlite::Result<()> {
        let input = InputTexts::of(self.input.as_deref());
        let values = params![
            place.sequence,
            self.status.name(),
            signed(self.revision),
            self.updated_ms,
            self.cancelation_requested,
            self.status_message.as_deref(),
            input.requests.as_ref().map(Text::as_str),
            input.responses.as_ref().map(Text::as_str),
            input.used_keys.as_ref().map(Text::as_str),
            self.texts.outcome(),
        ];
        transaction.execute(UPDATE, values).map(|_| ())
    }

    fn event(old: Option<&Self>, new: &Self) -> Option<EventKind> {
        let Some(old) = old else { return Some(EventKind::Changed) };
        if new.revision == old.revision {
            None
        } else if new.cancelation_requested && !old.cancelation_requested {
            Some(EventKind::CancelationRequested)
        } else {
            Some(EventKind::Changed)
        }
    }
}

/// What one row of a listing came to.
enum Listed {
    Row(Box<TaskRow>),
    Corrupt(String),
}

impl TaskTable for SqlTable<TaskRow> {
    fn list(
        &self,
        query: &TaskQuery<'_>,
        visit: &mut dyn FnMut(&TaskRow, u64),
        corrupt: &mut Vec<String>,
    ) -> Result<Option<u64>> {
        let now = self.shared.now();
        let first = self.name << SEQUENCE_BITS;
        // What a caller counts is the order within the name.
        let after = first.saturating_add(signed(query.after).min((1 << SEQUENCE_BITS) - 1));
        // One more tells whether anything is left.
        let most = i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1);
        let mut rows = self.shared.read(|connection| {
            let mut statement = connection.prepare_cached(LIST)?;
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
            ];
            let listed = statement.query_map(values, |columns| {
                let sequence: i64 = columns.get(0)?;
                let row =
                    TaskRow::read(&mut Reader::new(columns, HEAD_COLUMNS), self.shared.ticks, now.tick_ns);
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
                Listed::Row(row) => visit(&row, order.unsigned_abs()),
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
