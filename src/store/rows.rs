//! The rows that backends keep: typed columns beside payload texts that stay byte for byte as they came.
//! Parts that a transition does not touch are shared, so that a changed copy of a row costs little.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::Arc;

use super::{A2aListed, Row};
use crate::clock::NANOS_PER_MILLI;
use crate::error::{Error, Reason, Result};
use crate::json::Value;
use crate::text::Text;

/// The status of an MCP task, in the extension's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskStatus {
    /// Work is going on.
    Working,
    /// Requests to the client are outstanding.
    InputRequired,
    /// Ended with a result.
    Completed,
    /// Ended with a JSON-RPC error.
    Failed,
    /// Ended without an outcome.
    Cancelled,
}

impl TaskStatus {
    /// Every status, in order.
    pub const ALL: [Self; 5] =
        [Self::Working, Self::InputRequired, Self::Completed, Self::Failed, Self::Cancelled];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status with this wire name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Whether the task can still change.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// What a task keeps from its creation; never changes. One text holds it all in the form and order in which
/// a record shows it: a record takes it in one piece, and every part is a slice of it.
#[derive(Clone, Debug)]
pub struct TaskCreation {
    text: Arc<str>,
    endpoint_end: u32,
    partition_end: u32,
    origin_end: u32,
    /// Where `metadata` ends, or `origin` when there is none.
    metadata_end: u32,
}

const ENDPOINT: &str = ",\"endpoint\":";
const PARTITION: &str = ",\"authorizationPartition\":";
const ORIGIN: &str = ",\"origin\":";
const METADATA: &str = ",\"metadata\":";
const DECLARED: &str = ",\"declaredInputRequests\":";
const CANCELATION: &str = ",\"cancelationRequested\":";

impl TaskCreation {
    /// `partition` `None` is the anonymous one; `origin`, `metadata` (an object) and
    /// `declared_input_requests` (an array of strings) are JSON texts.
    pub fn new(
        endpoint: &str,
        partition: Option<&str>,
        origin: &str,
        metadata: Option<&str>,
        declared_input_requests: Option<&str>,
    ) -> Result<Self> {
        let payloads = [Some(origin), metadata, declared_input_requests];
        let mut text = Text::with_capacity(
            payloads.iter().flatten().map(|part| part.len()).sum::<usize>()
                + [endpoint, partition.unwrap_or_default()].iter().map(|name| name.len() + 2).sum::<usize>()
                + 128,
        );
        text.push_str(ENDPOINT);
        text.push_json_string(endpoint);
        let endpoint_end = text.len();
        text.push_str(PARTITION);
        text.push_json_string_or_null(partition);
        let partition_end = text.len();
        text.push_str(ORIGIN);
        text.push_str(origin);
        let origin_end = text.len();
        if let Some(metadata) = metadata {
            text.push_str(METADATA);
            text.push_str(metadata);
        }
        let metadata_end = text.len();
        if let Some(declared) = declared_input_requests {
            text.push_str(DECLARED);
            text.push_str(declared);
        }
        text.push_str(CANCELATION);
        let offset = |at: usize| {
            u32::try_from(at).map_err(|_| {
                Error::new(Reason::PayloadTooLarge, "the creation has more bytes than the limit")
                    .with_limit(u64::from(u32::MAX))
            })
        };
        Ok(Self {
            endpoint_end: offset(endpoint_end)?,
            partition_end: offset(partition_end)?,
            origin_end: offset(origin_end)?,
            metadata_end: offset(metadata_end)?,
            text: text.as_str().into(),
        })
    }

    /// Endpoint of the tool call.
    pub fn endpoint(&self) -> Cow<'_, str> {
        Value::trusted(self.slice(ENDPOINT.len(), self.endpoint_end)).as_str().unwrap_or_default()
    }

