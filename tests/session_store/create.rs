//! Options, creation, look-ups, deletion.

use taskhold::error::{Reason, Status};
use taskhold::session::SessionStore;
use taskhold::store::Store;

use crate::support::{at, change, create, find, is_there, member, reason, refusal, world};

#[test]
fn options_have_the_documented_defaults_and_null_restores_them() {
    let defaults = r#"{"name":"default","idleTimeoutMs":86400000,"concurrentSessionLimit":8192,"concurrentSessionLimitPerPartition":0,"initializationTimeoutMs":60000,"keepExpired":0}"#;
    for options in [
        None,
        Some("{}"),
        Some(
            r#"{"name":null,"idleTimeoutMs":null,"concurrentSessionLimit":null,"concurrentSessionLimitPerPartition":null,"initializationTimeoutMs":null,"keepExpired":null}"#,
        ),
    ] {
        let sessions = SessionStore::open(&Store::in_memory(), options).unwrap();
        assert_eq!(sessions.options().as_str(), defaults);
    }
    let given = r#"{"name":"a \"b\"","idleTimeoutMs":0,"concurrentSessionLimit":9223372036854775807,"concurrentSessionLimitPerPartition":9223372036854775807,"initializationTimeoutMs":9223372036854,"keepExpired":1000000}"#;
    assert_eq!(SessionStore::open(&Store::in_memory(), Some(given)).unwrap().options().as_str(), given);
}

