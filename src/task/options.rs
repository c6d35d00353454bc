//! The options of a manager, and the options that single calls take. `null` restores a default, an unknown
//! member is refused by name, and every number has its range.

#![forbid(unsafe_code)]

use super::transitions::Preconditions;
use crate::error::{Result, invalid};
use crate::json::{DEFAULT_MAXIMUM_PAYLOAD_BYTES, Kind, ObjectWriter};
use crate::options::{MAXIMUM_DURATION_MS, Object};
use crate::text::Text;

pub(crate) const DEFAULT_NAME: &str = "default";
pub(crate) const DEFAULT_MAXIMUM_RETAINED_TASKS: u64 = 1024;
pub(crate) const DEFAULT_TASK_TIME_TO_LIVE_MS: u64 = 3_600_000;
pub(crate) const DEFAULT_POLL_INTERVAL_MS: u64 = 1000;

/// Largest count: it must fit a signed 64-bit integer, which is what databases and the JVM have.
const MAXIMUM_COUNT: u64 = i64::MAX as u64;

/// How a manager was configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ManagerOptions {
    /// Managers with the same name over one store share tasks.
    pub(crate) name: String,
    /// Most tasks retained at one time; `None` is no limit.
    pub(crate) maximum_retained_tasks: Option<u64>,
    /// Time to live of the tasks that this manager creates, from creation.
    pub(crate) task_time_to_live_ms: i64,
    /// Poll interval that they advertise.
    pub(crate) poll_interval_ms: i64,
    /// Most bytes of one payload.
    pub(crate) maximum_payload_bytes: u64,
}

impl ManagerOptions {
    /// Reads `text`. Without `requires_limit` the number of retained tasks may be unlimited, and is unless given.
    pub(crate) fn parse(text: Option<&str>, requires_limit: bool) -> Result<Self> {
        let object = Object::parse(
            "options",
            text,
            &["name", "maximumRetainedTasks", "taskTimeToLiveMs", "pollIntervalMs", "maximumPayloadBytes"],
            DEFAULT_MAXIMUM_PAYLOAD_BYTES,
        )?;
        let name = object.name("name")?.map_or_else(|| DEFAULT_NAME.to_owned(), Into::into);
        let (least, default) = if requires_limit { (1, DEFAULT_MAXIMUM_RETAINED_TASKS) } else { (0, 0) };
        let tasks = object.whole_number("maximumRetainedTasks", least..=MAXIMUM_COUNT)?.unwrap_or(default);
        let duration = |key, default| -> Result<i64> {
            let ms = object.whole_number(key, 1..=MAXIMUM_DURATION_MS)?.unwrap_or(default);
            i64::try_from(ms).map_err(|_| invalid(key, "the duration is too long"))
        };
        Ok(Self {
            name,
            maximum_retained_tasks: (tasks > 0).then_some(tasks),
            task_time_to_live_ms: duration("taskTimeToLiveMs", DEFAULT_TASK_TIME_TO_LIVE_MS)?,
            poll_interval_ms: duration("pollIntervalMs", DEFAULT_POLL_INTERVAL_MS)?,
            maximum_payload_bytes: object
                .whole_number("maximumPayloadBytes", 1..=MAXIMUM_COUNT)?
                .unwrap_or(DEFAULT_MAXIMUM_PAYLOAD_BYTES),
        })
    }

    /// The effective options as JSON; no limit is 0.
    pub(crate) fn to_json(&self) -> Text {
        let mut text = Text::with_capacity(160 + self.name.len());
        ObjectWriter::new(&mut text)
            .string("name", &self.name)
            .int("maximumRetainedTasks", self.maximum_retained_tasks.unwrap_or(0))
            .int("taskTimeToLiveMs", self.task_time_to_live_ms)
            .int("pollIntervalMs", self.poll_interval_ms)
            .int("maximumPayloadBytes", self.maximum_payload_bytes);
        text
    }
}

const EXPECTED_REVISION: &str = "expectedRevision";
const UNLESS_CANCELATION_REQUESTED: &str = "unlessCancelationRequested";
const WITHDRAW_INPUT_REQUESTS: &str = "withdrawInputRequests";

/// The options of a transition, and of an update and a take.
pub(crate) fn transition_options(text: Option<&str>) -> Result<Preconditions> {
    if text.is_none() {
        return Ok(Preconditions::default());
    }
    preconditions(&call_options(text, &[EXPECTED_REVISION, UNLESS_CANCELATION_REQUESTED])?)
}

/// The options of marking a task as working: also the decoded keys to withdraw, `None` for all.
pub(crate) fn mark_working_options(text: Option<&str>) -> Result<(Preconditions, Option<Vec<String>>)> {
    const KNOWN: &[&str] = &[EXPECTED_REVISION, UNLESS_CANCELATION_REQUESTED, WITHDRAW_INPUT_REQUESTS];
    if text.is_none() {
        return Ok((Preconditions::default(), None));
    }
    let object = call_options(text, KNOWN)?;
    let preconditions = preconditions(&object)?;
    let Some(keys) = object.get(WITHDRAW_INPUT_REQUESTS) else { return Ok((preconditions, None)) };
    let refused = || invalid(WITHDRAW_INPUT_REQUESTS, "the member must be an array of strings");
    if keys.kind() != Kind::Array {
        return Err(refused());
    }
    let keys: Option<Vec<String>> = keys.elements().map(|key| key.as_str().map(Into::into)).collect();
    Ok((preconditions, Some(keys.ok_or_else(refused)?)))
}

fn call_options<'a>(text: Option<&'a str>, known: &'static [&'static str]) -> Result<Object<'a>> {
    Object::parse("options", text, known, DEFAULT_MAXIMUM_PAYLOAD_BYTES)
}

fn preconditions(object: &Object<'_>) -> Result<Preconditions> {
    Ok(Preconditions {
        expected_revision: object.whole_number(EXPECTED_REVISION, 1..=u64::MAX)?,
        unless_cancelation_requested: object.boolean(UNLESS_CANCELATION_REQUESTED)?.unwrap_or(false),
    })
}

#[cfg(test)]
mod tests;
