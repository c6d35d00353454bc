//! What cannot be seen from outside: a disk that is full in the middle of a shared transaction, a step that
//! panics in one, the plans of the statements, and the log's length.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::super::{
    A2aQuery, Backend, Change, Row as _, SessionRow, TaskCreation, TaskRow, TaskStatus, TaskTable, TaskTexts,
};
use super::SqliteBackend;
use super::a2a_row::list_sql;
use super::columns::Statements;
use super::pool;
use crate::clock::{Clock, Now, Wake as _};
use crate::error::{Error, Reason, Status};
use crate::events::Look;

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
    assert!(backend.shared.log.done() > 0);
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
    let [tasks, sessions, a2a_tasks] =
        [Statements::of::<TaskRow>(), Statements::of::<SessionRow>(), Statements::of::<super::A2aRow>()];
    for statements in [&tasks, &sessions, &a2a_tasks] {
        let expired = plan(&statements.select_expired);
        assert!(expired.contains("_expiry") && !expired.contains("TEMP B-TREE"), "{expired}");
    }
    for list in [super::task_row::list_sql(), super::session_table::list_sql()] {
        let list = plan(&list);
        assert!(list.contains("INTEGER PRIMARY KEY") && !list.contains("TEMP B-TREE"), "{list}");
    }
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

#[test]
fn a_change_elsewhere_wakes_those_who_wait_for_its_row_alone() {
    let folder = Folder::new("woken");
    let (here, elsewhere) = (folder.open(), folder.open());
    let (table, other) = (here.tasks("default").unwrap(), elsewhere.tasks("default").unwrap());
    for id in ["quiet", "busy"] {
        put(&*table, id, "1").unwrap();
    }
    let change = |revision: u64| {
        let change = |row: Option<&TaskRow>| TaskRow { revision, ..row.unwrap().clone() };
        other.transact("busy", None, &mut |row, _| Ok(Change::Put(change(row)))).unwrap();
    };
    let looks = AtomicU64::new(0);
    let (closed, seen) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let quiet = scope.spawn(|| {
            table.hub().wait("quiet", None, &closed, &mut || {
                looks.fetch_add(1, Ordering::SeqCst);
                Ok(Look::<()>::Again(None))
            })
        });
        let waits = scope.spawn(|| {
            table.hub().wait("busy", None, &closed, &mut || {
                let mut revision = 0;
                table.read("busy", &mut |row| revision = row.revision)?;
                seen.store(revision, Ordering::SeqCst);
                Ok(if revision == 20 { Look::Ready(()) } else { Look::Again(None) })
            })
        });
        for revision in 2..=20 {
            change(revision);
            while seen.load(Ordering::SeqCst) < revision {
                thread::yield_now();
            }
        }
        waits.join().unwrap().unwrap();
        closed.store(true, Ordering::SeqCst);
        table.hub().wake_all();
        assert!(quiet.join().unwrap().is_err());
    });
    let looks = looks.load(Ordering::SeqCst);
    // At first, once more when the thread had begun to look, and when it was closed.
    assert!(looks <= 4, "{looks} looks at a row that did not change");
}

#[test]
fn a_wait_that_takes_no_time_starts_no_thread() {
    let folder = Folder::new("unstarted");
    let backend = folder.open();
    let table = backend.tasks("default").unwrap();
    put(&*table, "a", "1").unwrap();
    let closed = AtomicBool::new(false);
    let mut ready = || Ok(Look::Ready(()));
    table.hub().wait("a", None, &closed, &mut ready).unwrap();
    let mut never = || Ok(Look::<()>::Again(None));
    let refused = table.hub().wait("a", Some(Duration::ZERO), &closed, &mut never).unwrap_err();
    assert_eq!(refused.reason(), Reason::Timeout);
    assert!(!backend.shared.worker.is_running());
    let short = Some(Duration::from_millis(1));
    table.hub().wait("a", short, &closed, &mut never).unwrap_err();
    assert!(backend.shared.worker.is_running());
}

#[test]
fn readers_share_a_bounded_number_of_connections() {
    let folder = Folder::new("readers");
    let backend = folder.open();
    let (running, most, begun) = (AtomicU64::new(0), AtomicU64::new(0), Instant::now());
    thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                let read = backend.shared.read(|connection| {
                    let running_now = running.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(running_now, Ordering::SeqCst);
                    // The first ones stay until there are as many as there may be.
                    while most.load(Ordering::SeqCst) < pool::MOST as u64
                        && begun.elapsed() < Duration::from_mins(1)
                    {
                        thread::yield_now();
                    }
                    running.fetch_sub(1, Ordering::SeqCst);
                    connection.query_row("SELECT 1", (), |row| row.get::<_, i64>(0))
                });
                assert_eq!(read.unwrap(), 1);
            });
        }
    });
    let most = most.load(Ordering::SeqCst);
    assert_eq!(most, pool::MOST as u64, "connections");
}

#[test]
fn pins_that_lapsed_while_the_process_was_suspended_are_taken_again() {
    let folder = Folder::new("suspended");
    let backend = folder.open();
    let sessions = backend.sessions("default").unwrap();
    let holder = sessions.open_holder(0);
    for id in ["stays", "gone"] {
        sessions.transact(id, None, &mut |_, now| Ok(Change::Put(session(id, now)))).unwrap();
        assert_eq!(sessions.pin(holder, id).unwrap(), Some(7));
        assert_eq!(sessions.pin(holder, id).unwrap(), Some(7));
    }
    // Another process wrote the lapse down.
    backend.shared.writer.outside(|connection| {
        connection
            .execute_batch("DELETE FROM session_pins; UPDATE sessions SET pins = 0, unpinned_at = 0")
            .unwrap();
    });
    sessions.transact("gone", None, &mut |_, _| Ok(Change::Remove)).unwrap();
    let pins = |id: &str| {
        let mut pins = None;
        sessions.read(id, &mut |row| pins = Some(row.pins)).unwrap();
        pins
    };
    assert_eq!(pins("stays"), Some(0));
    super::pins::renew(&backend.shared).unwrap();
    assert_eq!((pins("stays"), pins("gone")), (Some(2), None));
    assert!(sessions.unpin(holder, "stays", 7).unwrap());
    assert_eq!(pins("stays"), Some(1));
    sessions.close_holder(holder, Vec::new());
    assert_eq!(pins("stays"), Some(0));
}

fn session(id: &str, now: Now) -> SessionRow {
    SessionRow {
        id: id.into(),
        endpoint: "/mcp".into(),
        partition: None,
        created_ms: now.wall_ms,
        created_tick_ns: now.tick_ns,
        instance: 7,
        last_activity_ms: now.wall_ms,
        active_tick_ns: now.tick_ns,
        unpinned_tick_ns: None,
        initialized: true,
        terminated: false,
        version: 0,
        idle_timeout_ms: 0,
        initialization_timeout_ms: 0,
        pins: 0,
        snapshot: "{}".into(),
    }
}
