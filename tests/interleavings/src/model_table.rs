//! The memory table: rows that expire, are swept, renewed, deleted and stored again at once. After each run
//! everything is made to expire and the gauges must come back to nothing, so that an entry that was left in an
//! index, or a slot that was counted twice, shows.

use std::sync::Arc;

use shuttle::thread;

use crate::Model;
use crate::a2a::StateProvider;
use crate::clock::{Clock, ManualClock};
use crate::error::Reason;
use crate::session::SessionStore;
use crate::store::Store;
use crate::task::TaskManager;

pub const ALL: &[Model] = &[
    ("table: one of two insertions gets the slot of an expired row", one_gets_the_expired_slot),
    ("table: a creation gets the room that a look-up just made", room_made_by_a_look_up),
    ("table: a session that is renewed in time survives a sweep", a_renewed_row_survives),
    ("table: an id that expires is stored again", an_expired_id_is_stored_again),
    ("table: delete, save and sweep of one id leave nothing behind", delete_save_and_sweep),
    ("table: a pin keeps a session or comes too late", a_pin_keeps_or_comes_too_late),
    ("table: a listing meets what stays while others come and go", a_listing_meets_what_stays),
];

const MOMENT: i64 = 1_764_498_600_000;
const LONG_MS: i64 = 1_000_000;

struct World {
    clock: Arc<ManualClock>,
    store: Store,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(MOMENT).unwrap());
        let store = Store::open(None, None, Clock::Manual(Arc::clone(&clock))).unwrap();
        Self { clock, store }
    }

    fn stats(&self) -> serde_json::Value {
        serde_json::from_str(self.store.stats().unwrap().as_str()).unwrap()
    }

    /// Checks that no row and no byte is held any more.
    fn assert_empty(&self) {
        let stats = self.stats();
        for gauge in ["bytes", "expiredPending", "sessions", "a2aTasks"] {
            assert_eq!(stats[gauge], 0, "{stats}");
        }
        assert!(stats["tasks"].as_object().unwrap().values().all(|count| count == 0), "{stats}");
    }
}

fn one_gets_the_expired_slot() {
    let world = World::new();
    let options = Some(r#"{"maximumRetainedTasks":1,"taskTimeToLiveMs":10}"#);
    let tasks = Arc::new(TaskManager::open(&world.store, options).unwrap());
    let creation = r#"{"endpoint":"","origin":1}"#;
    tasks.create_task(creation).unwrap();
    world.clock.advance(10).unwrap();
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let tasks = Arc::clone(&tasks);
            thread::spawn(move || tasks.create_task(creation).map(drop).map_err(|error| error.reason()))
        })
        .collect();
    let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    assert!(outcomes.contains(&Err(Reason::CapacityExhausted)));
    assert_eq!(world.stats()["tasks"]["working"], 1);
    world.clock.advance(LONG_MS).unwrap();
    tasks.create_task(creation).expect("the limit is exact again");
}

