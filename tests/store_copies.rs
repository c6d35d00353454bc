//! Copies between stores of all kinds: whatever a caller can read of the first store, it reads of the copy, and what the
//! rules go by has come along.

mod stores;

use std::sync::Arc;

use serde_json::{Value, json};
use stores::{Kind, Place};
use taskhold::a2a::StateProvider;
use taskhold::clock::{Clock, ManualClock};
use taskhold::error::Reason;
use taskhold::session::SessionStore;
use taskhold::store::Store;
use taskhold::task::TaskManager;

const EPOCH_MS: i64 = 1_764_498_600_123;
const KINDS: [Kind; 3] = [Kind::Memory, Kind::Sqlite, Kind::Postgres];
const NAMES: [&str; 2] = ["default", "another"];

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// All systems under one name.
struct Hosts {
    tasks: TaskManager,
    sessions: SessionStore,
    provider: StateProvider,
}

impl Hosts {
    fn open(store: &Store, name: &str) -> Self {
        let tasks = json!({"name": name, "maximumRetainedTasks": 100_000}).to_string();
        let options = json!({"name": name}).to_string();
        let provider = json!({"name": name, "maximumEventsPerTask": 1200}).to_string();
        Self {
            tasks: TaskManager::open(store, Some(&tasks)).unwrap(),
            sessions: SessionStore::open(store, Some(&options)).unwrap(),
            provider: StateProvider::open(store, Some(&provider)).unwrap(),
        }
    }

    fn create(&self, creation: &Value) -> String {
        let record = parsed(self.tasks.create_task(&creation.to_string()).unwrap().as_str());
        record["task"]["taskId"].as_str().unwrap().to_owned()
    }

