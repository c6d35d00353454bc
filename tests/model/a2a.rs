//! The model of A2A tasks: a list of tasks for each name.

use serde_json::{Map, Value};

use super::time::Time;

/// The options of a provider.
#[derive(Clone, Copy, Debug)]
pub struct Provider {
    pub name: &'static str,
    pub grace: i64,
    pub maximum: usize,
    pub retention: i64,
}

/// States as they are written, and as they are stored.
pub const STATES: [(&str, &str); 9] = [
    ("working", "working"),
    ("TASK_STATE_WORKING", "working"),
    ("input-required", "input-required"),
    ("TASK_STATE_INPUT_REQUIRED", "input-required"),
    ("completed", "completed"),
    ("TASK_STATE_CANCELED", "canceled"),
    ("cancelled", "canceled"),
    ("failed", "failed"),
    ("paused", "paused"),
];

/// Timestamps as they are written, and their milliseconds.
pub const TIMESTAMPS: [(Option<&str>, i64); 6] = [
    (None, i64::MIN),
    (Some("2025-01-01T00:00:00Z"), 1_735_689_600_000),
    (Some("2025-01-01T01:00:00.000999+01:00"), 1_735_689_600_000),
    (Some("2025-01-01T00:00:00.5Z"), 1_735_689_600_500),
    (Some("2024-12-31T23:59:59.999Z"), 1_735_689_599_999),
    (Some("1969-12-31T23:59:59Z"), -1000),
];

pub const CONTEXTS: [Option<&str>; 3] = [None, Some("c"), Some("d")];

/// An A2A task.
#[derive(Clone, Debug)]
pub struct Task {
    pub name: &'static str,
    pub id: String,
    pub owner: Option<&'static str>,
    pub text: String,
    pub state: &'static str,
    pub timestamp: i64,
    pub context: Option<&'static str>,
    pub revision: u64,
    /// The tick at which it became final.
    pub finalized: Option<i64>,
    pub retention: i64,
}

pub fn is_final(state: &str) -> bool {
    ["completed", "canceled", "failed", "rejected"].contains(&state)
}

impl Task {
    pub fn is_there(&self, now: Time) -> bool {
        self.retention == 0 || self.finalized.is_none_or(|finalized| now.tick < finalized + self.retention)
    }

    /// 1 active, 2 in its grace period, 3 final.
    pub fn liveness(&self, grace: i64, now: Time) -> i32 {
        match self.finalized {
            _ if !is_final(self.state) => 1,
            Some(finalized) if now.tick < finalized + grace => 2,
            _ => 3,
        }
    }

    /// With the last `history` messages only, and with its artifacts or without.
    pub fn cut(&self, history: Option<usize>, artifacts: bool) -> Value {
        let mut task: Value = serde_json::from_str(&self.text).expect("JSON");
        let members = task.as_object_mut().expect("an object");
        if history == Some(0) {
            members.remove("history");
        }
        if let (Some(last), Some(messages)) =
            (history, members.get_mut("history").and_then(Value::as_array_mut))
        {
            *messages = messages.split_off(messages.len().saturating_sub(last));
        }
        if !artifacts {
            members.remove("artifacts");
        }
        task
    }

    /// Its place in a listing.
    pub fn place(&self) -> (std::cmp::Reverse<i64>, Vec<u8>) {
        (std::cmp::Reverse(self.timestamp), self.id.clone().into_bytes())
    }
}

/// A listing that was not walked to its end.
#[derive(Clone, Debug)]
pub struct Walk {
    pub provider: String,
    pub owner: Option<&'static str>,
    pub filters: Map<String, Value>,
    pub after: (std::cmp::Reverse<i64>, Vec<u8>),
    pub total: usize,
    pub token: String,
}

#[derive(Default)]
pub struct Providers {
    pub all: Vec<Task>,
    pub walk: Option<Walk>,
}

impl Providers {
    pub fn find(&self, name: &str, id: &str) -> Option<usize> {
        self.all.iter().position(|task| task.name == name && task.id == id)
    }

    pub fn count(&self, name: &str) -> usize {
        self.all.iter().filter(|task| task.name == name).count()
    }

    pub fn count_all(&self, now: Time) -> usize {
        self.all.iter().filter(|task| task.is_there(now)).count()
    }

    pub fn expire(&mut self, now: Time) {
        self.all.retain(|task| task.is_there(now));
    }

    /// The tasks of an owner that pass the filters, in the order of listings.
    pub fn listed(&self, name: &str, owner: Option<&str>, filters: &Map<String, Value>) -> Vec<&Task> {
        let state =
            |filter: &Value| STATES.iter().find(|(written, _)| filter == written).map(|(_, stored)| *stored);
        let since = |filter: &Value| {
            TIMESTAMPS.iter().find(|(written, _)| filter.as_str() == *written).map_or(i64::MIN, |(_, ms)| *ms)
        };
        let passes = |task: &&Task| {
            task.name == name
                && task.owner == owner
                && filters.get("contextId").is_none_or(|context| context.as_str() == task.context)
                && filters.get("status").is_none_or(|wanted| state(wanted) == Some(task.state))
                && filters
                    .get("statusTimestampAfter")
                    .is_none_or(|wanted| task.timestamp > i64::MIN && task.timestamp >= since(wanted))
        };
        let mut listed: Vec<_> = self.all.iter().filter(passes).collect();
        listed.sort_by_key(|task| task.place());
        listed
    }
}
