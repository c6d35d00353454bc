//! Connections that break at every byte of a call: it succeeded, or it was refused and changed nothing, or nobody can
//! know, and then it says so. Never does one call change something twice.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use taskhold::a2a::StateProvider;
use taskhold::clock::Clock;
use taskhold::error::{Error, Reason, Status};
use taskhold::session::SessionStore;
use taskhold::store::Store;
use taskhold::task::TaskManager;

use super::proxy::{Direction, Fault, Proxy};
use crate::stores::postgres::{Address, Schema, url};

/// All systems over one store.
pub struct Hosts {
    pub tasks: TaskManager,
    pub sessions: SessionStore,
    pub provider: StateProvider,
}

impl Hosts {
    pub fn open(url: &str, options: &str) -> Self {
        let store = Store::open(Some(url), Some(options), Clock::System).unwrap();
        Self {
            tasks: TaskManager::open(&store, None).unwrap(),
            sessions: SessionStore::open(&store, None).unwrap(),
            provider: StateProvider::open(&store, None).unwrap(),
        }
    }
}

pub fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// A call that changes something.
struct Operation {
    name: &'static str,
    /// Makes what the call changes, and gives its name.
    prepare: fn(&Hosts, &str) -> String,
    /// Whether it did what it was asked for.
    call: fn(&Hosts, &str) -> Result<bool, Error>,
    /// How often it was done.
    times: fn(&Hosts, &str) -> u64,
}

pub const CREATION: &str = r#"{"endpoint": "/mcp", "origin": {}}"#;

pub fn new_task(hosts: &Hosts, _: &str) -> String {
    let record = parsed(hosts.tasks.create_task(CREATION).unwrap().as_str());
    record["task"]["taskId"].as_str().unwrap().to_owned()
}

fn changes(hosts: &Hosts, id: &str) -> u64 {
    number(&parsed(hosts.tasks.find_task(id).unwrap().unwrap().as_str())["revision"]) - 1
}

fn as_given(_: &Hosts, name: &str) -> String {
    name.to_owned()
}

fn in_partition(hosts: &Hosts, name: &str) -> Vec<Value> {
    let params = json!({"authorizationPartition": name}).to_string();
    parsed(hosts.tasks.list_tasks(Some(&params)).unwrap().as_str())["records"].as_array().unwrap().clone()
}

fn create(hosts: &Hosts, name: &str, others: &Value) -> Result<bool, Error> {
    let mut creation = parsed(CREATION);
    creation["authorizationPartition"] = name.into();
    for (member, value) in others.as_object().unwrap() {
        creation[member] = value.clone();
    }
    hosts.tasks.create_task(&creation.to_string()).map(|_| true)
}

