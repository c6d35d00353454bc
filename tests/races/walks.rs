//! Walks over listings while records come, change and go: every record that stays is met, each once.

use std::collections::{BTreeMap, BTreeSet};

use super::harness::race;
use super::tasks::CREATION;
use crate::support::calls::id_of;
use crate::support::hosts::{Answer, Clock, Manager, Provider, Store, record};

/// The ids that a walk meets, page for page.
fn walk(list: impl Fn(&str) -> Answer, filters: &str, records: &str, id: &str) -> Vec<String> {
    let mut met = Vec::new();
    let mut token = String::new();
    loop {
        let page = record(list(&format!(r#"{{{filters}"pageSize":3,"pageToken":"{token}"}}"#)));
        for record in page[records].as_array().expect("an array") {
            met.push(record.pointer(id).and_then(|id| id.as_str()).expect("an id").to_owned());
        }
        page["nextPageToken"].as_str().expect("a token").clone_into(&mut token);
        if token.is_empty() {
            return met;
        }
    }
}

fn assert_met_once(met: &[String], stay: &[String]) {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for id in met {
        *times.entry(id).or_default() += 1;
    }
    for (id, count) in &times {
        assert_eq!(*count, 1, "{id} was met more than once");
    }
    let met: BTreeSet<_> = times.into_keys().collect();
    for id in stay {
        assert!(met.contains(id.as_str()), "{id} stayed and was not met");
    }
}

#[test]
fn over_tasks() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let stays = Manager::open(&store, r#"{"maximumRetainedTasks":1000}"#);
    let goes = Manager::open(&store, r#"{"maximumRetainedTasks":1000,"taskTimeToLiveMs":10}"#);
    // Tasks that stay, mixed with ones that go.
    let stay: Vec<_> = (0..12)
        .map(|_| {
            record(goes.create(CREATION));
            id_of(&record(stays.create(CREATION)))
        })
        .collect();
    race(
        |_| {
            for _ in 0..4 {
                record(goes.create(CREATION));
            }
        },
        &[
            &|(): &()| walk(|params| stays.list(params), "", "records", "/task/taskId"),
            &|(): &()| (0..4).map(|_| id_of(&record(goes.create(CREATION)))).collect(),
            &|(): &()| {
                for id in &stay {
                    record(goes.mark(id, Some("on"), None));
                }
                clock.advance(5);
                Vec::new()
            },
        ],
        |(), outcomes| assert_met_once(&outcomes[0], &stay),
    );
}

#[test]
fn over_a2a_tasks() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let provider = Provider::open(&store, r#"{"finalizedRetentionMs":10}"#);
    let save = |id: &str, state: &str, second: usize| {
        let task = format!(
            r#"{{"id":"{id}","contextId":"c","status":{{"state":"{state}","timestamp":"2025-01-01T00:00:{second:02}Z"}}}}"#
        );
        provider.save(Some("o"), &task, None).expect("saved");
    };
    let stay: Vec<_> = (0..12).map(|number| format!("stay-{number}")).collect();
    for (number, id) in stay.iter().enumerate() {
        save(id, "working", number / 2 * 4);
    }
    race(
        |round| round,
        &[
            &|_: &usize| walk(|params| provider.list(Some("o"), params), "", "tasks", "/id"),
            &|_: &usize| {
                walk(|params| provider.list(Some("o"), params), r#""contextId":"c","#, "tasks", "/id")
            },
            &|&round: &usize| {
                for number in 0..6 {
                    save(&format!("{round}-{number}"), "completed", number * 7);
                }
                clock.advance(5);
                Vec::new()
            },
            &|_: &usize| {
                // Saved again in their places, under other states.
                for (number, id) in stay.iter().enumerate() {
                    save(id, if number % 2 == 0 { "submitted" } else { "working" }, number / 2 * 4);
                }
                Vec::new()
            },
        ],
        |_, outcomes| {
            assert_met_once(&outcomes[0], &stay);
            assert_met_once(&outcomes[1], &stay);
        },
    );
}
