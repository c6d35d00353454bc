//! What waits in event queues: bounded, coalesced by kind and task, `lagged` where events were lost.

use serde_json::{Value, json};

use super::call::{Expected, TIMEOUT};

pub struct Queue {
    /// The table whose changes it is told: a kind of record and a name.
    pub table: (u8, &'static str),
    capacity: usize,
    pending: Vec<Value>,
}

fn lagged() -> Value {
    json!({"event": "lagged"})
}

impl Queue {
    pub fn new(table: (u8, &'static str), capacity: usize) -> Self {
        Self { table, capacity, pending: Vec::new() }
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
}
