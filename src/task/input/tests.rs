use super::super::fixtures::{FORM, ROOTS, SAMPLING, URL, value};
use super::*;

#[test]
fn requests_by_shape() {
    let cases = [
        (FORM, Some("elicitation/form")),
        (URL, Some("elicitation/url")),
        (SAMPLING, Some("sampling/createMessage")),
        (ROOTS, Some("roots/list")),
        (r#"{"method":"roots/list","params":{}}"#, Some("roots/list")),
        (r#"{"method":"elicitation/create","params":{"mode":"form"}}"#, Some("elicitation/form")),
        (r#"{"method":"elicitation\u002fcreate","params":{"mode":"\u0075rl"}}"#, Some("elicitation/url")),
        (r#"{"method":"roots/list","more":1}"#, Some("roots/list")),
        (r#"{"method":"elicitation/create","params":{"mode":"voice"}}"#, None),
        (r#"{"method":"elicitation/create","params":{"mode":null}}"#, None),
        (r#"{"method":"elicitation/create","params":{"mode":1}}"#, None),
        (r#"{"method":"elicitation/create"}"#, None),
        (r#"{"method":"elicitation/create","params":[]}"#, None),
        (r#"{"method":"sampling/createMessage"}"#, None),
        (r#"{"method":"sampling/createMessage","params":null}"#, None),
        (r#"{"method":"roots/list","params":null}"#, None),
        (r#"{"method":"roots/list","params":[]}"#, None),
        (r#"{"method":"tools/call","params":{}}"#, None),
        (r#"{"method":1,"params":{}}"#, None),
        (r#"{"params":{}}"#, None),
        ("{}", None),
        ("[]", None),
        ("null", None),
        (r#""roots/list""#, None),
    ];
    for (request, kind) in cases {
        assert_eq!(InputKind::of_request(value(request)).map(InputKind::name), kind, "{request}");
    }
}

#[test]
fn responses_by_shape() {
    use InputKind::{ElicitationForm, ElicitationUrl, Roots, Sampling};
    let cases: [(&[InputKind], &str, bool); 50] = [
        (&[ElicitationForm, ElicitationUrl], r#"{"action":"accept"}"#, true),
        (&[ElicitationForm, ElicitationUrl], r#"{"action":"decline","_meta":{}}"#, true),
        (&[ElicitationForm, ElicitationUrl], r#"{"action":"\u0063ancel"}"#, true),
        (&[ElicitationForm], r#"{"action":"accept","content":{}}"#, true),
        (&[ElicitationForm], r#"{"action":"accept","content":{"a":"s","b":1.5e3,"c":true,"d":["x"]}}"#, true),
        (&[ElicitationForm], r#"{"action":"accept","content":{"d":[]}}"#, true),
        (&[ElicitationForm], r#"{"action":"decline","content":{"a":""}}"#, true),
        (&[ElicitationForm, ElicitationUrl], r#"{"action":"decline","content":null,"_meta":null}"#, true),
        (&[ElicitationForm], r#"{"action":null,"content":null}"#, false),
        (&[ElicitationForm], r#"{"action":"accept","content":{"a":null}}"#, true),
        (&[ElicitationForm], r#"{"action":"accept","content":{"a":{}}}"#, false),
        (&[ElicitationForm], r#"{"action":"accept","content":{"a":[1]}}"#, false),
        (&[ElicitationForm], r#"{"action":"accept","content":{"a":["x",null]}}"#, false),
        (&[ElicitationForm], r#"{"action":"accept","content":[]}"#, false),
        (&[ElicitationForm], r#"{"action":"accept","content":null}"#, true),
        (&[ElicitationForm], r#"{"action":"accept","content":"x"}"#, false),
        (&[ElicitationForm], r#"{"action":"Accept"}"#, false),
        (&[ElicitationForm], r#"{"action":true}"#, false),
        (&[ElicitationForm], r#"{"content":{}}"#, false),
        (&[Sampling], r#"{"role":"user","model":"m","content":{"type":"text","text":"t"}}"#, true),
        (&[Sampling], r#"{"role":"assistant","model":"","content":[{"type":"text"},{"type":"x"}]}"#, true),
        (&[Sampling], r#"{"role":"assistant","model":"m","content":[],"stopReason":"endTurn"}"#, true),
        (&[Sampling], r#"{"role":"system","model":"m","content":[]}"#, false),
        (&[Sampling], r#"{"model":"m","content":[]}"#, false),
        (&[Sampling], r#"{"role":"user","content":[]}"#, false),
        (&[Sampling], r#"{"role":"user","model":1,"content":[]}"#, false),
        (&[Sampling], r#"{"role":"user","model":"m"}"#, false),
        (&[Sampling], r#"{"role":"user","model":"m","content":"t"}"#, false),
        (&[Sampling], r#"{"role":"user","model":"m","content":null}"#, false),
        (&[Sampling], r#"{"role":"user","model":"m","content":{}}"#, false),
        (&[Sampling], r#"{"role":"user","model":"m","content":{"type":1}}"#, false),
        (&[Sampling], r#"{"role":"user","model":"m","content":["t"]}"#, false),
        (&[Sampling], r#"{"role":"user","model":"m","content":[{"type":"text"},{}]}"#, false),
        (&[Roots], r#"{"roots":[]}"#, true),
        (&[Roots], r#"{"roots":[{"uri":"file:///a"},{"uri":"","name":"n"}],"_meta":{}}"#, true),
        (&[Roots], r#"{"roots":[{"uri":1}]}"#, false),
        (&[Roots], r#"{"roots":[{"name":"n"}]}"#, false),
        (&[Roots], r#"{"roots":["file:///a"]}"#, false),
        (&[Roots], r#"{"roots":[[]]}"#, false),
        (&[Roots], r#"{"roots":{}}"#, false),
        (&[Roots], r#"{"roots":null}"#, false),
        (&InputKind::ALL, "{}", false),
        (&InputKind::ALL, "[]", false),
        (&InputKind::ALL, "null", false),
        (&InputKind::ALL, r#""accept""#, false),
        (&InputKind::ALL, "1", false),
        // Another variant's answer fits no request of this one.
        (&[Sampling, Roots], r#"{"action":"accept"}"#, false),
        (&[ElicitationForm, ElicitationUrl, Roots], r#"{"role":"user","model":"m","content":[]}"#, false),
        (&[ElicitationForm, ElicitationUrl, Sampling], r#"{"roots":[]}"#, false),
        (&InputKind::ALL, r#"["action","accept"]"#, false),
    ];
    for (kinds, response, fits) in cases {
        for kind in kinds {
            assert_eq!(kind.is_answered_by(value(response)), fits, "{} {response}", kind.name());
        }
    }
}

#[test]
fn a_map_of_requests_keeps_its_texts() {
    let requests = parse_requests(&format!("{{ \"\\u0061\" : {FORM} , \"\": {ROOTS} }}"), 1000).unwrap();
    let spelled: Vec<_> = requests.iter().map(|member| (&*member.key, &*member.value)).collect();
    assert_eq!(spelled, [("\"\\u0061\"", FORM), ("\"\"", ROOTS)]);
    assert_eq!(requests.iter().map(decoded_key).collect::<Vec<_>>(), ["a", ""]);
}

#[test]
fn maps_of_requests_and_responses_are_refused_by_reason() {
    let refused = |text: &str| {
        let error = parse_requests(text, 100).unwrap_err();
        (error.reason().name(), error.key().map(str::to_owned))
    };
    let key = Some("input_requests".to_owned());
    assert_eq!(refused("{}"), ("empty_input_requests", key.clone()));
    for text in ["[]", "null", "1", r#""a""#, r#"{"a":{}}"#, r#"{"a":{"method":"roots/list"},"b":1}"#] {
        assert_eq!(refused(text), ("invalid_payload", key.clone()), "{text}");
    }
    assert_eq!(refused("{").0, "invalid_json");
    assert_eq!(refused(&format!("{{\"a\":{ROOTS},\"\\u0061\":{ROOTS}}}")).0, "duplicate_key");
    assert_eq!(refused(&format!("{{\"{}\":1}}", "k".repeat(100))).0, "payload_too_large");

    for text in ["[]", "null", "1", r#""a""#] {
        let error = parse_responses(text, 100).unwrap_err();
        assert_eq!((error.reason().name(), error.key()), ("invalid_payload", Some("input_responses")));
    }
    assert!(parse_responses(" {\"a\":null} ", 100).is_ok());
}