    /// Authorization partition; `None` is the anonymous one.
    pub fn partition(&self) -> Option<Cow<'_, str>> {
        Value::trusted(self.slice(self.endpoint_end as usize + PARTITION.len(), self.partition_end)).as_str()
    }

    /// Origin: JSON text.
    pub fn origin(&self) -> &str {
        self.slice(self.partition_end as usize + ORIGIN.len(), self.origin_end)
    }

    /// Metadata: JSON text of an object, if given.
    pub fn metadata(&self) -> Option<&str> {
        (self.metadata_end > self.origin_end)
            .then(|| self.slice(self.origin_end as usize + METADATA.len(), self.metadata_end))
    }

    /// Declared input requests: JSON text of an array of strings, if given.
    pub fn declared_input_requests(&self) -> Option<&str> {
        let rest = &self.text[self.metadata_end as usize..self.text.len() - CANCELATION.len()];
        rest.strip_prefix(DECLARED)
    }

    /// Whether the task was created for exactly this endpoint and partition.
    pub fn belongs_to(&self, endpoint: &str, partition: Option<&str>) -> bool {
        self.endpoint() == endpoint && self.partition().as_deref() == partition
    }

    /// The members of a record from `endpoint` on, each with a comma before it, up to the value of
    /// `cancelationRequested`.
    pub fn record_members(&self) -> &str {
        &self.text
    }

    fn slice(&self, start: usize, end: u32) -> &str {
        &self.text[start..end as usize]
    }
}

/// One member of a JSON object: its key with quotes and escapes as it came, and its value's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The key as it stood in the text, quotes included.
    pub key: Arc<str>,
    /// The value's text.
    pub value: Arc<str>,
}

/// The input rounds of a task.
#[derive(Clone, Debug, Default)]
pub struct InputState {
    /// Requests that the client has not answered, in order of asking.
    pub outstanding: Vec<Member>,
    /// Every key ever used, decoded, in order of use.
    pub used_keys: Vec<Arc<str>>,
    /// Accepted responses that the worker has not taken, in order of acceptance.
    pub responses: Vec<Member>,
}

/// An MCP task.
#[derive(Clone, Debug)]
pub struct TaskRow {
    /// Random UUID.
    pub id: Arc<str>,
    /// What was given at creation.
    pub creation: TaskCreation,
    /// Wall time of creation, ms.
    pub created_ms: i64,
    /// Tick of creation.
    pub created_tick_ns: i64,
    /// Wall time of the last update, ms; never goes back.
    pub updated_ms: i64,
    /// Time to live from creation, ms.
    pub ttl_ms: i64,
    /// Advertised poll interval, ms.
    pub poll_interval_ms: i64,
    /// Where it stands.
    pub status: TaskStatus,
    /// Message for people.
    pub status_message: Option<Arc<str>>,
    /// Grows with every change of the record.
    pub revision: u64,
    /// Whether the client asked for cancelation.
    pub cancelation_requested: bool,
    /// Result (completed) or error (failed): JSON text.
    pub outcome: Option<Arc<str>>,
    /// Input rounds, once there was one.
    pub input: Option<Arc<InputState>>,
    /// The text of a record around its payload, if it is kept rendered: an affair of `task::render`.
    pub rendered: Option<Arc<str>>,
}

impl Row for TaskRow {
    fn id(&self) -> &str {
        &self.id
    }

    fn expires_at(&self) -> Option<i64> {
        Some(self.created_tick_ns.saturating_add(self.ttl_ms.saturating_mul(NANOS_PER_MILLI)))
    }
}

/// An MCP session.
#[derive(Clone, Debug)]
pub struct SessionRow {
    /// Visible ASCII.
    pub id: Arc<str>,
    /// Endpoint that owns it.
    pub endpoint: Arc<str>,
    /// Authorization partition; `None` is the anonymous one.
    pub partition: Option<Arc<str>>,
    /// Wall time of creation, ms.
    pub created_ms: i64,
    /// Tick of creation.
    pub created_tick_ns: i64,
    /// Random: tells it from a later session with the same id.
    pub instance: i64,
    /// Wall time of the last activity as the snapshot has it, ms.
    pub last_activity_ms: i64,
    /// Tick of that activity; from the termination on, the tick of the termination.
    pub active_tick_ns: i64,
    /// Tick at which the last pin was let go, if there was one: idle time never starts before it.
    pub unpinned_tick_ns: Option<i64>,
    /// Whether initialization is complete.
    pub initialized: bool,
    /// Whether it was terminated.
    pub terminated: bool,
    /// Compare-and-set version.
    pub version: u64,
    /// Idle timeout, ms; 0 is never.
    pub idle_timeout_ms: i64,
    /// Initialization timeout, ms; 0 is off.
    pub initialization_timeout_ms: i64,
    /// How many pins are held, over all holders.
    pub pins: u32,
    /// The snapshot: JSON text.
    pub snapshot: Arc<str>,
}

