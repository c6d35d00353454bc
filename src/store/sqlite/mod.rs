//! The SQLite backend: records in one file that the processes of a host share and that survives them. Writes
//! go through one connection ([`writer`]), reads through a few ([`pool`]); [`table`] is the atomic step over a
//! [`row`]. What goes on beside the callers does the [`worker`]: [`changes`] sees what other processes change, [`pins`]
//! renews leases, [`watchers`] tells of sessions that others remove, [`log`] keeps the log short.
//!
//! Ages are measured by the host's clock, since no other clock survives a restart.

#![forbid(unsafe_code)]

mod a2a_row;
mod backoff;
mod changes;
mod check;
mod columns;
mod failure;
mod file;
mod file_guard;
mod locks;
mod log;
mod names;
mod network;
mod options;
mod pins;
mod pool;
mod queue_watch;
mod row;
mod schema;
mod session_row;
mod session_table;
mod stats;
mod table;
mod task_row;
#[cfg(test)]
mod tests;
mod watchers;
mod work;
mod work_row;
mod worker;
mod writer;

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _};

use self::backoff::Backoff;
use self::changes::Changes;
use self::failure::Failure;
use self::file::StoreFile;
use self::log::Log;
use self::options::Options;
use self::pool::Pool;
use self::row::{SqlRow, Ticks};
use self::table::SqlTable;
use self::worker::Worker;
use self::writer::{Transaction, Writer};
use super::sql::{Pins, Watchers};
use super::work_figures::WorkTotals;
use super::{A2aRow, A2aTable, Backend, SessionRow, SessionTable, TableNames, TaskRow, TaskTable};
use crate::clock::{Clock, Now};
use crate::error::{Error, Reason, Result};
use crate::sync::Mutex;
use crate::text::Text;

/// What all tables of an open store share.
struct Shared {
    clock: Clock,
    ticks: Ticks,
    file: Arc<StoreFile>,
    pool: Pool,
    writer: Arc<Writer>,
    log: Arc<Log>,
    backoff: Backoff,
    changes: Changes,
    pins: Pins,
    watchers: Watchers,
    worker: Worker,
    /// Random: tells this open store from all others over the file.
    number: i64,
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

    /// A step in a transaction.
    fn write<T>(
        self: &Arc<Self>,
        step: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, Failure>,
    ) -> Result<std::result::Result<T, Error>> {
        self.file.guard().check(false)?;
        let done = self.writer.run(&self.backoff, Instant::now() + self.busy_timeout, step);
        self.look_after_log();
        done
    }

    /// The same, unless somebody in this process or another writes just now: then `None`.
    fn try_write<T>(
        self: &Arc<Self>,
        step: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, Failure>,
    ) -> Option<Result<std::result::Result<T, Error>>> {
        self.file.guard().check(false).ok()?;
        let done = self.writer.try_run(&self.backoff, step);
        self.look_after_log();
        done
    }

    fn look_after_log(self: &Arc<Self>) {
        if self.log.is_long() {
            self.worker.call(self);
        }
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
        self.write(|transaction| {
            let insert = "INSERT INTO names (kind, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            transaction.execute(insert, (R::KIND, name))?;
            let number = transaction.query(find, (R::KIND, name), |row| row.get(0))?;
            Ok(number.ok_or(rusqlite::Error::QueryReturnedNoRows)?)
        })?
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

type Tables<R> = Mutex<HashMap<Box<str>, Arc<SqlTable<R>>>>;

/// All tables of one store on SQLite.
pub struct SqliteBackend {
    shared: Arc<OpenStore>,
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
        let [number, seed] = [&random[..8], &random[8..]]
            .map(|half| half.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte)));
        let file = Arc::new(StoreFile::locate(path, &options)?);
        let backoff = Backoff::new(seed);
        let mut connection = file.open_writer(&options, &backoff)?;
        let log = Arc::new(Log::default());
        log.count_pages_of(&mut connection)?;
        let number = (number >> 1).cast_signed();
        let shared = Shared {
            ticks: Ticks { base_ms: clock.now().wall_ms },
            clock,
            pool: Pool::new(Arc::clone(&file), options.busy_timeout, pool::MOST),
            writer: Arc::new(Writer::new(connection, Arc::clone(&file), number)),
            file,
            log,
            backoff,
            changes: Changes::default(),
            pins: Pins::default(),
            watchers: Watchers::default(),
            worker: Worker::default(),
            number,
            busy_timeout: options.busy_timeout,
        };
        Ok(Self {
            shared: Arc::new(OpenStore(Arc::new(shared))),
            tasks: Tables::default(),
            sessions: Tables::default(),
            a2a_tasks: Tables::default(),
        })
    }

    fn table<R: SqlRow>(&self, tables: &Tables<R>, name: &str) -> Result<Arc<SqlTable<R>>> {
        let known = |tables: &HashMap<Box<str>, Arc<SqlTable<R>>>| tables.get(name).map(Arc::clone);
        let lock = || tables.lock();
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

    fn sessions(&self, name: &str) -> Result<Arc<dyn SessionTable>> {
        Ok(self.table(&self.sessions, name)?)
    }

    fn a2a_tasks(&self, name: &str) -> Result<Arc<dyn A2aTable>> {
        Ok(self.table(&self.a2a_tasks, name)?)
    }

    fn names(&self) -> Result<TableNames> {
        self.shared.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT name FROM names WHERE kind = ?1")?;
            let mut of_kind = |kind: &str| -> rusqlite::Result<Vec<Arc<str>>> {
                statement.query_map([kind], |row| row.get(0))?.collect()
            };
            Ok(TableNames {
                tasks: of_kind(TaskRow::KIND)?,
                sessions: of_kind(SessionRow::KIND)?,
                a2a_tasks: of_kind(A2aRow::KIND)?,
            })
        })
    }

    fn now(&self) -> Result<Now> {
        Ok(self.shared.now())
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
