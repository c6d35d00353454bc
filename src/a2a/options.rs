//! The options of a state provider, and those of one save. A member that is absent or `null` has its default;
//! an unknown one is refused by name.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use crate::error::Result;
use crate::json::DEFAULT_MAXIMUM_PAYLOAD_BYTES;
use crate::options::{MAXIMUM_DURATION_MS, Object};
use crate::text::Text;

const DEFAULT_NAME: &str = "default";
const DEFAULT_GRACE_PERIOD_MS: i64 = 15_000;

/// Row counts must fit the signed integers of SQL.
const MAXIMUM_COUNT: u64 = i64::MAX as u64;

const KNOWN: [&str; 5] =
    ["name", "gracePeriodMs", "maximumRetainedTasks", "finalizedRetentionMs", "maximumPayloadBytes"];

/// How a provider was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Providers with the same name over one store share tasks.
    pub name: Box<str>,
    /// How long a task still counts as active after it became final.
    pub grace_period_ms: i64,
    /// Most tasks that are kept; `None` is no limit.
    pub maximum_retained_tasks: Option<u64>,
    /// How long a task is kept after it became final; 0 is for ever.
    pub finalized_retention_ms: i64,
    /// Most bytes of one task.
    pub maximum_payload_bytes: u64,
}

impl Options {
    /// Reads the options text of `open`.
    pub fn parse(text: Option<&str>) -> Result<Self> {
        let given = Object::parse(text, &KNOWN, DEFAULT_MAXIMUM_PAYLOAD_BYTES)?;
        let name = given.name("name")?.unwrap_or(Cow::Borrowed(DEFAULT_NAME));
        let grace_period_ms = duration(&given, "gracePeriodMs")?.unwrap_or(DEFAULT_GRACE_PERIOD_MS);
        let retained = given.whole_number("maximumRetainedTasks", 0..=MAXIMUM_COUNT)?;
        let finalized_retention_ms = duration(&given, "finalizedRetentionMs")?.unwrap_or(0);
        let payload = given.whole_number("maximumPayloadBytes", 1..=MAXIMUM_COUNT)?;
        Ok(Self {
            name: name.into(),
            grace_period_ms,
            maximum_retained_tasks: retained.filter(|&limit| limit > 0),
            finalized_retention_ms,
            maximum_payload_bytes: payload.unwrap_or(DEFAULT_MAXIMUM_PAYLOAD_BYTES),
        })
    }

    /// Every option with the value in force.
    pub fn to_json(&self) -> Text {
        let mut text = Text::with_capacity(160 + self.name.len());
        text.push_str("{\"name\":");
        text.push_json_string(&self.name);
        text.push_str(",\"gracePeriodMs\":");
        text.push_int(self.grace_period_ms);
        text.push_str(",\"maximumRetainedTasks\":");
        text.push_int(self.maximum_retained_tasks.unwrap_or(0));
        text.push_str(",\"finalizedRetentionMs\":");
        text.push_int(self.finalized_retention_ms);
        text.push_str(",\"maximumPayloadBytes\":");
        text.push_int(self.maximum_payload_bytes);
        text.push_str("}");
        text
    }
}

fn duration(given: &Object<'_>, key: &str) -> Result<Option<i64>> {
    let ms = given.whole_number(key, 0..=MAXIMUM_DURATION_MS)?;
    Ok(ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)))
}

/// How one save is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SaveOptions {
    /// The revision that the task must have; 0 is "must not exist".
    pub expected_revision: Option<u64>,
    /// Whether another node made this change and announced it there.
    pub is_replicated: bool,
}

impl SaveOptions {
    /// Reads the options text of a save.
    pub fn parse(text: Option<&str>) -> Result<Self> {
        let given =
            Object::parse(text, &["expectedRevision", "isReplicated"], DEFAULT_MAXIMUM_PAYLOAD_BYTES)?;
        Ok(Self {
            expected_revision: given.whole_number("expectedRevision", 0..=u64::MAX)?,
            is_replicated: given.boolean("isReplicated")?.unwrap_or(false),
        })
    }
}
