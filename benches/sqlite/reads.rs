//! S3 and S4: a find, and a page behind the first.

use std::ffi::{CStr, CString};
use std::path::Path;
use std::ptr::{null, null_mut};

use super::raw::{Raw, copy_database, wait_until_closed};
use super::support::{Api, Handle, Numbers, Table, a2a_task, interleaved, payload, per_call};
use super::{ROUNDS, c, close, creation, manager, open};

/// S3: a find of a completed task.
pub fn finds(api: &Api, table: &Table, folder: &Path) {
    for (count, bytes) in [(1_000, 500), (100_000, 500), (1_000, 20_000)] {
        let file = folder.join(format!("finds-{count}-{bytes}.db"));
        let store = open(api, &file, "normal");
        let manager = manager(api, store);
        let (creation, result) = (creation(), c(&payload(bytes)));
        let ids: Vec<CString> = (0..count).map(|_| api.create_task(manager, &creation)).collect();
        for id in &ids {
            // SAFETY: see above.
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
        // The anchor reads the same rows, from a copy of the file.
        close(api, manager, store);
        let copy = folder.join("finds-raw.db");
        wait_until_closed(&file);
        copy_database(&file, &copy);
        let raw = Raw::open(&copy);
        let store = open(api, &file, "normal");
        let manager = super::manager(api, store);
        let mut numbers = Numbers(7);
        let order: Vec<usize> = (0..8192).map(|_| numbers.below(count)).collect();
        let figures = interleaved(
            ROUNDS,
            || {
                per_call(4096, |n| {
                    let mut record = null_mut();
                    // SAFETY: see above.
                    unsafe {
                        let id = &ids[order[n % order.len()]];
                        let status = (api.manager_find_task)(manager, id.as_ptr(), &mut record, null_mut());
                        assert!(status == 0 && !record.is_null());
                        (api.string_free)(record);
                    }
                })
            },
            || per_call(4096, |n| raw.find(ids[order[n % order.len()]].to_str().unwrap())),
        );
        table.ratio("S3", &format!("find, {bytes} B, {count} retained"), figures, 1.3);
        close(api, manager, store);
    }
}

/// S4: a page behind the first.
pub fn pages(api: &Api, table: &Table, folder: &Path) {
    let mut pages = Vec::new();
    for count in [1_000_usize, 100_000] {
        let file = folder.join(format!("pages-{count}.db"));
        let store = open(api, &file, "normal");
        let mut provider = null_mut();
        // SAFETY: see above.
        assert_eq!(unsafe { (api.state_provider_open)(store, null(), &mut provider, null_mut()) }, 0);
        for n in 0..count {
            let seconds = n % 86_400;
            let timestamp = format!(
                "2026-01-{:02}T{:02}:{:02}:{:02}Z",
                1 + n / 86_400,
                seconds / 3600,
                seconds / 60 % 60,
                seconds % 60
            );
            let task = c(&a2a_task(&format!("task-{n:08}"), &timestamp, "working", 500));
            // SAFETY: see above.
            let status = unsafe {
                (api.state_provider_save_task)(
                    provider,
                    null(),
                    task.as_ptr(),
                    null(),
                    null_mut(),
                    null_mut(),
                )
            };
            assert_eq!(status, 0);
        }
        let first = api.take(page(api, provider, c"{}"));
        let token = first.split("\"nextPageToken\":\"").nth(1).unwrap().split('"').next().unwrap();
        let params = c(&format!("{{\"pageToken\":\"{token}\"}}"));
        // The anchor is another SQLite in this process: it reads a copy.
        let copy = folder.join(format!("pages-raw-{count}.db"));
        // SAFETY: see above.
        unsafe {
            (api.state_provider_close)(provider);
            (api.store_close)(store);
        }
        wait_until_closed(&file);
        copy_database(&file, &copy);
        let store = open(api, &file, "normal");
        let mut provider = null_mut();
        // SAFETY: see above.
        assert_eq!(unsafe { (api.state_provider_open)(store, null(), &mut provider, null_mut()) }, 0);
        let list = |params: &CStr| page(api, provider, params);
        let raw = Raw::open(&copy).connection;
        let sql = "SELECT id, status_order, task FROM a2a_tasks WHERE name = 1 AND owner IS NULL \
             AND (status_order, id) > (?1, ?2) ORDER BY status_order, id LIMIT 51";
        let start = raw
            .query_row(
                "SELECT status_order, id FROM a2a_tasks ORDER BY status_order, id LIMIT 1 OFFSET 49",
                (),
                |r| Ok((r.get::<_, i64>(0)?, r.get::<_, String>(1)?)),
            )
            .unwrap();
        let raw_page = || {
            let mut statement = raw.prepare_cached(sql).unwrap();
            let mut rows = statement.query((start.0, &start.1)).unwrap();
            let mut page = Vec::with_capacity(32_000);
            for _ in 0..50 {
                let row = rows.next().unwrap().unwrap();
                page.extend_from_slice(row.get_ref(2).unwrap().as_bytes().unwrap());
                page.push(b',');
            }
            assert!(rows.next().unwrap().is_some());
            page
        };
        let (ours, theirs) = (api.take(list(&params)), String::from_utf8(raw_page()).unwrap());
        assert!(ours.contains(theirs.trim_end_matches(',')), "the same tasks in the same order");
        let figures = interleaved(
            ROUNDS,
            // SAFETY: see above.
            || per_call(500, |_| unsafe { (api.string_free)(list(&params)) }),
            || per_call(500, |_| drop(std::hint::black_box(raw_page()))),
        );
        table.ratio("S4", &format!("second page of 50, 500 B, {count} retained"), figures, 1.5);
        pages.push(figures.0);
        // SAFETY: see above.
        unsafe {
            (api.state_provider_close)(provider);
            (api.store_close)(store);
        }
    }
    table.ratio("S4", "the same page at 100000 and at 1000", (pages[1], pages[0]), 1.5);
}

/// The page of `params`, to be freed.
fn page(api: &Api, provider: Handle, params: &CStr) -> *mut std::ffi::c_char {
    let mut page = null_mut();
    // SAFETY: see above.
    let status =
        unsafe { (api.state_provider_list_tasks)(provider, null(), params.as_ptr(), &mut page, null_mut()) };
    assert_eq!(status, 0);
    page
}
