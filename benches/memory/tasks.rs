//! M1 to M3 for MCP tasks: find, create, complete, and a change of status without a payload.

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use super::support::anchors::{raw_compare_and_set, raw_find, texts, validate, versioned};
use super::support::{
    Api, Handle, Numbers, Table, UNLIMITED, interleaved, median, payload, running_per_call,
};
use super::{ROUNDS, most_of_a_find};

pub fn creation(origin: &str) -> CString {
    CString::new(format!("{{\"endpoint\":\"/mcp\",\"origin\":{origin}}}")).unwrap()
}

/// Tasks that are retained, each completed with a result of `bytes` bytes.
pub fn completed_tasks(api: &Api, count: usize, bytes: usize) -> (Handle, Vec<CString>) {
    let manager = api.manager(UNLIMITED);
    let (creation, result) = (creation("{}"), CString::new(payload(bytes)).unwrap());
    let ids: Vec<_> = (0..count).map(|_| api.create_task(manager, &creation)).collect();
    for id in &ids {
        complete(api, manager, id, &result);
    }
    (manager, ids)
}

fn complete(api: &Api, manager: Handle, id: &CStr, result: &CStr) {
    let (id, result) = (id.as_ptr(), result.as_ptr());
    // SAFETY: valid arguments as the header asks, as in every call below.
    let status =
        unsafe { (api.manager_complete_task)(manager, id, result, null(), null(), null_mut(), null_mut()) };
    assert_eq!(status, 0);
}

pub fn find(api: &Api, manager: Handle, id: &CStr) {
    let mut record = null_mut();
    // SAFETY: see above.
    unsafe {
        let status = (api.manager_find_task)(manager, id.as_ptr(), &mut record, null_mut());
        assert!(status == 0 && !record.is_null());
        (api.string_free)(record);
    }
}

pub fn mark_working(api: &Api, manager: Handle, id: &CStr) {
    let id = id.as_ptr();
    // SAFETY: see above.
    let status =
        unsafe { (api.manager_mark_task_working)(manager, id, null(), null(), null_mut(), null_mut()) };
    assert_eq!(status, 0);
}

pub fn close(api: &Api, manager: Handle) {
    // SAFETY: see above.
    unsafe { (api.manager_close)(manager) };
}

pub fn finds(api: &Api, table: &Table) {
    for (count, bytes) in [(1_000, 500), (100_000, 500), (1_000, 20_000)] {
        let (manager, ids) = completed_tasks(api, count, bytes);
        let mut record = null_mut();
        // SAFETY: see above.
        unsafe { (api.manager_find_task)(manager, ids[0].as_ptr(), &mut record, null_mut()) };
        let record = api.take(record);
        let raw = texts(&ids, &record);
        let mut numbers = Numbers(7);
        let order: Vec<usize> = (0..65_536).map(|_| numbers.below(count)).collect();
        let calls = if bytes > 1_000 { 20_000 } else { 65_536 };
        let figures = interleaved(
            ROUNDS,
            || running_per_call(calls, |n| find(api, manager, &ids[order[n]])),
            || running_per_call(calls, |n| raw_find(&raw, ids[order[n]].to_str().unwrap())),
        );
        let what = format!("find, record of {} B, {count} retained", record.len());
        table.ratio("M1", &what, figures, most_of_a_find(count, bytes));
        close(api, manager);
    }
}

pub fn creations(api: &Api, table: &Table) {
    const CALLS: usize = 1_000;
    for (count, bytes) in [(1_000, 500), (100_000, 500), (1_000, 20_000)] {
        let creation = creation(&payload(bytes));
        let text = creation.to_str().unwrap();
        let figures = interleaved(
            ROUNDS,
            || {
                let manager = api.manager(UNLIMITED);
                for _ in 0..count {
                    api.create_task(manager, &creation);
                }
                let figure = running_per_call(CALLS, |_| {
                    let mut record = null_mut();
                    // SAFETY: see above.
                    unsafe {
                        (api.manager_create_task)(manager, creation.as_ptr(), &mut record, null_mut());
                        (api.string_free)(record);
                    }
                });
                close(api, manager);
                figure
            },
            // The copies stay, as tasks do: each goes into memory that was not touched before.
            || {
                let mut kept: Vec<Box<str>> = (0..count).map(|_| Box::from(text)).collect();
                kept.reserve(CALLS);
                running_per_call(CALLS, |_| {
                    validate(text.as_bytes());
                    kept.push(Box::from(text));
                })
            },
        );
        let what = format!("create, {bytes} B, {count} retained");
        match (bytes, count) {
            (20_000.., _) => table.ratio("M2", &what, figures, 1.3),
            (_, 100_000..) => table.most("M2", &what, figures.0, 2_500.0),
            _ => table.most("M2", &what, figures.0, 1_500.0),
        }
    }
}

/// Ids of which each is given once, in random order out of all that are left, and new ones when they run out.
struct Once<F> {
    open: Vec<CString>,
    numbers: Numbers,
    more: F,
}

impl<F: FnMut() -> Vec<CString>> Once<F> {
    fn take(&mut self, count: usize) -> Vec<CString> {
        if self.open.len() < count {
            self.open = (self.more)();
        }
        (0..count).map(|_| self.open.swap_remove(self.numbers.below(self.open.len()))).collect()
    }
}

pub fn transitions(api: &Api, table: &Table) {
    const BATCH: usize = 1_000;
    for count in [1_000, 100_000] {
        let result = CString::new(payload(500)).unwrap();
        let manager = api.manager(UNLIMITED);
        let small = creation("{}");
        let create = || (0..count.max(2 * BATCH)).map(|_| api.create_task(manager, &small)).collect();
        let raw = versioned(&[], "");
        let mut last = 0;
        let insert = || {
            let ids: Vec<_> = (0..count.max(2 * BATCH))
                .map(|_| {
                    last += 1;
                    format!("{last:036}")
                })
                .collect();
            raw.write().unwrap().extend(ids.iter().map(|id| (id.clone(), (0, "{}".into()))));
            ids.into_iter().map(|id| CString::new(id).unwrap()).collect()
        };
        // A task can be completed once, so each round takes others; the anchor does the same, so that both need
        // memory for every result.
        let mut open = Once { open: create(), numbers: Numbers(11), more: create };
        let mut raw_open = Once { open: Vec::new(), numbers: Numbers(13), more: insert };
        let figures = interleaved(
            ROUNDS,
            || {
                let round = open.take(BATCH);
                running_per_call(BATCH, |n| complete(api, manager, &round[n], &result))
            },
            || {
                let round = raw_open.take(BATCH);
                running_per_call(BATCH, |n| {
                    validate(result.as_bytes());
                    raw_compare_and_set(&raw, round[n].to_str().unwrap(), result.to_str().unwrap());
                })
            },
        );
        table.ratio("M3", &format!("complete, 500 B result, {count} retained"), figures, 1.8);
        if count == 1_000 {
            let (ids, mut numbers) = (create(), Numbers(15));
            let mut call = |_| mark_working(api, manager, &ids[numbers.below(count)]);
            let working = median((0..ROUNDS).map(|_| running_per_call(10_000, &mut call)).collect());
            table.most("M3", "status change without payload, 1000 retained", working, 250.0);
        }
        close(api, manager);
    }
}
