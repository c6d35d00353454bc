//! What a table of MCP tasks can do beside what every table can: it lists them in order of creation, and hands them to
//! those who claim them in order of their queues.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::Arc;

use super::{Change, Decide, Limits, Table, TaskRow, TaskStatus, WorkState};
use crate::claimers::Claimers;
use crate::clock::{Moment, Now};
use crate::error::Result;
use crate::sync::atomic::AtomicU64;

/// Which tasks an operator's listing shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskQuery<'a> {
    /// Only tasks with this status.
    pub status: Option<TaskStatus>,
    /// Only tasks of this endpoint.
    pub endpoint: Option<&'a str>,
    /// Only tasks of this partition; `Some(None)` is the anonymous one.
    #[allow(
        clippy::option_option,
        reason = "no filter, the anonymous partition, and a named one are three things"
    )]
    pub partition: Option<Option<&'a str>>,
    /// Only tasks of this queue.
    pub queue: Option<&'a str>,
    /// Only tasks that this worker holds.
    pub worker: Option<&'a str>,
    /// Only tasks whose work stands there.
    pub work_state: Option<WorkState>,
    /// Only tasks created after the one with this sequence number; 0 starts at the oldest.
    pub after: u64,
    /// At most so many rows.
    pub limit: usize,
}

/// How time alone has changed a row: what is to be shown and judged in its place.
pub type AsOf = fn(&TaskRow, Now) -> Cow<'_, TaskRow>;

/// Under which a task was created, so that creating it again gives the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation<'a> {
    /// Endpoint of the task.
    pub endpoint: &'a str,
    /// Its authorization partition; `None` is the anonymous one.
    pub partition: Option<&'a str>,
    /// The id within these two.
    pub id: &'a str,
}

/// What becomes of a task that somebody may claim: the row that is held, or `None` when it may not be claimed.
pub type DecideClaim<'a> = dyn FnMut(&TaskRow, Now) -> Option<TaskRow> + 'a;

/// What becomes of the task whose id is at this place among those given, or of its absence.
pub type DecideEach<'a> = dyn FnMut(usize, Option<&TaskRow>, Now) -> Change<TaskRow> + 'a;

/// A table of tasks, which can be listed in order of creation and claimed in order of their queues.
pub trait TaskTable: Table<TaskRow> {
    /// Shows the rows that match as of now, oldest first, each with its sequence number. Gives the sequence number
    /// to continue after, or `None` when nothing is left. Ids of rows that cannot be read go to `corrupt`.
    fn list(
        &self,
        query: &TaskQuery<'_>,
        as_of: AsOf,
        visit: &mut dyn FnMut(&TaskRow, u64),
        corrupt: &mut Vec<String>,
    ) -> Result<Option<u64>>;

    /// One atomic step that creates a task with a queue, a lease or an operation id: shows the unexpired task that was
    /// created under `operation`, or `None`, to `decide`. The new row has the id `id`; false says that another task
    /// has it. Whether the operation has its task is decided before whether a slot is free, and the place of an
    /// expired one is free.
    fn create(
        &self,
        operation: Option<Operation<'_>>,
        id: &str,
        limits: Limits,
        decide: &mut Decide<'_, TaskRow>,
    ) -> Result<bool>;

    /// Shows tasks of these queues that are due to `decide`, those of an earlier queue first and within a queue in
    /// the order in which they became available, until it takes one. Each is shown and changed in one step.
    fn claim(&self, queues: &[Arc<str>], decide: &mut DecideClaim<'_>) -> Result<Option<TaskRow>>;

    /// [`Table::transact`] for each of `ids`, none of which is there twice. Nothing is created.
    fn transact_each(&self, ids: &[&str], decide: &mut DecideEach<'_>) -> Result<()>;

    /// Ids of at most `most` tasks that the lapse of their leases has ended, which is not stored yet.
    fn lapsed(&self, most: usize) -> Result<Vec<Arc<str>>>;

    /// When the first task of this queue is due, if those who wait here must see to that themselves.
    fn next_due(&self, queue: &str) -> Option<Moment>;

    /// When the first task is ended by the lapse of its lease, if those who wait here must see to that themselves.
    fn next_lapse(&self) -> Option<Moment>;

    /// Somebody has come to wait for a task: from now on, what other processes make claimable calls a claimer too.
    fn claimer_came(&self) {}

    /// Those who wait for a task to claim.
    fn claimers(&self) -> &Claimers;

    /// What this process did with tasks of this table.
    fn work_counters(&self) -> &WorkCounters;
}

/// What one process did since it opened a table, for `taskhold_store_stats`.
#[derive(Debug, Default)]
pub struct WorkCounters {
    /// Tasks claimed.
    pub claims: AtomicU64,
    /// Leases that lapsed: their tasks were claimed again or ended.
    pub leases_lapsed: AtomicU64,
    /// Tasks with a queue, lease or operation id that expired before they ended.
    pub expired_unfinished: AtomicU64,
}

/// How many tasks of a queue stand where, for `taskhold_store_stats`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueFigures {
    /// By [`WorkState`].
    pub tasks: [u64; 4],
    /// For how long the task that has been ready longest is.
    pub oldest_ready_ms: i64,
}
