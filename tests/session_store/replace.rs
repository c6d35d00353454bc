//! Compare-and-set: what wins, what loses, what is refused.

use taskhold::error::Reason;

use crate::support::{at, change, create, find, member, next, reason, refusal, world};

const MEMBERS: [&str; 13] = [
    "sessionId",
    "endpoint",
    "authorizationPartition",
    "createdAt",
    "lastActivityAt",
    "initialized",
    "initializedNotificationReceived",
    "protocolVersion",
    "clientCapabilities",
    "negotiatedCapabilities",
    "sessionContext",
    "terminatedAt",
    "version",
];

#[test]
fn an_update_is_kept_byte_for_byte_without_the_space_around_it() {
    let (_world, sessions) = world("{}");
    let created = create(&sessions, "s");
    let updated = format!(
        "{{ \"version\" : 7,\n\"terminatedAt\":null, \"sessionContext\":{{\"n\":1.50e+1,\"\\u0061\":\"\\/\"}}, \
         \"negotiatedCapabilities\":{{}},\"clientCapabilities\":{{\"roots\":{{}}}},\
         \"protocolVersion\":\"2025-11-25\",\"initializedNotificationReceived\":true,\"initialized\":true,\
         \"lastActivityAt\":{now},\"createdAt\":{now},\"authorizationPartition\":null,\
         \"endpoint\":\"\\/mcp\",\"sessionId\":\"\\u0073\"}}",
        now = at(0)
    );
    assert!(sessions.replace(&format!("\r\n\t {created} "), &format!(" \n{updated}\t\r ")).unwrap());
    assert_eq!(find(&sessions, "s"), Some(updated));
}

