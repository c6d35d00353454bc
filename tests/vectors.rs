//! Plays the language-neutral vectors in `tests/vectors` through the C functions, on the store that
//! `TASKHOLD_VECTOR_STORE` names (`memory:` unless given). The format is described in
//! `tests/vectors/README.md`; other languages have runners of their own for the same files.

mod vectors_runner;

use std::collections::BTreeSet;

use serde_json::json;
use vectors_runner::{calls, format, matching, play};

/// What a vector cannot express: a callback into host code. `taskhold_string_free` is called for every output.
const OUT_OF_REACH: [&str; 3] =
    ["taskhold_string_free", "taskhold_manager_subscribe", "taskhold_subscription_close"];

#[test]
fn every_case_holds() {
    let cases = format::load();
    let only = std::env::var("TASKHOLD_VECTOR_CASE").ok();
    let target = play::Target::from_environment();
    let mut played = 0;
    let mut failures = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        if !case.is_for(&target.backend) || only.as_ref().is_some_and(|only| !case.title().contains(only)) {
            continue;
        }
        played += 1;
        if let Err(failure) = play::play(case, &target, number) {
            failures.push(format!("{}\n    {}", case.title(), failure.replace('\n', "\n    ")));
        }
    }
    println!("{played} of {} cases played on {}", cases.len(), target.backend);
    assert!(failures.is_empty(), "{} of {played} cases failed:\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn the_vectors_are_many_and_reach_every_function() {
    let cases = format::load();
    println!("{} cases", cases.len());
    assert!(cases.len() >= 200, "there are only {} cases", cases.len());

    let mut names = BTreeSet::new();
    for case in &cases {
        assert!(names.insert(case.title()), "two cases are called {}", case.title());
    }

    let used: BTreeSet<&str> =
        cases.iter().flat_map(|case| &case.steps).map(|step| step.function.name).collect();
    let missing: Vec<&str> =
        calls::FUNCTIONS.iter().map(|function| function.name).filter(|name| !used.contains(name)).collect();
    assert!(missing.is_empty(), "no vector calls {missing:?}");
}

#[test]
fn the_table_of_calls_is_the_whole_header() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/include/taskhold.h");
    let header = std::fs::read_to_string(path).expect("the header is committed");
    let declared: BTreeSet<&str> = header
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '(')
        .filter_map(|word| word.split_once('(').map(|(name, _)| name))
        .filter(|name| name.starts_with("taskhold_"))
        .collect();
    let mut known: BTreeSet<&str> = calls::FUNCTIONS.iter().map(|function| function.symbol).collect();
    known.extend(OUT_OF_REACH);
    assert_eq!(declared, known);
}

#[test]
fn matchers_tell_what_differs() {
    let output = r#"{"a":{"b":[1,"x"],"n":1.0,"s":"A"},"id":"00000000-0000-4000-8000-000000000000"}"#;
    let holds = [
        json!({"subset": {"a": {"b": [1, "x"]}}, "absent": ["/a/c", "/a/b/2", "/z"]}),
        json!({"exact": {"id": "$uuid4", "a": {"s": "$string", "n": "$any", "b": ["$integer", "x"]}}}),
        json!({"bytes": output}),
        json!({"text": {"/a/n": "1.0", "/a/s": "A", "/a/b": "[1,\"x\"]"}, "differs": {"/a/n": "1"}}),
        json!({"contains": ["1.0", "\"x\""]}),
    ];
    let fails = [
        json!({"subset": {"a": {"b": [1]}}}),
        json!({"subset": {"a": {"b": [1, "y"]}}}),
        json!({"subset": {"a": {"n": 1}}}),
        json!({"subset": {"z": "$any"}}),
        json!({"exact": {"id": "$uuid4"}}),
        json!({"exact": {"id": "$timestamp", "a": "$any"}}),
        json!({"exact": {"id": "$integer", "a": "$any"}}),
        json!({"bytes": "{}"}),
        json!({"text": {"/a/n": "1"}}),
        json!({"text": {"/z": ""}}),
        json!({"differs": {"/a/n": "1.0"}}),
        json!({"differs": {"/z": "1.0"}}),
        json!({"absent": ["/a/b/0"]}),
        json!({"contains": ["1.0", "y"]}),
        json!({"null": true}),
    ];
    for matcher in &holds {
        assert_eq!(matching::differences(matcher, Some(output)), Vec::<String>::new(), "{matcher}");
        assert!(!matching::differences(matcher, None).is_empty(), "NULL must not match {matcher}");
    }
    for matcher in &fails {
        assert!(!matching::differences(matcher, Some(output)).is_empty(), "{matcher} must not hold");
    }
    assert_eq!(matching::differences(&json!({"null": true}), None), Vec::<String>::new());
}

#[test]
fn malformed_cases_are_refused() {
    let find = json!({"call": "manager_find_task", "on": "m", "args": {"task_id": "x"}});
    let with = |key: &str, value: serde_json::Value| {
        let mut step = find.clone();
        step[key] = value;
        step
    };
    let case = |step: &serde_json::Value| json!({"name": "x", "about": "x", "steps": [{"open": "manager", "as": "m"}, step]});
    format::read_case("file", "x", &case(&find)).map(|_| ()).expect("a well-formed case is read");
    for step in [
        json!({}),
        json!({"call": "manager_find_tasks", "on": "m"}),
        json!({"open": "store", "as": "x"}),
        json!({"close": "nobody"}),
        with("with", json!(1)),
        with("on", json!("nobody")),
        with("args", json!({"id": "x"})),
        with("as", json!("x")),
        with("times", json!(0)),
        with("save", json!({"n": "/task/taskId"})),
        with("expect", json!({"outcome": 1})),
        with("expect", json!({"status": "nope"})),
        with("expect", json!({"reason": "task_not_found"})),
        with("expect", json!({"out": {}})),
        with("expect", json!({"out": {"equals": 1}})),
        with("expect", json!({"out": {"subset": {"a": "$nothing"}}})),
        with("expect", json!({"out": {"exact": [1.5]}})),
        with("expect", json!({"out": {"null": true, "exact": 1}})),
    ] {
        assert!(format::read_case("file", "x", &case(&step)).is_err(), "{step} must be refused");
    }
    for case in [
        json!({"name": "x", "steps": [find]}),
        json!({"name": "x", "about": "x", "steps": []}),
        json!({"name": "x", "about": "x", "steps": [find], "backends": ["mysql"]}),
        json!({"name": "x", "about": "x", "steps": [find], "raw": false}),
    ] {
        assert!(format::read_case("file", "x", &case).is_err(), "{case} must be refused");
    }
}
