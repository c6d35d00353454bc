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

/// Handles through which records are made and asked for.
struct Handles {
    manager: Manager,
    sessions: Sessions,
    provider: Provider,
}

/// What a caller asks for.
struct Ids {
    task: String,
    session: String,
    a2a_task: String,
    context: String,
}

impl Ids {
    fn new(task: String, which: &str) -> Self {
        let [session, a2a_task, context] =
            ["session", "task", "context"].map(|kind| format!("{which}-5e1f-{kind}"));
        Self { task, session, a2a_task, context }
    }

    fn unknown() -> Self {
        Self::new("8d3c1a52-6a63-4a5e-9d1c-0a4b7c2f1e00".to_owned(), "nobody")
    }
}

impl Handles {
    fn open(store: &Store, task: &str, session: &str, a2a: &str) -> Self {
        Self {
            manager: Manager::open(store, task),
            sessions: Sessions::open(store, session),
            provider: Provider::open(store, a2a),
        }
    }

    /// A record of each kind that holds `canary` wherever it can, of an owner who is not asking.
    fn fill(&self, which: &str, canary: &str) -> Ids {
        let creation = json!({
            "endpoint": ENDPOINT, "authorizationPartition": OWNER, "origin": canary,
            "metadata": {CANARY: canary}, "declaredInputRequests": [],
        });
        // It asks for what it did not declare, so that its owner would meet an error.
        let question = json!({CANARY: {"method": "roots/list", "params": {CANARY: canary}}});
        let id = id_of(&record(self.manager.create(&creation.to_string())));
        record(self.manager.ask(&id, &question.to_string(), Some(CANARY)));
        let ids = Ids::new(id, which);
        let creation = json!({
            "sessionId": ids.session, "authorizationPartition": OWNER, "sessionContext": {CANARY: canary}
        });
        let created = self.sessions.create(ENDPOINT, Some(&creation.to_string()));
        created.expect("no refusal").expect("admitted");
        let task = json!({
            "id": ids.a2a_task, "contextId": ids.context, "status": {"state": "completed"},
            "metadata": {CANARY: canary},
        });
        self.provider.save(OWNER, &task.to_string(), None).expect("saved");
        ids
    }
}

struct House {
    handles: Handles,
    /// Over the same records: what is made through these lives for [`LIFE_MS`].
    brief: Handles,
    clock: Clock,
    _store: Store,
}

