//! The protocol side sees a caller's own tasks and nothing that tells of others.

use taskhold::error::Result;
use taskhold::task::{Rendering, TaskManager};

use crate::support::{ACCEPT, FORM, House, found, id_of, manager, refusal};

const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{}}"#;

fn create_for(manager: &TaskManager, endpoint: &str, partition: Option<&str>) -> String {
    let partition = partition.map_or("null".to_owned(), |partition| format!("\"{partition}\""));
    let creation = format!(
        r#"{{"endpoint":"{endpoint}","authorizationPartition":{partition},"origin":{{}},"metadata":{{"k":1}}}}"#
    );
    id_of(&manager.create_task(&creation).unwrap())
}

/// Everything that a caller can try on a task, as texts to compare.
fn tries(manager: &TaskManager, endpoint: &str, partition: Option<&str>, id: &str) -> Vec<String> {
    let told = |result: Result<String>| result.unwrap_or_else(|error| format!("{error:?}"));
    let mut all = vec![
        told(
            manager
                .find_authorized_task(endpoint, partition, id)
                .map(|found| format!("{:?}", found.is_some())),
        ),
        told(
            manager
                .update_task(endpoint, partition, id, &format!("{{\"a\":{ACCEPT}}}"), None)
                .map(|outcome| outcome.as_str().to_owned()),
        ),
        told(manager.request_task_cancelation(endpoint, partition, id).map(|()| "done".to_owned())),
    ];
    for rendering in [Rendering::CreateResult, Rendering::GetResult, Rendering::Notification] {
        all.push(told(
            manager
                .render_task(endpoint, partition, id, rendering, None)
                .map(|(text, _)| text.as_str().to_owned()),
        ));
    }
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"taskId":"{id}","inputResponses":{{}}}}}}"#
        );
        let response = manager.handle_request(endpoint, partition, Some(TASKS), request.as_bytes());
        all.push(told(response.map(|response| response.unwrap().as_str().to_owned())));
    }
    all
}

#[test]
fn foreign_unknown_and_expired_are_one_answer() {
    let house = House::new();
    let manager = house.manager(r#"{"taskTimeToLiveMs":1000}"#);
    let expired = create_for(&manager, "/mcp", Some("owner"));
    house.clock.advance(1000).unwrap();
    let id = create_for(&manager, "/mcp", Some("owner"));
    manager.request_task_input(&id, &format!("{{\"a\":{FORM}}}"), None, None).unwrap();
    let before = found(&manager, &id);

    let unknown = tries(&manager, "/mcp", Some("owner"), "786512e2-9e0d-44bd-8f29-789f320fe840");
    assert_eq!(tries(&manager, "/mcp", Some("owner"), &expired), unknown);
    let strangers = [
        ("/mcp", None),
        ("/mcp", Some("")),
        ("/mcp", Some("default")),
        ("/mcp", Some("Owner")),
        ("/mcp/", Some("owner")),
        ("", Some("owner")),
        ("/other", None),
    ];
    for (endpoint, partition) in strangers {
        assert_eq!(tries(&manager, endpoint, partition, &id), unknown, "{endpoint} {partition:?}");
    }
    assert_eq!(found(&manager, &id).as_str(), before.as_str());
    for text in &unknown {
        assert!(!text.contains("owner") && !text.contains("/mcp"), "{text}");
    }
    let own = tries(&manager, "/mcp", Some("owner"), &id);
    assert!(own.iter().zip(&unknown).all(|(own, unknown)| own != unknown));
}

#[test]
fn three_partitions_without_a_name() {
    let (_house, manager) = manager();
    let partitions = [None, Some(""), Some("default")];
    for owner in partitions {
        let id = create_for(&manager, "", owner);
        for caller in partitions {
            let seen = manager.find_authorized_task("", caller, &id).unwrap().is_some();
            assert_eq!(seen, owner == caller, "{owner:?} {caller:?}");
        }
    }
}

#[test]
fn malformed_owners_are_refused() {
    let (_house, manager) = manager();
    let id = create_for(&manager, "/mcp", None);
    let long = "x".repeat(1025);
    let endpoint = manager.find_authorized_task(&long, None, &id);
    assert_eq!(refusal(endpoint), ("invalid_argument", "invalid_value", Some("endpoint".to_owned())));
    let partition = manager.request_task_cancelation("/mcp", Some(&long), &id);
    assert_eq!(refusal(partition), ("invalid_argument", "invalid_value", Some("partition".to_owned())));
}

#[test]
fn renderings_are_delivered_by_capability() {
    let (_house, manager) = manager();
    let creation =
        r#"{"endpoint":"/mcp","origin":{},"declaredInputRequests":["elicitation/form"],"metadata":{"k":1}}"#;
    let id = id_of(&manager.create_task(creation).unwrap());
    let render =
        |rendering, options: Option<&str>| manager.render_task("/mcp", None, &id, rendering, options);
    let undeliverable = ("invalid_state", "undeliverable", None);
    for rendering in [Rendering::CreateResult, Rendering::GetResult, Rendering::Notification] {
        assert_eq!(refusal(render(rendering, Some(r#"{"clientCapabilities":{}}"#))), undeliverable);
        let (text, revision) = render(rendering, None).unwrap();
        assert!(text.as_str().contains(r#""_meta":{"k":1}"#));
        assert_eq!(revision, 1);
    }
    manager.request_task_input(&id, &format!("{{\"a\":{FORM}}}"), None, None).unwrap();
    let tasks_only = r#"{"clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
    let form_too = format!("{{\"clientCapabilities\":{TASKS},\"subscriptionId\":\"s\\u0031\"}}");
    for rendering in [Rendering::GetResult, Rendering::Notification] {
        assert_eq!(refusal(render(rendering, Some(tasks_only))), undeliverable);
        assert!(render(rendering, Some(&form_too)).unwrap().0.as_str().contains("inputRequests"));
    }
    let (text, revision) = render(Rendering::CreateResult, Some(tasks_only)).unwrap();
    assert!(
        text.as_str().starts_with(r#"{"resultType":"task","taskId":""#)
            && !text.as_str().contains("inputRequests")
    );
    assert_eq!(revision, 2);
    let (notification, _) = render(Rendering::Notification, Some(&form_too)).unwrap();
    let meta = r#","_meta":{"k":1,"io.modelcontextprotocol/subscriptionId":"s\u0031"}}}"#;
    assert!(notification.as_str().ends_with(meta), "{}", notification.as_str());

    manager.request_task_input(&id, r#"{"b":{"method":"roots/list"}}"#, None, None).unwrap();
    for rendering in [Rendering::GetResult, Rendering::Notification] {
        assert_eq!(refusal(render(rendering, None)), undeliverable, "an undeclared kind");
    }
    assert_eq!(refusal(render(Rendering::GetResult, Some("[]"))).1, "invalid_value");
    manager.mark_task_working(&id, None, None).unwrap();
    render(Rendering::GetResult, Some(tasks_only)).unwrap();
}
