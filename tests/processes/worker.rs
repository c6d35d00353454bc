//! One process: it makes calls at random and says what came of each.

use std::io::Write as _;

use serde_json::Value;
use taskhold::a2a::StateProvider;
use taskhold::error::{Error, Status};
use taskhold::session::SessionStore;
use taskhold::task::TaskManager;

use super::{CONTESTED, LIMIT, Numbers, SHARED, Shared};

struct Worker {
    number: u64,
    numbers: Numbers,
    tasks: TaskManager,
    limited: TaskManager,
    sessions: SessionStore,
    provider: StateProvider,
}

/// One write, so that a line is said whole or not at all.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

pub fn run(shared: &Shared, number: u64, operations: u64) {
    let store = shared.open();
    let limit = format!(r#"{{"name": "limited", "maximumRetainedTasks": {LIMIT}}}"#);
    let mut worker = Worker {
        number,
        numbers: Numbers(0x9e37_79b9_7f4a_7c15 ^ (number + 1)),
        tasks: TaskManager::open(&store, None).unwrap(),
        limited: TaskManager::open(&store, Some(&limit)).unwrap(),
        sessions: SessionStore::open(&store, None).unwrap(),
        provider: StateProvider::open(&store, None).unwrap(),
    };
    say("opened");
    for operation in 0..operations {
        match worker.numbers.below(8) {
            0 => worker.create(),
            1 => worker.create_limited(),
            2 => worker.end(operation),
            3 => worker.take(),
            4 => worker.replace(),
            5 => worker.save(),
            6 => worker.look(),
            _ => worker.own_life(),
        }
    }
    say("done");
}

/// What the call gave, or nothing when a rule refused it. A storage that fails is a failure of the test.
pub fn allowed<T>(outcome: Result<T, Error>, refusals: &[Status]) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(error) if refusals.contains(&error.status()) => None,
        Err(error) => panic!("refused: {error:?}"),
    }
}

pub fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

pub fn task_id(record: &str) -> String {
    parsed(record)["task"]["taskId"].as_str().unwrap().to_owned()
}

pub const CREATION: &str = r#"{"endpoint": "/mcp", "origin": {"tool": "t", "arguments": [1.50, "\u00e9"]}}"#;

impl Worker {
    fn create(&mut self) {
        let record = allowed(self.tasks.create_task(CREATION), &[]).unwrap();
        say(&format!("created {}", task_id(record.as_str())));
    }

    fn create_limited(&mut self) {
        match allowed(self.limited.create_task(CREATION), &[Status::CapacityExhausted]) {
            Some(record) => say(&format!("limited {}", task_id(record.as_str()))),
            None => say("full"),
        }
    }

    /// The ids of the tasks that all processes know, which the first one created.
    fn contested(&mut self) -> String {
        format!("{}", self.numbers.below(CONTESTED as u64))
    }

    fn end(&mut self, operation: u64) {
        let (at, mark) = (self.contested(), format!("{}-{operation}", self.number));
        let id = self.known_task(&at);
        let result = format!(r#"{{"content": [], "mark": "{mark}"}}"#);
        if allowed(self.tasks.complete_task(&id, &result, None, None), &[Status::InvalidState]).is_some() {
            say(&format!("ended {id} {mark}"));
        }
    }

    fn take(&mut self) {
        let at = self.contested();
        let id = self.known_task(&at);
        let taken = allowed(self.tasks.take_task_input_responses(&id, None), &[]).unwrap();
        if taken.as_str() != "{}" {
            say(&format!("took {id}"));
        }
    }

    /// Where the tasks that all share are written down: in an A2A task each.
    fn known_task(&self, at: &str) -> String {
        let (text, _) = self.provider.get_task(None, &format!("known-{at}"), None).unwrap().unwrap();
        parsed(text.as_str())["metadata"]["task"].as_str().unwrap().to_owned()
    }

    fn replace(&mut self) {
        let id = format!("session-{}", self.numbers.below(SHARED as u64));
        let old = self.sessions.find_by_session_id(&id).unwrap().unwrap();
        let mut new = parsed(old.as_str());
        let version = new["version"].as_u64().unwrap() + 1;
        new["version"] = version.into();
        if allowed(self.sessions.replace(old.as_str(), &new.to_string()), &[]).unwrap() {
            say(&format!("replaced {id} {version}"));
        }
    }

    fn save(&mut self) {
        let id = format!("a2a-{}", self.numbers.below(SHARED as u64));
        let (_, revision) = self.provider.get_task(None, &id, None).unwrap().unwrap();
        let task = format!(r#"{{"id": "{id}", "status": {{"state": "working"}}}}"#);
        let options = format!(r#"{{"expectedRevision": {revision}}}"#);
        let saved = self.provider.save_task(None, &task, Some(&options));
        if let Some(revision) = allowed(saved, &[Status::Conflict]) {
            say(&format!("saved {id} {revision}"));
        }
    }

    fn look(&mut self) {
        let page = self.provider.list_tasks(None, Some(r#"{"pageSize": 20}"#)).unwrap();
        assert!(parsed(page.as_str())["totalSize"].as_u64().unwrap() >= (CONTESTED + SHARED) as u64);
        let page = self.tasks.list_tasks(Some(r#"{"pageSize": 20}"#)).unwrap();
        assert_eq!(parsed(page.as_str())["corrupt"], parsed("[]"));
    }

    /// A task from its creation to its end; nobody else knows it.
    fn own_life(&mut self) {
        let id = task_id(allowed(self.tasks.create_task(CREATION), &[]).unwrap().as_str());
        say(&format!("created {id}"));
        say(&format!("lives {id} 1"));
        let request = r#"{"k": {"method": "roots/list"}}"#;
        allowed(self.tasks.request_task_input(&id, request, Some("?"), None), &[]).unwrap();
        say(&format!("lives {id} 2"));
        let response = r#"{"k": {"roots": []}}"#;
        allowed(self.tasks.update_task("/mcp", None, &id, response, None), &[]).unwrap();
        say(&format!("lives {id} 3"));
        allowed(self.tasks.cancel_task(&id, None, None), &[]).unwrap();
        say(&format!("lives {id} 4"));
    }
}
