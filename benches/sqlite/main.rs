//! Rows S1 to S6 and W2 to W4: the exported functions over a SQLite store against RAW SQLITE, which is the same table,
//! indexes and settings with one prepared statement per commit, in one process and in turn. The two use files of
//! their own beside each other, in `TASKHOLD_BENCH_FOLDER` or the current folder: the disk is part of the figure.

#![allow(clippy::pedantic, clippy::type_complexity)] // Figures are rounded on purpose.

mod callers;
mod raw;
mod reads;
#[path = "../support/mod.rs"]
mod support;
mod work;
mod writes;

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

use support::{Api, Handle, Table};

const ROUNDS: usize = 7;
const DURABILITIES: [(&str, &str); 2] = [("FULL", "full"), ("NORMAL", "normal")];

/// A folder that goes with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let parent = std::env::var_os("TASKHOLD_BENCH_FOLDER").map_or_else(|| ".".into(), PathBuf::from);
        let path = parent.join(format!("bench-sqlite-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

fn open(api: &Api, file: &Path, durability: &str) -> Handle {
    let (url, options) = (
        c(&format!("sqlite:{}", file.display())),
        c(&format!("{{\"durability\":\"{durability}\",\"busyTimeoutMs\":60000}}")),
    );
    let mut store = null_mut();
    // SAFETY: valid arguments as the header asks, as in every call below.
    let status =
        unsafe { (api.store_open)(url.as_ptr(), options.as_ptr(), null_mut(), &mut store, null_mut()) };
    assert_eq!(status, 0);
    store
}

fn manager(api: &Api, store: Handle) -> Handle {
    let mut manager = null_mut();
    // SAFETY: see above.
    assert_eq!(unsafe { (api.manager_open)(store, null(), &mut manager, null_mut()) }, 0);
    manager
}

fn creation() -> CString {
    c("{\"endpoint\":\"/mcp\",\"origin\":{}}")
}

fn create(api: &Api, manager: Handle, creation: &CStr) {
    // SAFETY: see above.
    let status = unsafe { (api.manager_create_task)(manager, creation.as_ptr(), null_mut(), null_mut()) };
    assert_eq!(status, 0);
}

/// A transition with a payload of 500 bytes that can be repeated.
fn transition(api: &Api, manager: Handle, id: &CStr, message: &CStr) {
    // SAFETY: see above.
    let status = unsafe {
        (api.manager_mark_task_working)(
            manager,
            id.as_ptr(),
            message.as_ptr(),
            null(),
            null_mut(),
            null_mut(),
        )
    };
    assert_eq!(status, 0);
}

fn close(api: &Api, manager: Handle, store: Handle) {
    // SAFETY: see above.
    unsafe {
        (api.manager_close)(manager);
        (api.store_close)(store);
    }
}

fn main() {
    let api = Api::load();
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, file, durability, calls] = &arguments[..]
        && role == "one-process"
    {
        let (seconds, longest) =
            callers::one_process(&api, Path::new(file), durability, calls.parse().unwrap());
        println!("{seconds} {longest}");
        return;
    }
    if let [_, role, file] = &arguments[..]
        && role == "queueing-process"
    {
        work::queueing_process(&api, Path::new(file));
        return;
    }
    let folder = Folder::new();
    let table = Table::start("SQLite: the exported functions against RAW SQLITE");
    let asked: Vec<&String> =
        arguments.iter().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_asked = |row: &str| asked.is_empty() || asked.iter().any(|asked| *asked == row);
    let rows: [(&[&str], fn(&Api, &Table, &Path)); 8] = [
        (&["S1", "S2"], writes::writes),
        (&["S3"], reads::finds),
        (&["S4"], reads::pages),
        (&["S5"], callers::callers),
        (&["S6"], callers::processes),
        (&["W2"], work::claims),
        (&["W3"], work::renewals),
        (&["W4"], work::idle_claims),
    ];
    for (names, run) in rows {
        if names.iter().any(|name| is_asked(name)) {
            run(&api, &table, &folder.0);
        }
    }
}
