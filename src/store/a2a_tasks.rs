//! What a table of A2A tasks can do beside what every table can: it lists them by owner in the A2A order, and shows the
//! logs of their events.

#![forbid(unsafe_code)]

use std::ops::Bound;
use std::sync::Arc;

use super::{A2aRow, ArrayIndex, LogTotals, Table};
use crate::error::Result;

/// A place in the A2A order: status timestamp descending (absent last), then id ascending by bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct A2aPosition {
    /// Status timestamp in milliseconds since 1970.
    pub status_timestamp_ms: Option<i64>,
    /// Task id.
    pub id: String,
}

/// Which A2A tasks a listing shows.
#[derive(Clone, Copy, Debug)]
pub struct A2aQuery<'a> {
    /// Whose tasks.
    pub owner: Option<&'a str>,
    /// Only tasks of this context.
    pub context_id: Option<&'a str>,
    /// Only tasks in this state, in the stored spelling.
    pub state: Option<&'a str>,
    /// Only tasks with a status timestamp at or after this, in milliseconds since 1970.
    pub status_timestamp_from_ms: Option<i64>,
    /// Only tasks behind this place.
    pub after: Option<&'a A2aPosition>,
    /// At most so many rows.
    pub limit: usize,
    /// Whether to count all rows that match, from the first on.
    pub count: bool,
}

/// What a listing found beside the rows it showed.
#[derive(Debug, Default)]
pub struct A2aFound {
    /// How many rows match, if that was asked.
    pub total: Option<u64>,
    /// Where to go on, if rows are left.
    pub next: Option<A2aPosition>,
    /// Ids of rows that cannot be read.
    pub corrupt: Vec<String>,
}

/// What a listing shows of a row.
#[derive(Clone, Copy, Debug)]
pub struct A2aListed<'r> {
    /// Grows with every save.
    pub revision: u64,
    /// The task: JSON text.
    pub task: &'r str,
    /// Where `history` stands in it.
    pub history: Option<&'r ArrayIndex>,
    /// Where `artifacts` stands in it.
    pub artifacts: Option<&'r ArrayIndex>,
}

/// Where a task's log stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPosition {
    /// The task's revision.
    pub revision: u64,
    /// What its log holds.
    pub totals: LogTotals,
}

/// A table of A2A tasks, which can be listed by owner.
pub trait A2aTable: Table<A2aRow> {
    /// Shows the rows that match, in the A2A order. `visit` must not call the store.
    fn list(&self, query: &A2aQuery<'_>, visit: &mut dyn FnMut(A2aListed<'_>)) -> Result<A2aFound>;

    /// The next owners of tasks behind `after`, at most `limit`: the anonymous one first, then ascending by bytes. Tasks
    /// that have expired may still count.
    fn owners(&self, after: Bound<Option<&str>>, limit: usize) -> Result<Vec<Option<Arc<str>>>>;

    /// Shows the events of a task behind the revision `after`, oldest first, at most `limit`, and tells where its log
    /// stands, all in one snapshot. `None` when there is no such task. `visit` must not call the store.
    fn read_events(
        &self,
        id: &str,
        after: u64,
        limit: usize,
        visit: &mut dyn FnMut(u64, &str),
    ) -> Result<Option<LogPosition>>;
}
