//! The SQLite backend: records in one file that the processes of a host share and that survives them. Writes
//! go through one connection ([`writer`]), reads through a few ([`pool`]); [`table`] is the atomic step over a
//! [`row`], [`watch`] sees what other processes change, [`checkpoint`] keeps the log short.
//!
//! Ages are measured by the host's clock, since no other clock survives a restart.

#![forbid(unsafe_code)]

mod a2a_row;
mod backoff;
mod check;
mod checkpoint;
mod columns;
mod failure;
mod file;
mod guard;
mod network;
mod options;
mod pool;
mod row;
mod schema;
mod session_row;
mod stats;
mod table;
mod task_row;
#[cfg(test)]
mod tests;
mod watch;
mod work;
mod work_row;
mod writer;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _};

use self::backoff::Backoff;
use self::checkpoint::Checkpoints;
use self::failure::Failure;
use self::file::StoreFile;
use self::options::Options;
use self::pool::Pool;
use self::row::{SqlRow, Ticks};
use self::table::SqlTable;
use self::watch::Watch;
use self::writer::{Transaction, Writer};
use super::work_figures::WorkTotals;
use super::{A2aRow, A2aTable, Backend, SessionRow, Table, TaskRow, TaskTable};
use crate::clock::{Clock, Now};
use crate::error::{Error, Reason, Result};
use crate::text::Text;

/// What all tables of an open store share.
struct Shared {
    clock: Clock,
    ticks: Ticks,
    file: Arc<StoreFile>,
    pool: Pool,
    writer: Arc<Writer>,
    checkpoints: Arc<Checkpoints>,
    backoff: Arc<Backoff>,
    watch: Watch,
    /// Random: tells this open store from all others over the file.
    holder: i64,
    busy_timeout: Duration,
}

impl Shared {
    fn now(&self) -> Now {
        let wall_ms = self.clock.now().wall_ms;
        Now { wall_ms, tick_ns: self.ticks.tick(wall_ms) }
    }

    /// The system's time, by which leases run, beside a reading of the store's clock.
    fn system_ms(&self, now: Now) -> i64 {
        match self.clock {
            Clock::System => now.wall_ms,
            Clock::Manual(_) => table::system_ms(),
        }
    }

    fn read<T>(&self, read: impl FnMut(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.pool.read(&self.backoff, read)
    }

    /// A step in a transaction. `at_once` does not wait for other processes.
    fn write<T>(
        self: &Arc<Self>,
        at_once: bool,
        step: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, Failure>,
    ) -> Result<std::result::Result<T, Error>> {
        self.file.guard().check(false)?;
        let patience = if at_once { Duration::ZERO } else { self.busy_timeout };
        let done = self.writer.run(&self.backoff, Instant::now() + patience, step);
        self.checkpoints.start_if_due(self);
        if self.writer.holds_pins.load(Ordering::Relaxed) && !self.watch.is_running() {
            self.watch.start(self);
        }
        done
    }

    /// The number of a name, which is new at its first use.
    fn number_of<R: SqlRow>(self: &Arc<Self>, name: &str) -> Result<i64> {
        let find = "SELECT number FROM names WHERE kind = ?1 AND name = ?2";
        let known = self.read(|connection| {
            connection.prepare_cached(find)?.query_row((R::KIND, name), |row| row.get(0)).optional()
        })?;
        if let Some(number) = known {
            return Ok(number);
        }
        self.write(false, |transaction| {
            let insert = "INSERT INTO names (kind, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            transaction.execute(insert, (R::KIND, name))?;
            let number = transaction.query(find, (R::KIND, name), |row| row.get(0))?;
            Ok(number.ok_or(rusqlite::Error::QueryReturnedNoRows)?)
        })?
    }
}

type Tables<R> = Mutex<HashMap<Box<str>, Arc<SqlTable<R>>>>;

/// All tables of one store on SQLite.
pub struct SqliteBackend {
    shared: Arc<Shared>,
    tasks: Tables<TaskRow>,
    sessions: Tables<SessionRow>,
    a2a_tasks: Tables<A2aRow>,
}

impl SqliteBackend {
    /// Opens the store in the file at `path`, or makes one there.
    pub fn open(path: &str, options: Option<&str>, clock: Clock) -> Result<Self> {
        let options = Options::parse(options)?;
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|_| Error::new(Reason::SystemResource, "the operating system gave no random numbers"))?;
        let [holder, seed] = [&random[..8], &random[8..]]
            .map(|half| half.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte)));
        let file = Arc::new(StoreFile::locate(path, &options)?);
        let backoff = Arc::new(Backoff::new(seed));
        let mut connection = file.open_writer(&options, &backoff)?;
        let checkpoints = Arc::new(Checkpoints::default());
        checkpoints.count_pages_of(&mut connection)?;
        let holder = (holder >> 1).cast_signed();
        let shared = Shared {
            ticks: Ticks { base_ms: clock.now().wall_ms },
            clock,
            pool: Pool::new(Arc::clone(&file), options.busy_timeout),
            writer: Arc::new(Writer::new(connection, Arc::clone(&file), holder)),
            file,
            checkpoints,
            backoff,
            watch: Watch::default(),
            holder,
            busy_timeout: options.busy_timeout,
        };
        Ok(Self {
            shared: Arc::new(shared),
            tasks: Tables::default(),
            sessions: Tables::default(),
            a2a_tasks: Tables::default(),
        })
    }

    fn table<R: SqlRow>(&self, tables: &Tables<R>, name: &str) -> Result<Arc<SqlTable<R>>> {
        let known = |tables: &HashMap<Box<str>, Arc<SqlTable<R>>>| tables.get(name).map(Arc::clone);
        let lock = || tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = known(&lock()) {
            return Ok(table);
        }
        let number = self.shared.number_of::<R>(name)?;
        let mut tables = lock();
        if let Some(table) = known(&tables) {
            return Ok(table);
        }
        let table = SqlTable::new(Arc::clone(&self.shared), number);
        tables.insert(name.into(), Arc::clone(&table));
        Ok(table)
    }
}

impl Backend for SqliteBackend {
    fn tasks(&self, name: &str) -> Result<Arc<dyn TaskTable>> {
        Ok(self.table(&self.tasks, name)?)
    }

    fn sessions(&self, name: &str) -> Result<Arc<dyn Table<SessionRow>>> {
        Ok(self.table(&self.sessions, name)?)
    }

    fn a2a_tasks(&self, name: &str) -> Result<Arc<dyn A2aTable>> {
        Ok(self.table(&self.a2a_tasks, name)?)
    }

    fn stats(&self) -> Result<Text> {
        let mut work = WorkTotals::default();
        let mut claimers = 0;
        for table in self.tasks.lock().unwrap_or_else(PoisonError::into_inner).values() {
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