    /// Tasks in every state that a task can be in.
    fn fill_tasks(&self, number: usize) {
        let partition = [Value::Null, json!(""), json!("p\u{e9}")][number % 3].clone();
        let mut creation = json!({
            "endpoint": "/mcp", "origin": {"n": number}, "authorizationPartition": partition,
            "taskTimeToLiveMs": 1_000_000 + number,
        });
        let request = json!({"k\u{1}": {"method": "roots/list"}, "l": {"method": "roots/list"}}).to_string();
        match number % 9 {
            0 => drop(self.create(&creation)),
            1 => {
                let id = self.create(&creation);
                self.tasks.complete_task(&id, r#"{"content": [ 1.50 ]}"#, Some("done"), None).unwrap();
            }
            2 => {
                creation["metadata"] = json!({"k": "\u{0}"});
                creation["declaredInputRequests"] = json!(["roots/list"]);
                let id = self.create(&creation);
                self.tasks.request_task_input(&id, &request, Some("why?"), None).unwrap();
                let partition = partition.as_str();
                self.tasks.update_task("/mcp", partition, &id, r#"{"l": {"roots": []}}"#, None).unwrap();
                self.tasks.request_task_cancelation("/mcp", partition, &id).unwrap();
            }
            3 => {
                let id = self.create(&creation);
                self.tasks.fail_task(&id, r#"{"code": 1, "message": "no"}"#, None, None).unwrap();
            }
            4 => {
                creation["operationId"] = json!(format!("operation-{number}"));
                creation["work"] = json!({"w": [number]});
                self.create(&creation);
            }
            5 => {
                creation["queue"] = json!("waiting");
                creation["delayMs"] = json!(number);
                self.create(&creation);
            }
            6 => {
                creation["queue"] = json!(format!("claimed-{number}"));
                creation["attempts"] = json!({"maximum": 3, "backoffMs": 1000});
                let id = self.create(&creation);
                let claim = json!({"worker": "w", "queues": [creation["queue"]], "leaseMs": 50_000});
                self.tasks.claim_task(&claim.to_string(), Some(std::time::Duration::ZERO)).unwrap().unwrap();
                let renewal =
                    json!({"leaseMs": 60_000, "tasks": [{"taskId": id, "lease": 1, "checkpoint": [1]}]});
                self.tasks.renew_leases(&renewal.to_string()).unwrap();
            }
            7 => {
                creation["queue"] = json!("parked");
                creation["attempts"] = json!({"maximum": 2});
                creation["lease"] = json!({"worker": "w", "leaseMs": 10_000});
                let id = self.create(&creation);
                let options = r#"{"lease": 1, "park": true, "checkpoint": {"at": 2}}"#;
                self.tasks.request_task_input(&id, &request, None, Some(options)).unwrap();
            }
            _ => {
                creation["lease"] = json!({"worker": "w", "leaseMs": 20_000});
                self.create(&creation);
            }
        }
    }

    fn fill(&self, count: usize, clock: &ManualClock) {
        for number in 0..count {
            self.fill_tasks(number);
            clock.advance(1).unwrap();
        }
        for number in 0..count / 4 {
            let id = format!("session-{number}");
            let creation = json!({"sessionId": id, "sessionContext": {"n": number}}).to_string();
            let old = self.sessions.create("/mcp", Some(&creation)).unwrap().unwrap();
            let mut new = parsed(old.as_str());
            new["version"] = 7.into();
            match number % 4 {
                0 => continue,
                1 => new["terminatedAt"] = new["createdAt"].clone(),
                2 => new["initialized"] = true.into(),
                _ => assert!(self.sessions.pin(&id).unwrap()),
            }
            assert!(self.sessions.replace(old.as_str(), &new.to_string()).unwrap());
        }
        for number in 0..count / 4 {
            let owner = [None, Some(""), Some("o\u{e9}")][number % 3];
            let id = format!("a2a-{number}");
            let save = |state: &str, options: Value| {
                let task = json!({
                    "id": id, "contextId": format!("c{}", number % 5), "status": {"state": state},
                    "history": [{"n": 1}, {"n": 2}], "artifacts": [],
                });
                self.provider.save_task(owner, &task.to_string(), Some(&options.to_string())).unwrap();
            };
            let saves = if number == 3 { 1300 } else { number % 4 };
            for event in 0..saves {
                save("working", json!({"event": {"n": event}}));
            }
            match number % 3 {
                0 => save("completed", json!({"event": [number]})),
                1 => save("TASK_STATE_WORKING", json!({})),
                _ => {
                    save("unheard-of", json!({}));
                    self.provider
                        .set_push_config(owner, &id, Some("c"), r#"{"url": "https://a.example/"}"#)
                        .unwrap();
                }
            }
        }
    }

    /// All that can be read.
    fn snapshot(&self, ids: usize) -> Vec<Value> {
        let mut found = Vec::new();
        let mut token = Value::Null;
        loop {
            let mut params = json!({"includePayload": true, "pageSize": 1000});
            if token != "" && !token.is_null() {
                params["pageToken"] = token;
            }
            let mut page = parsed(self.tasks.list_tasks(Some(&params.to_string())).unwrap().as_str());
            found.append(page["records"].as_array_mut().unwrap());
            token = page["nextPageToken"].take();
            if token == "" {
                break;
            }
        }
        for number in 0..ids {
            let session = self.sessions.find_by_session_id(&format!("session-{number}")).unwrap();
            found.push(session.map_or(Value::Null, |session| parsed(session.as_str())));
            let id = format!("a2a-{number}");
            found.push(json!(format!("{:?}", self.provider.task_liveness(&id).unwrap())));
            for after in [0, 600] {
                let params = json!({"limit": 1000, "afterRevision": after}).to_string();
                found.push(parsed(self.provider.read_events(&id, Some(&params)).unwrap().as_str()));
            }
            for owner in [None, Some(""), Some("o\u{e9}")] {
                let configs =
                    self.provider.list_push_configs(owner, &id, None).map(|text| parsed(text.as_str()));
                found.push(configs.unwrap_or(Value::Null));
            }
        }
        let params = r#"{"anyOwner": true, "includeArtifacts": true, "historyLength": 5, "pageSize": 100}"#;
        found.push(parsed(self.provider.list_tasks(None, Some(params)).unwrap().as_str())["tasks"].take());
        found
    }
}

fn snapshot(store: &Store, ids: usize) -> Vec<Vec<Value>> {
    NAMES.iter().map(|name| Hosts::open(store, name).snapshot(ids)).collect()
}

fn assert_same(one: &[Vec<Value>], other: &[Vec<Value>], what: &str) {
    for (one, other) in one.iter().flatten().zip(other.iter().flatten()) {
        assert_eq!(one, other, "{what}");
    }
    assert_eq!(one.concat().len(), other.concat().len(), "{what}");
}

/// A store with records, its clock and its place.
fn filled(kind: Kind, count: usize) -> (Store, Place, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(EPOCH_MS).unwrap());
    let place = Place::new(kind);
    let store = place.open(Clock::Manual(Arc::clone(&clock)));
    for name in NAMES {
        Hosts::open(&store, name).fill(count, &clock);
    }
    (store, place, clock)
}

#[test]
fn copies_between_all_kinds_say_the_same() {
    const COUNT: usize = 54;
    for from in KINDS {
        let (store, _place, clock) = filled(from, COUNT);
        let before = snapshot(&store, COUNT / 4);
        for to in KINDS {
            let what = format!("{from:?} to {to:?}");
            let place = Place::new(to);
            let copy = place.open(Clock::Manual(Arc::clone(&clock)));
            let figures = parsed(store.copy_to(&copy, None).unwrap().as_str());
            assert_eq!(figures["tasks"], 2 * COUNT, "{what}");
            assert_eq!(figures["sessions"], 2 * (COUNT / 4), "{what}");
            assert_eq!(figures["a2aTasks"], 2 * (COUNT / 4), "{what}");
            assert_same(&before, &snapshot(&copy, COUNT / 4), &what);
            assert!(copy.check().unwrap().as_str().contains(r#""ok":true"#), "{what}");
            let refused = store.copy_to(&copy, None).unwrap_err();
            assert_eq!(refused.reason(), Reason::StoreNotEmpty, "{what}");
        }
        assert_same(&before, &snapshot(&store, COUNT / 4), "the first store is as it was");
    }
}

#[test]
fn what_the_rules_go_by_comes_along() {
    for to in KINDS {
        let (store, _place, clock) = filled(Kind::Memory, 45);
        let place = Place::new(to);
        let copy = place.open(Clock::Manual(Arc::clone(&clock)));
        store.copy_to(&copy, None).unwrap();
        let hosts = Hosts::open(&copy, "default");
        // Slots are taken.
        let full = TaskManager::open(&copy, Some(r#"{"maximumRetainedTasks": 45}"#)).unwrap();
        let refused = full.create_task(r#"{"endpoint": "/mcp", "origin": 1}"#).map(|_| ()).unwrap_err();
        assert_eq!(refused.reason(), Reason::CapacityExhausted, "{to:?}");
        // An operation is known.
        let again = json!({
            "endpoint": "/mcp", "origin": {}, "operationId": "operation-4", "work": {"w": [4]},
            "authorizationPartition": "",
        });
        let known = parsed(hosts.tasks.create_task(&again.to_string()).unwrap().as_str());
        assert_eq!(known["created"], false, "{to:?}");
        // Leases go on, lapse, and are claimed under the next token.
        let claim = json!({"worker": "v", "queues": ["claimed-6"], "leaseMs": 1000}).to_string();
        let zero = Some(std::time::Duration::ZERO);
        assert!(hosts.tasks.claim_task(&claim, zero).unwrap().is_none(), "{to:?}");
        clock.advance(61_000).unwrap();
        let claimed = parsed(hosts.tasks.claim_task(&claim, zero).unwrap().unwrap().into_text().as_str());
        assert_eq!((&claimed["lease"]["token"], &claimed["checkpoint"]), (&json!(2), &json!([1])), "{to:?}");
        // Uninitialized sessions expire at their time, pinned ones once nobody pins them.
        assert!(hosts.sessions.find_by_session_id("session-0").unwrap().is_none(), "{to:?}");
        assert!(hosts.sessions.find_by_session_id("session-2").unwrap().is_some(), "{to:?}");
        // What lapsed without another attempt has failed, and what is too old is gone.
        let page = parsed(hosts.tasks.list_tasks(Some(r#"{"status": "failed"}"#)).unwrap().as_str());
        assert_eq!(page["records"].as_array().unwrap().len(), 5 + 5, "{to:?}");
        clock.advance(1_000_000).unwrap();
        let page = parsed(hosts.tasks.list_tasks(None).unwrap().as_str());
        assert_eq!(page["records"], json!([]), "{to:?}");
    }
}

/// More of everything than goes over at once, through all kinds.
#[test]
fn a_long_way_round() {
    let clock = Arc::new(ManualClock::new(EPOCH_MS).unwrap());
    let first = Store::open(None, None, Clock::Manual(Arc::clone(&clock))).unwrap();
    Hosts::open(&first, "default").fill(1100, &clock);
    let (mut places, mut store) = (Vec::new(), first);
    let before = snapshot(&store, 20);
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::Memory] {
        places.push(Place::new(kind));
        let next = places.last().unwrap().open(Clock::Manual(Arc::clone(&clock)));
        store.copy_to(&next, None).unwrap();
        store = next;
    }
    assert_same(&before, &snapshot(&store, 20), "after all of it");
}
