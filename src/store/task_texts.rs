//! The texts of a task that stay as they came: its id, when it was created, what was given at creation and, once
//! there is one, the outcome. They stand one behind another in one allocation, so that reading a task with a
//! cold cache fetches one run of memory.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::json::Value;
use crate::text::{Text, check_room, to_shared};
use crate::time::{TIMESTAMP_LENGTH, format_timestamp, parse_timestamp};

/// What a task is created with, as it was given.
#[derive(Clone, Debug)]
pub struct TaskCreation<'a> {
    /// Endpoint of the tool call.
    pub endpoint: Cow<'a, str>,
    /// Authorization partition; `None` is the anonymous one.
    pub partition: Option<Cow<'a, str>>,
    /// Origin: JSON text.
    pub origin: &'a str,
    /// Metadata: JSON text of an object.
    pub metadata: Option<&'a str>,
    /// Declared input requests: JSON text of an array of strings.
    pub declared_input_requests: Option<&'a str>,
}

/// The texts of one task. Never changed, but replaced by a copy with an outcome; a clone shares them.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskTexts {
    text: Arc<str>,
    id_end: u32,
    endpoint_end: u32,
    partition_end: u32,
    origin_end: u32,
    metadata_end: u32,
    declared_end: u32,
}

impl TaskTexts {
    /// The texts of a task that was created at `created_ms` (milliseconds since 1970). `outcome` is JSON text.
    pub fn new(
        id: &str,
        created_ms: i64,
        creation: &TaskCreation<'_>,
        outcome: Option<&str>,
    ) -> Result<Self> {
        let TaskCreation { endpoint, partition, origin, metadata, declared_input_requests } = creation;
        let texts = [Some(*origin), *metadata, *declared_input_requests, outcome];
        let names = id.len() + endpoint.len() + partition.as_ref().map_or(0, |name| name.len()) + 8;
        let mut text = Text::with_capacity(
            texts.iter().flatten().map(|text| text.len()).sum::<usize>() + names + TIMESTAMP_LENGTH,
        );
        text.push_str(id);
        let id_end = text.len();
        text.push_timestamp(&format_timestamp(created_ms));
        text.push_json_string(endpoint);
        let endpoint_end = text.len();
        text.push_json_string_or_null(partition.as_deref());
        let partition_end = text.len();
        text.push_str(origin);
        let origin_end = text.len();
        text.push_str(metadata.unwrap_or_default());
        let metadata_end = text.len();
        text.push_str(declared_input_requests.unwrap_or_default());
        let declared_end = text.len();
        text.push_str(outcome.unwrap_or_default());
        Ok(Self {
            id_end: offset(id_end)?,
            endpoint_end: offset(endpoint_end)?,
            partition_end: offset(partition_end)?,
            origin_end: offset(origin_end)?,
            metadata_end: offset(metadata_end)?,
            declared_end: offset(declared_end)?,
            text: to_shared(text.check()?.as_str())?,
        })
    }

    /// The same with this outcome: JSON text.
    #[must_use]
    pub fn with_outcome(&self, outcome: &str) -> Self {
        let given = &self.text[..self.declared_end as usize];
        Self { text: [given, outcome].concat().into(), ..*self }
    }

    /// [`Self::with_outcome`] that fails where there is no memory for it.
    pub fn try_with_outcome(&self, outcome: &str) -> Result<Self> {
        // The texts are put together before they are shared.
        check_room(2 * (self.declared_end as usize + outcome.len()))?;
        Ok(self.with_outcome(outcome))
    }

    /// Bytes of all texts.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// All of them, one behind another.
    pub fn as_shared(&self) -> &Arc<str> {
        &self.text
    }

    /// The task's id.
    #[inline]
    pub fn id(&self) -> &str {
        &self.text[..self.id_end as usize]
    }

    /// When it was created, as a record shows it.
    #[inline]
    pub fn created_at(&self) -> &str {
        let start = self.id_end as usize;
        &self.text[start..start + TIMESTAMP_LENGTH]
    }

    /// When it was created, in milliseconds since 1970.
    pub fn created_ms(&self) -> i64 {
        parse_timestamp(self.created_at()).unwrap_or_default()
    }

    /// The endpoint as a JSON string.
    #[inline]
    pub fn endpoint_json(&self) -> &str {
        &self.text[self.id_end as usize + TIMESTAMP_LENGTH..self.endpoint_end as usize]
    }

    /// Endpoint of the tool call.
    pub fn endpoint(&self) -> Cow<'_, str> {
        Value::trusted(self.endpoint_json()).as_str().unwrap_or_default()
    }

    /// The authorization partition as a JSON string or `null`.
    #[inline]
    pub fn partition_json(&self) -> &str {
        self.slice(self.endpoint_end, self.partition_end)
    }

    /// Authorization partition; `None` is the anonymous one.
    pub fn partition(&self) -> Option<Cow<'_, str>> {
        Value::trusted(self.partition_json()).as_str()
    }

    /// Origin: JSON text.
    #[inline]
    pub fn origin(&self) -> &str {
        self.slice(self.partition_end, self.origin_end)
    }

    /// Metadata: JSON text of an object, if given.
    #[inline]
    pub fn metadata(&self) -> Option<&str> {
        given(self.slice(self.origin_end, self.metadata_end))
    }

    /// Declared input requests: JSON text of an array of strings, if given.
    #[inline]
    pub fn declared_input_requests(&self) -> Option<&str> {
        given(self.slice(self.metadata_end, self.declared_end))
    }

    /// Result or error: JSON text, once there is one.
    #[inline]
    pub fn outcome(&self) -> Option<&str> {
        given(&self.text[self.declared_end as usize..])
    }

    /// Whether the task was created for exactly this endpoint and partition.
    pub fn belongs_to(&self, endpoint: &str, partition: Option<&str>) -> bool {
        self.endpoint() == endpoint && self.partition().as_deref() == partition
    }

    #[inline]
    fn slice(&self, start: u32, end: u32) -> &str {
        &self.text[start as usize..end as usize]
    }
}

/// No JSON text is empty.
#[inline]
fn given(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn offset(at: usize) -> Result<u32> {
    u32::try_from(at).map_err(|_| {
        Error::new(Reason::PayloadTooLarge, "the creation has more bytes than the limit")
            .with_limit(u64::from(u32::MAX))
    })
}
