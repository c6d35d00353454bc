//! What cannot be seen from outside: a disk that is full in the middle of a shared transaction, a step that
//! panics in one, the plans of the statements, and the log's length.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rusqlite::Connection;

use super::super::{
    A2aQuery, Backend, Change, Row as _, TaskCreation, TaskRow, TaskStatus, TaskTable, TaskTexts,
};
use super::SqliteBackend;
use super::a2a_row::list_sql;
use super::columns::Statements;
use crate::clock::{Clock, Now};
use crate::error::{Error, Reason, Status};

struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("taskhold-unit-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn open(&self) -> SqliteBackend {
        let path = self.0.join("agents.db");
        SqliteBackend::open(path.to_str().unwrap(), Some(r#"{"durability":"normal"}"#), Clock::System)
            .unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn task(id: &str, origin: &str, now: Now) -> TaskRow {
    let creation = TaskCreation {
        endpoint: "/mcp".into(),
        partition: None,
        origin,
        metadata: None,
        declared_input_requests: None,
    };
    TaskRow {
        texts: TaskTexts::new(id, now.wall_ms, &creation, None).unwrap(),
        created_tick_ns: now.tick_ns,
        updated_ms: now.wall_ms,
        ttl_ms: 3_600_000,
        poll_interval_ms: 1000,
        status: TaskStatus::Working,
        status_message: None,
        revision: 1,
        cancelation_requested: false,
        input: None,
        work: None,
    }
}

fn put(table: &dyn TaskTable, id: &str, origin: &str) -> crate::error::Result<()> {
    table.transact(id, None, &mut |_, now| Ok(Change::Put(task(id, origin, now))))
}

fn is_there(table: &dyn TaskTable, id: &str) -> bool {
    table.read(id, &mut |row| assert_eq!(row.id(), id)).unwrap()
}

#[test]
fn a_full_file_fails_all_who_share_the_transaction_and_none_of_their_changes_is_there() {
    let folder = Folder::new("full");
    let backend = folder.open();
    let table = backend.tasks("default").unwrap();
    put(&*table, "before", "1").unwrap();
    backend.shared.writer.outside(|connection| {
        let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        connection.pragma_update(None, "max_page_count", pages + 40).unwrap();
    });
    let origin = format!("\"{}\"", "x".repeat(8_000));
    let (stored, barrier) = (AtomicU64::new(0), Barrier::new(4));
    thread::scope(|scope| {
        for thread in 0..4 {
            let (table, origin, stored, barrier) = (&table, &origin, &stored, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for n in 0..50 {
                    let id = format!("{thread}-{n}");
                    match put(&**table, &id, origin) {
                        Ok(()) => {
                            stored.fetch_add(1, Ordering::SeqCst);
                            assert!(is_there(&**table, &id));
                        }
                        Err(error) => {
                            assert_eq!(error.status(), Status::Unavailable);
                            assert!(!is_there(&**table, &id));
                        }
                    }
                }
            });
        }
    });
    let stored = stored.load(Ordering::SeqCst);
    assert!(stored > 0 && stored < 200, "{stored}");
    assert!(is_there(&*table, "before"));
    backend.shared.writer.outside(|connection| {
        connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
    });
    put(&*table, "after", "1").unwrap();
    assert!(backend.check().unwrap().as_str().contains("\"ok\":true"));
}

#[test]
fn refusals_and_panics_in_a_shared_transaction_leave_the_others_alone() {
    let folder = Folder::new("panics");
    let backend = folder.open();
    let table = backend.tasks("default").unwrap();
    let barrier = Barrier::new(6);
    thread::scope(|scope| {
        for thread in 0..6 {
            let (table, barrier) = (&table, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for n in 0..100 {
                    let id = format!("{thread}-{n}");
                    match thread % 3 {
                        0 => put(&**table, &id, "1").unwrap(),
                        1 => {
                            let refused = table
                                .transact(&id, None, &mut |_, _| Err(Error::new(Reason::TaskTerminal, "no")));
                            assert_eq!(refused.unwrap_err().reason(), Reason::TaskTerminal);
                        }
                        _ => {
                            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                                table.transact(&id, None, &mut |_, _| panic!("in the transition"))
                            }));
                            assert!(panicked.is_err());
                        }
                    }
                }
            });
        }
    });
    for n in 0..100 {
        for thread in 0..6 {
            assert_eq!(is_there(&*table, &format!("{thread}-{n}")), thread % 3 == 0);
        }
    }
}

