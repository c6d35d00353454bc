//! Pins over SQLite, through their whole stack and over a file: a close lets go of all that its handle pinned, and of
//! nothing else, whether a renewal, a pin, an unpin or a sweep by others is under way.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use shuttle::thread;

use crate::Model;
use crate::clock::{Clock, ManualClock};
use crate::session::SessionStore;
use crate::store::Store;

pub const ALL: &[Model] = &[
    ("pins: a close lets go while leases are renewed", a_close_lets_go_while_leases_are_renewed),
    ("pins: a pin that races with the close of its handle is let go", a_pin_that_races_with_a_close),
];

const MOMENT: i64 = 1_764_498_600_000;
const LONG_MS: i64 = 1_000_000;
const QUICK: &str = r#"{"durability": "normal"}"#;
const OPTIONS: &str = r#"{"idleTimeoutMs": 1000, "initializationTimeoutMs": 0}"#;

/// A store over a file of its own, which goes with it.
struct World {
    clock: Arc<ManualClock>,
    store: Store,
    file: PathBuf,
}

impl World {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // In memory, where there is a folder for that.
        let memory = PathBuf::from("/dev/shm");
        let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let file = folder.join(format!("taskhold-model-{}-{number}.db", std::process::id()));
        let clock = Arc::new(ManualClock::new(MOMENT).unwrap());
        let url = format!("sqlite:{}", file.display());
        let store = Store::open(Some(&url), Some(QUICK), Clock::Manual(Arc::clone(&clock))).unwrap();
        Self { clock, store, file }
    }

    fn sessions(&self) -> Arc<SessionStore> {
        Arc::new(SessionStore::open(&self.store, Some(OPTIONS)).unwrap())
    }

    /// Closes the store, whose other handles are closed. The worker then has left no pin behind.
    fn close(self) {
        let Self { store, file, .. } = self;
        drop(store);
        let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", file.display()));
        // The last connection removes the log when it closes.
        while beside("-wal").exists() {
            thread::yield_now();
        }
        let connection = rusqlite::Connection::open(&file).unwrap();
        let pins: i64 =
            connection.query_row("SELECT count(*) FROM session_pins", (), |row| row.get(0)).unwrap();
        drop(connection);
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(beside(suffix));
        }
        assert_eq!(pins, 0, "a pin outlives its handle");
    }
}

fn create(sessions: &SessionStore, id: &str) {
    sessions.create("/mcp", Some(&format!(r#"{{"sessionId":"{id}"}}"#))).unwrap().unwrap();
}

fn is_there(sessions: &SessionStore, id: &str) -> bool {
    sessions.find_by_session_id(id).unwrap().is_some()
}

fn a_close_lets_go_while_leases_are_renewed() {
    let world = World::new();
    let (closing, staying) = (world.sessions(), world.sessions());
    for id in ["both", "one"] {
        create(&staying, id);
        assert!(closing.pin(id).unwrap());
    }
    let pinning = Arc::clone(&staying);
    let pins = thread::spawn(move || assert!(pinning.pin("both").unwrap()));
    let closes = thread::spawn(move || closing.close());
    pins.join().unwrap();
    closes.join().unwrap();
    world.clock.advance(LONG_MS).unwrap();
    assert!(is_there(&staying, "both"), "the other's pin holds");
    assert!(!is_there(&staying, "one"), "idle since the close");
    staying.unpin("both").unwrap();
    world.clock.advance(LONG_MS).unwrap();
    assert!(!is_there(&staying, "both"));
    drop(staying);
    world.close();
}

fn a_pin_that_races_with_a_close() {
    let world = World::new();
    let (closing, other) = (world.sessions(), world.sessions());
    create(&other, "s");
    let pinning = Arc::clone(&closing);
    let pins = thread::spawn(move || pinning.pin("s").unwrap());
    let sweeping = Arc::clone(&other);
    let sweeps = thread::spawn(move || create(&sweeping, "x"));
    closing.close();
    pins.join().unwrap();
    sweeps.join().unwrap();
    world.clock.advance(LONG_MS).unwrap();
    assert!(!is_there(&other, "s"), "idle since the close");
    drop((closing, other));
    world.close();
}
