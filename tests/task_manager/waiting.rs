//! Waiting for a task: nothing is missed, everyone wakes, and everything that ends a task ends a wait.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use taskhold::clock::Clock;
use taskhold::store::Store;
use taskhold::task::TaskManager;

use crate::support::{House, create, found, json, manager, reason, revision_of, status_of};

/// Long enough that a test which waits so long has failed.
const LONG: Option<Duration> = Some(Duration::from_mins(1));
const OWNER: Option<&str> = Some("owner");

fn waiters(store: &Store) -> u64 {
    json(&store.stats().unwrap())["waiters"].as_u64().unwrap()
}

/// Runs `act` once `count` threads wait in `store`.
fn once_waiting(store: &Store, count: u64, act: impl FnOnce()) {
    while waiters(store) < count {
        thread::yield_now();
    }
    act();
}

#[test]
fn what_is_already_there_is_given_at_once() {
    let (_house, manager) = manager();
    let id = create(&manager);
    assert_eq!(revision_of(&manager.wait_task(&id, 0, None).unwrap()), 1);
    assert_eq!(reason(manager.wait_task(&id, 1, Some(Duration::ZERO))), "timeout");
    assert_eq!(reason(manager.wait_task(&id, u64::MAX, Some(Duration::from_millis(1)))), "timeout");
    manager.complete_task(&id, "{}", None, None).unwrap();
    assert_eq!(manager.wait_task(&id, 1, None).unwrap().as_str(), found(&manager, &id).as_str());
    assert_eq!(reason(manager.wait_task("nobody", 0, None)), "task_not_found");
    assert_eq!(reason(manager.wait_task("", 0, None)), "invalid_identifier");
}

#[test]
fn everyone_wakes_for_a_change_and_for_a_cancelation_request() {
    let (house, manager) = manager();
    let id = create(&manager);
    for seen in [1, 2] {
        thread::scope(|scope| {
            let waiting: Vec<_> =
                (0..8).map(|_| scope.spawn(|| manager.wait_task(&id, seen, LONG).unwrap())).collect();
            once_waiting(&house.store, 8, || {
                if seen == 1 {
                    manager.mark_task_working(&id, None, None).unwrap();
                } else {
                    manager.request_task_cancelation("/mcp", OWNER, &id).unwrap();
                }
            });
            for waiter in waiting {
                assert_eq!(revision_of(&waiter.join().unwrap()), seen + 1);
            }
        });
    }
    assert_eq!(waiters(&house.store), 0);
}

#[test]
fn another_manager_of_the_name_wakes_too() {
    let house = House::new();
    let (one, other) = (house.manager("{}"), house.manager("{}"));
    let id = create(&one);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| one.wait_task(&id, 1, LONG).unwrap());
        once_waiting(&house.store, 1, || {
            other.cancel_task(&id, None, None).unwrap();
        });
        assert_eq!(status_of(&waiter.join().unwrap()), "cancelled");
    });
}

#[test]
fn closing_ends_the_waits_of_that_manager_alone() {
    let house = House::new();
    let (one, other) = (house.manager("{}"), house.manager("{}"));
    let id = create(&one);
    thread::scope(|scope| {
        let (send, ended) = mpsc::channel();
        let still = send.clone();
        let (one, other, id) = (&one, &other, &id);
        scope.spawn(move || send.send(("one", one.wait_task(id, 1, LONG))).unwrap());
        scope.spawn(move || still.send(("other", other.wait_task(id, 1, LONG))).unwrap());
        once_waiting(&house.store, 2, || one.close());
        let (name, outcome) = ended.recv().unwrap();
        assert_eq!((name, reason(outcome)), ("one", "closed_while_waiting"));
        other.mark_task_working(id, None, None).unwrap();
        assert_eq!(revision_of(&ended.recv().unwrap().1.unwrap()), 2);
    });
}

#[test]
fn an_expiry_ends_a_wait_when_the_clock_is_moved() {
    let house = House::new();
    let manager = house.manager(r#"{"taskTimeToLiveMs":86400000}"#);
    let id = create(&manager);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| manager.wait_task(&id, 1, LONG));
        once_waiting(&house.store, 1, || house.clock.advance(86_400_000).unwrap());
        assert_eq!(reason(waiter.join().unwrap()), "task_not_found");
    });
}

#[test]
fn an_expiry_ends_a_wait_by_a_timer_of_its_own() {
    let store = Store::open(None, None, Clock::System).unwrap();
    let manager = TaskManager::open(&store, Some(r#"{"taskTimeToLiveMs":20}"#)).unwrap();
    let id = create(&manager);
    assert_eq!(reason(manager.wait_task(&id, 1, LONG)), "task_not_found");
}

#[test]
fn no_change_is_missed_between_looking_and_sleeping() {
    let (_house, manager) = manager();
    let manager = Arc::new(manager);
    let id = create(&manager);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2000 {
                manager.mark_task_working(&id, None, None).unwrap();
            }
            manager.complete_task(&id, "{}", None, None).unwrap();
        });
        let mut seen = 0;
        loop {
            let record = manager.wait_task(&id, seen, LONG).unwrap();
            assert!(revision_of(&record) > seen);
            seen = revision_of(&record);
            if status_of(&record) == "completed" {
                break;
            }
        }
        assert_eq!(seen, 2002);
    });
}
