//! MCP tasks in order of creation, for the operator's listing. The index is cut into stripes by sequence
//! number, so that creating threads seldom meet in one.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use super::shard::Locator;
use crate::sync::Mutex;

const STRIPES: usize = 16;

/// Rows that one page looks at, at most: a rare filter over many tasks then takes several short calls, each
/// of which gives a page token, instead of a long one.
pub(super) const ROWS_PER_PAGE: usize = 10_000;

/// Rows that are looked for at once, at least.
pub(super) const LEAST_ROWS: usize = 64;

#[derive(Default)]
pub(super) struct CreationOrder {
    /// Hashes of ids by sequence number.
    stripes: [Mutex<BTreeMap<u64, u64>>; STRIPES],
}

impl CreationOrder {
    #[allow(clippy::cast_possible_truncation)] // 64-bit targets only
    fn stripe(&self, sequence: u64) -> &Mutex<BTreeMap<u64, u64>> {
        &self.stripes[sequence as usize % STRIPES]
    }

    /// The next rows after `after`, at most `most`, in order.
    pub(super) fn following(&self, after: u64, most: usize) -> Vec<Locator> {
        let mut locators = Vec::new();
        for stripe in &self.stripes {
            let stripe = stripe.lock();
            let range = stripe.range(after.saturating_add(1)..).take(most);
            locators.extend(range.map(|(&sequence, &hash)| Locator { hash, sequence }));
        }
        locators.sort_unstable_by_key(|locator| locator.sequence);
        locators.truncate(most);
        locators
    }
}

impl CreationOrder {
    pub(super) fn insert(&self, locator: Locator) {
        self.stripe(locator.sequence).lock().insert(locator.sequence, locator.hash);
    }

    pub(super) fn remove(&self, locator: Locator) {
        self.stripe(locator.sequence).lock().remove(&locator.sequence);
    }
}
