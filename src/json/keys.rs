//! Finding an object's duplicate keys by decoded name while its text is validated. The keys of all open
//! objects lie on one stack, which needs no allocation while few are open; a key is compared with those of
//! its own object by a digest, then in full. An object with many keys, or with keys that look alike, moves
//! them into a hash table with a random seed, so that the work stays linear whatever the keys are.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::decode::decode;
use super::scan;

/// Most keys of an object that are compared one by one.
const FEW_KEYS: usize = 32;

/// Keys of open objects that need no allocation.
const INLINE_KEYS: usize = 40;

/// Where a key stands in the text, without its quotes. Texts are shorter than 4 GiB.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
}

/// A key on the stack; below an object's first key lies what is known of the object around it.
#[derive(Clone, Copy)]
struct Key {
    /// Mixes the length and the ends of the decoded key: equal keys have equal digests.
    digest: u64,
    span: Span,
}

const NO_KEY: Key = Key { digest: 0, span: Span { start: 0, end: 0 } };

/// One object that is being validated.
#[derive(Clone, Copy)]
struct Object {
    /// Index of its first key on the stack.
    base: u32,
    /// Its number within the text, with [`MANY`] set when its keys are in the table.
    number: u32,
    /// One bit for each of its keys, chosen by the key's digest: a key whose bit is not set is new.
    seen: u64,
}

const MANY: u32 = 1 << 31;

/// The keys of the objects that are open.
pub(super) struct Keys<'a> {
    text: &'a str,
    inline: [Key; INLINE_KEYS],
    heap: Vec<Key>,
    length: usize,
    object: Object,
    objects: u32,
    many: Option<ManyKeys>,
}

struct ManyKeys {
    /// Keys with the number of their object. Those of closed objects may stay: no number comes twice.
    table: HashTable<HashedKey>,
    hasher: DefaultHashBuilder,
    open_objects: u32,
}

struct HashedKey {
    /// Kept, because a growing table asks for it again.
    hash: u64,
    object: u32,
    span: Span,
}

