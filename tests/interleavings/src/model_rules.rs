//! The promises of the domains about calls that race, through their whole stack.

use std::sync::Arc;

use shuttle::thread;

use crate::Model;
use crate::a2a::StateProvider;
use crate::error::Reason;
use crate::session::SessionStore;
use crate::store::Store;
use crate::task::TaskManager;

pub const ALL: &[Model] = &[
    ("rules: of racing ends one wins", one_end_wins),
    ("rules: an answer is accepted once, and taken once", an_answer_is_accepted_and_taken_once),
    ("rules: no answer is accepted after the end", no_answer_after_the_end),
    ("rules: of racing replacements one wins", one_replacement_wins),
    ("rules: the last free place goes to one session", one_session_gets_the_last_place),
    ("rules: a terminated session frees its place once", a_place_is_freed_once),
    ("rules: of racing conditional saves one wins", one_save_wins),
];

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

fn manager() -> (Arc<TaskManager>, String) {
    let manager = TaskManager::open(&Store::in_memory(), None).unwrap();
    let record = json(manager.create_task(r#"{"endpoint":"","origin":1}"#).unwrap().as_str());
    (Arc::new(manager), record["task"]["taskId"].as_str().unwrap().to_owned())
}

fn one_end_wins() {
    let (manager, id) = manager();
    let ends: [fn(&TaskManager, &str) -> crate::error::Result<()>; 3] = [
        |manager, id| manager.complete_task(id, "{}", None, None).map(drop),
        |manager, id| manager.fail_task(id, r#"{"code":1,"message":""}"#, None, None).map(drop),
        |manager, id| manager.cancel_task(id, None, None).map(drop),
    ];
    let threads = ends.map(|end| {
        let (manager, id) = (Arc::clone(&manager), id.clone());
        thread::spawn(move || end(&manager, &id).map_err(|error| error.reason()))
    });
    let outcomes = threads.map(|thread| thread.join().unwrap());
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Err(Reason::TaskTerminal)).count(), 2);
    let record = json(manager.find_task(&id).unwrap().unwrap().as_str());
    let winner = outcomes.iter().position(Result::is_ok).unwrap();
    assert_eq!(record["task"]["status"], ["completed", "failed", "cancelled"][winner]);
    assert_eq!(record["revision"], 2);
}

const ASK: &str = r#"{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}"#;

fn accepted(outcome: &str) -> usize {
    json(outcome)["accepted"].as_array().unwrap().len()
}

fn an_answer_is_accepted_and_taken_once() {
    let (manager, id) = manager();
    manager.request_task_input(&id, ASK, None, None).unwrap();
    let answers: Vec<_> = [r#"{"a":{"roots":[]}}"#, r#"{"b":{"roots":[]},"a":{"roots":[]}}"#]
        .map(|answer| {
            let (manager, id) = (Arc::clone(&manager), id.clone());
            thread::spawn(move || {
                accepted(manager.update_task("", None, &id, answer, None).unwrap().as_str())
            })
        })
        .into();
    let take = |manager: &TaskManager, id: &str| {
        json(manager.take_task_input_responses(id, None).unwrap().as_str()).as_object().unwrap().len()
    };
    let takes: Vec<_> = (0..2)
        .map(|_| {
            let (manager, id) = (Arc::clone(&manager), id.clone());
            thread::spawn(move || take(&manager, &id))
        })
        .collect();
    assert_eq!(answers.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>(), 2);
    let taken: usize = takes.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(taken + take(&manager, &id), 2);
    let record = json(manager.find_task(&id).unwrap().unwrap().as_str());
    assert_eq!(record["task"]["status"], "working");
}

fn no_answer_after_the_end() {
    let (manager, id) = manager();
    manager.request_task_input(&id, ASK, None, None).unwrap();
    let (other, task_id) = (Arc::clone(&manager), id.clone());
    let answers = thread::spawn(move || {
        let answer = r#"{"a":{"roots":[]},"b":{"roots":[]}}"#;
        accepted(other.update_task("", None, &task_id, answer, None).unwrap().as_str())
    });
    let (other, task_id) = (Arc::clone(&manager), id.clone());
    let asks_to_cancel = thread::spawn(move || other.request_task_cancelation("", None, &task_id).unwrap());
    let options = Some(r#"{"unlessCancelationRequested":true}"#);
    let ended = manager.complete_task(&id, "{}", None, options).map_err(|error| error.reason()).map(drop);
    let answered = answers.join().unwrap();
    asks_to_cancel.join().unwrap();
    assert!(answered == 0 || answered == 2);
    let record = json(manager.find_task(&id).unwrap().unwrap().as_str());
    match ended {
        Ok(()) => {
            assert_eq!(record["task"]["status"], "completed");
            assert_eq!(manager.take_task_input_responses(&id, None).unwrap().as_str(), "{}");
        }
        Err(reason) => {
            assert_eq!(reason, Reason::CancelationRequested);
            assert_eq!(record["cancelationRequested"], true);
            let status = if answered == 2 { "working" } else { "input_required" };
            assert_eq!(record["task"]["status"], status);
        }
    }
}

fn create(sessions: &SessionStore) -> Option<String> {
    sessions.create("/mcp", None).unwrap().map(|snapshot| snapshot.as_str().to_owned())
}

fn changed(snapshot: &str, terminated_at: Option<&str>, context: usize) -> String {
    let mut session = json(snapshot);
    session["version"] = (session["version"].as_u64().unwrap() + 1).into();
    session["sessionContext"] = serde_json::json!({ "by": context });
    session["terminatedAt"] = terminated_at.into();
    session.to_string()
}

fn one_replacement_wins() {
    let sessions = Arc::new(SessionStore::open(&Store::in_memory(), None).unwrap());
    let snapshot = create(&sessions).unwrap();
    let threads: Vec<_> = (0..3)
        .map(|number| {
            let (sessions, snapshot) = (Arc::clone(&sessions), snapshot.clone());
            thread::spawn(move || sessions.replace(&snapshot, &changed(&snapshot, None, number)).unwrap())
        })
        .collect();
    let outcomes: Vec<bool> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(outcomes.iter().filter(|replaced| **replaced).count(), 1);
    let id = json(&snapshot)["sessionId"].as_str().unwrap().to_owned();
    let stored = json(sessions.find_by_session_id(&id).unwrap().unwrap().as_str());
    assert_eq!(stored["sessionContext"]["by"], outcomes.iter().position(|replaced| *replaced).unwrap());
}

fn one_session_gets_the_last_place() {
    let sessions =
        Arc::new(SessionStore::open(&Store::in_memory(), Some(r#"{"concurrentSessionLimit":1}"#)).unwrap());
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let sessions = Arc::clone(&sessions);
            thread::spawn(move || create(&sessions).is_some())
        })
        .collect();
    assert_eq!(
        threads.into_iter().filter(|_| true).map(|thread| thread.join().unwrap() as u32).sum::<u32>(),
        1
    );
}

fn a_place_is_freed_once() {
    let sessions =
        Arc::new(SessionStore::open(&Store::in_memory(), Some(r#"{"concurrentSessionLimit":2}"#)).unwrap());
    let (snapshot, _) = (create(&sessions).unwrap(), create(&sessions).unwrap());
    let id = json(&snapshot)["sessionId"].as_str().unwrap().to_owned();
    let terminated = changed(&snapshot, Some("2025-11-30T10:30:00.000Z"), 0);
    let (other, before, after) = (Arc::clone(&sessions), snapshot.clone(), terminated.clone());
    let terminates = thread::spawn(move || other.replace(&before, &after).unwrap());
    let other = Arc::clone(&sessions);
    let deletes = thread::spawn(move || other.delete_by_session_id(&id).unwrap());
    let other = Arc::clone(&sessions);
    let creates = thread::spawn(move || create(&other).is_some());
    terminates.join().unwrap();
    deletes.join().unwrap();
    let created = creates.join().unwrap();
    assert_eq!(create(&sessions).is_some(), !created, "one place was freed");
    assert!(create(&sessions).is_none());
}

fn one_save_wins() {
    let tasks = Arc::new(StateProvider::open(&Store::in_memory(), None).unwrap());
    let save = |tasks: &StateProvider, state: &str, expected: u64| {
        let task = format!(r#"{{"id":"t","status":{{"state":"{state}"}}}}"#);
        let options = format!(r#"{{"expectedRevision":{expected}}}"#);
        tasks.save_task(None, &task, Some(&options)).map_err(|error| error.reason())
    };
    let states = ["working", "completed", "failed"];
    let threads = states.map(|state| {
        let tasks = Arc::clone(&tasks);
        thread::spawn(move || save(&tasks, state, 0))
    });
    let outcomes = threads.map(|thread| thread.join().unwrap());
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    let winner = outcomes.iter().position(Result::is_ok).unwrap();
    let (task, revision) = tasks.get_task(None, "t", None).unwrap().unwrap();
    assert_eq!(json(task.as_str())["status"]["state"], states[winner]);
    assert_eq!(Ok(revision), outcomes[winner]);
}
