use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use super::*;

/// Declares a kind of handle for one test, with a table of its own.
macro_rules! kind {
    ($name:ident: $object:ty = $kind:literal) => {
        #[derive(Debug)]
        struct $name;

        impl Handle for $name {
            type Object = $object;
            const KIND: u8 = $kind;

            fn table() -> &'static HandleTable<Self::Object> {
                static TABLE: HandleTable<$object> = HandleTable::new();
                &TABLE
            }

            fn close(_object: &Self::Object) {}
        }
    };
}

fn reason<T>(result: Result<T>) -> Option<Reason> {
    result.err().map(|error| error.reason())
}

fn at<H>(address: usize) -> *mut H {
    ptr::without_provenance_mut(address)
}

#[test]
fn a_token_is_a_positive_address_that_no_process_has() {
    kind!(Thing: u32 = 127);
    let thing = open::<Thing>(5).expect("a handle");
    assert!(thing.addr().cast_signed() > 0);
    assert!(thing.addr() >> 56 != 0, "not canonical on x86-64, whose addresses have at most 56 bits here");
    assert_eq!(get(thing).map(|thing| *thing).ok(), Some(5));
    close(thing).expect("closed");
}

#[test]
fn each_misuse_has_its_reason() {
    kind!(Thing: u32 = 2);
    kind!(Other: u32 = 3);
    let thing = open::<Thing>(7).expect("a handle");
    let token = thing.addr();
    assert_eq!(reason(get(ptr::null_mut::<Thing>())), Some(Reason::Null));
    assert_eq!(reason(get(at::<Other>(token))), Some(Reason::Foreign));
    for forged in [
        1,
        8,
        usize::MAX,
        token | 1 << 63,
        token + 1,
        token + (1 << 20),
        token + (1 << 31),
        token + (1 << 32),
        token & !(0xff_ffff << 32),
        &raw const token as usize,
    ] {
        assert_eq!(reason(get(at::<Thing>(forged))), Some(Reason::Foreign), "{forged:x}");
        assert_eq!(reason(close(at::<Thing>(forged))), Some(Reason::Foreign), "{forged:x}");
    }
    assert_eq!(get(thing).map(|thing| *thing).ok(), Some(7));

    close(thing).expect("closed");
    assert_eq!(reason(get(thing)), Some(Reason::Closed));
    close(thing).expect("closing again is fine");
    let next = open::<Thing>(8).expect("a handle");
    assert_ne!(next, thing, "a value is not issued twice");
    assert_eq!(next.addr() as u32, thing.addr() as u32, "though its slot is");
    assert_eq!(reason(get(thing)), Some(Reason::Closed));
    close(thing).expect("closing again does not close the slot's next handle");
    assert_eq!(get(next).map(|next| *next).ok(), Some(8));
    close(next).expect("closed");
    close(ptr::null_mut::<Thing>()).expect("closing NULL is fine");
}

