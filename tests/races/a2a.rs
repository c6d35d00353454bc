//! Races over one A2A task.

use serde_json::{Value, json};

use super::harness::race;
use crate::support::calls::Failure;
use crate::support::hosts::{Answer, Clock, Provider, Store, reason, record};

fn task(state: &str, by: usize) -> String {
    format!(r#"{{"id":"t","by":{by},"status":{{"state":"{state}"}}}}"#)
}

fn record_text(answer: Answer) -> String {
    answer.expect("an answer").expect("a text")
}

fn winner(outcomes: &[Result<u64, Failure>]) -> usize {
    let won: Vec<_> = (0..outcomes.len()).filter(|&number| outcomes[number].is_ok()).collect();
    assert_eq!(won.len(), 1, "{outcomes:?}");
    won[0]
}

#[test]
fn one_expected_revision_wins() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let (one, other) = (Provider::open(&store, "{}"), Provider::open(&store, "{}"));
    race(
        |round| {
            one.delete(None, "t").expect("deleted");
            // Every other round races for the creation.
            let expected =
                if round % 2 == 0 { 0 } else { one.save(None, &task("working", 9), None).expect("saved") };
            format!(r#"{{"expectedRevision":{expected}}}"#)
        },
        &[
            &|options: &String| one.save(None, &task("working", 0), Some(options)),
            &|options: &String| other.save(None, &task("completed", 1), Some(options)),
            &|options: &String| other.save(None, &task("working", 2), Some(options)),
        ],
        |_, outcomes| {
            let winner = winner(&outcomes);
            let state = if winner == 1 { "completed" } else { "working" };
            assert_eq!(one.get(None, "t"), Ok(Some(task(state, winner))));
            for (number, outcome) in outcomes.into_iter().enumerate() {
                if number != winner {
                    assert_eq!(reason(outcome), "revision_mismatch");
                }
            }
        },
    );
}

#[test]
fn a_task_becomes_final_once() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let (one, other) = (Provider::open(&store, "{}"), Provider::open(&store, "{}"));
    let queue = one.events(16);
    race(
        |_| {
            one.delete(None, "t").expect("deleted");
            one.save(None, &task("working", 9), None).expect("saved");
            assert_eq!(queue.drain().len(), 0);
        },
        &[
            &|(): &()| one.save(None, &task("completed", 0), None),
            &|(): &()| other.save(None, &task("failed", 1), None),
            &|(): &()| other.save(None, &task("working", 2), None),
            &|(): &()| one.liveness("t").map(|liveness| u64::try_from(liveness).expect("not negative")),
        ],
        |(), outcomes| {
            assert!(outcomes[0].is_ok() && outcomes[1].is_ok());
            if let Err(refused) = &outcomes[2] {
                assert_eq!(refused.reason(), "task_final");
            }
            assert!([Ok(1), Ok(2)].contains(&outcomes[3]));
            assert_eq!(one.liveness("t"), Ok(2));
            assert_eq!(queue.drain(), [json!({"event": "finalized", "taskId": "t"})]);
        },
    );
}

/// What a reader of the log sees is one state of the task: no event of a revision that is not there yet, none missing
/// that the limits keep, and nothing of a task that was deleted.
#[test]
fn a_log_is_read_in_one_snapshot_of_its_task() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let options = r#"{"maximumEventsPerTask":3}"#;
    let (one, other) = (Provider::open(&store, options), Provider::open(&store, options));
    let append = |provider: &Provider, by: usize| {
        let revisions = (0..3).map(|_| provider.save(None, &task("working", by), Some(r#"{"event":1}"#)));
        revisions.map(|revision| revision.expect("saved").to_string()).collect::<Vec<_>>()
    };
    let check = |log: &str| {
        let log: Value = serde_json::from_str(log).expect("JSON");
        let revision = log["revision"].as_u64().expect("a number");
        let seen = log["events"].as_array().expect("an array").iter();
        let seen: Vec<_> = seen.map(|event| event["revision"].as_u64().expect("a number")).collect();
        let expected: Vec<_> = (revision.saturating_sub(2).max(1)..=revision).collect();
        assert_eq!(seen, expected, "{log}");
        assert_eq!(log["missing"], revision > 3, "{log}");
    };
    race(
        |_| one.delete(None, "t").expect("deleted"),
        &[
            &|(): &()| append(&one, 0),
            &|(): &()| append(&other, 1),
            &|(): &()| (0..4).map(|_| record_text(other.read_events("t", "{}"))).collect(),
            &|(): &()| {
                one.delete(None, "t").expect("deleted");
                Vec::new()
            },
        ],
        |(), outcomes| {
            outcomes[2].iter().for_each(|log| check(log));
            check(&record_text(one.read_events("t", "{}")));
        },
    );
}

/// A config that is set while its task is made is there afterwards, whichever comes first.
#[test]
fn a_push_config_meets_its_task() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let provider = Provider::open(&store, "{}");
    race(
        |_| provider.delete(None, "t").expect("deleted"),
        &[
            &|(): &()| provider.set_push_config("t", "a", "{}"),
            &|(): &()| provider.save(None, &task("working", 0), None).map(|_| ()),
            &|(): &()| provider.set_push_config("t", "b", "{}"),
        ],
        |(), outcomes| {
            assert!(outcomes.iter().all(Result::is_ok));
            let configs: Value = record(provider.push_configs("t"));
            let mut ids: Vec<_> = configs["configs"].as_array().expect("an array").iter().collect();
            ids.sort_by_key(|config| config["id"].as_str());
            assert_eq!(ids, [&json!({"id": "a", "config": {}}), &json!({"id": "b", "config": {}})]);
        },
    );
}

#[test]
fn an_id_belongs_to_one_owner() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let provider = Provider::open(&store, "{}");
    let owners = [Some("a"), Some(""), None];
    race(
        |_| {
            for owner in owners {
                provider.delete(owner, "t").expect("deleted");
            }
        },
        &[
            &|(): &()| provider.save(owners[0], &task("working", 0), None),
            &|(): &()| provider.save(owners[1], &task("working", 1), None),
            &|(): &()| provider.save(owners[2], &task("working", 2), None),
        ],
        |(), outcomes| {
            let winner = winner(&outcomes);
            for (number, outcome) in outcomes.into_iter().enumerate() {
                let stored = (number == winner).then(|| task("working", number));
                assert_eq!(provider.get(owners[number], "t"), Ok(stored));
                if number != winner {
                    assert_eq!(reason(outcome), "task_not_found");
                }
            }
        },
    );
}
