//! Rows S1 to S6: the exported functions over a SQLite store against RAW SQLITE, which is the same table,
//! indexes and settings with one prepared statement per commit, in one process and in turn. The two use files of
//! their own beside each other, in `TASKHOLD_BENCH_FOLDER` or the current folder: the disk is part of the figure.

#![allow(clippy::pedantic, clippy::type_complexity)] // Figures are rounded on purpose.

mod support;

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::ptr::{null, null_mut};
use std::time::Instant;

use rusqlite::{Connection, params};
use support::{Api, Handle, Numbers, Table, a2a_task, interleaved, median, payload, per_call};

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

/// The anchor's file: the table that the library has made in another, copied.
struct Raw {
    connection: Connection,
    next: u64,
}

const RAW_INSERT: &str = "INSERT INTO tasks (sequence, name, id, status, revision, created_at, updated_at, \
     ttl_ms, expires_at, poll_interval_ms, cancelation_requested, endpoint, status_message, origin) \
     VALUES (?1, 1, ?2, 'working', 1, ?3, ?3, 3600000, ?3 + 3600000, 1000, 0, '/mcp', ?4, '{}') \
     ON CONFLICT (name, id) DO UPDATE SET revision = revision + 1, status_message = excluded.status_message";
const RAW_UPDATE: &str = "UPDATE tasks SET status = 'working', revision = revision + 1, \
     updated_at = ?2, status_message = ?3 WHERE name = 1 AND id = ?1";

impl Raw {
    fn new(schema_of: &Path, file: &Path, durability: &str) -> Self {
        let schema: Vec<String> = {
            // Never the file itself: the library would find that its locks are gone.
            let copy = file.with_extension("schema");
            copy_database(schema_of, &copy);
            let connection = Connection::open(&copy).unwrap();
            let mut statement = connection
                .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
                .unwrap();
            statement.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let connection = Connection::open(file).unwrap();
        connection.query_row("PRAGMA journal_mode = WAL", (), |_| Ok(())).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA synchronous = {durability}; PRAGMA wal_autocheckpoint = 4000; PRAGMA foreign_keys = OFF; \
                 PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192"
            ))
            .unwrap();
        for sql in schema {
            connection.execute_batch(&sql).unwrap();
        }
        connection.set_prepared_statement_cache_capacity(32);
        Self { connection, next: 0 }
    }

    fn id(&mut self) -> String {
        self.next += 1;
        let mixed = self.next.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{mixed:016x}-4000-8000-{:012x}", self.next)
    }

    fn insert(&mut self, message: Option<&str>) -> String {
        let id = self.id();
        let mut statement = self.connection.prepare_cached(RAW_INSERT).unwrap();
        statement.execute(params![self.next.cast_signed(), id, 1_764_498_600_000_i64, message]).unwrap();
        id
    }

    fn update(&self, id: &str, message: &str) {
        let mut statement = self.connection.prepare_cached(RAW_UPDATE).unwrap();
        assert_eq!(statement.execute(params![id, 1_764_498_600_001_i64, message]).unwrap(), 1);
    }

    /// Reads the columns that a record shows and copies the row's text into a C string.
    fn find(&self, id: &str) {
        let sql = "SELECT id, status, revision, created_at, updated_at, ttl_ms, poll_interval_ms, \
             cancelation_requested, endpoint, authorization_partition, status_message, origin, outcome \
             FROM tasks WHERE name = 1 AND id = ?1";
        let mut statement = self.connection.prepare_cached(sql).unwrap();
        let mut rows = statement.query((id,)).unwrap();
        let row = rows.next().unwrap().unwrap();
        let outcome = row.get_ref(12).unwrap().as_str().unwrap();
        // SAFETY: the block is as large as what is copied into it.
        unsafe {
            let block = libc::malloc(outcome.len() + 1).cast::<u8>();
            block.copy_from_nonoverlapping(outcome.as_ptr(), outcome.len());
            *block.add(outcome.len()) = 0;
            std::hint::black_box(block);
            libc::free(block.cast());
        }
    }
}

/// S1 and S2: what a commit costs.
fn writes(api: &Api, table: &Table, folder: &Path) {
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
        // SAFETY: see above.
        unsafe {
            (api.manager_close)(manager);
            (api.store_close)(store);
        }
    }
}

fn interleaved_writes(
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

/// S3: a find of a completed task.
fn finds(api: &Api, table: &Table, folder: &Path) {
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
        // SAFETY: see above.
        unsafe {
            (api.manager_close)(manager);
            (api.store_close)(store);
        }
        let copy = folder.join("finds-raw.db");
        wait_until_closed(&file);
        copy_database(&file, &copy);
        let raw = Raw { connection: Connection::open(&copy).unwrap(), next: 0 };
        raw.connection.execute_batch("PRAGMA cache_size = -8192").unwrap();
        let store = open(api, &file, "normal");
        let manager = self::manager(api, store);
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
        // SAFETY: see above.
        unsafe {
            (api.manager_close)(manager);
            (api.store_close)(store);
        }
    }
}

