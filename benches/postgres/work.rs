//! W2 for queued work: a claim beside one statement that takes the first row of a table with the same index, a
//! transition under the lease, and eight workers beside one.

use std::ptr::null_mut;
use std::time::Instant;

use super::raw::Raw;
use super::support::work::{Held, claim, enqueue, held};
use super::support::{Api, Handle, Shared, Table, interleaved, payload, per_call};
use super::{ROUNDS, SCHEMA, TEXT, c, close, manager, open, server};

fn take(api: &Api, manager: Handle) -> Held {
    held(&api.take(claim(api, manager, 0)))
}

fn raw_queue(rows: usize) -> Raw {
    let mut raw = Raw::connect(&server());
    for (name, sql) in [
        ("drop", format!("DROP TABLE IF EXISTS {SCHEMA}.raw_work")),
        (
            "create",
            format!(
                "CREATE TABLE {SCHEMA}.raw_work (task bigint PRIMARY KEY, queue text COLLATE \"C\" NOT NULL, \
                 due_at bigint, attempt bigint NOT NULL DEFAULT 0, worker text, lease_ends_at bigint)"
            ),
        ),
        (
            "index",
            format!("CREATE INDEX ON {SCHEMA}.raw_work (queue, due_at, task) WHERE due_at IS NOT NULL"),
        ),
        (
            "fill",
            format!(
                "INSERT INTO {SCHEMA}.raw_work (task, queue, due_at) SELECT n, 'reports', n \
                 FROM generate_series(1, {rows}) n"
            ),
        ),
    ] {
        raw.prepare(name, &sql, &[]);
        raw.run(name, &[]);
    }
    raw.prepare(
        "claim",
        &format!(
            "UPDATE {SCHEMA}.raw_work SET due_at = NULL, attempt = attempt + 1, worker = $1, lease_ends_at = 1 \
             WHERE task = (SELECT task FROM {SCHEMA}.raw_work WHERE queue = 'reports' AND due_at <= 9999999 \
             ORDER BY due_at, task LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING task"
        ),
        &[TEXT],
    );
    raw
}

pub fn claims(api: &Api, table: &Table) {
    const CALLS: usize = 400;
    let store = open(api);
    let manager = manager(api, store, c"{\"name\": \"claims\"}");
    // One round more than is measured, and something that is left.
    let queued = (ROUNDS + 2) * CALLS;
    enqueue(api, manager, queued);
    let mut raw = raw_queue(queued);
    let mut tasks = Vec::new();
    let figures = interleaved(
        ROUNDS,
        || per_call(CALLS, |_| tasks.push(claim(api, manager, 0))),
        || per_call(CALLS, |_| assert!(raw.run("claim", &[b"bench"]) > 0)),
    );
    table.ratio("W2", "claim", figures, 1.0 / 0.8);
    let tasks: Vec<_> = tasks.into_iter().map(|task| held(&api.take(task))).collect();
    let options: Vec<_> = tasks.iter().map(|task| c(&format!("{{\"lease\":{}}}", task.token))).collect();
    let (message, plain) = (c(&payload(500)), c("{\"endpoint\":\"/mcp\",\"origin\":{}}"));
    let plain: Vec<_> = (0..200).map(|_| api.create_task(manager, &plain)).collect();
    let mark = |id: &std::ffi::CStr, options: *const std::ffi::c_char| {
        let (id, message) = (id.as_ptr(), message.as_ptr());
        // SAFETY: valid arguments as the header asks.
        let status =
            unsafe { (api.manager_mark_task_working)(manager, id, message, options, null_mut(), null_mut()) };
        assert_eq!(status, 0);
    };
    let figures = interleaved(
        ROUNDS,
        || per_call(CALLS, |n| mark(&tasks[n % 200].id, options[n % 200].as_ptr())),
        || per_call(CALLS, |n| mark(&plain[n % 200], std::ptr::null())),
    );
    table.ratio("W2", "transition of claimed work, 500 B, to that of a plain task", figures, 1.25);
    let (one, eight) = interleaved(ROUNDS, || rate(api, manager, 1), || rate(api, manager, 8));
    table.at_least("W2", "8 workers, to one", one / eight, 1.8);
    close(api, &[manager], store);
}

/// Nanoseconds for each claim of so many workers at once.
fn rate(api: &Api, manager: Handle, workers: usize) -> f64 {
    const CLAIMS: usize = 200;
    enqueue(api, manager, workers * CLAIMS);
    let manager = Shared(manager);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let manager = &manager;
                (0..CLAIMS).for_each(|_| drop(take(api, manager.0)));
            });
        }
    });
    begun.elapsed().as_nanos() as f64 / (workers * CLAIMS) as f64
}
