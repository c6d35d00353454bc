//! What a table promises to every domain, on every kind of store.

mod stores;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, Weak};
use std::thread;

use taskhold::clock::{Clock, ManualClock, Now};
use taskhold::error::{Error, Reason, Result};
use taskhold::store::{
    A2aPosition, A2aQuery, A2aRow, A2aTable, Backend, Change, ExpiryListener, KeptEvents, LogTotals,
    Row as _, SessionRow, Store, Table,
};

const FOR_EVER_MS: i64 = 0;

/// Runs `test` on an empty store of each kind.
fn on_every_store(test: impl Fn(&ManualClock, &dyn Backend)) {
    let manual = || Arc::new(ManualClock::new(1_764_498_600_000).unwrap());
    let clock = manual();
    let memory = Store::open(None, None, Clock::Manual(Arc::clone(&clock))).unwrap();
    test(&clock, &**memory.backend());
    let clock = manual();
    let (sqlite, _folder) = stores::sqlite(Clock::Manual(Arc::clone(&clock)));
    test(&clock, &**sqlite.backend());
}

fn session(id: &str, now: Now, idle_timeout_ms: i64) -> SessionRow {
    SessionRow {
        id: id.into(),
        endpoint: "/mcp".into(),
        partition: None,
        created_ms: now.wall_ms,
        created_tick_ns: now.tick_ns,
        instance: 1,
        last_activity_ms: now.wall_ms,
        active_tick_ns: now.tick_ns,
        unpinned_tick_ns: None,
        initialized: true,
        terminated: false,
        version: 0,
        idle_timeout_ms,
        initialization_timeout_ms: 0,
        pins: 0,
        snapshot: "{}".into(),
    }
}

fn put(table: &dyn Table<SessionRow>, id: &str, limit: Option<u64>, idle_timeout_ms: i64) -> Result<()> {
    table.transact(id, limit, &mut |old, now| match old {
        Some(_) => Err(Error::new(Reason::SessionIdInUse, "taken")),
        None => Ok(Change::Put(session(id, now, idle_timeout_ms))),
    })
}

fn version(table: &dyn Table<SessionRow>, id: &str) -> Option<u64> {
    let mut version = None;
    assert_eq!(table.read(id, &mut |row| version = Some(row.version)).unwrap(), version.is_some());
    version
}

#[test]
fn a_row_is_gone_from_its_deadline_on_for_every_operation() {
    on_every_store(|clock, backend| {
        let table = backend.sessions("default").unwrap();
        put(&*table, "a", None, 10).unwrap();
        clock.advance(10).unwrap();
        assert_eq!(version(&*table, "a"), Some(0), "older than is strict");
        clock.advance(1).unwrap();
        table
            .transact("a", None, &mut |old, _| {
                assert!(old.is_none());
                Ok(Change::Keep)
            })
            .unwrap();
        assert_eq!(version(&*table, "a"), None);
        put(&*table, "a", None, 10).unwrap();
        assert_eq!(version(&*table, "a"), Some(0), "its id is free again");
    });
}

#[test]
fn a_deadline_that_moves_is_followed_both_ways() {
    on_every_store(|clock, backend| {
        let table = backend.sessions("default").unwrap();
        put(&*table, "a", None, 10).unwrap();
        let set = |timeout_ms: i64| {
            table
                .transact("a", None, &mut |old, _| {
                    let mut row = old.expect("still there").clone();
                    row.idle_timeout_ms = timeout_ms;
                    Ok(Change::Put(row))
                })
                .unwrap();
        };
        set(1_000);
        clock.advance(500).unwrap();
        assert_eq!(table.sweep(10).unwrap(), 0, "its first deadline has passed, its present one has not");
        assert_eq!(version(&*table, "a"), Some(0));
        set(501);
        clock.advance(2).unwrap();
        assert_eq!(table.sweep(10).unwrap(), 1, "the earlier deadline counts");
    });
}

#[test]
fn expired_rows_never_count_against_the_limit() {
    on_every_store(|clock, backend| {
        let table = backend.sessions("default").unwrap();
        for round in 0..5 {
            for n in 0..100 {
                put(&*table, &format!("{round}-{n}"), Some(100), 10).unwrap();
            }
            let refused = put(&*table, "one-more", Some(100), 10).unwrap_err();
            assert_eq!(refused.reason(), Reason::CapacityExhausted);
            clock.advance(11).unwrap();
        }
    });
}