#[test]
fn callers_share_commits_and_one_alone_does_not_wait() {
    let folder = Folder::new("shared");
    let backend = folder.open();
    let table = backend.tasks("default").unwrap();
    let writer = &backend.shared.writer;
    let before = writer.commits();
    (0..20).for_each(|n| put(&*table, &format!("alone-{n}"), "1").unwrap());
    assert_eq!(writer.commits() - before, 20);
    let (commits, calls) = (writer.commits(), writer.writes());
    thread::scope(|scope| {
        for thread in 0..8 {
            let table = &table;
            scope.spawn(move || (0..100).for_each(|n| put(&**table, &format!("{thread}-{n}"), "1").unwrap()));
        }
    });
    assert_eq!(writer.writes() - calls, 800);
    assert!(writer.commits() - commits < 800, "nobody shared a commit");
}

#[test]
fn the_log_stays_short() {
    let folder = Folder::new("log");
    let backend = folder.open();
    let table = backend.tasks("default").unwrap();
    let origin = format!("\"{}\"", "x".repeat(30_000));
    // 160 MB in all.
    for n in 0..5_000 {
        put(&*table, &format!("{}", n % 50), &origin).unwrap();
        table.transact(&format!("{}", n % 50), None, &mut |_, _| Ok(Change::Remove)).unwrap();
    }
    let (_, log_bytes) = backend.shared.file.sizes();
    assert!(log_bytes < 100_000_000, "the log has {log_bytes} bytes");
    assert!(backend.shared.checkpoints.done() > 0);
}

#[test]
fn statements_walk_indexes_and_sort_nothing() {
    let folder = Folder::new("plans");
    let backend = folder.open();
    let plan = |sql: &str| {
        backend
            .shared
            .read(|connection| {
                let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                let rows = statement.raw_query().mapped(|row| row.get::<_, String>(3));
                Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?.join("; "))
            })
            .unwrap()
    };
    let query = A2aQuery {
        owner: None,
        context_id: None,
        state: None,
        status_timestamp_from_ms: None,
        after: None,
        limit: 50,
        count: true,
    };
    let context = A2aQuery { context_id: Some("c"), ..query };
    let state = A2aQuery { state: Some("working"), ..query };
    for (query, index) in [(query, "owner"), (context, "context"), (state, "state")] {
        let page = plan(&list_sql(&query, "task", true));
        assert!(page.contains(&format!("a2a_tasks_{index} ")) && !page.contains("TEMP B-TREE"), "{page}");
        let count = plan(&list_sql(&query, "count(*)", false));
        assert!(count.contains("COVERING INDEX"), "{count}");
    }
    let [tasks, sessions, a2a_tasks] = [
        Statements::of::<TaskRow>(),
        Statements::of::<super::SessionRow>(),
        Statements::of::<super::A2aRow>(),
    ];
    for statements in [&tasks, &sessions, &a2a_tasks] {
        let expired = plan(&statements.select_expired);
        assert!(expired.contains("_expiry") && !expired.contains("TEMP B-TREE"), "{expired}");
    }
    let list = plan(&super::task_row::list_sql());
    assert!(list.contains("INTEGER PRIMARY KEY") && !list.contains("TEMP B-TREE"), "{list}");
}

/// What every write of version 1 begins with. A process of that version that still has the file open must not write
/// on by rules that are no longer all.
#[test]
fn an_older_process_writes_no_more_into_a_file_that_was_migrated() {
    let folder = Folder::new("older");
    let path = folder.0.join("agents.db");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/sqlite-1.db"), &path).unwrap();
    let older = Connection::open(&path).unwrap();
    let write = |connection: &Connection| {
        let begins = "SELECT n.counted, max(n.sequence, 1) FROM names n WHERE n.number = ?1";
        connection.prepare_cached(begins)?.query_row((1,), |_| Ok(()))
    };
    write(&older).unwrap();
    super::schema::migrate(&mut Connection::open(&path).unwrap()).unwrap();
    assert!(write(&older).unwrap_err().to_string().contains("no such column"));
}
