//! The PostgreSQL backend: records in a database that the processes of any number of hosts share. Calls go over the
//! connections of a [`pool`], each in one write and one read where that can be ([`connection`]); a [`transition`] is the
//! atomic step over a [`row`] of a [`table`], and [`transaction`] tries again what can be. What goes on beside the callers does the
//! [`worker`]: [`changes`] hears what other processes change, [`pins`] renews leases, [`watchers`] tells of sessions that
//! others remove.
//!
//! Time is the server's, in every statement; only a clock that a test moves by hand is sent along.

#![forbid(unsafe_code)]

mod a2a_row;
mod bell;
mod changes;
mod check;
mod columns;
mod connection;
mod fault;
mod options;
mod pins;
mod pool;
mod queue_watch;
mod row;
mod schema;
mod session_row;
mod session_table;
mod slots;
pub(crate) mod sockets;
mod statement_text;
mod stats;
mod stream;
mod table;
mod task_row;
mod tls;
mod transaction;
mod transition;
mod url;
mod values;
mod watchers;
mod work;
mod worker;

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use self::changes::Changes;
use self::columns::Statements;
use self::connection::{COMMIT, Query, Setup};
use self::fault::{Failure, Fault};
use self::options::Options;
use self::pool::{Denied, Pool};
use self::row::{PgRow, Ticks};
use self::statement_text::server_ms;
use self::table::PgTable;
use self::url::Target;
use self::values::{Values, values};
use self::worker::Worker;
use super::sql::{Pins, Watchers};
use super::work_figures::WorkTotals;
use super::{A2aRow, A2aTable, Backend, SessionRow, SessionTable, TableNames, TaskRow, TaskTable};
use crate::clock::{Clock, Now};
use crate::error::{Error, Reason, Result};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::text::Text;

/// A reading of the server's time is good for so long, with what passes here meanwhile.
const TIME_IS_GOOD_FOR: Duration = Duration::from_secs(1);

const SERVER_TIME: &str = concat!("SELECT ", server_ms!());

/// Sixty-four bits that stand for words, each with its length before it, so that no two lists read alike.
fn digest(words: &[&str]) -> u64 {
    let mut hash = Sha256::new();
    for word in words {
        hash.update((word.len() as u64).to_be_bytes());
        hash.update(word.as_bytes());
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hash.finalize()[..8]);
    u64::from_be_bytes(first)
}

/// What all tables of an open store share.
struct Shared {
    clock: Clock,
    ticks: Ticks,
    pool: Pool,
    changes: Changes,
    pins: Pins,
    watchers: Watchers,
    worker: Worker,
    /// Random: tells this open store from all others over the database.
    number: i64,
    /// On which stores over these tables notify each other.
    channel: Box<str>,
    /// How often changes are looked for while nothing is notified.
    event_poll: Duration,
    /// The server's time when it was read last.
    time: Mutex<Option<(Instant, i64)>>,
    random: AtomicU64,
    writes: AtomicU64,
    conflicts: AtomicU64,
    /// Statements over one kind of row that are not its table's alone.
    session_by_number: String,
    next_due: String,
    tasks_by_ids: String,
}

impl Shared {
    /// The time of a clock that is moved by hand, which statements take in the place of the server's.
    fn manual_ms(&self) -> Option<i64> {
        match &self.clock {
            Clock::System => None,
            Clock::Manual(_) => Some(self.clock.now().wall_ms),
        }
    }

    /// Both clocks at a time that a statement gave.
    fn now_at(&self, wall_ms: i64) -> Now {
        Now { wall_ms, tick_ns: self.ticks.tick(wall_ms) }
    }

    /// The same for the present time.
    fn note_time(&self, wall_ms: i64) -> Now {
        if matches!(self.clock, Clock::System) {
            *self.time.lock() = Some((Instant::now(), wall_ms));
        }
        self.now_at(wall_ms)
    }

