//! Where records live. A [`Backend`] has one [`Table`] per kind of record and name, and knows rows, row
//! versions, expiry, order and limits, but no rule of a domain: a rule reaches it as a closure that is
//! handed the stored row and decides what becomes of it, in one atomic step.

#![forbid(unsafe_code)]

mod copy;
mod event_log;
pub mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
mod rows;
mod sessions;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod sql;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod task_texts;
mod work;
mod work_figures;

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::{Arc, Weak};
use std::time::Duration;

pub use self::event_log::{Appended, KeptEvents, LogLimits, LogTotals};
pub use self::rows::{A2aRow, ArrayIndex, InputState, Member, SessionRow, TaskRow, TaskStatus};
pub use self::sessions::{ExpiredSession, HeldPins, Holder, SessionQuery, SessionTable};
pub use self::task_texts::{TaskCreation, TaskTexts};
pub use self::work::{Attempts, Lease, Work, WorkOrder, WorkState};
use crate::claimers::Claimers;
use crate::clock::{Clock, Moment, Now};
use crate::error::{Error, Reason, Result};
use crate::events::Hub;
use crate::json;
use crate::options::Object;
use crate::sync::atomic::AtomicU64;
use crate::text::Text;

/// Whether a hash table has so much more room than entries that it should give some back.
pub(crate) fn is_too_roomy(entries: usize, capacity: usize) -> bool {
    capacity > 64 && entries < capacity / 8
}

/// Adds to a list of listeners. Those that are gone are taken out when there is no more room: adding many must not
/// look at each of them each time.
pub(crate) fn add_listener<L: ?Sized>(listeners: &mut Vec<Weak<L>>, listener: Weak<L>) {
    if listeners.len() == listeners.capacity() {
        listeners.retain(|known| known.strong_count() > 0);
    }
    listeners.push(listener);
}

/// A stored record cannot be read.
pub(crate) fn corrupt_row() -> Error {
    Error::new(Reason::CorruptRow, "the stored record cannot be read")
}

/// Shortest time between two looks that nobody asked for: a clock that is moved by hand may stand right before
/// an expiry for ever.
const SHORTEST_TIMER: Duration = Duration::from_millis(1);

/// The time until a row expires, if it does, for a timer.
pub(crate) fn time_left<R: Row>(row: &R, tick_ns: i64) -> Option<Duration> {
    let left_ns = row.expires_at()?.saturating_sub(tick_ns);
    Some(Duration::from_nanos(u64::try_from(left_ns).unwrap_or(0)).max(SHORTEST_TIMER))
}

/// The time until an instant, for a timer.
pub(crate) fn timer(moment: Moment, now: Now) -> Duration {
    moment.left(now).max(SHORTEST_TIMER)
}

/// A record as a backend keeps it.
pub trait Row: Clone + Send + Sync + 'static {
    /// Its id, unique within a table.
    fn id(&self) -> &str;

    /// The tick (see [`Now::tick_ns`]) from which on the row is gone for every operation, if it ends at all.
    fn expires_at(&self) -> Option<i64>;

    /// Whether it counts against the table's limit.
    fn takes_slot(&self) -> bool {
        true
    }

    /// The authorization partition against whose limit it counts; `None` is the anonymous one.
    fn partition(&self) -> Option<Cow<'_, str>> {
        None
    }
}

/// How many rows that take a slot a table may hold when a new one comes. No limit is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Over all partitions: `CAPACITY_EXHAUSTED` (`capacity_exhausted`).
    pub total: Option<u64>,
    /// In the new row's own partition: the same status (`partition_capacity_exhausted`). Checked first.
    pub per_partition: Option<u64>,
}

impl Limits {
    fn total_reached(self) -> Error {
        Error::new(Reason::CapacityExhausted, "the limit of retained records is reached")
            .with_limit(self.total.unwrap_or_default())
    }

    fn partition_reached(self) -> Error {
        Error::new(
            Reason::PartitionCapacityExhausted,
            "the limit of retained records of one partition is reached",
        )
        .with_limit(self.per_partition.unwrap_or_default())
    }
}

