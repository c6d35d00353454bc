//! Handles. A handle is a token (kind, generation, slot) in the shape of a pointer, an address that no
//! process has, and is never dereferenced. Each kind has a [`HandleTable`] of slots; a look-up loads the slot's
//! entry and keeps it alive for the call without a lock and without a write to memory that threads of the
//! same handle share. Everything here is lock-free, so that a fork at any moment leaves it usable.

#![expect(clippy::cast_possible_truncation, reason = "the halves of 64-bit words are taken on purpose")]

use std::ops::Deref;
use std::ptr;
use std::sync::Arc;

use super::fork;
use super::free_list::FreeList;
use crate::error::{Error, Reason, Result};
use crate::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use crate::sync::{ArcSwapOption, Guard};

/// A kind of handle: the opaque type that C sees.
pub(super) trait Handle: Sized + 'static {
    /// What a handle of this kind stands for.
    type Object: Send + Sync + 'static;

    /// The number of this kind in its tokens, from 1 to 127.
    const KIND: u8;

    /// All handles of this kind.
    fn table() -> &'static HandleTable<Self::Object>;

    /// Ends the object: wakes who waits in it. Calls that run finish.
    fn close(object: &Self::Object);
}

/// Bits 63: 0, 62 to 56: kind, 55 to 32: generation, 31 to 0: slot.
#[derive(Clone, Copy)]
struct Token {
    kind: u8,
    generation: u32,
    slot: u32,
}

const LAST_GENERATION: u32 = (1 << 24) - 1;

impl Token {
    fn of(handle: usize) -> Self {
        let bits = handle as u64;
        Self {
            // Bit 63 stays in: no kind has it, so a token with it is of no kind.
            kind: (bits >> 56) as u8,
            generation: (bits >> 32) as u32 & LAST_GENERATION,
            slot: (bits & u64::from(u32::MAX)) as u32,
        }
    }

    fn to_address(self) -> usize {
        (usize::from(self.kind) << 56) | ((self.generation as usize) << 32) | self.slot as usize
    }
}

struct Entry<T> {
    generation: u32,
    epoch: u64,
    object: T,
}

struct Slot<T> {
    entry: ArcSwapOption<Entry<T>>,
    /// The generation given out last; 0 before the first.
    generation: AtomicU32,
    /// The link of [`HandleTable::free`] behind this slot.
    next_free: AtomicU32,
}

/// Slots in the first chunk; each further chunk has twice as many as the one before.
const FIRST_CHUNK: u64 = 64;
const CHUNKS: usize = 26;
const MAXIMUM_SLOTS: u64 = FIRST_CHUNK * ((1 << CHUNKS) - 1);

/// All handles of one kind. Slots are made in chunks, are reused, and are never freed.
pub(super) struct HandleTable<T> {
    chunks: [AtomicPtr<Slot<T>>; CHUNKS],
    /// How many slots were ever used.
    used: AtomicU64,
    free: FreeList,
}

impl<T> HandleTable<T> {
    pub(super) const fn new() -> Self {
        Self {
            chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS],
            used: AtomicU64::new(0),
            free: FreeList(AtomicU64::new(0)),
        }
    }

    /// Chunk of a slot, and its place there.
    #[inline]
    fn place(index: u32) -> (usize, usize) {
        let shifted = u64::from(index) + FIRST_CHUNK;
        let chunk = shifted.ilog2() - FIRST_CHUNK.ilog2();
        (chunk as usize, (shifted - (FIRST_CHUNK << chunk)) as usize)
    }

    #[inline]
    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        let (chunk, offset) = Self::place(index);
        let slots = self.chunks.get(chunk)?.load(Ordering::Acquire);
        if slots.is_null() {
            return None;
        }
        // SAFETY: a chunk that is published has `FIRST_CHUNK << chunk` initialised slots and is never freed
        // or moved; `place` gives an offset below that.
        Some(unsafe { &*slots.add(offset) })
    }

    /// The slot, with its chunk made if this is the first use of it.
    fn slot_or_new(&self, index: u32) -> &Slot<T> {
        let (chunk, _) = Self::place(index);
        let place = &self.chunks[chunk];
        if place.load(Ordering::Acquire).is_null() {
            let count = FIRST_CHUNK << chunk;
            let vacant = || Slot {
                entry: ArcSwapOption::const_empty(),
                generation: AtomicU32::new(0),
                next_free: AtomicU32::new(0),
            };
            let slots: *mut [Slot<T>] = Box::into_raw((0..count).map(|_| vacant()).collect());
            let published =
                place.compare_exchange(ptr::null_mut(), slots.cast(), Ordering::AcqRel, Ordering::Acquire);
            if published.is_err() {
                // SAFETY: another thread was first; this box was never shared.
                drop(unsafe { Box::from_raw(slots) });
            }
        }
        match self.slot(index) {
            Some(slot) => slot,
            None => unreachable!("the chunk was published above or by another thread"),
        }
    }

    /// Takes a free slot, or a new one. It belongs to the caller until an entry is put there.
    fn take_slot(&self) -> Result<(u32, &Slot<T>)> {
        if let Some(index) = self.free.pop(|index| &self.slot_or_new(index).next_free) {
            return Ok((index, self.slot_or_new(index)));
        }
        let index = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                (used < MAXIMUM_SLOTS).then_some(used + 1)
            })
            .ok()
            .and_then(|used| u32::try_from(used).ok())
            .ok_or_else(|| Error::new(Reason::SystemResource, "there are no more handles of this kind"))?;
        Ok((index, self.slot_or_new(index)))
    }

    /// Gives a slot back that is empty again, unless its generations are used up.
    fn give_slot_back(&self, index: u32, slot: &Slot<T>) {
        if slot.generation.load(Ordering::Relaxed) < LAST_GENERATION {
            self.free.push(index, &slot.next_free);
        }
    }
}

