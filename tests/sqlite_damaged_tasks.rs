//! A2A tasks in a file whose texts were damaged: the columns still answer, the task can be deleted and saved anew,
//! and nothing is made worse.

#![cfg(feature = "sqlite")]

mod stores;

use std::fmt::Write as _;

use rusqlite::Connection;
use serde_json::{Value, json};
use stores::{Folder, QUICK};
use taskhold::a2a::{Liveness, StateProvider};
use taskhold::clock::Clock;
use taskhold::error::Reason;
use taskhold::store::Store;

struct Stand {
    provider: StateProvider,
    store: Store,
    outsider: Connection,
    _folder: Folder,
}

impl Stand {
    fn new() -> Self {
        let folder = Folder::new();
        let store = Store::open(Some(&folder.url("agents.db")), Some(QUICK), Clock::System).unwrap();
        let provider = StateProvider::open(&store, None).unwrap();
        let outsider = Connection::open(folder.path.join("agents.db")).unwrap();
        Self { provider, store, outsider, _folder: folder }
    }

    fn save(&self, id: &str, state: &str) {
        let task = json!({"id": id, "status": {"state": state}, "history": [1, 2], "artifacts": [3]});
        self.provider.save_task(Some("ann"), &task.to_string(), None).unwrap();
    }

    fn damage(&self, column: &str, value: &str) {
        let changed =
            self.outsider.execute(&format!("UPDATE a2a_tasks SET {column} = {value} WHERE id = 't'"), ());
        assert_eq!(changed, Ok(1));
    }

