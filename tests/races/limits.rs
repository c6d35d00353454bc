//! Limits are exact: never exceeded, and never closer than they say, while records expire and go.

use serde_json::Value;

use super::harness::race;
use super::tasks::CREATION;
use crate::support::calls::id_of;
use crate::support::hosts::{Clock, Manager, Provider, Sessions, Store, record};

const LIMIT: usize = 4;

/// How many tasks have room, and one that expired.
type Room = (usize, Option<String>);

/// How many of `outcomes` are admissions.
fn admitted(outcomes: Vec<usize>) -> usize {
    outcomes.into_iter().sum()
}

#[test]
fn of_tasks_while_tasks_expire() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let options = format!(r#"{{"maximumRetainedTasks":{LIMIT},"taskTimeToLiveMs":100}}"#);
    let (one, other) = (Manager::open(&store, &options), Manager::open(&store, &options));
    let create = |manager: &Manager, times: usize| {
        let created = (0..times).map(|_| manager.create(CREATION));
        created
            .filter(|created| {
                created.as_ref().is_err_and(|full| full.reason() != "capacity_exhausted") || created.is_ok()
            })
            .count()
    };
    race(
        |round| {
            // Some tasks of the round before may have some time left.
            clock.advance(if round % 2 == 0 { 100 } else { 60 });
            let stay: Value = record(one.list("{}"));
            let stay = stay["records"].as_array().expect("an array").len();
            let first = if stay == 0 { Some(id_of(&record(one.create(CREATION)))) } else { None };
            clock.advance(if stay == 0 { 100 } else { 0 });
            (LIMIT - stay, first)
        },
        &[
            &|_: &Room| create(&one, 3),
            &|_: &Room| create(&other, 3),
            &|(_, first): &Room| {
                if let Some(first) = first {
                    assert_eq!(one.find(first), Ok(None));
                }
                0
            },
            &|_: &Room| create(&other, 1),
        ],
        |(free, _), outcomes| {
            assert_eq!(admitted(outcomes), free);
            let listed = record(one.list("{}"));
            assert_eq!(listed["records"].as_array().map(Vec::len), Some(LIMIT));
        },
    );
}

#[test]
fn of_tasks_when_one_is_just_going() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let options = r#"{"maximumRetainedTasks":1,"taskTimeToLiveMs":100}"#;
    let (one, other) = (Manager::open(&store, options), Manager::open(&store, options));
    race(
        |_| {
            clock.advance(100);
            let id = id_of(&record(one.create(CREATION)));
            clock.advance(100);
            id
        },
        &[&|_: &String| other.create(CREATION).is_ok(), &|id: &String| one.find(id) == Ok(None)],
        |_, outcomes| assert_eq!(outcomes, [true; 2], "expired tasks never count"),
    );
}

#[test]
fn of_sessions_while_sessions_expire_and_go() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let options = r#"{"concurrentSessionLimit":4,"idleTimeoutMs":100,"initializationTimeoutMs":0}"#;
    let (one, other) = (Sessions::open(&store, options), Sessions::open(&store, options));
    let create = |sessions: &Sessions, times: usize| {
        let created = (0..times).map(|_| sessions.create("/mcp", None).expect("no refusal"));
        created.flatten().count()
    };
    race(
        |_| {
            clock.advance(101);
            one.create_as("going").expect("no refusal").expect("admitted");
            assert_eq!(create(&one, 1), 1);
        },
        &[
            &|(): &()| create(&one, 2),
            &|(): &()| {
                other.delete("going").expect("deleted");
                0
            },
            &|(): &()| create(&other, 2),
            &|(): &()| {
                assert!(one.find("gone").expect("no refusal").is_none());
                0
            },
        ],
        |(), outcomes| {
            let created = admitted(outcomes);
            assert!((2..=3).contains(&created), "two or three had room, {created} were admitted");
            let room = create(&one, 4);
            assert_eq!(created + room, 3);
            assert_eq!(store.stats()["sessions"], 4);
        },
    );
}

