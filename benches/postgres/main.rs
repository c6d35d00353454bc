//! Rows P1 to P4 and W2: the exported functions over a PostgreSQL store against RAW PG, which is one connection with prepared
//! statements over the same table, in one process and in turn. Commits wait for no disk. The server is that of
//! `scripts/postgres.sh`, in whose midst this runs.

#![allow(clippy::pedantic, clippy::type_complexity)] // Figures are rounded on purpose.

mod raw;
#[path = "../support/mod.rs"]
mod support;
mod work;

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};
use std::time::Instant;

use raw::Raw;
use support::{Api, Handle, Shared, Table, interleaved, median, payload, per_call};
use work::claims;

const ROUNDS: usize = 7;
const SCHEMA: &str = "bench";

fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

fn server() -> String {
    std::env::var("TASKHOLD_TEST_POSTGRES").expect("run it in the midst of scripts/postgres.sh")
}

fn open(api: &Api) -> Handle {
    let server = server();
    let separator = if server.contains('?') { '&' } else { '?' };
    let url = c(&format!("{server}{separator}options=-c%20synchronous_commit%3Doff"));
    let options = c(&format!("{{\"schema\": \"{SCHEMA}\"}}"));
    let mut store = null_mut();
    // SAFETY: valid arguments as the header asks, as in every call below.
    let status =
        unsafe { (api.store_open)(url.as_ptr(), options.as_ptr(), null_mut(), &mut store, null_mut()) };
    assert_eq!(status, 0);
    store
}

fn manager(api: &Api, store: Handle, options: &CStr) -> Handle {
    let mut manager = null_mut();
    // SAFETY: see above.
    assert_eq!(unsafe { (api.manager_open)(store, options.as_ptr(), &mut manager, null_mut()) }, 0);
    manager
}

fn create(api: &Api, manager: Handle, creation: &CStr) {
    // SAFETY: see above.
    let status = unsafe { (api.manager_create_task)(manager, creation.as_ptr(), null_mut(), null_mut()) };
    assert_eq!(status, 0);
}

/// A transition with a payload that can be repeated.
fn transition(api: &Api, manager: Handle, id: &CStr, message: &CStr) {
    let (id, message) = (id.as_ptr(), message.as_ptr());
    // SAFETY: see above.
    let status =
        unsafe { (api.manager_mark_task_working)(manager, id, message, null(), null_mut(), null_mut()) };
    assert_eq!(status, 0);
}

fn find(api: &Api, manager: Handle, id: &CStr) {
    let mut record = null_mut();
    // SAFETY: see above.
    unsafe {
        let status = (api.manager_find_task)(manager, id.as_ptr(), &mut record, null_mut());
        assert!(status == 0 && !record.is_null());
        (api.string_free)(record);
    }
}

const TEXT: u32 = 25;

fn raw() -> Raw {
    let mut raw = Raw::connect(&server());
    let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    raw.prepare(
        "upsert",
        &format!(
            "INSERT INTO {SCHEMA}.taskhold_tasks (sequence, name, id, status, revision, created_at, updated_at, ttl_ms, \
             expires_at, poll_interval_ms, cancelation_requested, endpoint, origin) \
             SELECT (1000::bigint << 40) + nextval('{SCHEMA}.taskhold_sequence'), 1000, $1, 'working', 1, n, n, 3600000, \
             n + 3600000, 1000, false, '/mcp', $2 FROM (SELECT {now} AS n) t \
             ON CONFLICT (name, id) DO UPDATE SET revision = {SCHEMA}.taskhold_tasks.revision + 1, \
             status_message = excluded.origin"
        ),
        &[TEXT, TEXT],
    );
    raw.prepare(
        "select",
        &format!("SELECT * FROM {SCHEMA}.taskhold_tasks WHERE name = (SELECT min(number) FROM {SCHEMA}.taskhold_names \
                  WHERE kind = 'task' AND name = 'default') AND id = $1"),
        &[TEXT],
    );
    raw
}

