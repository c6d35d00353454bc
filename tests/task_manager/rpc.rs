//! JSON-RPC requests of the tasks extension, in the order in which they are judged.

use taskhold::task::TaskManager;

use crate::support::{
    ACCEPT, FORM, House, ROOTS, found, id_of, json, manager, refusal, revision_of, status_of,
};

const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
const TASKS_AND_FORM: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{}}"#;

fn create(manager: &TaskManager) -> String {
    id_of(&manager.create_task(r#"{"endpoint":"/mcp","origin":{}}"#).unwrap())
}

/// The response to `request`, of a client with the tasks extension.
fn respond(manager: &TaskManager, request: &str) -> Option<String> {
    respond_as(manager, Some(TASKS), request)
}

fn respond_as(manager: &TaskManager, capabilities: Option<&str>, request: &str) -> Option<String> {
    let response = manager.handle_request("/mcp", None, capabilities, request.as_bytes()).unwrap();
    response.map(|response| response.as_str().to_owned())
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
}

fn error(id: &str, code: i32, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

fn missing(required: &str) -> String {
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":-32021,"message":"Missing required client capability","#,
            r#""data":{{"requiredCapabilities":{}}}}}}}"#
        ),
        required
    )
}

#[test]
fn the_three_methods() {
    let (_house, manager) = manager();
    let id = create(&manager);
    let params = format!("{{\"taskId\":\"{id}\"}}");
    let acknowledgement = Some(r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete"}}"#.to_owned());
    let get = respond(&manager, &request("tasks/get", &params)).unwrap();
    assert_eq!(
        get,
        format!(
            concat!(
                r#"{{"jsonrpc":"2.0","id":7,"result":{{"resultType":"complete","taskId":"{}","status":"working","#,
                r#""createdAt":"2025-11-25T10:30:00.000Z","lastUpdatedAt":"2025-11-25T10:30:00.000Z","#,
                r#""ttlMs":3600000,"pollIntervalMs":1000}}}}"#
            ),
            id
        )
    );
    manager.request_task_input(&id, &format!("{{\"a\":{FORM}}}"), None, None).unwrap();
    let update = format!("{{\"taskId\":\"{id}\",\"inputResponses\":{{\"a\":{ACCEPT},\"b\":null}}}}");
    assert_eq!(respond(&manager, &request("tasks/update", &update)), acknowledgement);
    assert_eq!(status_of(&found(&manager, &id)), "working");
    assert_eq!(respond(&manager, &request("tasks/update", &update)), acknowledgement, "once more: ignored");
    assert_eq!(manager.take_task_input_responses(&id, None).unwrap().as_str(), format!("{{\"a\":{ACCEPT}}}"));
    assert_eq!(respond(&manager, &request("tasks/cancel", &params)), acknowledgement);
    assert_eq!(respond(&manager, &request("tasks/cancel", &params)), acknowledgement);
    let record = found(&manager, &id);
    assert_eq!((status_of(&record).as_str(), revision_of(&record)), ("working", 4));
    assert!(manager.is_task_cancelation_requested(&id).unwrap());
    manager.complete_task(&id, "{}", None, None).unwrap();
    assert_eq!(respond(&manager, &request("tasks/cancel", &params)), acknowledgement, "on a finished task");
    assert_eq!(respond(&manager, &request("tasks/update", &update)), acknowledgement);
}

#[test]
fn texts_that_are_no_requests() {
    let (_house, manager) = manager();
    let parse_error = Some(error("null", -32700, "Parse error"));
    let deep = format!("{}{}", "[".repeat(129), "]".repeat(129));
    for text in
        ["", " ", "{", "nul", "{\"id\":1,}", "\u{feff}{}", r#"{"id":1,"id":1}"#, r#"{"id":"\ud800"}"#, &deep]
    {
        assert_eq!(respond(&manager, text), parse_error, "{text}");
    }
    let response = manager.handle_request("/mcp", None, None, b"{\"id\":\"\xff\"}").unwrap().unwrap();
    assert_eq!(Some(response.as_str().to_owned()), parse_error, "invalid UTF-8");

    let invalid = |id: &str| Some(error(id, -32600, "Invalid request"));
    for (text, id) in [
        ("{}", "null"),
        ("[]", "null"),
        ("null", "null"),
        ("\"tasks/get\"", "null"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"tasks/get"}]"#, "null"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"tasks/get"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"tasks/get"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":1e3,"method":"tasks/get"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"tasks/get"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"tasks/get"}"#, "null"),
        (r#"{"jsonrpc":"1.0","id":5,"method":"tasks/get"}"#, "5"),
        (r#"{"jsonrpc":2.0,"id":5,"method":"tasks/get"}"#, "5"),
        (r#"{"id":"\u0061","method":"tasks/get"}"#, r#""\u0061""#),
        (r#"{"jsonrpc":"2.0","id":5}"#, "5"),
        (r#"{"jsonrpc":"2.0","id":5,"method":null}"#, "5"),
        (r#"{"jsonrpc":"2.0","id":5,"result":{}}"#, "5"),
        (r#"{"jsonrpc":"2.0","method":1}"#, "null"),
        (r#"{"method":"tasks/get"}"#, "null"),
    ] {
        assert_eq!(respond(&manager, text), invalid(id), "{text}");
    }
}

#[test]
fn ids_come_back_byte_for_byte() {
    let (_house, manager) = manager();
    for id in ["0", "-0", "-12", "123456789012345678901234567890", r#""""#, r#""\u0000\/""#, "\"\u{e4}\""] {
        let text = format!(r#" {{ "id" : {id} , "method":"x", "jsonrpc":"\u0032.0" }} "#);
        assert_eq!(respond(&manager, &text), Some(error(id, -32601, "Method not found")));
    }
}

#[test]
fn a_notification_executes_nothing() {
    let (_house, manager) = manager();
    let id = create(&manager);
    for method in ["tasks/cancel", "tasks/get", "notifications/cancelled", "x"] {
        for params in [format!("{{\"taskId\":\"{id}\"}}"), "[]".to_owned(), "1".to_owned()] {
            let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
            assert_eq!(respond(&manager, &text), None);
        }
    }
    assert!(!manager.is_task_cancelation_requested(&id).unwrap());
}

#[test]
fn methods_come_before_the_extension_and_the_extension_before_parameters() {
    let (_house, manager) = manager();
    for method in ["tasks/list", "tasks/result", "tools/call", "", "tasks/GET"] {
        let response = respond_as(&manager, None, &request(method, "[]"));
        assert_eq!(response, Some(error("7", -32601, "Method not found")), "{method}");
    }
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for (capabilities, params) in [
            (None, "[]"),
            (None, r#"{"taskId":"x"}"#),
            (None, r#"{"_meta":null}"#),
            (None, r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":null}}"#),
            (None, r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":[]}}"#),
            (None, r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{}}}}"#),
            (Some("{}"), "[]"),
            // The argument wins over what the request says.
            (
                Some(r#"{"elicitation":{}}"#),
                r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#,
            ),
        ] {
            let response = respond_as(&manager, capabilities, &request(method, params));
            assert_eq!(response, Some(missing(TASKS)), "{method} {params}");
        }
        let bare = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}"}}"#);
        assert_eq!(respond_as(&manager, None, &bare), Some(missing(TASKS)));
        assert_eq!(respond(&manager, &bare), Some(error("7", -32602, "Invalid params")));
    }
    let id = create(&manager);
    let own = format!(
        r#"{{"taskId":"{id}","_meta":{{"io.modelcontextprotocol/clientCapabilities":{TASKS},"progressToken":1}},"more":2}}"#
    );
    let response = respond_as(&manager, None, &request("tasks/get", &own)).unwrap();
    assert!(response.contains("\"status\":\"working\""), "{response}");
}

#[test]
fn parameters() {
    let house = House::new();
    let manager = house.manager(r#"{"maximumPayloadBytes":100}"#);
    let id = create(&manager);
    let invalid = Some(error("7", -32602, "Invalid params"));
    let long = format!("{{\"taskId\":\"{}\"}}", "x".repeat(1025));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for params in [
            "[]",
            "null",
            "1",
            "\"x\"",
            "{}",
            r#"{"taskId":null}"#,
            r#"{"taskId":1}"#,
            r#"{"taskId":""}"#,
            r#"{"taskId":" "}"#,
            r#"{"taskId":"a\n"}"#,
            r#"{"taskId":"a\u0000"}"#,
            &long,
        ] {
            assert_eq!(respond(&manager, &request(method, params)), invalid, "{method} {params}");
        }
    }
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(93));
    for responses in ["null", "[]", "1", "\"x\"", &large] {
        let params = format!("{{\"taskId\":\"{id}\",\"inputResponses\":{responses}}}");
        assert_eq!(respond(&manager, &request("tasks/update", &params)), invalid, "{responses}");
        let unknown = format!("{{\"taskId\":\"nobody\",\"inputResponses\":{responses}}}");
        assert_eq!(respond(&manager, &request("tasks/update", &unknown)), invalid, "{responses}");
    }
    let absent = format!("{{\"taskId\":\"{id}\"}}");
    assert_eq!(respond(&manager, &request("tasks/update", &absent)), invalid);
    let exact = format!("{{\"taskId\":\"{id}\",\"inputResponses\":{{\"a\":\"{}\"}}}}", "x".repeat(92));
    assert!(respond(&manager, &request("tasks/update", &exact)).unwrap().contains("result"));
    // What a request says beside the payload does not count against the payload's limit.
    let chatty = format!("{{\"taskId\":\"{id}\",\"more\":\"{}\"}}", "x".repeat(5000));
    assert!(respond(&manager, &request("tasks/get", &chatty)).unwrap().contains("working"));
}

#[test]
fn the_task_comes_before_what_may_be_delivered() {
    let (_house, manager) = manager();
    let not_found = Some(error("7", -32602, "Task not found"));
    let unknown = r#"{"taskId":"786512e2-9e0d-44bd-8f29-789f320fe840","inputResponses":{}}"#;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        assert_eq!(respond(&manager, &request(method, unknown)), not_found);
    }
    let creation =
        r#"{"endpoint":"/mcp","origin":{},"declaredInputRequests":["elicitation/form","elicitation/url"]}"#;
    let id = id_of(&manager.create_task(creation).unwrap());
    let get = request("tasks/get", &format!("{{\"taskId\":\"{id}\"}}"));
    let url = r#"{"method":"elicitation/create","params":{"mode":"url"}}"#;
    manager.request_task_input(&id, &format!("{{\"f\":{FORM},\"u\":{url}}}"), None, None).unwrap();
    let cases = [
        (TASKS, Some(r#"{"elicitation":{"form":{},"url":{}}}"#)),
        (TASKS_AND_FORM, Some(r#"{"elicitation":{"url":{}}}"#)),
        (
            r#"{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{"url":{}}}"#,
            Some(r#"{"elicitation":{"form":{}}}"#),
        ),
        (r#"{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{"form":{},"url":{}}}"#, None),
    ];
    for (capabilities, required) in cases {
        let response = respond_as(&manager, Some(capabilities), &get).unwrap();
        match required {
            Some(required) => assert_eq!(response, missing(required)),
            None => assert!(response.contains("\"inputRequests\":{\"f\":"), "{response}"),
        }
    }
    let cancel = request("tasks/cancel", &format!("{{\"taskId\":\"{id}\"}}"));
    assert!(respond(&manager, &cancel).unwrap().contains("complete"), "only tasks/get delivers requests");

    manager.request_task_input(&id, &format!("{{\"r\":{ROOTS}}}"), None, None).unwrap();
    let before = found(&manager, &id);
    let everything = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{"form":{},"url":{}},"roots":{}}"#;
    for capabilities in [TASKS, everything] {
        let response = respond_as(&manager, Some(capabilities), &get);
        assert_eq!(response, Some(error("7", -32603, "Internal error")), "an undeclared kind");
    }
    assert_eq!(found(&manager, &id).as_str(), before.as_str(), "a failed read changes nothing");
    manager.mark_task_working(&id, None, None).unwrap();
    assert!(respond(&manager, &get).unwrap().contains("\"status\":\"working\""));
}

#[test]
fn malformed_capabilities_are_the_callers_fault() {
    let (_house, manager) = manager();
    let call = |capabilities| manager.handle_request("/mcp", None, Some(capabilities), b"{");
    let expected = ("invalid_argument", "invalid_value", Some("client_capabilities".to_owned()));
    for capabilities in ["[]", "null", "1"] {
        assert_eq!(refusal(call(capabilities)), expected);
    }
    assert_eq!(refusal(call("{")).1, "invalid_json");
    let endpoint = "x".repeat(1025);
    assert_eq!(refusal(manager.handle_request(&endpoint, None, None, b"{}")).1, "invalid_value");
}

#[test]
fn what_a_get_tells_is_what_is_rendered() {
    let (_house, manager) = manager();
    let creation = r#"{"endpoint":"/mcp","origin":{},"metadata":{ "k" : "\u0000" }}"#;
    let id = id_of(&manager.create_task(creation).unwrap());
    let result = r#"{ "content":[ ] , "isError" : true, "n":1e400 }"#;
    manager.complete_task(&id, result, Some("d\u{f6}ne"), None).unwrap();
    let get = respond(&manager, &request("tasks/get", &format!("{{\"taskId\":\"{id}\"}}"))).unwrap();
    let rendered =
        manager.render_task("/mcp", None, &id, taskhold::task::Rendering::GetResult, None).unwrap().0;
    assert_eq!(get, format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, rendered.as_str()));
    assert!(get.contains(&format!(",\"result\":{result},\"_meta\":{{ \"k\" : \"\\u0000\" }}}}")), "{get}");
    assert_eq!(json(&rendered)["statusMessage"], "d\u{f6}ne");
}
