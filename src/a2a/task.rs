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
        let mut members = [None; 5];
        let task = json::parse_members(text, maximum_bytes, &mut |member| {
            let place = match member.key().as_ref() {
                "id" => 0,
                "contextId" => 1,
                "status" => 2,
                "history" => 3,
                "artifacts" => 4,
                _ => return,
            };
            members[place] = Some(member);
        })
        .map_err(|error| error.about("task"))?;
        if task.kind() != Kind::Object {
            return Err(Error::new(Reason::InvalidPayload, "a task must be a JSON object").with_key("task"));
        }
        let [id, context_id, status, history, artifacts] = members;
        let id = id.map(|member| read_id(member.value)).transpose()?;
        let context_id = context_id.map(|member| read_context_id(member.value)).transpose()?.flatten();
        let status = status.map(|member| read_status(member.value)).transpose()?;
        let history = history.map(|member| index(task, member, "history", true)).transpose()?;
        let artifacts = artifacts.map(|member| index(task, member, "artifacts", false)).transpose()?;
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
    let position = |part: &str| narrow(json::offset_in(task.text(), part));
    let value_start = position(value.text());
    let elements = if with_elements {
        value.elements().map(|element| position(element.text())).collect()
    } else {
        Box::default()
    };
    Ok(ArrayIndex {
        member_start: position(member.raw_key),
        value_start,
        value_end: value_start + narrow(value.text().len()),
        elements,
    })
}

