//! Waiting and telling: no announcement is lost between a look and the sleep that follows, and whatever wakes
//! a wait wakes it. A wait that is never woken is a deadlock, which the scheduler reports.

use std::sync::Arc;
use std::time::Duration;

use shuttle::sync::Mutex;
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use shuttle::thread;

use crate::Model;
use crate::clock::{Clock, ManualClock, Wake};
use crate::error::Reason;
use crate::events::{EventKind, Hub, Look};
use crate::store::Store;
use crate::task::{Subscriber, TaskManager};

pub const ALL: &[Model] = &[
    ("waits: two waiters of one id see a change that was announced", waiters_see_the_change),
    ("waits: a waiter that leaves does not take another's seat", a_seat_that_is_given_up),
    ("waits: closing wakes", closing_wakes),
    ("waits: a task's end wakes through the whole stack", a_tasks_end_wakes),
    ("waits: an expiry by a clock that is moved wakes", an_expiry_wakes),
    ("queues: every event reaches one of two readers", every_event_reaches_a_reader),
    ("queues: a full queue says so, and loses nothing without saying so", a_full_queue_says_so),
    ("queues: closing wakes both readers", closing_a_queue_wakes),
    ("subscribers: none is called after its close, each is let go once", subscribers_end),
];

const MOMENT: i64 = 1_764_498_600_000;

/// Waits until `value` is at least `wanted`, as the domains wait for a row.
fn wait_for(hub: &Hub, value: &Mutex<u64>, wanted: u64) -> u64 {
    hub.wait("t", None, &AtomicBool::new(false), &mut || {
        let seen = *value.lock().unwrap();
        Ok(if seen >= wanted { Look::Ready(seen) } else { Look::Again(None) })
    })
    .unwrap()
}

fn waiters_see_the_change() {
    let (hub, value) = (Arc::new(Hub::default()), Arc::new(Mutex::new(0)));
    let waiters: Vec<_> = [1, 2]
        .map(|wanted| {
            let (hub, value) = (Arc::clone(&hub), Arc::clone(&value));
            thread::spawn(move || wait_for(&hub, &value, wanted))
        })
        .into();
    for _ in 0..2 {
        *value.lock().unwrap() += 1;
        hub.announce(EventKind::Changed, "t");
    }
    for (waiter, wanted) in waiters.into_iter().zip(1..) {
        assert!(waiter.join().unwrap() >= wanted);
    }
    assert_eq!(hub.counts(), (0, 0), "every seat is given up");
}

fn a_seat_that_is_given_up() {
    let (hub, value) = (Arc::new(Hub::default()), Arc::new(Mutex::new(0)));
    let (other_hub, other_value) = (Arc::clone(&hub), Arc::clone(&value));
    let leaves = thread::spawn(move || {
        for _ in 0..2 {
            wait_for(&other_hub, &other_value, 0);
        }
    });
    let (other_hub, other_value) = (Arc::clone(&hub), Arc::clone(&value));
    let stays = thread::spawn(move || wait_for(&other_hub, &other_value, 1));
    *value.lock().unwrap() = 1;
    hub.announce(EventKind::Changed, "t");
    leaves.join().unwrap();
    assert_eq!(stays.join().unwrap(), 1);
    assert_eq!(hub.counts(), (0, 0));
}

fn manager(options: &str) -> (Arc<ManualClock>, Arc<TaskManager>, String) {
    let clock = Arc::new(ManualClock::new(MOMENT).unwrap());
    let store = Store::open(None, None, Clock::Manual(Arc::clone(&clock))).unwrap();
    let manager = TaskManager::open(&store, Some(options)).unwrap();
    let id = create(&manager);
    (clock, Arc::new(manager), id)
}

