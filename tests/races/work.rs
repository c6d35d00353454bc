//! Races over queued work: who gets it, and who still has it.

use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::harness::race;
use crate::support::calls::id_of;
use crate::support::hosts::{Answer, Clock, Events, Manager, Store, reason, record};

const CLAIM: &str = r#"{"worker":"w","queues":["q"],"leaseMs":50}"#;
const QUEUED: &str = r#"{"endpoint":"/mcp","origin":{},"queue":"q","attempts":{"maximum":3,"backoffMs":0}}"#;
const OPTIONS: &str = r#"{"taskTimeToLiveMs":1000}"#;

struct House {
    clock: Clock,
    one: Manager,
    other: Manager,
    store: Store,
}

impl House {
    fn new(options: &str) -> Self {
        let clock = Clock::open();
        let store = Store::open(&clock);
        let (one, other) = (Manager::open(&store, options), Manager::open(&store, options));
        Self { clock, one, other, store }
    }
}

fn claim(manager: &Manager) -> Option<Value> {
    let claimed = manager.claim(CLAIM, 0).expect("no refusal");
    claimed.map(|record| serde_json::from_str(&record).expect("JSON"))
}

#[test]
fn each_task_goes_to_one_of_many_claimers() {
    let house = House::new(OPTIONS);
    race(
        |_| {
            house.clock.advance(1000);
            [id_of(&record(house.one.create(QUEUED))), id_of(&record(house.other.create(QUEUED)))]
        },
        &[
            &|_: &[String; 2]| claim(&house.one),
            &|_: &[String; 2]| claim(&house.other),
            &|_: &[String; 2]| claim(&house.one),
            &|_: &[String; 2]| claim(&house.other),
        ],
        |ids, outcomes| {
            let mut claimed: Vec<_> = outcomes.iter().flatten().map(id_of).collect();
            // One that met another at the first task may have left before it saw the second.
            claimed.extend(claim(&house.one).iter().map(id_of));
            claimed.sort();
            let mut ids = ids.to_vec();
            ids.sort();
            assert_eq!(claimed, ids);
        },
    );
}

enum Did {
    Claimed(Option<Value>),
    Acted(Answer),
}

/// A claimer at a lease that has just lapsed, and what its holder does at the same time.
fn claim_against(
    house: &House,
    act: impl Fn(&str) -> Answer + Sync,
    check: impl Fn(&str, Option<Value>, Answer),
) {
    race(
        |_| {
            house.clock.advance(1000);
            let id = id_of(&record(house.one.create(QUEUED)));
            claim(&house.one).expect("it is there");
            house.clock.advance(50);
            id
        },
        &[&|_: &String| Did::Claimed(claim(&house.other)), &|id: &String| Did::Acted(act(id))],
        |id, outcomes| {
            let mut outcomes = outcomes.into_iter();
            let (Some(Did::Claimed(claimed)), Some(Did::Acted(acted))) = (outcomes.next(), outcomes.next())
            else {
                panic!("one of each")
            };
            check(&id, claimed, acted);
        },
    );
}

