//! Saving, getting and deleting A2A tasks through the provider: bytes, revisions, owners, limits, events.

mod a2a_support;

use a2a_support::{Stand, events, get, reason, save, task};
use taskhold::a2a::{Liveness, StateProvider};
use taskhold::error::{Reason, Status};
use taskhold::store::Store;

#[test]
fn a_task_comes_back_byte_for_byte() {
    let provider = Stand::new().provider("{}");
    for text in [
        r#"{"id":"t","status":{"state":"working"}}"#,
        r#"{ "z" : 1.0e+5,"id" : "\u0074" , "status":{"state":"WORKING","timestamp":null},"n":123456789012345678901234567890,"a":"\u0000\ud83e\udd80é" }"#,
        r#"{"history":[ {"a":1}, {"b":[]} ],"status":{"state":"paused"},"id":"t","artifacts":null,"contextId":null}"#,
    ] {
        for around in ["", " ", "\n\t\r "] {
            save(&provider, None, &format!("{around}{text}{around}"));
            assert_eq!(get(&provider, None, "t").expect("the task").0, text);
            let (again, _) = provider.get_task(None, "t", Some("{}")).expect("a get").expect("the task");
            assert_eq!(again.as_str(), text);
            let nothing_asked = Some(r#"{"historyLength":null}"#);
            let (again, _) = provider.get_task(None, "t", nothing_asked).expect("a get").expect("the task");
            assert_eq!(again.as_str(), text);
        }
    }
}

#[test]
fn get_cuts_the_history_and_keeps_the_artifacts() {
    let provider = Stand::new().provider("{}");
    let with = |history: &str| {
        format!(r#"{{"id":"t","status":{{"state":"working"}}{history},"artifacts":[{{"parts":[]}}]}}"#)
    };
    save(&provider, None, &with(r#","history":[{"n":1}, {"n":2},{"n":3}]"#));
    let table = [
        ("0", ""),
        ("1", r#","history":[{"n":3}]"#),
        ("2", r#","history":[{"n":2},{"n":3}]"#),
        ("3", r#","history":[{"n":1}, {"n":2},{"n":3}]"#),
        ("4", r#","history":[{"n":1}, {"n":2},{"n":3}]"#),
        ("2147483647", r#","history":[{"n":1}, {"n":2},{"n":3}]"#),
    ];
    for (length, history) in table {
        let params = format!(r#"{{"historyLength":{length}}}"#);
        let (text, revision) = provider.get_task(None, "t", Some(&params)).expect("a get").expect("the task");
        assert_eq!((text.as_str(), revision), (&*with(history), 1), "{length}");
    }
    for length in ["-1", "2147483648", "1.0", "\"1\"", "99999999999999999999999"] {
        let params = format!(r#"{{"historyLength":{length}}}"#);
        let error = provider.get_task(None, "t", Some(&params)).expect_err(length);
        assert_eq!((error.reason(), error.key()), (Reason::InvalidValue, Some("historyLength")), "{length}");
    }
    let error = provider.get_task(None, "t", Some(r#"{"pageSize":1}"#)).expect_err("unknown");
    assert_eq!((error.reason(), error.key()), (Reason::UnknownKey, Some("pageSize")));
}

#[test]
fn the_last_write_wins_and_revisions_count_saves() {
    let provider = Stand::new().provider("{}");
    assert_eq!(save(&provider, None, &task("t", "submitted")), 1);
    assert_eq!(save(&provider, None, &task("t", "working")), 2);
    assert_eq!(save(&provider, None, &task("t", "working")), 3);
    assert_eq!(save(&provider, None, &task("u", "working")), 1);
    assert_eq!(get(&provider, None, "t"), Some((task("t", "working"), 3)));
    provider.delete_task(None, "t").expect("a delete");
    assert_eq!(get(&provider, None, "t"), None);
    assert_eq!(save(&provider, None, &task("t", "working")), 1, "a deleted id begins anew");
}

#[test]
fn a_save_can_expect_a_revision() {
    let provider = Stand::new().provider("{}");
    let expecting = |revision: u64, state: &str| {
        let options = format!(r#"{{"expectedRevision":{revision}}}"#);
        provider.save_task(None, &task("t", state), Some(&options))
    };
    let absent = expecting(1, "working").expect_err("absent");
    assert_eq!((absent.status(), absent.reason()), (Status::Conflict, Reason::RevisionMismatch));
    assert_eq!(expecting(0, "working").expect("must not exist"), 1);
    assert_eq!(reason(expecting(0, "working")), Reason::RevisionMismatch);
    assert_eq!(expecting(1, "completed").expect("the right one"), 2);
    assert_eq!(reason(expecting(1, "working")), Reason::RevisionMismatch);
    assert_eq!(reason(expecting(2, "working")), Reason::TaskFinal);
    assert_eq!(reason(expecting(u64::MAX, "failed")), Reason::RevisionMismatch);
    assert_eq!(get(&provider, None, "t"), Some((task("t", "completed"), 2)));
}

#[test]
fn owners_do_not_see_each_other() {
    let provider = Stand::new().provider("{}");
    let owners = [None, Some(""), Some("default"), Some("ann"), Some("Ann")];
    let id = |at: usize| format!("t{at}");
    for (at, owner) in owners.into_iter().enumerate() {
        save(&provider, owner, &task(&id(at), "working"));
    }
    for (at, owner) in owners.into_iter().enumerate() {
        for (other, stranger) in owners.into_iter().enumerate() {
            if at == other {
                assert!(get(&provider, stranger, &id(at)).is_some());
                continue;
            }
            assert_eq!(get(&provider, stranger, &id(at)), None);
            provider.delete_task(stranger, &id(at)).expect("deleting a foreign task is OK");
            for options in [None, Some(r#"{"expectedRevision":0}"#), Some(r#"{"expectedRevision":9}"#)] {
                let error =
                    provider.save_task(stranger, &task(&id(at), "failed"), options).expect_err("foreign");
                assert_eq!((error.status(), error.reason()), (Status::NotFound, Reason::TaskNotFound));
            }
        }
        assert_eq!(get(&provider, owner, &id(at)), Some((task(&id(at), "working"), 1)), "unharmed");
    }
}

#[test]
fn delete_is_idempotent() {
    let provider = Stand::new().provider("{}");
    provider.delete_task(None, "t").expect("an unknown task");
    save(&provider, None, &task("t", "completed"));
    for _ in 0..2 {
        provider.delete_task(None, "t").expect("a delete");
        assert_eq!(provider.task_liveness("t").expect("an answer"), Liveness::Absent);
    }
    save(&provider, Some("ann"), &task("t", "working"));
    assert_eq!(
        get(&provider, Some("ann"), "t"),
        Some((task("t", "working"), 1)),
        "the id is free for anyone"
    );
}

#[test]
fn a_full_provider_refuses_new_tasks_only() {
    let stand = Stand::new();
    let provider = stand.provider(r#"{"maximumRetainedTasks":2,"finalizedRetentionMs":1000}"#);
    save(&provider, None, &task("a", "completed"));
    save(&provider, Some("ann"), &task("b", "working"));
    let error = provider.save_task(None, &task("c", "working"), None).expect_err("full");
    assert_eq!((error.status(), error.reason()), (Status::CapacityExhausted, Reason::CapacityExhausted));
    assert_eq!(save(&provider, Some("ann"), &task("b", "working")), 2, "a task that is there can be saved");
    provider.delete_task(Some("ann"), "b").expect("a delete");
    save(&provider, None, &task("c", "working"));
    assert_eq!(reason(provider.save_task(None, &task("d", "working"), None)), Reason::CapacityExhausted);
    stand.advance(1000);
    save(&provider, None, &task("d", "working"));
    assert_eq!(get(&provider, None, "a"), None, "its retention made room");
}

#[test]
fn retention_counts_from_the_first_final_save() {
    let stand = Stand::new();
    let provider = stand.provider(r#"{"finalizedRetentionMs":1000}"#);
    save(&provider, None, &task("t", "working"));
    stand.advance(100_000);
    assert!(get(&provider, None, "t").is_some(), "a task that is not final stays");
    save(&provider, None, &task("t", "completed"));
    stand.advance(999);
    assert_eq!(save(&provider, None, &task("t", "failed")), 3);
    assert_eq!(provider.task_liveness("t").expect("an answer"), Liveness::Grace);
    stand.advance(1);
    assert_eq!(get(&provider, None, "t"), None);
    assert_eq!(provider.task_liveness("t").expect("an answer"), Liveness::Absent);
    assert_eq!(
        provider.list_tasks(None, None).expect("a page").as_str(),
        r#"{"tasks":[],"totalSize":0,"pageSize":0,"nextPageToken":""}"#
    );
    assert_eq!(save(&provider, None, &task("t", "working")), 1, "the id is free");
}

#[test]
fn the_retention_of_the_saving_provider_counts() {
    let stand = Stand::new();
    let for_ever = stand.provider("{}");
    let short = stand.provider(r#"{"finalizedRetentionMs":10}"#);
    save(&for_ever, None, &task("a", "completed"));
    save(&short, None, &task("b", "completed"));
    stand.advance(10);
    assert!(get(&short, None, "a").is_some());
    assert_eq!(get(&for_ever, None, "b"), None);
}

#[test]
fn providers_share_tasks_by_name() {
    let stand = Stand::new();
    let (one, same) = (stand.provider("{}"), stand.provider(r#"{"name":"default"}"#));
    let other = stand.provider(r#"{"name":"other"}"#);
    save(&one, None, &task("t", "working"));
    assert_eq!(get(&same, None, "t"), get(&one, None, "t"));
    assert_eq!(get(&other, None, "t"), None);
    let private = StateProvider::open(&Store::in_memory(), None).expect("a provider");
    assert_eq!(get(&private, None, "t"), None);
}

#[test]
fn finalized_is_announced_once_after_the_commit() {
    let stand = Stand::new();
    let (provider, other) = (stand.provider("{}"), stand.provider("{}"));
    let queue = other.open_events(16).expect("a queue");
    save(&provider, None, &task("t", "working"));
    save(&provider, None, &task("t", "input-required"));
    assert_eq!(events(&queue), Vec::<String>::new());
    save(&provider, None, &task("t", "TASK_STATE_COMPLETED"));
    assert_eq!(events(&queue), [r#"{"event":"finalized","taskId":"t"}"#]);
    save(&provider, None, &task("t", "completed"));
    save(&provider, None, &task("t", "failed"));
    assert_eq!(reason(provider.save_task(None, &task("t", "working"), None)), Reason::TaskFinal);
    assert_eq!(reason(provider.save_task(Some("bob"), &task("t", "failed"), None)), Reason::TaskNotFound);
    let stale = Some(r#"{"expectedRevision":1}"#);
    assert_eq!(reason(provider.save_task(None, &task("t", "failed"), stale)), Reason::RevisionMismatch);
    provider.delete_task(None, "t").expect("a delete");
    assert_eq!(events(&queue), Vec::<String>::new());
    save(&provider, None, &task("t", "rejected"));
    assert_eq!(events(&queue), [r#"{"event":"finalized","taskId":"t"}"#], "a new task under the old id");
}

#[test]
fn a_replicated_save_announces_nothing_ever() {
    let provider = Stand::new().provider("{}");
    let queue = provider.open_events(16).expect("a queue");
    let replicated = Some(r#"{"isReplicated":true}"#);
    provider.save_task(None, &task("t", "completed"), replicated).expect("a save");
    save(&provider, None, &task("t", "completed"));
    save(&provider, None, &task("t", "failed"));
    provider.save_task(None, &task("u", "working"), replicated).expect("a save");
    assert_eq!(events(&queue), Vec::<String>::new());
    save(&provider, None, &task("u", "canceled"));
    assert_eq!(events(&queue), [r#"{"event":"finalized","taskId":"u"}"#], "not final by replication");
}

#[test]
fn a_refused_final_save_announces_nothing() {
    let stand = Stand::new();
    let provider = stand.provider(r#"{"maximumRetainedTasks":1}"#);
    let queue = provider.open_events(16).expect("a queue");
    save(&provider, None, &task("a", "working"));
    assert_eq!(reason(provider.save_task(None, &task("b", "completed"), None)), Reason::CapacityExhausted);
    assert_eq!(provider.task_liveness("b").expect("an answer"), Liveness::Absent);
    assert_eq!(events(&queue), Vec::<String>::new());
}

#[test]
fn arguments_are_checked_from_left_to_right_and_before_the_task() {
    let provider = Stand::new().provider("{}");
    let long = "x".repeat(1025);
    let error = provider.save_task(Some(&long), "{", Some("{")).expect_err("owner");
    assert_eq!((error.reason(), error.key()), (Reason::InvalidValue, Some("owner")));
    let both_bad = provider.save_task(None, "{}", Some(r#"{"x":1}"#)).expect_err("task");
    assert_eq!((both_bad.reason(), both_bad.key()), (Reason::InvalidPayload, Some("id")));
    let error = provider.save_task(None, &task("t", "working"), Some(r#"{"x":1}"#)).expect_err("options");
    assert_eq!((error.reason(), error.key()), (Reason::UnknownKey, Some("x")));
    for id in ["", " ", "a\rb", &long] {
        assert_eq!(reason(provider.get_task(None, id, None)), Reason::InvalidIdentifier);
        assert_eq!(reason(provider.delete_task(None, id)), Reason::InvalidIdentifier);
        assert_eq!(reason(provider.task_liveness(id)), Reason::InvalidIdentifier);
        assert_eq!(reason(provider.is_task_active(id)), Reason::InvalidIdentifier);
        assert_eq!(reason(provider.is_task_finalized(id)), Reason::InvalidIdentifier);
    }
    assert_eq!(reason(provider.get_task(Some(&long), "t", None)), Reason::InvalidValue);
    assert_eq!(reason(provider.delete_task(Some(&long), "t")), Reason::InvalidValue);
    assert_eq!(reason(provider.list_tasks(Some(&long), None)), Reason::InvalidValue);
}

#[test]
fn a_task_has_a_size_limit() {
    let text = task("t", "working");
    let exact = Stand::new().provider(&format!(r#"{{"maximumPayloadBytes":{}}}"#, text.len()));
    save(&exact, None, &text);
    let tight = Stand::new().provider(&format!(r#"{{"maximumPayloadBytes":{}}}"#, text.len() - 1));
    let error = tight.save_task(None, &text, None).expect_err("too large");
    assert_eq!((error.status(), error.reason()), (Status::LimitExceeded, Reason::PayloadTooLarge));
    assert!(
        tight.list_tasks(None, Some(r#"{"pageSize":50,"includeArtifacts":true,"historyLength":2}"#)).is_ok()
    );
}

#[test]
fn racing_conditional_saves_have_one_winner() {
    let stand = Stand::new();
    let provider = stand.provider("{}");
    let queue = provider.open_events(16).expect("a queue");
    save(&provider, None, &task("t", "working"));
    let start = std::sync::Barrier::new(4);
    let wins: usize = std::thread::scope(|scope| {
        let race = || {
            start.wait();
            (1..=50u64)
                .filter(|revision| {
                    let options = format!(r#"{{"expectedRevision":{revision}}}"#);
                    provider.save_task(None, &task("t", "completed"), Some(&options)).is_ok()
                })
                .count()
        };
        let racers: Vec<_> = (0..4).map(|_| scope.spawn(race)).collect();
        racers.into_iter().map(|racer| racer.join().expect("a racer")).sum()
    });
    let (_, revision) = get(&provider, None, "t").expect("the task");
    assert_eq!(revision, wins as u64 + 1, "every revision was made by exactly one save");
    assert!(wins >= 1);
    assert_eq!(events(&queue).len(), 1);
}
