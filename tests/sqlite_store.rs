//! What a store on SQLite promises beyond the rules that every store keeps: its records outlive it, other
//! openers of the file see its changes, and whatever is wrong with the file is said and never made worse.

mod stores;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value;
use stores::{Folder, QUICK};
use taskhold::a2a::StateProvider;
use taskhold::clock::{Clock, ManualClock};
use taskhold::error::{Reason, Status};
use taskhold::session::SessionStore;
use taskhold::store::Store;
use taskhold::task::TaskManager;

const CREATION: &str =
    r#"{"endpoint": "/mcp", "origin": {"n": 1.50, "text": "\u00e9\u0000"}, "metadata": {"k": 1}}"#;

fn open(folder: &Folder) -> Store {
    Store::open(Some(&folder.url("agents.db")), Some(QUICK), Clock::System).unwrap()
}

fn open_error(url: &str, options: Option<&str>) -> (Status, Reason) {
    let error = Store::open(Some(url), options, Clock::System).err().expect("a refusal");
    (error.status(), error.reason())
}

fn outsider(folder: &Folder) -> Connection {
    Connection::open(folder.path.join("agents.db")).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn create(tasks: &TaskManager) -> String {
    let record = json(tasks.create_task(CREATION).unwrap().as_str());
    record["task"]["taskId"].as_str().unwrap().to_owned()
}

#[test]
fn records_outlive_the_store_byte_for_byte() {
    let folder = Folder::new();
    let task = r#"{"id": "a", "status": {"state": "working"}, "history": [ {"n": 1.0e2} ,{"n":2}]}"#;
    let (id, record, session) = {
        let store = open(&folder);
        let tasks = TaskManager::open(&store, None).unwrap();
        let id = create(&tasks);
        let request = r#"{"k\u0031": {"method": "roots/list"}}"#;
        let record = tasks
            .request_task_input(&id, request, Some("why?"), None)
            .unwrap()
            .into_text()
            .as_str()
            .to_owned();
        let sessions = SessionStore::open(&store, None).unwrap();
        let session = sessions.create("/mcp", Some(r#"{"sessionId": "s"}"#)).unwrap().unwrap();
        StateProvider::open(&store, None).unwrap().save_task(Some("o"), task, None).unwrap();
        (id, record, session.as_str().to_owned())
    };
    let store = open(&folder);
    let tasks = TaskManager::open(&store, None).unwrap();
    assert_eq!(tasks.find_task(&id).unwrap().unwrap().as_str(), record);
    // The key that was used stays used.
    let again =
        tasks.request_task_input(&id, r#"{"k1": {"method": "roots/list", "params": {}}}"#, None, None);
    assert_eq!(again.unwrap_err().reason(), Reason::InputRequestKeyReused);
    let sessions = SessionStore::open(&store, None).unwrap();
    assert_eq!(sessions.find_by_session_id("s").unwrap().unwrap().as_str(), session);
    let provider = StateProvider::open(&store, None).unwrap();
    let last = provider.get_task(Some("o"), "a", Some(r#"{"historyLength": 1}"#)).unwrap().unwrap().0;
    assert_eq!(last.as_str(), r#"{"id": "a", "status": {"state": "working"}, "history": [{"n":2}]}"#);
    assert!(provider.get_task(None, "a", None).unwrap().is_none(), "another owner's");
}

#[cfg(unix)]
#[test]
fn files_belong_to_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let store = open(&folder);
    create(&TaskManager::open(&store, None).unwrap());
    let mut found = 0;
    for file in std::fs::read_dir(&folder.path).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", file.file_name());
        found += 1;
    }
    assert_eq!(found, 3, "the file, its log and its index, and nothing else");
}

#[test]
fn two_openers_see_each_other_at_once() {
    let folder = Folder::new();
    let (one, other) = (open(&folder), open(&folder));
    let (mine, theirs) = (TaskManager::open(&one, None).unwrap(), TaskManager::open(&other, None).unwrap());
    let id = create(&mine);
    assert!(theirs.find_task(&id).unwrap().is_some());
    theirs.complete_task(&id, r#"{"content": []}"#, None, None).unwrap();
    let late = mine.cancel_task(&id, None, None).unwrap_err();
    assert_eq!(late.reason(), Reason::TaskTerminal);
}

/// Far above the 25 ms that a change takes, for a machine that has something else to do.
const SOON: Option<Duration> = Some(Duration::from_secs(10));

#[test]
fn a_wait_and_a_queue_see_what_others_change() {
    let folder = Folder::new();
    let (one, other) = (open(&folder), open(&folder));
    let (mine, theirs) = (TaskManager::open(&one, None).unwrap(), TaskManager::open(&other, None).unwrap());
    let id = create(&mine);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| mine.wait_task(&id, 1, SOON).unwrap().as_str().to_owned());
        theirs.mark_task_working(&id, Some("on it"), None).unwrap();
        assert_eq!(json(&waiting.join().unwrap())["revision"], 2);
    });
    let queue = mine.open_events(8).unwrap();
    let next = || json(queue.next(SOON).unwrap().as_str());
    theirs.mark_task_working(&id, Some("still"), None).unwrap();
    assert_eq!(next(), json(&format!(r#"{{"event": "changed", "taskId": "{id}"}}"#)));
    theirs.request_task_cancelation("/mcp", None, &id).unwrap();
    assert_eq!(next()["event"], "cancelation_requested");
    theirs.publish_task_changed("any-id").unwrap();
    assert_eq!(next()["taskId"], "any-id");
    // Its own changes come once, and not again through the file.
    mine.cancel_task(&id, None, None).unwrap();
    theirs.publish_task_changed("behind").unwrap();
    assert_eq!((next()["taskId"].as_str().unwrap(), next()["taskId"].as_str().unwrap()), (&*id, "behind"));
}

#[test]
fn a_finalization_is_announced_once_to_all_and_a_replicated_one_to_none() {
    let folder = Folder::new();
    let (one, other) = (open(&folder), open(&folder));
    let mine = StateProvider::open(&one, None).unwrap();
    let theirs = StateProvider::open(&other, None).unwrap();
    let (here, there) = (mine.open_events(8).unwrap(), theirs.open_events(8).unwrap());
    let save = |id: &str, options: Option<&str>| {
        let task = format!(r#"{{"id": "{id}", "status": {{"state": "completed"}}}}"#);
        mine.save_task(None, &task, options).unwrap();
    };
    save("replicated", Some(r#"{"isReplicated": true}"#));
    save("a", None);
    save("a", None);
    save("b", None);
    for queue in [here, there] {
        for id in ["a", "b"] {
            let event = json(queue.next(SOON).unwrap().as_str());
            assert_eq!(event, json(&format!(r#"{{"event": "finalized", "taskId": "{id}"}}"#)));
        }
    }
}

#[test]
fn nothing_is_written_down_for_nobody() {
    let folder = Folder::new();
    let store = open(&folder);
    let tasks = TaskManager::open(&store, None).unwrap();
    let queue = tasks.open_events(8).unwrap();
    let id = create(&tasks);
    assert!(queue.next(SOON).unwrap().as_str().contains(&id));
    let written: i64 =
        outsider(&folder).query_row("SELECT count(*) FROM changes", (), |row| row.get(0)).unwrap();
    assert_eq!(written, 0);
}

#[test]
fn a_store_closes_with_events_waiting_and_opens_again() {
    let folder = Folder::new();
    let (kept, id) = {
        let store = open(&folder);
        let tasks = TaskManager::open(&store, None).unwrap();
        let queue = tasks.open_events(8).unwrap();
        (queue, create(&tasks))
    };
    let store = open(&folder);
    let tasks = TaskManager::open(&store, None).unwrap();
    let queue = tasks.open_events(8).unwrap();
    tasks.cancel_task(&id, None, None).unwrap();
    assert!(queue.next(SOON).unwrap().as_str().contains(&id));
    assert!(kept.next(SOON).unwrap().as_str().contains(&id), "what was there stays readable");
}

#[test]
fn a_call_waits_for_an_outsiders_lock_and_no_longer_than_it_was_told() {
    let folder = Folder::new();
    let options = r#"{"durability": "normal", "busyTimeoutMs": 200}"#;
    let store = Store::open(Some(&folder.url("agents.db")), Some(options), Clock::System).unwrap();
    let tasks = TaskManager::open(&store, None).unwrap();
    let id = create(&tasks);
    let outsider = outsider(&folder);
    outsider.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = Instant::now();
    let refused = tasks.cancel_task(&id, None, None).unwrap_err();
    assert_eq!((refused.status(), refused.reason()), (Status::Unavailable, Reason::StorageUnavailable));
    assert!(start.elapsed() >= Duration::from_millis(200));
    assert!(tasks.find_task(&id).unwrap().is_some(), "readers do not wait");
    std::thread::scope(|scope| {
        let patient = Store::open(Some(&folder.url("agents.db")), Some(QUICK), Clock::System).unwrap();
        let waiting = scope.spawn(move || {
            let tasks = TaskManager::open(&patient, None).unwrap();
            create(&tasks)
        });
        outsider.execute_batch("COMMIT").unwrap();
        assert!(tasks.find_task(&waiting.join().unwrap()).unwrap().is_some());
    });
    tasks.cancel_task(&id, None, None).unwrap();
    assert!(json(store.stats().unwrap().as_str())["busyRetries"].as_u64().unwrap() > 0);
}

#[test]
fn foreign_and_torn_files_are_refused_and_left_alone() {
    let folder = Folder::new();
    let path = folder.path.join("agents.db");
    let url = folder.url("agents.db");
    let refused_untouched = |bytes: &[u8], expected: Reason| {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(open_error(&url, None).1, expected);
        assert!(std::fs::read(&path).unwrap() == bytes, "the file was changed");
    };
    refused_untouched(
        b"a text that is longer than the header of any SQLite file, which has 100 bytes, so that \
        nobody takes it for one that was cut off",
        Reason::CorruptFile,
    );
    refused_untouched(b"SQLite format 3\0", Reason::CorruptFile);
    let foreign = folder.path.join("foreign.db");
    Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        .unwrap();
    refused_untouched(&std::fs::read(&foreign).unwrap(), Reason::CorruptFile);
    assert_eq!(open_error(&format!("sqlite:{}", folder.path.display()), None).0, Status::Unavailable);
    assert_eq!(open_error(&folder.url("no/such/folder.db"), None).0, Status::Unavailable);
    for url in ["sqlite:", "sqlite::memory:", "sqlite://agents.db", "sqlite:file:x.db"] {
        assert_eq!(open_error(url, None).1, Reason::InvalidStoreUrl, "{url}");
    }
}

#[test]
fn a_file_that_was_torn_is_corrupt_and_not_repaired() {
    let folder = Folder::new();
    {
        let store = open(&folder);
        let tasks = TaskManager::open(&store, None).unwrap();
        (0..200).for_each(|_| drop(create(&tasks)));
    }
    folder.wait_until_closed("agents.db");
    let path = folder.path.join("agents.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len() - 8 * 4096;
    bytes[end..].fill(0xa5);
    std::fs::write(&path, &bytes).unwrap();
    let store = open(&folder);
    let findings = json(store.check().unwrap().as_str());
    assert_eq!(findings["ok"], false);
    let tasks = TaskManager::open(&store, None);
    let refused = tasks.and_then(|tasks| tasks.list_tasks(Some(r#"{"pageSize": 1000}"#)));
    assert_eq!(refused.unwrap_err().status(), Status::Corrupt);
}

#[test]
fn options_are_checked() {
    let folder = Folder::new();
    let url = folder.url("agents.db");
    for (options, reason) in [
        (r#"{"durability": "off"}"#, Reason::InvalidValue),
        (r#"{"busyTimeoutMs": -1}"#, Reason::InvalidValue),
        (r#"{"allowNetworkFileSystem": 1}"#, Reason::InvalidValue),
        (r#"{"poolSize": 1}"#, Reason::UnknownKey),
    ] {
        assert_eq!(open_error(&url, Some(options)).1, reason, "{options}");
    }
    assert!(!folder.path.join("agents.db").exists(), "nothing is made before the options are right");
    for options in ["{}", r#"{"durability": null, "busyTimeoutMs": 0, "allowNetworkFileSystem": true}"#] {
        // The second has no patience with what is still being closed.
        Store::open(Some(&url), Some(options), Clock::System).unwrap();
        folder.wait_until_closed("agents.db");
    }
}

#[test]
fn a_newer_schema_is_refused() {
    let folder = Folder::new();
    let newest = {
        let store = open(&folder);
        json(store.check().unwrap().as_str())["newestSchemaVersion"].as_i64().unwrap()
    };
    folder.wait_until_closed("agents.db");
    outsider(&folder).pragma_update(None, "user_version", newest + 1).unwrap();
    let before = std::fs::read(folder.path.join("agents.db")).unwrap();
    assert_eq!(open_error(&folder.url("agents.db"), None), (Status::Unsupported, Reason::SchemaTooNew));
    assert!(std::fs::read(folder.path.join("agents.db")).unwrap() == before);
}

#[test]
fn an_unreadable_row_is_corrupt_for_its_id_and_hides_nothing_else() {
    let folder = Folder::new();
    let store = open(&folder);
    let tasks = TaskManager::open(&store, None).unwrap();
    let provider = StateProvider::open(&store, None).unwrap();
    let sessions = SessionStore::open(&store, None).unwrap();
    let ids: Vec<String> = (0..10).map(|_| create(&tasks)).collect();
    for n in 0..10 {
        let task = format!(r#"{{"id": "a{n}", "status": {{"state": "working"}}}}"#);
        provider.save_task(None, &task, None).unwrap();
    }
    for id in ["r", "s", "t"] {
        sessions.create("/mcp", Some(&format!(r#"{{"sessionId": "{id}"}}"#))).unwrap().unwrap();
    }
    let outsider = outsider(&folder);
    outsider.execute("UPDATE tasks SET origin = '' WHERE id = ?1", (&ids[3],)).unwrap();
    outsider.execute("UPDATE tasks SET status = 'paused' WHERE id = ?1", (&ids[5],)).unwrap();
    outsider.execute_batch("UPDATE a2a_tasks SET task = '{' WHERE id = 'a4'").unwrap();
    outsider.execute_batch("UPDATE sessions SET snapshot = x'ff' WHERE id = 's'").unwrap();

    assert_eq!(tasks.find_task(&ids[3]).unwrap_err().reason(), Reason::CorruptRow);
    assert_eq!(tasks.cancel_task(&ids[5], None, None).unwrap_err().reason(), Reason::CorruptRow);
    assert!(tasks.find_task(&ids[4]).unwrap().is_some());
    assert_eq!(sessions.find_by_session_id("s").unwrap_err().status(), Status::Corrupt);
    let page = json(sessions.list_sessions(None).unwrap().as_str());
    let shown =
        page["sessions"].as_array().unwrap().iter().map(|session| session["sessionId"].as_str().unwrap());
    assert!(shown.eq(["r", "t"]), "{page}");
    assert_eq!(page["corrupt"], json(r#"["s"]"#));

    // Only to those whose it is.
    outsider.execute("UPDATE tasks SET revision = 'x' WHERE id = ?1", (&ids[5],)).unwrap();
    outsider.execute_batch("UPDATE a2a_tasks SET revision = 'x' WHERE id = 'a4'").unwrap();
    assert_eq!(tasks.find_authorized_task("/mcp", None, &ids[5]).unwrap_err().reason(), Reason::CorruptRow);
    assert!(tasks.find_authorized_task("/other", None, &ids[5]).unwrap().is_none());
    let refused = tasks.request_task_cancelation("/mcp", Some("p"), &ids[5]).unwrap_err();
    assert_eq!(refused.reason(), Reason::TaskNotFound);
    assert_eq!(provider.get_task(None, "a4", None).unwrap_err().reason(), Reason::CorruptRow);
    assert!(provider.get_task(Some("o"), "a4", None).unwrap().is_none());
    provider.delete_task(Some("o"), "a4").unwrap();
    assert_eq!(provider.delete_task(None, "a4").unwrap_err().reason(), Reason::CorruptRow);

    let (mut seen, mut corrupt, mut token) = (Vec::new(), Vec::new(), String::new());
    loop {
        let params = format!(r#"{{"pageSize": 3, "pageToken": "{token}"}}"#);
        let page = json(tasks.list_tasks(Some(&params)).unwrap().as_str());
        seen.extend(page["records"].as_array().unwrap().iter().map(|r| r["task"]["taskId"].clone()));
        corrupt.extend(page["corrupt"].as_array().unwrap().clone());
        token = page["nextPageToken"].as_str().unwrap().to_owned();
        if token.is_empty() {
            break;
        }
    }
    assert_eq!((seen.len(), corrupt), (8, vec![ids[3].clone().into(), ids[5].clone().into()]));
    let page = json(provider.list_tasks(None, None).unwrap().as_str());
    assert_eq!((page["tasks"].as_array().unwrap().len(), &page["corrupt"]), (9, &json(r#"["a4"]"#)));
    assert_eq!(page["totalSize"], 10);

    let findings = json(store.check().unwrap().as_str());
    assert_eq!((&findings["ok"], &findings["unreadableCount"]), (&json("false"), &json("4")));
    let named = findings["unreadable"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap());
    assert!(["s", "a4", &ids[3], &ids[5]].iter().all(|id| named.clone().any(|named| named == *id)));
}

#[test]
fn pins_that_a_process_left_behind_lapse() {
    let folder = Folder::new();
    let clock = Arc::new(ManualClock::new(1_764_498_600_000).unwrap());
    let manual = || Clock::Manual(Arc::clone(&clock));
    let store = Store::open(Some(&folder.url("agents.db")), Some(QUICK), manual()).unwrap();
    let options = r#"{"idleTimeoutMs": 1000, "initializationTimeoutMs": 0}"#;
    let sessions = SessionStore::open(&store, Some(options)).unwrap();
    for id in ["pinned", "left"] {
        sessions.create("/mcp", Some(&format!(r#"{{"sessionId": "{id}"}}"#))).unwrap().unwrap();
        assert!(sessions.pin(id).unwrap());
    }
    let is_there = |id: &str| sessions.find_by_session_id(id).unwrap().is_some();
    clock.advance(3_600_000).unwrap();
    assert!(is_there("pinned") && is_there("left"), "a pinned session does not grow idle");
    // As if the holder of one had been killed for longer than its lease.
    outsider(&folder)
        .execute_batch(
            "UPDATE session_pins SET holder = 1, lease_until = CAST(1000 * unixepoch('subsec') AS INTEGER) - 100 \
             WHERE session = (SELECT sequence FROM sessions WHERE id = 'left')",
        )
        .unwrap();
    assert!(is_there("left"), "its idle time began when the lease ended");
    // The next write puts the end of the lease down as the end of the pin.
    sessions.create("/mcp", None).unwrap().unwrap();
    assert!(is_there("left"));
    clock.advance(1001).unwrap();
    assert!(is_there("pinned") && !is_there("left"));
    assert_eq!(json(store.check().unwrap().as_str())["ok"], true);
}

#[test]
fn a_step_of_the_clock_moves_ages_and_breaks_nothing() {
    const HOUR_MS: i64 = 3_600_000;
    let folder = Folder::new();
    let clock = Arc::new(ManualClock::new(1_764_498_600_000).unwrap());
    let store =
        Store::open(Some(&folder.url("agents.db")), Some(QUICK), Clock::Manual(Arc::clone(&clock))).unwrap();
    let tasks = TaskManager::open(&store, Some(r#"{"taskTimeToLiveMs": 1000, "maximumRetainedTasks": 2}"#));
    let tasks = tasks.unwrap();
    let id = create(&tasks);
    clock.step_wall(-HOUR_MS).unwrap();
    let record = json(tasks.mark_task_working(&id, None, None).unwrap().into_text().as_str());
    assert_eq!(record["task"]["lastUpdatedAt"], record["task"]["createdAt"], "never goes back");
    create(&tasks);
    assert_eq!(tasks.create_task(CREATION).unwrap_err().reason(), Reason::CapacityExhausted);
    clock.advance(1000).unwrap();
    create(&tasks);
    assert!(tasks.find_task(&id).unwrap().is_some(), "as old as the host's clock says");
    clock.step_wall(HOUR_MS).unwrap();
    assert!(tasks.find_task(&id).unwrap().is_none());
    create(&tasks);
}

#[test]
fn a_limit_counts_over_all_openers_and_names_are_apart() {
    let folder = Folder::new();
    let (one, other) = (open(&folder), open(&folder));
    let limit = Some(r#"{"maximumRetainedTasks": 3}"#);
    let (mine, theirs) = (TaskManager::open(&one, limit).unwrap(), TaskManager::open(&other, limit).unwrap());
    create(&mine);
    create(&theirs);
    create(&mine);
    for full in [&mine, &theirs] {
        assert_eq!(full.create_task(CREATION).unwrap_err().reason(), Reason::CapacityExhausted);
    }
    let unlimited = TaskManager::open(&one, Some(r#"{"name": "b"}"#)).unwrap();
    assert_eq!(json(unlimited.options().as_str())["maximumRetainedTasks"], 0);
    let id = create(&unlimited);
    assert!(mine.find_task(&id).unwrap().is_none());
}

#[test]
fn the_figures_are_filled() {
    let folder = Folder::new();
    let store = open(&folder);
    let tasks = TaskManager::open(&store, None).unwrap();
    let id = create(&tasks);
    create(&tasks);
    tasks.cancel_task(&id, None, None).unwrap();
    let stats = json(store.stats().unwrap().as_str());
    assert_eq!((&stats["backend"], &stats["tasks"]["working"]), (&json(r#""sqlite""#), &json("1")));
    assert_eq!((&stats["tasks"]["cancelled"], &stats["expiredPending"]), (&json("1"), &json("0")));
    for figure in ["bytes", "fileBytes", "walBytes", "commits"] {
        assert!(stats[figure].as_u64().unwrap() > 0, "{figure}");
    }
}

/// A file system of 2 MB, if this process may mount one.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(path: &'a Path, options: &str) -> Option<Self> {
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(path)
            .output();
        mount.is_ok_and(|mount| mount.status.success()).then_some(Self(path))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0).output();
    }
}

#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let folder = Folder::new();
    // Without the right to mount, the same is tested by a bound on the file's pages, in the store's own tests.
    let Some(_disk) = SmallDisk::mount(&folder.path, "size=2m") else { return };
    let store = open(&folder);
    let tasks = TaskManager::open(&store, None).unwrap();
    let creation = format!(r#"{{"endpoint": "/mcp", "origin": "{}"}}"#, "x".repeat(20_000));
    let mut created = Vec::new();
    let refused = loop {
        match tasks.create_task(&creation) {
            Ok(record) => created.push(json(record.as_str())["task"]["taskId"].as_str().unwrap().to_owned()),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.status(), Status::Unavailable);
    assert!(!created.is_empty());
    for id in &created {
        assert!(tasks.find_task(id).unwrap().is_some());
    }
    drop((tasks, store));
    let store = open(&folder);
    let tasks = TaskManager::open(&store, None).unwrap();
    let listed = json(tasks.list_tasks(Some(r#"{"pageSize": 1000}"#)).unwrap().as_str());
    assert_eq!(listed["records"].as_array().unwrap().len(), created.len());
    assert_eq!(json(store.check().unwrap().as_str())["ok"], true);
}

#[test]
fn a_file_that_cannot_be_written_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let disk = SmallDisk::mount(&folder.path, "size=8m");
    drop(open(&folder));
    folder.wait_until_closed("agents.db");
    let allow = |mode| std::fs::set_permissions(&folder.path, PermissionsExt::from_mode(mode)).unwrap();
    if let Some(disk) = &disk {
        let remount =
            std::process::Command::new("mount").args(["-o", "remount,ro"]).arg(disk.0).status().unwrap();
        assert!(remount.success());
    } else {
        // Whoever may not mount is not above permissions either.
        let path = folder.path.join("agents.db");
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o400)).unwrap();
        allow(0o500);
    }
    assert_eq!(open_error(&folder.url("agents.db"), None).0, Status::Unavailable);
    assert_eq!(open_error(&folder.url("new.db"), None).0, Status::Unavailable);
    if disk.is_none() {
        allow(0o700);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_second_opener_in_this_process_is_found() {
    let folder = Folder::new();
    let path = folder.path.join("agents.db");
    drop(open(&folder));
    folder.wait_until_closed("agents.db");
    let other = std::fs::File::open(&path).unwrap();
    assert_eq!(open_error(&folder.url("agents.db"), None).1, Reason::StorageUnavailable);
    drop(other);
    let store = open(&folder);
    let tasks = TaskManager::open(&store, None).unwrap();
    create(&tasks);
    assert_eq!(json(store.check().unwrap().as_str())["ok"], true);
    // What another SQLite does when it closes the file: the system drops every lock of the process.
    drop(std::fs::File::open(&path).unwrap());
    let findings = json(store.check().unwrap().as_str());
    assert_eq!(findings["problems"].as_array().unwrap().len(), 1, "{findings}");
    let refused = tasks.create_task(CREATION).unwrap_err();
    assert_eq!(refused.reason(), Reason::StorageUnavailable);
    drop((tasks, store));
    create(&TaskManager::open(&open(&folder), None).unwrap());
}

#[test]
fn a_file_that_is_taken_away_is_noticed_and_nothing_more_is_acknowledged() {
    let folder = Folder::new();
    let store = open(&folder);
    let tasks = TaskManager::open(&store, None).unwrap();
    let id = create(&tasks);
    let path = folder.path.join("agents.db");
    std::fs::rename(&path, folder.path.join("aside.db")).unwrap();
    std::fs::write(&path, "").unwrap();
    assert_eq!(json(store.check().unwrap().as_str())["problems"].as_array().unwrap().len(), 1);
    let refused = tasks.create_task(CREATION).unwrap_err();
    assert_eq!(refused.reason(), Reason::StorageUnavailable);
    drop((tasks, store));
    // What lies there now is another store.
    let tasks = TaskManager::open(&open(&folder), None).unwrap();
    assert!(tasks.find_task(&id).unwrap().is_none());
    create(&tasks);
}

/// A file that version 1 wrote, committed when that version was made. It stays readable for ever.
#[test]
fn the_first_versions_file_stays_readable() {
    let folder = Folder::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sqlite-1.db");
    std::fs::copy(fixture, folder.path.join("agents.db")).unwrap();
    // The instant at which it was written.
    let clock = Arc::new(ManualClock::new(1_764_498_600_000).unwrap());
    let store = Store::open(Some(&folder.url("agents.db")), Some(QUICK), Clock::Manual(clock)).unwrap();
    let tasks = TaskManager::open(&store, None).unwrap();
    let sessions = SessionStore::open(&store, None).unwrap();
    let provider = StateProvider::open(&store, None).unwrap();
    let page = json(tasks.list_tasks(Some(r#"{"includePayload": true}"#)).unwrap().as_str());
    let expected = include_str!("fixtures/sqlite-1.json");
    let session = json(sessions.find_by_session_id("session").unwrap().unwrap().as_str());
    let listed = r#"{"historyLength": 5, "includeArtifacts": true, "includeRevisions": true}"#;
    let a2a = json(provider.list_tasks(Some("owner"), Some(listed)).unwrap().as_str());
    let found = serde_json::json!({"tasks": page, "session": session, "a2a": a2a});
    assert_eq!(found, json(expected));
    let findings = json(store.check().unwrap().as_str());
    assert_eq!(
        (&findings["ok"], &findings["schemaVersion"]),
        (&json("true"), &findings["newestSchemaVersion"])
    );
    let id = page["records"][0]["task"]["taskId"].as_str().unwrap();
    tasks.mark_task_working(id, Some("on with it"), None).unwrap();
}
