//! A store behind PgBouncer in transaction mode, where the next transaction may run on another connection.
//! `scripts/test-postgres.sh pooled` plays the vectors there too.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use taskhold::clock::Clock;
use taskhold::session::SessionStore;
use taskhold::store::Store;
use taskhold::task::TaskManager;

use crate::stores::postgres::{Pooler, Schema};

const SAFE: &str = r#"{"poolerSafe": true, "eventPollMs": 20}"#;
/// Far above what a wake takes.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn id(record: &str) -> String {
    parsed(record)["task"]["taskId"].as_str().unwrap().to_owned()
}

#[test]
fn processes_behind_a_pooler_share_tasks_sessions_and_queues() {
    let pooler = Pooler::start();
    let schema = Schema::new();
    let open = || Store::open(Some(&pooler.url), Some(&schema.options_with(SAFE)), Clock::System).unwrap();
    let (one, other) = (open(), open());
    let (mine, theirs) = (TaskManager::open(&one, None).unwrap(), TaskManager::open(&other, None).unwrap());

    // More threads than the pooler has connections, all in the midst of transactions.
    let creation = r#"{"endpoint": "/mcp", "origin": {}, "queue": "q"}"#;
    let barrier = Barrier::new(12);
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                barrier.wait();
                for _ in 0..10 {
                    mine.create_task(creation).unwrap();
                }
            });
        }
    });
    let claim = json!({"worker": "w", "queues": ["q"], "leaseMs": 600_000}).to_string();
    let claimed: Vec<String> = thread::scope(|scope| {
        let claimers: Vec<_> = [&mine, &theirs, &mine, &theirs]
            .into_iter()
            .map(|tasks| {
                scope.spawn(|| {
                    let next = || tasks.claim_task(&claim, Some(Duration::ZERO)).unwrap();
                    std::iter::from_fn(next).map(|record| id(record.into_text().as_str())).collect::<Vec<_>>()
                })
            })
            .collect();
        claimers.into_iter().flat_map(|claimer| claimer.join().unwrap()).collect()
    });
    let different: std::collections::HashSet<&String> = claimed.iter().collect();
    assert_eq!((claimed.len(), different.len()), (120, 120), "each is given out once");

    // What others change is seen.
    let record = id(mine.create_task(r#"{"endpoint": "/mcp", "origin": {}}"#).unwrap().as_str());
    let queue = mine.open_events(64).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| mine.wait_task(&record, 1, PATIENCE).unwrap().as_str().to_owned());
        theirs.mark_task_working(&record, Some("on it"), None).unwrap();
        assert_eq!(parsed(&waiting.join().unwrap())["revision"], 2);
    });
    theirs.complete_task(&record, r#"{"content": []}"#, None, None).unwrap();
    assert_eq!(parsed(queue.next(PATIENCE).unwrap().as_str())["taskId"], *record);

    let sessions = SessionStore::open(&one, None).unwrap();
    sessions.create("/mcp", Some(r#"{"sessionId": "s"}"#)).unwrap().unwrap();
    assert!(sessions.pin("s").unwrap());
    assert!(SessionStore::open(&other, None).unwrap().find_by_session_id("s").unwrap().is_some());
    sessions.unpin("s").unwrap();
    let findings = other.check().unwrap();
    assert!(findings.as_str().contains(r#""ok":true"#), "{}", findings.as_str());
}
