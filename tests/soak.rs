//! What comes goes: records of all three systems are created, expired, abandoned in the middle of a round,
//! deleted and retained, queues and waiters are opened and dropped, and afterwards the statistics and the
//! process's memory are where they were; over SQLite, the file's size too. `TASKHOLD_SOAK` sets how many records of
//! each kind come in a wave (5000 unless given).

#![cfg(target_os = "linux")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use support::calls::id_of;
use support::hosts::{Clock, Events, Manager, Provider, Sessions, Store, record};
use support::stores::{Kind, ages_by_wall_clock};

const LIFE_MS: i64 = 1000;

/// A wave that only pays for what is made once: all shards of a table get their first room.
const RIPPLE: usize = 2000;
const WAVES: usize = 2;

/// How many records a wave has.
static WAVE: AtomicUsize = AtomicUsize::new(RIPPLE);

fn wave() -> usize {
    WAVE.load(Ordering::Relaxed)
}

fn full_wave() -> usize {
    let given = std::env::var("TASKHOLD_SOAK").ok();
    let usual = match Kind::wanted() {
        Kind::Memory => 5000,
        Kind::Sqlite => 1500,
        Kind::Postgres => 500,
    };
    given.map_or(usual, |text| text.parse().expect("TASKHOLD_SOAK is a number"))
}

/// The resident memory of this process, in bytes, free pages given back first.
fn resident() -> usize {
    // SAFETY: it may be called at any time.
    unsafe { libc::malloc_trim(0) };
    let statm = std::fs::read_to_string("/proc/self/statm").expect("statm");
    let pages: usize = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number");
    pages * 4096
}

struct House {
    clock: Clock,
    store: Store,
    /// Pins very many sessions, and lets all of them go.
    streams: Sessions,
    /// Announces, and has the queue in which very many events wait.
    announcer: Manager,
    queue: Events,
}

