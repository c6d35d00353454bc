//! Pins on SQLite are leases in the file. They end with their handle whatever happens to the storage meanwhile, and a
//! handle that is closed waits for nobody.

mod stores;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use stores::{Folder, QUICK};
use taskhold::clock::{Clock, ManualClock};
use taskhold::session::SessionStore;
use taskhold::store::Store;
use taskhold::task::TaskManager;

const MOMENT: i64 = 1_764_498_600_000;
const OPTIONS: &str = r#"{"idleTimeoutMs": 1000, "initializationTimeoutMs": 0}"#;

struct World {
    folder: Folder,
    clock: Arc<ManualClock>,
    store: Store,
}

impl World {
    fn new() -> Self {
        let folder = Folder::new();
        let clock = Arc::new(ManualClock::new(MOMENT).unwrap());
        let store =
            Store::open(Some(&folder.url("agents.db")), Some(QUICK), Clock::Manual(Arc::clone(&clock)));
        Self { folder, clock, store: store.unwrap() }
    }

    fn sessions(&self) -> SessionStore {
        SessionStore::open(&self.store, Some(OPTIONS)).unwrap()
    }

    fn outsider(&self) -> Connection {
        Connection::open(self.folder.path.join("agents.db")).unwrap()
    }

    /// Waits until the file has so many rows of pins.
    fn wait_for_rows(&self, expected: i64) {
        let outsider = self.outsider();
        let begun = Instant::now();
        let rows = || {
            let sql = "SELECT count(*) FROM session_pins";
            outsider.query_row(sql, (), |row| row.get::<_, i64>(0)).unwrap()
        };
        while rows() != expected {
            assert!(begun.elapsed() < Duration::from_secs(20), "{} rows, not {expected}", rows());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn create(sessions: &SessionStore, id: &str) {
    sessions.create("/mcp", Some(&format!(r#"{{"sessionId": "{id}"}}"#))).unwrap().unwrap();
}

fn is_there(sessions: &SessionStore, id: &str) -> bool {
    sessions.find_by_session_id(id).unwrap().is_some()
}

#[test]
fn a_close_waits_for_nobody_and_its_pins_end_while_others_live() {
    let world = World::new();
    let (stays, ends) = (world.sessions(), world.sessions());
    let ids: Vec<String> = (0..300).map(|n| format!("ends-{n}")).collect();
    for id in &ids {
        create(&stays, id);
        assert!(ends.pin(id).unwrap());
    }
    create(&stays, "stays");
    assert!(stays.pin("stays").unwrap());
    let outsider = world.outsider();
    outsider.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    ends.close();
    drop(ends);
    assert!(begun.elapsed() < Duration::from_secs(1), "the close waited for the outsider");
    // Nothing could be written yet, but here nothing is pinned any more.
    world.clock.advance(1000).unwrap();
    assert!(is_there(&stays, &ids[0]), "idle time starts with the close");
    world.clock.advance(1).unwrap();
    assert!(ids.iter().all(|id| !is_there(&stays, id)));
    outsider.execute_batch("COMMIT").unwrap();
    world.wait_for_rows(1);
    assert!(is_there(&stays, "stays"));
}

#[test]
fn the_last_close_waits_for_nobody_either() {
    let world = World::new();
    let sessions = world.sessions();
    create(&sessions, "s");
    assert!(sessions.pin("s").unwrap());
    let World { folder, store, .. } = world;
    let outsider = Connection::open(folder.path.join("agents.db")).unwrap();
    outsider.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    drop((sessions, store));
    assert!(begun.elapsed() < Duration::from_secs(1), "the close waited for the outsider");
    outsider.execute_batch("COMMIT").unwrap();
}

#[test]
fn unpins_after_the_leases_lapsed_let_go() {
    let world = World::new();
    let sessions = world.sessions();
    create(&sessions, "s");
    for _ in 0..10 {
        assert!(sessions.pin("s").unwrap());
    }
    // As if the process had been suspended for longer than a lease.
    world
        .outsider()
        .execute_batch(
            "UPDATE session_pins SET lease_until = CAST(1000 * unixepoch('subsec') AS INTEGER) - 100",
        )
        .unwrap();
    for _ in 0..10 {
        sessions.unpin("s").unwrap();
    }
    world.wait_for_rows(0);
    world.clock.advance(1001).unwrap();
    assert!(!is_there(&sessions, "s"));
}

#[test]
fn a_limit_is_exact_though_many_leases_lapsed() {
    const LONG: &str = r#"{"idleTimeoutMs": 600000, "initializationTimeoutMs": 0}"#;
    let world = World::new();
    let holder = SessionStore::open(&world.store, Some(LONG)).unwrap();
    let limit = r#"{"idleTimeoutMs": 600000, "initializationTimeoutMs": 0, "concurrentSessionLimit": 200}"#;
    let limited = SessionStore::open(&world.store, Some(limit)).unwrap();
    for n in 0..200 {
        create(&limited, &format!("{n}"));
        assert!(holder.pin(&format!("{n}")).unwrap());
    }
    world.clock.advance(3_600_000).unwrap();
    assert!(limited.create("/mcp", None).unwrap().is_none());
    // Another process had them and was killed. Its leases ended just now for all but the last session.
    world
        .outsider()
        .execute_batch(
            "UPDATE session_pins SET holder = 1, lease_until = CAST(1000 * unixepoch('subsec') AS INTEGER); \
             UPDATE session_pins SET lease_until = 1000 * (unixepoch() - 3600) \
             WHERE session = (SELECT max(sequence) FROM sessions)",
        )
        .unwrap();
    assert!(limited.create("/mcp", None).unwrap().is_some(), "one of them is idle for an hour");
    assert!(limited.create("/mcp", None).unwrap().is_none());
}

#[test]
fn a_find_that_meets_an_expired_row_waits_for_no_writer() {
    let world = World::new();
    let tasks = TaskManager::open(&world.store, Some(r#"{"taskTimeToLiveMs": 1000}"#)).unwrap();
    let record: serde_json::Value =
        serde_json::from_str(tasks.create_task(r#"{"endpoint": "/mcp", "origin": 1}"#).unwrap().as_str())
            .unwrap();
    let id = record["task"]["taskId"].as_str().unwrap();
    world.clock.advance(1000).unwrap();
    let outsider = world.outsider();
    outsider.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        // Waits for the outsider, in front of all other writers of this process.
        let writing = scope.spawn(|| tasks.create_task(r#"{"endpoint": "/mcp", "origin": 1}"#).map(drop));
        let retries = || {
            let stats: serde_json::Value =
                serde_json::from_str(world.store.stats().unwrap().as_str()).unwrap();
            stats["busyRetries"].as_u64().unwrap()
        };
        while retries() == 0 {
            std::thread::yield_now();
        }
        let begun = Instant::now();
        assert!(tasks.find_task(id).unwrap().is_none());
        let took = begun.elapsed();
        outsider.execute_batch("COMMIT").unwrap();
        writing.join().unwrap().unwrap();
        assert!(took < Duration::from_secs(1), "the find waited for a writer");
    });
}
