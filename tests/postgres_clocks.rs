//! Hosts whose clocks are days apart over one PostgreSQL server: leases and expiry go by the server's clock, and so do
//! the times that people read. Debian's faketime moves the clocks of the processes that this test starts.

mod stores;

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use stores::postgres::{Schema, url};
use taskhold::a2a::StateProvider;
use taskhold::clock::Clock;
use taskhold::session::SessionStore;
use taskhold::store::Store;
use taskhold::task::TaskManager;
use taskhold::time::parse_timestamp;

const EARLY: &str = "-3d";
const LATE: &str = "+3d";
const DAY_MS: i64 = 86_400_000;

fn system_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_millis().try_into().unwrap()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// What a process does: one call, whose answer it prints.
fn run(role: &str, url: &str, options: &str, argument: &str) -> Value {
    if role == "clock" {
        return json!(system_ms());
    }
    let store = Store::open(Some(url), Some(options), Clock::System).unwrap();
    let tasks = TaskManager::open(&store, Some(r#"{"taskTimeToLiveMs": 600000}"#)).unwrap();
    let sessions = SessionStore::open(&store, None).unwrap();
    let provider = StateProvider::open(&store, Some(r#"{"gracePeriodMs": 600000}"#)).unwrap();
    let given = |text: Option<taskhold::text::Text>| text.map_or(Value::Null, |text| parsed(text.as_str()));
    match role {
        "create" => {
            let creation =
                json!({"endpoint": "/mcp", "origin": {}, "queue": argument, "attempts": {"maximum": 9}});
            given(Some(tasks.create_task(&creation.to_string()).unwrap()))
        }
        "find" => given(tasks.find_task(argument).unwrap()),
        "claim" | "claim shortly" | "wait for a claim" => {
            let lease_ms = if role == "claim shortly" { 1500 } else { 600_000 };
            let claim = json!({"worker": "w", "queues": [argument], "leaseMs": lease_ms}).to_string();
            let patience = Duration::from_secs(if role == "wait for a claim" { 60 } else { 0 });
            given(tasks.claim_task(&claim, Some(patience)).unwrap().map(taskhold::task::Record::into_text))
        }
        "create a session" => {
            let creation = json!({"sessionId": argument}).to_string();
            given(sessions.create("/mcp", Some(&creation)).unwrap())
        }
        "find a session" => given(sessions.find_by_session_id(argument).unwrap()),
        "complete an A2A task" => {
            let task = json!({"id": argument, "status": {"state": "completed"}}).to_string();
            json!(provider.save_task(None, &task, None).unwrap())
        }
        "liveness" => json!(format!("{:?}", provider.task_liveness(argument).unwrap())),
        _ => panic!("no process does {role}"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, url, options, argument] = &arguments[..] {
        println!("{}", run(role, url, options, argument));
        return;
    }
    let required = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/require.sh"))
        .arg("faketime")
        .status()
        .unwrap();
    assert!(required.success());
    let (schema, url) = (Schema::new(), url());
    let ask = |clock: &str, role: &str, argument: &str| -> Value {
        let output = Command::new("faketime")
            .args(["--exclude-monotonic", "-f", clock])
            .arg(std::env::current_exe().unwrap())
            .args([role, &url, &schema.options(), argument])
            .output()
            .unwrap();
        assert!(output.status.success(), "{role}: {}", String::from_utf8_lossy(&output.stderr));
        parsed(&String::from_utf8(output.stdout).unwrap())
    };
    for (clock, days) in [(EARLY, -3), (LATE, 3)] {
        let away = ask(clock, "clock", "").as_i64().unwrap() - system_ms() - days * DAY_MS;
        assert!(away.abs() < DAY_MS, "the clock of the process is not moved");
    }
    // Nothing has expired for the one that another made, and its times are the server's, which this process has too.
    for (one, other) in [(EARLY, LATE), (LATE, EARLY)] {
        let queue = format!("q{one}");
        let created = ask(one, "create", &queue);
        let text = created["task"]["createdAt"].as_str().unwrap();
        let away = parse_timestamp(text).unwrap() - system_ms();
        assert!(away.abs() < DAY_MS / 24, "created at {text}");
        let id = created["task"]["taskId"].as_str().unwrap();
        assert_eq!(ask(other, "find", id), created);

        let session = ask(one, "create a session", &queue);
        assert_eq!(ask(other, "find a session", &queue), session);

        ask(one, "complete an A2A task", &queue);
        assert_eq!(ask(other, "liveness", &queue), "Grace");

        // A lease holds for both, and lapses for both.
        let claimed = ask(one, "claim", &queue);
        assert_eq!(claimed["task"]["taskId"], id);
        assert_eq!(ask(other, "claim", &queue), Value::Null);
        let queue = format!("r{one}");
        ask(other, "create", &queue);
        let first = ask(one, "claim shortly", &queue);
        let second = ask(other, "wait for a claim", &queue);
        assert_eq!(first["task"]["taskId"], second["task"]["taskId"]);
        assert_eq!(second["attempt"], 2);
        let ends = |record: &Value| parse_timestamp(record["lease"]["expiresAt"].as_str().unwrap()).unwrap();
        let apart = ends(&second) - ends(&first);
        assert!((600_000..600_000 + DAY_MS / 24).contains(&apart), "{apart} ms apart");
    }
    println!("ok: hosts six days apart agree");
}