/// What a transition decides for the row it was shown.
#[derive(Debug)]
pub enum Change<R> {
    /// Nothing changes.
    Keep,
    /// This row is stored in place of the old one, or as a new one.
    Put(R),
    /// The same for a record that another node changed first: event queues hear that it was saved, and nothing else.
    PutReplicated(R),
    /// The same for a change that is no news: event queues hear nothing of it.
    PutUnannounced(R),
    /// The row is deleted.
    Remove,
}

/// A transition: what becomes of the row that is there, or of its absence.
pub type Decide<'a, R> = dyn FnMut(Option<&R>, Now) -> Result<Change<R>> + 'a;

/// Learns which rows a table removed because they expired.
pub trait ExpiryListener<R>: Send + Sync {
    /// `row` was removed. Called with no lock held.
    fn expired(&self, row: &R);
}

/// What a record's columns must say for a caller to see it.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Endpoint, of tasks and sessions.
    pub endpoint: &'a str,
    /// Authorization partition or owner; `None` is the anonymous one.
    pub partition: Option<&'a str>,
}

/// The rows of one kind under one name. Managers with the same name over one store share a table.
pub trait Table<R: Row>: Send + Sync {
    /// Shows the unexpired row `id` to `visit`. False when there is none. `visit` must not call the store.
    fn read(&self, id: &str, visit: &mut dyn FnMut(&R)) -> Result<bool>;

    /// One atomic read-transition-write: shows the unexpired row `id`, or `None`, to `decide`, and does what
    /// it says. `decide` may run more than once (a backend that lost a race tries again) and must not call
    /// the store; when it refuses, or panics, nothing has changed. Storing a new row while `limit` rows that
    /// take a slot are there is refused with `CAPACITY_EXHAUSTED`; expired rows never count, and an
    /// unexpired one is never evicted.
    fn transact(&self, id: &str, limit: Option<u64>, decide: &mut Decide<'_, R>) -> Result<()> {
        self.transact_within(id, Limits { total: limit, per_partition: None }, decide)
    }

    /// [`Self::transact`] within a limit of each partition, too.
    fn transact_within(&self, id: &str, limits: Limits, decide: &mut Decide<'_, R>) -> Result<()>;

    /// [`Self::transact_within`] for a row that is most likely not there, since its id was drawn at random, and that is
    /// dated by the time it is decided at.
    fn create_within(&self, id: &str, limits: Limits, decide: &mut Decide<'_, R>) -> Result<()> {
        self.transact_within(id, limits, decide)
    }

    /// [`Self::transact`] without a limit, unless it would have to wait for others who write: then false, and nothing
    /// was decided. For what a call does beside its own work.
    fn transact_unless_busy(&self, id: &str, decide: &mut Decide<'_, R>) -> Result<bool> {
        self.transact_within(id, Limits::default(), decide).map(|()| true)
    }

    /// Counts the rows of each partition from now on. Call it before the first [`Self::transact_within`] that limits
    /// them; it is cheap when it was called before.
    fn count_partitions(&self) -> Result<()>;

    /// [`Self::read`] for a caller who sees only what is his. The rules decide whether a row is, by its endpoint and
    /// its partition or owner; all else that is shown of another's row may be made up, so that a backend need not
    /// fetch its texts and the time of a call tells nothing of them.
    fn read_claimed(&self, claim: Claim<'_>, id: &str, visit: &mut dyn FnMut(&R)) -> Result<bool> {
        let _ = claim;
        self.read(id, visit)
    }

    /// [`Self::transact`] for such a caller. `decide` keeps another's row as it is.
    fn transact_claimed(
        &self,
        claim: Claim<'_>,
        id: &str,
        limit: Option<u64>,
        decide: &mut Decide<'_, R>,
    ) -> Result<()> {
        let _ = claim;
        self.transact(id, limit, decide)
    }

    /// Both clocks of the store.
    fn now(&self) -> Result<Now>;

    /// The next ids behind `after`, at most `limit`, ascending by bytes. Rows that have expired may be among them.
    fn ids(&self, after: Option<&str>, limit: usize) -> Result<Vec<Arc<str>>>;

    /// Removes up to `most` expired rows and says how many were removed.
    fn sweep(&self, most: usize) -> Result<usize>;

    /// Tells `listener` of every row that this process removes by expiry, as long as it lives.
    fn watch_expiry(&self, listener: Weak<dyn ExpiryListener<R>>);

    /// Where changes to this table are announced and waited for.
    fn hub(&self) -> &Arc<Hub>;
}

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

/// The queues of a store, each with the name of its managers.
type Queues = Vec<(Arc<str>, Arc<str>, QueueFigures)>;

/// How many tasks of a queue stand where, for `taskhold_store_stats`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueFigures {
    /// By [`WorkState`].
    pub tasks: [u64; 4],
    /// For how long the task that has been ready longest is.
    pub oldest_ready_ms: i64,
}

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

