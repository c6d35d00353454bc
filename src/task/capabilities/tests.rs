use super::super::fixtures::{FORM, ROOTS, SAMPLING, URL, asked, created_with, every_state, value};
use super::*;

fn capabilities(text: &str) -> ClientCapabilities<'_> {
    ClientCapabilities::parse(text, 1000).unwrap()
}

#[test]
fn the_extension_is_declared_by_an_object() {
    let declared = [
        r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
        r#"{"extensions":{"x":1,"io.modelcontextprotocol\/tasks":{"later":true}}}"#,
    ];
    let undeclared = [
        "{}",
        r#"{"extensions":{}}"#,
        r#"{"extensions":null}"#,
        r#"{"tasks":{}}"#,
        r#"{"extensions":{"io.modelcontextprotocol/tasks":null}}"#,
        r#"{"extensions":{"io.modelcontextprotocol/tasks":true}}"#,
        r#"{"extensions":["io.modelcontextprotocol/tasks"]}"#,
    ];
    for text in declared {
        assert!(capabilities(text).has_tasks(), "{text}");
    }
    for text in undeclared {
        assert!(!capabilities(text).has_tasks(), "{text}");
    }
    assert!(capabilities(TASKS_REQUIRED).has_tasks(), "what is demanded satisfies the demand");
}

#[test]
fn capabilities_must_be_an_object() {
    for text in ["[]", "null", "1", r#""tasks""#] {
        let error = ClientCapabilities::parse(text, 1000).unwrap_err();
        assert_eq!((error.reason().name(), error.key()), ("invalid_value", Some("client_capabilities")));
        assert!(ClientCapabilities::of(value(text)).is_none());
    }
    assert_eq!(ClientCapabilities::parse("{", 1000).unwrap_err().reason().name(), "invalid_json");
}

#[test]
fn kinds_by_capability() {
    #[rustfmt::skip]
    let cases = [
        ("{}", [false, false, false, false]),
        (r#"{"elicitation":{}}"#, [true, false, false, false]),
        (r#"{"elicitation":{"form":{}}}"#, [true, false, false, false]),
        (r#"{"elicitation":{"url":{}}}"#, [false, true, false, false]),
        (r#"{"elicitation":{"form":{},"url":{}}}"#, [true, true, false, false]),
        (r#"{"elicitation":{"form":null,"url":null},"sampling":null}"#, [true, false, false, false]),
        (r#"{"elicitation":{"form":null,"url":{}}}"#, [false, true, false, false]),
        (r#"{"elicitation":{"other":{}}}"#, [false, false, false, false]),
        (r#"{"elicitation":null,"sampling":true,"roots":[]}"#, [false, false, false, false]),
        (r#"{"sampling":{"tools":{}}}"#, [false, false, true, false]),
        (r#"{"roots":{"listChanged":true}}"#, [false, false, false, true]),
    ];
    for (text, expected) in cases {
        assert_eq!(InputKind::ALL.map(|kind| capabilities(text).supports(kind)), expected, "{text}");
    }
}

#[test]
fn missing_capabilities_have_the_shape_of_capabilities() {
    let request_all = format!("{{\"f\":{FORM},\"u\":{URL},\"s\":{SAMPLING},\"r\":{ROOTS}}}");
    let row = asked(&created_with(r#"{"endpoint":"/mcp","origin":1}"#), &request_all, None);
    let cases = [
        ("{}", r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#),
        (r#"{"elicitation":{}}"#, r#"{"elicitation":{"url":{}},"sampling":{},"roots":{}}"#),
        (r#"{"elicitation":{"url":{}},"roots":{}}"#, r#"{"elicitation":{"form":{}},"sampling":{}}"#),
        (r#"{"elicitation":{"form":{},"url":{}},"sampling":{}}"#, r#"{"roots":{}}"#),
    ];
    for (given, missing) in cases {
        let why = check_delivery(&row, Some(capabilities(given))).unwrap_err();
        assert_eq!(why, Undeliverable::Missing(missing.to_owned()), "{given}");
        let demanded = capabilities(missing);
        for kind in InputKind::ALL {
            let supported = capabilities(given).supports(kind) || demanded.supports(kind);
            assert!(supported, "{given} and {missing} together suffice for {}", kind.name());
        }
    }
    let all = r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;
    assert_eq!(check_delivery(&row, Some(capabilities(all))), Ok(()));
    assert_eq!(check_delivery(&row, None), Ok(()), "unknown capabilities are not checked");
}

#[test]
fn declarations_come_before_capabilities() {
    let declaring = |declared: &str| {
        created_with(&format!(r#"{{"endpoint":"/mcp","origin":1,"declaredInputRequests":{declared}}}"#))
    };
    let request = format!("{{\"f\":{FORM},\"r\":{ROOTS}}}");
    for declared in ["[]", r#"["elicitation/form"]"#, r#"["elicitation/url","roots/list"]"#] {
        let row = asked(&declaring(declared), &request, None);
        assert_eq!(check_delivery(&row, None), Err(Undeliverable::Undeclared), "{declared}");
        let none = Some(capabilities("{}"));
        assert_eq!(check_delivery(&row, none), Err(Undeliverable::Undeclared), "{declared}");
    }
    let row = asked(&declaring(r#"[ "roots/list" , "elicitation\/form" ]"#), &request, None);
    assert_eq!(check_delivery(&row, None), Ok(()));
    let missing = Undeliverable::Missing(r#"{"elicitation":{"form":{}},"roots":{}}"#.to_owned());
    assert_eq!(check_delivery(&row, Some(capabilities("{}"))), Err(missing));
}

#[test]
fn only_outstanding_requests_are_judged() {
    for (state, row) in every_state() {
        let deliverable = check_delivery(&row, Some(capabilities("{}"))).is_ok();
        assert_eq!(deliverable, !state.starts_with("input_required"), "{state}");
    }
    // The answered form of a half answered round is delivered to nobody any more.
    let half = every_state().into_iter().find(|(state, _)| *state == "input_required, untaken").unwrap().1;
    assert_eq!(check_delivery(&half, Some(capabilities(r#"{"roots":{}}"#))), Ok(()));
}
