//! Workers at a queue, with threads and real time.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use taskhold::clock::Clock;
use taskhold::store::Store;
use taskhold::task::TaskManager;

use crate::stores;

const CLAIM: &str = r#"{"worker":"w","queues":["q"],"leaseMs":60000}"#;
const LONG: Option<Duration> = Some(Duration::from_secs(20));

fn creation(members: &str) -> String {
    format!(r#"{{"endpoint":"/mcp","origin":{{}},{members}}}"#)
}

fn manager(store: &Store) -> TaskManager {
    TaskManager::open(store, None).unwrap()
}

fn claimed(manager: &TaskManager) -> Value {
    let record = manager.claim_task(CLAIM, LONG).unwrap().expect("a task came");
    serde_json::from_str(record.into_text().as_str()).unwrap()
}

#[test]
fn each_task_wakes_one_of_those_who_wait() {
    let (store, _place) = stores::open(Clock::System);
    let one = manager(&store);
    let other = manager(&store);
    let start = Barrier::new(9);
    let mut ids: Vec<Value> = thread::scope(|scope| {
        let claimers: Vec<_> = (0..8)
            .map(|n| {
                let (manager, start) = (if n % 2 == 0 { &one } else { &other }, &start);
                scope.spawn(move || {
                    start.wait();
                    claimed(manager)["task"]["taskId"].clone()
                })
            })
            .collect();
        start.wait();
        for n in 0..8 {
            // Some are due at once, the others a little later.
            let delay = if n % 3 == 0 { r#","delayMs":20"# } else { "" };
            one.create_task(&creation(&format!(r#""queue":"q"{delay}"#))).unwrap();
        }
        claimers.into_iter().map(|claimer| claimer.join().unwrap()).collect()
    });
    ids.sort_by_key(ToString::to_string);
    ids.dedup();
    assert_eq!(ids.len(), 8, "each task is held by one worker");
    assert!(one.claim_task(CLAIM, Some(Duration::ZERO)).unwrap().is_none());
}

#[test]
fn a_task_whose_worker_is_gone_goes_to_the_one_who_waits() {
    let (store, _place) = stores::open(Clock::System);
    let manager = manager(&store);
    let work = r#""queue":"q","attempts":{"maximum":2,"backoffMs":5},"lease":{"worker":"gone","leaseMs":30}"#;
    manager.create_task(&creation(work)).unwrap();
    let taken = claimed(&manager);
    assert_eq!((&taken["attempt"], &taken["lease"]["token"]), (&2.into(), &2.into()));
}

#[test]
fn a_lapse_that_ends_a_task_is_announced_to_who_waits_for_events() {
    let (store, _place) = stores::open(Clock::System);
    let manager = manager(&store);
    let queue = manager.open_events(8).unwrap();
    let record = manager.create_task(&creation(r#""lease":{"worker":"gone","leaseMs":30}"#)).unwrap();
    let record: Value = serde_json::from_str(record.as_str()).unwrap();
    let id = record["task"]["taskId"].as_str().unwrap();
    for _ in ["created", "failed"] {
        let event: Value = serde_json::from_str(queue.next(LONG).unwrap().as_str()).unwrap();
        assert_eq!((&event["event"], &event["taskId"]), (&"changed".into(), &id.into()));
    }
    let waited: Value = serde_json::from_str(manager.wait_task(id, 1, LONG).unwrap().as_str()).unwrap();
    assert_eq!((&waited["task"]["status"], &waited["revision"]), (&"failed".into(), &2.into()));
}

/// How often this thread has slept.
#[cfg(target_os = "linux")]
fn sleeps() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    line.trim().parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn who_waits_sleeps_until_there_is_something_to_do() {
    let (store, _place) = stores::open(Clock::System);
    let manager = manager(&store);
    thread::scope(|scope| {
        for n in 0..4 {
            let manager = &manager;
            scope.spawn(move || {
                let before = sleeps();
                let claim = format!(r#"{{"worker":"w","queues":["nothing-{n}"],"leaseMs":60000}}"#);
                let claimed = manager.claim_task(&claim, Some(Duration::from_millis(600))).unwrap();
                assert!(claimed.is_none());
                let slept = sleeps() - before;
                assert!(slept < 40, "a claimer woke {slept} times with nothing to do");
            });
        }
    });
}

#[test]
fn closing_the_manager_ends_the_wait() {
    let (store, _place) = stores::open(Clock::System);
    let manager = manager(&store);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| manager.claim_task(CLAIM, None).map(|_| ()).unwrap_err());
        while !store.stats().unwrap().as_str().contains(r#""waiters":1"#) {
            thread::yield_now();
        }
        manager.close();
        assert_eq!(waiting.join().unwrap().reason().name(), "closed_while_waiting");
    });
}