#[test]
fn of_sessions_when_one_is_just_going() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let options =
        r#"{"concurrentSessionLimit":1,"idleTimeoutMs":100,"initializationTimeoutMs":0,"keepExpired":1}"#;
    let (one, other) = (Sessions::open(&store, options), Sessions::open(&store, options));
    race(
        |_| {
            clock.advance(101);
            one.create("/mcp", None).expect("no refusal").expect("admitted");
            clock.advance(101);
        },
        &[&|(): &()| other.create("/mcp", None).expect("no refusal").is_some(), &|(): &()| {
            one.take_expired().is_ok()
        }],
        |(), outcomes| assert_eq!(outcomes, [true; 2], "expired sessions never count"),
    );
}

#[test]
fn of_sessions_while_an_id_is_in_dispute() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let sessions = Sessions::open(&store, r#"{"concurrentSessionLimit":2}"#);
    race(
        |_| {
            sessions.delete("x").expect("deleted");
            sessions.delete("y").expect("deleted");
        },
        &[&|(): &()| sessions.create_as("x"), &|(): &()| sessions.create_as("x"), &|(): &()| {
            sessions.create_as("y")
        }],
        |(), outcomes| {
            assert!(matches!(outcomes[2], Ok(Some(_))), "a refused creation takes no slot: {outcomes:?}");
            let in_use = outcomes.iter().filter(|outcome| {
                outcome.as_ref().is_err_and(|refused| refused.reason() == "session_id_in_use")
            });
            assert_eq!(in_use.count(), 1);
            assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Ok(Some(_)))).count(), 2);
        },
    );
}

#[test]
fn of_terminated_sessions() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let sessions = Sessions::open(&store, r#"{"concurrentSessionLimit":2}"#);
    race(
        |_| {
            for id in ["x", "y", "z"] {
                sessions.delete(id).expect("deleted");
            }
            let before = sessions.create_as("x").expect("no refusal").expect("admitted");
            sessions.create_as("y").expect("no refusal").expect("admitted");
            let mut ended: Value = serde_json::from_str(&before).expect("JSON");
            ended["version"] = 1.into();
            ended["terminatedAt"] = ended["createdAt"].clone();
            (before, ended.to_string())
        },
        &[
            &|(before, ended): &(String, String)| i32::from(sessions.replace(before, ended) == Ok(1)),
            &|(before, ended): &(String, String)| i32::from(sessions.replace(before, ended) == Ok(1)),
            &|_: &(String, String)| i32::from(sessions.create_as("z").expect("no refusal").is_some()),
        ],
        |_, outcomes| {
            assert_eq!(outcomes[0] + outcomes[1], 1);
            // Its end frees one slot, once.
            if outcomes[2] == 0 {
                sessions.create_as("z").expect("no refusal").expect("admitted");
            }
            assert_eq!(sessions.create("/mcp", None), Ok(None));
        },
    );
}

#[test]
fn of_a2a_tasks_while_they_go() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let options = r#"{"maximumRetainedTasks":3,"finalizedRetentionMs":100}"#;
    let (one, other) = (Provider::open(&store, options), Provider::open(&store, options));
    let save = |provider: &Provider, round: usize, ids: &[&str]| {
        let saves = ids.iter().map(|id| {
            provider.save(None, &format!(r#"{{"id":"{round}-{id}","status":{{"state":"completed"}}}}"#), None)
        });
        saves
            .filter(|saved| {
                saved.as_ref().map_or_else(|full| full.reason() != "capacity_exhausted", |_| true)
            })
            .count()
    };
    race(
        |round| {
            clock.advance(100);
            assert_eq!(save(&one, round, &["a", "b", "c"]), 3);
            clock.advance(100);
            round
        },
        &[
            &|&round: &usize| save(&one, round, &["d", "e"]),
            &|&round: &usize| save(&other, round, &["f", "g"]),
            &|&round: &usize| {
                assert_eq!(one.get(None, &format!("{round}-a")), Ok(None));
                assert_eq!(one.liveness(&format!("{round}-b")), Ok(0));
                0
            },
        ],
        |_, outcomes| assert_eq!(admitted(outcomes), 3),
    );
}
