//! What a memory table does in its own way. What it promises as every store does: `tests/store_contract.rs`.

use std::sync::{Arc, Barrier};
use std::thread;

use super::super::{Backend, Change, SessionRow, Table};
use super::MemoryBackend;
use super::table::{MemoryTable, SWEEP_PER_CALL};
use crate::clock::{Clock, ManualClock, NANOS_PER_MILLI, Now};
use crate::error::{Error, Reason, Result};
use crate::events::Hub;

fn manual() -> (Arc<ManualClock>, MemoryBackend) {
    let clock = Arc::new(ManualClock::new(1_764_498_600_000).unwrap());
    (Arc::clone(&clock), MemoryBackend::new(Clock::Manual(clock)))
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
fn a_call_looks_at_a_few_rows_whose_deadline_moved_on_and_not_at_all_of_them() {
    let (clock, backend) = manual();
    let table = backend.table(&backend.sessions, "default");
    let sessions = 2_000;
    for n in 0..sessions {
        put(&*table, &n.to_string(), None, 10).unwrap();
        table
            .transact(&n.to_string(), None, &mut |old, _| {
                Ok(Change::Put(SessionRow { idle_timeout_ms: 1_000, ..old.unwrap().clone() }))
            })
            .unwrap();
    }
    clock.advance(500).unwrap();
    assert_eq!(table.due(), sessions);
    assert_eq!(version(&*table, "0"), Some(0));
    assert_eq!(table.due(), sessions - SWEEP_PER_CALL);
    assert_eq!(table.sweep(1).unwrap(), 0, "nothing expired, and only looking at all of them tells");
    assert_eq!(table.due(), 0);
    clock.advance(501).unwrap();
    assert_eq!(table.sweep(sessions + 1).unwrap(), sessions);
}

#[test]
fn memory_measures_age_by_the_monotonic_clock() {
    let (clock, backend) = manual();
    let table = backend.sessions("default").unwrap();
    put(&*table, "a", None, 10).unwrap();
    clock.step_wall(3_600_000).unwrap();
    clock.step_wall(-7_200_000).unwrap();
    clock.advance(10).unwrap();
    assert_eq!(version(&*table, "a"), Some(0));
    assert_eq!(table.now().unwrap().tick_ns, 10 * NANOS_PER_MILLI);
}

#[test]
fn ids_with_the_same_hash_are_told_apart() {
    let clock = Arc::new(ManualClock::new(0).unwrap());
    let mut table = MemoryTable::new(Clock::Manual(Arc::clone(&clock)), Arc::new(Hub::default()));
    table.all_alike = true;
    let ids: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(version(&table, id), None);
        put(&table, id, Some(40), if n % 2 == 0 { 10 } else { 20 }).unwrap();
    }
    assert!(put(&table, "40", Some(40), 10).is_err());
    let raise = |id: &str| {
        table.transact(id, None, &mut |old, _| {
            let old = old.expect("it is there");
            assert_eq!(*old.id, *id);
            Ok(Change::Put(SessionRow { version: old.version + 1, ..old.clone() }))
        })
    };
    raise("7").unwrap();
    table.transact("9", None, &mut |_, _| Ok(Change::Remove)).unwrap();
    clock.advance(11).unwrap();
    for (n, id) in ids.iter().enumerate() {
        let expected = if n % 2 == 0 || n == 9 { None } else { Some(u64::from(n == 7)) };
        assert_eq!(version(&table, id), expected, "{id}");
    }
    for id in ids.iter().filter(|id| version(&table, id).is_none()) {
        put(&table, id, Some(40), 30).unwrap();
    }
    assert!(ids.iter().all(|id| version(&table, id).is_some()));
}

#[test]
fn ids_with_the_same_hash_race_and_stay_apart() {
    const ROUNDS: u64 = 300;
    let clock = Arc::new(ManualClock::new(0).unwrap());
    let mut table = MemoryTable::new(Clock::Manual(clock), Arc::new(Hub::default()));
    table.all_alike = true;
    let (table, barrier) = (&table, &Barrier::new(4));
    thread::scope(|scope| {
        for id in ["a", "b", "c", "d"] {
            scope.spawn(move || {
                barrier.wait();
                for round in 0..ROUNDS {
                    put(table, id, None, 0).unwrap();
                    table
                        .transact(id, None, &mut |old, _| {
                            Ok(Change::Put(SessionRow { version: round, ..old.unwrap().clone() }))
                        })
                        .unwrap();
                    assert_eq!(version(table, id), Some(round));
                    table.transact(id, None, &mut |_, _| Ok(Change::Remove)).unwrap();
                    assert_eq!(version(table, id), None);
                }
            });
        }
    });
}
