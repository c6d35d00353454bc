//! The thread of an open store: a turn begins after every call, also after one that panicked, whenever the thread was
//! about to rest or to end; and the store is wound up once.

use std::panic::resume_unwind;
use std::sync::{Arc, Weak};
use std::time::Duration;

use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use super::changes::Changes;
use super::worker::Worker;
use super::{Log, Shared};
use crate::Model;

pub const ALL: &[Model] = &[
    (
        "worker: a turn begins after every call, while the thread is about to end or rests",
        a_turn_after_every_call,
    ),
    ("worker: what a turn that panicked left is done without another call", a_panic_loses_no_call),
    ("worker: a close winds up once, whoever calls meanwhile", a_close_winds_up_once),
];

/// So long that a rest ends only when somebody calls.
const LONG: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Done {
    work: Mutex<(usize, usize)>,
    known: Condvar,
}

impl Done {
    fn ends(&self) -> usize {
        self.work.lock().unwrap().1
    }
}

#[derive(Default)]
struct World {
    asked: AtomicUsize,
    panics: AtomicUsize,
    done: Done,
}

impl World {
    /// A store whose turns do what was asked for, and rest or end the thread.
    fn open(self: &Arc<Self>, rest: Option<Duration>) -> Arc<Shared> {
        let (turning, ending) = (Arc::clone(self), Arc::clone(self));
        let turn = move || {
            if turning.panics.load(Ordering::SeqCst) > 0 {
                turning.panics.fetch_sub(1, Ordering::SeqCst);
                resume_unwind(Box::new("on purpose"));
            }
            let asked = turning.asked.load(Ordering::SeqCst);
            turning.done.work.lock().unwrap().0 = asked;
            turning.done.known.notify_all();
            rest
        };
        let ends = move || {
            ending.done.work.lock().unwrap().1 += 1;
            ending.done.known.notify_all();
        };
        Arc::new(Shared {
            changes: Changes(Box::new(turn)),
            ends: Box::new(ends),
            log: Log,
            file: Log,
            writer: Log,
            worker: Worker::default(),
        })
    }

    fn ask(&self, shared: &Arc<Shared>) -> usize {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        shared.worker.call(shared);
        asked
    }

    fn wait_until(&self, is_right: impl Fn((usize, usize)) -> bool) {
        drop(self.done.known.wait_while(self.done.work.lock().unwrap(), |work| !is_right(*work)).unwrap());
    }

    /// Closes the store, and waits until nothing is left of it.
    fn close(&self, shared: Arc<Shared>) {
        shared.worker.close(&shared);
        let left: Weak<Shared> = Arc::downgrade(&shared);
        drop(shared);
        self.wait_until(|(_, ends)| ends > 0);
        while left.strong_count() > 0 {
            thread::yield_now();
        }
        assert_eq!(self.done.ends(), 1);
    }
}

fn calls(rest: Option<Duration>, panics: usize) {
    let world = Arc::new(World::default());
    world.panics.store(panics, Ordering::SeqCst);
    let shared = world.open(rest);
    let callers: Vec<_> = (0..2)
        .map(|_| {
            let (world, shared) = (Arc::clone(&world), Arc::clone(&shared));
            thread::spawn(move || {
                for _ in 0..2 {
                    let asked = world.ask(&shared);
                    world.wait_until(|(done, _)| done >= asked);
                }
            })
        })
        .collect();
    for caller in callers {
        caller.join().unwrap();
    }
    assert_eq!(shared.worker.panics(), panics as u64);
    world.close(shared);
}

fn a_turn_after_every_call() {
    calls(None, 0);
    calls(Some(LONG), 0);
}

fn a_panic_loses_no_call() {
    calls(None, 2);
}

fn a_close_winds_up_once() {
    for rest in [None, Some(LONG)] {
        let world = Arc::new(World::default());
        let shared = world.open(rest);
        let callers: Vec<_> = (0..2)
            .map(|_| {
                let (world, shared) = (Arc::clone(&world), Arc::clone(&shared));
                thread::spawn(move || world.ask(&shared))
            })
            .collect();
        world.close(shared);
        for caller in callers {
            caller.join().unwrap();
        }
    }
}
