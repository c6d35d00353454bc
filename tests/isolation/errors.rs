//! What errors tell of the arguments: nothing.

use std::ffi::CString;

use serde_json::Value;
use taskhold::ffi::*;

use super::CANARY;
use crate::support::calls::Failure;
use crate::support::exports::{self, Answer, Argument, Export, Json, Role};
use crate::support::fixture::Fixture;
use crate::support::running::{arguments, run};

/// Members that the library's objects know: each is given a canary as its value.
const MEMBERS: [&str; 30] = [
    "name",
    "maximumRetainedTasks",
    "taskTimeToLiveMs",
    "endpoint",
    "origin",
    "authorizationPartition",
    "metadata",
    "declaredInputRequests",
    "expectedRevision",
    "unlessCancelationRequested",
    "withdrawInputRequests",
    "status",
    "pageSize",
    "pageToken",
    "includePayload",
    "clientCapabilities",
    "subscriptionId",
    "sessionId",
    "sessionContext",
    "id",
    "contextId",
    "historyLength",
    "statusTimestampAfter",
    "isReplicated",
    "version",
    "createdAt",
    "resultType",
    "code",
    "gracePeriodMs",
    "method",
];

fn bytes(text: impl Into<Vec<u8>>) -> Argument {
    Argument::String(CString::new(text).expect("no NUL"))
}

/// Texts with a canary that a parameter may be given, most of them wrong in some way.
fn canaries(role: &Role) -> Vec<Vec<u8>> {
    let long = CANARY.repeat(200);
    let mut texts: Vec<String> = Vec::new();
    match role {
        Role::Identifier { .. } | Role::Name { .. } => {
            texts.extend([CANARY.to_owned(), format!("{CANARY}\n"), format!("\r{CANARY}"), long]);
        }
        Role::Text { .. } => texts.extend([
            CANARY.to_owned(),
            format!("{CANARY}:"),
            format!("memory:{CANARY}"),
            format!("sqlite:/{CANARY}.db"),
            format!("postgresql://{CANARY}:{CANARY}@{CANARY}/{CANARY}"),
            format!("/{CANARY}/~2"),
            CANARY.repeat(300),
        ]),
        Role::Json { json, .. } => {
            texts.extend([
                format!("\"{CANARY}\""),
                format!("[\"{CANARY}\"]"),
                format!("{{\"{CANARY}"),
                format!("{{\"a\":\"{CANARY}\"}} {CANARY}"),
                format!("{{\"{CANARY}\":1,\"{CANARY}\":2}}"),
                format!("{{\"a\":\"{CANARY}\\ud800\"}}"),
                format!("{{\"{CANARY}\":{}{}}}", "[".repeat(200), "]".repeat(200)),
                format!("{{\"{CANARY}\":\"{long}\"}}"),
                format!("{{\"a\":{{\"method\":\"{CANARY}\",\"params\":{{\"{CANARY}\":1}}}}}}"),
                format!("{{\"id\":\"{CANARY}\",\"status\":{{\"state\":1}}}}"),
                format!(
                    "{{\"id\":\"{CANARY}\",\"status\":{{\"state\":\"{CANARY}\",\"timestamp\":\"{CANARY}\"}}}}"
                ),
                format!("{{\"id\":\"{CANARY}\\n\",\"status\":{{\"state\":\"x\"}}}}"),
                format!("{{\"{CANARY}\":1}}"),
            ]);
            for member in MEMBERS {
                texts.push(format!("{{\"{member}\":\"{CANARY}\"}}"));
                texts.push(format!("{{\"{member}\":[\"{CANARY}\"]}}"));
                texts.push(format!(
                    "{{\"endpoint\":\"{CANARY}\",\"origin\":\"{CANARY}\",\"{member}\":\"{CANARY}\\u0000\"}}"
                ));
            }
            if matches!(json, Json::Request) {
                for method in ["tasks/get", "tasks/update", "tasks/cancel", CANARY] {
                    texts.push(format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{{\"taskId\":\"{CANARY}\"}}}}"));
                    texts.push(format!(
                        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":\"{CANARY}\"}}"
                    ));
                }
            }
        }
        _ => {}
    }
    let mut all: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    if !all.is_empty() {
        all.push([CANARY.as_bytes(), b"\xff"].concat());
    }
    all
}

/// Checks that the error tells nothing, but for the name of an unknown option.
fn assert_tells_nothing(export: &Export, parameter: &str, failure: &Failure) {
    let mut error = failure.error.clone();
    if failure.reason() == "unknown_key" {
        error["key"] = Value::Null;
    }
    assert!(!error.to_string().contains(CANARY), "{} {parameter}: {error}", export.name);
}

#[test]
fn no_error_tells_what_was_given() {
    let fixture = Fixture::new();
    let mut failures = 0;
    for export in exports::all() {
        let closes = export.parameters.iter().any(|parameter| matches!(parameter.role, Role::Closed(_)));
        if closes || export.out_error().is_none() {
            continue;
        }
        for at in 0..export.parameters.len() {
            for canary in canaries(&export.parameters[at].role) {
                let mut arguments = arguments(&export, &fixture);
                arguments[at] = bytes(canary);
                let ran = run(&export, &arguments);
                if ran.status() == TASKHOLD_OK {
                    ran.finish(Answer::Status(TASKHOLD_OK));
                    continue;
                }
                failures += 1;
                assert_tells_nothing(&export, export.parameters[at].name, &ran.failure());
            }
        }
        // With canaries everywhere and a handle that is none.
        let mut everywhere = arguments(&export, &fixture);
        for (at, parameter) in export.parameters.iter().enumerate() {
            match &parameter.role {
                Role::Handle { .. } => everywhere[at] = Argument::Word(1),
                role => {
                    if let Some(canary) = canaries(role).into_iter().next() {
                        everywhere[at] = bytes(canary);
                    }
                }
            }
        }
        let ran = run(&export, &everywhere);
        if ran.status() == TASKHOLD_OK {
            ran.finish(Answer::Status(TASKHOLD_OK));
        } else {
            failures += 1;
            assert_tells_nothing(&export, "all", &ran.failure());
        }
    }
    assert!(failures > 1500, "only {failures} calls failed");
    fixture.close();
}
