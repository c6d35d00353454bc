//! The model of MCP sessions: those that are there, and those that expired and were not told.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::time::Time;

/// The options of a session store.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    pub name: &'static str,
    pub idle: i64,
    pub limit: usize,
    pub initialization: i64,
    pub keep: usize,
}

/// A session. Times are ticks.
#[derive(Clone, Debug)]
pub struct Session {
    pub name: &'static str,
    pub snapshot: Value,
    pub idle_timeout: i64,
    pub initialization_timeout: i64,
    pub created: i64,
    pub active: i64,
    pub unpinned: i64,
    /// Pins by handle.
    pub pins: BTreeMap<&'static str, u32>,
}

impl Session {
    pub fn id(&self) -> &str {
        self.snapshot["sessionId"].as_str().expect("a string")
    }

    pub fn is_terminated(&self) -> bool {
        !self.snapshot["terminatedAt"].is_null()
    }

    /// Why it is gone, if it is.
    fn expired(&self, tick: i64) -> Option<&'static str> {
        let since = self.active.max(self.unpinned);
        let is_pinned = self.pins.values().any(|count| *count > 0);
        let is_awaited = self.snapshot["initialized"] == false && !self.is_terminated();
        let can_be_overdue = self.initialization_timeout > 0 && is_awaited;
        let idle = (self.idle_timeout > 0 && !is_pinned).then(|| since + self.idle_timeout);
        let overdue = can_be_overdue.then(|| self.created + self.initialization_timeout);
        let first = [idle, overdue].into_iter().flatten().min()?;
        (tick > first).then_some(if overdue == Some(first) { "uninitialized" } else { "idle" })
    }
}

/// What a handle may still be told of: sessions that expired, as `take_expired` gives them.
#[derive(Clone, Debug, Default)]
pub struct Untold {
    /// They expired while the handle was open.
    pub must: Vec<Value>,
    /// They expired before it was, or may have been pushed out.
    pub may: Vec<Value>,
}

#[derive(Default)]
pub struct Sessions {
    pub alive: Vec<Session>,
    pub untold: BTreeMap<&'static str, (&'static str, Untold)>,
    /// Snapshots that were there once, for replacements that come too late.
    pub stale: VecDeque<Value>,
    /// All that expired, by name.
    expired: Vec<(&'static str, Value)>,
}

impl Sessions {
    pub fn find(&self, name: &str, id: &str) -> Option<usize> {
        self.alive.iter().position(|session| session.name == name && session.id() == id)
    }

    /// How many take a slot.
    pub fn count(&self, name: &str) -> usize {
        self.alive.iter().filter(|session| session.name == name && !session.is_terminated()).count()
    }

    /// Takes out what has expired.
    pub fn expire(&mut self, now: Time) {
        let (gone, alive) = std::mem::take(&mut self.alive)
            .into_iter()
            .map(|session| (session.expired(now.tick), session))
            .partition::<Vec<_>, _>(|(reason, _)| reason.is_some());
        self.alive = alive.into_iter().map(|(_, session)| session).collect();
        for (reason, session) in gone {
            let told = serde_json::json!({
                "reason": reason, "sessionId": session.id(), "endpoint": session.snapshot["endpoint"],
            });
            for (name, untold) in self.untold.values_mut() {
                if *name == session.name {
                    untold.must.push(told.clone());
                }
            }
            self.expired.push((session.name, told));
            self.remember(session.snapshot);
        }
    }

    pub fn remember(&mut self, snapshot: Value) {
        self.stale.push_back(snapshot);
        if self.stale.len() > 8 {
            self.stale.pop_front();
        }
    }

    pub fn opened(&mut self, handle: &'static str) {
        let name = if handle == "u" { "other" } else { "default" };
        let before = self.expired.iter().filter(|(of, _)| *of == name).map(|(_, told)| told.clone());
        let untold = Untold { must: Vec::new(), may: before.collect() };
        self.untold.insert(handle, (name, untold));
    }

    pub fn closed(&mut self, handle: &'static str, now: Time) {
        for session in &mut self.alive {
            if session.pins.remove(handle).is_some_and(|count| count > 0) {
                session.note_unpin(now.tick);
            }
        }
    }
}

impl Session {
    /// A handle let go: when it was the last, the idle time starts.
    pub fn note_unpin(&mut self, tick: i64) {
        if self.pins.values().all(|count| *count == 0) {
            self.unpinned = tick;
        }
    }
}
