//! Handles that are opened, used and closed by several threads. A table is a static in the library; here each
//! run has one of its own, which is leaked, as the library's are.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use shuttle::thread;

use super::handle::{Handle, HandleTable, close, get, open};
use crate::Model;
use crate::error::Reason;

pub const ALL: &[Model] = &[
    ("handles: slots that are given back and taken again never serve two", slots_are_not_shared),
    ("handles: of racing closes one ends the object, a reader keeps it", one_close_ends_the_object),
    ("handles: a token of a slot that is in use again is refused", an_old_token_is_refused),
];

thread_local! {
    /// The table of this run. All threads of a model are run by one thread of the system.
    static TABLE: Cell<Option<&'static HandleTable<Object>>> = const { Cell::new(None) };
}

fn begin() {
    TABLE.set(Some(Box::leak(Box::new(HandleTable::new()))));
}

/// Counts how often it was closed and dropped.
struct Object {
    name: usize,
    closes: Arc<AtomicUsize>,
    drops: Arc<AtomicUsize>,
}

impl Drop for Object {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Kind;

impl Handle for Kind {
    type Object = Object;
    const KIND: u8 = 1;

    fn table() -> &'static HandleTable<Object> {
        TABLE.get().expect("the run has begun")
    }

    fn close(object: &Object) {
        object.closes.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Clone, Default)]
struct Counts {
    closes: Arc<AtomicUsize>,
    drops: Arc<AtomicUsize>,
}

impl Counts {
    fn object(&self, name: usize) -> Object {
        Object { name, closes: Arc::clone(&self.closes), drops: Arc::clone(&self.drops) }
    }

    fn assert(&self, closes: usize, drops: usize) {
        assert_eq!(self.closes.load(Ordering::Relaxed), closes);
        assert_eq!(self.drops.load(Ordering::Relaxed), drops);
    }
}

/// A handle as a word, which may go to other threads.
fn open_word(object: Object) -> usize {
    open::<Kind>(object).expect("there is room").addr()
}

fn handle(word: usize) -> *mut Kind {
    std::ptr::without_provenance_mut(word)
}

fn slots_are_not_shared() {
    const THREADS: usize = 3;
    const ROUNDS: usize = 3;
    begin();
    let counts = Counts::default();
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let (counts, seen) = (counts.clone(), Arc::clone(&seen));
            thread::spawn(move || {
                for round in 0..ROUNDS {
                    let name = number * ROUNDS + round;
                    let word = open_word(counts.object(name));
                    assert!(seen.lock().unwrap().insert(word), "a token was given out twice");
                    assert_eq!(get(handle(word)).unwrap().name, name);
                    close(handle(word)).unwrap();
                    assert_eq!(get(handle(word)).err().map(|error| error.reason()), Some(Reason::Closed));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    counts.assert(THREADS * ROUNDS, THREADS * ROUNDS);
    let slots: HashSet<u32> = seen.lock().unwrap().iter().map(|word| *word as u32).collect();
    assert!(slots.len() <= THREADS, "slots are used again");
}

fn one_close_ends_the_object() {
    begin();
    let counts = Counts::default();
    let word = open_word(counts.object(7));
    let closers: Vec<_> = (0..2).map(|_| thread::spawn(move || close(handle(word)).unwrap())).collect();
    let drops = Arc::clone(&counts.drops);
    let reader = thread::spawn(move || match get(handle(word)) {
        Ok(held) => {
            thread::yield_now();
            assert_eq!(held.name, 7);
            assert_eq!(drops.load(Ordering::Relaxed), 0, "a call that runs keeps the object");
        }
        Err(error) => assert_eq!(error.reason(), Reason::Closed),
    });
    for closer in closers {
        closer.join().unwrap();
    }
    reader.join().unwrap();
    counts.assert(1, 1);
}

fn an_old_token_is_refused() {
    begin();
    let counts = Counts::default();
    let old = open_word(counts.object(1));
    let other = counts.clone();
    let reopens = thread::spawn(move || {
        close(handle(old)).unwrap();
        open_word(other.object(2))
    });
    let reads = thread::spawn(move || match get(handle(old)) {
        Ok(held) => assert_eq!(held.name, 1),
        Err(error) => assert_eq!(error.reason(), Reason::Closed),
    });
    let closes = thread::spawn(move || close(handle(old)).unwrap());
    let new = reopens.join().unwrap();
    reads.join().unwrap();
    closes.join().unwrap();
    assert_ne!(new, old);
    assert_eq!(get(handle(new)).expect("nobody closed it").name, 2);
    close(handle(new)).unwrap();
    counts.assert(2, 2);
}
