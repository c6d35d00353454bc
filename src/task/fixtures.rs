//! Rows for the tests of the rules, made by the rules themselves, without a store.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::lease::Authority;
use super::options::ManagerOptions;
use super::responses::Judgement;
use super::transitions::{self, Asking, Ending, Preconditions};
use super::{arguments, input};
use crate::clock::Now;
use crate::error::Result;
use crate::json::{self, Value};
use crate::store::{Change, TaskRow};

pub(super) const ANY: Preconditions = Preconditions {
    expected_revision: None,
    unless_cancelation_requested: false,
    authority: Authority::Unstated,
};
pub(super) const FORM: &str = r#"{"method":"elicitation/create","params":{"message":"m"}}"#;
pub(super) const URL: &str = r#"{"method":"elicitation/create","params":{"mode":"url"}}"#;
pub(super) const SAMPLING: &str = r#"{"method":"sampling/createMessage","params":{}}"#;
pub(super) const ROOTS: &str = r#"{"method":"roots/list"}"#;
pub(super) const ACCEPT: &str = r#"{"action":"accept"}"#;

/// `seconds` after 2025-11-25T10:30:00Z.
pub(super) fn at(seconds: i64) -> Now {
    Now { wall_ms: 1_764_066_600_000 + seconds * 1000, tick_ns: seconds * 1_000_000_000 }
}

pub(super) fn text(text: &str) -> Arc<str> {
    Arc::from(text)
}

pub(super) fn created_with(creation: &str) -> TaskRow {
    let creation = arguments::parse_creation(creation, 1 << 20).unwrap();
    let options = ManagerOptions::parse(None, true).unwrap();
    transitions::create("786512e2-9e0d-44bd-8f29-789f320fe840", &creation, &options, at(0)).unwrap()
}

pub(super) fn created() -> TaskRow {
    created_with(r#"{"endpoint":"/mcp","origin":{}}"#)
}

/// The row that a change stores.
pub(super) fn put(change: Result<Change<TaskRow>>) -> TaskRow {
    match change.unwrap() {
        Change::Put(row) => row,
        other => panic!("nothing was stored: {other:?}"),
    }
}

pub(super) fn asked(row: &TaskRow, requests: &str, message: Option<&str>) -> TaskRow {
    let requests = input::parse_requests(requests, 1 << 20).unwrap();
    let message = message.map(text);
    put(transitions::request_input(row, &requests, message.as_ref(), &Asking::default(), ANY, at(1)))
}

/// The responses to `keys` as a client sends them.
pub(super) fn answers(keys: &[&str]) -> String {
    let members: Vec<String> = keys.iter().map(|key| format!("\"{key}\":{ACCEPT}")).collect();
    format!("{{{}}}", members.join(","))
}

pub(super) fn answered(row: &TaskRow, responses: &str) -> TaskRow {
    put(transitions::update(row, &Judgement::of(value(responses), row.input.clone()), ANY, at(2)))
}

pub(super) fn value(text: &str) -> Value<'_> {
    json::parse(text, 1 << 20).unwrap()
}

pub(super) fn ended(row: &TaskRow, ending: Ending<'_>) -> TaskRow {
    put(transitions::end(row, ending, None, ANY, at(3)))
}

/// A row for every state in which a task can be, each by a name.
pub(super) fn every_state() -> Vec<(&'static str, TaskRow)> {
    let working = created();
    let asking = asked(&working, &format!("{{\"a\":{FORM},\"b\":{ROOTS}}}"), Some("two questions"));
    let half = answered(&asking, &answers(&["a"]));
    let full = answered(&asked(&working, &format!("{{\"a\":{FORM}}}"), None), &answers(&["a"]));
    let completed = ended(&half, Ending::Completed(r#"{"content":[]}"#));
    let failed = ended(&asking, Ending::Failed(r#"{"code":-32603,"message":"x"}"#));
    let cancelled = ended(&working, Ending::Cancelled);
    vec![
        ("working", working),
        ("working, untaken", full),
        ("input_required", asking),
        ("input_required, untaken", half),
        ("completed", completed),
        ("failed", failed),
        ("cancelled", cancelled),
    ]
}
