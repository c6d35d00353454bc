//! Sessions that one process removes by expiry are told to the processes that created or pinned them. Here two open
//! stores over one file stand for two processes: each has its own connections, and only the file between them.

mod stores;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use stores::{Folder, QUICK};
use taskhold::clock::{Clock, ManualClock};
use taskhold::session::SessionStore;
use taskhold::store::Store;

const MOMENT: i64 = 1_764_498_600_000;
const TABLES: [&str; 3] = ["session_watchers", "session_watches", "expired_sessions"];

struct World {
    folder: Folder,
    clock: Arc<ManualClock>,
}

impl World {
    fn new() -> Self {
        Self { folder: Folder::new(), clock: Arc::new(ManualClock::new(MOMENT).unwrap()) }
    }

    fn store(&self) -> Store {
        let clock = Clock::Manual(Arc::clone(&self.clock));
        Store::open(Some(&self.folder.url("agents.db")), Some(QUICK), clock).unwrap()
    }

    fn outsider(&self) -> Connection {
        Connection::open(self.folder.path.join("agents.db")).unwrap()
    }

    fn rows(&self, table: &str) -> i64 {
        self.outsider().query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0)).unwrap()
    }

    /// Looks for sessions that have expired until they are removed: a look removes only while nobody else writes, and
    /// the threads of the stores do now and then.
    fn look_until_removed(&self, sessions: &SessionStore, ids: &[&str]) {
        let begun = Instant::now();
        while self.rows("sessions") > 0 {
            for id in ids {
                assert!(sessions.find_by_session_id(id).unwrap().is_none());
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "looks remove nothing");
        }
    }

    /// Waits until these tables have so many rows, which the thread of a store sees to.
    fn wait_for_rows(&self, expected: [i64; 3]) {
        let begun = Instant::now();
        while TABLES.map(|table| self.rows(table)) != expected {
            let rows = TABLES.map(|table| self.rows(table));
            assert!(begun.elapsed() < Duration::from_secs(20), "{rows:?}, not {expected:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A session store that keeps so many expired sessions.
fn sessions(store: &Store, keep_expired: u32) -> SessionStore {
    let options =
        format!(r#"{{"idleTimeoutMs": 1000, "initializationTimeoutMs": 0, "keepExpired": {keep_expired}}}"#);
    SessionStore::open(store, Some(&options)).unwrap()
}

fn create(sessions: &SessionStore, id: &str) {
    sessions.create("/mcp", Some(&format!(r#"{{"sessionId": "{id}"}}"#))).unwrap().unwrap();
}

/// Removes expired sessions, as any process does at its next call.
fn remove(sessions: &SessionStore) -> Vec<String> {
    take(sessions)
}

/// The ids of the expired sessions that are told here.
fn take(sessions: &SessionStore) -> Vec<String> {
    let told: serde_json::Value = serde_json::from_str(sessions.take_expired().unwrap().as_str()).unwrap();
    let told = told.as_array().unwrap();
    told.iter()
        .map(|session| {
            assert_eq!((&session["reason"], &session["endpoint"]), (&"idle".into(), &"/mcp".into()));
            session["sessionId"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn whoever_created_or_pinned_a_session_is_told_once_whoever_removed_it() {
    let world = World::new();
    let (store_a, store_b) = (world.store(), world.store());
    let (creator, pinner, bystander) = (sessions(&store_a, 8), sessions(&store_a, 8), sessions(&store_a, 8));
    let remover = sessions(&store_b, 8);
    create(&creator, "created");
    create(&remover, "pinned");
    assert!(pinner.pin("pinned").unwrap());
    pinner.unpin("pinned").unwrap();
    create(&remover, "neither");
    world.clock.advance(1001).unwrap();
    assert_eq!(remove(&remover), ["created", "pinned", "neither"]);
    assert_eq!(take(&creator), ["created"]);
    assert_eq!(take(&pinner), ["pinned"]);
    assert!(take(&bystander).is_empty());
    for told in [&creator, &pinner, &bystander, &remover] {
        assert!(take(told).is_empty(), "each is told once");
    }
    assert_eq!((world.rows("session_watches"), world.rows("expired_sessions")), (0, 0));
}

#[test]
fn what_a_creation_or_a_look_elsewhere_removes_is_told_too() {
    let world = World::new();
    let (store_a, store_b) = (world.store(), world.store());
    // The remover need not keep any.
    let (creator, remover) = (sessions(&store_a, 8), sessions(&store_b, 0));
    create(&creator, "same");
    world.clock.advance(1001).unwrap();
    create(&remover, "same");
    assert_eq!(take(&creator), ["same"]);
    create(&creator, "found");
    world.clock.advance(1001).unwrap();
    world.look_until_removed(&remover, &["found", "same"]);
    assert_eq!(take(&creator), ["found"], "and the later session with the same id is the remover's own");
}

#[test]
fn a_session_that_is_deleted_is_told_to_nobody() {
    let world = World::new();
    let (store_a, store_b) = (world.store(), world.store());
    let (creator, other) = (sessions(&store_a, 8), sessions(&store_b, 8));
    create(&creator, "deleted");
    other.delete_by_session_id("deleted").unwrap();
    world.clock.advance(1001).unwrap();
    assert!(take(&creator).is_empty());
    assert_eq!(world.rows("session_watches"), 0);
}

#[test]
fn the_last_ones_are_kept_and_no_more() {
    let world = World::new();
    let (store_a, store_b) = (world.store(), world.store());
    let (creator, remover) = (sessions(&store_a, 3), sessions(&store_b, 100));
    for n in 0..10 {
        create(&creator, &format!("{n}"));
        world.clock.advance(1).unwrap();
    }
    world.clock.advance(1001).unwrap();
    assert_eq!(remove(&remover).len(), 10);
    assert_eq!(world.rows("expired_sessions"), 3);
    assert_eq!(take(&creator), ["7", "8", "9"]);
    // What this process removes and what another removes count together.
    create(&creator, "here");
    world.clock.advance(1001).unwrap();
    assert!(creator.find_by_session_id("here").unwrap().is_none());
    for n in 0..3 {
        create(&creator, &format!("there-{n}"));
    }
    world.clock.advance(1001).unwrap();
    remove(&remover);
    assert_eq!(take(&creator), ["there-0", "there-1", "there-2"]);
}

#[test]
fn who_keeps_none_costs_nothing() {
    let world = World::new();
    let store = world.store();
    let creator = sessions(&store, 0);
    create(&creator, "s");
    assert!(creator.pin("s").unwrap());
    assert_eq!(TABLES.map(|table| world.rows(table)), [0, 0, 0]);
    assert!(take(&creator).is_empty());
}

#[test]
fn nothing_is_left_of_a_session_store_that_is_closed() {
    let world = World::new();
    let (store_a, store_b) = (world.store(), world.store());
    let (stays, ends, remover) = (sessions(&store_a, 8), sessions(&store_a, 8), sessions(&store_b, 8));
    create(&stays, "stays");
    world.clock.advance(1001).unwrap();
    assert_eq!(remove(&remover), ["stays"]);
    for n in 0..600 {
        create(&ends, &format!("{n}"));
    }
    world.wait_for_rows([2, 600, 1]);
    world.clock.advance(1001).unwrap();
    remove(&remover);
    world.wait_for_rows([2, 592, 9]);
    ends.close();
    world.wait_for_rows([1, 0, 1]);
    drop((stays, ends, store_a));
    world.wait_for_rows([0, 0, 0]);
}

#[test]
fn nothing_stays_of_a_process_that_was_killed() {
    let world = World::new();
    let (store_a, store_b) = (world.store(), world.store());
    let (killed, other) = (sessions(&store_a, 8), sessions(&store_b, 8));
    for n in 0..600 {
        create(&killed, &format!("{n}"));
    }
    world.wait_for_rows([1, 600, 0]);
    // It has not renewed its lease for long.
    let outsider = world.outsider();
    outsider
        .execute_batch(
            "UPDATE session_watchers SET lease_until = CAST(1000 * unixepoch('subsec') AS INTEGER) - 100",
        )
        .unwrap();
    // The first session of the other makes it one that is told, and it looks after those who are not any more.
    create(&other, "other");
    world.wait_for_rows([1, 1, 0]);
    // Had the other stood still only, then it is told of what it creates from now on.
    create(&killed, "again");
    let watcher =
        "SELECT count(*) FROM session_watches WHERE session = (SELECT sequence FROM sessions WHERE id = ?1)";
    assert_eq!(outsider.query_row(watcher, ("again",), |row| row.get::<_, i64>(0)).unwrap(), 1);
}

#[test]
fn what_cannot_be_written_is_told_later() {
    let world = World::new();
    let (store_a, store_b) = (world.store(), world.store());
    let (creator, remover) = (sessions(&store_a, 8), sessions(&store_b, 8));
    create(&creator, "s");
    world.clock.advance(1001).unwrap();
    remove(&remover);
    let outsider = world.outsider();
    outsider.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(creator.take_expired().is_err());
    outsider.execute_batch("COMMIT").unwrap();
    assert_eq!(take(&creator), ["s"]);
}
