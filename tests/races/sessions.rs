//! Races over one session.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::harness::race;
use crate::support::hosts::{Answer, Clock, Sessions, Store, reason};

struct House {
    clock: Clock,
    store: Store,
    one: Sessions,
    other: Sessions,
}

impl House {
    fn new(options: &str) -> Self {
        let clock = Clock::open();
        let store = Store::open(&clock);
        let (one, other) = (Sessions::open(&store, options), Sessions::open(&store, options));
        Self { clock, store, one, other }
    }
}

fn snapshot(answer: Answer) -> String {
    answer.expect("the call succeeds").expect("there is a session")
}

/// A session with its members reordered, as it is, and what may follow it.
type Updates = (String, String, Vec<String>);

/// The session after `before` with another context.
fn following(before: &str, context: &str) -> String {
    let mut session: Value = serde_json::from_str(before).expect("JSON");
    session["version"] = (session["version"].as_u64().expect("a version") + 1).into();
    session["initialized"] = true.into();
    session["sessionContext"] = serde_json::json!({"by": context});
    session.to_string()
}

/// The same session with its members in another order.
fn reordered(session: &str) -> String {
    let session: Value = serde_json::from_str(session).expect("JSON");
    let members = session.as_object().expect("an object");
    Value::Object(members.iter().rev().map(|(key, value)| (key.clone(), value.clone())).collect()).to_string()
}

#[test]
fn one_compare_and_set_wins() {
    let house = House::new("{}");
    race(
        |_| {
            house.one.delete("s").expect("deleted");
            let before = snapshot(house.one.create_as("s"));
            let updates: Vec<_> = ["0", "1", "2"].map(|by| following(&before, by)).into();
            (reordered(&before), before, updates)
        },
        &[
            &|(_, before, updates): &Updates| house.one.replace(before, &updates[0]),
            // The slow way, through a comparison by meaning.
            &|(reordered, _, updates): &Updates| house.other.replace(reordered, &updates[1]),
            &|(_, before, updates): &Updates| house.other.replace(before, &updates[2]),
        ],
        |(_, _, updates), outcomes| {
            let won: Vec<_> = outcomes.iter().map(|outcome| *outcome.as_ref().expect("no refusal")).collect();
            assert_eq!(won.iter().sum::<i32>(), 1, "{won:?}");
            let winner = won.iter().position(|&won| won == 1).expect("one");
            assert_eq!(snapshot(house.one.find("s")), updates[winner]);
        },
    );
}

#[test]
fn a_session_is_replaced_or_deleted_and_never_comes_back() {
    let house = House::new(r#"{"concurrentSessionLimit":1}"#);
    race(
        |_| {
            let before = snapshot(house.one.create_as("s"));
            let updated = following(&before, "x");
            (before, updated)
        },
        &[
            &|(before, updated): &(String, String)| house.one.replace(before, updated).map(|_| ()),
            &|_: &(String, String)| house.other.delete("s"),
            &|(before, updated): &(String, String)| house.other.replace(before, updated).map(|_| ()),
        ],
        |_, outcomes| {
            assert!(outcomes.iter().all(Result::is_ok));
            assert_eq!(house.one.find("s"), Ok(None));
            assert_eq!(house.store.stats()["sessions"], 0);
        },
    );
}

#[test]
fn a_session_that_was_pinned_does_not_expire() {
    let house = House::new(r#"{"idleTimeoutMs":100,"initializationTimeoutMs":0,"keepExpired":8}"#);
    race(
        |_| {
            snapshot(house.one.create_as("s"));
            house.clock.advance(100);
        },
        &[
            &|(): &()| house.one.pin("s").expect("no refusal"),
            &|(): &()| {
                house.clock.advance(1);
                i32::from(house.other.find("s").expect("no refusal").is_some())
            },
            &|(): &()| house.other.pin("s").expect("no refusal"),
        ],
        |(), outcomes| {
            let pinned = outcomes[0] + outcomes[2];
            house.clock.advance(1000);
            assert_eq!(house.one.find("s").expect("no refusal").is_some(), pinned > 0);
            if outcomes[1] == 1 {
                assert!(pinned > 0, "found after its time without a pin");
            }
            let mut told = house.one.take_expired().expect("taken").expect("a list");
            assert_eq!(told == "[]", pinned > 0, "{told}");
            // Without the pins it has one idle timeout more, and then it is gone and told once.
            for (store, count) in [(&house.one, outcomes[0]), (&house.other, outcomes[2])] {
                for _ in 0..count {
                    store.unpin("s").expect("unpinned");
                }
            }
            house.clock.advance(100);
            assert_eq!(house.one.find("s").expect("no refusal").is_some(), pinned > 0);
            house.clock.advance(1);
            assert_eq!(house.one.find("s"), Ok(None));
            if pinned > 0 {
                told = house.one.take_expired().expect("taken").expect("a list");
            }
            assert_eq!(told, r#"[{"reason":"idle","sessionId":"s","endpoint":"/mcp"}]"#);
            assert_eq!(house.one.take_expired(), Ok(Some("[]".to_owned())));
            house.other.take_expired().expect("taken");
        },
    );
}

#[test]
fn an_id_that_expired_is_taken_anew_by_one() {
    let house = House::new(
        r#"{"idleTimeoutMs":100,"initializationTimeoutMs":0,"concurrentSessionLimit":1,"keepExpired":8}"#,
    );
    let taken = AtomicUsize::new(0);
    race(
        |round| {
            if round == 0 {
                snapshot(house.one.create_as("s"));
            }
            house.clock.advance(101);
        },
        &[&|(): &()| house.one.create_as("s"), &|(): &()| house.other.create_as("s"), &|(): &()| {
            let told = house.one.take_expired().expect("taken").expect("a list");
            taken.fetch_add(told.matches("sessionId").count(), Ordering::SeqCst);
            Ok(None)
        }],
        |(), mut outcomes| {
            outcomes.pop();
            let (won, lost): (Vec<_>, Vec<_>) =
                outcomes.into_iter().partition(|outcome| matches!(outcome, Ok(Some(_))));
            assert_eq!(won.len(), 1, "{lost:?}");
            assert_eq!(house.one.find("s"), won.into_iter().next().expect("one"));
            for refused in lost {
                assert_eq!(reason(refused), "session_id_in_use");
            }
            let told = house.one.take_expired().expect("taken").expect("a list");
            let before = taken.swap(0, Ordering::SeqCst);
            assert_eq!(before + told.matches("sessionId").count(), 1, "each expiry is told once");
        },
    );
}

#[test]
fn pins_of_a_handle_end_with_it() {
    let house = House::new(r#"{"idleTimeoutMs":100,"initializationTimeoutMs":0}"#);
    race(
        |_| {
            house.one.delete("s").expect("deleted");
            snapshot(house.one.create_as("s"));
            Sessions::open(&house.store, "{}")
        },
        &[
            &|streams: &Sessions| {
                streams.close();
                0
            },
            &|streams: &Sessions| streams.pin("s").map_or(0, |pinned| pinned),
            &|streams: &Sessions| {
                let pinned = streams.pin("s").map_or(0, |pinned| pinned);
                let _ = streams.unpin("s");
                pinned
            },
        ],
        |_streams, _| {
            house.clock.advance(101);
            assert_eq!(house.one.find("s"), Ok(None), "a pin outlived its handle");
        },
    );
}
