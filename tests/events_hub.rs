//! Waiting and event queues without a store: what `wait_task` and `open_events` are built on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use taskhold::clock::{Clock, ManualClock, Wake};
use taskhold::error::Reason;
use taskhold::events::{EventKind, EventQueue, Hub, Look};

const POLL: Option<Duration> = Some(Duration::ZERO);
/// Far above what any wait here needs, far below for ever.
const LONG: Option<Duration> = Some(Duration::from_mins(1));

fn drain(queue: &EventQueue) -> Vec<String> {
    let mut events = Vec::new();
    while let Ok(event) = queue.next(POLL) {
        events.push(event.as_str().to_owned());
    }
    events
}

fn changed(id: &str) -> String {
    format!("{{\"event\":\"changed\",\"taskId\":\"{id}\"}}")
}

const LAGGED: &str = "{\"event\":\"lagged\"}";

#[test]
fn a_queue_coalesces_by_kind_and_id_and_keeps_order() {
    let hub = Arc::new(Hub::default());
    let queue = hub.open_queue(8).unwrap();
    for id in ["a", "b", "a"] {
        hub.announce(EventKind::Changed, id);
    }
    hub.announce(EventKind::CancelationRequested, "a");
    let requested = "{\"event\":\"cancelation_requested\",\"taskId\":\"a\"}";
    assert_eq!(drain(&queue), [changed("a"), changed("b"), requested.to_owned()]);
    hub.announce(EventKind::Changed, "a");
    assert_eq!(drain(&queue), [changed("a")], "once taken, the next one is new");
}

#[test]
fn an_overflow_is_said_once_where_events_were_lost() {
    let hub = Arc::new(Hub::default());
    let queue = hub.open_queue(2).unwrap();
    for id in ["a", "b", "c", "d"] {
        hub.announce(EventKind::Changed, id);
    }
    assert_eq!(queue.next(POLL).unwrap().as_str(), changed("a"));
    hub.announce(EventKind::Changed, "e");
    assert_eq!(drain(&queue), [changed("b"), LAGGED.to_owned(), changed("e")]);
    hub.announce(EventKind::Changed, "c");
    assert_eq!(drain(&queue), [changed("c")]);
}

#[test]
fn queues_come_and_go_by_the_thousand() {
    let hub = Arc::new(Hub::default());
    let staying = hub.open_queue(8).unwrap();
    for round in 0..3 {
        let queues: Vec<_> = (0..5_000).map(|_| hub.open_queue(1).unwrap()).collect();
        hub.announce(EventKind::Changed, "a");
        assert!(queues.iter().all(|queue| drain(queue) == [changed("a")]));
        assert_eq!((drain(&staying), hub.counts()), (vec![changed("a")], (0, 5_001)), "round {round}");
        drop(queues);
        assert_eq!(hub.counts(), (0, 1));
    }
    hub.announce(EventKind::Changed, "b");
    assert_eq!(drain(&staying), [changed("b")]);
}

#[test]
fn ids_are_escaped() {
    let hub = Arc::new(Hub::default());
    let queue = hub.open_queue(1).unwrap();
    hub.announce(EventKind::Finalized, "a\"\\\u{1}é");
    assert_eq!(drain(&queue), ["{\"event\":\"finalized\",\"taskId\":\"a\\\"\\\\\\u0001é\"}"]);
}

#[test]
fn a_capacity_of_nothing_is_refused() {
    let refused = Arc::new(Hub::default()).open_queue(0).err().unwrap();
    assert_eq!((refused.reason(), refused.key()), (Reason::InvalidValue, Some("capacity")));
}

#[test]
fn queues_are_counted_until_they_close_or_go() {
    let hub = Arc::new(Hub::default());
    let (one, other) = (hub.open_queue(1).unwrap(), hub.open_queue(1).unwrap());
    assert_eq!(hub.counts(), (0, 2));
    one.close();
    one.close();
    assert_eq!(hub.counts(), (0, 1));
    hub.announce(EventKind::Changed, "a");
    assert_eq!(one.next(POLL).unwrap_err().reason(), Reason::ClosedWhileWaiting);
    drop(other);
    assert_eq!(hub.counts(), (0, 0));
}