const OPERATIONS: [Operation; 7] = [
    Operation {
        name: "mark working",
        prepare: new_task,
        call: |hosts, id| hosts.tasks.mark_task_working(id, Some("on it"), None).map(|_| true),
        times: changes,
    },
    Operation {
        name: "complete",
        prepare: new_task,
        call: |hosts, id| {
            let options = Some(r#"{"expectedRevision": 1}"#);
            hosts.tasks.complete_task(id, r#"{"content": []}"#, None, options).map(|_| true)
        },
        times: changes,
    },
    Operation {
        name: "create",
        prepare: as_given,
        call: |hosts, name| create(hosts, name, &json!({})),
        times: |hosts, name| in_partition(hosts, name).len() as u64,
    },
    Operation {
        name: "create with an operation",
        prepare: as_given,
        call: |hosts, name| create(hosts, name, &json!({"operationId": "o", "queue": "never claimed"})),
        times: |hosts, name| in_partition(hosts, name).len() as u64,
    },
    Operation {
        name: "claim",
        prepare: |hosts, name| {
            assert!(create(hosts, name, &json!({"queue": name, "attempts": {"maximum": 9}})).unwrap());
            name.to_owned()
        },
        call: |hosts, name| {
            let claim = json!({"worker": "w", "queues": [name], "leaseMs": 600_000}).to_string();
            hosts.tasks.claim_task(&claim, Some(Duration::ZERO)).map(|record| record.is_some())
        },
        times: |hosts, name| number(&in_partition(hosts, name)[0]["attempt"]),
    },
    Operation {
        name: "replace a session",
        prepare: |hosts, name| {
            let creation = json!({"sessionId": name}).to_string();
            hosts.sessions.create("/mcp", Some(&creation)).unwrap().unwrap();
            name.to_owned()
        },
        call: |hosts, name| {
            let old = hosts.sessions.find_by_session_id(name)?.expect("it is there");
            let mut new = parsed(old.as_str());
            new["version"] = 1.into();
            hosts.sessions.replace(old.as_str(), &new.to_string())
        },
        times: |hosts, name| {
            number(&parsed(hosts.sessions.find_by_session_id(name).unwrap().unwrap().as_str())["version"])
        },
    },
    Operation {
        name: "save with an event",
        prepare: |hosts, name| {
            let task = json!({"id": name, "status": {"state": "working"}}).to_string();
            hosts.provider.save_task(None, &task, None).unwrap();
            name.to_owned()
        },
        call: |hosts, name| {
            let task = json!({"id": name, "status": {"state": "completed"}}).to_string();
            hosts.provider.save_task(None, &task, Some(r#"{"event": {"n": 1}}"#)).map(|_| true)
        },
        times: |hosts, name| {
            let log = parsed(hosts.provider.read_events(name, None).unwrap().as_str());
            let events = log["events"].as_array().unwrap().len() as u64;
            // Task and log go together.
            assert_eq!(number(&log["revision"]), 1 + events);
            events
        },
    },
];

/// What a call came to, as how often it may have been done.
fn allowed(outcome: Result<bool, Error>, context: &str) -> std::ops::RangeInclusive<u64> {
    match outcome {
        Ok(true) => 1..=1,
        // Until the server notices that a connection is gone, its transaction holds the task, and others pass it over.
        Ok(false) if context.starts_with("claim") => 0..=0,
        Ok(false) => panic!("{context}: neither done nor refused"),
        Err(error) if error.reason() == Reason::OutcomeUnknown => 0..=1,
        Err(error) if error.status() == Status::Unavailable => 0..=0,
        Err(error) => panic!("{context}: {error:?}"),
    }
}

/// Every how manyth byte a connection breaks at.
fn step() -> usize {
    let given = std::env::var("TASKHOLD_CUT_STEP").ok();
    given.map_or(101, |text| text.parse().expect("TASKHOLD_CUT_STEP is a number"))
}

const BOTH: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

/// Lets `fault` happen at bytes `step` apart of each operation.
fn break_at(fault: Fault, step: usize, directions: &[Direction], options: &str) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let schema = Schema::new();
    let direct = Hosts::open(&url(), &schema.options());
    let mut address = Address::new();
    let proxy = Proxy::new(address.port);
    address.port = proxy.port;
    let broken = Hosts::open(&address.url(), &schema.options_with(options));
    let prepare = |operation: &Operation| {
        let name = format!("{}-{}", operation.name, NEXT.fetch_add(1, Ordering::Relaxed)).replace(' ', "-");
        (operation.prepare)(&direct, &name)
    };
    let (mut done, mut refused, mut unknown) = (0, 0, 0);
    for operation in &OPERATIONS {
        // How many bytes a call has.
        let mut bytes = [0; 2];
        for _ in 0..2 {
            let subject = prepare(operation);
            let before = proxy.passed();
            assert!((operation.call)(&broken, &subject).unwrap(), "{}", operation.name);
            bytes = [0, 1].map(|at| proxy.passed()[at] - before[at]);
        }
        let mut judged = Vec::new();
        for &direction in directions {
            // The last answer, or everything.
            let from = if matches!(fault, Fault::Replace(_)) { bytes[direction as usize] - 8 } else { 0 };
            for after in (from..=bytes[direction as usize]).step_by(step) {
                let context = format!("{}, {fault:?} {direction:?} after {after}", operation.name);
                let subject = prepare(operation);
                proxy.plan(direction, after, fault);
                let outcome = (operation.call)(&broken, &subject);
                match &outcome {
                    Ok(_) => done += 1,
                    Err(error) if error.reason() == Reason::OutcomeUnknown => unknown += 1,
                    Err(_) => refused += 1,
                }
                let allowed = allowed(outcome, &context);
                proxy.heal();
                let times = (operation.times)(&direct, &subject);
                assert!(allowed.contains(&times), "{context}: done {times} times, should be {allowed:?}");
                // A healed network is enough: the same store goes on.
                let next = prepare(operation);
                let again = (operation.call)(&broken, &next);
                assert!(matches!(again, Ok(true)), "{context}: then {again:?}");
                judged.push((subject, allowed, context));
            }
        }
        // What was refused does not happen later either.
        for (subject, allowed, context) in judged {
            let times = (operation.times)(&direct, &subject);
            assert!(allowed.contains(&times), "{context}: done {times} times later");
        }
    }
    println!("{fault:?}: {done} done, {refused} refused, {unknown} unknown");
}

#[test]
fn a_connection_that_is_cut_at_any_byte() {
    break_at(Fault::Cut, step(), &BOTH, "{}");
}

#[test]
fn a_connection_that_is_closed_on_one_side_at_any_byte() {
    break_at(Fault::HalfClose, step(), &BOTH, "{}");
}

#[test]
fn a_connection_that_falters_at_any_byte() {
    break_at(Fault::Delay(Duration::from_millis(5)), step(), &BOTH, "{}");
}

#[test]
fn a_connection_that_falls_silent_at_any_byte() {
    let options = r#"{"statementTimeoutMs": 300, "acquireTimeoutMs": 10000}"#;
    break_at(Fault::Hold, step() * 3, &BOTH, options);
}

/// The server has done everything when its answer begins; the pooler between does not know.
#[test]
fn a_pooler_that_loses_its_server_before_the_answer() {
    const CRASHED: &[u8] = b"E\0\0\0\x30SFATAL\0VFATAL\0C08P01\0Mserver conn crashed?\0\0";
    assert_eq!(CRASHED.len(), 1 + 0x30);
    break_at(Fault::Replace(CRASHED), usize::MAX, &[Direction::ToClient], "{}");
}