fn room_made_by_a_look_up() {
    let world = World::new();
    let options = Some(r#"{"maximumRetainedTasks":1,"taskTimeToLiveMs":10}"#);
    let tasks = Arc::new(TaskManager::open(&world.store, options).unwrap());
    let creation = r#"{"endpoint":"","origin":1}"#;
    let record = tasks.create_task(creation).unwrap();
    let record: serde_json::Value = serde_json::from_str(record.as_str()).unwrap();
    let id = record["task"]["taskId"].as_str().unwrap().to_owned();
    world.clock.advance(10).unwrap();
    let reading = Arc::clone(&tasks);
    let reads = thread::spawn(move || assert!(reading.find_task(&id).unwrap().is_none()));
    tasks.create_task(creation).expect("the only row had expired");
    reads.join().unwrap();
}

fn create(sessions: &SessionStore, id: &str) -> Option<String> {
    let creation = format!(r#"{{"sessionId":"{id}"}}"#);
    sessions.create("/mcp", Some(&creation)).unwrap().map(|snapshot| snapshot.as_str().to_owned())
}

/// The snapshot with a greater version and the given time as last activity.
fn renewed(snapshot: &str, time: &str) -> String {
    let mut session: serde_json::Value = serde_json::from_str(snapshot).unwrap();
    session["version"] = (session["version"].as_u64().unwrap() + 1).into();
    session["lastActivityAt"] = time.into();
    session.to_string()
}

const SESSIONS: &str = r#"{"idleTimeoutMs":10,"initializationTimeoutMs":0,"keepExpired":8}"#;
/// Ten milliseconds after [`MOMENT`].
const TEN_LATER: &str = "2025-11-30T10:30:00.010Z";

fn a_renewed_row_survives() {
    let world = World::new();
    let sessions = Arc::new(SessionStore::open(&world.store, Some(SESSIONS)).unwrap());
    let first = create(&sessions, "s").unwrap();
    let other = create(&sessions, "other").unwrap();
    // Now both are as old as they may become.
    world.clock.advance(10).unwrap();
    let renewing = Arc::clone(&sessions);
    let renews = thread::spawn(move || renewing.replace(&first, &renewed(&first, TEN_LATER)).unwrap());
    let clock = Arc::clone(&world.clock);
    let ages = thread::spawn(move || clock.advance(1).unwrap());
    let sweeping = Arc::clone(&sessions);
    let sweeps = thread::spawn(move || {
        assert!(create(&sweeping, "third").is_some());
        sweeping.find_by_session_id("s").unwrap().is_some()
    });
    let (is_renewed, _) = (renews.join().unwrap(), ages.join().unwrap());
    let was_found = sweeps.join().unwrap();
    let is_there = sessions.find_by_session_id("s").unwrap().is_some();
    assert_eq!(is_there, is_renewed);
    assert!(was_found || !is_renewed || is_there, "it does not vanish and come back");
    assert!(sessions.find_by_session_id("other").unwrap().is_none(), "{other}");
    let expired = sessions.take_expired().unwrap().as_str().to_owned();
    assert_eq!(expired.contains(r#""sessionId":"s""#), !is_renewed, "{expired}");
    world.clock.advance(LONG_MS).unwrap();
    for id in ["s", "third", "other"] {
        assert!(sessions.find_by_session_id(id).unwrap().is_none());
    }
    world.assert_empty();
}

fn an_expired_id_is_stored_again() {
    let world = World::new();
    let sessions = Arc::new(SessionStore::open(&world.store, Some(SESSIONS)).unwrap());
    create(&sessions, "s").unwrap();
    world.clock.advance(11).unwrap();
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let sessions = Arc::clone(&sessions);
            thread::spawn(move || {
                let creation = Some(r#"{"sessionId":"s"}"#);
                sessions.create("/mcp", creation).map(drop).map_err(|error| error.reason())
            })
        })
        .collect();
    let reading = Arc::clone(&sessions);
    let reads = thread::spawn(move || drop(reading.find_by_session_id("s").unwrap()));
    let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    reads.join().unwrap();
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    assert!(outcomes.contains(&Err(Reason::SessionIdInUse)));
    assert!(sessions.find_by_session_id("s").unwrap().is_some());
    assert_eq!(sessions.take_expired().unwrap().as_str().matches("idle").count(), 1, "told once");
    world.clock.advance(LONG_MS).unwrap();
    assert!(sessions.find_by_session_id("s").unwrap().is_none());
    world.assert_empty();
}

fn delete_save_and_sweep() {
    let world = World::new();
    let options = Some(r#"{"finalizedRetentionMs":10,"gracePeriodMs":0,"maximumRetainedTasks":1}"#);
    let tasks = Arc::new(StateProvider::open(&world.store, options).unwrap());
    let ended = r#"{"id":"t","status":{"state":"completed"}}"#;
    tasks.save_task(None, ended, None).unwrap();
    world.clock.advance(10).unwrap();
    let saving = Arc::clone(&tasks);
    let saves = thread::spawn(move || {
        let saved = saving.save_task(None, r#"{"id":"t","status":{"state":"working"}}"#, None).unwrap();
        saving.save_task(None, ended, None).unwrap();
        saved
    });
    let deleting = Arc::clone(&tasks);
    let deletes = thread::spawn(move || deleting.delete_task(None, "t").unwrap());
    let listing = Arc::clone(&tasks);
    let lists = thread::spawn(move || drop(listing.list_tasks(None, None).unwrap()));
    assert_eq!(saves.join().unwrap(), 1, "it had expired: this is a new one");
    deletes.join().unwrap();
    lists.join().unwrap();
    world.clock.advance(LONG_MS).unwrap();
    tasks.save_task(None, r#"{"id":"u","status":{"state":"working"}}"#, None).expect("the slot is free");
    tasks.delete_task(None, "u").unwrap();
    world.assert_empty();
}

fn a_pin_keeps_or_comes_too_late() {
    let world = World::new();
    let sessions = Arc::new(SessionStore::open(&world.store, Some(SESSIONS)).unwrap());
    create(&sessions, "s").unwrap();
    world.clock.advance(10).unwrap();
    let pinning = Arc::clone(&sessions);
    let pins = thread::spawn(move || pinning.pin("s").unwrap());
    let clock = Arc::clone(&world.clock);
    let ages = thread::spawn(move || clock.advance(1).unwrap());
    let sweeping = Arc::clone(&sessions);
    let sweeps = thread::spawn(move || assert!(create(&sweeping, "x").is_some()));
    let is_pinned = pins.join().unwrap();
    ages.join().unwrap();
    sweeps.join().unwrap();
    world.clock.advance(LONG_MS).unwrap();
    assert_eq!(sessions.find_by_session_id("s").unwrap().is_some(), is_pinned);
    let closing = Arc::clone(&sessions);
    let closes = thread::spawn(move || closing.close());
    sessions.unpin("s").unwrap();
    closes.join().unwrap();
    world.clock.advance(LONG_MS).unwrap();
    for id in ["s", "x"] {
        assert!(sessions.find_by_session_id(id).unwrap().is_none());
    }
    world.assert_empty();
}

fn a_listing_meets_what_stays() {
    let world = World::new();
    let tasks = Arc::new(StateProvider::open(&world.store, None).unwrap());
    let task = |id: &str, state: &str| format!(r#"{{"id":"{id}","status":{{"state":"{state}"}}}}"#);
    for id in ["a", "b"] {
        tasks.save_task(None, &task(id, "working"), None).unwrap();
    }
    let changing = Arc::clone(&tasks);
    let changes = thread::spawn(move || {
        changing.save_task(None, &task("b", "completed"), None).unwrap();
        changing.save_task(None, &task("c", "working"), None).unwrap();
        changing.delete_task(None, "c").unwrap();
    });
    let params = Some(r#"{"pageSize":1}"#);
    let first: serde_json::Value =
        serde_json::from_str(tasks.list_tasks(None, params).unwrap().as_str()).unwrap();
    assert_eq!(first["tasks"][0]["id"], "a");
    let token = first["nextPageToken"].as_str().unwrap();
    let params = format!(r#"{{"pageToken":"{token}"}}"#);
    let rest: serde_json::Value =
        serde_json::from_str(tasks.list_tasks(None, Some(&params)).unwrap().as_str()).unwrap();
    assert_eq!(rest["tasks"][0]["id"], "b");
    assert!(rest["tasks"].as_array().unwrap().len() <= 2);
    changes.join().unwrap();
}
