//! Page tokens of all listings: a walk by the tokens that were given out meets every task that matches once
//! and in order; whatever is given as a token, nothing of another owner or outside of the filters is shown.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use taskhold::a2a::StateProvider;
use taskhold::error::{Reason, Result};
use taskhold::session::SessionStore;
use taskhold::store::Store;
use taskhold::task::TaskManager;
use taskhold::text::Text;

#[derive(Arbitrary, Debug)]
struct Filters {
    second_owner: bool,
    by_context: bool,
    by_state: bool,
    since: Option<u8>,
    page_size: u8,
}

#[derive(Arbitrary, Debug)]
struct Input {
    /// Owner, context, state and timestamp of each task, in the bits.
    tasks: Vec<u8>,
    walked: Filters,
    other: Filters,
    /// Which byte of a token becomes what.
    damage: Vec<(u8, u8)>,
    token: String,
}

const OWNERS: [Option<&str>; 2] = [Some("ann"), None];
const CONTEXT: &str = "c";

struct Task {
    id: String,
    owner: Option<&'static str>,
    in_context: bool,
    is_working: bool,
    second: Option<u8>,
}

impl Task {
    fn new(number: usize, bits: u8) -> Self {
        Self {
            id: format!("t{number}"),
            owner: OWNERS[usize::from(bits & 1)],
            in_context: bits & 2 != 0,
            is_working: bits & 4 != 0,
            second: (bits & 8 != 0).then_some(bits >> 4),
        }
    }

    fn text(&self) -> String {
        let state = if self.is_working { "working" } else { "submitted" };
        let mut task = json!({"id": self.id, "status": {"state": state}});
        if self.in_context {
            task["contextId"] = CONTEXT.into();
        }
        if let Some(second) = self.second {
            task["status"]["timestamp"] = format!("2026-01-01T00:00:{second:02}Z").into();
        }
        task.to_string()
    }
}

impl Filters {
    fn owner(&self) -> Option<&'static str> {
        OWNERS[usize::from(self.second_owner)]
    }

    fn params(&self, token: &str) -> String {
        let mut params = json!({"pageSize": self.page_size % 4 + 1, "pageToken": token});
        if self.by_context {
            params["contextId"] = CONTEXT.into();
        }
        if self.by_state {
            params["status"] = "TASK_STATE_WORKING".into();
        }
        if let Some(second) = self.since {
            params["statusTimestampAfter"] = format!("2026-01-01T00:00:{:02}Z", second % 16).into();
        }
        params.to_string()
    }

    fn matches(&self, task: &Task) -> bool {
        task.owner == self.owner()
            && (!self.by_context || task.in_context)
            && (!self.by_state || task.is_working)
            && self.since.is_none_or(|since| task.second.is_some_and(|second| second >= since % 16))
    }

    fn is_same(&self, other: &Self) -> bool {
        self.owner() == other.owner()
            && self.by_context == other.by_context
            && self.by_state == other.by_state
            && self.since.map(|since| since % 16) == other.since.map(|since| since % 16)
    }
}

fn damaged(token: &str, damage: &[(u8, u8)]) -> String {
    let mut bytes = token.as_bytes().to_vec();
    for (at, byte) in damage {
        if !bytes.is_empty() {
            let at = usize::from(*at) % bytes.len();
            bytes[at] = byte & 0x7f;
        }
    }
    String::from_utf8(bytes).expect("ASCII")
}

fn page(listed: Result<Text>) -> Option<Value> {
    match listed {
        Ok(page) => Some(serde_json::from_str(page.as_str()).expect("JSON")),
        Err(error) => {
            assert_eq!(error.reason(), Reason::InvalidPageToken);
            None
        }
    }
}

fn ids(page: &Value) -> Vec<String> {
    let tasks = page["tasks"].as_array().expect("tasks");
    tasks.iter().map(|task| task["id"].as_str().expect("an id").to_owned()).collect()
}

