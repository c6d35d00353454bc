//! MCP tasks in order of creation, for the operator's listing. The index is cut into stripes by sequence
//! number, so that creating threads seldom meet in one.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::{TaskQuery, TaskRow, TaskTable};
use super::shard::{Cell, Locator};
use super::table::{Index, Indexed, MemoryTable};
use crate::error::Result;
use crate::sync::Mutex;

const STRIPES: usize = 16;

/// Rows that one page looks at, at most: a rare filter over many tasks then takes several short calls, each
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

impl Index<TaskRow> for CreationOrder {
    fn inserted(&self, locator: Locator, _new: &Arc<Cell<TaskRow>>) {
        self.stripe(locator.sequence).lock().insert(locator.sequence, locator.hash);
    }

    fn replaced(&self, _locator: Locator, _old: &Arc<Cell<TaskRow>>, _new: &Arc<Cell<TaskRow>>) {}

    fn removed(&self, locator: Locator, _old: &Arc<Cell<TaskRow>>) {
        self.stripe(locator.sequence).lock().remove(&locator.sequence);
    }
}

impl Indexed for TaskRow {
    type Index = CreationOrder;

    fn class(&self) -> usize {
        self.status as usize
    }

    fn text(&self) -> &Arc<str> {
        self.texts.as_shared()
    }

    fn bytes(&self) -> usize {
        let input = self.input.as_ref().map_or(0, |input| {
            let members = input.outstanding.iter().chain(&input.responses);
            members.map(|member| member.key.len() + member.value.len()).sum::<usize>()
                + input.used_keys.iter().map(|key| key.len()).sum::<usize>()
        });
        self.texts.bytes() + self.status_message.as_ref().map_or(0, |text| text.len()) + input
    }
}

fn matches(row: &TaskRow, query: &TaskQuery<'_>) -> bool {
    query.status.is_none_or(|status| row.status == status)
        && query.endpoint.is_none_or(|endpoint| row.texts.endpoint() == endpoint)
        && query.partition.is_none_or(|partition| row.texts.partition().as_deref() == partition)
}

impl TaskTable for MemoryTable<TaskRow> {
    fn list(
        &self,
        query: &TaskQuery<'_>,
        visit: &mut dyn FnMut(&TaskRow, u64),
        _corrupt: &mut Vec<String>,
    ) -> Result<Option<u64>> {
        let tick_ns = self.tick_ns();
        let (mut after, mut shown, mut looked_at) = (query.after, 0, 0);
        loop {
            let left = query.limit - shown;
            let batch = self.index.following(after, left.saturating_add(1).clamp(LEAST_ROWS, ROWS_PER_PAGE));
            if batch.is_empty() {
                return Ok(None);
            }
            for locator in batch {
                if looked_at == ROWS_PER_PAGE {
                    return Ok(Some(after));
                }
                looked_at += 1;
                let matched = self.look_at(locator, tick_ns, |row| {
                    let matched = matches(row, query);
                    if matched && shown < query.limit {
                        visit(row, locator.sequence);
                    }
                    matched
                });
                if matched == Some(true) {
                    // One more than is shown tells that the page is not the last.
                    if shown == query.limit {
                        return Ok(Some(after));
                    }
                    shown += 1;
                }
                after = locator.sequence;
            }
        }
    }
}