impl SessionRow {
    /// The tick from which on it is idle for too long, if it can be.
    pub fn idle_at(&self) -> Option<i64> {
        let since = self.unpinned_tick_ns.map_or(self.active_tick_ns, |tick| tick.max(self.active_tick_ns));
        if self.pins == 0 { first_tick_beyond(since, self.idle_timeout_ms) } else { None }
    }

    /// The tick from which on its initialization takes too long, if it can.
    pub fn initialization_overdue_at(&self) -> Option<i64> {
        if self.initialized {
            None
        } else {
            first_tick_beyond(self.created_tick_ns, self.initialization_timeout_ms)
        }
    }
}

/// The first tick that is more than `timeout_ms` after `since`: a session whose age equals its timeout is still
/// there. No timeout is written 0.
fn first_tick_beyond(since: i64, timeout_ms: i64) -> Option<i64> {
    (timeout_ms > 0)
        .then(|| since.saturating_add(timeout_ms.saturating_mul(NANOS_PER_MILLI)).saturating_add(1))
}

impl Row for SessionRow {
    fn id(&self) -> &str {
        &self.id
    }

    fn expires_at(&self) -> Option<i64> {
        match (self.idle_at(), self.initialization_overdue_at()) {
            (Some(idle), Some(overdue)) => Some(idle.min(overdue)),
            (one, other) => one.or(other),
        }
    }

    fn takes_slot(&self) -> bool {
        !self.terminated
    }
}

/// Where the elements of an array member stand in a text, so that it can be cut without parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayIndex {
    /// First byte of the member, at the quote of its key.
    pub member_start: u32,
    /// First byte of the value, at its bracket.
    pub value_start: u32,
    /// One past the value's closing bracket.
    pub value_end: u32,
    /// First byte of each element.
    pub elements: Box<[u32]>,
}

/// An A2A task.
#[derive(Clone, Debug)]
pub struct A2aRow {
    /// Global id.
    pub id: Arc<str>,
    /// Owner; `None` is the anonymous one.
    pub owner: Option<Arc<str>>,
    /// Context, if the task has one.
    pub context_id: Option<Arc<str>>,
    /// State in one spelling: lower case, hyphens, no prefix.
    pub state: Arc<str>,
    /// Whether that state is final.
    pub is_final: bool,
    /// Status timestamp, ms.
    pub status_timestamp_ms: Option<i64>,
    /// Tick at which it first became final; set once.
    pub finalized_tick_ns: Option<i64>,
    /// How long it is kept from then on, ms; 0 is for ever.
    pub finalized_retention_ms: i64,
    /// Grows with every save.
    pub revision: u64,
    /// The task: JSON text.
    pub task: Arc<str>,
    /// Where `history` stands in it.
    pub history: Option<Arc<ArrayIndex>>,
    /// Where `artifacts` stands in it; elements are not indexed.
    pub artifacts: Option<Arc<ArrayIndex>>,
}

impl A2aRow {
    /// What a listing shows of it.
    pub fn listed(&self) -> A2aListed<'_> {
        A2aListed {
            revision: self.revision,
            task: &self.task,
            history: self.history.as_deref(),
            artifacts: self.artifacts.as_deref(),
        }
    }
}

impl Row for A2aRow {
    fn id(&self) -> &str {
        &self.id
    }

    fn expires_at(&self) -> Option<i64> {
        let finalized = self.finalized_tick_ns.filter(|_| self.finalized_retention_ms > 0)?;
        Some(finalized.saturating_add(self.finalized_retention_ms.saturating_mul(NANOS_PER_MILLI)))
    }
}
