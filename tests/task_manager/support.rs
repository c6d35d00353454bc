//! A manager to test with, and short ways to say what it did.

use std::sync::Arc;

use serde_json::Value;
use taskhold::clock::{Clock, ManualClock};
use taskhold::error::{Error, Result};
use taskhold::store::Store;
use taskhold::task::TaskManager;
use taskhold::text::Text;

pub(crate) const CREATION: &str = r#"{"endpoint":"/mcp","authorizationPartition":"owner","origin":{}}"#;
pub(crate) const FORM: &str =
    r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{}}}"#;
pub(crate) const ROOTS: &str = r#"{"method":"roots/list"}"#;
pub(crate) const ACCEPT: &str = r#"{"action":"accept"}"#;
pub(crate) const EPOCH_MS: i64 = 1_764_066_600_000;

/// One store on a clock of its own.
pub(crate) struct House {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Store,
}

impl House {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::new(EPOCH_MS).unwrap());
        let store = Store::open(None, None, Clock::Manual(Arc::clone(&clock))).unwrap();
        Self { clock, store }
    }

    pub(crate) fn manager(&self, options: &str) -> TaskManager {
        TaskManager::open(&self.store, Some(options)).unwrap()
    }
}

/// A manager alone in its house.
pub(crate) fn manager() -> (House, TaskManager) {
    let house = House::new();
    let manager = house.manager("{}");
    (house, manager)
}

pub(crate) fn json(text: &Text) -> Value {
    serde_json::from_str(text.as_str()).unwrap()
}

/// Creates a task and gives its id.
pub(crate) fn create(manager: &TaskManager) -> String {
    id_of(&manager.create_task(CREATION).unwrap())
}

pub(crate) fn id_of(record: &Text) -> String {
    json(record)["task"]["taskId"].as_str().unwrap().to_owned()
}

pub(crate) fn status_of(record: &Text) -> String {
    json(record)["task"]["status"].as_str().unwrap().to_owned()
}

pub(crate) fn revision_of(record: &Text) -> u64 {
    json(record)["revision"].as_u64().unwrap()
}

pub(crate) fn found(manager: &TaskManager, id: &str) -> Text {
    manager.find_task(id).unwrap().expect("the task is there")
}

/// Status, reason and key of a refusal.
pub(crate) fn refusal<T>(result: Result<T>) -> (&'static str, &'static str, Option<String>) {
    let error: Error = result.err().expect("the call is refused");
    (error.status().name(), error.reason().name(), error.key().map(str::to_owned))
}

/// The reason of a refusal.
pub(crate) fn reason<T>(result: Result<T>) -> &'static str {
    refusal(result).1
}
