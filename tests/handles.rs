//! Closing while others call: running calls finish on their object, waiters are woken, no call ever meets
//! another object than its handle's, and whatever order things are closed in, the rest goes on working.

mod support;

use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value;
use support::calls::{
    self, Failure, c, close_events, close_manager, close_store, create_task, find_task, id_of, json,
    mark_working, next_event, open_events, open_manager, open_store,
};
use support::fixture;
use taskhold::ffi::*;

fn wait_task(
    manager: *mut taskhold_manager,
    task_id: &str,
    seen: u64,
    timeout_ms: u32,
) -> Result<Value, Failure> {
    let task_id = c(task_id);
    // SAFETY: the string lives until the call returns and the outputs are writable.
    json(|out, error| unsafe {
        taskhold_manager_wait_task(manager, task_id.as_ptr(), seen, timeout_ms, out, error)
    })
}

fn waiters(store: *mut taskhold_store) -> u64 {
    // SAFETY: the outputs are writable.
    let stats = json(|out, error| unsafe { taskhold_store_stats(store, out, error) }).expect("stats");
    stats["waiters"].as_u64().expect("a number")
}

/// How often a race is repeated; Miri, which sees far more in one round, takes far longer for it.
fn rounds(rounds: usize) -> usize {
    if cfg!(miri) { rounds / 100 } else { rounds }
}

/// A handle that several threads may use.
fn shared<H>(address: usize) -> *mut H {
    ptr::without_provenance_mut(address)
}

#[test]
fn calls_race_with_close_and_reopen_and_never_meet_another_object() {
    let _alone = support::alone();
    let live = calls::live_handles();
    // Each manager is over a store of its own and holds one task: a call that met another manager would not
    // find it.
    let opened = || {
        let manager = open_manager(ptr::null_mut(), "{}");
        (manager.addr(), id_of(&create_task(manager).expect("created")))
    };
    let current = Mutex::new(opened());
    let (done, found, closed) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let (address, task_id) = current.lock().expect("not poisoned").clone();
                    match find_task(shared(address), &task_id) {
                        Ok(record) => {
                            assert_eq!(id_of(&record), task_id);
                            found.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(refused) => {
                            assert_eq!(refused.status, TASKHOLD_INVALID_HANDLE);
                            assert_eq!(refused.reason(), "closed");
                            closed.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
        let mut played = 0;
        while played < rounds(2000)
            || found.load(Ordering::Relaxed) == 0
            || closed.load(Ordering::Relaxed) == 0
        {
            let (address, _) = current.lock().expect("not poisoned").clone();
            close_manager(shared(address));
            let next = opened();
            *current.lock().expect("not poisoned") = next;
            played += 1;
        }
        done.store(true, Ordering::Relaxed);
    });
    close_manager(shared(current.into_inner().expect("not poisoned").0));
    assert_eq!(calls::live_handles(), live);
}

#[test]
fn one_handle_may_be_closed_by_many_threads_at_once() {
    let _alone = support::alone();
    let live = calls::live_handles();
    for _ in 0..rounds(200) {
        let address = open_manager(ptr::null_mut(), "{}").addr();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| close_manager(shared(address)));
            }
        });
        assert_eq!(calls::live_handles(), live, "it was closed once");
    }
}

#[test]
fn closing_a_manager_wakes_everyone_who_waits_through_it() {
    let _alone = support::alone();
    let store = open_store(ptr::null_mut());
    let (closing, staying) = (open_manager(store, "{}"), open_manager(store, "{}"));
    let task_id = id_of(&create_task(closing).expect("created"));
    let addresses = [closing.addr(), closing.addr(), staying.addr()];
    std::thread::scope(|scope| {
        let [first, second, third] = addresses.map(|address| {
            let task_id = &task_id;
            scope.spawn(move || wait_task(shared(address), task_id, 1, TASKHOLD_WAIT_FOREVER))
        });
        while waiters(store) < 3 {
            std::thread::yield_now();
        }
        close_manager(closing);
        for waiter in [first, second] {
            let woken = waiter.join().expect("no panic").expect_err("closed");
            assert_eq!(woken.status, TASKHOLD_CLOSED);
            assert_eq!(woken.reason(), "closed_while_waiting");
        }
        assert_eq!(waiters(store), 1, "who waits through another manager of the same name goes on waiting");
        mark_working(staying, &task_id, "now").expect("marked");
        let record = third.join().expect("no panic").expect("changed");
        assert_eq!(record["revision"], 2);
    });
    close_manager(staying);
    close_store(store);
}

