//! A panic inside a transition of a task changes nothing and announces nothing, and the store goes on.
#![cfg(feature = "fault-injection")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use taskhold::fault;
use taskhold::store::Store;
use taskhold::task::TaskManager;

// One test: what is armed is met by whoever comes by.
#[test]
fn a_panic_changes_nothing() {
    let options = Some(r#"{"maximumRetainedTasks":1}"#);
    let manager = TaskManager::open(&Store::in_memory(), options).unwrap();
    let events = manager.open_events(10).unwrap();
    let panics = |call: &dyn Fn()| {
        fault::arm("task_transition");
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        assert!(!fault::disarm(), "the point was passed");
        assert!(events.next(Some(Duration::ZERO)).is_err(), "nothing was announced");
    };
    let creation = r#"{"endpoint":"/mcp","origin":{}}"#;
    panics(&|| drop(manager.create_task(creation)));
    let record = manager.create_task(creation).expect("the slot is free");
    let id = serde_json::from_str::<serde_json::Value>(record.as_str()).unwrap()["task"]["taskId"]
        .as_str()
        .unwrap()
        .to_owned();
    let requests = r#"{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}"#;
    manager.request_task_input(&id, requests, None, None).unwrap();
    manager.update_task("/mcp", None, &id, r#"{"a":{"roots":[]}}"#, None).unwrap();
    let before = manager.find_task(&id).unwrap().unwrap();
    while events.next(Some(Duration::ZERO)).is_ok() {}

    panics(&|| drop(manager.mark_task_working(&id, Some("m"), None)));
    panics(&|| drop(manager.request_task_input(&id, requests, None, None)));
    panics(&|| drop(manager.complete_task(&id, "{}", None, None)));
    panics(&|| drop(manager.fail_task(&id, r#"{"code":1,"message":""}"#, None, None)));
    panics(&|| drop(manager.cancel_task(&id, None, None)));
    panics(&|| drop(manager.update_task("/mcp", None, &id, r#"{"b":{"roots":[]}}"#, None)));
    panics(&|| drop(manager.request_task_cancelation("/mcp", None, &id)));
    panics(&|| drop(manager.take_task_input_responses(&id, None)));
    let cancel = format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{{"taskId":"{}","_meta":"#,
            r#"{{"io.modelcontextprotocol/clientCapabilities":{{"extensions":{{"io.modelcontextprotocol/tasks":{{}}}}}}}}}}}}"#
        ),
        id
    );
    panics(&|| drop(manager.handle_request("/mcp", None, None, cancel.as_bytes())));

    assert_eq!(manager.find_task(&id).unwrap().unwrap().as_str(), before.as_str());
    let taken = manager.take_task_input_responses(&id, None).unwrap();
    assert_eq!(taken.as_str(), r#"{"a":{"roots":[]}}"#);
    manager.complete_task(&id, "{}", None, None).unwrap();
}
