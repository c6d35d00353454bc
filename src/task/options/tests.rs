use super::*;

#[test]
fn defaults_and_what_restores_them() {
    let defaults = concat!(
        r#"{"name":"default","maximumRetainedTasks":1024,"maximumRetainedTasksPerPartition":0,"taskTimeToLiveMs":3600000,"#,
        r#""pollIntervalMs":1000,"maximumPayloadBytes":10485760}"#
    );
    let nulls = concat!(
        r#"{"name":null,"maximumRetainedTasks":null,"maximumRetainedTasksPerPartition":null,"taskTimeToLiveMs":null,"#,
        r#""pollIntervalMs":null,"maximumPayloadBytes":null}"#
    );
    for text in [None, Some("{}"), Some(nulls)] {
        assert_eq!(ManagerOptions::parse(text, true).unwrap().to_json().as_str(), defaults);
        let unlimited = defaults.replace("1024", "0");
        assert_eq!(ManagerOptions::parse(text, false).unwrap().to_json().as_str(), unlimited);
    }
    let again = ManagerOptions::parse(Some(defaults), true).unwrap();
    assert_eq!(again, ManagerOptions::parse(None, true).unwrap(), "given out as they are taken");
    let given = r#"{"name":"a\"b","maximumRetainedTasks":1,"maximumRetainedTasksPerPartition":6,"taskTimeToLiveMs":2,"pollIntervalMs":3,"maximumPayloadBytes":4}"#;
    assert_eq!(ManagerOptions::parse(Some(given), true).unwrap().to_json().as_str(), given);
}

#[test]
fn bounds() {
    let limit = |text: &str, requires_limit| {
        ManagerOptions::parse(Some(text), requires_limit).map(|options| options.maximum_retained_tasks)
    };
    assert_eq!(limit(r#"{"maximumRetainedTasks":0}"#, false).unwrap(), None);
    assert_eq!(limit(r#"{"maximumRetainedTasks":7}"#, false).unwrap(), Some(7));
    assert_eq!(limit(r#"{"maximumRetainedTasks":9223372036854775807}"#, true).unwrap(), Some(MAXIMUM_COUNT));
    let longest = format!(r#"{{"taskTimeToLiveMs":{MAXIMUM_DURATION_MS},"pollIntervalMs":1}}"#);
    assert_eq!(ManagerOptions::parse(Some(&longest), true).unwrap().task_time_to_live_ms, 9_223_372_036_854);

    for key in ["maximumRetainedTasks", "taskTimeToLiveMs", "pollIntervalMs", "maximumPayloadBytes"] {
        for value in ["0", "-1", "1.5", "1e3", "\"1\"", "true", "[]", "99999999999999999999"] {
            let error = ManagerOptions::parse(Some(&format!(r#"{{"{key}":{value}}}"#)), true).unwrap_err();
            assert_eq!((error.reason().name(), error.key()), ("invalid_value", Some(key)), "{value}");
        }
    }
    for key in ["taskTimeToLiveMs", "pollIntervalMs"] {
        let text = format!(r#"{{"{key}":{}}}"#, MAXIMUM_DURATION_MS + 1);
        assert_eq!(ManagerOptions::parse(Some(&text), true).unwrap_err().key(), Some(key));
    }
    let unknown = ManagerOptions::parse(Some(r#"{"ttl":1}"#), true).unwrap_err();
    assert_eq!((unknown.reason().name(), unknown.key()), ("unknown_key", Some("ttl")));
    assert_eq!(ManagerOptions::parse(Some("[]"), true).unwrap_err().reason().name(), "invalid_value");
}

#[test]
fn options_of_calls() {
    let given = r#"{"expectedRevision":3,"unlessCancelationRequested":true}"#;
    let expected = Preconditions {
        expected_revision: Some(3),
        unless_cancelation_requested: true,
        ..Preconditions::default()
    };
    assert_eq!(update_options(Some(given)).unwrap(), expected);
    let marking = |text: &str| MarkingOptions::parse(Some(text), 1000);
    assert_eq!(marking(given).unwrap().preconditions, expected);
    for none in [None, Some("{}"), Some(r#"{"expectedRevision":null}"#)] {
        assert_eq!(update_options(none).unwrap(), Preconditions::default());
    }
    let keys = marking(r#"{"withdrawInputRequests":["\u0061","",""]}"#).unwrap().withdraw;
    assert_eq!(keys, Some(vec!["a".to_owned(), String::new(), String::new()]));
    assert_eq!(marking(r#"{"withdrawInputRequests":[]}"#).unwrap().withdraw, Some(vec![]));
    assert_eq!(marking(r#"{"withdrawInputRequests":null}"#).unwrap().withdraw, None);

    for value in ["0", "-1", "1.5", "\"3\"", "{}"] {
        let error = update_options(Some(&format!(r#"{{"expectedRevision":{value}}}"#))).unwrap_err();
        assert_eq!((error.reason().name(), error.key()), ("invalid_value", Some(EXPECTED_REVISION)));
    }
    for value in ["1", "\"true\"", "[]"] {
        let text = format!(r#"{{"unlessCancelationRequested":{value}}}"#);
        assert_eq!(update_options(Some(&text)).unwrap_err().key(), Some(UNLESS_CANCELATION_REQUESTED));
    }
    for value in ["\"a\"", "{}", "[1]", "[null]", "true"] {
        let text = format!(r#"{{"withdrawInputRequests":{value}}}"#);
        assert_eq!(marking(&text).unwrap_err().key(), Some(WITHDRAW_INPUT_REQUESTS));
    }
    let withdraw = Some(r#"{"withdrawInputRequests":[]}"#);
    assert_eq!(update_options(withdraw).unwrap_err().reason().name(), "unknown_key");
}