#[test]
fn a_lapsed_lease_is_its_holders_or_the_next_claimers() {
    let house = House::new(OPTIONS);
    let lease = Some(r#"{"lease":1}"#);
    claim_against(
        &house,
        |id| house.one.complete(id, r#"{"by":1}"#, lease),
        |id, claimed, completed| {
            let found = record(house.one.find(id));
            if let Some(claimed) = claimed {
                assert_eq!(reason(completed), "lease_lost");
                assert_eq!((&claimed["lease"]["token"], &claimed["attempt"]), (&json!(2), &json!(2)));
                assert_eq!(found["task"]["status"], "working");
            } else {
                assert_eq!(record(completed), found);
                assert_eq!(found["task"]["status"], "completed");
            }
        },
    );
}

#[test]
fn a_lapsed_lease_is_renewed_or_claimed() {
    let house = House::new(OPTIONS);
    claim_against(
        &house,
        |id| house.one.renew(&json!({"tasks": [{"taskId": id, "lease": 1}], "leaseMs": 50}).to_string()),
        |id, claimed, renewed| {
            let renewed = record(renewed);
            let of = |list: &str| renewed[list].as_array().map(Vec::len);
            assert_eq!(
                (of("renewed"), of("lost")),
                if claimed.is_some() { (Some(0), Some(1)) } else { (Some(1), Some(0)) }
            );
            let found = record(house.one.find(id));
            assert_eq!(found["attempt"], if claimed.is_some() { 2 } else { 1 });
            assert_eq!(claim(&house.other), None, "somebody holds it");
        },
    );
}

#[test]
fn a_lapsed_lease_is_released_or_claimed() {
    let house = House::new(OPTIONS);
    claim_against(
        &house,
        |id| house.one.release(id, Some(r#"{"lease":1,"countsAsAttempt":false}"#)),
        |id, claimed, released| match (claimed, released) {
            (Some(claimed), Ok(Some(_))) => {
                // It was claimed after it was given back, and its first attempt goes on.
                assert_eq!((&claimed["lease"]["token"], &claimed["attempt"]), (&json!(2), &json!(1)));
            }
            (Some(claimed), released) => {
                assert_eq!(reason(released), "lease_lost");
                assert_eq!((&claimed["lease"]["token"], &claimed["attempt"]), (&json!(2), &json!(2)));
            }
            (None, released) => {
                record(released);
                assert_eq!(claim(&house.other).map(|claimed| id_of(&claimed)).as_deref(), Some(id));
            }
        },
    );
}

#[test]
fn a_lapse_that_uses_up_the_attempts_ends_the_task_once() {
    let house = House::new(r#"{"taskTimeToLiveMs":5000}"#);
    let creation = r#"{"endpoint":"/mcp","origin":{},"queue":"q","attempts":{"maximum":1,"backoffMs":0}}"#;
    race(
        |_| {
            house.clock.advance(5000);
            let events = house.other.events(8);
            let id = id_of(&record(house.one.create(creation)));
            claim(&house.one).expect("it is there");
            events.drain();
            house.clock.advance(50);
            (id, events)
        },
        &[
            &|_| Did::Claimed(claim(&house.other)),
            &|_| Did::Claimed(claim(&house.one)),
            &|(id, _): &(String, Events)| {
                let renewed = house
                    .one
                    .renew(&json!({"tasks": [{"taskId": id, "lease": 1}], "leaseMs": 50}).to_string());
                assert_eq!(record(renewed)["lost"], json!([id]), "the lapse has ended it");
                Did::Claimed(None)
            },
            &|(id, _): &(String, Events)| {
                Did::Acted(house.other.complete(id, r#"{"by":1}"#, Some(r#"{"lease":1}"#)))
            },
        ],
        |(id, events), outcomes| {
            for outcome in outcomes {
                match outcome {
                    Did::Claimed(claimed) => assert_eq!(claimed, None),
                    Did::Acted(completed) => assert_eq!(reason(completed), "task_terminal"),
                }
            }
            let found = record(house.one.find(&id));
            assert_eq!((&found["task"]["status"], &found["attempt"]), (&json!("failed"), &json!(1)));
            // Who met another at the file has left it to a later call.
            house.clock.advance(1000);
            record(events.next(60_000));
            assert_eq!(events.drain().len(), 0, "it is told once");
        },
    );
}

#[test]
fn queued_work_never_exceeds_the_limit_of_its_partition() {
    let house = House::new(r#"{"taskTimeToLiveMs":1000,"maximumRetainedTasksPerPartition":3}"#);
    let creation = |partition: &str, operation: usize| {
        json!({"endpoint": "/mcp", "origin": {}, "authorizationPartition": partition, "queue": "q",
            "operationId": operation.to_string()})
        .to_string()
    };
    // How many each was refused, and the ids of what it was given.
    let create = |manager: &Manager, partition: &str, operations: [usize; 3]| {
        let created = operations.map(|operation| manager.create(&creation(partition, operation)));
        let mut ids = Vec::new();
        for answer in created {
            match answer {
                Ok(given) => ids.push(id_of(&record(Ok(given)))),
                refused => assert_eq!(reason(refused), "partition_capacity_exhausted"),
            }
        }
        ids
    };
    race(
        |round| {
            // Those of the round before have expired, or some have.
            house.clock.advance(1000);
            round
        },
        &[
            &|_: &usize| create(&house.one, "a", [1, 2, 3]),
            &|_: &usize| create(&house.other, "a", [3, 4, 5]),
            &|_: &usize| create(&house.other, "b", [1, 2, 3]),
            &|_: &usize| claim(&house.one).iter().map(id_of).collect(),
        ],
        |_, outcomes| {
            let of_a: HashSet<_> = outcomes[0].iter().chain(&outcomes[1]).collect();
            assert_eq!((of_a.len(), outcomes[2].len()), (3, 3), "as many as have room, and no more");
            let listed = record(house.one.list("{}"));
            assert_eq!(listed["records"].as_array().map(Vec::len), Some(6));
        },
    );
}

#[test]
fn of_two_creations_of_one_operation_one_makes_the_task_and_both_get_it() {
    let house = House::new(r#"{"taskTimeToLiveMs":50,"maximumRetainedTasks":1}"#);
    let creation = r#"{"endpoint":"/mcp","origin":{},"queue":"q","operationId":"o"}"#;
    race(
        |_| house.clock.advance(50),
        &[&|(): &()| record(house.one.create(creation)), &|(): &()| record(house.other.create(creation))],
        |(), outcomes| {
            assert_eq!(id_of(&outcomes[0]), id_of(&outcomes[1]));
            assert_eq!(outcomes.iter().filter(|record| record["created"] == true).count(), 1);
        },
    );
}

#[test]
fn a_wish_to_cancel_meets_a_claimer_or_ends_the_task() {
    let house = House::new(OPTIONS);
    race(
        |_| {
            house.clock.advance(1000);
            id_of(&record(house.one.create(QUEUED)))
        },
        &[&|_: &String| claim(&house.other), &|id: &String| {
            house.one.request_cancelation("/mcp", None, id).expect("acknowledged");
            None
        }],
        |id, outcomes| {
            let found = record(house.one.find(&id));
            let is_claimed = outcomes[0].is_some();
            assert_eq!(found["cancelationRequested"], true);
            assert_eq!(found["task"]["status"], if is_claimed { "working" } else { "cancelled" });
            assert_eq!(found["lease"].is_object(), is_claimed);
            assert_eq!(claim(&house.one), None);
        },
    );
}

#[test]
fn a_task_that_expires_is_not_claimed_any_more() {
    let house = House::new(OPTIONS);
    race(
        |_| id_of(&record(house.one.create(QUEUED))),
        &[&|_: &String| claim(&house.other), &|_: &String| {
            house.clock.advance(1000);
            claim(&house.one)
        }],
        |id, outcomes| {
            assert_eq!(outcomes[1], None);
            assert_eq!(house.one.find(&id), Ok(None));
        },
    );
}

#[test]
fn of_a_thousand_who_wait_each_task_calls_one() {
    const TASKS: usize = 50;
    let house = House::new(OPTIONS);
    let claimed: Vec<Value> = thread::scope(|scope| {
        let house = &house;
        let wait = move || match house.other.claim(CLAIM, u32::MAX) {
            Ok(claimed) => claimed.map(|record| serde_json::from_str(&record).expect("JSON")),
            Err(refused) => {
                // A thread that begins to wait after the close is told so at once.
                assert!(
                    ["closed", "closed_while_waiting"].contains(&refused.reason()),
                    "{}",
                    refused.reason()
                );
                None
            }
        };
        let claimers: Vec<_> = (0..1000).map(|_| scope.spawn(wait)).collect();
        for _ in 0..TASKS {
            record(house.one.create(QUEUED));
        }
        let begun = Instant::now();
        while house.store.stats()["claims"] != TASKS && begun.elapsed() < Duration::from_secs(20) {
            thread::yield_now();
        }
        house.other.close();
        claimers.into_iter().filter_map(|claimer| claimer.join().expect("no panic")).collect()
    });
    assert_eq!(claimed.len(), TASKS);
    assert_eq!(claimed.iter().map(id_of).collect::<HashSet<_>>().len(), TASKS);
}