impl House {
    fn new() -> Self {
        let clock = Clock::open();
        let store = Store::open(&clock);
        let never = r#"{"idleTimeoutMs":0,"initializationTimeoutMs":0}"#;
        let soon = format!(r#"{{"idleTimeoutMs":{LIFE_MS},"initializationTimeoutMs":0}}"#);
        Self {
            handles: Handles::open(&store, r#"{"taskTimeToLiveMs":1000000000000}"#, never, "{}"),
            brief: Handles::open(
                &store,
                &format!(r#"{{"taskTimeToLiveMs":{LIFE_MS}}}"#),
                &soon,
                &format!(r#"{{"finalizedRetentionMs":{LIFE_MS}}}"#),
            ),
            clock,
            _store: store,
        }
    }

    fn foreign(&self, canary: &str) -> Ids {
        self.handles.fill("cAnArY-foreign", canary)
    }

    /// Records that expired and that no call removed since.
    fn expired(&self) -> Ids {
        let ids = self.brief.fill("cAnArY-expired", CANARY);
        self.clock.advance(LIFE_MS + 1);
        ids
    }
}

/// An answer as one text, a failure with its whole error.
fn shown(answer: Answer) -> String {
    match answer {
        Ok(text) => format!("{text:?}"),
        Err(failure) => format!("{} {}", failure.status, failure.error),
    }
}

type Question = Box<dyn Fn(&Handles, &Ids) -> String>;
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
            Box::new(move |handles, ids| {
                shown(handles.manager.find_authorized(endpoint, partition, &ids.task))
            }),
        );
        call(
            "update_task",
            Box::new(move |handles, ids| {
                shown(handles.manager.update(endpoint, partition, &ids.task, r#"{"a":{"roots":[]}}"#))
            }),
        );
        call(
            "conditional update_task",
            Box::new(move |handles, ids| {
                shown(update_expecting(&handles.manager, (endpoint, partition), &ids.task))
            }),
        );
        call(
            "request_task_cancelation",
            Box::new(move |handles, ids| {
                shown(handles.manager.request_cancelation(endpoint, partition, &ids.task).map(|()| None))
            }),
        );
        for rendering in 1..=3 {
            call(
                "render_task",
                Box::new(move |handles, ids| {
                    shown(handles.manager.render(endpoint, partition, &ids.task, rendering))
                }),
            );
        }
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            for capabilities in [TASKS, "{}"] {
                call(
                    method,
                    Box::new(move |handles, ids| {
                        let params = json!({"taskId": ids.task, "inputResponses": {"a": {"roots": []}}});
                        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
                            .to_string();
                        shown(handles.manager.handle_request(
                            endpoint,
                            partition,
                            Some(capabilities),
                            &request,
                        ))
                    }),
                );
            }
        }
        call(
            "find_authorized_session",
            Box::new(move |handles, ids| {
                shown(handles.sessions.find_authorized(endpoint, partition, &ids.session))
            }),
        );
    }
    for owner in [None, Some(""), Some("default")] {
        let mut call = |name: &str, answer: Question| {
            calls.push((format!("{name} as {owner:?}"), answer));
        };
        call("get_task", Box::new(move |handles, ids| shown(handles.provider.get(owner, &ids.a2a_task))));
        call(
            "delete_task",
            Box::new(move |handles, ids| shown(handles.provider.delete(owner, &ids.a2a_task).map(|()| None))),
        );
        call(
            "list_tasks",
            Box::new(move |handles, ids| {
                shown(handles.provider.list(owner, &format!(r#"{{"contextId":"{}"}}"#, ids.context)))
            }),
        );
        call(
            "list_tasks by state",
            Box::new(move |handles, _| shown(handles.provider.list(owner, r#"{"status":"completed"}"#))),
        );
    }
    calls
}

#[test]
fn unknown_foreign_and_expired_are_the_same_answer() {
    for (name, answer) in protocol() {
        let house = House::new();
        let foreign = house.foreign(CANARY);
        // First, or the other calls would remove it.
        let expired = answer(&house.handles, &house.expired());
        let unknown = answer(&house.handles, &Ids::unknown());
        assert_eq!(unknown, answer(&house.handles, &foreign), "{name}: foreign");
        assert_eq!(unknown, expired, "{name}: expired");
        assert!(!unknown.contains(CANARY), "{name}: {unknown}");
        // The owner's records are as they were.
        let found = record(house.handles.manager.find(&foreign.task));
        assert_eq!((&found["revision"], &found["cancelationRequested"]), (&json!(2), &json!(false)));
        assert!(house.handles.sessions.find(&foreign.session).expect("no refusal").is_some());
        assert!(house.handles.provider.get(OWNER, &foreign.a2a_task).expect("no refusal").is_some());
    }
}

#[test]
fn saves_of_foreign_ids_tell_no_more_than_that() {
    let house = House::new();
    let foreign = house.foreign(CANARY);
    let save = |owner, options| {
        let task = json!({"id": foreign.a2a_task, "status": {"state": "working"}}).to_string();
        shown(house.handles.provider.save(owner, &task, options).map(|revision| Some(revision.to_string())))
    };
    // Whatever the stored task is, and whatever the caller expects of it.
    let refused = save(None, None);
    assert!(refused.contains("task_not_found") && !refused.contains(CANARY), "{refused}");
    for options in [r#"{"expectedRevision":0}"#, r#"{"expectedRevision":1}"#, r#"{"expectedRevision":9}"#] {
        assert_eq!(save(Some(""), Some(options)), refused);
    }
    // An id whose task expired is free, like one that never was.
    for ids in [house.expired(), Ids::unknown()] {
        let task = json!({"id": ids.a2a_task, "status": {"state": "working"}}).to_string();
        assert_eq!(house.handles.provider.save(None, &task, Some(r#"{"expectedRevision":0}"#)), Ok(1));
    }
}

#[test]
fn a_page_token_of_another_owner_is_no_token() {
    let house = House::new();
    house.foreign(CANARY);
    let Handles { manager, provider, .. } = &house.handles;
    for number in 0..3 {
        let task = json!({"id": format!("{CANARY}-{number}"), "status": {"state": "working"}}).to_string();
        provider.save(OWNER, &task, None).expect("saved");
    }
    let page = record(provider.list(OWNER, r#"{"pageSize":1}"#));
    let token = page["nextPageToken"].as_str().expect("a token");
    for owner in [None, Some(""), Some("default")] {
        let with = |token: &str| {
            shown(provider.list(owner, &json!({"pageSize": 1, "pageToken": token}).to_string()))
        };
        let refused = with("nobody");
        assert!(refused.contains("invalid_page_token"), "{refused}");
        for token in [token, "0100", CANARY] {
            assert_eq!(with(token), refused);
        }
    }
    let operators = record(manager.list(r#"{"pageSize":1}"#));
    assert!(!operators["nextPageToken"].to_string().contains(CANARY));
}

/// The times of one call, of which every fourth is shorter than `low` and every fourth longer than `high`.
#[derive(Debug)]
struct Times {
    low: Duration,
    middle: Duration,
    high: Duration,
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let [low, middle, high] = [1, 2, 3].map(|quarter| times[times.len() * quarter / 4]);
        Self { low, middle, high }
    }

    /// What one call differs from the next by itself.
    fn noise(&self) -> Duration {
        self.high.saturating_sub(self.low)
    }
}

#[test]
fn unknown_foreign_and_expired_take_the_same_time_but_for_noise() {
    const ROUNDS: usize = 61;
    // Nobody across a connection sees less. The first call to meet an expired record removes it, which on a database
    // is a commit.
    let unseen =
        Duration::from_micros(if std::env::var_os("TASKHOLD_TEST_STORE").is_some() { 300 } else { 5 });
    let house = House::new();
    let unknown = Ids::unknown();
    // So large that whatever reads it, copies it or compares it stands out.
    let foreign = house.foreign(&CANARY.repeat(80_000));
    for (name, answer) in protocol() {
        let measure = || {
            let mut times = [const { Vec::new() }; 3];
            for _ in 0..ROUNDS {
                for (kind, times) in times.iter_mut().enumerate() {
                    // Before every call, so that all find as many expired records in their way.
                    let expired = house.expired();
                    let ids = [&unknown, &foreign, &expired][kind];
                    let start = Instant::now();
                    std::hint::black_box(answer(&house.handles, ids));
                    times.push(start.elapsed());
                }
            }
            times.map(Times::of)
        };
        let is_even = |[unknown, others @ ..]: &[Times; 3]| {
            others.iter().all(|other| {
                let noise = unknown.noise().max(other.noise());
                unknown.middle.abs_diff(other.middle) <= noise + unseen
            })
        };
        // A busy machine may disturb one measurement, not all.
        let mut measured = Vec::new();
        while measured.len() < 5 && !measured.last().is_some_and(is_even) {
            measured.push(measure());
        }
        assert!(measured.last().is_some_and(is_even), "{name}: {measured:?}");
    }
}