/// The names under which a store has tables, and may have records.
#[derive(Clone, Debug, Default)]
pub struct TableNames {
    /// Of tables of MCP tasks.
    pub tasks: Vec<Arc<str>>,
    /// Of MCP sessions.
    pub sessions: Vec<Arc<str>>,
    /// Of A2A tasks.
    pub a2a_tasks: Vec<Arc<str>>,
}

/// A storage backend.
pub trait Backend: Send + Sync {
    /// The table of MCP tasks under `name`.
    fn tasks(&self, name: &str) -> Result<Arc<dyn TaskTable>>;
    /// The table of MCP sessions under `name`.
    fn sessions(&self, name: &str) -> Result<Arc<dyn SessionTable>>;
    /// The table of A2A tasks under `name`.
    fn a2a_tasks(&self, name: &str) -> Result<Arc<dyn A2aTable>>;
    /// The names of all tables.
    fn names(&self) -> Result<TableNames>;
    /// Both clocks of the store.
    fn now(&self) -> Result<Now>;
    /// The JSON object of `taskhold_store_stats`.
    fn stats(&self) -> Result<Text>;
    /// The JSON object of `taskhold_store_check`.
    fn check(&self) -> Result<Text>;
    /// Whether a limit of retained tasks is required (memory is the bound) or optional (the disk is).
    fn requires_task_limit(&self) -> bool;
}

/// An open store: a backend and nothing else. Closing the handle leaves what was opened over it alive.
pub struct Store {
    backend: Arc<dyn Backend>,
}

/// Which backend a store URL names.
fn backend(url: Option<&str>, options: Option<&str>, clock: Clock) -> Result<Arc<dyn Backend>> {
    let unknown =
        || Error::new(Reason::InvalidStoreUrl, "a store URL is memory:, sqlite:PATH or postgresql://…");
    let url = url.unwrap_or(MEMORY_URL);
    let (scheme, rest) = url.split_once(':').ok_or_else(unknown)?;
    match scheme {
        "memory" if rest.is_empty() => {
            Object::parse("options", options, &[], json::DEFAULT_MAXIMUM_PAYLOAD_BYTES)?;
            Ok(Arc::new(memory::MemoryBackend::new(clock)))
        }
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(Arc::new(sqlite::SqliteBackend::open(rest, options, clock)?)),
        #[cfg(not(feature = "sqlite"))]
        "sqlite" => Err(Error::new(Reason::UnsupportedBackend, "this build has no such storage backend")),
        #[cfg(feature = "postgres")]
        "postgresql" | "postgres" => Ok(Arc::new(postgres::PostgresBackend::open(rest, options, clock)?)),
        #[cfg(not(feature = "postgres"))]
        "postgresql" | "postgres" => {
            Err(Error::new(Reason::UnsupportedBackend, "this build has no such storage backend"))
        }
        _ => Err(unknown()),
    }
}

const MEMORY_URL: &str = "memory:";

impl Store {
    /// Opens the store that `url` names: `None` or `memory:`, `sqlite:PATH`, `postgresql://…`. `options` is a
    /// JSON object, or `None` for the defaults.
    pub fn open(url: Option<&str>, options: Option<&str>, clock: Clock) -> Result<Self> {
        Ok(Self { backend: backend(url, options, clock)? })
    }

    /// A private store in memory.
    pub fn in_memory() -> Self {
        Self { backend: Arc::new(memory::MemoryBackend::new(Clock::System)) }
    }

    /// The backend.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// The JSON object of `taskhold_store_stats`.
    pub fn stats(&self) -> Result<Text> {
        self.backend.stats()
    }

    /// The JSON object of `taskhold_store_check`.
    pub fn check(&self) -> Result<Text> {
        self.backend.check()
    }
}
