//! The operators' listing.

use serde_json::Value;
use taskhold::task::TaskManager;

use crate::support::{FORM, House, create, found, id_of, json, manager, refusal};

fn page(manager: &TaskManager, params: &str) -> Value {
    json(&manager.list_tasks(Some(params)).unwrap())
}

fn ids(page: &Value) -> Vec<&str> {
    page["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["task"]["taskId"].as_str().unwrap())
        .collect()
}

#[test]
fn oldest_first_page_by_page() {
    let house = House::new();
    let manager = house.manager("{}");
    let created: Vec<String> = (0..25).map(|_| create(&manager)).collect();
    assert_eq!(ids(&page(&manager, "{}")), created);
    assert_eq!(json(&manager.list_tasks(None).unwrap())["nextPageToken"], "");
    let mut walked: Vec<String> = Vec::new();
    let mut token = String::new();
    loop {
        let page = page(&manager, &format!("{{\"pageSize\":7,\"pageToken\":\"{token}\"}}"));
        assert_eq!(page["corrupt"], Value::Array(vec![]));
        assert!(ids(&page).len() <= 7);
        walked.extend(ids(&page).into_iter().map(str::to_owned));
        token = page["nextPageToken"].as_str().unwrap().to_owned();
        // A task that comes meanwhile moves none of the others.
        if walked.len() == 7 {
            create(&manager);
        }
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(walked.len(), 26);
    assert_eq!(walked[..25], created);
}

#[test]
fn records_with_and_without_payload() {
    let (_house, manager) = manager();
    let (done, failed, asking) = (create(&manager), create(&manager), create(&manager));
    manager.complete_task(&done, "{ }", Some("d"), None).unwrap();
    manager.fail_task(&failed, r#"{"code":1,"message":"m"}"#, None, None).unwrap();
    manager.request_task_input(&asking, &format!("{{\"a\":{FORM}}}"), None, None).unwrap();
    let short = page(&manager, "{}");
    for (record, id) in short["records"].as_array().unwrap().iter().zip([&done, &failed, &asking]) {
        let mut full = json(&found(&manager, id));
        for payload in ["result", "error", "inputRequests"] {
            full["task"].as_object_mut().unwrap().shift_remove(payload);
        }
        assert_eq!(*record, full);
    }
    let texts: Vec<String> =
        [&done, &failed, &asking].iter().map(|id| found(&manager, id).as_str().to_owned()).collect();
    let whole = manager.list_tasks(Some(r#"{"includePayload":true}"#)).unwrap();
    let expected = format!(r#"{{"records":[{}],"corrupt":[],"nextPageToken":""}}"#, texts.join(","));
    assert_eq!(whole.as_str(), expected, "record texts, byte for byte");
}

#[test]
fn filters() {
    let (_house, manager) = manager();
    let create = |endpoint: &str, partition: &str| {
        let creation =
            format!(r#"{{"endpoint":"{endpoint}","authorizationPartition":{partition},"origin":1}}"#);
        id_of(&manager.create_task(&creation).unwrap())
    };
    let (a, b, c, d) =
        (create("/a", "null"), create("/a", "\"\""), create("/b", "\"p\\\"q\""), create("", "null"));
    manager.cancel_task(&c, None, None).unwrap();
    let assert_listed = |params: &str, expected: &[&String]| {
        assert_eq!(ids(&page(&manager, params)), expected, "{params}");
    };
    assert_listed(r#"{"endpoint":"/a"}"#, &[&a, &b]);
    assert_listed(r#"{"endpoint":""}"#, &[&d]);
    assert_listed(r#"{"authorizationPartition":null}"#, &[&a, &d]);
    assert_listed(r#"{"authorizationPartition":""}"#, &[&b]);
    assert_listed(r#"{"authorizationPartition":"p\u0022q"}"#, &[&c]);
    assert_listed(r#"{"status":"cancelled"}"#, &[&c]);
    assert_listed(r#"{"status":"working","endpoint":"/a","authorizationPartition":null}"#, &[&a]);
    assert_listed(r#"{"status":"failed"}"#, &[]);
    assert_listed(r#"{"status":null,"endpoint":null}"#, &[&a, &b, &c, &d]);
}

#[test]
fn tokens_belong_to_their_filters() {
    let house = House::new();
    let (manager, other) = (house.manager("{}"), house.manager(r#"{"name":"other"}"#));
    for _ in 0..3 {
        create(&manager);
        create(&other);
    }
    let first = page(&manager, r#"{"pageSize":1}"#);
    let token = first["nextPageToken"].as_str().unwrap();
    assert!(!token.is_empty() && token.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let with = |filters: &str| format!("{{\"pageToken\":\"{token}\"{filters}}}");
    assert_eq!(ids(&page(&manager, &with(""))).len(), 2);
    assert_eq!(ids(&page(&manager, &with(",\"pageSize\":1,\"includePayload\":true"))).len(), 1);
    let refused = ("invalid_argument", "invalid_page_token", Some("pageToken".to_owned()));
    for filters in [r#","status":"working""#, r#","endpoint":"/mcp""#, r#","authorizationPartition":null"#] {
        assert_eq!(refusal(manager.list_tasks(Some(&with(filters)))), refused, "{filters}");
    }
    assert_eq!(refusal(other.list_tasks(Some(&with("")))), refused);
    assert_eq!(refusal(manager.list_tasks(Some(r#"{"pageToken":"x"}"#))), refused);
}

#[test]
fn expired_tasks_are_not_listed() {
    let house = House::new();
    let manager = house.manager(r#"{"taskTimeToLiveMs":1000}"#);
    create(&manager);
    house.clock.advance(500).unwrap();
    let id = create(&manager);
    house.clock.advance(500).unwrap();
    assert_eq!(ids(&page(&manager, "{}")), [id]);
}
