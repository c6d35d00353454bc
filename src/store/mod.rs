//! Where records live. A [`Backend`] has one [`Table`] per kind of record and name, and knows rows, row
//! versions, expiry, order and limits, but no rule of a domain: a rule reaches it as a closure that is
//! handed the stored row and decides what becomes of it, in one atomic step.

#![forbid(unsafe_code)]

mod a2a_tasks;
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
mod tasks;
mod work;
mod work_figures;

use std::borrow::Cow;
use std::sync::{Arc, Weak};
use std::time::Duration;

pub use self::a2a_tasks::{A2aFound, A2aListed, A2aPosition, A2aQuery, A2aTable, LogPosition};
pub use self::event_log::{Appended, KeptEvents, LogLimits, LogTotals};
pub use self::rows::{A2aRow, ArrayIndex, InputState, Member, SessionRow, TaskRow, TaskStatus};
pub use self::sessions::{ExpiredSession, HeldPins, Holder, SessionQuery, SessionTable};
pub use self::task_texts::{TaskCreation, TaskTexts};
pub use self::tasks::{
    AsOf, DecideClaim, DecideEach, Operation, QueueFigures, TaskQuery, TaskTable, WorkCounters,
};
pub use self::work::{Attempts, Lease, Work, WorkOrder, WorkState};
use crate::clock::{Clock, Moment, Now};
use crate::error::{Error, Reason, Result};
use crate::events::Hub;
use crate::json;
use crate::options::Object;
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

/// The queues of a store, each with the name of its managers.
type Queues = Vec<(Arc<str>, Arc<str>, QueueFigures)>;

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