impl<'a> Keys<'a> {
    /// For `text`, which is shorter than 4 GiB.
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            inline: [NO_KEY; INLINE_KEYS],
            heap: Vec::new(),
            length: 0,
            object: Object { base: 0, number: 0, seen: 0 },
            objects: 0,
            many: None,
        }
    }

    /// An object begins within the current one.
    #[inline]
    pub(super) fn open(&mut self) {
        let Object { base, number, seen } = self.object;
        self.push(Key { digest: seen, span: Span { start: base, end: number } });
        self.objects += 1;
        self.object = Object { base: narrow(self.length), number: self.objects, seen: 0 };
    }

    /// The current object ends.
    #[inline]
    pub(super) fn close(&mut self) {
        if self.object.number & MANY != 0 {
            self.close_many();
        }
        self.length = (self.object.base as usize).saturating_sub(1);
        let Key { digest: seen, span } = *self.stack().get(self.length).unwrap_or(&NO_KEY);
        self.object = Object { base: span.start, number: span.end, seen };
    }

    /// Adds the key at `start..end` (without its quotes) of the current object. False if it has it already.
    #[inline]
    pub(super) fn add(&mut self, start: usize, end: usize, escaped: bool) -> bool {
        let span = Span { start: narrow(start), end: narrow(end) };
        if self.object.number & MANY != 0 {
            return self.add_to_many(span);
        }
        let digest =
            if escaped { self.decoded_digest(span) } else { digest(self.text.as_bytes(), start, end) };
        let bit = 1 << (digest >> 58);
        if self.object.seen & bit != 0
            && let Some(alike) = self.alike(digest)
        {
            if same(self.text, alike, span) {
                return false;
            }
            // Full comparisons may be long: none is made for the same object again.
            self.push(Key { digest, span });
            self.become_many();
            return true;
        }
        self.object.seen |= bit;
        self.push(Key { digest, span });
        if self.length - self.object.base as usize > FEW_KEYS {
            self.become_many();
        }
        true
    }

    /// The current object's key with this digest.
    fn alike(&self, digest: u64) -> Option<Span> {
        let keys = self.stack().get(self.object.base as usize..self.length)?;
        keys.iter().find(|key| key.digest == digest).map(|key| key.span)
    }

    #[inline]
    fn stack(&self) -> &[Key] {
        if self.heap.is_empty() { &self.inline } else { &self.heap }
    }

    #[inline]
    fn push(&mut self, key: Key) {
        let stack = if self.heap.is_empty() { &mut self.inline[..] } else { &mut self.heap[..] };
        if let Some(place) = stack.get_mut(self.length) {
            *place = key;
        } else {
            self.push_beyond(key);
        }
        self.length += 1;
    }

    #[cold]
    fn push_beyond(&mut self, key: Key) {
        if self.heap.is_empty() {
            self.heap.extend_from_slice(&self.inline);
        }
        self.heap.push(key);
    }

    #[cold]
    fn decoded_digest(&self, span: Span) -> u64 {
        let key = decoded(self.text, span);
        digest(key.as_bytes(), 0, key.len())
    }

    /// Moves the keys of the current object into the table.
    #[cold]
    fn become_many(&mut self) {
        let base = self.object.base as usize;
        let many = self.many.get_or_insert_with(|| ManyKeys {
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            open_objects: 0,
        });
        many.open_objects += 1;
        let stack = if self.heap.is_empty() { &self.inline[..] } else { &self.heap[..] };
        for key in stack.get(base..self.length).unwrap_or_default() {
            many.insert(self.text, self.object.number, key.span);
        }
        self.length = base;
        self.object.number |= MANY;
    }

    #[cold]
    fn add_to_many(&mut self, span: Span) -> bool {
        let number = self.object.number & !MANY;
        self.many.as_mut().is_none_or(|many| many.insert(self.text, number, span))
    }

    #[cold]
    fn close_many(&mut self) {
        let Some(many) = &mut self.many else { return };
        many.open_objects -= 1;
        // Clearing costs as much as the table has room: it must be paid for by the keys that came in.
        if many.open_objects == 0 && many.table.len() >= many.table.capacity() / 4 {
            many.table.clear();
        }
    }
}

impl ManyKeys {
    /// False if the object has the key already.
    fn insert(&mut self, text: &str, object: u32, span: Span) -> bool {
        let key = decoded(text, span);
        let hash = self.hasher.hash_one((object, &*key));
        let is_same = |other: &HashedKey| {
            other.hash == hash && other.object == object && decoded(text, other.span) == key
        };
        match self.table.entry(hash, is_same, |other| other.hash) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(HashedKey { hash, object, span });
                true
            }
        }
    }
}

/// Offsets are below 4 GiB: longer texts were refused.
#[inline]
#[allow(clippy::cast_possible_truncation)]
fn narrow(offset: usize) -> u32 {
    offset as u32
}

fn decoded(text: &str, span: Span) -> Cow<'_, str> {
    decode(text.get(span.start as usize..span.end as usize).unwrap_or_default())
}

#[inline]
fn same(text: &str, one: Span, other: Span) -> bool {
    decoded(text, one) == decoded(text, other)
}

/// Mixes the length, the first and the last eight bytes of `bytes[start..end]`.
#[inline]
fn digest(bytes: &[u8], start: usize, end: usize) -> u64 {
    let length = end - start;
    let ends = match (scan::word(bytes, start), end.checked_sub(8).and_then(|at| scan::word(bytes, at))) {
        (Some(first), Some(last)) if length >= 8 => first.rotate_left(32) ^ last,
        (Some(first), _) if length < 8 => first & ((1 << (8 * length)) - 1),
        _ => bytes[start..end].iter().rev().fold(0, |first, &byte| (first << 8) | u64::from(byte)),
    };
    (ends ^ (length as u64).rotate_right(8)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
