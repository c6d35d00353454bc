//! A task's life: creation, transitions, capacity, expiry, limits.

use taskhold::store::Store;
use taskhold::task::TaskManager;

use crate::support::{
    ACCEPT, CREATION, FORM, House, ROOTS, create, found, id_of, json, manager, reason, refusal, revision_of,
    status_of,
};

const OWNER: Option<&str> = Some("owner");

#[test]
fn a_task_from_creation_to_its_result() {
    let (house, manager) = manager();
    let record = manager.create_task(CREATION).unwrap();
    let id = id_of(&record);
    assert_eq!(
        record.as_str(),
        format!(
            concat!(
                r#"{{"task":{{"taskId":"{}","status":"working","createdAt":"2025-11-25T10:30:00.000Z","#,
                r#""lastUpdatedAt":"2025-11-25T10:30:00.000Z","ttlMs":3600000,"pollIntervalMs":1000}},"#,
                r#""revision":1,"endpoint":"/mcp","authorizationPartition":"owner","origin":{{}},"#,
                r#""cancelationRequested":false}}"#
            ),
            id
        )
    );
    assert_eq!(found(&manager, &id).as_str(), record.as_str());

    house.clock.advance(1500).unwrap();
    let record =
        manager.request_task_input(&id, &format!("{{\"a\":{FORM}}}"), Some("ask"), None).unwrap().into_text();
    assert_eq!((status_of(&record), revision_of(&record)), ("input_required".to_owned(), 2));
    let outcome =
        manager.update_task("/mcp", OWNER, &id, &format!("{{\"a\":{ACCEPT},\"zz\":1}}"), None).unwrap();
    assert_eq!(outcome.as_str(), r#"{"accepted":["a"],"ignored":["zz"]}"#);
    let taken = manager.take_task_input_responses(&id, Some(r#"{"expectedRevision":3}"#)).unwrap();
    assert_eq!(taken.as_str(), format!("{{\"a\":{ACCEPT}}}"));
    assert_eq!(manager.take_task_input_responses(&id, None).unwrap().as_str(), "{}");

    let progress = manager.mark_task_working(&id, Some("half"), None).unwrap().into_text();
    assert_eq!(json(&progress)["task"]["statusMessage"], "half");
    assert_eq!(json(&progress)["task"]["lastUpdatedAt"], "2025-11-25T10:30:01.500Z");
    let result = r#" { "content" : [ ], "isError":true, "n":1.0 } "#;
    let record =
        manager.complete_task(&id, result, None, Some(r#"{"expectedRevision":4}"#)).unwrap().into_text();
    assert!(record.as_str().contains(&format!("\"result\":{}}},\"revision\":5", result.trim())));
    assert_eq!(found(&manager, &id).as_str(), record.as_str());
    for late in [
        manager.complete_task(&id, "{}", None, None),
        manager.fail_task(&id, r#"{"code":1,"message":""}"#, None, None),
        manager.cancel_task(&id, None, None),
        manager.mark_task_working(&id, None, None),
        manager.request_task_input(&id, &format!("{{\"b\":{ROOTS}}}"), None, None),
    ] {
        assert_eq!(refusal(late), ("invalid_state", "task_terminal", None));
    }
    assert_eq!(found(&manager, &id).as_str(), record.as_str());
}

#[test]
fn failing_and_cancelling() {
    let (_house, manager) = manager();
    let id = create(&manager);
    let failed =
        manager.fail_task(&id, r#"{"code":-32603,"message":"x"}"#, Some("why"), None).unwrap().into_text();
    assert_eq!(json(&failed)["task"]["error"]["code"], -32603);
    assert_eq!(json(&failed)["task"]["statusMessage"], "why");
    let id = create(&manager);
    manager.request_task_cancelation("/mcp", OWNER, &id).unwrap();
    assert!(manager.is_task_cancelation_requested(&id).unwrap());
    let unless = Some(r#"{"unlessCancelationRequested":true}"#);
    assert_eq!(reason(manager.complete_task(&id, "{}", None, unless)), "cancelation_requested");
    assert_eq!(reason(manager.mark_task_working(&id, None, unless)), "cancelation_requested");
    let cancelled = manager.cancel_task(&id, None, None).unwrap().into_text();
    assert_eq!(status_of(&cancelled), "cancelled");
    assert_eq!(json(&cancelled)["cancelationRequested"], true);
    manager.request_task_cancelation("/mcp", OWNER, &id).unwrap();
    assert_eq!(found(&manager, &id).as_str(), cancelled.as_str());
}

#[test]
fn nothing_is_there() {
    let (_house, manager) = manager();
    let id = "786512e2-9e0d-44bd-8f29-789f320fe840";
    assert!(manager.find_task(id).unwrap().is_none());
    assert!(manager.find_authorized_task("/mcp", None, id).unwrap().is_none());
    let not_found = ("not_found", "task_not_found", None);
    assert_eq!(refusal(manager.mark_task_working(id, None, None)), not_found);
    assert_eq!(refusal(manager.request_task_input(id, &format!("{{\"b\":{ROOTS}}}"), None, None)), not_found);
    assert_eq!(refusal(manager.complete_task(id, "{}", None, None)), not_found);
    assert_eq!(refusal(manager.cancel_task(id, None, None)), not_found);
    assert_eq!(refusal(manager.take_task_input_responses(id, None)), not_found);
    assert_eq!(refusal(manager.is_task_cancelation_requested(id)), not_found);
    assert_eq!(refusal(manager.update_task("/mcp", None, id, "{}", None)), not_found);
    assert_eq!(refusal(manager.request_task_cancelation("/mcp", None, id)), not_found);
    // What is wrong with an argument is said first.
    assert_eq!(reason(manager.request_task_input(id, "{}", None, None)), "empty_input_requests");
    assert_eq!(reason(manager.complete_task(id, "[]", None, None)), "invalid_payload");
    assert_eq!(reason(manager.cancel_task(id, None, Some("[]"))), "invalid_value");
    for malformed in ["", " \t", "a\nb", &"x".repeat(1025)] {
        let expected = ("invalid_argument", "invalid_identifier", Some("task_id".to_owned()));
        assert_eq!(refusal(manager.find_task(malformed)), expected);
        assert_eq!(refusal(manager.complete_task(malformed, "[]", None, None)), expected);
        assert_eq!(refusal(manager.publish_task_changed(malformed)), expected);
    }
}

#[test]
fn capacity_is_exact_and_freed_by_expiry_alone() {
    let house = House::new();
    let manager = house.manager(r#"{"maximumRetainedTasks":3,"taskTimeToLiveMs":1000}"#);
    for malformed in ["{}", r#"{"endpoint":"/mcp","origin":null}"#, "["] {
        assert!(manager.create_task(malformed).is_err());
    }
    let ids: Vec<String> = (0..3)
        .map(|_| {
            house.clock.advance(1).unwrap();
            create(&manager)
        })
        .collect();
    let full = ("capacity_exhausted", "capacity_exhausted", None);
    assert_eq!(refusal(manager.create_task(CREATION)), full);
    manager.complete_task(&ids[0], "{}", None, None).unwrap();
    assert_eq!(refusal(manager.create_task(CREATION)), full, "a finished task is retained too");
    for id in &ids {
        found(&manager, id);
    }
    house.clock.advance(998).unwrap();
    assert!(manager.find_task(&ids[0]).unwrap().is_none(), "its age reached its time to live");
    found(&manager, &ids[1]);
    create(&manager);
    assert_eq!(refusal(manager.create_task(CREATION)), full);
}

#[test]
fn an_expired_task_is_gone_for_every_operation() {
    let house = House::new();
    let manager = house.manager(r#"{"taskTimeToLiveMs":1000}"#);
    let id = create(&manager);
    house.clock.step_wall(3_600_000).unwrap();
    house.clock.advance(999).unwrap();
    found(&manager, &id);
    house.clock.advance(1).unwrap();
    let not_found = "task_not_found";
    assert!(manager.find_task(&id).unwrap().is_none());
    assert!(manager.find_authorized_task("/mcp", OWNER, &id).unwrap().is_none());
    assert_eq!(reason(manager.complete_task(&id, "{}", None, None)), not_found);
    assert_eq!(reason(manager.mark_task_working(&id, None, None)), not_found);
    assert_eq!(reason(manager.update_task("/mcp", OWNER, &id, "{}", None)), not_found);
    assert_eq!(reason(manager.request_task_cancelation("/mcp", OWNER, &id)), not_found);
    assert_eq!(reason(manager.take_task_input_responses(&id, None)), not_found);
    assert_eq!(reason(manager.wait_task(&id, 0, None)), not_found);
    assert_eq!(json(&manager.list_tasks(None).unwrap())["records"].as_array().unwrap().len(), 0);
}

#[test]
fn times_are_stored_with_the_task() {
    let house = House::new();
    let (short, long) = (
        house.manager(r#"{"taskTimeToLiveMs":1000,"pollIntervalMs":7}"#),
        house.manager(r#"{"taskTimeToLiveMs":2000}"#),
    );
    let id = create(&short);
    let record = found(&long, &id);
    assert_eq!(json(&record)["task"]["ttlMs"], 1000);
    assert_eq!(
        json(&long.mark_task_working(&id, None, None).unwrap().into_text())["task"]["pollIntervalMs"],
        7
    );
    house.clock.advance(1000).unwrap();
    assert!(long.find_task(&id).unwrap().is_none(), "a change does not prolong its life");
}

#[test]
fn managers_share_a_name_and_not_a_store() {
    let house = House::new();
    let (one, same) = (house.manager("{}"), house.manager(r#"{"name":"default"}"#));
    let other = house.manager(r#"{"name":"other"}"#);
    let id = create(&one);
    found(&same, &id);
    assert!(other.find_task(&id).unwrap().is_none());
    let stranger = TaskManager::open(&Store::in_memory(), None).unwrap();
    assert!(stranger.find_task(&id).unwrap().is_none());
}

#[test]
fn the_limit_is_the_creating_managers_against_the_shared_count() {
    let house = House::new();
    let (two, one) =
        (house.manager(r#"{"maximumRetainedTasks":2}"#), house.manager(r#"{"maximumRetainedTasks":1}"#));
    create(&two);
    assert_eq!(reason(one.create_task(CREATION)), "capacity_exhausted");
    create(&two);
    assert_eq!(reason(two.create_task(CREATION)), "capacity_exhausted");
}

#[test]
fn payload_limits() {
    fn refused<T>(result: taskhold::error::Result<T>) -> (&'static str, &'static str) {
        let (status, reason, _) = refusal(result);
        (status, reason)
    }
    let house = House::new();
    let manager = house.manager(r#"{"maximumPayloadBytes":20}"#);
    let id = create(&manager);
    let too_large = ("limit_exceeded", "payload_too_large");
    let exact = r#"{"a":"bcdefghijklm"}"#;
    assert_eq!(exact.len(), 20);
    let over = r#"{"a":"bcdefghijklmn"}"#;
    assert_eq!(refused(manager.complete_task(&id, over, None, None)), too_large);
    assert_eq!(refused(manager.fail_task(&id, over, None, None)), too_large);
    assert_eq!(refused(manager.request_task_input(&id, over, None, None)), too_large);
    assert_eq!(refused(manager.update_task("/mcp", OWNER, &id, over, None)), too_large);
    assert_eq!(refused(manager.mark_task_working(&id, Some(&"x".repeat(21)), None)), too_large);
    let creation = r#"{"endpoint":"/mcp","origin":{"a":"bcdefghijklmn"}}"#;
    assert_eq!(refused(manager.create_task(creation)), too_large);
    assert_eq!(revision_of(&found(&manager, &id)), 1);
    manager.mark_task_working(&id, Some(&"x".repeat(20)), None).unwrap();
    manager.update_task("/mcp", OWNER, &id, exact, None).unwrap();
    manager.complete_task(&id, exact, None, None).unwrap();
    let creation = format!(r#"{{"endpoint":"/mcp","authorizationPartition":"owner","origin":{exact}}}"#);
    manager.create_task(&creation).unwrap();

    let nested = format!("{{\"a\":{}{}}}", "[".repeat(128), "]".repeat(128));
    let house = House::new();
    let manager = house.manager("{}");
    let id = create(&manager);
    assert_eq!(
        refused(manager.complete_task(&id, &nested, None, None)),
        ("limit_exceeded", "nesting_too_deep")
    );
}

#[test]
fn effective_options() {
    let house = House::new();
    let manager = house.manager(r#"{"name":"n","maximumRetainedTasks":5,"pollIntervalMs":null}"#);
    assert_eq!(
        manager.options().as_str(),
        concat!(
            r#"{"name":"n","maximumRetainedTasks":5,"maximumRetainedTasksPerPartition":0,"taskTimeToLiveMs":3600000,"pollIntervalMs":1000,"#,
            r#""maximumPayloadBytes":10485760}"#
        )
    );
    let unlimited = TaskManager::open(&house.store, Some(r#"{"maximumRetainedTasks":0}"#));
    let expected = ("invalid_argument", "invalid_value", Some("maximumRetainedTasks".to_owned()));
    assert_eq!(refusal(unlimited), expected, "in memory the number of tasks is the bound");
}

#[test]
fn withdrawing_and_a_new_round() {
    let (_house, manager) = manager();
    let id = create(&manager);
    manager.request_task_input(&id, &format!("{{\"a\":{FORM},\"b\":{ROOTS}}}"), Some("two"), None).unwrap();
    let withdraw = |keys: &str| format!("{{\"withdrawInputRequests\":{keys}}}");
    let record =
        manager.mark_task_working(&id, Some("still two"), Some(&withdraw("[]"))).unwrap().into_text();
    assert_eq!(status_of(&record), "input_required");
    let record = manager.mark_task_working(&id, None, Some(&withdraw(r#"["a","zz"]"#))).unwrap().into_text();
    assert_eq!(json(&record)["task"]["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["b"]);
    let outcome = manager.update_task("/mcp", OWNER, &id, &format!("{{\"a\":{ACCEPT}}}"), None).unwrap();
    assert_eq!(outcome.as_str(), r#"{"accepted":[],"ignored":["a"]}"#);
    assert_eq!(revision_of(&found(&manager, &id)), revision_of(&record), "ignored without a trace");
    let record = manager.mark_task_working(&id, None, Some(&withdraw(r#"["b"]"#))).unwrap().into_text();
    assert_eq!(status_of(&record), "working");
    let again = manager.request_task_input(&id, &format!("{{\"b\":{ROOTS}}}"), None, None);
    assert_eq!(refusal(again).1, "input_request_key_reused");
}

#[test]
fn an_update_may_be_conditional() {
    let (_house, manager) = manager();
    let id = create(&manager);
    manager.request_task_input(&id, &format!("{{\"a\":{FORM}}}"), None, None).unwrap();
    let answer = format!("{{\"a\":{ACCEPT}}}");
    let stale = manager.update_task("/mcp", OWNER, &id, &answer, Some(r#"{"expectedRevision":1}"#));
    assert_eq!(refusal(stale), ("conflict", "revision_mismatch", None));
    let foreign = manager.update_task("/mcp", None, &id, &answer, Some(r#"{"expectedRevision":1}"#));
    assert_eq!(refusal(foreign), ("not_found", "task_not_found", None), "a stranger learns no revision");
    manager.request_task_cancelation("/mcp", OWNER, &id).unwrap();
    let unless = Some(r#"{"unlessCancelationRequested":true}"#);
    let late = manager.update_task("/mcp", OWNER, &id, &answer, unless);
    assert_eq!(refusal(late), ("invalid_state", "cancelation_requested", None));
    let fitting = manager.update_task("/mcp", OWNER, &id, &answer, Some(r#"{"expectedRevision":3}"#));
    assert_eq!(fitting.unwrap().as_str(), r#"{"accepted":["a"],"ignored":[]}"#);
    assert_eq!(reason(manager.update_task("/mcp", OWNER, &id, "[]", None)), "invalid_payload");
    assert_eq!(reason(manager.update_task("/mcp", OWNER, &id, "{}", Some(r#"{"x":1}"#))), "unknown_key");
}