#[test]
fn a_bad_option_is_refused_by_name() {
    let cases = [
        (r#"{"idleTimeout":1}"#, Reason::UnknownKey, "idleTimeout"),
        (r#"{"idleTimeoutMs":-1}"#, Reason::InvalidValue, "idleTimeoutMs"),
        (r#"{"idleTimeoutMs":1.5}"#, Reason::InvalidValue, "idleTimeoutMs"),
        (r#"{"idleTimeoutMs":9223372036855}"#, Reason::InvalidValue, "idleTimeoutMs"),
        (r#"{"initializationTimeoutMs":9223372036855}"#, Reason::InvalidValue, "initializationTimeoutMs"),
        (r#"{"initializationTimeoutMs":"1"}"#, Reason::InvalidValue, "initializationTimeoutMs"),
        (r#"{"concurrentSessionLimit":9223372036854775808}"#, Reason::InvalidValue, "concurrentSessionLimit"),
        (r#"{"concurrentSessionLimit":true}"#, Reason::InvalidValue, "concurrentSessionLimit"),
        (r#"{"keepExpired":1000001}"#, Reason::InvalidValue, "keepExpired"),
        (r#"{"name":1}"#, Reason::InvalidValue, "name"),
        (r#"{"name":"\u0000"}"#, Reason::EmbeddedNul, "name"),
        ("[]", Reason::InvalidValue, "options"),
        ("{", Reason::InvalidJson, "options"),
    ];
    for (options, expected, key) in cases {
        let outcome = SessionStore::open(&Store::in_memory(), Some(options));
        assert_eq!(refusal(outcome), reason(expected, key), "{options}");
    }
}

#[test]
fn a_new_session_is_uninitialized_and_has_an_id_of_its_own() {
    let (_world, sessions) = world("{}");
    let created = sessions.create("/mcp", None).unwrap().unwrap();
    let id = member(created.as_str(), "sessionId").as_str().unwrap().to_owned();
    assert_eq!(id.len(), 32);
    assert!(id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
    let now = at(0);
    let expected = format!(
        r#"{{"sessionId":"{id}","endpoint":"/mcp","authorizationPartition":null,"createdAt":{now},"lastActivityAt":{now},"initialized":false,"initializedNotificationReceived":false,"protocolVersion":null,"clientCapabilities":null,"negotiatedCapabilities":null,"sessionContext":{{}},"terminatedAt":null,"version":0}}"#
    );
    assert_eq!(created.as_str(), expected);
    assert_eq!(find(&sessions, &id), Some(expected));
    let other = sessions.create("/mcp", None).unwrap().unwrap();
    assert_ne!(member(other.as_str(), "sessionId"), id.as_str());
}

#[test]
fn what_the_host_gave_stands_in_the_snapshot() {
    let (_world, sessions) = world("{}");
    let creation = " {\"sessionContext\": {\"b\" : 1e2, \"a\":[ 0.10 , \"\\u0041\\u0000\"]},\
                    \"authorizationPartition\":\"\\u0065\\\"\\u0001é\", \"sessionId\":\"!\\\"\\\\~\"}\n";
    let created = sessions.create("", Some(creation)).unwrap().unwrap();
    let now = at(0);
    let expected = format!(
        "{{\"sessionId\":\"!\\\"\\\\~\",\"endpoint\":\"\",\"authorizationPartition\":\"e\\\"\\u0001é\",\
         \"createdAt\":{now},\"lastActivityAt\":{now},\"initialized\":false,\
         \"initializedNotificationReceived\":false,\"protocolVersion\":null,\"clientCapabilities\":null,\
         \"negotiatedCapabilities\":null,\"sessionContext\":{{\"b\" : 1e2, \"a\":[ 0.10 , \
         \"\\u0041\\u0000\"]}},\"terminatedAt\":null,\"version\":0}}"
    );
    assert_eq!(created.as_str(), expected);
    assert_eq!(find(&sessions, "!\"\\~"), Some(expected));
    let defaults = r#"{"sessionId":null,"authorizationPartition":null,"sessionContext":null}"#;
    let created = sessions.create("/mcp", Some(defaults)).unwrap().unwrap();
    assert_eq!(member(created.as_str(), "sessionContext"), serde_json::json!({}));
    assert_eq!(member(created.as_str(), "authorizationPartition"), serde_json::Value::Null);
}

#[test]
fn a_session_id_is_visible_ascii() {
    let (_world, sessions) = world("{}");
    let longest = "~".repeat(1024);
    for id in ["!", "~", "0a-_.", longest.as_str()] {
        create(&sessions, id);
        assert!(is_there(&sessions, id));
    }
    let too_long = "a".repeat(1025);
    for id in ["", " ", "a b", "a\n", "a\u{7f}", "a\u{0}", "é", too_long.as_str()] {
        let creation = serde_json::json!({ "sessionId": id }).to_string();
        let outcome = sessions.create("/mcp", Some(&creation));
        assert_eq!(refusal(outcome), reason(Reason::InvalidIdentifier, "sessionId"), "{id:?}");
    }
}

#[test]
fn a_malformed_creation_is_refused_and_uses_no_slot() {
    let (_world, sessions) = world(r#"{"concurrentSessionLimit":1}"#);
    let long = "p".repeat(1025);
    let long_partition = format!(r#"{{"authorizationPartition":"{long}"}}"#);
    let cases = [
        (r#"{"endpoint":"/mcp"}"#, Reason::UnknownKey, "endpoint"),
        (r#"{"sessionId":5}"#, Reason::InvalidValue, "sessionId"),
        (r#"{"authorizationPartition":{}}"#, Reason::InvalidValue, "authorizationPartition"),
        (r#"{"authorizationPartition":"\u0000"}"#, Reason::EmbeddedNul, "authorizationPartition"),
        (long_partition.as_str(), Reason::InvalidValue, "authorizationPartition"),
        (r#"{"sessionContext":[]}"#, Reason::InvalidPayload, "sessionContext"),
        (r#"{"sessionContext":"{}"}"#, Reason::InvalidPayload, "sessionContext"),
        (r#"{"sessionContext":{"a":1,"\u0061":2}}"#, Reason::DuplicateKey, "creation"),
        (r#"{"sessionContext":{"a":"\ud800"}}"#, Reason::LoneSurrogate, "creation"),
        ("null", Reason::InvalidValue, "creation"),
        ("", Reason::InvalidJson, "creation"),
    ];
    for (creation, expected, key) in cases {
        assert_eq!(refusal(sessions.create("/mcp", Some(creation))), reason(expected, key), "{creation}");
    }
    assert_eq!(refusal(sessions.create(&long, None)), reason(Reason::InvalidValue, "endpoint"));
    assert!(sessions.create("/mcp", None).unwrap().is_some());
}

#[test]
fn a_session_that_could_not_be_handed_back_is_not_created() {
    const LIMIT: usize = 10 * 1024 * 1024;
    let (_world, sessions) = world("{}");
    let filler =
        |bytes: usize| format!(r#"{{"sessionId":"s","sessionContext":{{"a":"{}"}}}}"#, "x".repeat(bytes));
    let small = sessions.create("/mcp", Some(&filler(0))).unwrap().unwrap().as_str().len();
    sessions.delete_by_session_id("s").unwrap();
    let error = sessions.create("/mcp", Some(&filler(LIMIT - small + 1))).unwrap_err();
    assert_eq!((error.reason(), error.status()), (Reason::PayloadTooLarge, Status::LimitExceeded));
    assert!(!is_there(&sessions, "s"));
    let largest = sessions.create("/mcp", Some(&filler(LIMIT - small))).unwrap().unwrap();
    assert_eq!(largest.as_str().len(), LIMIT);
    let updated = largest.as_str().replace(r#""version":0"#, r#""version":1"#);
    assert!(sessions.replace(largest.as_str(), &updated).unwrap());
}

#[test]
fn a_taken_id_is_a_conflict_and_the_first_session_stays() {
    let (world, sessions) = world(r#"{"concurrentSessionLimit":1,"idleTimeoutMs":1000}"#);
    let first = create(&sessions, "s");
    let again = |creation| sessions.create("/other", Some(creation));
    // Taken wins over full.
    assert_eq!(refusal(again(r#"{"sessionId":"s"}"#)), reason(Reason::SessionIdInUse, ""));
    assert_eq!(sessions.create("/mcp", Some(r#"{"sessionId":"s"}"#)).unwrap_err().status(), Status::Conflict);
    assert_eq!(find(&sessions, "s"), Some(first));
    let terminated = change(&sessions, "s", &[("terminatedAt", &at(0))]);
    assert_eq!(refusal(again(r#"{"sessionId":"s"}"#)), reason(Reason::SessionIdInUse, ""));
    assert_eq!(find(&sessions, "s"), Some(terminated));
    world.advance(1001);
    assert_eq!(member(&create(&sessions, "s"), "version"), 0);
    sessions.delete_by_session_id("s").unwrap();
    create(&sessions, "s");
}

#[test]
fn a_full_store_declines_and_no_limit_declines_nothing() {
    let (_world, sessions) = world(r#"{"concurrentSessionLimit":2}"#);
    create(&sessions, "a");
    create(&sessions, "b");
    assert!(sessions.create("/mcp", Some(r#"{"sessionId":"c"}"#)).unwrap().is_none());
    assert!(!is_there(&sessions, "c"));
    sessions.delete_by_session_id("a").unwrap();
    create(&sessions, "c");
    assert!(sessions.create("/mcp", None).unwrap().is_none());

    let (_world, sessions) = world(r#"{"concurrentSessionLimit":0}"#);
    assert!((0..10_000).all(|_| sessions.create("/mcp", None).unwrap().is_some()));
}

#[test]
fn stores_with_one_name_share_sessions() {
    let (world, first) = world(r#"{"name":"n"}"#);
    let snapshot = create(&first, "s");
    assert_eq!(find(&world.open(r#"{"name":"n"}"#), "s"), Some(snapshot));
    assert!(!is_there(&world.open("{}"), "s"));
    assert!(!is_there(&world.open(r#"{"name":""}"#), "s"));
}

#[test]
fn a_session_is_given_to_its_endpoint_and_partition_only() {
    let (_world, sessions) = world("{}");
    let partitions = [None, Some(""), Some("default"), Some("a")];
    for (number, partition) in partitions.iter().enumerate() {
        let creation =
            serde_json::json!({ "sessionId": number.to_string(), "authorizationPartition": partition });
        sessions.create("/mcp", Some(&creation.to_string())).unwrap().unwrap();
    }
    for owner in 0..partitions.len() {
        let id = owner.to_string();
        for (caller, partition) in partitions.iter().enumerate() {
            let found = |endpoint| sessions.find_authorized_session(endpoint, *partition, &id).unwrap();
            assert_eq!(found("/mcp").map(|text| text.as_str().to_owned()).is_some(), owner == caller);
            assert!(found("/mcp/").is_none() && found("").is_none() && found("/MCP").is_none());
        }
        let mine = sessions.find_authorized_session("/mcp", partitions[owner], &id).unwrap().unwrap();
        assert_eq!(Some(mine.as_str()), find(&sessions, &id).as_deref());
    }
    assert!(sessions.find_authorized_session("/mcp", None, "unknown").unwrap().is_none());
    let long = "x".repeat(1025);
    assert_eq!(
        refusal(sessions.find_authorized_session(&long, None, "s")),
        reason(Reason::InvalidValue, "endpoint")
    );
    assert_eq!(
        refusal(sessions.find_authorized_session("/mcp", Some(&long), "s")),
        reason(Reason::InvalidValue, "partition")
    );
}

#[test]
fn a_malformed_id_is_refused_by_every_call() {
    let (_world, sessions) = world("{}");
    let too_long = "x".repeat(1025);
    for id in ["", " \t", "a\nb", "a\rb", too_long.as_str()] {
        let expected = reason(Reason::InvalidIdentifier, "session_id");
        assert_eq!(refusal(sessions.find_by_session_id(id)), expected);
        assert_eq!(refusal(sessions.find_authorized_session("/mcp", None, id)), expected);
        assert_eq!(refusal(sessions.delete_by_session_id(id)), expected);
        assert_eq!(refusal(sessions.pin(id)), expected);
        assert_eq!(refusal(sessions.unpin(id)), expected);
    }
    assert!(!is_there(&sessions, "a b"));
    assert!(!is_there(&sessions, "é"));
}

#[test]
fn deleting_is_idempotent() {
    let (_world, sessions) = world("{}");
    sessions.delete_by_session_id("s").unwrap();
    let snapshot = create(&sessions, "s");
    sessions.delete_by_session_id("s").unwrap();
    sessions.delete_by_session_id("s").unwrap();
    assert!(!is_there(&sessions, "s"));
    assert!(!sessions.replace(&snapshot, &crate::support::next(&snapshot, &[])).unwrap());
    assert!(!is_there(&sessions, "s"));
}
