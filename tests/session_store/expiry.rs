//! When a session is gone, and who learns of it.

use std::collections::HashSet;

use serde_json::Value;
use taskhold::session::SessionStore;

use crate::support::{World, at, change, create, find, initialize, is_there, next, world};

/// Takes what expired, as (reason, session id) pairs.
fn taken(sessions: &SessionStore) -> Vec<(String, String)> {
    let expired: Vec<Value> = serde_json::from_str(sessions.take_expired().unwrap().as_str()).unwrap();
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    expired.iter().map(|entry| (text(entry, "reason"), text(entry, "sessionId"))).collect()
}

/// Whether a call finds the session of this id and snapshot.
type Sees<'a> = &'a dyn Fn(&str, &str) -> bool;

#[test]
fn idle_is_older_than_the_timeout_for_every_call() {
    let (world, sessions) = world(r#"{"idleTimeoutMs":1000,"initializationTimeoutMs":0}"#);
    let calls: [(&str, Sees<'_>); 5] = [
        ("find", &|id, _| is_there(&sessions, id)),
        ("authorized", &|id, _| sessions.find_authorized_session("/mcp", None, id).unwrap().is_some()),
        ("replace", &|_, snapshot| sessions.replace(snapshot, &next(snapshot, &[])).unwrap()),
        ("pin", &|id, _| sessions.pin(id).unwrap()),
        ("create", &|id, _| sessions.create("/mcp", Some(&format!(r#"{{"sessionId":"{id}"}}"#))).is_err()),
    ];
    for (name, seen) in calls {
        for (age, there) in [(999, true), (1000, true), (1001, false)] {
            let id = format!("{name}-{age}");
            let snapshot = create(&sessions, &id);
            world.advance(age);
            assert_eq!(seen(&id, &snapshot), there, "{name} at {age}");
        }
    }
}

#[test]
fn activity_starts_the_idle_time_again() {
    let (world, sessions) = world(r#"{"idleTimeoutMs":1000,"initializationTimeoutMs":0}"#);
    create(&sessions, "s");
    world.advance(900);
    change(&sessions, "s", &[("lastActivityAt", &at(700))]);
    world.advance(800);
    assert!(is_there(&sessions, "s"), "1000 after the activity");
    world.advance(1);
    assert!(!is_there(&sessions, "s"));
}

#[test]
fn a_change_without_activity_does_not() {
    let (world, sessions) = world(r#"{"idleTimeoutMs":1000,"initializationTimeoutMs":0}"#);
    create(&sessions, "s");
    world.advance(600);
    change(&sessions, "s", &[("sessionContext", r#"{"k":1}"#)]);
    world.advance(400);
    assert!(is_there(&sessions, "s"));
    world.advance(1);
    assert!(!is_there(&sessions, "s"));
}

#[test]
fn activity_in_the_future_counts_as_now() {
    let (world, sessions) = world(r#"{"idleTimeoutMs":1000,"initializationTimeoutMs":0}"#);
    create(&sessions, "s");
    change(&sessions, "s", &[("lastActivityAt", "\"9999-12-31T23:59:59.999Z\"")]);
    world.advance(1000);
    assert!(is_there(&sessions, "s"));
    world.advance(1);
    assert!(!is_there(&sessions, "s"));
}

#[test]
fn activity_may_lie_long_ago() {
    let (world, sessions) = world(r#"{"idleTimeoutMs":1000,"initializationTimeoutMs":0}"#);
    create(&sessions, "kept");
    change(&sessions, "kept", &[("lastActivityAt", &at(-1000))]);
    assert!(is_there(&sessions, "kept"));
    world.advance(1);
    assert!(!is_there(&sessions, "kept"));
    create(&sessions, "gone");
    change(&sessions, "gone", &[("lastActivityAt", "\"0001-01-01T00:00:00.000Z\"")]);
    assert!(!is_there(&sessions, "gone"));
}

#[test]
fn an_initialization_has_its_own_deadline_pinned_or_not() {
    for pinned in [false, true] {
        let (world, sessions) = world(r#"{"initializationTimeoutMs":1000}"#);
        create(&sessions, "s");
        assert!(!pinned || sessions.pin("s").unwrap());
        world.advance(500);
        // Activity is no initialization.
        change(&sessions, "s", &[("lastActivityAt", &at(500))]);
        world.advance(500);
        assert!(is_there(&sessions, "s"));
        world.advance(1);
        assert!(!is_there(&sessions, "s"));
    }
}

#[test]
fn an_initialized_session_has_the_idle_deadline_only() {
    let (world, sessions) = world(r#"{"initializationTimeoutMs":1000,"idleTimeoutMs":5000}"#);
    create(&sessions, "s");
    world.advance(1000);
    initialize(&sessions, "s");
    world.advance(4000);
    assert!(is_there(&sessions, "s"));
    world.advance(1);
    assert!(!is_there(&sessions, "s"));
}

#[test]
fn zero_means_never() {
    const YEAR_MS: i64 = 365 * 24 * 60 * 60 * 1000;
    let (world, sessions) = world(r#"{"initializationTimeoutMs":0,"idleTimeoutMs":0}"#);
    create(&sessions, "s");
    create(&sessions, "terminated");
    change(&sessions, "terminated", &[("terminatedAt", &at(0))]);
    world.advance(100 * YEAR_MS);
    assert!(is_there(&sessions, "s"));
    assert!(is_there(&sessions, "terminated"));
}

#[test]
fn the_longest_timeouts_do_not_overflow() {
    let (world, sessions) =
        world(r#"{"initializationTimeoutMs":9223372036854,"idleTimeoutMs":9223372036854}"#);
    world.advance(1_000_000_000);
    create(&sessions, "s");
    change(&sessions, "s", &[("lastActivityAt", "\"0001-01-01T00:00:00.000Z\""), ("initialized", "true")]);
    assert!(!is_there(&sessions, "s"), "two thousand years are longer than 292");
    create(&sessions, "t");
    world.advance(1_000_000_000);
    assert!(is_there(&sessions, "t"));
}

#[test]
fn steps_of_the_wall_clock_change_no_expiry_in_memory() {
    const HOUR_MS: i64 = 3_600_000;
    for step in [-HOUR_MS, HOUR_MS] {
        let world = World::in_memory();
        let sessions = world.open(r#"{"idleTimeoutMs":1000,"initializationTimeoutMs":1000}"#);
        for id in ["idle", "uninitialized", "touched", "pinned"] {
            create(&sessions, id);
        }
        initialize(&sessions, "idle");
        initialize(&sessions, "touched");
        initialize(&sessions, "pinned");
        assert!(sessions.pin("pinned").unwrap());
        sessions.unpin("pinned").unwrap();
        world.advance(500);
        world.clock.step_wall(step).unwrap();
        // The same activity, written again, is as old as it was.
        change(&sessions, "touched", &[("sessionContext", r#"{"k":1}"#)]);
        world.advance(500);
        for id in ["idle", "uninitialized", "touched", "pinned"] {
            assert!(is_there(&sessions, id), "{id} after a step of {step}");
        }
        world.advance(1);
        for id in ["idle", "uninitialized", "touched", "pinned"] {
            assert!(!is_there(&sessions, id), "{id} after a step of {step}");
        }
    }
}

#[test]
fn a_terminated_session_stays_for_one_idle_timeout() {
    let (world, sessions) = world(r#"{"idleTimeoutMs":1000}"#);
    create(&sessions, "s");
    initialize(&sessions, "s");
    world.advance(900);
    // Neither the old activity nor the time that the host wrote down counts, but the termination itself.
    change(&sessions, "s", &[("terminatedAt", &at(5))]);
    world.advance(600);
    let later = change(&sessions, "s", &[("lastActivityAt", &at(1500)), ("terminatedAt", &at(1500))]);
    world.advance(400);
    assert_eq!(find(&sessions, "s"), Some(later));
    world.advance(1);
    assert!(!is_there(&sessions, "s"));
}

#[test]
fn time_limits_are_those_of_the_store_that_created_the_session() {
    let (world, short) = world(r#"{"idleTimeoutMs":1000,"initializationTimeoutMs":0}"#);
    let long = world.open(r#"{"idleTimeoutMs":5000,"initializationTimeoutMs":0}"#);
    create(&short, "short");
    create(&long, "long");
    change(&long, "short", &[("sessionContext", r#"{"k":1}"#)]);
    change(&short, "long", &[("sessionContext", r#"{"k":1}"#)]);
    world.advance(1001);
    assert!(!is_there(&long, "short"));
    assert!(is_there(&short, "long"));
    world.advance(3999);
    assert!(is_there(&short, "long"));
    world.advance(1);
    assert!(!is_there(&short, "long"));
}

#[test]
fn expired_sessions_hold_no_slot() {
    let (world, sessions) = world(
        r#"{"concurrentSessionLimit":100,"idleTimeoutMs":1000,"initializationTimeoutMs":0,"keepExpired":1000}"#,
    );
    for round in 0..3 {
        for number in 0..100 {
            create(&sessions, &format!("{round}-{number}"));
        }
        assert!(sessions.create("/mcp", None).unwrap().is_none());
        world.advance(1001);
    }
    assert_eq!(taken(&sessions).len(), 300);
}

#[test]
fn every_expired_session_is_handed_out_once_however_it_was_removed() {
    let (world, sessions) =
        world(r#"{"idleTimeoutMs":1000,"initializationTimeoutMs":500,"keepExpired":10000}"#);
    let mut expected = HashSet::new();
    for number in 0..300 {
        let id = format!("s{number}");
        create(&sessions, &id);
        let reason = if number % 2 == 0 {
            initialize(&sessions, &id);
            "idle"
        } else {
            "uninitialized"
        };
        expected.insert((reason.to_owned(), id));
    }
    assert_eq!(taken(&sessions), [], "nothing has expired yet");
    create(&sessions, "deleted");
    sessions.delete_by_session_id("deleted").unwrap();
    world.advance(1001);
    // By look-ups.
    for number in 0..100 {
        assert!(!is_there(&sessions, &format!("s{number}")));
    }
    let mut seen = taken(&sessions);
    // By creations, under the same id and others.
    for number in 100..200 {
        create(&sessions, &format!("s{number}"));
        create(&sessions, &format!("t{number}"));
    }
    seen.extend(taken(&sessions));
    // By the sweep of the call itself.
    seen.extend(taken(&sessions));
    assert_eq!(seen.len(), 300);
    assert_eq!(seen.into_iter().collect::<HashSet<_>>(), expected);
    assert_eq!(sessions.take_expired().unwrap().as_str(), "[]");
}

#[test]
fn an_expired_session_is_described_by_reason_id_and_endpoint() {
    let (world, sessions) = world(r#"{"idleTimeoutMs":1000,"initializationTimeoutMs":2000,"keepExpired":1}"#);
    sessions.create("/a\"b", Some(r#"{"sessionId":"\\"}"#)).unwrap().unwrap();
    world.advance(1001);
    let expected = r#"[{"reason":"idle","sessionId":"\\","endpoint":"/a\"b"}]"#;
    assert_eq!(sessions.take_expired().unwrap().as_str(), expected);
    assert_eq!(sessions.take_expired().unwrap().as_str(), "[]");
}

#[test]
fn no_more_are_handed_out_at_once_than_are_kept() {
    let (world, sessions) = world(r#"{"idleTimeoutMs":1000,"keepExpired":3}"#);
    for id in ["a", "b", "c", "d", "e"] {
        create(&sessions, id);
    }
    world.advance(1001);
    for id in ["a", "b", "c", "d", "e"] {
        assert!(!is_there(&sessions, id));
    }
    let mut ids: Vec<String> = Vec::new();
    loop {
        let some = taken(&sessions);
        assert!(some.len() <= 3);
        if some.is_empty() {
            break;
        }
        ids.extend(some.into_iter().map(|(_, id)| id));
    }
    assert!(ids.len() >= 3 && ids.iter().collect::<HashSet<_>>().len() == ids.len(), "{ids:?}");
}

#[test]
fn a_store_that_does_not_keep_them_hands_out_none() {
    let (world, sessions) = world(r#"{"idleTimeoutMs":1000}"#);
    let keeping = world.open(r#"{"keepExpired":5}"#);
    create(&sessions, "s");
    world.advance(1001);
    assert!(!is_there(&sessions, "s"));
    assert_eq!(sessions.take_expired().unwrap().as_str(), "[]");
    assert_eq!(taken(&keeping), [("idle".to_owned(), "s".to_owned())]);
}
