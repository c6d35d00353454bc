//! The free slots of a table of handles: a Treiber stack, which needs no lock, over slots that are never freed.
//! The links stand in the slots; what is here is the first of them and a count of the changes, so that a slot
//! that left and came back does not look as if it had stayed.

#![expect(clippy::cast_possible_truncation, reason = "the halves of a 64-bit word are taken on purpose")]

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The low half is the first slot's index plus one, 0 for none, as in every link; the high half counts changes.
pub(super) struct FreeList(pub(super) AtomicU64);

impl FreeList {
    /// Takes a slot out. It belongs to the caller, who sees all that was done to it before it was pushed. `link`
    /// gives the link of a slot.
    pub(super) fn pop<'a>(&self, link: impl Fn(u32) -> &'a AtomicU32) -> Option<u32> {
        let mut first = self.0.load(Ordering::Acquire);
        while let Some(index) = (first as u32).checked_sub(1) {
            // Read too late, the link of a slot that is gone already: then the count has changed.
            let rest = u64::from(link(index).load(Ordering::Relaxed));
            match self.0.compare_exchange_weak(
                first,
                next_count(first) | rest,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some(index),
                Err(changed) => first = changed,
            }
        }
        None
    }

    /// Puts the slot `index`, whose link is `link`, before all others.
    pub(super) fn push(&self, index: u32, link: &AtomicU32) {
        let mut first = self.0.load(Ordering::Relaxed);
        loop {
            link.store(first as u32, Ordering::Relaxed);
            match self.0.compare_exchange_weak(
                first,
                next_count(first) | (u64::from(index) + 1),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(changed) => first = changed,
            }
        }
    }
}

fn next_count(first: u64) -> u64 {
    ((first >> 32).wrapping_add(1)) << 32
}
