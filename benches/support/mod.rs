//! What the benches share: the built shared library as a table of functions, the payloads, the anchors'
//! building blocks, interleaved timing, and the printed table.

#![allow(dead_code, clippy::pedantic, clippy::too_many_arguments)] // Each bench uses its part.

pub mod anchors;
pub mod work;

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::PathBuf;
use std::ptr::null_mut;
use std::time::Instant;

use libloading::Library;

pub type Out = *mut *mut c_char;
pub type Handle = *mut c_void;
pub type Text = *const c_char;

/// A handle that threads share.
#[derive(Clone, Copy)]
pub struct Shared(pub Handle);
// SAFETY: every exported function may be called from any thread.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

macro_rules! api {
    ($($name:ident: fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// The exported functions, loaded by name.
        pub struct Api { $(pub $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)* _library: Library }

        impl Api {
            pub fn load() -> Self {
                let path = std::env::var_os("TASKHOLD_LIBRARY").map_or_else(
                    || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("build/lib/libtaskhold.so"),
                    PathBuf::from,
                );
                // SAFETY: the library runs no code at load time.
                let library = unsafe { Library::new(&path) }.unwrap_or_else(|error| {
                    panic!("cannot load {}: {error}; run `make lib` first", path.display())
                });
                // SAFETY: the signatures are those of include/taskhold.h.
                unsafe {
                    $(let $name = *library.get(concat!("taskhold_", stringify!($name)).as_bytes()).unwrap();)*
                    Self { $($name,)* _library: library }
                }
            }
        }
    };
}

api! {
    string_free: fn(*mut c_char);
    clock_open_manual: fn(i64, *mut Handle, Out) -> i32;
    clock_advance: fn(Handle, i64, Out) -> i32;
    store_open: fn(Text, Text, Handle, *mut Handle, Out) -> i32;
    store_stats: fn(Handle, Out, Out) -> i32;
    store_close: fn(Handle) -> i32;
    manager_open: fn(Handle, Text, *mut Handle, Out) -> i32;
    manager_close: fn(Handle) -> i32;
    manager_create_task: fn(Handle, Text, Out, Out) -> i32;
    manager_find_task: fn(Handle, Text, Out, Out) -> i32;
    manager_wait_task: fn(Handle, Text, u64, u32, Out, Out) -> i32;
    manager_list_tasks: fn(Handle, Text, Out, Out) -> i32;
    manager_mark_task_working: fn(Handle, Text, Text, Text, Out, Out) -> i32;
    manager_complete_task: fn(Handle, Text, Text, Text, Text, Out, Out) -> i32;
    manager_is_task_cancelation_requested: fn(Handle, Text, *mut i32, Out) -> i32;
    manager_claim_task: fn(Handle, Text, u32, Out, Out) -> i32;
    manager_renew_leases: fn(Handle, Text, Out, Out) -> i32;
    manager_publish_task_changed: fn(Handle, Text, Out) -> i32;
    session_store_open: fn(Handle, Text, *mut Handle, Out) -> i32;
    session_store_close: fn(Handle) -> i32;
    session_store_create: fn(Handle, Text, Text, Out, Out) -> i32;
    session_store_find_by_session_id: fn(Handle, Text, Out, Out) -> i32;
    session_store_replace: fn(Handle, Text, Text, *mut i32, Out) -> i32;
    state_provider_open: fn(Handle, Text, *mut Handle, Out) -> i32;
    state_provider_close: fn(Handle) -> i32;
    state_provider_save_task: fn(Handle, Text, Text, Text, *mut u64, Out) -> i32;
    state_provider_get_task: fn(Handle, Text, Text, Text, Out, *mut u64, Out) -> i32;
    state_provider_list_tasks: fn(Handle, Text, Text, Out, Out) -> i32;
    json_get: fn(Text, Text, Out, Out) -> i32;
}

impl Api {
    /// Takes over a string that the library gave out.
    pub fn take(&self, text: *mut c_char) -> String {
        assert!(!text.is_null());
        // SAFETY: an owned NUL-terminated string of the library, freed once, here.
        unsafe {
            let copy = CStr::from_ptr(text).to_str().unwrap().to_owned();
            (self.string_free)(text);
            copy
        }
    }

    pub fn manager(&self, options: &CStr) -> Handle {
        let mut handle = null_mut();
        // SAFETY: valid arguments as the header asks.
        let status = unsafe { (self.manager_open)(null_mut(), options.as_ptr(), &mut handle, null_mut()) };
        assert_eq!(status, 0);
        handle
    }

    pub fn create_task(&self, manager: Handle, creation: &CStr) -> CString {
        let mut record = null_mut();
        // SAFETY: valid arguments as the header asks.
        let status =
            unsafe { (self.manager_create_task)(manager, creation.as_ptr(), &mut record, null_mut()) };
        assert_eq!(status, 0);
        let record = self.take(record);
        let id = record.split("\"taskId\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        CString::new(id).unwrap()
    }
}

/// The options of a manager whose limit is out of the way.
pub const UNLIMITED: &CStr = c"{\"maximumRetainedTasks\": 100000000}";

/// A JSON object of about `bytes` bytes, of the kind that tools return: text blocks with escapes, numbers and
/// a letter outside ASCII.
pub fn payload(bytes: usize) -> String {
    let mut text = String::from("{\"content\":[");
    let mut n = 0;
    loop {
        let block = format!(
            "{{\"type\":\"text\",\"text\":\"Line {n}: the caf\u{e9} is \\\"open\\\"\\n until {}:30\",\"score\":{}.25}}",
            n % 24,
            n * 7
        );
        if n > 0 && text.len() + block.len() + 20 > bytes {
            break;
        }
        if n > 0 {
            text.push(',');
        }
        text.push_str(&block);
        n += 1;
    }
    text.push_str("],\"isError\":false");
    while text.len() + 12 < bytes {
        text.push_str(",\"pad");
        text.push_str(&format!("{}\":1", text.len()));
    }
    text.push('}');
    text
}

/// An A2A task of about `bytes` bytes.
pub fn a2a_task(id: &str, timestamp: &str, state: &str, bytes: usize) -> String {
    let head = format!(
        "{{\"id\":\"{id}\",\"contextId\":\"ctx\",\"status\":{{\"state\":\"{state}\",\"timestamp\":\"{timestamp}\"}},\"metadata\":"
    );
    let rest = bytes.saturating_sub(head.len() + 1).max(60);
    format!("{head}{}}}", payload(rest))
}

/// A small generator of numbers, the same ones in every run.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Nanoseconds a call of `call`, over `calls` calls.
pub fn per_call(calls: usize, mut call: impl FnMut(usize)) -> f64 {
    let start = Instant::now();
    for n in 0..calls {
        call(n);
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

/// The same in time that this thread ran. For calls that never wait: what else the machine does meanwhile counts
/// less.
pub fn running_per_call(calls: usize, mut call: impl FnMut(usize)) -> f64 {
    let start = running_ns();
    for n in 0..calls {
        call(n);
    }
    (running_ns() - start) / calls as f64
}

/// Nanoseconds that this thread ran.
pub fn running_ns() -> f64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Nanoseconds on the clock that all processes share.
pub fn monotonic_ns() -> f64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds that all threads of this process ran.
pub fn process_ns() -> f64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn clock_ns(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to the struct only.
    assert_eq!(unsafe { libc::clock_gettime(clock, &mut time) }, 0);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Runs two loops in turn, the order reversed every other round, and gives the medians of their figures.
pub fn interleaved(
    rounds: usize,
    mut one: impl FnMut() -> f64,
    mut other: impl FnMut() -> f64,
) -> (f64, f64) {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    one();
    other();
    for round in 0..rounds {
        if round % 2 == 0 {
            ones.push(one());
            others.push(other());
        } else {
            others.push(other());
            ones.push(one());
        }
    }
    (median(ones), median(others))
}

pub fn pin(core: usize) {
    // SAFETY: a zeroed set is a valid empty one; the call reads it only.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

pub fn unpin() {
    // SAFETY: as above.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for core in 0..64 {
            libc::CPU_SET(core, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// Bytes that are allocated now, as the allocator counts them, its own overhead included.
pub fn allocated() -> f64 {
    // SAFETY: it only reads the allocator's counters.
    let counters = unsafe { libc::mallinfo2() };
    (counters.uordblks + counters.hblkhd) as f64
}

/// Prints `row | what | figure | anchor | ratio | target | met`.
pub struct Table;

impl Table {
    pub fn start(title: &str) -> Self {
        println!("\n{title}\n");
        println!("| row | operation | figure | anchor | ratio | target | met |");
        println!("|---|---|---|---|---|---|---|");
        Self
    }

    pub fn row(
        &self,
        row: &str,
        what: &str,
        figure: &str,
        anchor: &str,
        ratio: &str,
        target: &str,
        met: bool,
    ) {
        let met = if met { "yes" } else { "no" };
        println!("| {row} | {what} | {figure} | {anchor} | {ratio} | {target} | {met} |");
    }

    /// A row whose target is a largest ratio to an anchor.
    pub fn ratio(&self, row: &str, what: &str, (figure, anchor): (f64, f64), most: f64) {
        let ratio = figure / anchor;
        self.row(
            row,
            what,
            &ns(figure),
            &ns(anchor),
            &format!("{ratio:.2}"),
            &format!("<= {most:.2} x"),
            ratio <= most,
        );
    }

    /// A row whose target is a largest figure.
    pub fn most(&self, row: &str, what: &str, figure: f64, most: f64) {
        self.row(row, what, &ns(figure), "-", "-", &format!("<= {}", ns(most)), figure <= most);
    }

    /// A row whose target is a smallest factor.
    pub fn at_least(&self, row: &str, what: &str, figure: f64, least: f64) {
        self.row(row, what, &format!("x{figure:.2}"), "-", "-", &format!(">= x{least:.2}"), figure >= least);
    }
}

pub fn ns(figure: f64) -> String {
    if figure < 10_000.0 {
        format!("{figure:.0} ns")
    } else if figure < 10_000_000.0 {
        format!("{:.1} us", figure / 1e3)
    } else {
        format!("{:.1} ms", figure / 1e6)
    }
}