/// An object that a handle stands for, kept alive for a call.
pub(super) struct Held<T>(Guard<Option<Arc<Entry<T>>>>);

impl<T> Deref for Held<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &*self.0 {
            Some(entry) => &entry.object,
            None => unreachable!("`find` checked that there is an entry"),
        }
    }
}

/// Opens a handle on `object`.
pub(super) fn open<H: Handle>(object: H::Object) -> Result<*mut H> {
    const { assert!(H::KIND >= 1 && H::KIND <= 127) };
    let (index, slot) = H::table().take_slot()?;
    let generation = slot.generation.load(Ordering::Relaxed) + 1;
    slot.generation.store(generation, Ordering::Relaxed);
    slot.entry.store(Some(Arc::new(Entry { generation, epoch: fork::epoch(), object })));
    fork::LIVE_HANDLES.fetch_add(1, Ordering::Relaxed);
    let token = Token { kind: H::KIND, generation, slot: index };
    Ok(ptr::without_provenance_mut(token.to_address()))
}

/// The object that `handle` stands for.
#[inline]
pub(super) fn get<H: Handle>(handle: *mut H) -> Result<Held<H::Object>> {
    find(handle).map(|(_, _, held)| held)
}

/// The object of a handle that may be NULL.
#[inline]
pub(super) fn get_optional<H: Handle>(handle: *mut H) -> Result<Option<Held<H::Object>>> {
    if handle.is_null() { Ok(None) } else { get(handle).map(Some) }
}

/// Closes `handle`. NULL, a handle that is closed, and one that a parent process made are fine: nothing
/// happens to them.
pub(super) fn close<H: Handle>(handle: *mut H) -> Result<()> {
    let (index, slot, held) = match find(handle) {
        Ok(found) => found,
        Err(error) => {
            return match error.reason() {
                Reason::Null | Reason::Closed | Reason::Forked => Ok(()),
                _ => Err(error),
            };
        }
    };
    let before = slot.entry.compare_and_swap(&held.0, None);
    let is_ours = match (&*before, &*held.0) {
        (Some(before), Some(held)) => Arc::ptr_eq(before, held),
        _ => false,
    };
    drop(before);
    if is_ours {
        fork::LIVE_HANDLES.fetch_sub(1, Ordering::Relaxed);
        H::table().give_slot_back(index, slot);
        H::close(&held);
    }
    // The object is dropped here or by the last call that still runs on it; nothing is locked.
    Ok(())
}

#[inline]
#[expect(clippy::type_complexity, reason = "the three parts of one finding, used twice below")]
fn find<H: Handle>(handle: *mut H) -> Result<(u32, &'static Slot<H::Object>, Held<H::Object>)> {
    let token = Token::of(handle.addr());
    if token.kind == H::KIND
        && let Some(slot) = H::table().slot(token.slot)
    {
        let guard = slot.entry.load();
        let entry = guard.as_ref().map(|entry| (entry.generation, entry.epoch));
        if entry == Some((token.generation, fork::epoch())) {
            return Ok((token.slot, slot, Held(guard)));
        }
        let last = slot.generation.load(Ordering::Relaxed);
        return Err(refusal(token.generation, entry.map(|(generation, _)| generation), last));
    }
    Err(no_handle(handle.is_null()))
}

/// Why a token of the right kind, whose slot exists, does not stand for an object here.
#[cold]
fn refusal(generation: u32, stored: Option<u32>, last: u32) -> Error {
    if stored == Some(generation) {
        Error::new(Reason::Forked, "the handle was made before a fork")
    } else if generation != 0 && generation <= last {
        Error::new(Reason::Closed, "the handle is closed")
    } else {
        no_handle(false)
    }
}

#[cold]
fn no_handle(is_null: bool) -> Error {
    if is_null {
        Error::new(Reason::Null, "the handle is NULL")
    } else {
        Error::new(Reason::Foreign, "this is not a handle of this kind")
    }
}

#[cfg(test)]
mod tests;
