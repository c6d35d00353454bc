//! The payloads that the sequences choose from, each with what the rules say about it.

use serde_json::{Value, json};

/// The kinds of input requests, as `declaredInputRequests` names them.
pub const KINDS: [&str; 4] = ["elicitation/form", "elicitation/url", "sampling/createMessage", "roots/list"];

/// Input requests: text, its kind, and a number that texts of the same meaning share.
pub const REQUESTS: [(&str, usize, u8); 8] = [
    (r#"{"method":"roots/list"}"#, 3, 0),
    (
        r#"{"method":"elicitation/create","params":{"message":"n","requestedSchema":{"type":"object","properties":{}}}}"#,
        0,
        1,
    ),
    (
        r#"{"params":{"requestedSchema":{"properties":{},"type":"object"},"message":"\u006e"},"method":"elicitation/create"}"#,
        0,
        1,
    ),
    (
        r#"{"method":"elicitation/create","params":{"mode":"url","message":"u","elicitationId":"e","url":"https://x.test/"}}"#,
        1,
        2,
    ),
    (r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":10}}"#, 2, 3),
    (r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1e1}}"#, 2, 4),
    (r#"{"method":"roots/list","params":{}}"#, 3, 5),
    (
        r#"{"method":"elicitation/create","params":{"mode":"form","message":"n","requestedSchema":{"type":"object","properties":{}}}}"#,
        0,
        6,
    ),
];

/// The kind and the meaning of an input request.
pub fn request(text: &str) -> (usize, u8) {
    let (_, kind, meaning) = REQUESTS.iter().find(|(known, ..)| *known == text).expect("of the pool");
    (*kind, *meaning)
}

/// Answers, each with the kinds of requests that it matches.
pub const RESPONSES: [(&str, [bool; 4]); 10] = [
    (
        r#"{"action":"accept","content":{"a":"\u0041","n":1.0,"b":true,"l":["x"]}}"#,
        [true, true, false, false],
    ),
    (r#"{"action":"decline"}"#, [true, true, false, false]),
    (r#"{"action":"accept","content":{"a":{}}}"#, [false; 4]),
    (r#"{"action":"perhaps"}"#, [false; 4]),
    (r#"{"role":"assistant","model":"m","content":{"type":"text","text":"t"}}"#, [false, false, true, false]),
    (
        r#"{"role":"user","model":"m","content":[{"type":"text","text":"t"}],"more":1}"#,
        [false, false, true, false],
    ),
    (r#"{"role":"system","model":"m","content":[]}"#, [false; 4]),
    (r#"{"roots":[]}"#, [false, false, false, true]),
    (r#"{"roots":[{"uri":"file:///x","name":"x"}]}"#, [false, false, false, true]),
    (r#"{"roots":[{}]}"#, [false; 4]),
];

/// Keys of input requests.
pub const KEYS: [&str; 6] = ["a", "b", "", " ", "c\u{e9}", "d"];

/// Results, and whether they are results.
pub const RESULTS: [(&str, bool); 6] = [
    (r#"{"content":[],"n":1.00,"s":"\u00e9"}"#, true),
    ("{}", true),
    (r#"{"isError":true,"content":[{"type":"text","text":"no"}]}"#, true),
    (r#"{"resultType":"complete"}"#, true),
    (r#"{"resultType":"task"}"#, false),
    ("[]", false),
];

/// Failures, and whether they are failures.
pub const FAILURES: [(&str, bool); 5] = [
    (r#"{"code":-32000,"message":"no","data":{"b":1,"a":2.50}}"#, true),
    (r#"{"message":"","code":1}"#, true),
    (r#"{"code":1.5,"message":"x"}"#, false),
    (r#"{"code":1}"#, false),
    ("null", false),
];

/// Authorization partitions and owners.
pub const PARTITIONS: [Option<&str>; 4] = [None, Some(""), Some("default"), Some("\u{e9}l")];

/// Client capabilities: the extension, forms, URLs, sampling, roots.
pub fn capabilities(number: u8) -> Value {
    let mut capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    if number & 1 == 0 {
        capabilities["elicitation"] =
            if number & 2 == 0 { json!({"form": {}, "url": {}}) } else { json!({}) };
    }
    if number & 4 == 0 {
        capabilities["sampling"] = json!({});
    }
    if number & 8 == 0 {
        capabilities["roots"] = json!({"listChanged": true});
    }
    if number & 0x30 == 0x30 {
        capabilities["extensions"] = json!({});
    }
    capabilities
}

/// Whether these capabilities declare the extension, and each kind of request.
pub fn declares(capabilities: &Value) -> (bool, [bool; 4]) {
    let elicitation = &capabilities["elicitation"];
    let form = elicitation.as_object().is_some_and(|modes| modes.is_empty() || modes.contains_key("form"));
    (
        capabilities["extensions"].get("io.modelcontextprotocol/tasks").is_some(),
        [
            form,
            elicitation.get("url").is_some(),
            capabilities["sampling"].is_object(),
            capabilities["roots"].is_object(),
        ],
    )
}