    /// The store's time: never ahead of it by more than the clocks here and there differ in a second.
    fn now(&self) -> Result<Now> {
        if let Some(now) = self.recent_now(TIME_IS_GOOD_FOR) {
            return Ok(now);
        }
        let rows = self.read(SERVER_TIME, &Values::NONE)?;
        Ok(self.note_time(rows.first().ok_or_else(|| Fault::Protocol.into_error())?.integer(0)))
    }

    fn recent_now(&self, within: Duration) -> Option<Now> {
        if let Some(wall_ms) = self.manual_ms() {
            return Some(self.now_at(wall_ms));
        }
        let (read, wall_ms) = (*self.time.lock())?;
        let passed = read.elapsed();
        let passed_ms = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
        (passed <= within).then(|| self.now_at(wall_ms.saturating_add(passed_ms)))
    }

    /// The same as far as it is known here, for what need not be on time.
    fn estimated_now(&self) -> Now {
        self.recent_now(Duration::MAX).unwrap_or_else(|| self.now_at(self.clock.now().wall_ms))
    }

    fn next_random(&self) -> u64 {
        // Two threads may draw the same number; that costs nothing.
        let mut x = self.random.load(Ordering::Relaxed);
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.store(x, Ordering::Relaxed);
        x
    }

    /// Runs a statement that changes tables, under the lock that everybody takes for that.
    fn change_schema(&self, sql: &str) -> Result<()> {
        let mut lent = self.lend().map_err(Failure::into_error)?;
        let mut batch = lent.begin();
        batch.extend([
            Query::new("SET LOCAL statement_timeout = 0", Values::NONE),
            Query::new("SELECT pg_advisory_xact_lock($1)", values![schema::LOCK]),
            Query::new(sql, Values::NONE),
            COMMIT,
        ]);
        let done = lent.with_patience(|connection| connection.run(&batch));
        if done.is_err() {
            let _ = lent.run(&[connection::ROLLBACK]);
        }
        done.map(drop).map_err(Fault::into_error)
    }

    /// The number of a name, which is new at its first use.
    fn number_of<R: PgRow>(&self, name: &str) -> Result<i64> {
        let find = "SELECT number FROM @names WHERE kind = $1 AND name = $2";
        let insert = "INSERT INTO @names (kind, name) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        let known = || -> Result<Option<i64>> {
            Ok(self.read(find, &values![R::KIND, name])?.first().map(|columns| columns.integer(0)))
        };
        if let Some(number) = known()? {
            return Ok(number);
        }
        self.write(insert, &values![R::KIND, name]).map_err(Failure::into_error)?;
        known()?.ok_or_else(|| Fault::Protocol.into_error())
    }
}

/// An open store, for as long as a handle or a table of it is there. With the last, the worker winds it up.
struct OpenStore(Arc<Shared>);

impl Deref for OpenStore {
    type Target = Arc<Shared>;

    fn deref(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        self.worker.close(&self.0);
    }
}

type Tables<R> = Mutex<HashMap<Box<str>, Arc<PgTable<R>>>>;

/// All tables of one store on PostgreSQL.
pub struct PostgresBackend {
    shared: Arc<OpenStore>,
    tasks: Tables<TaskRow>,
    sessions: Tables<SessionRow>,
    a2a_tasks: Tables<A2aRow>,
}