#[test]
fn a_snapshot_is_equal_whatever_its_key_order_spacing_and_escapes() {
    let (_world, sessions) = world("{}");
    let created = sessions
        .create("/mcp", Some(r#"{"sessionId":"s","sessionContext":{"a":{"x":1,"y":[1,2]},"b":"c"}}"#))
        .unwrap()
        .unwrap();
    let now = at(0);
    let reordered = format!(
        r#"{{"version":0, "terminatedAt":null,"sessionContext":{{"\u0062":"\u0063","a":{{"y":[1, 2],"x":1}}}},"negotiatedCapabilities":null,"clientCapabilities":null,"protocolVersion":null,"initializedNotificationReceived":false,"initialized":false,"lastActivityAt":{now},"createdAt":{now},"authorizationPartition":null,"endpoint":"\/mcp","sessionId":"s"}}"#
    );
    for (other, equal) in [
        (reordered.replace("[1, 2]", "[2, 1]"), false),
        (reordered.replace("[1, 2]", "[1, 2.0]"), false),
        (reordered.replace(r#""x":1"#, r#""x":1,"z":null"#), false),
        (reordered.replace("\\u0063", "C"), false),
        (reordered, true),
    ] {
        let updated = next(created.as_str(), &[("initialized", "true")]);
        assert_eq!(sessions.replace(&other, &updated).unwrap(), equal, "{other}");
        let stored = find(&sessions, "s").unwrap();
        assert_eq!(stored, if equal { updated } else { created.as_str().to_owned() });
    }
}

#[test]
fn a_lost_race_changes_nothing() {
    let (_world, sessions) = world("{}");
    let created = create(&sessions, "s");
    let winner = next(&created, &[("protocolVersion", "\"a\"")]);
    assert!(sessions.replace(&created, &winner).unwrap());
    for version in ["1", "2", "100"] {
        let loser = next(&created, &[("protocolVersion", "\"b\""), ("version", version)]);
        assert!(!sessions.replace(&created, &loser).unwrap());
        assert_eq!(find(&sessions, "s").as_deref(), Some(winner.as_str()));
    }
    // The version alone does not make a snapshot the stored one.
    let forged = next(&created, &[("protocolVersion", "\"forged\"")]);
    assert!(!sessions.replace(&forged, &next(&forged, &[])).unwrap());
    assert_eq!(find(&sessions, "s").as_deref(), Some(winner.as_str()));
}

#[test]
fn an_absent_session_is_not_replaced() {
    let (_world, sessions) = world("{}");
    let created = create(&sessions, "s");
    let unknown = created.replace("\"s\"", "\"t\"");
    assert!(!sessions.replace(&unknown, &next(&unknown, &[])).unwrap());
    sessions.delete_by_session_id("s").unwrap();
    assert!(!sessions.replace(&created, &next(&created, &[])).unwrap());
    // A later session with the same id is another one even when its text is the same but for the context.
    sessions.create("/mcp", Some(r#"{"sessionId":"s","sessionContext":{"k":0}}"#)).unwrap().unwrap();
    assert!(!sessions.replace(&created, &next(&created, &[])).unwrap());
}

#[test]
fn what_may_not_change_is_refused_whether_or_not_the_session_is_there() {
    let (_world, sessions) = world("{}");
    create(&sessions, "s");
    let terminated =
        change(&sessions, "s", &[("terminatedAt", &at(0)), ("version", "5"), ("initialized", "true")]);
    let cases = [
        ("sessionId", "\"other\""),
        ("endpoint", "\"\""),
        ("authorizationPartition", "\"\""),
        ("createdAt", &at(1)),
        ("createdAt", &at(-1)),
        ("terminatedAt", "null"),
        ("version", "5"),
        ("version", "4"),
        ("version", "0"),
    ];
    let reordered = {
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&terminated).unwrap();
        serde_json::Value::Object(object.into_iter().rev().collect()).to_string()
    };
    let absent = terminated.replace("\"s\"", "\"absent\"");
    for (key, value) in cases {
        for expected in [&terminated, &reordered, &absent] {
            let updated = next(expected, &[(key, value)]);
            let outcome = sessions.replace(expected, &updated);
            assert_eq!(refusal(outcome), reason(Reason::InvalidReplacement, key), "{key}: {value}");
        }
    }
    assert_eq!(find(&sessions, "s"), Some(terminated));
}

#[test]
fn everything_else_may_change() {
    let (_world, sessions) = world("{}");
    create(&sessions, "s");
    for (key, value) in [
        ("lastActivityAt", at(5).as_str()),
        ("lastActivityAt", &at(-5)),
        ("initialized", "true"),
        ("initializedNotificationReceived", "true"),
        ("protocolVersion", "\"2025-11-25\""),
        ("protocolVersion", "null"),
        ("clientCapabilities", r#"{"roots":{}}"#),
        ("negotiatedCapabilities", "{}"),
        ("sessionContext", r#"{"a":[1,{"b":null}]}"#),
        ("terminatedAt", &at(1)),
        ("terminatedAt", &at(2)),
        ("version", "9223372036854775807"),
    ] {
        let stored = change(&sessions, "s", &[(key, value)]);
        assert_eq!(find(&sessions, "s"), Some(stored), "{key}: {value}");
    }
}

#[test]
fn a_wrong_value_is_refused_by_name_in_either_snapshot() {
    let (_world, sessions) = world("{}");
    let created = create(&sessions, "s");
    let long = format!("\"{}\"", "x".repeat(1025));
    let cases = [
        ("sessionId", "1", Reason::InvalidValue),
        ("sessionId", "null", Reason::InvalidValue),
        ("sessionId", "\" \"", Reason::InvalidIdentifier),
        ("sessionId", &long, Reason::InvalidIdentifier),
        ("endpoint", "null", Reason::InvalidValue),
        ("endpoint", &long, Reason::InvalidValue),
        ("authorizationPartition", "false", Reason::InvalidValue),
        ("authorizationPartition", "\"\\u0000\"", Reason::EmbeddedNul),
        ("createdAt", "null", Reason::InvalidValue),
        ("createdAt", "1700000000000", Reason::InvalidValue),
        ("lastActivityAt", "null", Reason::InvalidValue),
        ("lastActivityAt", "\"\"", Reason::InvalidTimestamp),
        ("lastActivityAt", "\"2023-11-14T22:13:20Z\"", Reason::InvalidTimestamp),
        ("lastActivityAt", "\"2023-11-14T22:13:20.0000Z\"", Reason::InvalidTimestamp),
        ("lastActivityAt", "\"2023-11-14T22:13:20.000+00:00\"", Reason::InvalidTimestamp),
        ("lastActivityAt", "\"2023-11-14t22:13:20.000z\"", Reason::InvalidTimestamp),
        ("lastActivityAt", "\"2023-02-29T22:13:20.000Z\"", Reason::InvalidTimestamp),
        ("initialized", "0", Reason::InvalidValue),
        ("initialized", "null", Reason::InvalidValue),
        ("initializedNotificationReceived", "\"true\"", Reason::InvalidValue),
        ("protocolVersion", "1", Reason::InvalidValue),
        ("clientCapabilities", "[]", Reason::InvalidValue),
        ("negotiatedCapabilities", "\"\"", Reason::InvalidValue),
        ("sessionContext", "null", Reason::InvalidValue),
        ("sessionContext", "[]", Reason::InvalidValue),
        ("terminatedAt", "false", Reason::InvalidValue),
        ("terminatedAt", "\"never\"", Reason::InvalidTimestamp),
        ("version", "null", Reason::InvalidValue),
        ("version", "\"1\"", Reason::InvalidValue),
        ("version", "-1", Reason::InvalidValue),
        ("version", "1.0", Reason::InvalidValue),
        ("version", "1e3", Reason::InvalidValue),
        ("version", "9223372036854775808", Reason::InvalidValue),
        ("version", "99999999999999999999", Reason::InvalidValue),
    ];
    for (key, value, expected) in cases {
        let bad = next(&created, &[(key, value)]);
        assert_eq!(refusal(sessions.replace(&created, &bad)), reason(expected, key), "{key}: {value}");
        // As `expected`, with an update that is well-formed.
        let updated = next(&created, &[]);
        assert_eq!(refusal(sessions.replace(&bad, &updated)), reason(expected, key), "{key}: {value}");
    }
    assert_eq!(find(&sessions, "s"), Some(created));
}

#[test]
fn a_snapshot_has_exactly_its_thirteen_members() {
    let (_world, sessions) = world("{}");
    let created = create(&sessions, "s");
    let updated = next(&created, &[]);
    let object = |text: &str| serde_json::from_str::<serde_json::Map<_, _>>(text).unwrap();
    assert!(object(&created).keys().eq(MEMBERS));
    for key in MEMBERS {
        let mut less = object(&updated);
        less.remove(key);
        let less = serde_json::Value::Object(less).to_string();
        assert_eq!(refusal(sessions.replace(&created, &less)), reason(Reason::MissingKey, key));
        assert_eq!(refusal(sessions.replace(&less, &updated)), reason(Reason::MissingKey, key));
    }
    let more = next(&created, &[("Version", "1")]);
    assert_eq!(refusal(sessions.replace(&created, &more)), reason(Reason::UnknownKey, "Version"));
    assert_eq!(refusal(sessions.replace(&more, &updated)), reason(Reason::UnknownKey, "Version"));
    let twice = updated.replace("\"version\"", "\"version\":1,\"vers\\u0069on\"");
    assert_eq!(refusal(sessions.replace(&created, &twice)), reason(Reason::DuplicateKey, "updated"));
    for text in ["null", "[]", "\"\"", "1"] {
        assert_eq!(refusal(sessions.replace(&created, text)), reason(Reason::InvalidValue, "updated"));
        assert_eq!(refusal(sessions.replace(text, &updated)), reason(Reason::InvalidValue, "expected"));
    }
    assert_eq!(refusal(sessions.replace(&created, "{")), reason(Reason::InvalidJson, "updated"));
    assert_eq!(refusal(sessions.replace("", &updated)), reason(Reason::InvalidJson, "expected"));
    assert_eq!(find(&sessions, "s"), Some(created));
}

#[test]
fn of_two_faults_the_first_argument_is_reported() {
    let (_world, sessions) = world("{}");
    let created = create(&sessions, "s");
    let (first, second) = (next(&created, &[("initialized", "1")]), next(&created, &[("endpoint", "1")]));
    assert_eq!(refusal(sessions.replace(&first, &second)), reason(Reason::InvalidValue, "initialized"));
    assert_eq!(refusal(sessions.replace(&created, &second)), reason(Reason::InvalidValue, "endpoint"));
    // A malformed snapshot goes before a replacement that is not allowed.
    let stale = next(&created, &[("version", "0")]);
    assert_eq!(refusal(sessions.replace(&first, &stale)), reason(Reason::InvalidValue, "initialized"));
}

#[test]
fn versions_may_skip_and_end_at_the_largest() {
    let (_world, sessions) = world("{}");
    create(&sessions, "s");
    let skipped = change(&sessions, "s", &[("version", "41")]);
    assert_eq!(member(&skipped, "version"), 41);
    let last = change(&sessions, "s", &[("version", "9223372036854775807")]);
    let beyond = last.replace("9223372036854775807", "9223372036854775808");
    assert_eq!(refusal(sessions.replace(&last, &beyond)), reason(Reason::InvalidValue, "version"));
    assert_eq!(refusal(sessions.replace(&last, &last)), reason(Reason::InvalidReplacement, "version"));
}

#[test]
fn the_first_termination_frees_the_slot_once() {
    let (_world, sessions) = world(r#"{"concurrentSessionLimit":2}"#);
    create(&sessions, "a");
    create(&sessions, "b");
    change(&sessions, "a", &[("terminatedAt", &at(0))]);
    change(&sessions, "a", &[("terminatedAt", &at(1))]);
    change(&sessions, "a", &[("sessionContext", r#"{"k":1}"#)]);
    create(&sessions, "c");
    assert!(sessions.create("/mcp", None).unwrap().is_none());
    // Nor does its deletion free another.
    sessions.delete_by_session_id("a").unwrap();
    assert!(sessions.create("/mcp", None).unwrap().is_none());
}