#[test]
fn a_held_object_outlives_its_handle_and_is_dropped_once() {
    struct Counted(&'static AtomicUsize);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    kind!(Thing: Counted = 4);
    static DROPS: AtomicUsize = AtomicUsize::new(0);

    let thing = open::<Thing>(Counted(&DROPS)).expect("a handle");
    let held = get(thing).expect("held");
    close(thing).expect("closed");
    assert_eq!(DROPS.load(Ordering::Relaxed), 0);
    drop(held);
    assert_eq!(DROPS.load(Ordering::Relaxed), 1);
}

#[test]
fn a_slot_whose_generations_are_used_up_is_retired() {
    kind!(Thing: u32 = 5);
    let first = open::<Thing>(1).expect("a handle");
    close(first).expect("closed");
    let slot = Thing::table().slot(first.addr() as u32).expect("the slot");
    slot.generation.store(LAST_GENERATION - 1, Ordering::Relaxed);
    let last = open::<Thing>(2).expect("a handle");
    assert_eq!(Token::of(last.addr()).generation, LAST_GENERATION);
    assert_eq!(get(last).map(|last| *last).ok(), Some(2));
    close(last).expect("closed");
    let next = open::<Thing>(3).expect("a handle");
    assert_ne!(next.addr() as u32, last.addr() as u32);
    assert_eq!(reason(get(last)), Some(Reason::Closed));
    close(next).expect("closed");
}

#[test]
fn every_index_has_one_place_in_its_chunk() {
    let mut index = 0_u64;
    for chunk in 0..CHUNKS {
        let count = FIRST_CHUNK << chunk;
        for offset in [0, 1, count - 1] {
            let Ok(index) = u32::try_from(index + offset) else { continue };
            assert_eq!(HandleTable::<u32>::place(index), (chunk, offset as usize));
        }
        index += count;
    }
    assert_eq!(index, MAXIMUM_SLOTS);
}

#[test]
fn many_handles_are_distinct_and_come_back() {
    kind!(Thing: usize = 6);
    let count = if cfg!(miri) { 150 } else { 10_000 };
    let handles: Vec<_> = (0..count).map(|number| open::<Thing>(number).expect("a handle")).collect();
    assert_eq!(handles.iter().map(|handle| handle.addr()).collect::<HashSet<_>>().len(), count);
    for (number, handle) in handles.iter().enumerate() {
        assert_eq!(get(*handle).map(|thing| *thing).ok(), Some(number));
        close(*handle).expect("closed");
    }
    assert!(handles.iter().all(|handle| reason(get(*handle)) == Some(Reason::Closed)));
    let used = Thing::table().used.load(Ordering::Relaxed);
    for number in 0..count {
        open::<Thing>(number).expect("a handle");
    }
    assert_eq!(Thing::table().used.load(Ordering::Relaxed), used, "slots are reused");
}

/// Threads look up, close and open handles that they share: whoever holds an object holds the one that its
/// token was issued for, and each is dropped once.
#[test]
fn racing_look_ups_closes_and_opens_never_mix_objects_up() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    static CLOSED: AtomicUsize = AtomicUsize::new(0);

    struct Object {
        number: u64,
    }
    impl Drop for Object {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }

    #[derive(Debug)]
    struct Thing;
    impl Handle for Thing {
        type Object = Object;
        const KIND: u8 = 7;

        fn table() -> &'static HandleTable<Object> {
            static TABLE: HandleTable<Object> = HandleTable::new();
            &TABLE
        }

        fn close(_object: &Object) {
            CLOSED.fetch_add(1, Ordering::Relaxed);
        }
    }

    let numbers = AtomicU64::new(0);
    let opened = || {
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        ALIVE.fetch_add(1, Ordering::Relaxed);
        (number, open::<Thing>(Object { number }).expect("a handle").addr())
    };
    let shared: Vec<Mutex<(u64, usize)>> = (0..4).map(|_| Mutex::new(opened())).collect();
    let rounds = if cfg!(miri) { 30 } else { 20_000 };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (shared, opened) = (&shared, &opened);
            scope.spawn(move || {
                for round in 0..rounds {
                    let place = &shared[(round + thread) % shared.len()];
                    let (number, address) = *place.lock().expect("not poisoned");
                    match get(at::<Thing>(address)) {
                        Ok(held) => assert_eq!(held.number, number),
                        Err(error) => assert_eq!(error.reason(), Reason::Closed),
                    }
                    if round % 3 == thread % 3 {
                        close(at::<Thing>(address)).expect("closing is always fine");
                        *place.lock().expect("not poisoned") = opened();
                    }
                }
            });
        }
    });
    // A replaced handle may have been put in a place that another thread overwrote: those are still open.
    let open = ALIVE.load(Ordering::Relaxed);
    assert_eq!(CLOSED.load(Ordering::Relaxed) + open, numbers.load(Ordering::Relaxed) as usize);
    assert!(open >= shared.len());
}
