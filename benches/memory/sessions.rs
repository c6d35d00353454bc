//! M4: find a session, and replace one whose `expected` is as it was given out.

use std::ffi::CString;
use std::ptr::null_mut;

use super::support::anchors::{raw_compare_and_set, raw_find, texts, validate, versioned};
use super::support::{Api, Handle, Numbers, Table, interleaved, payload, running_per_call};
use super::{ROUNDS, most_of_a_find};

/// A store of `count` sessions, their ids and their snapshots.
fn store(api: &Api, count: usize) -> (Handle, Vec<CString>, Vec<String>) {
    let mut store = null_mut();
    let options = c"{\"concurrentSessionLimit\":0}".as_ptr();
    // SAFETY: valid arguments as the header asks, as in every call below.
    unsafe { assert_eq!((api.session_store_open)(null_mut(), options, &mut store, null_mut()), 0) };
    let creation = CString::new(format!("{{\"sessionContext\":{}}}", payload(250))).unwrap();
    let (endpoint, creation) = (c"/mcp".as_ptr(), creation.as_ptr());
    let snapshots: Vec<String> = (0..count)
        .map(|_| {
            let mut session = null_mut();
            // SAFETY: see above.
            unsafe {
                (api.session_store_create)(store, endpoint, creation, &mut session, null_mut());
            }
            api.take(session)
        })
        .collect();
    let id_of = |snapshot: &str| snapshot.split("\"sessionId\":\"").nth(1).unwrap()[..32].to_owned();
    let ids = snapshots.iter().map(|snapshot| CString::new(id_of(snapshot)).unwrap()).collect();
    (store, ids, snapshots)
}

pub fn finds_and_replacements(api: &Api, table: &Table) {
    for count in [1_000, 100_000] {
        let (store, ids, snapshots) = store(api, count);
        let raw = texts(&ids, &snapshots[0]);
        let mut numbers = Numbers(23);
        let order: Vec<usize> = (0..65_536).map(|_| numbers.below(count)).collect();
        let figures = interleaved(
            ROUNDS,
            || {
                running_per_call(order.len(), |n| {
                    let (id, mut session) = (ids[order[n]].as_ptr(), null_mut());
                    // SAFETY: see above.
                    unsafe {
                        (api.session_store_find_by_session_id)(store, id, &mut session, null_mut());
                        (api.string_free)(session);
                    }
                })
            },
            || running_per_call(order.len(), |n| raw_find(&raw, ids[order[n]].to_str().unwrap())),
        );
        let what = format!("session find, {} B, {count} retained", snapshots[0].len());
        table.ratio("M4", &what, figures, most_of_a_find(count, snapshots[0].len()));
        drop(raw);
        replacements(api, table, store, &ids, snapshots);
        // SAFETY: see above.
        unsafe { (api.session_store_close)(store) };
    }
}

fn replacements(api: &Api, table: &Table, store: Handle, ids: &[CString], snapshots: Vec<String>) {
    let count = ids.len();
    let text = snapshots[0].clone();
    let raw = versioned(ids, &text);
    let mut current = snapshots;
    let mut versions = vec![0u64; count];
    let (mut numbers, mut raw_numbers) = (Numbers(29), Numbers(31));
    let figures = interleaved(
        ROUNDS,
        || {
            let batch: Vec<_> = (0..1_000)
                .map(|_| {
                    let n = numbers.below(count);
                    let old = current[n].clone();
                    let (from, to) = (versions[n], versions[n] + 1);
                    let new = old.replace(&format!("\"version\":{from}}}"), &format!("\"version\":{to}}}"));
                    assert_ne!(old, new);
                    versions[n] = to;
                    current[n].clone_from(&new);
                    (CString::new(old).unwrap(), CString::new(new).unwrap())
                })
                .collect();
            running_per_call(batch.len(), |n| {
                let (old, new, mut replaced) = (batch[n].0.as_ptr(), batch[n].1.as_ptr(), 0);
                // SAFETY: see above.
                unsafe { (api.session_store_replace)(store, old, new, &mut replaced, null_mut()) };
                assert_eq!(replaced, 1);
            })
        },
        || {
            running_per_call(1_000, |_| {
                validate(text.as_bytes());
                validate(text.as_bytes());
                raw_compare_and_set(&raw, ids[raw_numbers.below(count)].to_str().unwrap(), &text);
            })
        },
    );
    table.ratio("M4", &format!("session replace, {count} retained"), figures, 1.8);
}
