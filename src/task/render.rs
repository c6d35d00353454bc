//! Texts of a task: the trusted record and the three renderings for clients. All are the same few pieces:
//! the frame, which a transition renders once and the row keeps, and payloads spliced in byte for byte. A read
//! formats nothing, parses nothing and allocates once.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::Arc;

use super::Rendering;
use crate::json::Value;
use crate::store::{Member, TaskRow, TaskStatus};
use crate::text::Text;
use crate::time::{TIMESTAMP_LENGTH, format_timestamp};

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// What stands around the payload of a record and changes with its revision: the members of the task from
/// behind the value of `taskId` up to the payload, and then the digits of the revision.
pub(crate) fn frame(row: &TaskRow) -> Arc<str> {
    let mut text = Text::with_capacity(
        160 + 2 * TIMESTAMP_LENGTH + row.status_message.as_ref().map_or(0, |message| message.len() + 32),
    );
    text.push_str(",\"status\":\"");
    text.push_str(row.status.name());
    text.push_str("\"");
    if let Some(message) = &row.status_message {
        text.push_str(",\"statusMessage\":");
        text.push_json_string(message);
    }
    text.push_str(",\"createdAt\":\"");
    push_timestamp(&mut text, row.created_ms);
    text.push_str("\",\"lastUpdatedAt\":\"");
    push_timestamp(&mut text, row.updated_ms);
    text.push_str("\",\"ttlMs\":");
    text.push_int(row.ttl_ms);
    text.push_str(",\"pollIntervalMs\":");
    text.push_int(row.poll_interval_ms);
    text.push_int(row.revision);
    text.as_str().into()
}

fn push_timestamp(text: &mut Text, wall_ms: i64) {
    text.push_str(std::str::from_utf8(&format_timestamp(wall_ms)).unwrap_or_default());
}

/// The two parts of a row's frame. Rows of a database come without one.
struct Frame<'a> {
    text: Cow<'a, str>,
    members_end: usize,
}

impl<'a> Frame<'a> {
    fn of(row: &'a TaskRow) -> Self {
        let text = match &row.rendered {
            Some(frame) => Cow::Borrowed(&**frame),
            None => Cow::Owned(frame(row).as_ref().to_owned()),
        };
        let digits = row.revision.checked_ilog10().unwrap_or(0) as usize + 1;
        Self { members_end: text.len() - digits, text }
    }

    fn members(&self) -> &str {
        &self.text[..self.members_end]
    }

    fn revision(&self) -> &str {
        &self.text[self.members_end..]
    }
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
        match (row.status, &row.outcome, &row.input) {
            (TaskStatus::Completed, Some(result), _) => Self::Outcome(",\"result\":", result),
            (TaskStatus::Failed, Some(failure), _) => Self::Outcome(",\"error\":", failure),
            (TaskStatus::InputRequired, _, Some(input)) => Self::InputRequests(&input.outstanding),
            _ => Self::None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Outcome(label, text) => label.len() + text.len(),
            Self::InputRequests(requests) => Self::INPUT_REQUESTS.len() + object_len(requests),
        }
    }

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
    let mut separator = "{";
    for member in members {
        text.push_str(separator);
        text.push_str(&member.key);
        text.push_str(":");
        text.push_str(&member.value);
        separator = ",";
    }
    text.push_str(if members.is_empty() { "{}" } else { "}" });
}

/// An object of members as they came.
pub(crate) fn object(members: &[Member]) -> Text {
    let mut text = Text::with_capacity(object_len(members));
    push_object(&mut text, members);
    text
}

const RECORD_START: &str = "{\"task\":{\"taskId\":\"";
const RECORD_REVISION: &str = "},\"revision\":";

/// The record, for trusted readers.
pub(crate) fn record(row: &TaskRow) -> Text {
    let requests;
    let payload = match Payload::of(row) {
        Payload::None => ["", ""],
        Payload::Outcome(label, outcome) => [label, outcome],
        Payload::InputRequests(members) => {
            requests = object(members);
            [Payload::INPUT_REQUESTS, requests.as_str()]
        }
    };
    Text::concat(&record_pieces(row, &Frame::of(row), payload))
}

/// Appends the record without `result`, `error` and `inputRequests`, or with them.
pub(crate) fn push_record(text: &mut Text, row: &TaskRow, with_payload: bool) {
    if with_payload {
        text.push_str(record(row).as_str());
    } else {
        for piece in record_pieces(row, &Frame::of(row), ["", ""]) {
            text.push_str(piece);
        }
    }
}

/// What a record is put together from; the payload is its label and its text.
#[inline]
fn record_pieces<'a>(row: &'a TaskRow, frame: &'a Frame<'a>, payload: [&'a str; 2]) -> [&'a str; 10] {
    [
        RECORD_START,
        &row.id,
        "\"",
        frame.members(),
        payload[0],
        payload[1],
        RECORD_REVISION,
        frame.revision(),
        row.creation.record_members(),
        if row.cancelation_requested { "true}" } else { "false}" },
    ]
}

/// A rendering for clients. `subscription_id` is JSON text and goes into a notification only.
pub(crate) fn rendering(row: &TaskRow, rendering: Rendering, subscription_id: Option<&str>) -> Text {
    let mut text = Text::with_capacity(client_capacity(row, subscription_id));
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
pub(crate) fn client_capacity(row: &TaskRow, subscription_id: Option<&str>) -> usize {
    let subscription = subscription_id.map_or(0, |id| SUBSCRIPTION_ID.len() + id.len() + 4);
    let frame = row.rendered.as_ref().map_or(256, |frame| frame.len());
    let metadata = row.creation.metadata().map_or(0, str::len);
    128 + row.id.len() + frame + Payload::of(row).len() + metadata + subscription
}

/// Appends the result of `tasks/get`.
pub(crate) fn push_get_result(text: &mut Text, row: &TaskRow) {
    text.push_str("{\"resultType\":\"complete\",");
    push_task(text, row, &Payload::of(row), None);
}

/// Appends the members of the task as clients see it, and the brace that ends their object.
fn push_task(text: &mut Text, row: &TaskRow, payload: &Payload<'_>, subscription_id: Option<&str>) {
    text.push_str("\"taskId\":\"");
    text.push_str(&row.id);
    text.push_str("\"");
    text.push_str(Frame::of(row).members());
    payload.push(text);
    push_meta(text, row.creation.metadata(), subscription_id);
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
