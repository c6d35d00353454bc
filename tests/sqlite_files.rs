//! What a visitor can do to the files of a store that is open: remove, rename or replace the file, its log or the log's
//! index, or give the file a second name. Nothing is acknowledged then that nobody could find again.

mod stores;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value;
use stores::{Folder, QUICK};
use taskhold::clock::Clock;
use taskhold::error::Reason;
use taskhold::store::Store;
use taskhold::task::TaskManager;

const CREATION: &str = r#"{"endpoint": "/mcp", "origin": 1}"#;
/// Soon over where a process that goes on is waited for.
const IMPATIENT: &str = r#"{"durability": "normal", "busyTimeoutMs": 300}"#;

fn open(folder: &Folder) -> Store {
    Store::open(Some(&folder.url("agents.db")), Some(QUICK), Clock::System).unwrap()
}

fn refused(folder: &Folder) -> Reason {
    let opened = Store::open(Some(&folder.url("agents.db")), Some(IMPATIENT), Clock::System);
    opened.err().expect("a refusal").reason()
}

fn create(tasks: &TaskManager) -> String {
    let record: Value = serde_json::from_str(tasks.create_task(CREATION).unwrap().as_str()).unwrap();
    record["task"]["taskId"].as_str().unwrap().to_owned()
}

/// What visitors do, each to one of the files by its suffix.
const VISITS: [fn(&Path); 3] = [
    |file| std::fs::remove_file(file).unwrap(),
    |file| std::fs::rename(file, file.with_extension("aside")).unwrap(),
    |file| {
        let aside = file.with_extension("aside");
        std::fs::copy(file, &aside).unwrap();
        std::fs::rename(&aside, file).unwrap();
    },
];

#[test]
fn whatever_is_done_to_the_files_nothing_more_is_acknowledged() {
    for suffix in ["", "-wal", "-shm"] {
        for visit in VISITS {
            let folder = Folder::new();
            let store = open(&folder);
            let tasks = TaskManager::open(&store, None).unwrap();
            create(&tasks);
            visit(&folder.path.join(format!("agents.db{suffix}")));
            // The store looks ten times a second.
            let begun = Instant::now();
            let refused = loop {
                match tasks.create_task(CREATION) {
                    Err(error) => break error.reason(),
                    Ok(_) => assert!(begun.elapsed() < Duration::from_secs(1), "acknowledged {suffix}"),
                }
            };
            assert_eq!(refused, Reason::StorageUnavailable);
            let findings: Value = serde_json::from_str(store.check().unwrap().as_str()).unwrap();
            assert_eq!(findings["ok"], false, "{findings}");
        }
    }
}

#[test]
fn a_store_that_is_opened_anew_has_what_was_acknowledged_before_its_log_was_removed() {
    let folder = Folder::new();
    let store = open(&folder);
    let tasks = TaskManager::open(&store, None).unwrap();
    let id = create(&tasks);
    for suffix in ["-wal", "-shm"] {
        std::fs::remove_file(folder.path.join(format!("agents.db{suffix}"))).unwrap();
    }
    assert!(store.check().unwrap().as_str().contains("removed or replaced"));
    assert_eq!(refused(&folder), Reason::StorageUnavailable, "the store that lost its log is still open");
    drop((tasks, store));
    let store = open(&folder);
    let tasks = TaskManager::open(&store, None).unwrap();
    assert!(tasks.find_task(&id).unwrap().is_some());
    create(&tasks);
}

#[test]
fn another_file_at_the_path_is_opened_only_after_the_first_is_closed() {
    for visit in VISITS {
        let folder = Folder::new();
        let store = open(&folder);
        let tasks = TaskManager::open(&store, None).unwrap();
        create(&tasks);
        visit(&folder.path.join("agents.db"));
        // Its log and index lie beside the other file, and are not the other's.
        assert_eq!(refused(&folder), Reason::StorageUnavailable, "the store of the first file is still open");
        drop((tasks, store));
        let store = open(&folder);
        let id = create(&TaskManager::open(&store, None).unwrap());
        drop(store);
        let tasks = TaskManager::open(&open(&folder), None).unwrap();
        assert!(tasks.find_task(&id).unwrap().is_some());
    }
}

