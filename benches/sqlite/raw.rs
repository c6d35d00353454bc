//! RAW SQLITE: the library's own table in another file, with the same indexes and settings, and copies of its files.

use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::{Connection, params};

/// The anchor's file: the table that the library has made in another, copied.
pub struct Raw {
    pub connection: Connection,
    next: u64,
}

const RAW_INSERT: &str = "INSERT INTO tasks (sequence, name, id, status, revision, created_at, updated_at, \
     ttl_ms, expires_at, poll_interval_ms, cancelation_requested, endpoint, status_message, origin) \
     VALUES (?1, 1, ?2, 'working', 1, ?3, ?3, 3600000, ?3 + 3600000, 1000, 0, '/mcp', ?4, '{}') \
     ON CONFLICT (name, id) DO UPDATE SET revision = revision + 1, status_message = excluded.status_message";
const RAW_UPDATE: &str = "UPDATE tasks SET status = 'working', revision = revision + 1, \
     updated_at = ?2, status_message = ?3 WHERE name = 1 AND id = ?1";

const RAW_ENQUEUE: &str = "INSERT INTO work (task, name, queue, is_fenced, maximum_attempts, backoff_ms, \
     maximum_backoff_ms, attempt, continues_attempt, token, available_at, due_at) \
     VALUES (?1, 1, 'reports', 1, 1, 1000, 60000, 0, 0, 0, ?2, ?2)";
const RAW_CLAIM: &str = "UPDATE work SET attempt = attempt + 1, token = token + 1, worker = 'bench', \
     lease_ends_at = ?2, due_at = NULL, ends_at = ?2 WHERE task = (SELECT task FROM work WHERE name = 1 \
     AND queue = 'reports' AND due_at <= ?1 ORDER BY due_at, task LIMIT 1) RETURNING task";

impl Raw {
    /// The anchor over a file that is there.
    pub fn open(file: &Path) -> Self {
        let connection = Connection::open(file).unwrap();
        connection.execute_batch("PRAGMA cache_size = -8192").unwrap();
        Self { connection, next: 0 }
    }

    pub fn new(schema_of: &Path, file: &Path, durability: &str) -> Self {
        let schema: Vec<String> = {
            // Never the file itself: the library would find that its locks are gone.
            let copy = file.with_extension("schema");
            copy_database(schema_of, &copy);
            let connection = Connection::open(&copy).unwrap();
            let mut statement = connection
                .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
                .unwrap();
            statement.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let connection = Connection::open(file).unwrap();
        connection.query_row("PRAGMA journal_mode = WAL", (), |_| Ok(())).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA synchronous = {durability}; PRAGMA wal_autocheckpoint = 4000; PRAGMA foreign_keys = OFF; \
                 PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192"
            ))
            .unwrap();
        for sql in schema {
            connection.execute_batch(&sql).unwrap();
        }
        connection.set_prepared_statement_cache_capacity(32);
        Self { connection, next: 0 }
    }

    fn id(&mut self) -> String {
        self.next += 1;
        let mixed = self.next.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{mixed:016x}-4000-8000-{:012x}", self.next)
    }

    pub fn insert(&mut self, message: Option<&str>) -> String {
        let id = self.id();
        let mut statement = self.connection.prepare_cached(RAW_INSERT).unwrap();
        statement.execute(params![self.next.cast_signed(), id, 1_764_498_600_000_i64, message]).unwrap();
        id
    }

    pub fn update(&self, id: &str, message: &str) {
        let mut statement = self.connection.prepare_cached(RAW_UPDATE).unwrap();
        assert_eq!(statement.execute(params![id, 1_764_498_600_001_i64, message]).unwrap(), 1);
    }

    /// Tasks with a queue, due one after another.
    pub fn enqueue(&mut self, count: usize) {
        self.connection.execute_batch("BEGIN").unwrap();
        for _ in 0..count {
            self.insert(None);
            let sequence = self.next.cast_signed();
            let mut statement = self.connection.prepare_cached(RAW_ENQUEUE).unwrap();
            statement.execute((sequence, 1_764_498_600_000 + sequence)).unwrap();
        }
        self.connection.execute_batch("COMMIT").unwrap();
    }

    /// Takes the first task that is due.
    pub fn claim(&self) {
        let mut statement = self.connection.prepare_cached(RAW_CLAIM).unwrap();
        let taken = statement.query_row((i64::MAX, 1_764_502_200_000_i64), |row| row.get::<_, i64>(0));
        assert!(taken.is_ok());
    }

    /// Reads the columns that a record shows and copies the row's text into a C string.
    pub fn find(&self, id: &str) {
        let sql = "SELECT id, status, revision, created_at, updated_at, ttl_ms, poll_interval_ms, \
             cancelation_requested, endpoint, authorization_partition, status_message, origin, outcome \
             FROM tasks WHERE name = 1 AND id = ?1";
        let mut statement = self.connection.prepare_cached(sql).unwrap();
        let mut rows = statement.query((id,)).unwrap();
        let row = rows.next().unwrap().unwrap();
        let outcome = row.get_ref(12).unwrap().as_str().unwrap();
        // SAFETY: the block is as large as what is copied into it.
        unsafe {
            let block = libc::malloc(outcome.len() + 1).cast::<u8>();
            block.copy_from_nonoverlapping(outcome.as_ptr(), outcome.len());
            *block.add(outcome.len()) = 0;
            std::hint::black_box(block);
            libc::free(block.cast());
        }
    }
}

fn log_of(file: &Path) -> PathBuf {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// A store may copy its log into the file for a moment after it is closed. Then the log goes.
pub fn wait_until_closed(file: &Path) {
    while log_of(file).exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// A copy of a file, which may be in use, without opening it in this process: closing a descriptor here would
/// drop the locks of a store that is open.
pub fn copy_database(file: &Path, copy: &Path) {
    for (from, to) in [(file.to_owned(), copy.to_owned()), (log_of(file), log_of(copy))] {
        if from.exists() {
            assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
        }
    }
}
