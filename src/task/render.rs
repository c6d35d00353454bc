//! Texts of a task: the trusted record and the three renderings for clients. All are put together from the
//! row's numbers and from texts that are spliced in byte for byte. A read parses nothing and allocates once.

#![forbid(unsafe_code)]

mod work;

pub(crate) use self::work::Answer;
use super::Rendering;
use crate::error::Result;
use crate::json::{ObjectWriter, Value};
use crate::store::{Member, TaskRow, TaskStatus};
use crate::text::{LARGE_BYTES, Text};
use crate::time::format_timestamp;

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// Room for the names, numbers and punctuation of a record, whatever its numbers.
const RECORD_FRAME_BYTES: usize = 384;

/// Room for all of a task but its payload, in any of its forms.
fn room(row: &TaskRow) -> usize {
    // An escaped character takes six bytes at most.
    RECORD_FRAME_BYTES
        + row.texts.bytes()
        + row.status_message.as_ref().map_or(0, |message| 6 * message.len())
}

/// Appends the members of the task from the value of `taskId` up to the payload.
#[inline]
fn push_state(text: &mut Text, row: &TaskRow) {
    text.push_str(row.texts.id());
    match row.status {
        TaskStatus::Working => text.push_str("\",\"status\":\"working\""),
        TaskStatus::InputRequired => text.push_str("\",\"status\":\"input_required\""),
        TaskStatus::Completed => text.push_str("\",\"status\":\"completed\""),
        TaskStatus::Failed => text.push_str("\",\"status\":\"failed\""),
        TaskStatus::Cancelled => text.push_str("\",\"status\":\"cancelled\""),
    }
    if let Some(message) = &row.status_message {
        text.push_str(",\"statusMessage\":");
        text.push_json_string(message);
    }
    text.push_str(",\"createdAt\":\"");
    text.push_str(row.texts.created_at());
    text.push_str("\",\"lastUpdatedAt\":\"");
    text.push_timestamp(&format_timestamp(row.updated_ms));
    text.push_str("\",\"ttlMs\":");
    text.push_int(row.ttl_ms);
    text.push_str(",\"pollIntervalMs\":");
    text.push_int(row.poll_interval_ms);
}

/// What a task shows beside its metadata, by status.
enum Payload<'a> {
    None,
    Outcome(&'static str, &'a str),
    InputRequests(&'a [Member]),
}

impl<'a> Payload<'a> {
    const INPUT_REQUESTS: &'static str = ",\"inputRequests\":";

    fn of(row: &'a TaskRow) -> Self {
        match (row.status, &row.input) {
            (TaskStatus::Completed, _) => Self::Outcome(",\"result\":", row.texts.outcome().unwrap_or("{}")),
            (TaskStatus::Failed, _) => Self::Outcome(",\"error\":", row.texts.outcome().unwrap_or("{}")),
            (TaskStatus::InputRequired, Some(input)) => Self::InputRequests(&input.outstanding),
            _ => Self::None,
        }
    }

    /// Room for it beside the row's own texts, which have the outcome.
    fn room(&self) -> usize {
        match self {
            Self::None | Self::Outcome(..) => 0,
            Self::InputRequests(requests) => Self::INPUT_REQUESTS.len() + object_len(requests),
        }
    }

    #[inline]
    fn push(&self, text: &mut Text) {
        match self {
            Self::None => {}
            Self::Outcome(label, outcome) => {
                text.push_str(label);
                text.push_str(outcome);
            }
            Self::InputRequests(requests) => {
                text.push_str(Self::INPUT_REQUESTS);
                push_object(text, requests);
            }
        }
    }
}

fn object_len(members: &[Member]) -> usize {
    1 + members.iter().map(|member| member.key.len() + member.value.len() + 2).sum::<usize>().max(1)
}

fn push_object(text: &mut Text, members: &[Member]) {
    let mut object = ObjectWriter::new(text);
    for member in members {
        object.member(&member.key, &member.value);
    }
}

/// An object of members as they came.
pub(crate) fn object(members: &[Member]) -> Text {
    let mut text = Text::with_capacity(object_len(members));
    push_object(&mut text, members);
    text
}

/// The record, for trusted readers.
pub(crate) fn record(row: &TaskRow) -> Text {
    let payload = Payload::of(row);
    let mut text = Text::with_capacity(record_room(row, &payload));
    push_record_with(&mut text, row, &payload, true, Answer::default());
    text
}

/// Room for the record.
#[inline]
fn record_room(row: &TaskRow, payload: &Payload<'_>) -> usize {
    room(row) + payload.room() + work::room(row)
}

/// Room for the record, if it is a large one; fails where there is no memory for it. To be asked for before a change
/// is made, so that a change whose record cannot be given out is not made.
pub(crate) fn reserve_record(row: &TaskRow) -> Result<Option<Text>> {
    let room = record_room(row, &Payload::of(row));
    (room >= LARGE_BYTES).then(|| Text::with_capacity(room).check()).transpose()
}