fn a2a(input: &Input) {
    let provider = StateProvider::open(&Store::in_memory(), None).expect("opened");
    let tasks: Vec<_> =
        input.tasks.iter().take(24).enumerate().map(|(number, bits)| Task::new(number, *bits)).collect();
    for task in &tasks {
        provider.save_task(task.owner, &task.text(), None).expect("saved");
    }
    let list = |filters: &Filters, token: &str| {
        let page = page(provider.list_tasks(filters.owner(), Some(&filters.params(token))))?;
        let shown = ids(&page);
        let all_match =
            shown.iter().all(|id| tasks.iter().any(|task| task.id == *id && filters.matches(task)));
        assert!(all_match, "{filters:?} {token:?} {shown:?}");
        Some(page)
    };
    let mut expected: Vec<&Task> = tasks.iter().filter(|task| input.walked.matches(task)).collect();
    expected.sort_by(|a, b| b.second.cmp(&a.second).then_with(|| a.id.cmp(&b.id)));
    let (mut walked, mut token) = (Vec::new(), String::new());
    loop {
        let page = list(&input.walked, &token).expect("its own token");
        assert_eq!(page["totalSize"], expected.len());
        let shown = ids(&page);
        assert_eq!(page["pageSize"], shown.len());
        walked.extend(shown);
        let next = page["nextPageToken"].as_str().expect("a token").to_owned();
        if !token.is_empty() {
            let foreign = list(&input.other, &token);
            assert_eq!(foreign.is_some(), input.walked.is_same(&input.other));
            list(&input.walked, &damaged(&token, &input.damage));
        }
        if next.is_empty() {
            break;
        }
        token = next;
    }
    assert!(walked.iter().eq(expected.iter().map(|task| &task.id)), "{walked:?}");
    list(&input.walked, &input.token);
}

fn operators(input: &Input) {
    let manager = TaskManager::open(&Store::in_memory(), None).expect("opened");
    let mut expected = Vec::new();
    for bits in input.tasks.iter().take(24) {
        let partition = if bits & 1 == 0 { json!("ann") } else { Value::Null };
        let creation = json!({"endpoint": "/mcp", "origin": 1, "authorizationPartition": partition});
        let record = manager.create_task(&creation.to_string()).expect("created");
        let record: Value = serde_json::from_str(record.as_str()).expect("JSON");
        if partition.is_null() == input.walked.second_owner {
            expected.push(record["task"]["taskId"].clone());
        }
    }
    let id = |record: &Value| record["task"]["taskId"].clone();
    walk(input, "records", &|params| manager.list_tasks(Some(params)), &id, &expected);
}

fn sessions(input: &Input) {
    let sessions = SessionStore::open(&Store::in_memory(), None).expect("opened");
    let mut expected = Vec::new();
    for bits in input.tasks.iter().take(24) {
        let partition = if bits & 1 == 0 { json!("ann") } else { Value::Null };
        let creation = json!({"authorizationPartition": partition}).to_string();
        let session = sessions.create("/mcp", Some(&creation)).expect("created").expect("admitted");
        let session: Value = serde_json::from_str(session.as_str()).expect("JSON");
        if bits & 6 == 6 {
            let id = session["sessionId"].as_str().expect("an id");
            sessions.delete_by_session_id(id).expect("deleted");
        } else if partition.is_null() == input.walked.second_owner {
            expected.push(session["sessionId"].clone());
        }
    }
    let id = |session: &Value| session["sessionId"].clone();
    walk(input, "sessions", &|params| sessions.list_sessions(Some(params)), &id, &expected);
}

/// Walks over an operators' listing of one partition, whose rows are under `key`.
fn walk(
    input: &Input,
    key: &str,
    list: &dyn Fn(&str) -> Result<Text>,
    id: &dyn Fn(&Value) -> Value,
    expected: &[Value],
) {
    let partition = if input.walked.second_owner { Value::Null } else { json!("ann") };
    let list = |token: &str| {
        let params = json!({
            "authorizationPartition": partition, "pageSize": input.walked.page_size % 4 + 1, "pageToken": token
        });
        let page = page(list(&params.to_string()))?;
        let rows = page[key].as_array().expect("rows");
        assert!(rows.iter().all(|row| row["authorizationPartition"] == partition));
        let shown: Vec<Value> = rows.iter().map(id).collect();
        Some((shown, page["nextPageToken"].as_str().expect("a token").to_owned()))
    };
    let (mut walked, mut token) = (Vec::new(), String::new());
    loop {
        let (shown, next) = list(&token).expect("its own token");
        walked.extend(shown);
        list(&damaged(&token, &input.damage));
        if next.is_empty() {
            break;
        }
        token = next;
    }
    assert_eq!(walked, expected);
    list(&input.token);
}

fuzz_target!(|input: Input| {
    a2a(&input);
    operators(&input);
    sessions(&input);
});