impl PostgresBackend {
    /// Opens the store in the database that a URL names, without its scheme, and makes its tables where they are
    /// missing.
    pub fn open(rest: &str, options: Option<&str>, clock: Clock) -> Result<Self> {
        let options = Options::parse(options)?;
        let target = Target::parse(rest)?;
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|_| Error::new(Reason::SystemResource, "the operating system gave no random numbers"))?;
        let [number, seed] = [&random[..8], &random[8..]]
            .map(|half| half.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte)));
        let setup = Arc::new(Setup {
            tls: tls::settings(&target)?,
            target,
            schema: format!("\"{}\"", options.schema).into(),
            statement_timeout: options.statement_timeout,
            is_pooler_safe: options.is_pooler_safe,
        });
        let channel = format!("taskhold_{:016x}", digest(&[&setup.schema])).into();
        let pool = Pool::new(setup, options.pool_size, options.acquire_timeout);
        let mut connection = pool.connect().map_err(Denied::into_error)?;
        schema::migrate(&mut connection).map_err(Denied::into_error)?;
        let answer = connection.run_alone(Query::new(SERVER_TIME, Values::NONE));
        let rows = answer.map_err(Fault::into_error)?.rows;
        let server_ms = rows.first().ok_or_else(|| Fault::Protocol.into_error())?.integer(0);
        pool.adopt(connection);
        let base_ms = match &clock {
            Clock::System => server_ms,
            Clock::Manual(_) => clock.now().wall_ms,
        };
        let shared = Shared {
            ticks: Ticks { base_ms },
            clock,
            pool,
            changes: Changes::default(),
            pins: Pins::default(),
            watchers: Watchers::default(),
            worker: Worker::default(),
            number: (number >> 1).cast_signed(),
            channel,
            event_poll: options.event_poll,
            time: Mutex::new(None),
            random: AtomicU64::new(seed | 1),
            writes: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
            session_by_number: Statements::of::<SessionRow>().lock,
            next_due: work::next_due_sql(),
            tasks_by_ids: work::tasks_by_ids_sql(),
        };
        Ok(Self {
            shared: Arc::new(OpenStore(Arc::new(shared))),
            tasks: Tables::default(),
            sessions: Tables::default(),
            a2a_tasks: Tables::default(),
        })
    }

    fn table<R: PgRow>(&self, tables: &Tables<R>, name: &str) -> Result<Arc<PgTable<R>>> {
        let known = |tables: &HashMap<Box<str>, Arc<PgTable<R>>>| tables.get(name).map(Arc::clone);
        let lock = || tables.lock();
        if let Some(table) = known(&lock()) {
            return Ok(table);
        }
        let number = self.shared.number_of::<R>(name)?;
        let mut tables = lock();
        if let Some(table) = known(&tables) {
            return Ok(table);
        }
        let table = PgTable::new(Arc::clone(&self.shared), number);
        tables.insert(name.into(), Arc::clone(&table));
        Ok(table)
    }
}

impl Backend for PostgresBackend {
    fn tasks(&self, name: &str) -> Result<Arc<dyn TaskTable>> {
        Ok(self.table(&self.tasks, name)?)
    }

    fn sessions(&self, name: &str) -> Result<Arc<dyn SessionTable>> {
        Ok(self.table(&self.sessions, name)?)
    }

    fn a2a_tasks(&self, name: &str) -> Result<Arc<dyn A2aTable>> {
        Ok(self.table(&self.a2a_tasks, name)?)
    }

    fn names(&self) -> Result<TableNames> {
        let of_kind = |kind: &str| -> Result<Vec<Arc<str>>> {
            let rows = self.shared.read("SELECT name FROM @names WHERE kind = $1", &values![kind])?;
            Ok(rows.iter().map(|row| row.text(0).into()).collect())
        };
        Ok(TableNames {
            tasks: of_kind(TaskRow::KIND)?,
            sessions: of_kind(SessionRow::KIND)?,
            a2a_tasks: of_kind(A2aRow::KIND)?,
        })
    }

    fn now(&self) -> Result<Now> {
        self.shared.now()
    }

    fn stats(&self) -> Result<Text> {
        let mut work = WorkTotals::default();
        let mut claimers = 0;
        for table in self.tasks.lock().values() {
            work.add(table.work_counters());
            claimers += table.claimers().count();
        }
        stats::render(&self.shared, claimers, work)
    }

    fn check(&self) -> Result<Text> {
        check::render(&self.shared)
    }

    fn requires_task_limit(&self) -> bool {
        false
    }
}
