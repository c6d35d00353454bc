//! Reading an A2A Task object on its way in: one validating parse, then one walk over its members for what the
//! columns need. Members that are not named here are nobody's business; the text is kept byte for byte.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use super::state;
use crate::error::{Error, Reason, Result};
use crate::json::{self, JsonMember, Kind, Value};
use crate::options::{MAXIMUM_NAME_BYTES, check_identifier};
use crate::store::ArrayIndex;
use crate::time;

/// What a task's text says about the task.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    /// The text, without white space around it.
    pub text: &'a str,
    /// Global id.
    pub id: Cow<'a, str>,
    /// Context, if the task has one.
    pub context_id: Option<Cow<'a, str>>,
    /// State in the stored spelling.
    pub state: Cow<'a, str>,
    /// Status timestamp, ms.
    pub status_timestamp_ms: Option<i64>,
    /// Where `history` stands.
    pub history: Option<ArrayIndex>,
    /// Where `artifacts` stands.
    pub artifacts: Option<ArrayIndex>,
}

struct Status<'a> {
    state: Cow<'a, str>,
    timestamp_ms: Option<i64>,
}

impl<'a> Document<'a> {
    /// Validates `text` and reads it.
    pub fn parse(text: &'a str, maximum_bytes: u64) -> Result<Self> {
        // Spans count in 32 bits.
        let task = json::parse(text, maximum_bytes.min(u64::from(u32::MAX)))?;
        if task.kind() != Kind::Object {
            return Err(Error::new(Reason::InvalidPayload, "a task must be a JSON object"));
        }
        let mut id = None;
        let mut context_id = None;
        let mut status = None;
        let mut history = None;
        let mut artifacts = None;
        for member in task.members() {
            match member.key().as_ref() {
                "id" => id = Some(read_id(member.value)?),
                "contextId" => context_id = read_context_id(member.value)?,
                "status" => status = Some(read_status(member.value)?),
                "history" => history = Some(index(task, member, "history", true)?),
                "artifacts" => artifacts = Some(index(task, member, "artifacts", false)?),
                _ => {}
            }
        }
        let id = id.ok_or_else(|| invalid("id", "a task must have an id"))?;
        let status = status.ok_or_else(|| invalid("status", "a task must have a status"))?;
        Ok(Self {
            text: task.text(),
            id,
            context_id,
            state: status.state,
            status_timestamp_ms: status.timestamp_ms,
            history,
            artifacts,
        })
    }
}

#[cold]
fn invalid(key: &str, message: &'static str) -> Error {
    Error::new(Reason::InvalidPayload, message).with_key(key)
}

fn read_id(value: Value<'_>) -> Result<Cow<'_, str>> {
    let id = value.as_str().ok_or_else(|| invalid("id", "a task's id must be a string"))?;
    check_identifier(&id, "id")?;
    Ok(id)
}

fn read_context_id(value: Value<'_>) -> Result<Option<Cow<'_, str>>> {
    if value.is_null() {
        return Ok(None);
    }
    let id =
        value.as_str().ok_or_else(|| invalid("contextId", "a task's context id must be a string or null"))?;
    check_identifier(&id, "contextId")?;
    Ok(Some(id))
}

fn read_status(value: Value<'_>) -> Result<Status<'_>> {
    if value.kind() != Kind::Object {
        return Err(invalid("status", "a task's status must be an object"));
    }
    let mut state = None;
    let mut timestamp_ms = None;
    for member in value.members() {
        match member.key().as_ref() {
            "state" => state = Some(read_state(member.value)?),
            "timestamp" => timestamp_ms = read_timestamp(member.value)?,
            _ => {}
        }
    }
    let state = state.ok_or_else(|| invalid("state", "a task's status must have a state"))?;
    Ok(Status { state, timestamp_ms })
}

/// A state that this version does not know is accepted, in any form that an index can hold.
fn read_state(value: Value<'_>) -> Result<Cow<'_, str>> {
    let spelled = value.as_str().ok_or_else(|| invalid("state", "a task's state must be a string"))?;
    if spelled.len() > MAXIMUM_NAME_BYTES {
        return Err(invalid("state", "a task's state has more bytes than the limit")
            .with_limit(MAXIMUM_NAME_BYTES as u64));
    }
    let state = match spelled {
        Cow::Borrowed(spelled) => state::stored(spelled),
        Cow::Owned(spelled) => Cow::Owned(state::stored(&spelled).into_owned()),
    };
    if state.contains('\0') || state.chars().all(char::is_whitespace) {
        return Err(invalid("state", "a task's state must not be blank and not hold U+0000"));
    }
    Ok(state)
}

fn read_timestamp(value: Value<'_>) -> Result<Option<i64>> {
    if value.is_null() {
        return Ok(None);
    }
    let timestamp =
        value.as_str().ok_or_else(|| invalid("timestamp", "a status timestamp must be a string or null"))?;
    time::parse_timestamp(&timestamp).map(Some).map_err(|error| error.with_key("timestamp"))
}

/// Where a member that may be cut stands. `null` is indexed like an empty array: it goes with the member.
fn index(task: Value<'_>, member: JsonMember<'_>, key: &str, with_elements: bool) -> Result<ArrayIndex> {
    let value = member.value;
    if !matches!(value.kind(), Kind::Array | Kind::Null) {
        return Err(invalid(key, "the member must be an array or null"));
    }
    let position = |part: &str| position(task.text(), part);
    let value_start = position(value.text());
    let elements = if with_elements {
        value.elements().map(|element| position(element.text())).collect()
    } else {
        Box::default()
    };
    Ok(ArrayIndex {
        member_start: position(member.raw_key),
        value_start,
        value_end: value_start + length(value.text()),
        elements,
    })
}

fn position(whole: &str, part: &str) -> u32 {
    length(&whole[..json::offset_in(whole, part)])
}

/// Texts of more bytes than 32 bits count were refused before.
fn length(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}
