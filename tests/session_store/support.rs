//! A store on a manual clock, and snapshots with some members changed.

#[path = "../stores/mod.rs"]
pub mod stores;

use std::sync::Arc;

use serde_json::Value;
use taskhold::clock::{Clock, ManualClock};
use taskhold::error::{Reason, Result};
use taskhold::session::SessionStore;
use taskhold::store::Store;
use taskhold::time::format_timestamp;

/// 2023-11-14T22:13:20.000Z
pub const START_MS: i64 = 1_700_000_000_000;

pub struct World {
    pub clock: Arc<ManualClock>,
    pub store: Store,
    _place: stores::Place,
}

impl World {
    pub fn new() -> Self {
        let clock = Arc::new(ManualClock::new(START_MS).unwrap());
        let (store, place) = stores::open(Clock::Manual(Arc::clone(&clock)));
        Self { clock, store, _place: place }
    }

    /// On a store in memory, whatever the environment asks for.
    pub fn in_memory() -> Self {
        let clock = Arc::new(ManualClock::new(START_MS).unwrap());
        let store = Store::open(None, None, Clock::Manual(Arc::clone(&clock))).unwrap();
        Self { clock, store, _place: stores::Place::Memory }
    }

    pub fn open(&self, options: &str) -> SessionStore {
        SessionStore::open(&self.store, Some(options)).unwrap()
    }

    pub fn advance(&self, ms: i64) {
        self.clock.advance(ms).unwrap();
    }
}

/// A fresh world with one session store in it.
pub fn world(options: &str) -> (World, SessionStore) {
    let world = World::new();
    let sessions = world.open(options);
    (world, sessions)
}

/// Creates a session with this id.
pub fn create(sessions: &SessionStore, id: &str) -> String {
    let creation = serde_json::json!({ "sessionId": id }).to_string();
    sessions.create("/mcp", Some(&creation)).unwrap().expect("admitted").as_str().to_owned()
}

pub fn find(sessions: &SessionStore, id: &str) -> Option<String> {
    sessions.find_by_session_id(id).unwrap().map(|snapshot| snapshot.as_str().to_owned())
}

pub fn is_there(sessions: &SessionStore, id: &str) -> bool {
    find(sessions, id).is_some()
}

/// `snapshot` with the next version and these members (JSON texts) in place of its own.
pub fn next(snapshot: &str, changes: &[(&str, &str)]) -> String {
    let version: u64 = member(snapshot, "version").as_u64().unwrap();
    let mut all = vec![("version", (version + 1).to_string())];
    all.extend(changes.iter().map(|&(key, value)| (key, value.to_owned())));
    let mut object: serde_json::Map<String, Value> = serde_json::from_str(snapshot).unwrap();
    for (key, value) in all {
        object.insert(key.to_owned(), serde_json::from_str(&value).unwrap());
    }
    Value::Object(object).to_string()
}

pub fn member(snapshot: &str, key: &str) -> Value {
    serde_json::from_str::<Value>(snapshot).unwrap()[key].clone()
}

/// Replaces the stored session by itself with these members changed; must win.
pub fn change(sessions: &SessionStore, id: &str, changes: &[(&str, &str)]) -> String {
    let stored = find(sessions, id).expect("is there");
    let updated = next(&stored, changes);
    assert!(sessions.replace(&stored, &updated).unwrap());
    updated
}

/// The JSON string of the instant `ms` after [`START_MS`].
pub fn at(ms: i64) -> String {
    format!("\"{}\"", std::str::from_utf8(&format_timestamp(START_MS + ms)).unwrap())
}

pub fn initialize(sessions: &SessionStore, id: &str) {
    change(sessions, id, &[("initialized", "true")]);
}

/// Reason and key of a refusal.
pub fn refusal<T>(outcome: Result<T>) -> (Reason, Option<String>) {
    let error = outcome.err().expect("refused");
    (error.reason(), error.key().map(str::to_owned))
}

/// The same with the key borrowed, to compare with.
pub fn reason(reason: Reason, key: &str) -> (Reason, Option<String>) {
    (reason, (!key.is_empty()).then(|| key.to_owned()))
}
