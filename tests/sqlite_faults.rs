//! A panic on the background thread of a store on SQLite ends one of its turns and no more.
#![cfg(feature = "fault-injection")]

mod stores;

use std::time::Duration;

use stores::{Folder, QUICK};
use taskhold::clock::Clock;
use taskhold::fault;
use taskhold::store::Store;
use taskhold::task::TaskManager;

const CREATION: &str = r#"{"endpoint": "/mcp", "origin": 1}"#;
const SOON: Option<Duration> = Some(Duration::from_secs(10));

// One test: what is armed is met by whoever comes by.
#[test]
fn the_worker_goes_on_after_a_panic() {
    let folder = Folder::new();
    let open = || Store::open(Some(&folder.url("agents.db")), Some(QUICK), Clock::System).unwrap();
    let (one, other) = (open(), open());
    let (mine, theirs) = (TaskManager::open(&one, None).unwrap(), TaskManager::open(&other, None).unwrap());
    let queue = mine.open_events(8).unwrap();
    for _ in 0..3 {
        theirs.create_task(CREATION).unwrap();
        queue.next(SOON).unwrap();
        fault::arm("sqlite_worker");
        theirs.create_task(CREATION).unwrap();
        assert!(queue.next(SOON).unwrap().as_str().contains("changed"));
        assert!(!fault::disarm(), "the point was passed");
    }
    let stats: serde_json::Value = serde_json::from_str(one.stats().unwrap().as_str()).unwrap();
    assert_eq!((&stats["caughtPanics"], &stats["watching"]), (&3.into(), &1.into()));
    drop((mine, one));
    drop(queue);
    assert!(theirs.open_events(1).is_ok());
}
