//! S1 and S2: what a commit costs.

use std::ffi::CString;
use std::path::Path;

use super::raw::Raw;
use super::support::{Api, Table, interleaved, payload, per_call};
use super::{DURABILITIES, ROUNDS, c, close, create, creation, manager, open, transition};

/// S1 and S2: what a commit costs.
pub fn writes(api: &Api, table: &Table, folder: &Path) {
    for (name, durability) in DURABILITIES {
        let file = folder.join(format!("writes-{name}.db"));
        let store = open(api, &file, durability);
        let manager = manager(api, store);
        let mut raw = Raw::new(&file, &folder.join(format!("raw-{name}.db")), name);
        let (creation, calls) = (creation(), if name == "FULL" { 400 } else { 2000 });
        let text = payload(500);
        let filler = c(&format!("{{\"endpoint\":\"/mcp\",\"origin\":{text}}}"));
        for _ in 0..2000 {
            create(api, manager, &creation);
            raw.insert(None);
        }
        let (ours, theirs) = interleaved_writes(calls, &mut |_| create(api, manager, &filler), &mut |_| {
            drop(raw.insert(Some(&text)))
        });
        let most = if name == "FULL" { 1.0 / 0.85 } else { 1.0 / 0.8 };
        table.ratio("S1", &format!("create, 500 B, {name}"), (ours, theirs), most);

        let ids: Vec<CString> = (0..200).map(|_| api.create_task(manager, &creation)).collect();
        let raw_ids: Vec<String> = (0..200).map(|_| raw.insert(None)).collect();
        let message = c(&text);
        let (ours, theirs) =
            interleaved_writes(calls, &mut |n| transition(api, manager, &ids[n % 200], &message), &mut |n| {
                raw.update(&raw_ids[n % 200], &text)
            });
        let most = if name == "FULL" { 1.15 } else { 1.35 };
        table.ratio("S2", &format!("transition, 500 B, {name}"), (ours, theirs), most);
        close(api, manager, store);
    }
}

pub fn interleaved_writes(
    calls: usize,
    ours: &mut dyn FnMut(usize),
    theirs: &mut dyn FnMut(usize),
) -> (f64, f64) {
    let (mut a, mut b) = (0, 0);
    interleaved(
        ROUNDS,
        || {
            a += calls;
            per_call(calls, |n| ours(a + n))
        },
        || {
            b += calls;
            per_call(calls, |n| theirs(b + n))
        },
    )
}
