//! The anchors: the least work that does the same for the caller, without ids, times, rules, expiry and errors.

#![allow(dead_code)] // Each bench uses its part.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::sync::{Arc, RwLock};

use hashbrown::HashMap;

/// RAW FIND looks up in such a map.
pub type Texts = HashMap<String, Arc<str>>;

/// A raw compare-and-set looks up in such a map.
pub type Versioned = RwLock<HashMap<String, (u64, Arc<str>)>>;

pub fn texts(ids: &[CString], text: &str) -> Texts {
    ids.iter().map(|id| (id.to_str().unwrap().to_owned(), Arc::from(text))).collect()
}

pub fn versioned(ids: &[CString], text: &str) -> Versioned {
    RwLock::new(texts(ids, text).into_iter().map(|(id, text)| (id, (0, text))).collect())
}

/// RAW FIND: look up, copy into a C string, free.
pub fn raw_find(map: &Texts, id: &str) {
    let value = map.get(id).unwrap();
    // SAFETY: the block is as large as what is copied into it.
    unsafe {
        let block = libc::malloc(value.len() + 1).cast::<u8>();
        block.copy_from_nonoverlapping(value.as_ptr(), value.len());
        *block.add(value.len()) = 0;
        std::hint::black_box(block);
        libc::free(block.cast());
    }
}

/// VALIDATE: UTF-8, then one pass over the JSON.
pub fn validate(text: &[u8]) {
    let text = simdutf8::basic::from_utf8(text).unwrap();
    serde_json::from_str::<serde::de::IgnoredAny>(text).unwrap();
}

/// Raw compare-and-set: look up, compare a version, store a new payload.
pub fn raw_compare_and_set(map: &Versioned, id: &str, new: &str) {
    let new: Arc<str> = Arc::from(new);
    let mut map = map.write().unwrap();
    let (version, payload) = map.get_mut(id).unwrap();
    if *version < u64::MAX {
        *version += 1;
        *payload = new;
    }
}

/// The three ordered indexes of A2A tasks: an owner's, his context's, his state's, each by (time, id).
pub struct Ordered {
    ids: Vec<Arc<str>>,
    times: Vec<i64>,
    indexes: [BTreeSet<(i64, Arc<str>)>; 3],
}

impl Ordered {
    /// Tasks with these ids, each a moment after the one before.
    pub fn new(ids: &[CString]) -> Self {
        let ids: Vec<Arc<str>> = ids.iter().map(|id| Arc::from(id.to_str().unwrap())).collect();
        let times: Vec<i64> = (0..ids.len() as i64).collect();
        let index: BTreeSet<_> = times.iter().zip(&ids).map(|(at, id)| (-at, Arc::clone(id))).collect();
        Self { ids, times, indexes: [index.clone(), index.clone(), index] }
    }

    /// Moves task `n` to the time `at` in each of them.
    pub fn move_to(&mut self, n: usize, at: i64) {
        let old = (-self.times[n], Arc::clone(&self.ids[n]));
        self.times[n] = at;
        for index in &mut self.indexes {
            index.remove(&old);
            index.insert((-at, Arc::clone(&self.ids[n])));
        }
    }
}
