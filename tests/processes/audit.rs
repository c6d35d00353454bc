//! Starts processes, kills some, and compares what they said with what the store holds.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use taskhold::a2a::StateProvider;
use taskhold::session::SessionStore;
use taskhold::store::Store;
use taskhold::task::TaskManager;

use super::worker::CREATION;
use super::{CONTESTED, LIMIT, Numbers, SHARED, Shared};
use crate::stores::Kind;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Starts a process that plays `role`.
pub fn start(role: &str, shared: &Shared, number: u64, operations: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([role, &shared.url, &shared.options])
        .args([number.to_string(), operations.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What becomes of a process.
#[derive(Clone, Debug)]
pub enum Fate {
    Lives,
    /// It is killed after so many lines.
    Killed(usize),
    /// It stands still for a time when it has just claimed a task, so often and after at least so many lines each.
    Stopped(usize, usize, Duration),
}

/// What a process said until it ended, and what befell it.
pub struct Heard {
    pub lines: Vec<String>,
    pub was_killed: bool,
    pub stops: usize,
}

fn signal(child: &Child, signal: libc::c_int) {
    // SAFETY: the child was not waited for, so that its number is nobody else's.
    assert_eq!(unsafe { libc::kill(child.id().try_into().unwrap(), signal) }, 0);
}

/// Listens to a process until it ends, and lets its fate befall it.
pub fn listen(mut child: Child, fate: &Fate) -> Heard {
    let mut heard = Heard { lines: Vec::new(), was_killed: false, stops: 0 };
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        heard.lines.push(line.unwrap());
        let count = heard.lines.len();
        match fate {
            Fate::Killed(lines) if *lines == count => {
                child.kill().unwrap();
                heard.was_killed = true;
            }
            Fate::Stopped(times, lines, pause)
                if heard.stops < *times
                    && count > lines * (heard.stops + 1)
                    && heard.lines[count - 1].starts_with("claimed ") =>
            {
                signal(&child, libc::SIGSTOP);
                heard.stops += 1;
                thread::sleep(*pause);
                signal(&child, libc::SIGCONT);
            }
            _ => {}
        }
    }
    let ended = child.wait().unwrap();
    assert!(heard.was_killed || ended.success(), "a process that was not killed failed");
    if !heard.was_killed {
        assert_eq!(heard.lines.last().map(String::as_str), Some("done"));
    }
    heard
}

/// Of a store that is not there yet or, in every other round, of which an empty file or schema is.
pub fn sixteen_open_a_new_store(kind: Kind, round: u64) {
    let shared = Shared::new(kind);
    if round % 2 == 1 {
        shared.prepare();
    }
    let children: Vec<Child> = (0..16).map(|number| start("worker", &shared, number, 0)).collect();
    for child in children {
        assert_eq!(listen(child, &Fate::Lives).lines, ["opened", "done"]);
    }
    check(&shared.open());
}

/// While others work on it.
pub fn sixteen_open_a_used_store(kind: Kind, round: u64) {
    let shared = Shared::new(kind);
    prepare(&shared);
    let said: Vec<String> = thread::scope(|scope| {
        let shared = &shared;
        let working: Vec<_> = (0..4)
            .map(|at| {
                scope.spawn(move || listen(start("worker", shared, round * 100 + at, 60), &Fate::Lives))
            })
            .collect();
        let children: Vec<Child> = (0..16).map(|number| start("worker", shared, number, 0)).collect();
        for child in children {
            assert_eq!(listen(child, &Fate::Lives).lines, ["opened", "done"]);
        }
        working.into_iter().flat_map(|listener| listener.join().unwrap().lines).collect()
    });
    audit(&shared, &said);
}

/// The tasks, sessions and A2A tasks that all processes work on. Each task has a response to be taken.
fn prepare(shared: &Shared) {
    let store = shared.open();
    let tasks = TaskManager::open(&store, None).unwrap();
    let sessions = SessionStore::open(&store, None).unwrap();
    let provider = StateProvider::open(&store, None).unwrap();
    for at in 0..CONTESTED {
        let record = json(tasks.create_task(CREATION).unwrap().as_str());
        let id = record["task"]["taskId"].as_str().unwrap();
        tasks.request_task_input(id, r#"{"k": {"method": "roots/list"}}"#, None, None).unwrap();
        tasks.update_task("/mcp", None, id, r#"{"k": {"roots": []}}"#, None).unwrap();
        let known = format!(
            r#"{{"id": "known-{at}", "status": {{"state": "working"}}, "metadata": {{"task": "{id}"}}}}"#
        );
        provider.save_task(None, &known, None).unwrap();
    }
    for at in 0..SHARED {
        let creation = format!(r#"{{"sessionId": "session-{at}"}}"#);
        sessions.create("/mcp", Some(&creation)).unwrap().unwrap();
        let task = format!(r#"{{"id": "a2a-{at}", "status": {{"state": "working"}}}}"#);
        provider.save_task(None, &task, None).unwrap();
    }
}

/// One round. Says what happened in it.
pub fn round(kind: Kind, round: u64, processes: u64) -> String {
    let shared = Shared::new(kind);
    prepare(&shared);
    let mut numbers = Numbers(0xdead_beef ^ (round + 1) << 20);
    let operations = 240 / processes + 40;
    // Every other process is killed after a random number of lines, and another takes its place.
    let fates: Vec<Fate> = (0..processes)
        .map(|at| match at % 2 {
            0 => Fate::Killed(usize::try_from(1 + numbers.below(operations / 2)).unwrap()),
            _ => Fate::Lives,
        })
        .collect();
    let killed = fates.iter().filter(|fate| matches!(fate, Fate::Killed(_))).count();
    let said: Vec<String> = thread::scope(|scope| {
        let shared = &shared;
        let listeners: Vec<_> = fates
            .iter()
            .enumerate()
            .map(|(at, fate)| {
                scope.spawn(move || {
                    let number = round * 1000 + at as u64;
                    let mut said = listen(start("worker", shared, number, operations), fate).lines;
                    if matches!(fate, Fate::Killed(_)) {
                        let other = start("worker", shared, number + 500, operations / 2);
                        said.extend(listen(other, &Fate::Lives).lines);
                    }
                    said
                })
            })
            .collect();
        listeners.into_iter().flat_map(|listener| listener.join().unwrap()).collect()
    });
    audit(&shared, &said);
    format!("{killed} killed, {} answers", said.len())
}

/// What was said of one thing may be said only once.
fn once<'a>(seen: &mut HashSet<(&'a str, &'a str)>, kind: &'a str, what: &'a str) {
    assert!(seen.insert((kind, what)), "said twice: {kind} {what}");
}

fn audit(shared: &Shared, said: &[String]) {
    let store = shared.open();
    check(&store);
    let tasks = TaskManager::open(&store, None).unwrap();
    let sessions = SessionStore::open(&store, None).unwrap();
    let provider = StateProvider::open(&store, None).unwrap();
    let task = |id: &str| json(tasks.find_task(id).unwrap().expect("an acknowledged task").as_str());
    let mut seen = HashSet::new();
    let mut newest: HashMap<&str, u64> = HashMap::new();
    let mut lives: HashMap<&str, u64> = HashMap::new();
    let mut limited = HashSet::new();
    let mut was_full = false;
    for line in said {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["opened" | "done"] => {}
            ["full"] => was_full = true,
            ["created", id] => {
                once(&mut seen, "created", id);
                assert_eq!(task(id)["origin"].to_string(), r#"{"tool":"t","arguments":[1.50,"é"]}"#);
            }
            ["limited", id] => assert!(limited.insert(id)),
            ["ended", id, mark] => {
                once(&mut seen, "ended", id);
                assert_eq!(task(id)["task"]["result"]["mark"], mark, "another process won as well");
            }
            ["took", id] => once(&mut seen, "took", id),
            ["replaced" | "saved", id, version] => {
                let key = line.split_once(' ').unwrap().1;
                once(&mut seen, "version", key);
                let version: u64 = version.parse().unwrap();
                let newest = newest.entry(id).or_default();
                *newest = version.max(*newest);
            }
            ["lives", id, revision] => drop(lives.insert(id, revision.parse::<u64>().unwrap())),
            _ => panic!("not understood: {line}"),
        }
    }
    for (id, newest) in newest {
        let found = if id.starts_with("session") {
            let session = sessions.find_by_session_id(id).unwrap().expect("the session");
            json(session.as_str())["version"].as_u64().unwrap()
        } else {
            provider.get_task(None, id, None).unwrap().expect("the A2A task").1
        };
        assert!(found >= newest, "{id} went back from {newest} to {found}");
    }
    for (id, said) in lives {
        // Killed between a call and its word, a process may have been one step ahead.
        let found = task(id)["revision"].as_u64().unwrap();
        assert!(found == said || found == said + 1, "{id} is at {found} and was said to be at {said}");
    }
    let limit = format!(r#"{{"name": "limited", "maximumRetainedTasks": {LIMIT}}}"#);
    let limited_tasks = TaskManager::open(&store, Some(&limit)).unwrap();
    let page = json(limited_tasks.list_tasks(Some(r#"{"pageSize": 1000}"#)).unwrap().as_str());
    let listed: HashSet<&str> =
        page["records"].as_array().unwrap().iter().map(|r| r["task"]["taskId"].as_str().unwrap()).collect();
    assert!(limited.iter().all(|id| listed.contains(id)), "an acknowledged task is gone");
    assert!(listed.len() <= LIMIT, "{} over the limit of {LIMIT}", listed.len());
    assert!(!was_full || listed.len() == LIMIT, "refused as full with {} of {LIMIT}", listed.len());
}

/// The storage is sound, every record can be read, and the counts are right.
pub fn check(store: &Store) {
    let findings = store.check().unwrap();
    assert!(findings.as_str().contains(r#""ok":true"#), "{}", findings.as_str());
}
