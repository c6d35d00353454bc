//! What a caller learns of records that are not theirs: nothing, not even that they are there.

use std::ptr;
use std::time::{Duration, Instant};

use serde_json::json;
use taskhold::ffi::*;

use super::CANARY;
use crate::support::calls::{c, id_of, text};
use crate::support::hosts::{Answer, Clock, Manager, Provider, Sessions, Store, record};

const LIFE_MS: i64 = 1000;
const ENDPOINT: &str = "/canary-endpoint";
const OWNER: Option<&str> = Some("cAnArY-5e1f owner");
const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// Records that hold canaries wherever they can, of an owner who is not asking.
struct House {
    manager: Manager,
    sessions: Sessions,
    provider: Provider,
    /// Ids of tasks: unknown, foreign, expired.
    tasks: [String; 3],
    session_ids: [&'static str; 3],
    a2a_ids: [&'static str; 3],
    _clock: Clock,
    _store: Store,
}

impl House {
    fn new() -> Self {
        let clock = Clock::open();
        let store = Store::open(&clock);
        let manager = Manager::open(&store, &format!(r#"{{"taskTimeToLiveMs":{LIFE_MS}}}"#));
        let sessions =
            Sessions::open(&store, &format!(r#"{{"idleTimeoutMs":{LIFE_MS},"initializationTimeoutMs":0}}"#));
        let provider = Provider::open(&store, &format!(r#"{{"finalizedRetentionMs":{LIFE_MS}}}"#));
        let creation = json!({
            "endpoint": ENDPOINT, "authorizationPartition": OWNER, "origin": CANARY, "metadata": {CANARY: CANARY},
            "declaredInputRequests": [],
        })
        .to_string();
        // It asks for what it did not declare, so that its owner would meet an error.
        let question = json!({CANARY: {"method": "roots/list", "params": {CANARY: CANARY}}}).to_string();
        let task = || {
            let id = id_of(&record(manager.create(&creation)));
            record(manager.ask(&id, &question, Some(CANARY)));
            id
        };
        let session = |id: &str| {
            let creation =
                json!({"sessionId": id, "authorizationPartition": OWNER, "sessionContext": {CANARY: CANARY}});
            sessions.create(ENDPOINT, Some(&creation.to_string())).expect("no refusal").expect("admitted");
        };
        let save = |id: &str| {
            let task = json!({"id": id, "contextId": CANARY, "status": {"state": "completed"}, "metadata": {CANARY: CANARY}});
            provider.save(OWNER, &task.to_string(), None).expect("saved");
        };
        let expired = task();
        session("cAnArY-5e1f-old-session");
        save("cAnArY-5e1f-old-task");
        clock.advance(LIFE_MS + 1);
        session("cAnArY-5e1f-session");
        save("cAnArY-5e1f-task");
        Self {
            tasks: ["8d3c1a52-6a63-4a5e-9d1c-0a4b7c2f1e00".to_owned(), task(), expired],
            session_ids: ["nobody-5e1f-session", "cAnArY-5e1f-session", "cAnArY-5e1f-old-session"],
            a2a_ids: ["nobody-5e1f-task", "cAnArY-5e1f-task", "cAnArY-5e1f-old-task"],
            manager,
            sessions,
            provider,
            _clock: clock,
            _store: store,
        }
    }
}

/// An answer as one text, a failure with its whole error.
fn shown(answer: Answer) -> String {
    match answer {
        Ok(text) => format!("{text:?}"),
        Err(failure) => format!("{} {}", failure.status, failure.error),
    }
}

/// A question about the record at a place of the list.
type Question = Box<dyn Fn(&House, usize) -> String>;
type Protocol = (String, Question);

/// An update on conditions that the foreign task does not meet.
fn update_expecting(manager: &Manager, (endpoint, partition): (&str, Option<&str>), id: &str) -> Answer {
    let (endpoint, partition, id) = (c(endpoint), partition.map(c), c(id));
    let (responses, options) =
        (c(r#"{"a":{"roots":[]}}"#), c(r#"{"expectedRevision":7,"unlessCancelationRequested":true}"#));
    let partition = partition.as_ref().map_or(ptr::null(), |partition| partition.as_ptr());
    let update = taskhold_manager_update_task;
    // SAFETY: the strings live until the call returns and the outputs are writable.
    text(|out, error| unsafe {
        update(
            manager.0,
            endpoint.as_ptr(),
            partition,
            id.as_ptr(),
            responses.as_ptr(),
            options.as_ptr(),
            out,
            error,
        )
    })
}

/// Every call of the protocol's side, by callers whose records these are not.
fn protocol() -> Vec<Protocol> {
    let mut calls: Vec<Protocol> = Vec::new();
    let callers = [(ENDPOINT, None), (ENDPOINT, Some("")), (ENDPOINT, Some("default")), ("/mcp", OWNER)];
    for (endpoint, partition) in callers {
        let mut call = |name: &str, answer: Question| {
            calls.push((format!("{name} as {endpoint} {partition:?}"), answer));
        };
        call(
            "find_authorized_task",
            Box::new(move |house, at| {
                shown(house.manager.find_authorized(endpoint, partition, &house.tasks[at]))
            }),
        );
        call(
            "update_task",
            Box::new(move |house, at| {
                shown(house.manager.update(endpoint, partition, &house.tasks[at], r#"{"a":{"roots":[]}}"#))
            }),
        );
        call(
            "conditional update_task",
            Box::new(move |house, at| {
                shown(update_expecting(&house.manager, (endpoint, partition), &house.tasks[at]))
            }),
        );
        call(
            "request_task_cancelation",
            Box::new(move |house, at| {
                shown(house.manager.request_cancelation(endpoint, partition, &house.tasks[at]).map(|()| None))
            }),
        );
        for rendering in 1..=3 {
            call(
                "render_task",
                Box::new(move |house, at| {
                    shown(house.manager.render(endpoint, partition, &house.tasks[at], rendering))
                }),
            );
        }
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            for capabilities in [TASKS, "{}"] {
                call(
                    method,
                    Box::new(move |house, at| {
                        let params =
                            json!({"taskId": house.tasks[at], "inputResponses": {"a": {"roots": []}}});
                        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
                            .to_string();
                        shown(house.manager.handle_request(endpoint, partition, Some(capabilities), &request))
                    }),
                );
            }
        }
        call(
            "find_authorized_session",
            Box::new(move |house, at| {
                shown(house.sessions.find_authorized(endpoint, partition, house.session_ids[at]))
            }),
        );
    }
    for owner in [None, Some(""), Some("default")] {
        let mut call = |name: &str, answer: Question| {
            calls.push((format!("{name} as {owner:?}"), answer));
        };
        call("get_task", Box::new(move |house, at| shown(house.provider.get(owner, house.a2a_ids[at]))));
        call(
            "delete_task",
            Box::new(move |house, at| shown(house.provider.delete(owner, house.a2a_ids[at]).map(|()| None))),
        );
        call(
            "list_tasks",
            Box::new(move |house, at| {
                // Contexts are unknown, foreign, and foreign with the other filters.
                let params = [
                    r#"{"contextId":"nobody"}"#,
                    r#"{"contextId":"cAnArY-5e1f"}"#,
                    r#"{"status":"completed"}"#,
                ];
                shown(house.provider.list(owner, params[at]))
            }),
        );
        call(
            "list_tasks with a token",
            Box::new(move |house, at| {
                let token = ["nobody", "0100", "cAnArY"][at];
                shown(house.provider.list(owner, &format!(r#"{{"pageToken":"{token}"}}"#)))
            }),
        );
    }
    calls
}

#[test]
fn unknown_foreign_and_expired_are_the_same_answer() {
    let house = House::new();
    for (name, answer) in protocol() {
        let answers = [0, 1, 2].map(|at| answer(&house, at));
        assert_eq!(answers[0], answers[1], "{name}: foreign");
        assert_eq!(answers[0], answers[2], "{name}: expired");
        assert!(!answers[0].contains(CANARY), "{name}: {}", answers[0]);
    }
    // The owner's records are as they were.
    let found = record(house.manager.find(&house.tasks[1]));
    assert_eq!((&found["revision"], &found["cancelationRequested"]), (&json!(2), &json!(false)));
    assert!(house.sessions.find(house.session_ids[1]).expect("no refusal").is_some());
    assert!(house.provider.get(OWNER, house.a2a_ids[1]).expect("no refusal").is_some());
}

#[test]
fn saves_of_foreign_ids_tell_no_more_than_that() {
    let house = House::new();
    let save = |owner, options| {
        let task = json!({"id": house.a2a_ids[1], "status": {"state": "working"}}).to_string();
        shown(house.provider.save(owner, &task, options).map(|revision| Some(revision.to_string())))
    };
    // Whatever the stored task is, and whatever the caller expects of it.
    let refused = save(None, None);
    assert!(refused.contains("task_not_found") && !refused.contains(CANARY), "{refused}");
    for options in [r#"{"expectedRevision":0}"#, r#"{"expectedRevision":1}"#, r#"{"expectedRevision":9}"#] {
        assert_eq!(save(Some(""), Some(options)), refused);
    }
    // An id whose task expired is free, like one that never was.
    for (at, id) in [0, 2].map(|at| house.a2a_ids[at]).into_iter().enumerate() {
        let task = json!({"id": id, "status": {"state": "working"}}).to_string();
        assert_eq!(house.provider.save(None, &task, Some(r#"{"expectedRevision":0}"#)), Ok(1), "{at}");
    }
}

#[test]
fn a_page_token_of_another_owner_is_no_token() {
    let house = House::new();
    for number in 0..3 {
        let task = json!({"id": format!("{CANARY}-{number}"), "status": {"state": "working"}}).to_string();
        house.provider.save(OWNER, &task, None).expect("saved");
    }
    let page = record(house.provider.list(OWNER, r#"{"pageSize":1}"#));
    let token = page["nextPageToken"].as_str().expect("a token");
    let with = |token: &str| {
        shown(house.provider.list(None, &json!({"pageSize": 1, "pageToken": token}).to_string()))
    };
    assert_eq!(with(token), with("nobody"));
    let operators = record(house.manager.list(r#"{"pageSize":1}"#));
    assert!(!operators["nextPageToken"].to_string().contains(CANARY));
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn unknown_foreign_and_expired_take_comparable_times() {
    const ROUNDS: usize = 301;
    const FACTOR: u32 = 3;
    let house = House::new();
    for (name, answer) in protocol() {
        let measure = || {
            let mut times = [const { Vec::new() }; 3];
            for _ in 0..ROUNDS {
                for (at, times) in times.iter_mut().enumerate() {
                    let start = Instant::now();
                    std::hint::black_box(answer(&house, at));
                    times.push(start.elapsed());
                }
            }
            times.map(|mut times| median(&mut times))
        };
        let is_even = |times: &[Duration; 3]| {
            times.iter().max().expect("three") <= &(*times.iter().min().expect("three") * FACTOR)
        };
        // A busy machine may disturb one measurement, not all.
        let mut measured = Vec::new();
        while measured.len() < 5 && !measured.last().is_some_and(is_even) {
            measured.push(measure());
        }
        assert!(measured.last().is_some_and(is_even), "{name}: {measured:?}");
    }
}
