//! `handle_request` with any text as the request. Whatever comes: the answer is one JSON-RPC response, valid by
//! the schema of the Tasks extension, with the request's id byte for byte; a task of another partition is
//! neither shown nor changed, and asking for it is answered as asking for one that does not exist.
//!
//! In the input `~0` to `~9` stand for task ids: even ones are the caller's, odd ones belong to another.

#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use boon::{Compiler, SchemaIndex, Schemas};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use serde_json::value::RawValue;
use taskhold::json;
use taskhold::store::Store;
use taskhold::task::TaskManager;

const SCHEMA_ID: &str = "https://modelcontextprotocol.io/ext-tasks/schema.json";
const ENDPOINT: &str = "/mcp";
const CALLER: Option<&str> = Some("ann");
/// Stands in everything that the other partition's tasks hold.
const SECRET: &str = "5ecret";
/// An id that no task has, of the length of those that are there.
const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

struct Validator {
    schemas: Schemas,
    results: [SchemaIndex; 3],
    error: SchemaIndex,
}

static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
    let text = include_str!("../../tests/data/mcp-tasks-extension.schema.json");
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource(SCHEMA_ID, serde_json::from_str(text).expect("JSON")).expect("a schema");
    let mut compile =
        |name| compiler.compile(&format!("{SCHEMA_ID}#/$defs/{name}"), &mut schemas).expect("a definition");
    let results = ["GetTaskResult", "UpdateTaskResult", "CancelTaskResult"].map(&mut compile);
    let error = compile("Error");
    Validator { schemas, results, error }
});