#[test]
fn closing_a_queue_wakes_everyone_who_waits_for_its_events() {
    let _alone = support::alone();
    let manager = open_manager(ptr::null_mut(), "{}");
    // A thread may come too late and find the queue closed: what counts is that some were inside.
    let mut woken = 0;
    while woken < 10 {
        let address = open_events(manager, 4).addr();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| next_event(shared(address), TASKHOLD_WAIT_FOREVER));
            for _ in 0..100 {
                std::thread::yield_now();
            }
            close_events(shared(address));
            let ended = waiter.join().expect("no panic").expect_err("closed");
            match ended.reason() {
                "closed_while_waiting" => {
                    assert_eq!(ended.status, TASKHOLD_CLOSED);
                    woken += 1;
                }
                late => assert_eq!(late, "closed"),
            }
        });
    }
    close_manager(manager);
}

#[test]
fn waits_end_by_time_by_a_look_and_by_expiry() {
    let _alone = support::alone();
    let clock = fixture::open_clock();
    let store = open_store(clock);
    let manager = open_manager(store, r#"{"taskTimeToLiveMs":1000}"#);
    let task_id = id_of(&create_task(manager).expect("created"));
    assert_eq!(wait_task(manager, &task_id, 0, 0).expect("a look is enough")["revision"], 1);
    for timeout_ms in [0, 1, 20] {
        let ended = wait_task(manager, &task_id, 1, timeout_ms).expect_err("nothing changes");
        assert_eq!((ended.status, ended.reason()), (TASKHOLD_TIMEOUT, "timeout"));
    }
    let address = manager.addr();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| wait_task(shared(address), &task_id, 1, TASKHOLD_WAIT_FOREVER));
        while waiters(store) == 0 {
            std::thread::yield_now();
        }
        fixture::advance(clock, 1000);
        let ended = waiter.join().expect("no panic").expect_err("expired");
        assert_eq!((ended.status, ended.reason()), (TASKHOLD_NOT_FOUND, "task_not_found"));
    });
    close_manager(manager);
    close_store(store);
    // SAFETY: any handle may be given.
    assert_eq!(unsafe { taskhold_clock_close(clock) }, TASKHOLD_OK);
}

#[test]
fn what_was_opened_over_a_store_outlives_its_handle_and_the_clock_its_own() {
    let _alone = support::alone();
    let live = calls::live_handles();
    let clock = fixture::open_clock();
    let store = open_store(clock);
    let (first, second) = (open_manager(store, "{}"), open_manager(store, "{}"));
    let queue = open_events(first, 4);
    // SAFETY: any handle may be given.
    assert_eq!(unsafe { taskhold_clock_close(clock) }, TASKHOLD_OK);
    close_store(store);
    let record = create_task(first).expect("created");
    assert_eq!(record["task"]["createdAt"], "2025-11-30T10:30:00.000Z", "the clock still stands there");
    close_manager(first);
    let found = find_task(second, &id_of(&record)).expect("found");
    assert_eq!(found, record, "managers of one name share their tasks");
    let event = next_event(queue, 0).expect("a queue outlives its manager");
    assert_eq!(event["taskId"], id_of(&record));
    mark_working(second, &id_of(&record), "on").expect("marked");
    assert_eq!(next_event(queue, 0).expect("and hears of other managers")["event"], "changed");
    close_manager(second);
    close_events(queue);
    assert_eq!(calls::live_handles(), live);
}

#[test]
fn a_private_store_ends_with_its_manager() {
    let _alone = support::alone();
    let (first, second) = (open_manager(ptr::null_mut(), "{}"), open_manager(ptr::null_mut(), "{}"));
    let task_id = id_of(&create_task(first).expect("created"));
    assert_eq!(find_task(second, &task_id).expect("a look"), Value::Null);
    close_manager(first);
    close_manager(second);
}

#[test]
fn live_handles_counts_what_is_open() {
    let _alone = support::alone();
    let before = calls::live_handles();
    let fixture = fixture::Fixture::new();
    assert_eq!(calls::live_handles(), before + 7);
    close_events(fixture.events);
    close_events(fixture.events);
    assert_eq!(calls::live_handles(), before + 6, "closing again counts once");
    fixture.close();
    assert_eq!(calls::live_handles(), before);
}