/// Another process that has the file open, until it is told to end.
struct Other {
    child: Child,
    /// Stays open, so that it can say how it ended.
    _output: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Other {
    fn new(folder: &Folder) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "as_another_process", "--nocapture"])
            .env("TASKHOLD_TEST_FILE", folder.path.join("agents.db"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("is open")));
        Self { child, _output: lines }
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn as_another_process() {
    let Some(path) = std::env::var_os("TASKHOLD_TEST_FILE") else { return };
    let folder = Path::new(&path).parent().unwrap();
    let url = format!("sqlite:{}", path.display());
    {
        let store = Store::open(Some(&url), Some(QUICK), Clock::System).unwrap();
        create(&TaskManager::open(&store, None).unwrap());
        println!("the file is open");
        std::io::stdout().flush().unwrap();
        std::io::stdin().lines().for_each(drop);
    }
    // The thread that closes the file ends with the process.
    let log = folder.join("agents.db-wal");
    let begun = Instant::now();
    while log.exists() && begun.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_is_refused_while_a_process_goes_on_with_a_log_that_was_removed() {
    for suffixes in [&["-wal", "-shm"][..], &["-shm"], &["-wal"]] {
        let folder = Folder::new();
        let other = Other::new(&folder);
        for suffix in suffixes {
            std::fs::remove_file(folder.path.join(format!("agents.db{suffix}"))).unwrap();
        }
        assert_eq!(refused(&folder), Reason::StorageUnavailable, "{suffixes:?}");
        other.end();
        let store = open(&folder);
        create(&TaskManager::open(&store, None).unwrap());
    }
}

#[test]
fn a_file_with_a_second_name_is_refused() {
    let folder = Folder::new();
    drop(open(&folder));
    folder.wait_until_closed("agents.db");
    let (path, other) = (folder.path.join("agents.db"), folder.path.join("other.db"));
    std::fs::hard_link(&path, &other).unwrap();
    assert_eq!(refused(&folder), Reason::UnsupportedFileSystem);
    std::fs::remove_file(&other).unwrap();
    // A symbolic link is no name of its own: the log lies beside the file.
    std::os::unix::fs::symlink(&path, &other).unwrap();
    let (one, two) = (open(&folder), Store::open(Some(&folder.url("other.db")), Some(QUICK), Clock::System));
    let id = create(&TaskManager::open(&one, None).unwrap());
    assert!(TaskManager::open(&two.unwrap(), None).unwrap().find_task(&id).unwrap().is_some());
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_mounted_alone_is_refused() {
    let folder = Folder::new();
    drop(open(&folder));
    folder.wait_until_closed("agents.db");
    let (path, other) = (folder.path.join("agents.db"), folder.path.join("mounted.db"));
    std::fs::write(&other, "").unwrap();
    let mount = Command::new("mount").arg("--bind").args([&path, &other]).output();
    if !mount.is_ok_and(|mount| mount.status.success()) {
        // Without the right to mount there is nothing to be seen.
        return;
    }
    let opened = Store::open(Some(&folder.url("mounted.db")), Some(QUICK), Clock::System);
    let _ = Command::new("umount").arg(&other).output();
    assert_eq!(opened.err().expect("a refusal").reason(), Reason::UnsupportedFileSystem);
}

#[test]
fn the_log_gives_its_room_back_when_a_long_reader_leaves_and_nobody_writes() {
    let folder = Folder::new();
    let store = open(&folder);
    let tasks = TaskManager::open(&store, None).unwrap();
    create(&tasks);
    let reader = Connection::open(folder.path.join("agents.db")).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM tasks", (), |row| row.get::<_, i64>(0)).unwrap();
    let creation = format!(r#"{{"endpoint": "/mcp", "origin": "{}"}}"#, "x".repeat(1_000_000));
    for _ in 0..50 {
        tasks.create_task(&creation).unwrap();
    }
    let log_bytes = || {
        let stats: Value = serde_json::from_str(store.stats().unwrap().as_str()).unwrap();
        stats["walBytes"].as_u64().unwrap()
    };
    assert!(log_bytes() > 40_000_000);
    reader.execute_batch("COMMIT").unwrap();
    let begun = Instant::now();
    while log_bytes() > 33_000_000 {
        assert!(begun.elapsed() < Duration::from_mins(1), "the log has {} bytes", log_bytes());
        std::thread::sleep(Duration::from_millis(10));
    }
}
