use super::super::fixtures::{created_with, value};
use super::*;

fn refused(creation: &str) -> (&'static str, Option<String>) {
    let error = parse_creation(creation, 1000).unwrap_err();
    (error.reason().name(), error.key().map(str::to_owned))
}

#[test]
fn a_creation_keeps_its_parts() {
    let creation = parse_creation(
        r#" { "endpoint":"\u002fm\"cp", "origin": [ 1.0 , null ], "authorizationPartition":"o\\w", "metadata": {"k" : 1},
            "declaredInputRequests": [ "roots/list", "elicitation/form" ] } "#,
        1000,
    )
    .unwrap()
    .given;
    assert_eq!(creation.endpoint, "/m\"cp");
    assert_eq!(creation.partition.as_deref(), Some("o\\w"));
    assert_eq!(creation.origin, "[ 1.0 , null ]");
    assert_eq!(creation.metadata, Some("{\"k\" : 1}"));
    assert_eq!(creation.declared_input_requests, Some(r#"[ "roots/list", "elicitation/form" ]"#));
}

#[test]
fn what_may_be_absent_may_be_null() {
    for creation in [
        r#"{"endpoint":"","origin":false}"#,
        r#"{"endpoint":"","origin":false,"authorizationPartition":null,"metadata":null,"declaredInputRequests":null}"#,
    ] {
        let creation = parse_creation(creation, 1000).unwrap().given;
        assert_eq!((&*creation.endpoint, creation.partition.as_deref()), ("", None));
        assert_eq!((creation.metadata, creation.declared_input_requests), (None, None));
        assert_eq!(creation.origin, "false");
    }
}

#[test]
fn absent_and_empty_stay_different() {
    let creation = r#"{"endpoint":"/mcp","origin":{},"authorizationPartition":"","metadata":{},"declaredInputRequests":[]}"#;
    let creation = parse_creation(creation, 1000).unwrap().given;
    assert_eq!(creation.partition.as_deref(), Some(""));
    assert_eq!(creation.metadata, Some("{}"));
    assert_eq!(creation.declared_input_requests, Some("[]"));
}

#[test]
fn malformed_creations_are_refused_by_reason_and_member() {
    let long = "x".repeat(1025);
    let cases = [
        (r#"{"origin":{}}"#, "missing_key", Some("endpoint")),
        (r#"{"endpoint":null,"origin":{}}"#, "missing_key", Some("endpoint")),
        (r#"{"endpoint":"/mcp"}"#, "missing_key", Some("origin")),
        (r#"{"endpoint":"/mcp","origin":null}"#, "invalid_value", Some("origin")),
        (r#"{"endpoint":1,"origin":{}}"#, "invalid_value", Some("endpoint")),
        (&format!(r#"{{"endpoint":"{long}","origin":{{}}}}"#), "invalid_value", Some("endpoint")),
        (r#"{"endpoint":"a\u0000","origin":{}}"#, "embedded_nul", Some("endpoint")),
        (
            r#"{"endpoint":"","origin":{},"authorizationPartition":"\u0000"}"#,
            "embedded_nul",
            Some("authorizationPartition"),
        ),
        (
            r#"{"endpoint":"","origin":{},"authorizationPartition":1}"#,
            "invalid_value",
            Some("authorizationPartition"),
        ),
        (r#"{"endpoint":"","origin":{},"metadata":[]}"#, "invalid_value", Some("metadata")),
        (r#"{"endpoint":"","origin":{},"metadata":"m"}"#, "invalid_value", Some("metadata")),
        (r#"{"endpoint":"","origin":{},"taskId":"x"}"#, "unknown_key", Some("taskId")),
        ("[]", "invalid_value", Some("creation")),
        ("", "invalid_json", Some("creation")),
        (r#"{"endpoint":"","endpoint":"","origin":1}"#, "duplicate_key", Some("creation")),
    ];
    for (creation, reason, key) in cases {
        assert_eq!(refused(creation), (reason, key.map(str::to_owned)), "{creation}");
    }
    for declared in [
        "{}",
        "1",
        r#""roots/list""#,
        "[1]",
        "[null]",
        r#"["tools/call"]"#,
        r#"["roots/list","roots/list"]"#,
        r#"["roots/list","roots\/list"]"#,
    ] {
        let creation = format!(r#"{{"endpoint":"","origin":1,"declaredInputRequests":{declared}}}"#);
        let expected = ("invalid_value", Some("declaredInputRequests".to_owned()));
        assert_eq!(refused(&creation), expected, "{declared}");
    }
}

#[test]
fn each_payload_of_a_creation_has_the_limit() {
    let of_length = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
    let creation = |origin: usize, metadata: usize| {
        let value = "y".repeat(metadata - 7);
        format!(r#"{{"endpoint":"/mcp","origin":{},"metadata":{{"":"{value}"}}}}"#, of_length(origin))
    };
    let exact = creation(1000, 1000);
    let exact = parse_creation(&exact, 1000);
    assert_eq!(exact.unwrap().given.metadata.map(str::len), Some(1000));
    assert_eq!(refused(&creation(1001, 100)), ("payload_too_large", Some("origin".to_owned())));
    assert_eq!(refused(&creation(1000, 1001)), ("payload_too_large", Some("metadata".to_owned())));
    let error = parse_creation(&creation(200_000, 100), 1000).unwrap_err();
    assert_eq!(error.limit(), Some(1000));
}

#[test]
fn results_by_shape() {
    for text in ["{}", r#"{"resultType":"complete"}"#, r#"{"resultType":"\u0063omplete","isError":true}"#] {
        assert_eq!(parse_result(&format!(" {text}\n"), 1000).unwrap(), text);
    }
    for text in [
        "[]",
        "null",
        "1",
        r#""x""#,
        r#"{"resultType":"task"}"#,
        r#"{"resultType":"input_required"}"#,
        r#"{"resultType":null}"#,
        r#"{"resultType":1}"#,
    ] {
        let error = parse_result(text, 1000).unwrap_err();
        assert_eq!((error.reason().name(), error.key()), ("invalid_payload", Some("result")), "{text}");
    }
    assert_eq!(parse_result("{} x", 1000).unwrap_err().reason().name(), "invalid_json");
    assert_eq!(parse_result(r#"{"a":"bcd"}"#, 10).unwrap_err().reason().name(), "payload_too_large");
}

#[test]
fn failures_by_shape() {
    for text in [
        r#"{"code":-32603,"message":""}"#,
        r#"{"message":"m","code":0,"data":null,"more":[]}"#,
        r#"{"code":123456789012345678901234567890,"message":"m"}"#,
    ] {
        assert_eq!(parse_failure(text, 1000).unwrap(), text);
    }
    for text in [
        "[]",
        "null",
        "{}",
        r#"{"code":1}"#,
        r#"{"message":"m"}"#,
        r#"{"code":"1","message":"m"}"#,
        r#"{"code":1.0,"message":"m"}"#,
        r#"{"code":1e2,"message":"m"}"#,
        r#"{"code":1E2,"message":"m"}"#,
        r#"{"code":null,"message":"m"}"#,
        r#"{"code":1,"message":null}"#,
        r#"{"code":1,"message":{}}"#,
    ] {
        let error = parse_failure(text, 1000).unwrap_err();
        assert_eq!((error.reason().name(), error.key()), ("invalid_payload", Some("failure")), "{text}");
    }
}

#[test]
fn a_status_message_is_any_text_within_the_limit() {
    for text in ["", " ", "\n\u{1f642}\"\\", &"x".repeat(1000)] {
        assert_eq!(status_message(Some(text), 1000).unwrap().as_deref(), Some(text));
    }
    assert_eq!(status_message(None, 1000).unwrap(), None);
    let error = status_message(Some(&"x".repeat(1001)), 1000).unwrap_err();
    assert_eq!((error.reason().name(), error.key()), ("payload_too_large", Some("status_message")));
    assert_eq!(status_message(Some("a\0"), 1000).unwrap_err().reason().name(), "embedded_nul");
}

#[test]
fn owners_match_exactly() {
    let partitions = [None, Some(""), Some("default"), Some("Default"), Some("default ")];
    for (at, partition) in partitions.iter().enumerate() {
        let given = partition.map_or("null".to_owned(), |partition| format!("\"{partition}\""));
        let row =
            created_with(&format!(r#"{{"endpoint":"/mcp","origin":1,"authorizationPartition":{given}}}"#));
        for (other, asked) in partitions.iter().enumerate() {
            assert_eq!(
                Caller::new("/mcp", *asked).unwrap().owns(&row),
                at == other,
                "{partition:?} {asked:?}"
            );
            for endpoint in ["/mcp/", "/MCP", "", "/mc"] {
                assert!(!Caller::new(endpoint, *asked).unwrap().owns(&row));
            }
        }
    }
    let long = "x".repeat(1025);
    assert_eq!(Caller::new(&long, None).unwrap_err().key(), Some("endpoint"));
    assert_eq!(Caller::new("", Some(&long)).unwrap_err().key(), Some("partition"));
}

#[test]
fn request_ids_are_strings_and_integers() {
    for text in ["1", "-1", "0", "-0", "12345678901234567890123", r#""""#, r#""a\u0000""#] {
        assert!(is_request_id(value(text)), "{text}");
    }
    for text in ["1.0", "1e3", "1E3", "null", "true", "{}", "[]", "0.5"] {
        assert!(!is_request_id(value(text)), "{text}");
    }
}

#[test]
fn rendering_options() {
    let parsed =
        RenderOptions::parse(Some(r#"{"clientCapabilities":{},"subscriptionId":"\u0073"}"#)).unwrap();
    assert!(parsed.capabilities.is_some());
    assert_eq!(parsed.subscription_id, Some(r#""\u0073""#));
    for none in [None, Some("{}"), Some(r#"{"clientCapabilities":null,"subscriptionId":null}"#)] {
        let parsed = RenderOptions::parse(none).unwrap();
        assert!(parsed.capabilities.is_none() && parsed.subscription_id.is_none());
    }
    for (text, key) in [
        (r#"{"clientCapabilities":[]}"#, "clientCapabilities"),
        (r#"{"subscriptionId":1.5}"#, "subscriptionId"),
        (r#"{"subscriptionId":{}}"#, "subscriptionId"),
        (r#"{"subscription":1}"#, "subscription"),
    ] {
        assert_eq!(RenderOptions::parse(Some(text)).err().unwrap().key(), Some(key), "{text}");
    }
}
