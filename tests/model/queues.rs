//! What waits in event queues: bounded, coalesced by kind and task, `lagged` where events were lost.

use serde_json::{Value, json};

use super::call::{Expected, Outcome, TIMEOUT};

/// Who stores the lapse of a lease announces it, and which call does so is left open. So once there are leases, the
/// order of events and the place of `lagged` among them are left open too: what was announced must come, unless
/// `lagged` does, and nothing else but lapses may.
pub struct Queue {
    /// The table whose changes it is told: a kind of record and a name.
    pub table: (u8, &'static str),
    capacity: usize,
    pending: Vec<Value>,
    /// Lapses, and what a `lagged` may stand for.
    possible: Vec<Value>,
}

fn lagged() -> Value {
    json!({"event": "lagged"})
}

impl Queue {
    pub fn new(table: (u8, &'static str), capacity: usize) -> Self {
        Self { table, capacity, pending: Vec::new(), possible: Vec::new() }
    }

    pub fn push(&mut self, event: &str, id: &str) {
        let event = json!({"event": event, "taskId": id});
        if self.pending.contains(&event) {
            return;
        }
        let has_lagged = self.pending.contains(&lagged());
        if self.pending.len() - usize::from(has_lagged) < self.capacity {
            self.pending.push(event);
        } else if !has_lagged {
            self.pending.push(lagged());
        }
    }

    pub fn next(&mut self) -> Expected {
        if self.pending.is_empty() { TIMEOUT } else { Expected::Document(self.pending.remove(0)) }
    }

    /// An event that may come, by and by.
    pub fn may_push(&mut self, event: &str, id: &str) {
        let event = json!({"event": event, "taskId": id});
        if !self.possible.contains(&event) {
            self.possible.push(event);
        }
    }

    /// As `push` where order and capacity are left open.
    pub fn push_loosely(&mut self, event: &str, id: &str) {
        let event = json!({"event": event, "taskId": id});
        if !self.pending.contains(&event) {
            self.pending.push(event);
        }
    }

    /// What is wrong with what came.
    pub fn judge(&mut self, outcome: &Outcome) -> Expected {
        let remove = |events: &mut Vec<Value>, event: &Value| {
            let at = events.iter().position(|known| known == event);
            at.map(|at| events.remove(at)).is_some()
        };
        let event = outcome.json();
        let wrong = if outcome.status == "timeout" {
            let owed = std::mem::take(&mut self.pending);
            (!owed.is_empty()).then(|| format!("should give {owed:?}"))
        } else if event == lagged() {
            self.possible.append(&mut self.pending);
            None
        } else {
            let is_known = remove(&mut self.pending, &event) || remove(&mut self.possible, &event);
            (!is_known).then(|| format!("should not give {event}"))
        };
        Expected::Judged(wrong)
    }
}
