//! M3 and M6 for A2A tasks: a conditional save, and the first page of a listing.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use super::ROUNDS;
use super::support::anchors::{Ordered, raw_compare_and_set, validate, versioned};
use super::support::{Api, Handle, Numbers, Table, a2a_task, interleaved, running_per_call};

fn task_id(n: usize) -> String {
    format!("task-{n:08}")
}

fn save(api: &Api, provider: Handle, task: &CString, options: Option<&CString>) {
    let options = options.map_or(null(), |options| options.as_ptr());
    // SAFETY: valid arguments as the header asks, as in every call below.
    let status = unsafe {
        (api.state_provider_save_task)(provider, null(), task.as_ptr(), options, null_mut(), null_mut())
    };
    assert_eq!(status, 0);
}

/// A provider that holds `count` tasks of 500 B with spread timestamps.
fn provider(api: &Api, count: usize) -> Handle {
    let mut provider = null_mut();
    // SAFETY: see above.
    unsafe { assert_eq!((api.state_provider_open)(null_mut(), null(), &mut provider, null_mut()), 0) };
    for n in 0..count {
        let timestamp =
            format!("2026-01-01T{:02}:{:02}:{:02}.{:03}Z", n / 3600 % 24, n / 60 % 60, n % 60, n / 86_400);
        let task = CString::new(a2a_task(&task_id(n), &timestamp, "working", 500)).unwrap();
        save(api, provider, &task, None);
    }
    provider
}

fn close(api: &Api, provider: Handle) {
    // SAFETY: see above.
    unsafe { (api.state_provider_close)(provider) };
}

pub fn saves(api: &Api, table: &Table) {
    for count in [1_000usize, 100_000] {
        let provider = provider(api, count);
        let ids: Vec<_> = (0..count).map(|n| CString::new(task_id(n)).unwrap()).collect();
        let text = a2a_task(&task_id(0), "2026-01-02T03:04:05Z", "working", 500);
        let (raw, mut ordered) = (versioned(&ids, &text), Ordered::new(&ids));
        // Each save moves the task to a status timestamp that is later than all others, as real ones do.
        let (mut at, mut raw_at) = (0, count as i64);
        let (mut numbers, mut raw_numbers) = (Numbers(17), Numbers(19));
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
                        let text = a2a_task(&task_id(n), &timestamp, "working", 500);
                        let options = format!("{{\"expectedRevision\":{}}}", revisions[n]);
                        revisions[n] += 1;
                        (CString::new(text).unwrap(), CString::new(options).unwrap())
                    })
                    .collect();
                running_per_call(batch.len(), |n| save(api, provider, &batch[n].0, Some(&batch[n].1)))
            },
            || {
                running_per_call(1_000, |_| {
                    let n = raw_numbers.below(count);
                    raw_at += 1;
                    validate(text.as_bytes());
                    raw_compare_and_set(&raw, ids[n].to_str().unwrap(), &text);
                    ordered.move_to(n, raw_at);
                })
            },
        );
        table.ratio("M3", &format!("conditional A2A save, 500 B, {count} retained"), figures, 1.8);
        close(api, provider);
    }
}

pub fn listings(api: &Api, table: &Table, large: usize) {
    for count in [1_000, 100_000, large] {
        let provider = provider(api, count);
        let index: BTreeMap<(i64, String), Arc<str>> = (0..count)
            .map(|n| {
                let text = a2a_task(&task_id(n), "2026-01-01T00:00:00.000Z", "working", 500);
                ((-(n as i64), task_id(n)), Arc::from(text))
            })
            .collect();
        let params = c"{\"pageSize\":50}".as_ptr();
        let figures = interleaved(
            ROUNDS,
            || {
                running_per_call(500, |_| {
                    let mut page = null_mut();
                    // SAFETY: see above.
                    unsafe {
                        (api.state_provider_list_tasks)(provider, null(), params, &mut page, null_mut());
                        (api.string_free)(page);
                    }
                })
            },
            || {
                running_per_call(500, |_| {
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
        close(api, provider);
    }
}
