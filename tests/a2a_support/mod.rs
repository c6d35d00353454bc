//! What the A2A tests share: providers over a memory store whose clock stands still, and short tasks.

#![allow(dead_code)] // Each test file uses its part.

#[path = "../stores/mod.rs"]
mod stores;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use taskhold::a2a::StateProvider;
use taskhold::clock::{Clock, ManualClock};
use taskhold::error::{Error, Reason, Status};
use taskhold::events::EventQueue;
use taskhold::store::Store;

/// 2025-01-02T03:04:05.000Z.
pub const EPOCH_MS: i64 = 1_735_787_045_000;

/// A store and the clock that moves it.
pub struct Stand {
    pub clock: Arc<ManualClock>,
    pub store: Store,
    _place: stores::Place,
}

impl Stand {
    pub fn new() -> Self {
        let clock = Arc::new(ManualClock::new(EPOCH_MS).expect("a clock"));
        let (store, mut place) = stores::open(Clock::Manual(Arc::clone(&clock)));
        if let stores::Place::Schema(schema) = place {
            // Tests go on with providers when this is gone. A schema goes with its server.
            std::mem::forget(schema);
            place = stores::Place::Memory;
        }
        Self { clock, store, _place: place }
    }

    /// On a store in memory, whatever the environment asks for.
    pub fn in_memory() -> Self {
        let clock = Arc::new(ManualClock::new(EPOCH_MS).expect("a clock"));
        let store = Store::open(None, None, Clock::Manual(Arc::clone(&clock))).expect("a store");
        Self { clock, store, _place: stores::Place::Memory }
    }

    pub fn provider(&self, options: &str) -> StateProvider {
        StateProvider::open(&self.store, Some(options)).expect("a provider")
    }

    pub fn advance(&self, ms: i64) {
        self.clock.advance(ms).expect("the clock runs on");
    }
}

/// A folder for a store in a file.
pub fn folder() -> stores::Folder {
    stores::Folder::new()
}

/// A task in a state.
pub fn task(id: &str, state: &str) -> String {
    format!(r#"{{"id":{},"status":{{"state":"{state}"}}}}"#, quoted(id))
}

/// A task in a state since a time.
pub fn task_at(id: &str, state: &str, timestamp: &str) -> String {
    format!(r#"{{"id":{},"status":{{"state":"{state}","timestamp":"{timestamp}"}}}}"#, quoted(id))
}

pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

pub fn save(provider: &StateProvider, owner: Option<&str>, task: &str) -> u64 {
    provider.save_task(owner, task, None).expect("a save")
}

/// The text and revision of a task that is there.
pub fn get(provider: &StateProvider, owner: Option<&str>, id: &str) -> Option<(String, u64)> {
    let found = provider.get_task(owner, id, None).expect("a get");
    found.map(|(text, revision)| (text.as_str().to_owned(), revision))
}

/// A page, with its members in the order that the design fixes.
pub fn list(provider: &StateProvider, owner: Option<&str>, params: &str) -> Value {
    let text = provider.list_tasks(owner, Some(params)).expect("a page");
    let page: Value = serde_json::from_str(text.as_str()).expect("a page is JSON");
    let keys: Vec<&str> = page.as_object().expect("an object").keys().map(String::as_str).collect();
    let with_revisions = serde_json::from_str::<Value>(params).expect("JSON")["includeRevisions"] == true;
    let expected: &[&str] = if with_revisions {
        &["tasks", "totalSize", "pageSize", "nextPageToken", "revisions"]
    } else {
        &["tasks", "totalSize", "pageSize", "nextPageToken"]
    };
    assert_eq!(keys, expected);
    assert_eq!(page["pageSize"], ids(&page).len());
    page
}

pub fn ids(page: &Value) -> Vec<String> {
    let tasks = page["tasks"].as_array().expect("an array");
    tasks.iter().map(|task| task["id"].as_str().expect("an id").to_owned()).collect()
}

/// Walks all pages; `params` is the inside of the object, without a page token. `between` runs after each page.
pub fn walk(
    provider: &StateProvider,
    owner: Option<&str>,
    params: &str,
    mut between: impl FnMut(&Value),
) -> Vec<String> {
    let mut met = Vec::new();
    let mut token = String::new();
    for _ in 0..1000 {
        let page = list(provider, owner, &format!(r#"{{{params},"pageToken":"{token}"}}"#));
        met.extend(ids(&page));
        between(&page);
        page["nextPageToken"].as_str().expect("a token").clone_into(&mut token);
        if token.is_empty() {
            return met;
        }
        assert!(!ids(&page).is_empty(), "a page that has a next one shows something");
    }
    panic!("the walk does not end");
}

/// The events that are there now.
pub fn events(queue: &EventQueue) -> Vec<String> {
    let next = || queue.next(Some(Duration::ZERO));
    let mut all = Vec::new();
    loop {
        match next() {
            Ok(event) => all.push(event.as_str().to_owned()),
            Err(error) => {
                assert_eq!(error.status(), Status::Timeout);
                return all;
            }
        }
    }
}

pub fn reason<T>(result: Result<T, Error>) -> Reason {
    match result {
        Ok(_) => panic!("a refusal was expected"),
        Err(error) => error.reason(),
    }
}
