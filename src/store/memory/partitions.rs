//! How many rows of each authorization partition take a slot. Nothing is counted until the first limit comes: tables
//! without one pay a load for each row that comes, and nothing else.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use hashbrown::HashMap;

use super::super::{Limits, is_too_roomy};
use crate::error::Error;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};

/// A partition, as the key of a table; `None` is the anonymous one.
type Partition = Option<Box<str>>;

#[derive(PartialEq, Eq, Hash)]
struct Sought<'a>(Option<&'a str>);

impl hashbrown::Equivalent<Partition> for Sought<'_> {
    fn equivalent(&self, key: &Partition) -> bool {
        self.0 == key.as_deref()
    }
}

#[derive(Default)]
pub(super) struct Partitions {
    are_counted: AtomicBool,
    slots: Mutex<HashMap<Partition, u64>>,
    /// Held by who begins to count.
    beginning: Mutex<bool>,
}

impl Partitions {
    /// Whether rows are counted.
    #[inline]
    pub(super) fn are_counted(&self) -> bool {
        self.are_counted.load(Ordering::Acquire)
    }

    /// Counts rows from now on, once `count_all` has counted those that are there, while no other comes or goes.
    pub(super) fn begin(&self, count_all: impl FnOnce()) {
        let mut has_begun = self.beginning.lock();
        if !*has_begun {
            count_all();
            *has_begun = true;
        }
    }

    /// Counts the rows that are there, each by its partition.
    pub(super) fn count<'r>(&self, rows: impl Iterator<Item = Option<Cow<'r, str>>>) {
        for partition in rows {
            self.take(partition, None, || true);
        }
        self.are_counted.store(true, Ordering::Release);
    }

    /// Counts a row, if its partition has fewer than `limit` and `take_slot` gives it one of the table's.
    pub(super) fn take(
        &self,
        partition: Option<Cow<'_, str>>,
        limit: Option<u64>,
        take_slot: impl FnOnce() -> bool,
    ) -> Took {
        let mut slots = self.slots.lock();
        let counted = slots.get(&Sought(partition.as_deref())).copied().unwrap_or(0);
        if limit.is_some_and(|limit| counted >= limit) {
            return Took::PartitionFull;
        }
        if !take_slot() {
            return Took::Full;
        }
        match slots.get_mut(&Sought(partition.as_deref())) {
            Some(slots) => *slots += 1,
            None => {
                slots.insert(partition.map(|name| name.into_owned().into()), 1);
            }
        }
        Took::Slot
    }

    /// Gives a row's place in its partition back.
    pub(super) fn give_back(&self, partition: Option<&str>) {
        let mut slots = self.slots.lock();
        let key = Sought(partition);
        match slots.get_mut(&key) {
            Some(counted) if *counted > 1 => *counted -= 1,
            Some(_) => {
                slots.remove(&key);
                if is_too_roomy(slots.len(), slots.capacity()) {
                    let keep = slots.len() * 2;
                    slots.shrink_to(keep);
                }
            }
            None => {}
        }
    }
}

impl Limits {
    /// Why there is no slot.
    pub(super) fn reached(self, full: Took) -> Error {
        if full == Took::PartitionFull { self.partition_reached() } else { self.total_reached() }
    }
}

/// What came of asking for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Took {
    Slot,
    PartitionFull,
    Full,
}
