//! What the stores on SQL databases share: how a record stands in columns. A kind of record lists its columns once,
//! and reads and gives their values in that order; each store makes its statements of the list, and moves the values
//! to and from its database.

#![forbid(unsafe_code)]

mod a2a;
mod column;
mod findings;
mod listing;
mod pins;
mod reader;
mod session;
mod task;
mod watchers;
mod work;

pub(super) use self::a2a::{
    A2A_COLUMNS, bind_a2a, listed_position, log_position, read_a2a, read_task_text, status_order,
};
pub(super) use self::column::Column;
pub(super) use self::findings::{Findings, MOST_LISTED, UnreadableRecord};
pub(super) use self::listing::{Listed, list_in_order};
pub(super) use self::pins::{Ended, Pins};
pub(super) use self::reader::{Reader, Source, SqlValue, Unreadable, signed};
pub(super) use self::session::{bind_session, read_session, session_columns};
pub(super) use self::task::{bind_task, read_task, task_columns, task_events};
pub(super) use self::watchers::{DueWatchers, WATCH_LEASE_MS, Watchers};
pub(super) use self::work::{is_of_work_alone, operation_key};

use crate::clock::NANOS_PER_MILLI;

/// Bits of a sequence number that count within one name. The name's number stands above them, so that the rows
/// of one name lie together and in order of creation.
pub(super) const SEQUENCE_BITS: u32 = 40;

/// The way between ticks and the milliseconds since 1970 that a database holds. Ticks count from when the store
/// was opened, so that they fit for centuries around any clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    pub(super) base_ms: i64,
}

impl Ticks {
    /// The tick of an instant.
    pub(super) fn tick(self, ms: i64) -> i64 {
        ms.saturating_sub(self.base_ms).saturating_mul(NANOS_PER_MILLI)
    }

    /// The instant of a tick.
    pub(super) fn ms(self, tick_ns: i64) -> i64 {
        self.base_ms.saturating_add(tick_ns.div_euclid(NANOS_PER_MILLI))
    }

    /// The first whole millisecond that is not before a tick.
    pub(super) fn deadline_ms(self, tick_ns: i64) -> i64 {
        self.base_ms
            .saturating_add(tick_ns.div_euclid(NANOS_PER_MILLI))
            .saturating_add(i64::from(tick_ns.rem_euclid(NANOS_PER_MILLI) > 0))
    }
}

/// Takes the values of a row's columns, one after another in the order of its list.
pub(super) trait Binder {
    /// Why a value was not taken.
    type Error;

    /// The value of the next column that is one of the table's.
    fn put(&mut self, value: SqlValue<'_>) -> Result<(), Self::Error>;
}
