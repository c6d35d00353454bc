//! MCP tasks in columns. The members of an input round stand in three JSON texts; each member is the caller's text.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::super::{InputState, Member, Row as _, TaskCreation, TaskRow, TaskStatus, TaskTexts};
use super::work::{read_work, work_column};
use super::{Binder, Column, Reader, Source, Ticks, Unreadable, signed};
use crate::events::EventKind;
use crate::json::Value;
use crate::text::Text;

/// The columns of a task. What the tables beside it hold is read by three expressions, and last.
pub(in super::super) const fn task_columns(
    packed_work: &'static str,
    checkpoint: &'static str,
    last_failure: &'static str,
) -> [Column; 23] {
    [
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
        Column::computed(packed_work).concealed_as("NULL"),
        Column::computed(checkpoint).concealed_as("NULL"),
        Column::computed(last_failure).concealed_as("NULL"),
    ]
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

fn read_input<'r, S: Source<'r>>(columns: &mut Reader<'r, S>) -> Result<Option<Arc<InputState>>, Unreadable> {
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

/// Reads the columns of a task.
pub(in super::super) fn read_task<'r, S: Source<'r>>(
    columns: &mut Reader<'r, S>,
    ticks: Ticks,
) -> Result<TaskRow, Unreadable> {
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
    Ok(TaskRow {
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
        work: read_work(columns, ticks)?,
    })
}

/// Gives the values of a task's columns.
pub(in super::super) fn bind_task<B: Binder>(
    row: &TaskRow,
    columns: &mut B,
    ticks: Ticks,
) -> Result<(), B::Error> {
    let (texts, input) = (&row.texts, InputTexts::of(row.input.as_deref()));
    columns.put(texts.id().into())?;
    columns.put(row.status.name().into())?;
    columns.put(signed(row.revision).into())?;
    columns.put(texts.created_ms().into())?;
    columns.put(row.updated_ms.into())?;
    columns.put(row.ttl_ms.into())?;
    columns.put(row.expires_at().map(|deadline| ticks.deadline_ms(deadline)).into())?;
    columns.put(row.poll_interval_ms.into())?;
    columns.put(row.cancelation_requested.into())?;
    columns.put((&*texts.endpoint()).into())?;
    columns.put(texts.partition().as_deref().into())?;
    columns.put(row.status_message.as_deref().into())?;
    columns.put(texts.origin().into())?;
    columns.put(texts.metadata().into())?;
    columns.put(texts.declared_input_requests().into())?;
    columns.put(input.requests.as_ref().map(Text::as_str).into())?;
    columns.put(input.responses.as_ref().map(Text::as_str).into())?;
    columns.put(input.used_keys.as_ref().map(Text::as_str).into())?;
    columns.put(texts.outcome().into())?;
    columns.put(work_column(row).into())
}

/// What event queues in other processes are told of a change.
pub(in super::super) fn task_events(old: Option<&TaskRow>, new: &TaskRow) -> &'static [EventKind] {
    let Some(old) = old else { return &[EventKind::Changed] };
    if new.revision == old.revision {
        &[]
    } else if new.cancelation_requested && !old.cancelation_requested && !new.status.is_terminal() {
        &[EventKind::CancelationRequested]
    } else {
        &[EventKind::Changed]
    }
}