#[test]
fn closing_a_queue_wakes_everyone_who_waits_on_it() {
    let hub = Arc::new(Hub::default());
    for _ in 0..200 {
        let queue = hub.open_queue(1).unwrap();
        let ready = Barrier::new(3);
        thread::scope(|scope| {
            let waiters: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        ready.wait();
                        queue.next(LONG).unwrap_err().reason()
                    })
                })
                .collect();
            ready.wait();
            queue.close();
            for waiter in waiters {
                assert_eq!(waiter.join().unwrap(), Reason::ClosedWhileWaiting);
            }
        });
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_descriptor_is_readable_exactly_while_something_is_there() {
    fn readable(fd: i32) -> bool {
        let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry; the descriptor is the queue's, which outlives this call.
        let ready = unsafe { libc::poll(&raw mut poll, 1, 0) };
        ready == 1 && poll.revents & libc::POLLIN != 0
    }
    let hub = Arc::new(Hub::default());
    let queue = hub.open_queue(2).unwrap();
    hub.announce(EventKind::Changed, "before");
    let fd = queue.fd().unwrap();
    assert_eq!(queue.fd().unwrap(), fd);
    assert!(readable(fd), "an event that was there before the descriptor counts");
    assert_eq!(drain(&queue), [changed("before")]);
    assert!(!readable(fd));
    hub.announce(EventKind::Changed, "a");
    hub.announce(EventKind::Changed, "b");
    assert!(readable(fd) && readable(fd), "level-triggered");
    queue.next(POLL).unwrap();
    assert!(readable(fd), "one is left");
    queue.next(POLL).unwrap();
    assert!(!readable(fd));
    queue.close();
    assert!(readable(fd), "the end of the queue is news too");
}

#[test]
fn a_change_between_the_look_and_the_sleep_is_not_lost() {
    let hub = Arc::new(Hub::default());
    let (value, never) = (AtomicU64::new(0), AtomicBool::new(false));
    for round in 1..=5_000 {
        let ready = Barrier::new(3);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    ready.wait();
                    let mut look = || match value.load(Ordering::SeqCst) {
                        seen if seen >= round => Ok(Look::Ready(seen)),
                        _ => Ok(Look::Again(None)),
                    };
                    assert_eq!(hub.wait("id", LONG, &never, &mut look).unwrap(), round);
                });
            }
            ready.wait();
            value.store(round, Ordering::SeqCst);
            hub.announce(EventKind::Changed, "id");
        });
    }
    assert_eq!(hub.counts(), (0, 0));
}

#[test]
fn only_waiters_of_the_same_id_look_again() {
    let hub = Arc::new(Hub::default());
    let (closed, looks) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            hub.wait("mine", LONG, &closed, &mut || {
                looks.fetch_add(1, Ordering::SeqCst);
                Ok(Look::<()>::Again(None))
            })
            .unwrap_err()
            .reason()
        });
        while looks.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        for _ in 0..100 {
            hub.announce(EventKind::Changed, "another");
        }
        assert_eq!(looks.load(Ordering::SeqCst), 1);
        closed.store(true, Ordering::SeqCst);
        hub.wake_all();
        assert_eq!(waiter.join().unwrap(), Reason::ClosedWhileWaiting);
    });
}

#[test]
fn a_wait_without_time_looks_once() {
    let hub = Hub::default();
    let never = AtomicBool::new(false);
    let mut looks = 0;
    let refused = hub.wait("id", POLL, &never, &mut || {
        looks += 1;
        Ok(Look::<()>::Again(None))
    });
    assert_eq!((refused.unwrap_err().reason(), looks), (Reason::Timeout, 1));
}

#[test]
fn moving_a_manual_clock_wakes_waiters() {
    let hub = Arc::new(Hub::default());
    let clock = Arc::new(ManualClock::new(0).unwrap());
    let source = Clock::Manual(Arc::clone(&clock));
    source.watch(Arc::downgrade(&hub) as std::sync::Weak<dyn Wake>);
    let never = AtomicBool::new(false);
    for round in 1..=500 {
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                hub.wait("id", LONG, &never, &mut || {
                    Ok(if source.now().wall_ms >= round { Look::Ready(()) } else { Look::Again(None) })
                })
            });
            clock.advance(1).unwrap();
            waiter.join().unwrap().unwrap();
        });
    }
}

#[test]
fn a_manual_clock_stays_within_its_years_and_never_runs_back() {
    let clock = ManualClock::new(0).unwrap();
    for (refused, key) in [
        (ManualClock::new(i64::MAX).err(), "epoch_ms"),
        (clock.advance(-1).err(), "ms"),
        (clock.advance(i64::MAX).err(), "ms"),
        (clock.step_wall(i64::MIN).err(), "ms"),
    ] {
        let refused = refused.unwrap();
        assert_eq!((refused.reason(), refused.key()), (Reason::InvalidValue, Some(key)));
    }
    let clock = Clock::Manual(Arc::new(clock));
    assert_eq!((clock.now().wall_ms, clock.tick_ns()), (0, 0));
}