#[test]
fn a_limit_is_exact_under_threads() {
    on_every_store(|_, backend| {
        let table = backend.sessions("default").unwrap();
        let (threads, limit) = (4, 50);
        let (barrier, stored) = (Barrier::new(threads), AtomicU64::new(0));
        thread::scope(|scope| {
            for t in 0..threads {
                let (table, barrier, stored) = (&table, &barrier, &stored);
                scope.spawn(move || {
                    barrier.wait();
                    for n in 0..100 {
                        if put(&**table, &format!("{t}-{n}"), Some(limit), FOR_EVER_MS).is_ok() {
                            stored.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert_eq!(stored.load(Ordering::SeqCst), limit);
    });
}

#[test]
fn a_slot_is_freed_once() {
    on_every_store(|_, backend| {
        let table = backend.sessions("default").unwrap();
        put(&*table, "a", Some(1), FOR_EVER_MS).unwrap();
        for _ in 0..3 {
            table
                .transact("a", None, &mut |old, _| {
                    let mut row = old.unwrap().clone();
                    row.terminated = true;
                    Ok(Change::Put(row))
                })
                .unwrap();
        }
        put(&*table, "b", Some(1), FOR_EVER_MS).unwrap();
        assert!(put(&*table, "c", Some(1), FOR_EVER_MS).is_err());
        table.transact("a", None, &mut |_, _| Ok(Change::Remove)).unwrap();
        assert!(put(&*table, "c", Some(1), FOR_EVER_MS).is_err(), "the slot of `a` was free already");
    });
}

#[test]
fn a_transition_that_refuses_or_panics_changes_nothing() {
    on_every_store(|_, backend| {
        let table = backend.sessions("default").unwrap();
        put(&*table, "a", None, FOR_EVER_MS).unwrap();
        let refused = table.transact("a", None, &mut |_, _| Err(Error::new(Reason::TaskTerminal, "no")));
        assert_eq!(refused.unwrap_err().reason(), Reason::TaskTerminal);
        for id in ["a", "new"] {
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                table.transact(id, None, &mut |_, _| panic!("in the transition"))
            }));
            assert!(panicked.is_err());
        }
        assert_eq!((version(&*table, "a"), version(&*table, "new")), (Some(0), None));
        put(&*table, "new", Some(2), FOR_EVER_MS).unwrap();
    });
}

#[test]
fn increments_by_many_threads_are_all_kept() {
    on_every_store(|_, backend| {
        let table = backend.sessions("default").unwrap();
        put(&*table, "a", None, FOR_EVER_MS).unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        table
                            .transact("a", None, &mut |old, _| {
                                let mut row = old.unwrap().clone();
                                row.version += 1;
                                Ok(Change::Put(row))
                            })
                            .unwrap();
                    }
                });
            }
        });
        assert_eq!(version(&*table, "a"), Some(4_000));
    });
}

#[test]
fn inserting_removing_and_expiring_race_and_leave_nothing() {
    on_every_store(|clock, backend| {
        let table = backend.sessions("default").unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..2_000 {
                        let id = format!("{}", n % 7);
                        let _ = put(&*table, &id, Some(5), 1);
                        if n % 3 == 0 {
                            table.transact(&id, None, &mut |_, _| Ok(Change::Remove)).unwrap();
                        }
                        if n % 5 == 0 {
                            clock.advance(1).unwrap();
                        }
                        let _ = version(&*table, &id);
                    }
                });
            }
        });
        clock.advance(10).unwrap();
        table.sweep(usize::MAX).unwrap();
        let stats = backend.stats().unwrap();
        assert!(stats.as_str().contains("\"sessions\":0,"), "{}", stats.as_str());
        for n in 0..5 {
            put(&*table, &format!("again-{n}"), Some(5), 1).unwrap();
        }
        assert!(put(&*table, "too-many", Some(5), 1).is_err());
    });
}

struct Expired(Mutex<Vec<String>>);

impl ExpiryListener<SessionRow> for Expired {
    fn expired(&self, row: &SessionRow) {
        self.0.lock().unwrap().push(row.id().to_owned());
    }
}

