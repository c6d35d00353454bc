//! A host that is far away changes what others, close to the database, change without a break. It comes to its turn.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use taskhold::error::Error;

use super::cuts::{CREATION, Hosts, new_task, parsed};
use super::proxy::Proxy;
use crate::stores::postgres::{Address, Schema, url};

/// How far the host is away: many changes of the others fit into one way to the server and back.
const DISTANCE: Duration = Duration::from_millis(10);
/// How often it changes the record.
const CHANGES: usize = 3;

/// Lets `far` change a record again and again while `near` does. Each is given what `prepare` made.
fn assert_comes_to_its_turn<T: Sync>(
    prepare: impl Fn(&Hosts) -> T,
    near: impl Fn(&Hosts, &T) + Sync,
    far: impl Fn(&Hosts, &T) -> Result<(), Error>,
) {
    let (mut address, schema) = (Address::new(), Schema::new());
    let proxy = Proxy::new(address.port);
    address.port = proxy.port;
    let there = Hosts::open(&address.url(), &schema.options());
    let here = Hosts::open(&url(), &schema.options());
    let prepared = prepare(&here);
    proxy.move_away(DISTANCE);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    near(&here, &prepared);
                }
            });
        }
        let done: Result<Vec<()>, Error> = (0..CHANGES).map(|_| far(&there, &prepared)).collect();
        is_over.store(true, Ordering::Relaxed);
        done.expect("it comes to its turn");
    });
    proxy.move_away(Duration::ZERO);
}

#[test]
fn with_a_change_of_a_task() {
    let mark = |hosts: &Hosts, id: &String, note| hosts.tasks.mark_task_working(id, Some(note), None);
    assert_comes_to_its_turn(
        |hosts| new_task(hosts, ""),
        |hosts, id| drop(mark(hosts, id, "near").unwrap()),
        |hosts, id| mark(hosts, id, "far").map(drop),
    );
}

#[test]
fn with_a_change_of_a_session() {
    assert_comes_to_its_turn(
        |hosts| hosts.sessions.create("/mcp", Some(r#"{"sessionId": "s"}"#)).map(drop).unwrap(),
        |hosts, ()| {
            assert!(hosts.sessions.pin("s").unwrap());
            hosts.sessions.unpin("s").unwrap();
        },
        |hosts, ()| {
            let old = hosts.sessions.find_by_session_id("s")?.expect("it is there");
            let mut new = parsed(old.as_str());
            new["version"] = (new["version"].as_u64().unwrap() + 1).into();
            hosts.sessions.replace(old.as_str(), &new.to_string()).map(|is_done| assert!(is_done))
        },
    );
}

#[test]
fn with_saving_an_a2a_task() {
    let task = |state: &str| json!({"id": "t", "status": {"state": state}}).to_string();
    let save = |hosts: &Hosts, state: &str| hosts.provider.save_task(None, &task(state), None);
    assert_comes_to_its_turn(
        |hosts| assert!(save(hosts, "submitted").unwrap() > 0),
        |hosts, ()| assert!(save(hosts, "working").unwrap() > 1),
        |hosts, ()| save(hosts, "input-required").map(drop),
    );
}

#[test]
fn with_the_renewal_of_a_lease() {
    let renew = |hosts: &Hosts, lease: &Value| {
        let renewals = json!({"leaseMs": 600_000, "tasks": [lease]}).to_string();
        let renewed = parsed(hosts.tasks.renew_leases(&renewals)?.as_str());
        assert_eq!(renewed["renewed"].as_array().map(Vec::len), Some(1), "{renewed}");
        Ok(())
    };
    assert_comes_to_its_turn(
        |hosts| {
            let mut creation = parsed(CREATION);
            creation["queue"] = "q".into();
            hosts.tasks.create_task(&creation.to_string()).unwrap();
            let claim = r#"{"worker": "w", "queues": ["q"], "leaseMs": 600000}"#;
            let claimed = hosts.tasks.claim_task(claim, Some(Duration::ZERO)).unwrap().unwrap();
            let claimed = parsed(claimed.into_text().as_str());
            json!({"taskId": claimed["task"]["taskId"], "lease": claimed["lease"]["token"]})
        },
        |hosts, lease| renew(hosts, lease).unwrap(),
        renew,
    );
}
