//! The rows that backends keep: typed columns beside payload texts that stay byte for byte as they came.
//! Parts that a transition does not touch are shared, so that a changed copy of a row costs little.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::Arc;

use super::event_log::{Appended, KeptEvents, LogTotals};
use super::task_texts::TaskTexts;
use super::work::Work;
use super::{A2aListed, Row};
use crate::clock::NANOS_PER_MILLI;

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

/// One member of a JSON object: its key with quotes and escapes as it came, and its value's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The key as it stood in the text, quotes included.
    pub key: Arc<str>,
    /// The value's text.
    pub value: Arc<str>,
}

/// The input rounds of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputState {
    /// Requests that the client has not answered, in order of asking.
    pub outstanding: Vec<Member>,
    /// Every key ever used, decoded, in order of use.
    pub used_keys: Vec<Arc<str>>,
    /// Accepted responses that the worker has not taken, in order of acceptance.
    pub responses: Vec<Member>,
}

/// An MCP task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRow {
    /// Its id, a random UUID; when it was created and with what; its result (completed) or error (failed).
    pub texts: TaskTexts,
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
    /// Input rounds, once there was one.
    pub input: Option<Arc<InputState>>,
    /// Its queue, lease and operation, if it was created with one.
    pub work: Option<Arc<Work>>,
}

impl Row for TaskRow {
    fn id(&self) -> &str {
        self.texts.id()
    }

    fn expires_at(&self) -> Option<i64> {
        Some(self.created_tick_ns.saturating_add(self.ttl_ms.saturating_mul(NANOS_PER_MILLI)))
    }

    fn partition(&self) -> Option<Cow<'_, str>> {
        self.texts.partition()
    }
}

/// An MCP session.
#[derive(Clone, Debug, PartialEq)]
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
    /// The row with one pin more. The snapshot does not change.
    #[must_use]
    pub fn pinned(&self) -> Self {
        Self { pins: self.pins.saturating_add(1), ..self.clone() }
    }

    /// The row with `count` pins less, at `tick_ns`: its idle time starts then if none is left.
    #[must_use]
    pub fn unpinned(&self, count: u32, tick_ns: i64) -> Self {
        let pins = self.pins.saturating_sub(count);
        let unpinned_tick_ns = if pins == 0 { Some(tick_ns) } else { self.unpinned_tick_ns };
        Self { unpinned_tick_ns, pins, ..self.clone() }
    }

    /// The tick from which on it is idle for too long, if it can be.
    pub fn idle_at(&self) -> Option<i64> {
        let since = self.unpinned_tick_ns.map_or(self.active_tick_ns, |tick| tick.max(self.active_tick_ns));
        if self.pins == 0 { first_tick_beyond(since, self.idle_timeout_ms) } else { None }
    }

    /// The tick from which on its initialization takes too long, if it can. A terminated session is not waited for.
    pub fn initialization_overdue_at(&self) -> Option<i64> {
        if self.initialized || self.terminated {
            None
        } else {
            first_tick_beyond(self.created_tick_ns, self.initialization_timeout_ms)
        }
    }

    /// Which of its two limits ends the session: the one that it meets first.
    pub fn expiry_reason(&self) -> &'static str {
        match (self.idle_at(), self.initialization_overdue_at()) {
            (Some(idle), Some(overdue)) if idle < overdue => "idle",
            (_, Some(_)) => "uninitialized",
            _ => "idle",
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

    fn partition(&self) -> Option<Cow<'_, str>> {
        self.partition.as_deref().map(Cow::Borrowed)
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
    /// Tick of the last save.
    pub saved_tick_ns: i64,
    /// How long it is kept, ms: from when it first became final, or, while it is not, from the last save; 0 is for ever.
    pub retention_ms: i64,
    /// Grows with every save.
    pub revision: u64,
    /// The task: JSON text; empty when it is damaged.
    pub task: Arc<str>,
    /// Where `history` stands in it.
    pub history: Option<Arc<ArrayIndex>>,
    /// Where `artifacts` stands in it; elements are not indexed.
    pub artifacts: Option<Arc<ArrayIndex>>,
    /// Its push notification configs: JSON text of an array of objects, oldest first; `None` when there are none, and
    /// empty when they are damaged.
    pub push_configs: Option<Arc<str>>,
    /// The event that the save which made this row appends to the task's log.
    pub appended: Option<Appended>,
    /// What the log holds. A store brings this up to date when it appends.
    pub log: LogTotals,
    /// The log's events, in a store in memory.
    pub kept_events: KeptEvents,
}

impl A2aRow {
    /// Whether its text is damaged. The row then has an empty one, and its columns still answer.
    pub fn is_damaged(&self) -> bool {
        self.task.is_empty()
    }

    /// The same for its push notification configs.
    pub fn has_damaged_push_configs(&self) -> bool {
        self.push_configs.as_ref().is_some_and(|configs| configs.is_empty())
    }

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
        let since = self.finalized_tick_ns.unwrap_or(self.saved_tick_ns);
        (self.retention_ms > 0)
            .then(|| since.saturating_add(self.retention_ms.saturating_mul(NANOS_PER_MILLI)))
    }
}
