use super::super::fixtures::{
    ANY, FORM, ROOTS, answered, asked, at, created, created_with, ended, every_state, put, text,
};
use super::super::transitions::{self, Ending};
use super::*;

const ID: &str = "786512e2-9e0d-44bd-8f29-789f320fe840";

/// The members of a task that never change in these tests.
fn task(status: &str, updated: &str, payload: &str) -> String {
    format!(
        concat!(
            r#""taskId":"{}","status":{},"createdAt":"2025-11-25T10:30:00.000Z","#,
            r#""lastUpdatedAt":"2025-11-25T10:30:{}.000Z","ttlMs":3600000,"pollIntervalMs":1000{}"#
        ),
        ID, status, updated, payload
    )
}

#[test]
fn records() {
    let tail =
        r#","endpoint":"/mcp","authorizationPartition":null,"origin":{},"cancelationRequested":false}"#;
    let requests = format!(r#","inputRequests":{{"a":{FORM},"b":{ROOTS}}}"#);
    let expected = [
        (1, task(r#""working""#, "00", "")),
        (3, task(r#""working""#, "02", "")),
        (2, task(r#""input_required","statusMessage":"two questions""#, "01", &requests)),
        (
            3,
            task(
                r#""input_required","statusMessage":"two questions""#,
                "02",
                &format!(r#","inputRequests":{{"b":{ROOTS}}}"#),
            ),
        ),
        (4, task(r#""completed""#, "03", r#","result":{"content":[]}"#)),
        (3, task(r#""failed""#, "03", r#","error":{"code":-32603,"message":"x"}"#)),
        (2, task(r#""cancelled""#, "03", "")),
    ];
    for ((state, row), (revision, task)) in every_state().into_iter().zip(expected) {
        let expected = format!(r#"{{"task":{{{task}}},"revision":{revision}{tail}"#);
        assert_eq!(record(&row).as_str(), expected, "{state}");
        let get = format!(r#"{{"resultType":"complete",{task}}}"#);
        assert_eq!(rendering(&row, Rendering::GetResult, None).as_str(), get, "{state}");
        let notification =
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{{{task}}}}}"#);
        assert_eq!(rendering(&row, Rendering::Notification, None).as_str(), notification, "{state}");
        let mut without_payload = Text::with_capacity(0);
        push_record(&mut without_payload, &row, false);
        let short = &task[..task.find(",\"pollIntervalMs\":1000").unwrap() + 22];
        assert_eq!(without_payload.as_str(), format!(r#"{{"task":{{{short}}},"revision":{revision}{tail}"#));
        let create = format!(r#"{{"resultType":"task",{short}}}"#);
        assert_eq!(rendering(&row, Rendering::CreateResult, None).as_str(), create, "{state}");
    }
}

#[test]
fn a_text_is_allocated_once() {
    let longest = TaskRow {
        revision: u64::MAX,
        ttl_ms: i64::MAX,
        poll_interval_ms: i64::MAX,
        status: TaskStatus::InputRequired,
        status_message: Some(text(&"\u{1}".repeat(500))),
        ..created()
    };
    for (state, row) in every_state().into_iter().chain([("the longest", longest)]) {
        let allocated = Text::HEADER + room(&row) + Payload::of(&row).room() + 1;
        assert_eq!(record(&row).into_block().unwrap().capacity(), allocated, "{state}");
        for shape in [Rendering::CreateResult, Rendering::GetResult, Rendering::Notification] {
            let allocated = Text::HEADER + client_room(&row, Some("\"s\"")) + 1;
            let block = rendering(&row, shape, Some("\"s\"")).into_block().unwrap();
            assert_eq!(block.capacity(), allocated, "{state}");
        }
    }
}

#[test]
fn revisions_of_every_length() {
    for revision in [1, 9, 10, 99, 100, 12_345, u64::MAX] {
        let text = record(&TaskRow { revision, ..created() });
        assert!(
            text.as_str().contains(&format!(r#""pollIntervalMs":1000}},"revision":{revision},"endpoint""#))
        );
    }
}

#[test]
fn payloads_and_messages_pass_unchanged() {
    let row = created_with(
        r#"{"endpoint":"/m\"","origin":{ "n": 1.50e0 },"authorizationPartition":"\u00e4\t","metadata":{ },"declaredInputRequests":[ ]}"#,
    );
    let result = r#"{ "\u0000" : [1.0, -0, 1e400] , "b":"\ud83d\ude42" }"#;
    let message = text("line\nbreak \"quoted\" \u{1} \u{1f642}");
    let row = put(transitions::end(&row, Ending::Completed(result), Some(&message), ANY, at(1)));
    let row = TaskRow { cancelation_requested: true, ..row };
    let text = record(&row);
    assert!(text.as_str().contains(&format!(",\"result\":{result}}},\"revision\":2,")));
    assert!(text.as_str().contains(r#","statusMessage":"line\nbreak \"quoted\" \u0001 🙂","#));
    let end = concat!(
        r#","endpoint":"/m\"","authorizationPartition":"ä\t","origin":{ "n": 1.50e0 },"metadata":{ },"#,
        r#""declaredInputRequests":[ ],"cancelationRequested":true}"#
    );
    assert!(text.as_str().ends_with(end), "{}", text.as_str());
    let get = rendering(&row, Rendering::GetResult, None);
    assert!(!get.as_str().contains("_meta"), "empty metadata says nothing");
}

#[test]
fn keys_of_requests_stay_as_they_were_spelled() {
    let row = asked(&created(), &format!(r#"{{ "\u0061" : {FORM} , "": {ROOTS} }}"#), None);
    let requests = format!(r#","inputRequests":{{"\u0061":{FORM},"":{ROOTS}}}"#);
    assert!(record(&row).as_str().contains(&requests));
    let left = answered(&row, r#"{"a":{"action":"accept"}}"#);
    assert!(record(&left).as_str().contains(&format!(r#","inputRequests":{{"":{ROOTS}}}"#)));
}

#[test]
fn metadata_and_the_subscription_id_share_a_member() {
    let row = |metadata: &str| {
        let creation = format!(r#"{{"endpoint":"/mcp","origin":1,"metadata":{metadata}}}"#);
        ended(&created_with(&creation), Ending::Completed("{}"))
    };
    let meta = |row: &TaskRow, shape, id: Option<&str>| {
        let text = rendering(row, shape, id).as_str().to_owned();
        text.find(",\"_meta\":").map(|at| text[at..].to_owned())
    };
    let key = r#""io.modelcontextprotocol/subscriptionId""#;
    let spaced = row(r#"{ "k" : 1 , "l":[] }"#);
    let expected = r#","_meta":{ "k" : 1 , "l":[] }}"#.to_owned();
    assert_eq!(
        meta(&spaced, Rendering::CreateResult, Some("1")),
        Some(expected.clone()),
        "for notifications only"
    );
    assert_eq!(meta(&spaced, Rendering::GetResult, Some("1")), Some(expected.clone()));
    assert_eq!(meta(&spaced, Rendering::Notification, None), Some(format!("{expected}}}")));
    assert_eq!(
        meta(&spaced, Rendering::Notification, Some("\"s\"")),
        Some(format!(r#","_meta":{{"k":1,"l":[],{key}:"s"}}}}}}"#))
    );
    for empty in ["{}", "{ }"] {
        assert_eq!(meta(&row(empty), Rendering::GetResult, None), None);
        assert_eq!(meta(&row(empty), Rendering::Notification, None), None);
        assert_eq!(
            meta(&row(empty), Rendering::Notification, Some("12345678901234567890")),
            Some(format!(r#","_meta":{{{key}:12345678901234567890}}}}}}"#))
        );
    }
    let taken = row(r#"{"io.modelcontextprotocol\/subscriptionId":"mine","k":2}"#);
    assert_eq!(
        meta(&taken, Rendering::Notification, Some("7")),
        Some(format!(r#","_meta":{{"k":2,{key}:7}}}}}}"#)),
        "the subscription id wins and stands once"
    );
    assert!(meta(&taken, Rendering::GetResult, None).unwrap().contains("mine"));
    assert_eq!(meta(&created(), Rendering::Notification, None), None);
}
