//! Listing A2A tasks through the provider: order, filters, pages and their tokens.

mod a2a_support;

use std::collections::BTreeSet;

use a2a_support::{Stand, ids, list, reason, save, task, task_at, walk};
use serde_json::{Value, json};
use taskhold::error::Reason;

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("t{at:02}")).collect()
}

#[test]
fn an_empty_listing() {
    let provider = Stand::new().provider("{}");
    let empty = r#"{"tasks":[],"totalSize":0,"pageSize":0,"nextPageToken":""}"#;
    for params in
        [None, Some("{}"), Some(r#"{"pageToken":""}"#), Some(r#"{"pageToken":null,"pageSize":null}"#)]
    {
        assert_eq!(provider.list_tasks(None, params).expect("a page").as_str(), empty);
    }
    let with_revisions = provider.list_tasks(None, Some(r#"{"includeRevisions":true}"#)).expect("a page");
    let expected = r#"{"tasks":[],"totalSize":0,"pageSize":0,"nextPageToken":"","revisions":[]}"#;
    assert_eq!(with_revisions.as_str(), expected);
}

#[test]
fn tasks_stand_in_the_page_byte_for_byte() {
    let provider = Stand::new().provider("{}");
    let one = r#"{ "n":1.50,"id":"a" , "status":{"state":"working"}}"#;
    let two = r#"{"id":"\u0062","status":{"state":"Paused"},"x":"\ud83e\udd80"}"#;
    save(&provider, None, one);
    save(&provider, None, two);
    save(&provider, None, two);
    let page = provider.list_tasks(None, Some(r#"{"includeRevisions":true}"#)).expect("a page");
    let expected = format!(
        r#"{{"tasks":[{one},{two}],"totalSize":2,"pageSize":2,"nextPageToken":"","revisions":[1,2]}}"#
    );
    assert_eq!(page.as_str(), expected);
}

#[test]
fn history_and_artifacts_come_when_asked_for() {
    let provider = Stand::new().provider("{}");
    for id in ["a", "b"] {
        save(
            &provider,
            None,
            &format!(r#"{{"id":"{id}","status":{{"state":"working"}},"history":[1,2,3],"artifacts":[4]}}"#),
        );
    }
    let table = [
        ("{}", json!({})),
        (r#"{"historyLength":0}"#, json!({})),
        (r#"{"historyLength":2}"#, json!({"history": [2, 3]})),
        (r#"{"historyLength":3}"#, json!({"history": [1, 2, 3]})),
        (r#"{"historyLength":2147483647}"#, json!({"history": [1, 2, 3]})),
        (r#"{"includeArtifacts":true}"#, json!({"artifacts": [4]})),
        (r#"{"includeArtifacts":false,"historyLength":1}"#, json!({"history": [3]})),
        (r#"{"includeArtifacts":true,"historyLength":1}"#, json!({"history": [3], "artifacts": [4]})),
    ];
    for (params, extra) in table {
        let page = list(&provider, None, params);
        for (at, id) in ["a", "b"].iter().enumerate() {
            let mut expected = json!({"id": id, "status": {"state": "working"}});
            expected
                .as_object_mut()
                .expect("an object")
                .extend(extra.as_object().expect("an object").clone());
            assert_eq!(page["tasks"][at], expected, "{params}");
        }
    }
}

#[test]
fn the_newest_status_comes_first_then_the_smaller_id() {
    let provider = Stand::new().provider("{}");
    let saved = [
        ("none-b", None),
        ("old", Some("2025-01-01T00:00:00Z")),
        ("none-a", None),
        ("before-1970", Some("1969-12-31T23:59:59.999Z")),
        ("same-b", Some("2025-01-01T12:00:00.5Z")),
        ("same-a", Some("2025-01-01T14:00:00.500+02:00")),
        ("a-millisecond-later", Some("2025-01-01T12:00:00.501Z")),
        ("the-same-millisecond", Some("2025-01-01T12:00:00.500999999Z")),
        ("new", Some("2030-01-01T00:00:00Z")),
    ];
    for (id, timestamp) in saved {
        match timestamp {
            Some(timestamp) => save(&provider, None, &task_at(id, "working", timestamp)),
            None => save(&provider, None, &task(id, "working")),
        };
    }
    let expected = [
        "new",
        "a-millisecond-later",
        "same-a",
        "same-b",
        "the-same-millisecond",
        "old",
        "before-1970",
        "none-a",
        "none-b",
    ];
    assert_eq!(ids(&list(&provider, None, "{}")), expected);
    for size in 1..=10 {
        assert_eq!(walk(&provider, None, &format!(r#""pageSize":{size}"#), |_| ()), expected, "{size}");
    }
}

#[test]
fn ids_are_ordered_by_their_bytes() {
    let provider = Stand::new().provider("{}");
    let mut expected =
        ["XeLu", "XGeU", "a-b", "ab", "a_b", "é", "e", "🦀", "\u{ffff}", "a", "A", " a", "a\"b", "a\\b"];
    for id in expected {
        save(&provider, None, &task_at(id, "working", "2025-01-01T00:00:00Z"));
    }
    expected.sort_unstable_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    assert_eq!(ids(&list(&provider, None, "{}")), expected);
    for size in [1, 2, 3, 13, 14, 15] {
        assert_eq!(walk(&provider, None, &format!(r#""pageSize":{size}"#), |_| ()), expected, "{size}");
    }
}

#[test]
fn sixty_equal_timestamps_are_walked_once_each() {
    for timestamp in [Some("2025-01-01T00:00:00Z"), None] {
        let provider = Stand::new().provider("{}");
        for id in numbered(60).iter().rev() {
            match timestamp {
                Some(timestamp) => save(&provider, None, &task_at(id, "working", timestamp)),
                None => save(&provider, None, &task(id, "working")),
            };
        }
        let mut sizes = Vec::new();
        let met = walk(&provider, None, r#""pageSize":7"#, |page| {
            assert_eq!(page["totalSize"], 60);
            sizes.push(page["pageSize"].as_u64().expect("a number"));
        });
        assert_eq!(met, numbered(60));
        assert_eq!(sizes, [7, 7, 7, 7, 7, 7, 7, 7, 4]);
        // A page that ends with the last task is the last one.
        let mut pages = 0;
        assert_eq!(walk(&provider, None, r#""pageSize":30"#, |_| pages += 1).len(), 60);
        assert_eq!(pages, 2);
    }
}

#[test]
fn fifty_tasks_are_a_page_unless_asked() {
    let provider = Stand::new().provider("{}");
    for at in 0..120 {
        save(&provider, None, &task(&format!("t{at:03}"), "working"));
    }
    for (params, returned) in [("{}", 50), (r#"{"pageSize":1}"#, 1), (r#"{"pageSize":100}"#, 100)] {
        let page = list(&provider, None, params);
        assert_eq!((page["pageSize"].as_u64(), page["totalSize"].as_u64()), (Some(returned), Some(120)));
    }
}

#[test]
fn filters_narrow_what_is_listed_and_counted() {
    let provider = Stand::new().provider("{}");
    let contexts = [Some("c"), Some("C"), Some("\u{e9}"), None];
    let states = ["working", "TASK_STATE_INPUT_REQUIRED", "completed", "cancelled", "paused"];
    let stamps = [Some("2025-01-01T00:00:00.000Z"), Some("2025-01-01T00:00:00.001Z"), None];
    let mut all = Vec::new();
    for context in contexts {
        for state in states {
            for stamp in stamps {
                let id = format!("t{:02}", all.len());
                let text =
                    json!({"id": id, "contextId": context, "status": {"state": state, "timestamp": stamp}});
                save(&provider, None, &text.to_string());
                all.push((id, context, state, stamp));
            }
        }
    }
    let asked_states = [
        None,
        Some("TASK_STATE_WORKING"),
        Some("input-required"),
        Some("completed"),
        Some("TASK_STATE_CANCELED"),
    ];
    let asked_stamps = [
        None,
        Some("2025-01-01T00:00:00.001Z"),
        Some("2025-01-01T01:00:00+01:00"),
        Some("2025-01-01T00:00:00.002Z"),
    ];
    let spelling = |state: &str| {
        state
            .trim_start_matches("TASK_STATE_")
            .to_lowercase()
            .replace('_', "-")
            .replace("cancelled", "canceled")
    };
    for context in [None, Some("c"), Some("C"), Some("\u{e9}"), Some("nowhere")] {
        for state in asked_states {
            for (floor, stamp) in asked_stamps.into_iter().enumerate() {
                let expected: BTreeSet<String> = all
                    .iter()
                    .filter(|row| context.is_none() || row.1 == context)
                    .filter(|row| state.is_none_or(|state| spelling(row.2) == spelling(state)))
                    .filter(|row| match floor {
                        0 => true,
                        1 => row.3.is_some_and(|stamp| stamp.contains(".001")),
                        2 => row.3.is_some(),
                        _ => false,
                    })
                    .map(|row| row.0.clone())
                    .collect();
                let params = json!({"contextId": context, "status": state, "statusTimestampAfter": stamp, "pageSize": 4});
                let inside = params.to_string();
                let inside = inside.trim_start_matches('{').trim_end_matches('}');
                let met = walk(&provider, None, inside, |page| assert_eq!(page["totalSize"], expected.len()));
                assert_eq!(met.len(), expected.len(), "{params}");
                assert_eq!(met.into_iter().collect::<BTreeSet<_>>(), expected, "{params}");
            }
        }
    }
}

#[test]
fn a_task_moves_with_its_state_and_context() {
    let provider = Stand::new().provider("{}");
    let saved = |state: &str, context: &str| {
        save(
            &provider,
            None,
            &json!({"id": "t", "contextId": context, "status": {"state": state}}).to_string(),
        );
    };
    let counts = || {
        ["\"status\":\"working\"", "\"status\":\"completed\"", "\"contextId\":\"c\"", "\"contextId\":\"d\""]
            .map(|filter| {
                list(&provider, None, &format!("{{{filter}}}"))["totalSize"].as_u64().expect("a number")
            })
    };
    saved("working", "c");
    assert_eq!(counts(), [1, 0, 1, 0]);
    saved("working", "d");
    assert_eq!(counts(), [1, 0, 0, 1]);
    saved("completed", "d");
    assert_eq!(counts(), [0, 1, 0, 1]);
    provider.delete_task(None, "t").expect("a delete");
    assert_eq!(counts(), [0, 0, 0, 0]);
}

#[test]
fn owners_list_and_count_their_own() {
    let provider = Stand::new().provider("{}");
    let owners = [None, Some(""), Some("default"), Some("ann")];
    for (at, owner) in owners.into_iter().enumerate() {
        for task_at in 0..=at {
            save(&provider, owner, &task(&format!("{at}-{task_at}"), "working"));
        }
    }
    for (at, owner) in owners.into_iter().enumerate() {
        let met = walk(&provider, owner, r#""pageSize":1"#, |page| assert_eq!(page["totalSize"], at + 1));
        let expected: Vec<String> = (0..=at).map(|task_at| format!("{at}-{task_at}")).collect();
        assert_eq!(met, expected);
    }
    assert_eq!(list(&provider, Some("nobody"), "{}")["totalSize"], 0);
}

/// Order is by a time that saves change: a task that moves in front of the walk is not met again, everyone
/// else is met once, and a new listing finds it first.
#[test]
fn updates_between_pages() {
    let provider = Stand::new().provider("{}");
    for (at, id) in numbered(10).iter().enumerate() {
        save(&provider, None, &task_at(id, "working", &format!("2025-01-01T00:00:{:02}Z", 50 - at)));
    }
    let mut page_number = 0;
    let met = walk(&provider, None, r#""pageSize":3"#, |page| {
        page_number += 1;
        assert_eq!(page["totalSize"], 10, "counted by the first page, carried on by the token");
        if page_number == 1 {
            // The last one shown goes, one shown moves, one not shown yet moves in front, one is new there.
            provider.delete_task(None, "t02").expect("a delete");
            save(&provider, None, &task_at("t01", "working", "2025-01-01T00:00:59Z"));
            save(&provider, None, &task_at("t07", "working", "2025-01-01T00:00:58Z"));
            save(&provider, None, &task_at("new", "working", "2025-01-01T00:00:57Z"));
        }
    });
    assert_eq!(met, ["t00", "t01", "t02", "t03", "t04", "t05", "t06", "t08", "t09"]);
    let again = ids(&list(&provider, None, r#"{"pageSize":3}"#));
    assert_eq!(again, ["t01", "t07", "new"]);
}

#[test]
fn tokens_belong_to_an_owner_and_filters() {
    let provider = Stand::new().provider("{}");
    for id in numbered(6) {
        let text = json!({"id": id, "contextId": "c", "status": {"state": "working", "timestamp": "2025-01-01T00:00:00Z"}});
        save(&provider, Some("ann"), &text.to_string());
    }
    let token = |params: &str| {
        let page = list(&provider, Some("ann"), params);
        page["nextPageToken"].as_str().expect("a token").to_owned()
    };
    let scopes = [
        "",
        r#""contextId":"c","#,
        r#""status":"working","#,
        r#""contextId":"c","status":"working","#,
        r#""statusTimestampAfter":"2025-01-01T00:00:00Z","#,
        r#""statusTimestampAfter":"2024-01-01T00:00:00Z","#,
    ];
    for (at, from) in scopes.iter().enumerate() {
        let token = token(&format!(r#"{{{from}"pageSize":2}}"#));
        for (other, to) in scopes.iter().enumerate() {
            let params = format!(r#"{{{to}"pageSize":2,"pageToken":"{token}"}}"#);
            let result = provider.list_tasks(Some("ann"), Some(&params));
            if at == other {
                let page: Value = serde_json::from_str(result.expect("a page").as_str()).expect("JSON");
                assert_eq!(ids(&page), ["t02", "t03"]);
            } else {
                let error = result.expect_err("another listing's token");
                assert_eq!((error.reason(), error.key()), (Reason::InvalidPageToken, Some("pageToken")));
            }
            for stranger in [None, Some(""), Some("bob")] {
                assert_eq!(reason(provider.list_tasks(stranger, Some(&params))), Reason::InvalidPageToken);
            }
        }
    }
    // The same filters in another spelling are the same filters; what a page looks like may change.
    let first = token(r#"{"pageSize":2,"status":"working","statusTimestampAfter":"2025-01-01T00:00:00Z"}"#);
    let params = format!(
        r#"{{"pageSize":3,"status":"TASK_STATE_WORKING","statusTimestampAfter":"2025-01-01T01:00:00.000+01:00","historyLength":1,"includeArtifacts":true,"includeRevisions":true,"pageToken":"{first}"}}"#
    );
    assert_eq!(ids(&list(&provider, Some("ann"), &params)), ["t02", "t03", "t04"]);
}

#[test]
fn bad_parameters_are_refused_by_name() {
    let provider = Stand::new().provider("{}");
    save(&provider, None, &task("t", "working"));
    let table = [
        (r#"{"pageSize":-1}"#, Reason::InvalidValue, "pageSize"),
        (r#"{"pageSize":0}"#, Reason::InvalidValue, "pageSize"),
        (r#"{"pageSize":101}"#, Reason::InvalidValue, "pageSize"),
        (r#"{"pageSize":2147483648}"#, Reason::InvalidValue, "pageSize"),
        (r#"{"pageSize":99999999999999999999999}"#, Reason::InvalidValue, "pageSize"),
        (r#"{"pageSize":1.5}"#, Reason::InvalidValue, "pageSize"),
        (r#"{"pageSize":"10"}"#, Reason::InvalidValue, "pageSize"),
        (r#"{"historyLength":-1}"#, Reason::InvalidValue, "historyLength"),
        (r#"{"historyLength":2147483648}"#, Reason::InvalidValue, "historyLength"),
        (r#"{"includeArtifacts":1}"#, Reason::InvalidValue, "includeArtifacts"),
        (r#"{"includeRevisions":"true"}"#, Reason::InvalidValue, "includeRevisions"),
        (r#"{"status":"paused"}"#, Reason::InvalidValue, "status"),
        (r#"{"status":""}"#, Reason::InvalidValue, "status"),
        (r#"{"status":3}"#, Reason::InvalidValue, "status"),
        (r#"{"contextId":""}"#, Reason::InvalidIdentifier, "contextId"),
        (r#"{"contextId":1}"#, Reason::InvalidValue, "contextId"),
        (r#"{"statusTimestampAfter":"12345"}"#, Reason::InvalidTimestamp, "statusTimestampAfter"),
        (r#"{"statusTimestampAfter":""}"#, Reason::InvalidTimestamp, "statusTimestampAfter"),
        (r#"{"statusTimestampAfter":"2025-01-01"}"#, Reason::InvalidTimestamp, "statusTimestampAfter"),
        (r#"{"statusTimestampAfter":12345}"#, Reason::InvalidValue, "statusTimestampAfter"),
        (r#"{"pageToken":"x"}"#, Reason::InvalidPageToken, "pageToken"),
        (r#"{"pageToken":"1:"}"#, Reason::InvalidPageToken, "pageToken"),
        (r#"{"pageToken":"999999999999999999999:a"}"#, Reason::InvalidPageToken, "pageToken"),
        (r#"{"pageToken":"\u0000"}"#, Reason::InvalidPageToken, "pageToken"),
        (r#"{"pageToken":1}"#, Reason::InvalidValue, "pageToken"),
        (r#"{"tenant":"x"}"#, Reason::UnknownKey, "tenant"),
        (r#"{"owner":"x"}"#, Reason::UnknownKey, "owner"),
    ];
    for (params, reason, key) in table {
        let error = provider.list_tasks(None, Some(params)).expect_err(params);
        assert_eq!((error.reason(), error.key()), (reason, Some(key)), "{params}");
    }
    let huge = format!(r#"{{"pageToken":"{}"}}"#, "0".repeat(1 << 20));
    assert_eq!(reason(provider.list_tasks(None, Some(&huge))), Reason::InvalidPageToken);
    for params in ["", "[]", "null", "{"] {
        let reason = reason(provider.list_tasks(None, Some(params)));
        assert!(matches!(reason, Reason::InvalidJson | Reason::InvalidValue), "{params}");
    }
}

#[test]
fn the_longest_ids_make_tokens_that_come_back() {
    let provider = Stand::new().provider("{}");
    let mut expected: Vec<String> = (0..4).map(|at| format!("{at}{}", "é".repeat(511))).collect();
    expected.push("🦀".repeat(256));
    for id in &expected {
        save(&provider, None, &task(id, "working"));
    }
    assert_eq!(walk(&provider, None, r#""pageSize":1"#, |_| ()), expected);
}

#[test]
fn retained_no_longer_is_listed_no_longer() {
    let stand = Stand::new();
    let provider = stand.provider(r#"{"finalizedRetentionMs":10}"#);
    save(&provider, None, &task("a", "completed"));
    stand.advance(5);
    save(&provider, None, &task("b", "failed"));
    save(&provider, None, &task("c", "working"));
    assert_eq!(ids(&list(&provider, None, "{}")), ["a", "b", "c"]);
    stand.advance(5);
    let page = list(&provider, None, "{}");
    assert_eq!((ids(&page), &page["totalSize"]), (vec!["b".to_owned(), "c".to_owned()], &json!(2)));
    stand.advance(5);
    assert_eq!(list(&provider, None, "{}")["totalSize"], 1);
}
