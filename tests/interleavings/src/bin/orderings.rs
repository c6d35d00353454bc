//! The list of free slots under the C11 memory model: loom tries every order of the accesses and every value
//! that a relaxed or acquiring load may see. What a slot holds is in cells that loom watches, so that two owners
//! at once, or an owner who does not see what the last one did, are an error.

#![allow(dead_code, reason = "the model needs a part of it")]

#[path = "../../../../src/ffi/free_list.rs"]
mod free_list;

/// What `src/sync/mod.rs` is to the library.
mod sync {
    pub(crate) mod atomic {
        pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    }
}

use free_list::FreeList;
use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;
use sync::atomic::{AtomicU32, AtomicU64};

#[derive(Default)]
struct Slot {
    link: AtomicU32,
    /// Stands for the generation and the entry, which only the owner of the slot writes.
    uses: UnsafeCell<u32>,
}

struct Slots {
    free: FreeList,
    slots: [Slot; 2],
}

impl Slots {
    fn new() -> Self {
        let slots = Self { free: FreeList(AtomicU64::new(0)), slots: Default::default() };
        for index in 0..2 {
            slots.give_back(index);
        }
        slots
    }

    fn give_back(&self, index: u32) {
        self.free.push(index, &self.slots[index as usize].link);
    }

    /// Takes a slot and uses it.
    fn take(&self) -> Option<u32> {
        let index = self.free.pop(|index| &self.slots[index as usize].link)?;
        self.slots[index as usize].uses.with_mut(|uses| {
            // SAFETY: whoever took a slot owns it; loom reports it if that is not so.
            unsafe { *uses += 1 }
        });
        Some(index)
    }

    /// Uses of all slots, which nobody may have at that time.
    fn uses(&self) -> u32 {
        let mut uses = 0;
        while let Some(index) = self.free.pop(|index| &self.slots[index as usize].link) {
            // SAFETY: as in `take`.
            uses += self.slots[index as usize].uses.with(|uses| unsafe { *uses });
        }
        uses
    }
}

fn check(name: &str, rounds: [usize; 2]) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(4);
    builder.check(move || {
        let slots = Arc::new(Slots::new());
        let threads = rounds.map(|rounds| {
            let slots = Arc::clone(&slots);
            thread::spawn(move || {
                let mut taken = 0;
                for _ in 0..rounds {
                    let index = slots.take().expect("two threads have one slot each at most");
                    taken += 1;
                    slots.give_back(index);
                }
                taken
            })
        });
        let taken: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(slots.uses(), taken, "both slots are free again, and every use is seen");
    });
    println!("ok: {name}");
}

/// One thread takes both slots and gives them back in the order in which it took them, so that the slot that
/// was first is first again, with another link, while a second thread is in the middle of taking one.
fn check_return_in_order() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(4);
    builder.check(|| {
        let slots = Arc::new(Slots::new());
        let other = Arc::clone(&slots);
        let shuffles = thread::spawn(move || {
            let taken = [other.take(), other.take()];
            for index in taken.into_iter().flatten() {
                other.give_back(index);
            }
            taken.into_iter().flatten().count()
        });
        let mut taken = 0;
        if let Some(index) = slots.take() {
            taken += 1;
            slots.give_back(index);
        }
        taken += u32::try_from(shuffles.join().unwrap()).unwrap();
        assert_eq!(slots.uses(), taken);
    });
    println!("ok: free list: a slot that came back with another link");
}

fn main() {
    check("free list: two threads, one round each", [1, 1]);
    check("free list: two threads, two rounds and one", [2, 1]);
    check_return_in_order();
}