/// No text has more bytes than 32 bits count: the parser refuses it.
fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAXIMUM: u64 = 1 << 20;

    #[test]
    fn columns_are_read_from_anywhere_in_the_task() {
        let text = r#" {"kind":"task","status":{"message":{"state":"x"},"timestamp":"2025-01-02T03:04:05.678+01:00",
            "st\u0061te":"TASK_STATE_INPUT_\u0052EQUIRED"},"metadata":{"id":"no"},"contextId":"c\u00e9","i\u0064":"t\u0020\"1"} "#;
        let task = Document::parse(text, MAXIMUM).expect("a task");
        assert_eq!(task.text, text.trim());
        assert_eq!(task.id, "t \"1");
        assert_eq!(task.context_id.as_deref(), Some("cé"));
        assert_eq!(task.state, "input-required");
        assert_eq!(task.status_timestamp_ms, Some(1_735_783_445_678));
        assert_eq!((task.history, task.artifacts), (None, None));
    }

    #[test]
    fn absent_and_null_columns() {
        for text in [
            r#"{"id":"t","status":{"state":"working"}}"#,
            r#"{"id":"t","contextId":null,"status":{"timestamp":null,"state":"working"}}"#,
        ] {
            let task = Document::parse(text, MAXIMUM).expect("a task");
            assert_eq!((task.context_id, task.status_timestamp_ms), (None, None));
        }
    }

    #[test]
    fn spans_point_at_the_bytes_of_the_stored_text() {
        let text = " \n{\"artifacts\": [ 1,2 ],\"id\":\"é\", \"history\" : [ {\"a\":1} ,\"é\",3] ,\"status\":{\"state\":\"x\"}}";
        let task = Document::parse(text, MAXIMUM).expect("a task");
        let at = |part: &str| u32::try_from(task.text.find(part).expect("a part")).expect("a small text");
        let history = task.history.expect("a history");
        assert_eq!(history.member_start, at("\"history\""));
        assert_eq!(history.value_start, at("[ {"));
        assert_eq!(history.value_end, at(" ,\"status\""));
        assert_eq!(*history.elements, [at("{\"a\""), at("\"é\",3"), at("3]")]);
        let artifacts = task.artifacts.expect("artifacts");
        let artifacts_span = (artifacts.member_start, artifacts.value_start, artifacts.value_end);
        assert_eq!(artifacts_span, (at("\"artifacts\""), at("[ 1"), at(",\"id\"")));
        assert!(artifacts.elements.is_empty());
    }

    #[test]
    fn refusals() {
        let long = "x".repeat(1025);
        let with_state = |state: &str| format!(r#"{{"id":"t","status":{{"state":{state}}}}}"#);
        let with_id = |id: &str| format!(r#"{{"id":{id},"status":{{"state":"working"}}}}"#);
        let with = |member: &str| format!(r#"{{"id":"t","status":{{"state":"working"}},{member}}}"#);
        let with_timestamp = |timestamp: &str| {
            format!(r#"{{"id":"t","status":{{"state":"working","timestamp":{timestamp}}}}}"#)
        };
        let payload = Reason::InvalidPayload;
        let identifier = Reason::InvalidIdentifier;
        let timestamp = Reason::InvalidTimestamp;
        let table: Vec<(String, Reason, Option<&str>)> = vec![
            (String::new(), Reason::InvalidJson, Some("task")),
            ("{".to_owned(), Reason::InvalidJson, Some("task")),
            (with("\"a\":1,\"a\":2"), Reason::DuplicateKey, Some("task")),
            (with("\"a\":\"\\ud800\""), Reason::LoneSurrogate, Some("task")),
            ("[]".to_owned(), payload, Some("task")),
            ("null".to_owned(), payload, Some("task")),
            ("\"task\"".to_owned(), payload, Some("task")),
            ("{}".to_owned(), payload, Some("id")),
            (r#"{"status":{"state":"working"}}"#.to_owned(), payload, Some("id")),
            (with_id("null"), payload, Some("id")),
            (with_id("1"), payload, Some("id")),
            (with_id("\"\""), identifier, Some("id")),
            (with_id("\" \\t\""), identifier, Some("id")),
            (with_id("\"a\\nb\""), identifier, Some("id")),
            (with_id("\"a\\u0000b\""), identifier, Some("id")),
            (with_id(&format!("\"{long}\"")), identifier, Some("id")),
            (r#"{"id":"t"}"#.to_owned(), payload, Some("status")),
            (r#"{"id":"t","status":null}"#.to_owned(), payload, Some("status")),
            (r#"{"id":"t","status":"working"}"#.to_owned(), payload, Some("status")),
            (r#"{"id":"t","status":{}}"#.to_owned(), payload, Some("state")),
            (with_state("null"), payload, Some("state")),
            (with_state("3"), payload, Some("state")),
            (with_state("\"\""), payload, Some("state")),
            (with_state("\"  \""), payload, Some("state")),
            (with_state("\"TASK_STATE_\""), payload, Some("state")),
            (with_state("\"a\\u0000\""), payload, Some("state")),
            (with_state(&format!("\"{long}\"")), payload, Some("state")),
            (with_timestamp("1735783445678"), payload, Some("timestamp")),
            (with_timestamp("\"\""), timestamp, Some("timestamp")),
            (with_timestamp("\"12345\""), timestamp, Some("timestamp")),
            (with_timestamp("\"2025-01-02\""), timestamp, Some("timestamp")),
            (with_timestamp("\"2025-01-02T03:04:05\""), timestamp, Some("timestamp")),
            (with_timestamp("\"2025-02-30T03:04:05Z\""), timestamp, Some("timestamp")),
            (with("\"contextId\":1"), payload, Some("contextId")),
            (with("\"contextId\":\"\""), identifier, Some("contextId")),
            (with(&format!("\"contextId\":\"{long}\"")), identifier, Some("contextId")),
            (with("\"history\":{}"), payload, Some("history")),
            (with("\"history\":\"[]\""), payload, Some("history")),
            (with("\"artifacts\":false"), payload, Some("artifacts")),
        ];
        for (text, reason, key) in table {
            let error = Document::parse(&text, MAXIMUM).expect_err(&text);
            assert_eq!((error.reason(), error.key()), (reason, key), "{text}");
        }
        let error = Document::parse(&with_id("\"t\""), 10).expect_err("too large");
        assert_eq!(error.reason(), Reason::PayloadTooLarge);
    }

    #[test]
    fn the_longest_names_are_accepted() {
        let longest = "é".repeat(512);
        let text =
            format!(r#"{{"id":"{longest}","contextId":"{longest}","status":{{"state":"{longest}"}}}}"#);
        let task = Document::parse(&text, MAXIMUM).expect("a task");
        assert_eq!((&*task.id, task.context_id.as_deref()), (&*longest, Some(&*longest)));
        assert_eq!(task.state, longest);
    }
}