#[test]
fn listeners_hear_of_each_expiry_once_and_of_no_removal() {
    on_every_store(|clock, backend| {
        let table = backend.sessions("default").unwrap();
        let heard = Arc::new(Expired(Mutex::default()));
        table.watch_expiry(Arc::downgrade(&heard) as Weak<dyn ExpiryListener<SessionRow>>);
        for n in 0..20 {
            put(&*table, &format!("{n:02}"), None, 10).unwrap();
        }
        table.transact("00", None, &mut |_, _| Ok(Change::Remove)).unwrap();
        clock.advance(11).unwrap();
        assert_eq!(version(&*table, "05"), None, "a look-up removes it");
        table.sweep(usize::MAX).unwrap();
        let mut ids = heard.0.lock().unwrap().clone();
        ids.sort();
        assert_eq!(ids, (1..20).map(|n| format!("{n:02}")).collect::<Vec<_>>());
    });
}

fn a2a(id: &str, status_timestamp_ms: Option<i64>, context: Option<&str>, state: &str) -> A2aRow {
    A2aRow {
        id: id.into(),
        owner: None,
        context_id: context.map(Arc::from),
        state: state.into(),
        is_final: false,
        status_timestamp_ms,
        finalized_tick_ns: None,
        saved_tick_ns: 0,
        retention_ms: 0,
        revision: 1,
        // Found again by what a listing shows.
        task: format!("[\"{id}\"]").into(),
        history: None,
        artifacts: None,
        push_configs: None,
        appended: None,
        log: LogTotals::default(),
        kept_events: KeptEvents::default(),
    }
}

fn walk(table: &dyn A2aTable, query: A2aQuery<'_>) -> (Vec<String>, Option<u64>) {
    let (mut ids, mut after, mut total) = (Vec::new(), None::<A2aPosition>, None);
    loop {
        let query = A2aQuery { after: after.as_ref(), count: after.is_none(), ..query };
        let found = table
            .list(&query, &mut |row| ids.push(row.task.trim_matches(['[', '"', ']']).to_owned()))
            .unwrap();
        total = total.or(found.total);
        match found.next {
            Some(next) => after = Some(next),
            None => return (ids, total),
        }
    }
}

#[test]
fn a2a_rows_are_listed_in_order_by_every_filter() {
    on_every_store(|_, backend| {
        let table = backend.a2a_tasks("default").unwrap();
        let rows = [
            a2a("b", Some(5), Some("x"), "working"),
            a2a("a", Some(5), Some("x"), "submitted"),
            a2a("c", None, Some("x"), "working"),
            a2a("d", Some(9), Some("y"), "working"),
            a2a("e", Some(1), None, "submitted"),
        ];
        for row in &rows {
            table.transact(row.id(), None, &mut |_, _| Ok(Change::Put(row.clone()))).unwrap();
        }
        let query = A2aQuery {
            owner: None,
            context_id: None,
            state: None,
            status_timestamp_from_ms: None,
            after: None,
            limit: 2,
            count: true,
        };
        let x = Some("x");
        let cases: [(A2aQuery<'_>, &[&str]); 7] = [
            (query, &["d", "a", "b", "e", "c"]),
            (A2aQuery { context_id: x, ..query }, &["a", "b", "c"]),
            (A2aQuery { state: Some("working"), ..query }, &["d", "b", "c"]),
            (A2aQuery { state: Some("working"), context_id: x, ..query }, &["b", "c"]),
            (A2aQuery { status_timestamp_from_ms: Some(5), ..query }, &["d", "a", "b"]),
            (A2aQuery { owner: Some(""), ..query }, &[]),
            (A2aQuery { state: Some("failed"), context_id: x, ..query }, &[]),
        ];
        for (query, ids) in cases {
            let (found, total) = walk(&*table, query);
            assert_eq!((found.as_slice(), total), (ids.map_to_owned().as_slice(), Some(ids.len() as u64)));
        }
        let moved = A2aRow { context_id: Some("y".into()), ..a2a("a", Some(10), None, "working") };
        table.transact("a", None, &mut |_, _| Ok(Change::Put(moved.clone()))).unwrap();
        table.transact("d", None, &mut |_, _| Ok(Change::Remove)).unwrap();
        assert_eq!(walk(&*table, query).0, ["a", "b", "e", "c"]);
        assert_eq!(walk(&*table, A2aQuery { context_id: Some("y"), ..query }).0, ["a"]);
        assert_eq!(walk(&*table, A2aQuery { state: Some("submitted"), ..query }).0, ["e"]);
    });
}

trait MapToOwned {
    fn map_to_owned(&self) -> Vec<String>;
}

impl MapToOwned for &[&str] {
    fn map_to_owned(&self) -> Vec<String> {
        self.iter().map(|id| (*id).to_owned()).collect()
    }
}