/// The record as one call answers with it, in the room that was reserved.
pub(crate) fn answer(row: &TaskRow, answer: Answer, reserved: Option<Text>) -> Text {
    let payload = Payload::of(row);
    let mut text = reserved.unwrap_or_else(|| Text::with_capacity(record_room(row, &payload)));
    push_record_with(&mut text, row, &payload, true, answer);
    text
}

/// Appends the record without `result`, `error`, `inputRequests`, `work` and `checkpoint`, or with them.
pub(crate) fn push_record(text: &mut Text, row: &TaskRow, with_payload: bool) {
    let payload = if with_payload { Payload::of(row) } else { Payload::None };
    push_record_with(text, row, &payload, with_payload, Answer::default());
}

#[inline]
fn push_record_with(
    text: &mut Text,
    row: &TaskRow,
    payload: &Payload<'_>,
    with_payload: bool,
    answer: Answer,
) {
    let texts = &row.texts;
    text.push_str("{\"task\":{\"taskId\":\"");
    push_state(text, row);
    payload.push(text);
    text.push_str("},\"revision\":");
    text.push_int(row.revision);
    text.push_str(",\"endpoint\":");
    text.push_str(texts.endpoint_json());
    text.push_str(",\"authorizationPartition\":");
    text.push_str(texts.partition_json());
    text.push_str(",\"origin\":");
    text.push_str(texts.origin());
    if let Some(metadata) = texts.metadata() {
        text.push_str(",\"metadata\":");
        text.push_str(metadata);
    }
    if let Some(declared) = texts.declared_input_requests() {
        text.push_str(",\"declaredInputRequests\":");
        text.push_str(declared);
    }
    text.push_str(",\"cancelationRequested\":");
    text.push_str(if row.cancelation_requested { "true" } else { "false" });
    if let Some(work) = &row.work {
        work::push(text, work, with_payload, answer);
    }
    text.push_str("}");
}

/// A rendering for clients. `subscription_id` is JSON text and goes into a notification only.
pub(crate) fn rendering(row: &TaskRow, rendering: Rendering, subscription_id: Option<&str>) -> Text {
    let mut text = Text::with_capacity(client_room(row, subscription_id));
    match rendering {
        Rendering::CreateResult => {
            text.push_str("{\"resultType\":\"task\",");
            push_task(&mut text, row, &Payload::None, None);
        }
        Rendering::GetResult => push_get_result(&mut text, row),
        Rendering::Notification => {
            text.push_str("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":{");
            push_task(&mut text, row, &Payload::of(row), subscription_id);
            text.push_str("}");
        }
    }
    text
}

/// Room for any rendering of the row.
pub(crate) fn client_room(row: &TaskRow, subscription_id: Option<&str>) -> usize {
    let subscription = subscription_id.map_or(0, |id| SUBSCRIPTION_ID.len() + id.len() + 4);
    room(row) + Payload::of(row).room() + subscription
}

/// Appends the result of `tasks/get`.
pub(crate) fn push_get_result(text: &mut Text, row: &TaskRow) {
    text.push_str("{\"resultType\":\"complete\",");
    push_task(text, row, &Payload::of(row), None);
}

/// Appends the members of the task as clients see it, and the brace that ends their object.
fn push_task(text: &mut Text, row: &TaskRow, payload: &Payload<'_>, subscription_id: Option<&str>) {
    text.push_str("\"taskId\":\"");
    push_state(text, row);
    payload.push(text);
    push_meta(text, row.texts.metadata(), subscription_id);
    text.push_str("}");
}

/// Appends `_meta`, if there is anything to say: the task's metadata and the subscription id, which wins over
/// a member of the same name.
fn push_meta(text: &mut Text, metadata: Option<&str>, subscription_id: Option<&str>) {
    const META: &str = ",\"_meta\":";
    let metadata = metadata.filter(|metadata| Value::trusted(metadata).members().next().is_some());
    match (metadata, subscription_id) {
        (None, None) => {}
        (Some(metadata), None) => {
            text.push_str(META);
            text.push_str(metadata);
        }
        (metadata, Some(subscription_id)) => {
            text.push_str(META);
            text.push_str("{");
            for member in Value::trusted(metadata.unwrap_or("{}")).members() {
                if member.key() != SUBSCRIPTION_ID {
                    text.push_str(member.raw_key);
                    text.push_str(":");
                    text.push_str(member.value.text());
                    text.push_str(",");
                }
            }
            text.push_json_string(SUBSCRIPTION_ID);
            text.push_str(":");
            text.push_str(subscription_id);
            text.push_str("}");
        }
    }
}

#[cfg(test)]
mod tests;