    fn list(&self) -> Value {
        let page = self.provider.list_tasks(Some("ann"), Some(r#"{"historyLength": 1}"#)).unwrap();
        serde_json::from_str(page.as_str()).unwrap()
    }

    fn check(&self) -> Value {
        serde_json::from_str(self.store.check().unwrap().as_str()).unwrap()
    }
}

/// Spans as the file has them.
fn spans(numbers: &[u32]) -> String {
    let mut hex = String::new();
    for byte in numbers.iter().flat_map(|at| at.to_le_bytes()) {
        let _ = write!(hex, "{byte:02x}");
    }
    format!("x'{hex}'")
}

/// Texts, and spans that lie in each other or do not fit. In the text `"history":[1,2]` is at 39 and
/// `"artifacts":[3]` at 55.
fn damages() -> Vec<(&'static str, String)> {
    vec![
        ("task", "'{'".to_owned()),
        ("task", "''".to_owned()),
        ("task", "NULL || 7".to_owned()),
        ("task", "x'ff'".to_owned()),
        ("task", "'{\"id\":\"t\"}'".to_owned()),
        ("history_spans", spans(&[39, 49, 60])),
        ("history_spans", spans(&[39, 49, 71])),
        ("artifacts_spans", spans(&[39, 49, 54])),
        ("artifacts_spans", spans(&[10, 49, 52])),
        ("history_spans", "x'01'".to_owned()),
        ("history_spans", "'text'".to_owned()),
    ]
}

#[test]
fn the_columns_answer_for_a_task_whose_texts_are_damaged() {
    for (column, value) in damages() {
        let stand = Stand::new();
        let damage = format!("{column} = {value}");
        stand.save("t", "working");
        stand.save("other", "working");
        stand.save("final", "completed");
        if value.starts_with("NULL") {
            // The column is NOT NULL: a number has no text either.
            stand.damage(column, "7");
        } else {
            stand.damage(column, &value);
        }
        let provider = &stand.provider;
        assert_eq!(provider.task_liveness("t").unwrap(), Liveness::Active, "{damage}");
        let refused = provider.get_task(Some("ann"), "t", None).unwrap_err();
        assert_eq!(refused.reason(), Reason::CorruptRow, "{damage}");
        let refused = provider.set_push_config(Some("ann"), "t", None, "{}").unwrap_err();
        assert_eq!(refused.reason(), Reason::CorruptRow, "{damage}");
        assert!(provider.get_task(None, "t", None).unwrap().is_none(), "{damage}");

        let page = stand.list();
        assert_eq!(page["corrupt"], json!(["t"]), "{damage}");
        assert_eq!(page["tasks"].as_array().unwrap().len(), 2, "{damage}");
        let found = stand.check();
        assert_eq!(found["unreadable"], json!([{"kind": "a2a", "name": "default", "id": "t"}]), "{damage}");

        // Others are told what they are always told.
        let task = r#"{"id": "t", "status": {"state": "completed"}}"#;
        assert_eq!(provider.save_task(None, task, None).unwrap_err().reason(), Reason::TaskNotFound);
        provider.delete_task(None, "t").unwrap();

        // A save replaces the row under its next revision.
        let save = provider.save_task(Some("ann"), task, Some(r#"{"expectedRevision": 1}"#));
        assert_eq!(save.unwrap(), 2, "{damage}");
        assert_eq!(provider.get_task(Some("ann"), "t", None).unwrap().unwrap().0.as_str(), task);
        assert_eq!(stand.check()["ok"], true, "{damage}");
    }
}

#[test]
fn a_damaged_task_can_be_deleted() {
    for (column, value) in damages().into_iter().filter(|(_, value)| !value.starts_with("NULL")) {
        let stand = Stand::new();
        stand.save("t", "completed");
        stand.damage(column, &value);
        assert_eq!(stand.provider.task_liveness("t").unwrap(), Liveness::Grace);
        stand.provider.delete_task(Some("ann"), "t").unwrap();
        assert_eq!(stand.provider.task_liveness("t").unwrap(), Liveness::Absent);
        assert_eq!(stand.check()["ok"], true);
    }
}

#[test]
fn damaged_push_configs_leave_the_task_alone() {
    let stand = Stand::new();
    stand.save("t", "working");
    stand.damage("push_configs", "'['");
    let provider = &stand.provider;
    assert!(provider.get_task(Some("ann"), "t", None).unwrap().is_some());
    assert_eq!(stand.list()["totalSize"], 1);
    let refused = [
        provider.list_push_configs(Some("ann"), "t", None).map(|_| ()),
        provider.set_push_config(Some("ann"), "t", None, "{}"),
        provider.delete_push_config(Some("ann"), "t", None),
    ];
    assert!(refused.into_iter().all(|refused| refused.unwrap_err().reason() == Reason::CorruptRow));
    assert_eq!(stand.check()["unreadableCount"], 1);
    stand.save("t", "completed");
    assert_eq!(stand.check()["ok"], true);
    assert_eq!(provider.list_push_configs(Some("ann"), "t", None).unwrap().as_str(), r#"{"configs":[]}"#);
}

#[test]
fn a_foreign_save_over_a_row_that_cannot_be_read_at_all_is_told_what_it_always_is() {
    let stand = Stand::new();
    stand.save("t", "working");
    stand.damage("revision", "'x'");
    let task = r#"{"id": "t", "status": {"state": "working"}}"#;
    let save = |owner| stand.provider.save_task(owner, task, None).unwrap_err().reason();
    assert_eq!(save(None), Reason::TaskNotFound);
    assert_eq!(save(Some("bob")), Reason::TaskNotFound);
    assert_eq!(save(Some("ann")), Reason::CorruptRow);
}

#[test]
fn a_row_of_version_1_that_is_not_final_stays_for_ever() {
    let stand = Stand::new();
    let keeping = StateProvider::open(&stand.store, Some(r#"{"activeRetentionMs": 1000}"#)).unwrap();
    keeping.save_task(None, r#"{"id": "t", "status": {"state": "working"}}"#, None).unwrap();
    let (retention, saved): (i64, i64) = stand
        .outsider
        .query_row("SELECT retention_ms, saved_at FROM a2a_tasks", (), |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert!(retention == 1000 && saved > 0);
    stand
        .outsider
        .execute_batch("UPDATE a2a_tasks SET retention_ms = 0, saved_at = 0, expires_at = NULL")
        .unwrap();
    assert_eq!(keeping.task_liveness("t").unwrap(), Liveness::Active);
}
