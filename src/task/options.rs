//! The options of a manager, and the options that single calls take. `null` restores a default, an unknown
//! member is refused by name, and every number has its range.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::transitions::{Asking, Preconditions, Taking};
use super::work_arguments::{authority, checkpoint, options_bytes};
use crate::error::{Result, invalid};
use crate::json::{DEFAULT_MAXIMUM_PAYLOAD_BYTES, Kind, ObjectWriter};
use crate::options::{MAXIMUM_DURATION_MS, Object};
use crate::store::Limits;
use crate::text::Text;

pub(crate) const DEFAULT_NAME: &str = "default";
pub(crate) const DEFAULT_MAXIMUM_RETAINED_TASKS: u64 = 1024;
pub(crate) const DEFAULT_TASK_TIME_TO_LIVE_MS: u64 = 3_600_000;
pub(crate) const DEFAULT_POLL_INTERVAL_MS: u64 = 1000;

/// Largest count: it must fit a signed 64-bit integer, which is what databases and the JVM have.
const MAXIMUM_COUNT: u64 = i64::MAX as u64;

const PER_PARTITION: &str = "maximumRetainedTasksPerPartition";

/// How a manager was configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ManagerOptions {
    /// Managers with the same name over one store share tasks.
    pub(crate) name: String,
    /// Most tasks retained at one time; `None` is no limit.
    pub(crate) maximum_retained_tasks: Option<u64>,
    /// Most tasks of one authorization partition; `None` is no limit.
    pub(crate) maximum_retained_tasks_per_partition: Option<u64>,
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
            &[
                "name",
                "maximumRetainedTasks",
                PER_PARTITION,
                "taskTimeToLiveMs",
                "pollIntervalMs",
                "maximumPayloadBytes",
            ],
            DEFAULT_MAXIMUM_PAYLOAD_BYTES,
        )?;
        let name = object.name("name")?.map_or_else(|| DEFAULT_NAME.to_owned(), Into::into);
        let (least, default) = if requires_limit { (1, DEFAULT_MAXIMUM_RETAINED_TASKS) } else { (0, 0) };
        let tasks = object.whole_number("maximumRetainedTasks", least..=MAXIMUM_COUNT)?.unwrap_or(default);
        let per_partition = object.whole_number(PER_PARTITION, 0..=MAXIMUM_COUNT)?;
        let duration = |key, default| -> Result<i64> {
            let ms = object.whole_number(key, 1..=MAXIMUM_DURATION_MS)?.unwrap_or(default);
            i64::try_from(ms).map_err(|_| invalid(key, "the duration is too long"))
        };
        Ok(Self {
            name,
            maximum_retained_tasks: (tasks > 0).then_some(tasks),
            maximum_retained_tasks_per_partition: per_partition.filter(|&tasks| tasks > 0),
            task_time_to_live_ms: duration("taskTimeToLiveMs", DEFAULT_TASK_TIME_TO_LIVE_MS)?,
            poll_interval_ms: duration("pollIntervalMs", DEFAULT_POLL_INTERVAL_MS)?,
            maximum_payload_bytes: object
                .whole_number("maximumPayloadBytes", 1..=MAXIMUM_COUNT)?
                .unwrap_or(DEFAULT_MAXIMUM_PAYLOAD_BYTES),
        })
    }

    /// How many tasks may be there when one is created.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            total: self.maximum_retained_tasks,
            per_partition: self.maximum_retained_tasks_per_partition,
        }
    }

    /// The effective options as JSON; no limit is 0.
    pub(crate) fn to_json(&self) -> Text {
        let mut text = Text::with_capacity(160 + self.name.len());
        ObjectWriter::new(&mut text)
            .string("name", &self.name)
            .int("maximumRetainedTasks", self.maximum_retained_tasks.unwrap_or(0))
            .int("maximumRetainedTasksPerPartition", self.maximum_retained_tasks_per_partition.unwrap_or(0))
            .int("taskTimeToLiveMs", self.task_time_to_live_ms)
            .int("pollIntervalMs", self.poll_interval_ms)
            .int("maximumPayloadBytes", self.maximum_payload_bytes);
        text
    }
}

const EXPECTED_REVISION: &str = "expectedRevision";
const UNLESS_CANCELATION_REQUESTED: &str = "unlessCancelationRequested";
const WITHDRAW_INPUT_REQUESTS: &str = "withdrawInputRequests";

