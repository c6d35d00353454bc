//! The cost structure of a task manager that looks after expiry in every call: one lock, a hash map, and a pass
//! over all entries before the look-up. An anchor, not anybody's class: in Rust, with the text shared, not copied.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

struct Entry {
    expires: Instant,
    text: Arc<str>,
}

pub struct ScanningManager {
    entries: Mutex<HashMap<String, Entry>>,
}

impl ScanningManager {
    pub fn holding<'a>(ids: impl Iterator<Item = &'a str>, text: &str) -> Self {
        let expires = Instant::now() + Duration::from_secs(3600);
        let entry = |id: &str| (id.to_owned(), Entry { expires, text: Arc::from(text) });
        Self { entries: Mutex::new(ids.map(entry).collect()) }
    }

    pub fn find(&self, id: &str) -> Option<Arc<str>> {
        let now = Instant::now();
        let mut entries = self.entries.lock().unwrap();
        entries.retain(|_, entry| entry.expires > now);
        entries.get(id).map(|entry| entry.text.clone())
    }
}
