//! taskhold's part of the comparison: the same work as the peers', by a native program that calls the exported
//! functions.

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use crate::figures::Figures;
use crate::scan::ScanningManager;
use crate::support::{Api, Handle, Numbers, UNLIMITED, per_call};

pub const SIZES: [usize; 2] = [1_000, 100_000];
const TASK: &str = include_str!("task.json");
const RESULT: &str = include_str!("result.json");
const CREATION: &CStr = c"{\"endpoint\":\"/mcp\",\"origin\":{\"method\":\"tools/call\",\
    \"params\":{\"name\":\"search\",\"arguments\":{\"query\":\"open cafes\"}}}}";
/// Calls of one figure, and creations of one round.
const CALLS: usize = 10_000;
const BATCH: usize = 500;

pub fn task_bytes() -> usize {
    TASK.len()
}

pub fn result_bytes() -> usize {
    RESULT.len()
}

fn task_text(n: usize, minute: usize) -> CString {
    let timestamp = format!(
        "2026-01-{:02}T{:02}:{minute:02}:{:02}.{:03}Z",
        1 + n / 86_400,
        n / 3600 % 24,
        n % 60,
        n % 1000
    );
    CString::new(TASK.replace("{id}", &format!("task-{n:08}")).replace("{timestamp}", &timestamp)).unwrap()
}

fn save(api: &Api, provider: Handle, task: &CStr) {
    // SAFETY: valid arguments as the header asks, as in every call below.
    let status = unsafe {
        (api.state_provider_save_task)(provider, null(), task.as_ptr(), null(), null_mut(), null_mut())
    };
    assert_eq!(status, 0);
}

/// The work of `a2a_memory.py`.
pub fn a2a(api: &Api, figures: &mut Figures) {
    for retained in SIZES {
        let mut provider = null_mut();
        // SAFETY: see above.
        unsafe { assert_eq!((api.state_provider_open)(null_mut(), null(), &mut provider, null_mut()), 0) };
        for n in 0..retained {
            save(api, provider, &task_text(n, 0));
        }
        let mut numbers = Numbers(43);
        let order: Vec<usize> = (0..CALLS).map(|_| numbers.below(retained)).collect();
        let ids: Vec<_> = order.iter().map(|n| CString::new(format!("task-{n:08}")).unwrap()).collect();
        let texts: Vec<_> = order.iter().map(|n| task_text(*n, 1)).collect();
        let get = per_call(CALLS, |n| {
            let mut task = null_mut();
            // SAFETY: see above.
            unsafe {
                let id = ids[n].as_ptr();
                (api.state_provider_get_task)(
                    provider,
                    null(),
                    id,
                    null(),
                    &mut task,
                    null_mut(),
                    null_mut(),
                );
                assert!(!task.is_null());
                (api.string_free)(task);
            }
        });
        figures.add("get", retained, "native", get);
        figures.add("save", retained, "native", per_call(CALLS, |n| save(api, provider, &texts[n])));
        let params = c"{\"pageSize\": 50, \"includeArtifacts\": true}";
        let list = per_call(200, |_| {
            let mut page = null_mut();
            // SAFETY: see above.
            unsafe {
                let params = params.as_ptr();
                (api.state_provider_list_tasks)(provider, null(), params, &mut page, null_mut());
                assert!(!page.is_null());
                (api.string_free)(page);
            }
        });
        figures.add("list", retained, "native", list);
        // SAFETY: see above.
        unsafe { (api.state_provider_close)(provider) };
    }
}

fn find(api: &Api, manager: Handle, id: &CStr) {
    let mut record = null_mut();
    // SAFETY: see above.
    unsafe {
        (api.manager_find_task)(manager, id.as_ptr(), &mut record, null_mut());
        assert!(!record.is_null());
        (api.string_free)(record);
    }
}

/// The work of `mcp_memory.mjs`.
pub fn mcp(api: &Api, figures: &mut Figures) {
    let result = CString::new(RESULT).unwrap();
    for retained in SIZES {
        let manager = api.manager(UNLIMITED);
        let ids: Vec<_> = (0..retained).map(|_| api.create_task(manager, CREATION)).collect();
        let mut numbers = Numbers(47);
        let order: Vec<usize> = (0..CALLS).map(|_| numbers.below(retained)).collect();
        let got = per_call(CALLS, |n| find(api, manager, &ids[order[n]]));
        figures.add("getTask", retained, "native", got);
        let updated = per_call(CALLS, |n| {
            let (id, message) = (ids[order[n]].as_ptr(), c"Step 3 of 7".as_ptr());
            // SAFETY: see above.
            let status = unsafe {
                (api.manager_mark_task_working)(manager, id, message, null(), null_mut(), null_mut())
            };
            assert_eq!(status, 0);
        });
        figures.add("updateTaskStatus", retained, "native", updated);
        let listed = per_call(200, |_| {
            let mut page = null_mut();
            // SAFETY: see above.
            unsafe {
                (api.manager_list_tasks)(manager, c"{\"pageSize\": 10}".as_ptr(), &mut page, null_mut());
                assert!(!page.is_null());
                (api.string_free)(page);
            }
        });
        figures.add("listTasks, 10", retained, "native", listed);
        let mut created = Vec::with_capacity(BATCH);
        let creation = per_call(BATCH, |_| created.push(api.create_task(manager, CREATION)));
        figures.add("createTask", retained, "native", creation);
        let completion = per_call(BATCH, |n| {
            let (id, result) = (created[n].as_ptr(), result.as_ptr());
            // SAFETY: see above.
            let status = unsafe {
                (api.manager_complete_task)(manager, id, result, null(), null(), null_mut(), null_mut())
            };
            assert_eq!(status, 0);
        });
        figures.add("storeTaskResult", retained, "native", completion);
        // SAFETY: see above.
        unsafe { (api.manager_close)(manager) };
    }
}

/// A find in taskhold, and where every call passes over all tasks.
pub fn scan(api: &Api, figures: &mut Figures) {
    for retained in [1_000, 10_000, 100_000] {
        let manager = api.manager(UNLIMITED);
        let ids: Vec<_> = (0..retained).map(|_| api.create_task(manager, CREATION)).collect();
        let scanning = ScanningManager::holding(ids.iter().map(|id| id.to_str().unwrap()), RESULT);
        let mut numbers = Numbers(53);
        let order: Vec<usize> = (0..CALLS).map(|_| numbers.below(retained)).collect();
        let scanned = per_call(2_000_000 / retained, |n| {
            let id = ids[order[n % CALLS]].to_str().unwrap();
            assert!(std::hint::black_box(scanning.find(id)).is_some());
        });
        figures.add("find", retained, "peer", scanned);
        let found = per_call(CALLS, |n| find(api, manager, &ids[order[n]]));
        figures.add("find", retained, "native", found);
        // SAFETY: see above.
        unsafe { (api.manager_close)(manager) };
    }
}