/// The options of a client's update.
pub(crate) fn update_options(text: Option<&str>) -> Result<Preconditions> {
    const KNOWN: &[&str] = &[EXPECTED_REVISION, UNLESS_CANCELATION_REQUESTED];
    if text.is_none() {
        return Ok(Preconditions::default());
    }
    preconditions(&Object::parse("options", text, KNOWN, DEFAULT_MAXIMUM_PAYLOAD_BYTES)?)
}

/// The options of an ending; only some may be forced.
pub(crate) fn end_options(text: Option<&str>, may_be_forced: bool) -> Result<Preconditions> {
    const KNOWN: &[&str] = &[EXPECTED_REVISION, UNLESS_CANCELATION_REQUESTED, "lease", "force"];
    if text.is_none() {
        return Ok(Preconditions::default());
    }
    let known = if may_be_forced { KNOWN } else { &KNOWN[..3] };
    preconditions(&Object::parse("options", text, known, DEFAULT_MAXIMUM_PAYLOAD_BYTES)?)
}

/// How a task is marked as working.
#[derive(Debug, Default)]
pub(crate) struct MarkingOptions {
    pub(crate) preconditions: Preconditions,
    /// The decoded keys to withdraw, `None` for all.
    pub(crate) withdraw: Option<Vec<String>>,
    pub(crate) checkpoint: Option<Arc<str>>,
}

impl MarkingOptions {
    pub(crate) fn parse(text: Option<&str>, maximum_bytes: u64) -> Result<Self> {
        const KNOWN: &[&str] = &[
            EXPECTED_REVISION,
            UNLESS_CANCELATION_REQUESTED,
            WITHDRAW_INPUT_REQUESTS,
            "lease",
            "force",
            "checkpoint",
        ];
        if text.is_none() {
            return Ok(Self::default());
        }
        let object = Object::parse("options", text, KNOWN, options_bytes(maximum_bytes, 1))?;
        let withdraw = object.get(WITHDRAW_INPUT_REQUESTS).map(|keys| {
            let refused = || invalid(WITHDRAW_INPUT_REQUESTS, "the member must be an array of strings");
            if keys.kind() != Kind::Array {
                return Err(refused());
            }
            let keys: Option<Vec<String>> = keys.elements().map(|key| key.as_str().map(Into::into)).collect();
            keys.ok_or_else(refused)
        });
        Ok(Self {
            preconditions: preconditions(&object)?,
            withdraw: withdraw.transpose()?,
            checkpoint: checkpoint(&object, maximum_bytes)?,
        })
    }
}

/// The options of a request for input.
pub(crate) fn asking_options(text: Option<&str>, maximum_bytes: u64) -> Result<(Preconditions, Asking)> {
    const KNOWN: &[&str] = &[EXPECTED_REVISION, UNLESS_CANCELATION_REQUESTED, "lease", "park", "checkpoint"];
    if text.is_none() {
        return Ok(Default::default());
    }
    let object = Object::parse("options", text, KNOWN, options_bytes(maximum_bytes, 1))?;
    let parks = object.boolean("park")?.unwrap_or(false);
    Ok((preconditions(&object)?, Asking { parks, checkpoint: checkpoint(&object, maximum_bytes)? }))
}

/// The options of taking responses.
pub(crate) fn taking_options(text: Option<&str>, maximum_bytes: u64) -> Result<(Preconditions, Taking)> {
    const KNOWN: &[&str] = &[EXPECTED_REVISION, UNLESS_CANCELATION_REQUESTED, "lease", "peek", "checkpoint"];
    if text.is_none() {
        return Ok(Default::default());
    }
    let object = Object::parse("options", text, KNOWN, options_bytes(maximum_bytes, 1))?;
    let peeks = object.boolean("peek")?.unwrap_or(false);
    let checkpoint = checkpoint(&object, maximum_bytes)?;
    if peeks && checkpoint.is_some() {
        return Err(invalid("checkpoint", "a look at the responses takes no checkpoint"));
    }
    Ok((preconditions(&object)?, Taking { peeks, checkpoint }))
}

fn preconditions(object: &Object<'_>) -> Result<Preconditions> {
    Ok(Preconditions {
        expected_revision: object.whole_number(EXPECTED_REVISION, 1..=u64::MAX)?,
        unless_cancelation_requested: object.boolean(UNLESS_CANCELATION_REQUESTED)?.unwrap_or(false),
        authority: authority(object)?,
    })
}

#[cfg(test)]
mod tests;