impl House {
    fn new() -> Self {
        let clock = Clock::open();
        let store = Store::open(&clock);
        let streams = Sessions::open(&store, "{}");
        let announcer = Manager::open(&store, r#"{"name":"announcer"}"#);
        let queue = announcer.events(u32::MAX);
        Self { clock, store, streams, announcer, queue }
    }

    /// Checks that nothing is left.
    fn assert_empty(&self) {
        let stats = self.store.stats();
        let mut expected = json!({
            "backend": "memory", "sessions": 0, "a2aTasks": 0, "expiredPending": 0, "bytes": 0, "waiters": 0,
            "eventQueues": 1,
            "tasks": {"working": 0, "input_required": 0, "completed": 0, "failed": 0, "cancelled": 0},
            "queues": [], "claims": 0, "leasesLapsed": 0, "expiredUnfinished": 0,
        });
        if ages_by_wall_clock() {
            expected["backend"] = Kind::wanted().name().into();
            expected["bytes"] = stats["bytes"].clone();
            expected["sessionPins"] = 0.into();
            for (figure, value) in expected.as_object().expect("an object") {
                assert_eq!(stats[figure], *value, "{figure}");
            }
        } else {
            assert_eq!(stats, expected);
        }
    }

    /// Calls `look` until no expired record is left, which takes one call for a few of them at most. In memory
    /// any look-up removes some, so nobody is looked for; in a database only one that meets an expired record, so
    /// the `known` ones are.
    fn look_until_removed(&self, known: &[String], mut look: impl FnMut(&str)) {
        let calls = 100 + wave() / 50;
        for number in 0..200 {
            if self.store.stats()["expiredPending"] == 0 {
                return;
            }
            for at in number * calls..(number + 1) * calls {
                if ages_by_wall_clock() {
                    look(&known[at % known.len()]);
                } else {
                    look(&format!("nobody-{at}"));
                }
            }
        }
        panic!("expired records stay: {}", self.store.stats());
    }
}

/// What caches may keep beside 2 % of the peak. A connection of SQLite keeps 8 MB of the file's pages.
fn allowance() -> usize {
    if ages_by_wall_clock() { 32 << 20 } else { 1 << 20 }
}

/// Plays a small wave and then full ones, and checks that memory returns to where it was before these.
fn assert_returns(house: &House, what: &str, mut play: impl FnMut(usize) -> usize) {
    WAVE.store(RIPPLE.min(full_wave()), Ordering::Relaxed);
    play(0);
    let start = resident();
    WAVE.store(full_wave(), Ordering::Relaxed);
    let mut file_bytes = None;
    for number in 1..=WAVES {
        let peak = play(number);
        let (grown, left) = (peak.saturating_sub(start), resident().saturating_sub(start));
        println!("{what}: {grown} bytes more at the peak, {left} left");
        let allowed = allowance() + grown / 50;
        assert!(left <= allowed, "{what}: {left} bytes stay of {grown}");
        // The second wave takes the room in the file that the first one left.
        let now = house.store.stats()["fileBytes"].as_u64();
        let before = file_bytes.replace(now.unwrap_or_default());
        assert!(now <= before.map(|before| before + before / 5).or(now), "{what}: {now:?} after {before:?}");
    }
}

/// The ids that a wave gives to its sessions or A2A tasks.
fn ids_of_wave(number: usize) -> Vec<String> {
    (0..wave()).map(|at| format!("{number}-{at}")).collect()
}

fn tasks(house: &House, number: usize) -> usize {
    let options = format!(r#"{{"maximumRetainedTasks":{},"taskTimeToLiveMs":{LIFE_MS}}}"#, wave());
    let manager = Manager::open(&house.store, &options);
    let question = r#"{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}"#;
    let mut ids = Vec::with_capacity(wave());
    for at in 0..wave() {
        let creation =
            format!(r#"{{"endpoint":"/{at}","origin":{{}},"authorizationPartition":"{number}-{at}"}}"#);
        let id = id_of(&record(manager.create(&creation)));
        ids.push(id.clone());
        match at % 5 {
            0 => drop(record(manager.complete(&id, r#"{"content":[]}"#, None))),
            1 => drop(record(manager.ask(&id, question, Some("please")))),
            2 => {
                // Abandoned with one answer taken and one missing, or untaken.
                record(manager.ask(&id, question, None));
                let (endpoint, partition) = (format!("/{at}"), format!("{number}-{at}"));
                record(manager.update(&endpoint, Some(&partition), &id, r#"{"a":{"roots":[]}}"#));
                if at % 2 == 0 {
                    record(manager.take(&id));
                }
            }
            3 => drop(record(manager.fail(&id, r#"{"code":1,"message":"m"}"#))),
            _ => {}
        }
    }
    let peak = resident();
    manager.create(r#"{"endpoint":"","origin":1}"#).expect_err("full");
    house.clock.advance(LIFE_MS);
    house.look_until_removed(&ids, |id| {
        manager.find(id).expect("no refusal");
    });
    house.assert_empty();
    peak
}

fn churning_tasks(house: &House) -> usize {
    // New ones take the place of those that expire, with nobody who looks.
    let options = format!(r#"{{"maximumRetainedTasks":64,"taskTimeToLiveMs":{LIFE_MS}}}"#);
    let manager = Manager::open(&house.store, &options);
    let mut ids = Vec::with_capacity(wave());
    for _ in 0..wave() {
        house.clock.advance(LIFE_MS / 64 + 1);
        ids.push(id_of(&record(manager.create(r#"{"endpoint":"","origin":1}"#))));
    }
    let peak = resident();
    house.clock.advance(LIFE_MS);
    house.look_until_removed(&ids, |id| drop(manager.find(id)));
    house.assert_empty();
    peak
}

fn sessions(house: &House, number: usize) -> usize {
    let options = format!(
        r#"{{"concurrentSessionLimit":{},"idleTimeoutMs":{LIFE_MS},"initializationTimeoutMs":{LIFE_MS},"keepExpired":16}}"#,
        wave()
    );
    let store = Sessions::open(&house.store, &options);
    let streams = Sessions::open(&house.store, &options);
    for at in 0..wave() {
        let id = format!("{number}-{at}");
        let session = store.create_as(&id).expect("no refusal").expect("admitted");
        match at % 6 {
            0 => store.delete(&id).expect("deleted"),
            1 => {
                let mut ended: serde_json::Value = serde_json::from_str(&session).expect("JSON");
                ended["version"] = 1.into();
                ended["terminatedAt"] = ended["createdAt"].clone();
                assert_eq!(store.replace(&session, &ended.to_string()), Ok(1));
            }
            2 => assert_eq!(streams.pin(&id), Ok(1)),
            3 => {
                assert_eq!((store.pin(&id), streams.pin(&id)), (Ok(1), Ok(1)));
                store.unpin(&id).expect("unpinned");
            }
            4 => {
                assert_eq!(store.pin(&id), Ok(1));
                store.delete(&id).expect("deleted");
            }
            _ => assert_eq!(house.streams.pin(&id), Ok(1)),
        }
    }
    let peak = resident();
    for at in (5..wave()).step_by(6) {
        house.streams.unpin(&format!("{number}-{at}")).expect("unpinned");
    }
    // Half of the other pins end by the expiry of what was never initialized, the others with their handle.
    if number.is_multiple_of(2) {
        streams.close();
    }
    house.clock.advance(LIFE_MS + 1);
    house.look_until_removed(&ids_of_wave(number), |id| drop(store.find(id)));
    assert!(record(store.take_expired()).as_array().is_some_and(|told| told.len() <= 16));
    house.assert_empty();
    peak
}

fn a2a_tasks(house: &House, number: usize) -> usize {
    let provider = Provider::open(&house.store, &format!(r#"{{"finalizedRetentionMs":{LIFE_MS}}}"#));
    let save = |at: usize, state: &str| {
        let (owner, id) = (format!("owner-{at}"), format!("{number}-{at}"));
        let task = format!(
            r#"{{"id":"{id}","contextId":"context-{at}","status":{{"state":"{state}","timestamp":"2025-01-01T00:00:00Z"}},"history":[{{}},{{}}]}}"#
        );
        provider.save(Some(&owner), &task, None).expect("saved");
    };
    for at in 0..wave() {
        save(at, &format!("state-{}", at % 1000));
    }
    for at in 0..wave() {
        if at % 2 == 0 {
            save(at, "completed");
        }
    }
    let peak = resident();
    for at in (1..wave()).step_by(2) {
        provider.delete(Some(&format!("owner-{at}")), &format!("{number}-{at}")).expect("deleted");
    }
    house.clock.advance(LIFE_MS);
    house.look_until_removed(&ids_of_wave(number), |id| drop(provider.get(None, id)));
    house.assert_empty();
    peak
}

/// One owner with many contexts that come and go, beside one that stays.
fn contexts(house: &House, number: usize) -> usize {
    let provider =
        Provider::open(&house.store, &format!(r#"{{"name":"contexts","finalizedRetentionMs":{LIFE_MS}}}"#));
    let task = |id: &str, context: &str, state: &str| {
        format!(r#"{{"id":"{id}","contextId":"{context}","status":{{"state":"{state}"}}}}"#)
    };
    provider.save(Some("o"), &task("stays", "stays", "working"), None).expect("saved");
    for at in 0..wave() {
        let id = format!("{number}-{at}");
        provider.save(Some("o"), &task(&id, &id, "completed"), None).expect("saved");
    }
    let peak = resident();
    house.clock.advance(LIFE_MS);
    house.look_until_removed(&ids_of_wave(number), |id| drop(provider.get(None, id)));
    assert_eq!(record(provider.list(Some("o"), "{}"))["totalSize"], 1);
    provider.delete(Some("o"), "stays").expect("deleted");
    house.assert_empty();
    peak
}

fn listeners(house: &House) -> usize {
    let manager = Manager::open(&house.store, &format!(r#"{{"taskTimeToLiveMs":{LIFE_MS}}}"#));
    let id = id_of(&record(manager.create(r#"{"endpoint":"","origin":1}"#)));
    for at in 0..wave() {
        let queue = manager.events(4);
        record(manager.mark(&id, None, None));
        if at % 3 == 0 {
            assert_eq!(record(queue.next(0))["event"], "changed");
        }
        manager.wait(&id, u64::MAX, 0).expect_err("nothing is that new");
        manager.wait(&format!("nobody-{at}"), 0, 0).expect_err("nobody");
        // Handles of one name come and go.
        drop(Manager::open(&house.store, "{}"));
        drop(Sessions::open(&house.store, r#"{"keepExpired":8}"#));
    }
    let publish = |at: usize| {
        let id = support::calls::c(&format!("{at}"));
        let publish = taskhold::ffi::taskhold_manager_publish_task_changed;
        // SAFETY: the string lives until the call returns and the output is writable.
        support::calls::plain(|error| unsafe { publish(house.announcer.0, id.as_ptr(), error) })
            .expect("published");
    };
    (0..wave()).for_each(publish);
    let peak = resident();
    assert_eq!(house.queue.drain().len(), wave());
    house.clock.advance(LIFE_MS);
    assert_eq!(manager.find(&id), Ok(None));
    house.assert_empty();
    peak
}

#[test]
fn everything_returns_to_its_start() {
    let house = House::new();
    assert_returns(&house, "tasks", |number| tasks(&house, number));
    assert_returns(&house, "tasks one after another", |_| churning_tasks(&house));
    assert_returns(&house, "sessions", |number| sessions(&house, number));
    assert_returns(&house, "A2A tasks", |number| a2a_tasks(&house, number));
    assert_returns(&house, "contexts", |number| contexts(&house, number));
    assert_returns(&house, "listeners", |_| listeners(&house));
}
