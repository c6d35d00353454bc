//! W2 to W4 for queued work: claims and transitions of what was claimed, renewals, and claims that wait for what
//! another process queues.

use std::ffi::CStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use super::raw::Raw;
use super::support::work::{Held, claim, enqueue, held, renewals_of};
use super::support::{Api, Handle, Table, interleaved, median, monotonic_ns, payload, per_call};
use super::{DURABILITIES, ROUNDS, c, close, manager, open};

fn take(api: &Api, manager: Handle) -> Held {
    held(&api.take(claim(api, manager, 0)))
}

/// W2: a claim, beside one statement that takes the first task of the same index; a transition under the lease.
pub fn claims(api: &Api, table: &Table, folder: &Path) {
    for (name, durability) in DURABILITIES {
        let file = folder.join(format!("claims-{name}.db"));
        let store = open(api, &file, durability);
        let manager = manager(api, store);
        let mut raw = Raw::new(&file, &folder.join(format!("claims-raw-{name}.db")), name);
        let calls = if name == "FULL" { 200 } else { 1000 };
        // One round more than is measured, and something that is left.
        let queued = (ROUNDS + 2) * calls;
        enqueue(api, manager, queued);
        raw.enqueue(queued);
        let mut tasks = Vec::new();
        let figures = interleaved(
            ROUNDS,
            || per_call(calls, |_| tasks.push(claim(api, manager, 0))),
            || per_call(calls, |_| raw.claim()),
        );
        let most = if name == "FULL" { 1.0 / 0.85 } else { 1.0 / 0.8 };
        table.ratio("W2", &format!("claim, {name}"), figures, most);

        let tasks: Vec<_> = tasks.into_iter().map(|task| held(&api.take(task))).collect();
        let options: Vec<_> = tasks.iter().map(|task| c(&format!("{{\"lease\":{}}}", task.token))).collect();
        let raw_ids: Vec<String> = (0..200).map(|_| raw.insert(None)).collect();
        let text = payload(500);
        let message = c(&text);
        let transition = |n: usize| {
            let (task, options) = (&tasks[n % 200], &options[n % 200]);
            // SAFETY: valid arguments as the header asks, as in every call below.
            let status = unsafe {
                (api.manager_mark_task_working)(
                    manager,
                    task.id.as_ptr(),
                    message.as_ptr(),
                    options.as_ptr(),
                    null_mut(),
                    null_mut(),
                )
            };
            assert_eq!(status, 0);
        };
        let figures = interleaved(
            ROUNDS,
            || per_call(calls, transition),
            || per_call(calls, |n| raw.update(&raw_ids[n % 200], &text)),
        );
        table.ratio("W2", &format!("transition of claimed work, 500 B, {name}"), figures, most);
        close(api, manager, store);
    }
    workers(api, table, folder);
}

/// Claims a second of `workers` threads.
fn rate(api: &Api, manager: Handle, workers: usize, claims: usize) -> f64 {
    enqueue(api, manager, claims);
    let manager = manager as usize;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                for _ in 0..claims / workers {
                    take(api, manager as Handle);
                }
            });
        }
    });
    claims as f64 / start.elapsed().as_secs_f64()
}

fn workers(api: &Api, table: &Table, folder: &Path) {
    let store = open(api, &folder.join("workers.db"), "full");
    let manager = manager(api, store);
    let (mut ones, mut eights) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ones.push(rate(api, manager, 1, 400));
        eights.push(rate(api, manager, 8, 1600));
    }
    table.at_least("W2", "8 workers to one, FULL", median(eights) / median(ones), 1.8);
    close(api, manager, store);
}

/// W3: a thousand leases in one call, beside one commit.
pub fn renewals(api: &Api, table: &Table, folder: &Path) {
    const LEASES: usize = 1_000;
    for (name, durability) in DURABILITIES {
        let file = folder.join(format!("renewals-{name}.db"));
        let store = open(api, &file, durability);
        let manager = manager(api, store);
        let mut raw = Raw::new(&file, &folder.join(format!("renewals-raw-{name}.db")), name);
        enqueue(api, manager, LEASES);
        let renewals = renewals_of(api, manager, LEASES);
        let id = raw.insert(None);
        let (call, commit) = interleaved(
            ROUNDS,
            || per_call(5, |_| renew(api, manager, &renewals)),
            || per_call(200, |_| raw.update(&id, "")),
        );
        let each = (call - commit) / LEASES as f64;
        table.most(
            "W3",
            &format!("renew, 1000 leases in one call, each beside one commit, {name}"),
            each,
            5e3,
        );
        close(api, manager, store);
    }
}

fn renew(api: &Api, manager: Handle, renewals: &CStr) {
    let mut outcome = null_mut();
    // SAFETY: see above.
    unsafe {
        assert_eq!((api.manager_renew_leases)(manager, renewals.as_ptr(), &mut outcome, null_mut()), 0);
        (api.string_free)(outcome);
    }
}

const WAKES: usize = 40;

/// The other process: queues a task every now and then, and says when each was stored.
pub fn queueing_process(api: &Api, file: &Path) {
    let store = open(api, file, "normal");
    let manager = manager(api, store);
    for _ in 0..WAKES {
        std::thread::sleep(Duration::from_millis(40));
        enqueue(api, manager, 1);
        println!("{}", monotonic_ns());
    }
    close(api, manager, store);
}

/// W4: a claim that finds nothing, and one that waits for what another process queues.
pub fn idle_claims(api: &Api, table: &Table, folder: &Path) {
    let file = folder.join("waiting.db");
    let store = open(api, &file, "normal");
    let manager = manager(api, store);
    let look = |_| assert!(claim(api, manager, 0).is_null());
    let figure = median((0..ROUNDS).map(|_| per_call(2_000, look)).collect());
    table.most("W4", "a claim that finds nothing", figure, 25e3);

    let process = Command::new(std::env::current_exe().unwrap())
        .args(["queueing-process".as_ref(), file.as_os_str()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let woken: Vec<f64> = (0..WAKES)
        .map(|_| {
            api.take(claim(api, manager, 60_000));
            monotonic_ns()
        })
        .collect();
    let said = String::from_utf8(process.wait_with_output().unwrap().stdout).unwrap();
    let stored = said.lines().map(|line| line.parse::<f64>().unwrap());
    let waits: Vec<f64> = woken.iter().zip(stored).map(|(woken, stored)| (woken - stored).max(0.0)).collect();
    let longest = waits.iter().copied().fold(0.0, f64::max);
    table.most("W4", "woken by what another process queues, median", median(waits), 25e6);
    table.most("W4", "woken by what another process queues, longest", longest, 25e6);
    close(api, manager, store);
}
