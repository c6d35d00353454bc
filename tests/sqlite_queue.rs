//! Queued work in a file that others write to: what a call does beside its own work waits for nobody.

mod stores;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use stores::Folder;
use taskhold::clock::{Clock, ManualClock};
use taskhold::error::Reason;
use taskhold::store::Store;
use taskhold::task::TaskManager;

/// A call that waits for the file's lock waits for a minute.
const PATIENT: &str = r#"{"busyTimeoutMs": 60000}"#;
const LEASED: &str = r#"{"endpoint": "/mcp", "origin": {}, "lease": {"worker": "gone", "leaseMs": 1000}}"#;
const CLAIM: &str = r#"{"worker": "w", "queues": ["q"], "leaseMs": 1000}"#;

#[test]
fn a_wait_does_not_outlast_its_timeout_for_the_lapses_of_others() {
    let folder = Folder::new();
    let clock = Arc::new(ManualClock::new(1_764_498_600_000).unwrap());
    let url = folder.url("agents.db");
    let store = Store::open(Some(&url), Some(PATIENT), Clock::Manual(Arc::clone(&clock))).unwrap();
    let tasks = TaskManager::open(&store, None).unwrap();
    let events = tasks.open_events(8).unwrap();
    for _ in 0..4 {
        tasks.create_task(LEASED).unwrap();
        events.next(Some(Duration::ZERO)).unwrap();
    }
    let outsider = Connection::open(folder.path.join("agents.db")).unwrap();
    outsider.execute_batch("BEGIN IMMEDIATE").unwrap();
    clock.advance(1000).unwrap();

    let begun = Instant::now();
    assert_eq!(events.next(Some(Duration::ZERO)).unwrap_err().reason(), Reason::Timeout);
    assert!(tasks.claim_task(CLAIM, Some(Duration::ZERO)).unwrap().is_none());
    assert!(begun.elapsed() < Duration::from_secs(20), "a lapse that cannot be stored now can be later");

    outsider.execute_batch("COMMIT").unwrap();
    for _ in 0..4 {
        events.next(Some(Duration::from_secs(20))).unwrap();
    }
}

/// Those that cannot be read stay there, and stand in front of those whose leases lapsed later.
#[test]
fn lapses_are_told_behind_any_number_of_tasks_that_cannot_be_read() {
    let folder = Folder::new();
    let clock = Arc::new(ManualClock::new(1_764_498_600_000).unwrap());
    let store = Store::open(Some(&folder.url("agents.db")), None, Clock::Manual(Arc::clone(&clock))).unwrap();
    let tasks = TaskManager::open(&store, None).unwrap();
    for _ in 0..9 {
        tasks.create_task(LEASED).unwrap();
    }
    clock.advance(1).unwrap();
    let outsider = Connection::open(folder.path.join("agents.db")).unwrap();
    assert_eq!(outsider.execute("UPDATE tasks SET status = 'none'", ()), Ok(9));
    tasks.create_task(LEASED).unwrap();
    let events = tasks.open_events(8).unwrap();
    clock.advance(1000).unwrap();
    let told = events.next(Some(Duration::from_mins(1))).unwrap();
    assert!(told.as_str().contains("changed"), "{}", told.as_str());
}