const CAPABILITIES: [Option<&str>; 5] = [
    None,
    Some("{}"),
    Some(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
    Some(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{},"roots":{}}"#),
    Some(
        r#"{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#,
    ),
];

const REQUESTS: &str = concat!(
    r#"{"f":{"method":"elicitation/create","params":{"message":"5ecret","requestedSchema":"#,
    r#"{"type":"object","properties":{}}}},"s":{"method":"sampling/createMessage","params":"#,
    r#"{"messages":[],"maxTokens":5}},"r":{"method":"roots/list"}}"#
);

/// Creates a task in each status for one partition; gives their ids.
fn tasks(manager: &TaskManager, partition: &str, texts: &str) -> Vec<String> {
    let statuses = ["working", "asked", "completed", "failed", "cancelled"];
    let create = |status: &str| {
        let creation = format!(
            r#"{{"endpoint":"{ENDPOINT}","authorizationPartition":"{partition}","origin":"{texts}","metadata":{{"k":"{texts}"}}}}"#
        );
        let record = manager.create_task(&creation).expect("created");
        let record: Value = serde_json::from_str(record.as_str()).expect("JSON");
        let id = record["task"]["taskId"].as_str().expect("an id").to_owned();
        let text = format!(r#"{{"x":"{texts}"}}"#);
        match status {
            "asked" => manager.request_task_input(&id, &REQUESTS.replace(SECRET, texts), Some(texts), None),
            "completed" => manager.complete_task(&id, &text, Some(texts), None),
            "failed" => manager.fail_task(&id, &format!(r#"{{"code":1,"message":"{texts}"}}"#), None, None),
            "cancelled" => manager.cancel_task(&id, Some(texts), None),
            _ => manager.mark_task_working(&id, Some(texts), None),
        }
        .expect("a legal step");
        id
    };
    statuses.map(create).into()
}

fn record(manager: &TaskManager, id: &str) -> String {
    manager.find_task(id).expect("memory does not fail").expect("it is there").as_str().to_owned()
}

/// The text with ids in the places of `~0` to `~9`.
fn with_ids(text: &[u8], id: impl Fn(usize) -> String) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() + 128);
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        match rest.as_slice().first() {
            Some(digit) if *byte == b'~' && digit.is_ascii_digit() => {
                bytes.extend(id(usize::from(digit - b'0')).into_bytes());
                rest.next();
            }
            _ => bytes.push(*byte),
        }
    }
    bytes
}

/// The id that an answer to this text must carry; `None` for a notification.
fn expected_id(request: &[u8]) -> Option<String> {
    let null = Some("null".to_owned());
    let Ok(value) = json::parse_bytes(request, u64::MAX) else { return null };
    let Some(id) = value.get("id") else {
        let is_request = value.get("jsonrpc").and_then(json::Value::as_str).as_deref() == Some("2.0")
            && value.get("method").is_some_and(|method| method.kind() == json::Kind::String);
        return if is_request { None } else { null };
    };
    let is_integer =
        |text: &str| text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
    match id.kind() {
        json::Kind::String => Some(id.text().to_owned()),
        json::Kind::Number if is_integer(id.text()) => Some(id.text().to_owned()),
        json::Kind::Number => None,
        _ => null,
    }
}

fn check_response(request: &[u8], response: Option<&str>) {
    let is_fractional = json::parse_bytes(request, u64::MAX)
        .ok()
        .and_then(|value| value.get("id"))
        .is_some_and(|id| id.kind() == json::Kind::Number && id.text().contains(['.', 'e', 'E']));
    let Some(response) = response else {
        assert_eq!(expected_id(request), None, "only a notification gets no answer");
        return;
    };
    assert!(!response.contains(SECRET), "{response}");
    let raw: BTreeMap<&str, &RawValue> = serde_json::from_str(response).expect("a response");
    if !is_fractional {
        assert_eq!(Some(raw["id"].get()), expected_id(request).as_deref());
    }
    let whole: Value = serde_json::from_str(response).expect("JSON");
    assert_eq!(whole["jsonrpc"], "2.0");
    assert_eq!(whole.as_object().expect("an object").len(), 3);
    let validator = &*VALIDATOR;
    if let Some(error) = whole.get("error") {
        assert!(validator.schemas.validate(error, validator.error).is_ok(), "{response}");
        return;
    }
    let request = json::parse_bytes(request, u64::MAX).expect("it has a result");
    let method = request.get("method").and_then(json::Value::as_str).expect("it has a result");
    let at = ["tasks/get", "tasks/update", "tasks/cancel"].iter().position(|known| *known == method);
    let definition = validator.results[at.expect("a known method")];
    assert!(validator.schemas.validate(&whole["result"], definition).is_ok(), "{response}");
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, text)) = data.split_first() else { return };
    let capabilities = CAPABILITIES[usize::from(choice) % CAPABILITIES.len()];
    let manager = TaskManager::open(&Store::in_memory(), None).expect("opened");
    let own = tasks(&manager, "ann", "own");
    let others = tasks(&manager, "bob", SECRET);
    let id = |digit: usize| if digit % 2 == 0 { own[digit / 2].clone() } else { others[digit / 2].clone() };
    let request = with_ids(text, id);
    let before: Vec<_> = others.iter().map(|id| record(&manager, id)).collect();
    let ask = |request: &[u8]| {
        let response = manager.handle_request(ENDPOINT, CALLER, capabilities, request);
        response.expect("memory does not fail").map(|response| response.as_str().to_owned())
    };
    // Every task of the other is asked for in place of one that does not exist, before anything can change.
    let asks_for_others = text.windows(2).any(|pair| pair[0] == b'~' && b"13579".contains(&pair[1]));
    let asks_for_own = text.windows(2).any(|pair| pair[0] == b'~' && b"02468".contains(&pair[1]));
    if asks_for_others && !asks_for_own {
        let unknown = with_ids(text, |_| NOBODY.to_owned());
        let answers = [&request, &unknown].map(|request| ask(request));
        let hidden = answers[0]
            .as_ref()
            .map(|answer| others.iter().fold(answer.clone(), |text, id| text.replace(id, NOBODY)));
        assert_eq!(hidden, answers[1], "a foreign and an unknown task look the same");
    }
    let response = ask(&request);
    check_response(&request, response.as_deref());
    let after: Vec<_> = others.iter().map(|id| record(&manager, id)).collect();
    assert_eq!(before, after, "the tasks of the other partition are untouched");
});