/// P1: a create and a transition, and a create with a limit; P3: a find.
fn calls(api: &Api, table: &Table, is_asked: &dyn Fn(&str) -> bool) {
    let store = open(api);
    let (manager, limited) = (
        manager(api, store, c"{}"),
        manager(api, store, c"{\"name\": \"limited\", \"maximumRetainedTasks\": 10000000}"),
    );
    let mut raw = raw();
    let text = payload(500);
    let creation = c(&format!("{{\"endpoint\":\"/mcp\",\"origin\":{text}}}"));
    let ids: Vec<CString> = (0..200).map(|_| api.create_task(manager, &creation)).collect();
    let mut next = 0;
    let run = std::process::id();
    let mut upsert = |raw: &mut Raw| {
        next += 1;
        raw.run("upsert", &[format!("{run}-{next}").as_bytes(), text.as_bytes()]);
    };
    const CALLS: usize = 1000;
    if is_asked("P1") {
        let figures = interleaved(
            ROUNDS,
            || per_call(CALLS, |_| create(api, manager, &creation)),
            || per_call(CALLS, |_| upsert(&mut raw)),
        );
        table.ratio("P1", "create, 500 B", figures, 1.3);
        let figures = interleaved(
            ROUNDS,
            || per_call(CALLS, |_| create(api, limited, &creation)),
            || per_call(CALLS, |_| create(api, manager, &creation)),
        );
        table.ratio("P1", "create, 500 B, with a task limit, to without", figures, 1.4);
        let message = c(&text);
        let figures = interleaved(
            ROUNDS,
            || per_call(CALLS, |n| transition(api, manager, &ids[n % 200], &message)),
            || {
                per_call(CALLS, |n| {
                    raw.run("upsert", &[format!("{run}-{}", 1 + n % 200).as_bytes(), text.as_bytes()]);
                })
            },
        );
        table.ratio("P1", "transition, 500 B", figures, 1.8);
    }
    if is_asked("P3") {
        let figures = interleaved(
            ROUNDS,
            || per_call(CALLS, |n| find(api, manager, &ids[n % 200])),
            || per_call(CALLS, |n| assert!(raw.run("select", &[ids[n % 200].as_bytes()]) > 500)),
        );
        table.ratio("P3", "find, 500 B", figures, 1.2);
    }
    close(api, &[manager, limited], store);
}

fn close(api: &Api, managers: &[Handle], store: Handle) {
    // SAFETY: see above.
    unsafe {
        for &manager in managers {
            (api.manager_close)(manager);
        }
        (api.store_close)(store);
    }
}

/// P2: eight callers, and so eight connections, against one.
fn connections(api: &Api, table: &Table) {
    let store = open(api);
    let manager = manager(api, store, c"{}");
    let creation = c("{\"endpoint\":\"/mcp\",\"origin\":{}}");
    let shared = Shared(manager);
    let together = |callers: usize| {
        const CALLS: usize = 400;
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..callers {
                let creation = &creation;
                let shared = &shared;
                scope.spawn(move || {
                    for _ in 0..CALLS {
                        create(api, shared.0, creation);
                    }
                });
            }
        });
        begun.elapsed().as_nanos() as f64 / (callers * CALLS) as f64
    };
    let (one, eight) = interleaved(ROUNDS, || together(1), || together(8));
    table.at_least("P2", "8 connections, to one", one / eight, 2.0);
    close(api, &[manager], store);
}

/// P4: from the end of a transition to the return of one who waits for it over another store.
fn wakes(api: &Api, table: &Table) {
    let (here, there) = (open(api), open(api));
    let (writer, reader) = (manager(api, here, c"{}"), manager(api, there, c"{}"));
    let id = api.create_task(writer, c"{\"endpoint\":\"/mcp\",\"origin\":{}}");
    let mut took = Vec::new();
    for round in 0..400_u64 {
        let shared = Shared(reader);
        let (woken, done) = std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let shared = &shared;
                // SAFETY: see above.
                let status = unsafe {
                    (api.manager_wait_task)(shared.0, id.as_ptr(), round + 1, 5000, null_mut(), null_mut())
                };
                assert_eq!(status, 0);
                support::monotonic_ns()
            });
            std::thread::sleep(std::time::Duration::from_millis(if round < 2 { 100 } else { 5 }));
            transition(api, writer, &id, &c(&format!("{round}")));
            let done = support::monotonic_ns();
            (waiter.join().unwrap(), done)
        });
        took.push(woken - done);
    }
    took.sort_by(f64::total_cmp);
    let slow = took[took.len() * 99 / 100];
    table.most("P4", "wake over another store, median", median(took), 150_000.0);
    table.most("P4", "the same, 99 of 100", slow, 1_000_000.0);
    close(api, &[writer], here);
    close(api, &[reader], there);
}

fn main() {
    let api = Api::load();
    let asked: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_asked = |row: &str| asked.is_empty() || asked.iter().any(|asked| asked == row);
    let table = Table::start("PostgreSQL: the exported functions against RAW PG");
    if is_asked("P1") || is_asked("P3") {
        calls(&api, &table, &is_asked);
    }
    if is_asked("P2") {
        connections(&api, &table);
    }
    if is_asked("W2") {
        claims(&api, &table);
    }
    if is_asked("P4") {
        wakes(&api, &table);
    }
}
