//! Stores for tests, each alone with its file or schema. `TASKHOLD_TEST_STORE` lets the tests of a domain run over
//! another store than the one in memory: `sqlite`, or `postgres`.

#![allow(dead_code)] // Each test file uses its part.

pub mod postgres;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use taskhold::clock::Clock;
use taskhold::store::Store;

/// A folder that is removed with its owner.
pub struct Folder {
    pub path: PathBuf,
}

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("taskhold-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    /// Waits until the store in `file`, whose handles are closed and which nobody else has open, has copied its log and
    /// closed the file, which a thread of its own does.
    pub fn wait_until_closed(&self, file: &str) {
        self.wait_until_closed_here(file);
        let log = self.path.join(format!("{file}-wal"));
        wait_while(|| log.exists());
    }

    /// Waits until this process has closed the file.
    pub fn wait_until_closed_here(&self, file: &str) {
        let path = self.path.join(file);
        wait_while(|| {
            let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
            open.flat_map(|entry| std::fs::read_link(entry.path())).any(|target| target == path)
        });
    }

    /// The URL of a store in this folder.
    pub fn url(&self, file: &str) -> String {
        format!("sqlite:{}", self.path.join(file).display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn wait_while(is_open: impl Fn() -> bool) {
    let begun = Instant::now();
    while is_open() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the file stays open");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Commits that survive the process are enough for a test, and quick.
pub const QUICK: &str = r#"{"durability": "normal"}"#;

/// The kinds of stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Memory,
    Sqlite,
    Postgres,
}

impl Kind {
    /// What the environment asks for.
    pub fn wanted() -> Self {
        match std::env::var("TASKHOLD_TEST_STORE").as_deref() {
            Err(_) | Ok("memory") => Self::Memory,
            Ok("sqlite") => Self::Sqlite,
            Ok("postgres") => Self::Postgres,
            Ok(other) => panic!("TASKHOLD_TEST_STORE is memory, sqlite or postgres, not {other}"),
        }
    }

    /// As the statistics call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// Whether stores measure ages by the wall clock, as those that survive a restart must.
pub fn ages_by_wall_clock() -> bool {
    Kind::wanted() != Kind::Memory
}

/// Where a store is. What it has on disk or in a database goes with this.
pub enum Place {
    Memory,
    File(Folder),
    Schema(postgres::Schema),
}

impl Place {
    /// A place for an empty store of this kind.
    pub fn new(kind: Kind) -> Self {
        match kind {
            Kind::Memory => Self::Memory,
            Kind::Sqlite => Self::File(Folder::new()),
            Kind::Postgres => Self::Schema(postgres::Schema::new()),
        }
    }

    /// One of the kind that the environment asks for.
    pub fn wanted() -> Self {
        Self::new(Kind::wanted())
    }

    /// The URL and the options to open a store with.
    pub fn address(&self) -> (String, String) {
        match self {
            Self::Memory => ("memory:".to_owned(), "{}".to_owned()),
            Self::File(folder) => (folder.url("agents.db"), QUICK.to_owned()),
            Self::Schema(schema) => (postgres::url(), schema.options()),
        }
    }

    /// Opens the store that is here.
    pub fn open(&self, clock: Clock) -> Store {
        let (url, options) = self.address();
        Store::open(Some(&url), Some(&options), clock).unwrap()
    }
}

/// An empty store of the kind that the environment asks for, and its place.
pub fn open(clock: Clock) -> (Store, Place) {
    let place = Place::wanted();
    (place.open(clock), place)
}

/// An empty store in a file.
pub fn sqlite(clock: Clock) -> (Store, Folder) {
    let folder = Folder::new();
    (Store::open(Some(&folder.url("agents.db")), Some(QUICK), clock).unwrap(), folder)
}
