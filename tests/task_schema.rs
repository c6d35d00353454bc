//! Everything that goes to clients, over tasks of every kind and status, against the JSON Schema of the
//! Tasks extension.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};
use taskhold::store::Store;
use taskhold::task::{Rendering, TaskManager};

const CAPABILITIES: &str = concat!(
    r#"{"extensions":{"io.modelcontextprotocol/tasks":{}},"#,
    r#""elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#
);

const SCHEMA_ID: &str = "https://modelcontextprotocol.io/ext-tasks/schema.json";

/// One definition of the schema.
struct Definition {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Definition {
    fn new(name: &str) -> Self {
        let text = include_str!("data/mcp-tasks-extension.schema.json");
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource(SCHEMA_ID, serde_json::from_str(text).unwrap()).unwrap();
        let index = compiler.compile(&format!("{SCHEMA_ID}#/$defs/{name}"), &mut schemas).unwrap();
        Self { schemas, index }
    }

    fn is_valid(&self, instance: &Value) -> bool {
        self.schemas.validate(instance, self.index).is_ok()
    }

    fn assert_valid(&self, instance: &Value, about: &str) {
        if let Err(error) = self.schemas.validate(instance, self.index) {
            panic!("{about}: {error:#}\n{instance}");
        }
    }
}

/// A manager with a task of every status, each with and without metadata and message.
fn every_task() -> (TaskManager, Vec<String>) {
    let manager = TaskManager::open(&Store::in_memory(), None).unwrap();
    let requests = concat!(
        r#"{"f":{"method":"elicitation/create","params":{"message":"m","requestedSchema":"#,
        r#"{"type":"object","properties":{"name":{"type":"string"}}}}},"#,
        r#""u":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.com/"}},"#,
        r#""s":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":5}},"#,
        r#""r":{"method":"roots/list"}}"#
    );
    let result = r#"{"content":[{"type":"text","text":"t"}],"isError":true,"resultType":"complete"}"#;
    let mut ids = Vec::new();
    for metadata in
        ["", r#","metadata":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"},"k":[]}"#]
    {
        for message in [None, Some("m\u{1}\"")] {
            for ending in ["none", "ask", "answer", "complete", "fail", "cancel"] {
                let creation = format!(r#"{{"endpoint":"/mcp","origin":{{"tool":"t"}}{metadata}}}"#);
                let record: Value =
                    serde_json::from_str(manager.create_task(&creation).unwrap().as_str()).unwrap();
                let id = record["task"]["taskId"].as_str().unwrap().to_owned();
                manager.mark_task_working(&id, message, None).unwrap();
                if ending != "none" {
                    manager.request_task_input(&id, requests, message, None).unwrap();
                }
                match ending {
                    "answer" => {
                        let responses =
                            r#"{"f":{"action":"accept","content":{"name":"n"}},"r":{"roots":[]}}"#;
                        manager.update_task("/mcp", None, &id, responses, None).unwrap();
                    }
                    "complete" => drop(manager.complete_task(&id, result, message, None).unwrap()),
                    "fail" => {
                        let failure = r#"{"code":-32603,"message":"x","data":{"a":1}}"#;
                        manager.fail_task(&id, failure, message, None).unwrap();
                    }
                    "cancel" => drop(manager.cancel_task(&id, message, None).unwrap()),
                    _ => {}
                }
                ids.push(id);
            }
        }
    }
    assert_eq!(ids.len(), 24);
    (manager, ids)
}

#[test]
fn renderings() {
    let (manager, ids) = every_task();
    let shapes = [
        (Rendering::CreateResult, Definition::new("CreateTaskResult")),
        (Rendering::GetResult, Definition::new("GetTaskResult")),
        (Rendering::Notification, Definition::new("TaskStatusNotification")),
    ];
    let options = [None, Some(format!("{{\"clientCapabilities\":{CAPABILITIES},\"subscriptionId\":\"s\"}}"))];
    let integer = Some(r#"{"subscriptionId":12}"#.to_owned());
    let mut statuses = std::collections::BTreeSet::new();
    for id in &ids {
        for (rendering, validator) in &shapes {
            for options in options.iter().chain([&integer]) {
                let rendered = manager.render_task("/mcp", None, id, *rendering, options.as_deref());
                let instance: Value = serde_json::from_str(rendered.unwrap().0.as_str()).unwrap();
                validator.assert_valid(&instance, &format!("{rendering:?} {options:?}"));
                let task = instance.get("params").unwrap_or(&instance);
                assert_eq!(task["taskId"], id.as_str());
                statuses.insert(task["status"].as_str().unwrap().to_owned());
            }
        }
    }
    assert_eq!(
        statuses.into_iter().collect::<Vec<_>>(),
        ["cancelled", "completed", "failed", "input_required", "working"]
    );
}

#[test]
fn the_task_of_a_record_is_a_detailed_task() {
    let (manager, ids) = every_task();
    let validator = Definition::new("DetailedTask");
    for id in &ids {
        let record: Value = serde_json::from_str(manager.find_task(id).unwrap().unwrap().as_str()).unwrap();
        validator.assert_valid(&record["task"], "record");
        let members: Vec<&str> = record["task"].as_object().unwrap().keys().map(String::as_str).collect();
        let known = [
            "taskId",
            "status",
            "statusMessage",
            "createdAt",
            "lastUpdatedAt",
            "ttlMs",
            "pollIntervalMs",
            "inputRequests",
            "result",
            "error",
        ];
        assert!(members.iter().all(|member| known.contains(member)), "{members:?}");
    }
}

#[test]
fn responses() {
    let (manager, ids) = every_task();
    let (get, update, cancel, error) = (
        Definition::new("GetTaskResult"),
        Definition::new("UpdateTaskResult"),
        Definition::new("CancelTaskResult"),
        Definition::new("Error"),
    );
    let respond = |capabilities, method: &str, params: &Value| {
        let request = json!({"jsonrpc": "2.0", "id": "i", "method": method, "params": params}).to_string();
        let response =
            manager.handle_request("/mcp", None, capabilities, request.as_bytes()).unwrap().unwrap();
        let response: Value = serde_json::from_str(response.as_str()).unwrap();
        assert_eq!((&response["jsonrpc"], &response["id"]), (&json!("2.0"), &json!("i")));
        assert_eq!(response.as_object().unwrap().len(), 3);
        response
    };
    for id in &ids {
        let params = json!({"taskId": id, "inputResponses": {"u": {"action": "decline"}}});
        let all = Some(CAPABILITIES);
        get.assert_valid(&respond(all, "tasks/get", &params)["result"], "tasks/get");
        update.assert_valid(&respond(all, "tasks/update", &params)["result"], "tasks/update");
        cancel.assert_valid(&respond(all, "tasks/cancel", &params)["result"], "tasks/cancel");
        let none = Some("{}");
        for method in ["tasks/get", "tasks/update", "tasks/cancel", "tasks/list"] {
            error.assert_valid(&respond(none, method, &params)["error"], method);
            error.assert_valid(&respond(all, method, &json!({"taskId": "nobody"}))["error"], method);
        }
        let tasks_only = Some(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#);
        let response = respond(tasks_only, "tasks/get", &params);
        match response.get("error") {
            None => get.assert_valid(&response["result"], "tasks/get"),
            Some(refused) => {
                error.assert_valid(refused, "tasks/get");
                assert!(refused["data"]["requiredCapabilities"]["sampling"].is_object());
            }
        }
    }
}

#[test]
fn the_schema_notices() {
    let (manager, ids) = every_task();
    let rendered = manager.render_task("/mcp", None, &ids[0], Rendering::GetResult, None).unwrap().0;
    let whole: Value = serde_json::from_str(rendered.as_str()).unwrap();
    let validator = Definition::new("GetTaskResult");
    assert!(validator.is_valid(&whole));
    for member in ["resultType", "taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"] {
        let mut lacking = whole.clone();
        lacking.as_object_mut().unwrap().remove(member);
        assert!(!validator.is_valid(&lacking), "{member}");
    }
    let mut bare = whole.clone();
    bare["status"] = json!("completed");
    assert!(!validator.is_valid(&bare), "completed without a result");
}