fn create(manager: &TaskManager) -> String {
    let record = manager.create_task(r#"{"endpoint":"","origin":1}"#).unwrap();
    let record: serde_json::Value = serde_json::from_str(record.as_str()).unwrap();
    record["task"]["taskId"].as_str().unwrap().to_owned()
}

fn closing_wakes() {
    let (_, manager, id) = manager("{}");
    let other = Arc::clone(&manager);
    let waiter = thread::spawn(move || other.wait_task(&id, 1, None).unwrap_err().reason());
    manager.close();
    assert_eq!(waiter.join().unwrap(), Reason::ClosedWhileWaiting);
}

fn a_tasks_end_wakes() {
    let (_, manager, id) = manager("{}");
    let (other, task_id) = (Arc::clone(&manager), id.clone());
    let waiter = thread::spawn(move || other.wait_task(&task_id, 2, None).unwrap().as_str().len());
    manager.mark_task_working(&id, Some("m"), None).unwrap();
    manager.complete_task(&id, "{}", None, None).unwrap();
    assert!(waiter.join().unwrap() > 0);
}

fn an_expiry_wakes() {
    let (clock, manager, id) = manager(r#"{"taskTimeToLiveMs":10}"#);
    let other = Arc::clone(&manager);
    let waiter = thread::spawn(move || other.wait_task(&id, 1, None).unwrap_err().reason());
    clock.advance(10).unwrap();
    assert_eq!(waiter.join().unwrap(), Reason::TaskNotFound);
}

fn every_event_reaches_a_reader() {
    let hub = Arc::new(Hub::default());
    let queue = hub.open_queue(2).unwrap();
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.next(None).unwrap().as_str().to_owned())
        })
        .collect();
    let writers = ["a", "b"].map(|id| {
        let hub = Arc::clone(&hub);
        thread::spawn(move || hub.announce(EventKind::Changed, id))
    });
    let mut read: Vec<String> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
    for writer in writers {
        writer.join().unwrap();
    }
    read.sort_unstable();
    let changed = |id| format!(r#"{{"event":"changed","taskId":"{id}"}}"#);
    assert_eq!(read, [changed("a"), changed("b")]);
    assert_eq!(queue.next(Some(Duration::ZERO)).unwrap_err().reason(), Reason::Timeout);
}

fn a_full_queue_says_so() {
    let hub = Arc::new(Hub::default());
    let queue = hub.open_queue(1).unwrap();
    let writers = ["a", "b"].map(|id| {
        let hub = Arc::clone(&hub);
        thread::spawn(move || {
            for _ in 0..2 {
                hub.announce(EventKind::Changed, id);
            }
        })
    });
    let other = Arc::clone(&queue);
    let reader = thread::spawn(move || other.next(None).unwrap().as_str().to_owned());
    let mut read = vec![reader.join().unwrap()];
    for writer in writers {
        writer.join().unwrap();
    }
    while let Ok(event) = queue.next(Some(Duration::ZERO)) {
        read.push(event.as_str().to_owned());
    }
    let is_told = |id: &str| read.iter().any(|event| event.contains(&format!("\"{id}\"")));
    let has_lagged = read.iter().any(|event| event.contains("lagged"));
    assert!(has_lagged || (is_told("a") && is_told("b")), "{read:?}");
}

fn closing_a_queue_wakes() {
    let hub = Arc::new(Hub::default());
    let queue = hub.open_queue(1).unwrap();
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                loop {
                    if let Err(error) = queue.next(None) {
                        return error.reason();
                    }
                }
            })
        })
        .collect();
    hub.announce(EventKind::Changed, "a");
    queue.close();
    for reader in readers {
        assert_eq!(reader.join().unwrap(), Reason::ClosedWhileWaiting);
    }
    assert_eq!(hub.counts(), (0, 0));
}

/// Counts calls and drops; a call after the close, or after the drop, is an error.
struct Counting {
    calls: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
    drops: Arc<AtomicUsize>,
}

impl Subscriber for Counting {
    fn task_changed(&self, _task_id: &str) {
        self.running.fetch_add(1, Ordering::SeqCst);
        self.calls.fetch_add(1, Ordering::SeqCst);
        assert_eq!(self.drops.load(Ordering::SeqCst), 0);
        self.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        assert_eq!(self.running.load(Ordering::SeqCst), 0, "let go while it runs");
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

fn subscribers_end() {
    let (_, manager, id) = manager("{}");
    let (calls, running, drops) = <(Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    let counting = Counting { calls: calls.clone(), running: running.clone(), drops: drops.clone() };
    let subscription = Arc::new(manager.subscribe(Arc::new(counting)));
    let publishers: Vec<_> = (0..2)
        .map(|_| {
            let (manager, id) = (Arc::clone(&manager), id.clone());
            thread::spawn(move || manager.publish_task_changed(&id).unwrap())
        })
        .collect();
    let other = Arc::clone(&subscription);
    let closes = thread::spawn(move || other.close());
    subscription.close();
    for publisher in publishers {
        publisher.join().unwrap();
    }
    closes.join().unwrap();
    assert_eq!(drops.load(Ordering::SeqCst), 1, "let go exactly once");
    let before = calls.load(Ordering::SeqCst);
    manager.publish_task_changed(&id).unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), before);
}
