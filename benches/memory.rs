//! Rows M1 to M9: the exported functions over the memory store against their anchors, in one process and in
//! turn. Every target is a ratio, or a figure that ten times this machine's noise would not reach.

#![allow(clippy::pedantic)] // Figures are rounded on purpose, and the loops read best as they are.

mod support;

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Barrier, RwLock};
use std::time::{Duration, Instant};

use hashbrown::HashMap;

use support::{Api, Handle, Numbers, Table, UNLIMITED, a2a_task, interleaved, median, payload, per_call};

const ROUNDS: usize = 9;

fn creation(origin: &str) -> CString {
    CString::new(format!("{{\"endpoint\":\"/mcp\",\"origin\":{origin}}}")).unwrap()
}

/// Tasks that are retained, each completed with a result of `bytes` bytes.
fn completed_tasks(api: &Api, count: usize, bytes: usize) -> (Handle, Vec<CString>) {
    let manager = api.manager(UNLIMITED);
    let (creation, result) = (creation("{}"), CString::new(payload(bytes)).unwrap());
    let ids: Vec<_> = (0..count).map(|_| api.create_task(manager, &creation)).collect();
    for id in &ids {
        complete(api, manager, id, &result);
    }
    (manager, ids)
}

fn complete(api: &Api, manager: Handle, id: &CStr, result: &CStr) {
    // SAFETY: valid arguments as the header asks, as in every call below.
    let status = unsafe {
        (api.manager_complete_task)(
            manager,
            id.as_ptr(),
            result.as_ptr(),
            null(),
            null(),
            null_mut(),
            null_mut(),
        )
    };
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

/// The anchor of a find: look up, copy into a C string, free.
fn raw_find(map: &HashMap<String, Arc<str>>, id: &str) {
    let value = map.get(id).unwrap();
    // SAFETY: the block is as large as what is copied into it.
    unsafe {
        let block = libc::malloc(value.len() + 1).cast::<u8>();
        block.copy_from_nonoverlapping(value.as_ptr(), value.len());
        *block.add(value.len()) = 0;
        std::hint::black_box(block);
        libc::free(block.cast());
    }
}

fn raw_map(ids: &[CString], bytes: usize) -> HashMap<String, Arc<str>> {
    ids.iter().map(|id| (id.to_str().unwrap().to_owned(), Arc::from(payload(bytes)))).collect()
}

/// The anchor of a validation: UTF-8, then one pass over the JSON.
fn validate(text: &[u8]) {
    let text = simdutf8::basic::from_utf8(text).unwrap();
    serde_json::from_str::<serde::de::IgnoredAny>(text).unwrap();
}

/// The anchor of a conditional write: look up, compare a version, store a new payload.
fn raw_compare_and_set(map: &RwLock<HashMap<String, (u64, Arc<str>)>>, id: &str, new: &str) {
    let new: Arc<str> = Arc::from(new);
    let mut map = map.write().unwrap();
    let (version, payload) = map.get_mut(id).unwrap();
    if *version < u64::MAX {
        *version += 1;
        *payload = new;
    }
}

fn m1(api: &Api, table: &Table) {
    for (count, bytes, most) in [(1_000, 500, 2.0), (100_000, 500, 1.3), (1_000, 20_000, 1.3)] {
        let (manager, ids) = completed_tasks(api, count, bytes);
        let raw = raw_map(&ids, bytes);
        let mut numbers = Numbers(7);
        let order: Vec<usize> = (0..65_536).map(|_| numbers.below(count)).collect();
        let calls = if bytes > 1_000 { 20_000 } else { 65_536 };
        let figures = interleaved(
            ROUNDS,
            || per_call(calls, |n| find(api, manager, &ids[order[n % order.len()]])),
            || per_call(calls, |n| raw_find(&raw, ids[order[n % order.len()]].to_str().unwrap())),
        );
        table.ratio("M1", &format!("find, {bytes} B, {count} retained"), figures, most);
        // SAFETY: see above.
        unsafe { (api.manager_close)(manager) };
    }
}

fn m2(api: &Api, table: &Table) {
    for (count, bytes, most) in [(1_000, 500, 1_500.0), (100_000, 500, 2_500.0), (1_000, 20_000, 15_000.0)] {
        let creation = creation(&payload(bytes));
        let figures = (0..ROUNDS).map(|_| {
            let manager = api.manager(UNLIMITED);
            for _ in 0..count {
                api.create_task(manager, &creation);
            }
            let figure = per_call(1_000, |_| {
                let mut record = null_mut();
                // SAFETY: see above.
                unsafe {
                    (api.manager_create_task)(manager, creation.as_ptr(), &mut record, null_mut());
                    (api.string_free)(record);
                }
            });
            // SAFETY: see above.
            unsafe { (api.manager_close)(manager) };
            figure
        });
        table.most("M2", &format!("create, {bytes} B, {count} retained"), median(figures.collect()), most);
    }
}

fn m3(api: &Api, table: &Table) {
    for count in [1_000, 100_000] {
        let result = CString::new(payload(500)).unwrap();
        let manager = api.manager(UNLIMITED);
        let small = creation("{}");
        let ids: Vec<_> = (0..count).map(|_| api.create_task(manager, &small)).collect();
        let raw = RwLock::new(
            ids.iter()
                .map(|id| (id.to_str().unwrap().to_owned(), (0, Arc::from(payload(500)))))
                .collect::<HashMap<String, (u64, Arc<str>)>>(),
        );
        let mut numbers = Numbers(11);
        let batch = 1_000;
        let anchor = |numbers: &mut Numbers| {
            per_call(batch, |_| {
                validate(result.as_bytes());
                let id = ids[numbers.below(ids.len())].to_str().unwrap();
                raw_compare_and_set(&raw, id, result.to_str().unwrap());
            })
        };
        let mut fresh_numbers = Numbers(13);
        // A task can be completed once. Each round takes others, in random order out of all that are retained,
        // so that they are as cold as the anchor's.
        let mut open: Vec<_> = (0..count.max(2 * batch)).map(|_| api.create_task(manager, &small)).collect();
        let figures = interleaved(
            ROUNDS,
            || {
                if open.len() < batch {
                    open = (0..count.max(2 * batch)).map(|_| api.create_task(manager, &small)).collect();
                }
                let round: Vec<_> = (0..batch).map(|_| open.swap_remove(numbers.below(open.len()))).collect();
                per_call(batch, |n| complete(api, manager, &round[n], &result))
            },
            || anchor(&mut fresh_numbers),
        );
        table.ratio("M3", &format!("complete, 500 B result, {count} retained"), figures, 1.8);
        let working = median(
            (0..ROUNDS)
                .map(|_| {
                    per_call(10_000, |_| {
                        let id = &ids[numbers.below(ids.len())];
                        // SAFETY: see above.
                        unsafe {
                            (api.manager_mark_task_working)(
                                manager,
                                id.as_ptr(),
                                null(),
                                null(),
                                null_mut(),
                                null_mut(),
                            )
                        };
                    })
                })
                .collect(),
        );
        if count == 1_000 {
            table.most("M3", "status change without payload, 1000 retained", working, 250.0);
        }
        // SAFETY: see above.
        unsafe { (api.manager_close)(manager) };
    }
    for count in [1_000usize, 100_000] {
        let provider = provider(api, count);
        let ids: Vec<_> = (0..count).map(|n| format!("task-{n:08}")).collect();
        let raw = RwLock::new(
            ids.iter()
                .map(|id| (id.clone(), (0, Arc::from(payload(500)))))
                .collect::<HashMap<String, (u64, Arc<str>)>>(),
        );
        // Each save moves the task to a status timestamp that is later than all others, as real ones do.
        let mut at = 0;
        let mut numbers = Numbers(17);
        let mut revisions = vec![1u64; count];
        let figures = interleaved(
            ROUNDS,
            || {
                let batch: Vec<_> = (0..1_000)
                    .map(|_| {
                        let n = numbers.below(count);
                        at += 1;
                        let (minute, second, ms) = (at / 60_000 % 60, at / 1_000 % 60, at % 1_000);
                        let timestamp = format!("2026-01-02T03:{minute:02}:{second:02}.{ms:03}Z");
                        let text = a2a_task(&ids[n], &timestamp, "working", 500);
                        let options = format!("{{\"expectedRevision\":{}}}", revisions[n]);
                        revisions[n] += 1;
                        (CString::new(text).unwrap(), CString::new(options).unwrap())
                    })
                    .collect();
                per_call(batch.len(), |n| {
                    let (task, options) = &batch[n];
                    // SAFETY: see above.
                    let status = unsafe {
                        (api.state_provider_save_task)(
                            provider,
                            null(),
                            task.as_ptr(),
                            options.as_ptr(),
                            null_mut(),
                            null_mut(),
                        )
                    };
                    assert_eq!(status, 0);
                })
            },
            || {
                let text = a2a_task("task-00000000", "2026-01-02T03:04:05Z", "working", 500);
                let mut numbers = Numbers(19);
                per_call(1_000, |_| {
                    validate(text.as_bytes());
                    raw_compare_and_set(&raw, &ids[numbers.below(count)], &text);
                })
            },
        );
        table.ratio("M3", &format!("conditional A2A save, 500 B, {count} retained"), figures, 1.8);
        // SAFETY: see above.
        unsafe { (api.state_provider_close)(provider) };
    }
}

/// A provider that holds `count` tasks of 500 B with spread timestamps.
fn provider(api: &Api, count: usize) -> Handle {
    let mut provider = null_mut();
    // SAFETY: see above.
    unsafe { assert_eq!((api.state_provider_open)(null_mut(), null(), &mut provider, null_mut()), 0) };
    for n in 0..count {
        let timestamp =
            format!("2026-01-01T{:02}:{:02}:{:02}.{:03}Z", n / 3600 % 24, n / 60 % 60, n % 60, n / 86_400);
        let task = CString::new(a2a_task(&format!("task-{n:08}"), &timestamp, "working", 500)).unwrap();
        // SAFETY: see above.
        unsafe {
            let status = (api.state_provider_save_task)(
                provider,
                null(),
                task.as_ptr(),
                null(),
                null_mut(),
                null_mut(),
            );
            assert_eq!(status, 0);
        }
    }
    provider
}

fn m4(api: &Api, table: &Table) {
    for count in [1_000, 100_000] {
        let mut store = null_mut();
        let options = c"{\"concurrentSessionLimit\":0}";
        // SAFETY: see above.
        unsafe {
            assert_eq!((api.session_store_open)(null_mut(), options.as_ptr(), &mut store, null_mut()), 0)
        };
        let creation = CString::new(format!("{{\"sessionContext\":{}}}", payload(250))).unwrap();
        let snapshots: Vec<String> = (0..count)
            .map(|_| {
                let mut session = null_mut();
                // SAFETY: see above.
                unsafe {
                    (api.session_store_create)(
                        store,
                        c"/mcp".as_ptr(),
                        creation.as_ptr(),
                        &mut session,
                        null_mut(),
                    );
                }
                api.take(session)
            })
            .collect();
        let id_of = |snapshot: &str| snapshot.split("\"sessionId\":\"").nth(1).unwrap()[..32].to_owned();
        let ids: Vec<_> = snapshots.iter().map(|s| CString::new(id_of(s)).unwrap()).collect();
        let raw: HashMap<String, Arc<str>> =
            snapshots.iter().map(|s| (id_of(s), Arc::from(s.as_str()))).collect();
        let mut numbers = Numbers(23);
        let order: Vec<usize> = (0..65_536).map(|_| numbers.below(count)).collect();
        let figures = interleaved(
            ROUNDS,
            || {
                per_call(order.len(), |n| {
                    let mut session = null_mut();
                    // SAFETY: see above.
                    unsafe {
                        (api.session_store_find_by_session_id)(
                            store,
                            ids[order[n]].as_ptr(),
                            &mut session,
                            null_mut(),
                        );
                        (api.string_free)(session);
                    }
                })
            },
            || per_call(order.len(), |n| raw_find(&raw, ids[order[n]].to_str().unwrap())),
        );
        table.ratio(
            "M4",
            &format!("session find, {count} retained"),
            figures,
            if count == 1_000 { 2.0 } else { 1.3 },
        );
        let raw =
            RwLock::new(raw.into_iter().map(|(id, text)| (id, (0u64, text))).collect::<HashMap<_, _>>());
        let mut current = snapshots;
        let mut versions = vec![0u64; count];
        let mut numbers = Numbers(29);
        let figures = interleaved(
            ROUNDS,
            || {
                let batch: Vec<_> = (0..1_000)
                    .map(|_| {
                        let n = numbers.below(count);
                        let old = current[n].clone();
                        let (from, to) = (versions[n], versions[n] + 1);
                        let new =
                            old.replace(&format!("\"version\":{from}}}"), &format!("\"version\":{to}}}"));
                        assert_ne!(old, new);
                        versions[n] = to;
                        current[n].clone_from(&new);
                        (CString::new(old).unwrap(), CString::new(new).unwrap())
                    })
                    .collect();
                per_call(batch.len(), |n| {
                    let (mut replaced, (old, new)) = (0, &batch[n]);
                    // SAFETY: see above.
                    unsafe {
                        (api.session_store_replace)(
                            store,
                            old.as_ptr(),
                            new.as_ptr(),
                            &mut replaced,
                            null_mut(),
                        );
                    }
                    assert_eq!(replaced, 1);
                })
            },
            || {
                let text = payload(500);
                let mut numbers = Numbers(31);
                per_call(1_000, |_| {
                    validate(text.as_bytes());
                    validate(text.as_bytes());
                    raw_compare_and_set(&raw, ids[numbers.below(count)].to_str().unwrap(), &text);
                })
            },
        );
        table.ratio("M4", &format!("session replace, {count} retained"), figures, 1.8);
        // SAFETY: see above.
        unsafe { (api.session_store_close)(store) };
    }
}

#[derive(Clone, Copy)]
struct Shared(Handle);
// SAFETY: every exported function may be called from any thread.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

fn m5(api: &Api, table: &Table) {
    for (count, writes, least) in
        [(1_000, false, 1.5), (100_000, false, 1.8), (1_000, true, 1.3), (100_000, true, 1.8)]
    {
        let (manager, ids) = completed_tasks(api, count, 500);
        let working: Vec<_> = (0..count).map(|_| api.create_task(manager, &creation("{}"))).collect();
        let manager = Shared(manager);
        let run = |threads: usize| {
            let barrier = Barrier::new(threads);
            let start = std::sync::Mutex::new(None::<Instant>);
            let calls = 200_000;
            std::thread::scope(|scope| {
                for t in 0..threads {
                    let (barrier, start, ids, working) = (&barrier, &start, &ids, &working);
                    scope.spawn(move || {
                        support::pin(t);
                        let manager = manager;
                        let mut numbers = Numbers(37 + t as u64);
                        // Different keys: each thread has its half.
                        let half = ids.len() / 2;
                        let order: Vec<usize> = (0..8_192).map(|_| numbers.below(half) + t * half).collect();
                        barrier.wait();
                        start.lock().unwrap().get_or_insert_with(Instant::now);
                        for n in 0..calls {
                            let at = order[n % order.len()];
                            if writes && n % 10 == 0 {
                                // SAFETY: see above.
                                unsafe {
                                    (api.manager_mark_task_working)(
                                        manager.0,
                                        working[at].as_ptr(),
                                        null(),
                                        null(),
                                        null_mut(),
                                        null_mut(),
                                    )
                                };
                            } else {
                                find(api, manager.0, &ids[at]);
                            }
                        }
                    });
                }
            });
            let took = start.lock().unwrap().unwrap().elapsed();
            took.as_nanos() as f64 / (calls * threads) as f64
        };
        let (two, one) = interleaved(5, || run(2), || run(1));
        let what = if writes { "90 % find, 10 % status change" } else { "find" };
        table.at_least("M5", &format!("two threads, {what}, {count} retained"), one / two, least);
        // SAFETY: see above.
        unsafe { (api.manager_close)(manager.0) };
    }
}

fn m6(api: &Api, table: &Table, large: usize) {
    for count in [1_000, 100_000, large] {
        let provider = provider(api, count);
        let index: BTreeMap<(i64, String), Arc<str>> = (0..count)
            .map(|n| {
                let id = format!("task-{n:08}");
                let text = a2a_task(&id, "2026-01-01T00:00:00.000Z", "working", 500);
                ((-(n as i64), id), Arc::from(text))
            })
            .collect();
        let params = c"{\"pageSize\":50}";
        let figures = interleaved(
            ROUNDS,
            || {
                per_call(500, |_| {
                    let mut page = null_mut();
                    // SAFETY: see above.
                    unsafe {
                        (api.state_provider_list_tasks)(
                            provider,
                            null(),
                            params.as_ptr(),
                            &mut page,
                            null_mut(),
                        );
                        (api.string_free)(page);
                    }
                })
            },
            || {
                per_call(500, |_| {
                    let page: Vec<Arc<str>> = index.values().take(50).cloned().collect();
                    let mut text =
                        String::with_capacity(page.iter().map(|t| t.len() + 1).sum::<usize>() + 64);
                    for task in &page {
                        text.push_str(task);
                        text.push(',');
                    }
                    std::hint::black_box(CString::new(text).unwrap());
                })
            },
        );
        table.ratio("M6", &format!("A2A list, first page of 50, {count} retained"), figures, 2.0);
        // SAFETY: see above.
        unsafe { (api.state_provider_close)(provider) };
    }
}

fn m7(api: &Api, table: &Table, large: usize) {
    let hot = 1_000;
    let mut figures = Vec::new();
    for count in [hot, 100_000, large] {
        let (manager, ids) = completed_tasks(api, hot, 500);
        let small = creation("{}");
        for _ in hot..count {
            api.create_task(manager, &small);
        }
        let mut numbers = Numbers(41);
        let order: Vec<usize> = (0..16_384).map(|_| numbers.below(hot)).collect();
        let figure = median(
            (0..ROUNDS).map(|_| per_call(order.len(), |n| find(api, manager, &ids[order[n]]))).collect(),
        );
        figures.push(figure);
        if count == large {
            // The machine takes its time now and then: the second worst of three runs' worsts says more.
            let mut worsts: Vec<f64> = (0..3)
                .map(|_| {
                    let mut worst = Duration::ZERO;
                    for n in 0..20_000 {
                        let start = Instant::now();
                        if n % 4 == 0 {
                            api.create_task(manager, &small);
                        } else {
                            find(api, manager, &ids[order[n % order.len()]]);
                        }
                        worst = worst.max(start.elapsed());
                    }
                    worst.as_nanos() as f64
                })
                .collect();
            worsts.sort_by(f64::total_cmp);
            table.most("M7", &format!("worst single call, {count} retained"), worsts[1], 100_000.0);
        }
        // SAFETY: see above.
        unsafe { (api.manager_close)(manager) };
    }
    for (count, figure) in [(100_000, figures[1]), (large, figures[2])] {
        table.ratio(
            "M7",
            &format!("find of {hot} hot keys, {count} against {hot} retained"),
            (figure, figures[0]),
            1.5,
        );
    }
}

fn m8(api: &Api, table: &Table) {
    let count = 100_000;
    let result = payload(500);
    let before = support::allocated();
    let (manager, ids) = completed_tasks(api, count, 500);
    // The bench's own list of ids is no part of it.
    let with_tasks = support::allocated();
    drop(ids);
    let ids_bytes = with_tasks - support::allocated();
    let each = (with_tasks - before - ids_bytes) / count as f64;
    let documents = (result.len() + 2) as f64;
    table.row(
        "M8",
        "memory per retained task, 500 B result",
        &format!("{each:.0} B"),
        &format!("{documents:.0} B"),
        &format!("+{:.0} B", each - documents),
        "<= documents + 400 B",
        each - documents <= 400.0,
    );
    // SAFETY: see above.
    unsafe { (api.manager_close)(manager) };
}

fn m9(api: &Api, table: &Table) {
    let manager = Shared(api.manager(UNLIMITED));
    let call = |manager: Handle| {
        // SAFETY: see above. Nobody listens: the call checks its handle and its id, and clears the error.
        unsafe { (api.manager_publish_task_changed)(manager, c"t".as_ptr(), null_mut()) };
    };
    let one = median((0..ROUNDS).map(|_| per_call(1_000_000, |_| call(manager.0))).collect());
    table.most("M9", "a call that does nothing", one, 25.0);
    let two = median(
        (0..ROUNDS)
            .map(|_| {
                let barrier = Barrier::new(2);
                let took: Vec<f64> = std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..2)
                        .map(|t| {
                            let barrier = &barrier;
                            scope.spawn(move || {
                                support::pin(t);
                                let manager = manager;
                                barrier.wait();
                                per_call(1_000_000, |_| call(manager.0))
                            })
                        })
                        .collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
                });
                took.iter().sum::<f64>() / 2.0
            })
            .collect(),
    );
    table.at_least("M9", "two threads on one handle", 2.0 * one / two, 1.0);
    // SAFETY: see above.
    unsafe { (api.manager_close)(manager.0) };
}

fn main() {
    let api = Api::load();
    // `cargo bench -- M1 M6` runs these rows only; `--small` leaves the million out.
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--bench")).collect();
    let large = if asked.iter().any(|arg| arg == "--small") { 200_000 } else { 1_000_000 };
    let rows: Vec<_> = asked.iter().filter(|arg| !arg.starts_with("--")).collect();
    let wanted = |row: &str| rows.is_empty() || rows.iter().any(|asked| *asked == row);
    let table = Table::start("In memory, through the exported C functions");
    let all: [(&str, &dyn Fn()); 9] = [
        ("M1", &|| m1(&api, &table)),
        ("M2", &|| m2(&api, &table)),
        ("M3", &|| m3(&api, &table)),
        ("M4", &|| m4(&api, &table)),
        ("M5", &|| m5(&api, &table)),
        ("M6", &|| m6(&api, &table, large)),
        ("M7", &|| m7(&api, &table, large)),
        ("M8", &|| m8(&api, &table)),
        ("M9", &|| m9(&api, &table)),
    ];
    for (row, run) in all {
        if wanted(row) {
            run();
        }
    }
}
