//! Rows in order of creation, for the operators' listings. The index is cut into stripes by sequence number, so that
//! creating threads seldom meet in one.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use super::shard::Locator;
use super::table::{Indexed, MemoryTable};
use crate::sync::Mutex;

const STRIPES: usize = 16;

/// Rows that one page looks at, at most: a rare filter over many rows then takes several short calls, each
/// of which gives a page token, instead of a long one.
const ROWS_PER_PAGE: usize = 10_000;

/// Rows that are looked for at once, at least.
const LEAST_ROWS: usize = 64;

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
    fn following(&self, after: u64, most: usize) -> Vec<Locator> {
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

/// What a page shows of the rows in order.
#[derive(Clone, Copy)]
pub(super) struct Page {
    /// Only rows behind this sequence number.
    pub(super) after: u64,
    /// At most so many.
    pub(super) limit: usize,
    /// Only those that have not expired by then.
    pub(super) tick_ns: i64,
}

impl<R: Indexed> MemoryTable<R> {
    /// Goes through the rows in `order` and gives the sequence number to continue after, or `None` when nothing is
    /// left. `look` gets a row, its sequence number and whether it is shown if it belongs on the page, and says whether
    /// it does.
    pub(super) fn list_in_order(
        &self,
        order: &CreationOrder,
        page: Page,
        look: &mut dyn FnMut(&R, u64, bool) -> bool,
    ) -> Option<u64> {
        let Page { mut after, limit, tick_ns } = page;
        let (mut shown, mut looked_at) = (0, 0);
        // A full page ends with the row that it showed last: those behind it may match by the next page.
        let mut next = after;
        loop {
            let most = (limit - shown).saturating_add(1).clamp(LEAST_ROWS, ROWS_PER_PAGE);
            let batch = order.following(after, most);
            if batch.is_empty() {
                return None;
            }
            for locator in batch {
                if looked_at == ROWS_PER_PAGE {
                    return Some(next);
                }
                looked_at += 1;
                let matched =
                    self.look_at(locator, tick_ns, |row| look(row, locator.sequence, shown < limit));
                if matched == Some(true) {
                    // One more than is shown tells that the page is not the last.
                    if shown == limit {
                        return Some(next);
                    }
                    shown += 1;
                    next = locator.sequence;
                } else if shown < limit {
                    next = locator.sequence;
                }
                after = locator.sequence;
            }
        }
    }
}
