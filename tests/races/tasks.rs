//! Races over one task.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::harness::race;
use crate::support::calls::{Failure, id_of};
use crate::support::hosts::{Answer, Clock, Events, Manager, Store, reason, record};
use crate::support::stores::ages_by_wall_clock;

pub const CREATION: &str = r#"{"endpoint":"/mcp","origin":{}}"#;
const ENDPOINT: &str = "/mcp";
const TWO_QUESTIONS: &str = r#"{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}"#;

/// A clock, a store over it and two managers of the same name.
struct House {
    clock: Clock,
    store: Store,
    one: Manager,
    other: Manager,
}

impl House {
    fn new(options: &str) -> Self {
        let clock = Clock::open();
        let store = Store::open(&clock);
        let (one, other) = (Manager::open(&store, options), Manager::open(&store, options));
        Self { clock, store, one, other }
    }

    fn task(&self) -> String {
        id_of(&record(self.one.create(CREATION)))
    }
}

#[test]
fn exactly_one_ending_wins_and_is_announced_once() {
    let house = House::new(r#"{"taskTimeToLiveMs":50}"#);
    let queue = house.other.events(16);
    let endings: [&(dyn Fn(&String) -> Answer + Sync); 4] = [
        &|id: &String| house.one.complete(id, r#"{"by":0}"#, None),
        &|id: &String| house.other.fail(id, r#"{"code":1,"message":"one"}"#),
        &|id: &String| house.other.cancel(id),
        &|id: &String| house.one.complete(id, r#"{"by":3}"#, None),
    ];
    race(
        |_| {
            house.clock.advance(50);
            let id = house.task();
            queue.drain();
            id
        },
        &endings,
        |id, outcomes| {
            let (won, lost): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
            assert_eq!(won.len(), 1);
            for refused in lost {
                assert_eq!(reason(refused), "task_terminal");
            }
            let winner = won.into_iter().next().expect("one");
            assert_eq!(house.one.find(&id), winner, "the winner's result stays");
            assert_eq!(record(winner)["revision"], 2);
            assert_eq!(queue.drain(), [json!({"event": "changed", "taskId": id})]);
        },
    );
}

/// What the racers over answers do.
enum Did {
    Updated(Answer),
    Took(Answer),
    Marked(Answer),
}

fn object(answer: Answer) -> serde_json::Map<String, Value> {
    record(answer).as_object().expect("an object").clone()
}

fn accepted(outcome: &Value) -> Vec<String> {
    let keys = outcome["accepted"].as_array().expect("an array");
    keys.iter().map(|key| key.as_str().expect("a string").to_owned()).collect()
}

#[test]
fn every_answer_is_accepted_once_and_taken_once() {
    let house = House::new(r#"{"taskTimeToLiveMs":50}"#);
    let ask = |_| {
        house.clock.advance(50);
        let id = house.task();
        record(house.one.ask(&id, TWO_QUESTIONS, None));
        id
    };
    race(
        ask,
        &[
            &|id: &String| {
                Did::Updated(house.one.update(
                    ENDPOINT,
                    None,
                    id,
                    r#"{"a":{"roots":[],"by":1},"b":{"roots":[],"by":1}}"#,
                ))
            },
            &|id: &String| Did::Took(house.other.take(id)),
            &|id: &String| {
                Did::Updated(house.other.update(ENDPOINT, None, id, r#"{"b":{"roots":[],"by":2}}"#))
            },
            &|id: &String| Did::Took(house.one.take(id)),
        ],
        |id, outcomes| {
            let mut accepted_by = Vec::new();
            let mut taken = Vec::new();
            for (number, did) in outcomes.into_iter().enumerate() {
                match did {
                    Did::Updated(answer) => {
                        let by = number / 2 + 1;
                        accepted_by.extend(accepted(&record(answer)).into_iter().map(|key| (key, by)));
                    }
                    Did::Took(answer) | Did::Marked(answer) => taken.extend(object(answer)),
                }
            }
            taken.extend(object(house.one.take(&id)));
            let mut taken: Vec<_> = taken
                .into_iter()
                .map(|(key, value)| (key, usize::try_from(value["by"].as_u64().expect("by")).expect("small")))
                .collect();
            taken.sort();
            accepted_by.sort();
            assert_eq!(accepted_by.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["a", "b"]);
            assert_eq!(taken, accepted_by);
            assert_eq!(record(house.one.find(&id))["task"]["status"], "working");
        },
    );
}

#[test]
fn an_answer_meets_the_question_or_its_withdrawal() {
    let house = House::new(r#"{"taskTimeToLiveMs":50}"#);
    let ask = |_| {
        house.clock.advance(50);
        let id = house.task();
        record(house.one.ask(&id, r#"{"a":{"method":"roots/list"}}"#, Some("please")));
        id
    };
    race(
        ask,
        &[
            &|id: &String| Did::Updated(house.one.update(ENDPOINT, None, id, r#"{"a":{"roots":[]}}"#)),
            &|id: &String| Did::Marked(house.other.mark(id, Some("go on"), None)),
        ],
        |id, outcomes| {
            let mut was_accepted = false;
            for did in outcomes {
                match did {
                    Did::Updated(answer) => was_accepted = !accepted(&record(answer)).is_empty(),
                    Did::Took(answer) | Did::Marked(answer) => {
                        assert_eq!(record(answer)["task"]["statusMessage"], "go on");
                    }
                }
            }
            let found = record(house.one.find(&id));
            assert_eq!(found["revision"], if was_accepted { 4 } else { 3 });
            assert_eq!(found["task"]["status"], "working");
            assert_eq!(found["task"]["statusMessage"], "go on");
            assert_eq!(object(house.one.take(&id)).contains_key("a"), was_accepted);
        },
    );
}

enum Cancelation {
    Completed(Answer),
    Requested(Result<(), Failure>),
    Seen(i32),
}

#[test]
fn a_conditional_completion_never_follows_an_acknowledged_cancelation_request() {
    let house = House::new(r#"{"taskTimeToLiveMs":50}"#);
    let queue = house.one.events(16);
    let order = AtomicUsize::new(0);
    race(
        |_| {
            house.clock.advance(50);
            let id = house.task();
            queue.drain();
            order.store(0, Ordering::SeqCst);
            id
        },
        &[
            &|id: &String| {
                let acknowledged = order.load(Ordering::SeqCst);
                let options = Some(r#"{"unlessCancelationRequested":true}"#);
                let completed = house.one.complete(id, "{}", options);
                assert!(acknowledged == 0 || completed.is_err(), "acknowledged before, and completed");
                Cancelation::Completed(completed)
            },
            &|id: &String| {
                let requested = house.other.request_cancelation(ENDPOINT, None, id);
                if house.other.is_cancelation_requested(id) == Ok(1) {
                    order.store(1, Ordering::SeqCst);
                }
                Cancelation::Requested(requested)
            },
            &|id: &String| Cancelation::Seen(house.one.is_cancelation_requested(id).expect("there")),
        ],
        |id, outcomes| {
            let found = record(house.one.find(&id));
            let requested = found["cancelationRequested"].as_bool().expect("a flag");
            assert_eq!(found["task"]["status"], if requested { "working" } else { "completed" });
            assert_eq!(found["revision"], 2);
            for outcome in outcomes {
                match outcome {
                    Cancelation::Completed(completed) if requested => {
                        assert_eq!(reason(completed), "cancelation_requested");
                    }
                    Cancelation::Completed(completed) => assert_eq!(record(completed), found),
                    Cancelation::Requested(acknowledged) => acknowledged.expect("always OK"),
                    Cancelation::Seen(seen) => assert!(seen == 0 || requested),
                }
            }
            let event = if requested { "cancelation_requested" } else { "changed" };
            assert_eq!(queue.drain(), [json!({"event": event, "taskId": id})]);
        },
    );
}

#[test]
fn one_of_those_who_expect_a_revision_wins() {
    let house = House::new(r#"{"taskTimeToLiveMs":50}"#);
    let expecting = Some(r#"{"expectedRevision":1}"#);
    race(
        |_| {
            house.clock.advance(50);
            house.task()
        },
        &[
            &|id: &String| house.one.mark(id, Some("0"), expecting),
            &|id: &String| house.other.mark(id, Some("1"), expecting),
            &|id: &String| house.one.mark(id, Some("2"), expecting),
        ],
        |id, outcomes| {
            let (won, lost): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
            assert_eq!(won.len(), 1);
            assert_eq!(house.one.find(&id), won.into_iter().next().expect("one"));
            for refused in lost {
                assert_eq!(reason(refused), "revision_mismatch");
            }
        },
    );
}

#[test]
fn a_task_that_expires_is_gone_whoever_changes_it() {
    let house = House::new(r#"{"taskTimeToLiveMs":50,"maximumRetainedTasks":1}"#);
    race(
        |_| {
            let id = house.task();
            record(house.one.ask(&id, TWO_QUESTIONS, None));
            id
        },
        &[
            &|id: &String| {
                let updated = house.one.update(ENDPOINT, None, id, r#"{"a":{"roots":[]}}"#);
                updated.map_or_else(|refused| refused.reason() == "task_not_found", |_| true)
            },
            &|id: &String| {
                house.clock.advance(50);
                house.other.find(id) == Ok(None)
            },
            &|id: &String| {
                let completed = house.other.complete(id, "{}", None);
                completed.map_or_else(|refused| refused.reason() == "task_not_found", |_| true)
            },
        ],
        |id, outcomes| {
            assert_eq!(outcomes, [true; 3]);
            assert_eq!(house.one.find(&id), Ok(None));
            assert_eq!(reason(house.one.mark(&id, None, None)), "task_not_found");
            let stats = house.store.stats();
            assert_eq!(
                stats["tasks"],
                json!({"working": 0, "input_required": 0, "completed": 0, "failed": 0, "cancelled": 0})
            );
            assert_eq!(stats["expiredPending"], json!(0));
            // A file keeps its tables.
            assert!(ages_by_wall_clock() || stats["bytes"] == json!(0), "{stats}");
        },
    );
}

#[test]
fn no_change_is_lost_on_those_who_wait() {
    let house = House::new(r#"{"taskTimeToLiveMs":50}"#);
    let queue = house.other.events(16);
    let next = |queue: &Events| record(queue.next(20_000));
    race(
        |_| {
            house.clock.advance(50);
            let id = house.task();
            queue.drain();
            id
        },
        &[
            &|id: &String| record(house.one.wait(id, 1, 20_000))["revision"].as_u64(),
            &|id: &String| {
                record(house.other.mark(id, None, None));
                Some(2)
            },
            &|id: &String| {
                assert_eq!(next(&queue), json!({"event": "changed", "taskId": id}));
                Some(2)
            },
            &|id: &String| record(house.other.wait(id, 1, 20_000))["revision"].as_u64(),
        ],
        |_, outcomes| {
            assert_eq!(outcomes, [Some(2); 4]);
            assert_eq!(house.store.stats()["waiters"], 0);
        },
    );
}