/// S4: a page behind the first.
fn pages(api: &Api, table: &Table, folder: &Path) {
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
        let raw = Connection::open(&copy).unwrap();
        raw.execute_batch("PRAGMA cache_size = -8192").unwrap();
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

fn log_of(file: &Path) -> PathBuf {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// A store may copy its log into the file for a moment after it is closed. Then the log goes.
fn wait_until_closed(file: &Path) {
    while log_of(file).exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// A copy of a file, which may be in use, without opening it in this process: closing a descriptor here would
/// drop the locks of a store that is open.
fn copy_database(file: &Path, copy: &Path) {
    for (from, to) in [(file.to_owned(), copy.to_owned()), (log_of(file), log_of(copy))] {
        if from.exists() {
            assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
        }
    }
}

/// Commits a second of `callers` threads that create tasks.
fn rate(api: &Api, manager: Handle, callers: usize, calls: usize) -> f64 {
    let (creation, manager) = (creation(), manager as usize);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..callers {
            scope.spawn(|| {
                for _ in 0..calls / callers {
                    create(api, manager as Handle, &creation);
                }
            });
        }
    });
    calls as f64 / start.elapsed().as_secs_f64()
}

/// S5: callers that share commits.
fn callers(api: &Api, table: &Table, folder: &Path) {
    let store = open(api, &folder.join("callers.db"), "full");
    let manager = manager(api, store);
    let (mut ones, mut eights) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ones.push(rate(api, manager, 1, 800));
        eights.push(rate(api, manager, 8, 3200));
    }
    table.at_least("S5", "8 callers to one, FULL", median(eights) / median(ones), 1.8);
    // SAFETY: see above.
    unsafe {
        (api.manager_close)(manager);
        (api.store_close)(store);
    }
}

/// One of two processes: creates tasks, then says how long it took and how long the longest call was.
fn one_process(api: &Api, file: &Path, durability: &str, calls: usize) -> (f64, f64) {
    let store = open(api, file, durability);
    let (manager, creation) = (manager(api, store), creation());
    let mut longest: f64 = 0.0;
    let start = Instant::now();
    for _ in 0..calls {
        let call = Instant::now();
        create(api, manager, &creation);
        longest = longest.max(call.elapsed().as_secs_f64() * 1e9);
    }
    (start.elapsed().as_secs_f64(), longest)
}

/// S6: processes over one file.
fn processes(api: &Api, table: &Table, folder: &Path) {
    for ((name, durability), calls) in DURABILITIES.into_iter().zip([3000, 12_000]) {
        let (mut rates, mut waits) = ([Vec::new(), Vec::new()], Vec::new());
        for round in 0..5 {
            for count in [1, 2] {
                let file = folder.join(format!("processes-{name}-{round}-{count}.db"));
                // Made before, so that no process waits for its making.
                let store = open(api, &file, durability);
                // SAFETY: see above.
                unsafe { (api.store_close)(store) };
                let children: Vec<_> = (0..count)
                    .map(|_| {
                        Command::new(std::env::current_exe().unwrap())
                            .args(["one-process".as_ref(), file.as_os_str(), durability.as_ref()])
                            .arg((calls / count).to_string())
                            .stdout(Stdio::piped())
                            .spawn()
                            .unwrap()
                    })
                    .collect();
                let mut seconds: f64 = 0.0;
                for child in children {
                    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
                    let mut figures = said.split_whitespace().map(|figure| figure.parse::<f64>().unwrap());
                    seconds = seconds.max(figures.next().unwrap());
                    let longest = figures.next().unwrap();
                    if count == 2 {
                        waits.push(longest);
                    }
                }
                rates[count - 1].push(calls as f64 / seconds);
            }
        }
        let [one, two] = rates.map(median);
        table.at_least("S6", &format!("2 processes to one, {name}"), two / one, 0.8);
        let longest = waits.into_iter().fold(0.0, f64::max);
        table.most("S6", &format!("longest call of 2 processes, {name}"), longest, 100e6);
    }
}

fn main() {
    let api = Api::load();
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, file, durability, calls] = &arguments[..]
        && role == "one-process"
    {
        let (seconds, longest) = one_process(&api, Path::new(file), durability, calls.parse().unwrap());
        println!("{seconds} {longest}");
        return;
    }
    let folder = Folder::new();
    let table = Table::start("SQLite: the exported functions against RAW SQLITE");
    let asked: Vec<&String> =
        arguments.iter().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_asked = |row: &str| asked.is_empty() || asked.iter().any(|asked| *asked == row);
    let rows: [(&[&str], fn(&Api, &Table, &Path)); 5] = [
        (&["S1", "S2"], writes),
        (&["S3"], finds),
        (&["S4"], pages),
        (&["S5"], callers),
        (&["S6"], processes),
    ];
    for (names, run) in rows {
        if names.iter().any(|name| is_asked(name)) {
            run(&api, &table, &folder.0);
        }
    }
}
