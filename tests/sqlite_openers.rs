//! Opening: the file may be new, in the making, open in other threads, or just closed by a store whose threads have
//! not ended yet. None of that is a reason to refuse. Sixteen processes do the same in `sqlite_processes`.

mod stores;

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use stores::{Folder, QUICK};
use taskhold::a2a::StateProvider;
use taskhold::clock::Clock;
use taskhold::session::SessionStore;
use taskhold::store::Store;
use taskhold::task::TaskManager;

const CREATION: &str = r#"{"endpoint": "/mcp", "origin": 1}"#;

fn open(folder: &Folder) -> Store {
    Store::open(Some(&folder.url("agents.db")), Some(QUICK), Clock::System).unwrap()
}

#[test]
fn a_file_that_was_just_closed_opens_whatever_threads_its_store_had() {
    let folder = Folder::new();
    for round in 0..90 {
        let store = open(&folder);
        let tasks = TaskManager::open(&store, None).unwrap();
        let sessions = SessionStore::open(&store, None).unwrap();
        // A queue and a pin have a thread that looks after them and ends with the store, a little later.
        let queue = tasks.open_events(4).unwrap();
        let id = format!("session-{round}");
        sessions.create("/mcp", Some(&format!(r#"{{"sessionId": "{id}"}}"#))).unwrap().unwrap();
        assert!(sessions.pin(&id).unwrap());
        tasks.create_task(CREATION).unwrap();
        if round % 3 == 0 {
            // Time for the thread to open its connection.
            queue.next(Some(Duration::from_millis(10))).unwrap();
            let _ = queue.next(Some(Duration::from_millis(10)));
        }
    }
}

#[test]
fn a_file_that_was_closed_while_its_log_is_copied_opens() {
    let folder = Folder::new();
    let creation = format!(r#"{{"endpoint": "/mcp", "origin": "{}"}}"#, "x".repeat(400_000));
    for _ in 0..8 {
        let store = open(&folder);
        let tasks = TaskManager::open(&store, None).unwrap();
        // About 4000 pages are in the log when it is copied.
        for _ in 0..42 {
            tasks.create_task(&creation).unwrap();
        }
    }
}

#[test]
fn sixteen_threads_open_files_that_are_not_there_yet() {
    for round in 0..16 {
        let (folder, barrier) = (Folder::new(), Barrier::new(16));
        if round % 2 == 0 {
            // Empty but there, as from mktemp.
            std::fs::write(folder.path.join("agents.db"), "").unwrap();
        }
        thread::scope(|scope| {
            for thread in 0..16 {
                let (folder, barrier) = (&folder, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let store = open(folder);
                    match thread % 3 {
                        0 => drop(TaskManager::open(&store, None).unwrap().create_task(CREATION).unwrap()),
                        1 => drop(SessionStore::open(&store, None).unwrap().create("/mcp", None).unwrap()),
                        _ => {
                            let provider = StateProvider::open(&store, None).unwrap();
                            let task = format!(r#"{{"id": "{thread}", "status": {{"state": "working"}}}}"#);
                            provider.save_task(None, &task, None).unwrap();
                        }
                    }
                });
            }
        });
        let stats = open(&folder).stats().unwrap();
        for count in [r#""working":6"#, r#""sessions":5"#, r#""a2aTasks":5"#] {
            assert!(stats.as_str().contains(count), "{}", stats.as_str());
        }
    }
}

/// One after another over new files, with what the last one had open still closing.
#[test]
fn many_new_files_open_one_after_another() {
    for _ in 0..50 {
        let folder = Folder::new();
        let store = open(&folder);
        let tasks = TaskManager::open(&store, None).unwrap();
        let _queue = tasks.open_events(4).unwrap();
        tasks.create_task(CREATION).unwrap();
        SessionStore::open(&store, None).unwrap().create("/mcp", None).unwrap().unwrap();
    }
}
