//! When there is no memory for a buffer as large as a payload, every call that meets one is refused, changes nothing,
//! and the handles work on: with an allocator that fails on demand, over both stores, and in a process whose address
//! space is full.

#[path = "model/call.rs"]
#[allow(dead_code)]
mod call;
#[path = "vectors_runner/calls.rs"]
#[allow(dead_code)]
mod calls;
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::{BTreeSet, HashMap};
use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use call::{Call, Outcome};
use calls::{Frame, Function};
use serde_json::{Value, json};

/// The system's allocator, which refuses what is at least so large.
struct Failing;

static REFUSED_FROM: AtomicUsize = AtomicUsize::new(usize::MAX);

// SAFETY: everything that is given out comes from the system's allocator.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= REFUSED_FROM.load(Ordering::Relaxed) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size >= REFUSED_FROM.load(Ordering::Relaxed) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

const PAYLOAD_BYTES: usize = 150_000;
const REFUSED_BYTES: usize = 100_000;
/// No test here runs while another one has the allocator fail.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The exports that neither take nor give a payload: those that open, close and configure, those that take ids and
/// numbers, and what tells of a store as a whole or copies it.
const WITHOUT_PAYLOADS: [&str; 43] = [
    "taskhold_abi_version",
    "taskhold_clock_advance",
    "taskhold_clock_close",
    "taskhold_clock_open_manual",
    "taskhold_clock_step_wall",
    "taskhold_describe",
    "taskhold_events_close",
    "taskhold_events_fd",
    "taskhold_events_next",
    "taskhold_manager_close",
    "taskhold_manager_is_task_cancelation_requested",
    "taskhold_manager_open",
    "taskhold_manager_open_events",
    "taskhold_manager_options",
    "taskhold_manager_publish_task_changed",
    "taskhold_manager_request_task_cancelation",
    "taskhold_manager_subscribe",
    "taskhold_session_store_close",
    "taskhold_session_store_delete_by_session_id",
    "taskhold_session_store_open",
    "taskhold_session_store_options",
    "taskhold_session_store_pin",
    "taskhold_session_store_take_expired",
    "taskhold_session_store_unpin",
    "taskhold_state_provider_close",
    "taskhold_state_provider_delete_push_config",
    "taskhold_state_provider_delete_task",
    "taskhold_state_provider_is_task_active",
    "taskhold_state_provider_is_task_finalized",
    "taskhold_state_provider_open",
    "taskhold_state_provider_open_events",
    "taskhold_state_provider_options",
    "taskhold_state_provider_task_liveness",
    "taskhold_state_provider_wait_task",
    "taskhold_status_name",
    "taskhold_store_check",
    "taskhold_store_close",
    "taskhold_store_copy",
    "taskhold_store_open",
    "taskhold_store_stats",
    "taskhold_string_free",
    "taskhold_subscription_close",
    "taskhold_version",
];

struct House {
    handles: HashMap<String, *mut c_void>,
    /// What was called while there was no memory.
    refused: BTreeSet<&'static str>,
}

impl House {
    fn open(url: Option<&str>, maximum_bytes: usize) -> Self {
        let mut house = Self { handles: HashMap::new(), refused: BTreeSet::new() };
        let mut frame = Frame::default();
        if let Some(url) = url {
            frame.texts.insert("url".to_owned(), [url.as_bytes(), b"\0"].concat());
        }
        let store = opened("store_open", frame);
        house.handles.insert("store".to_owned(), store);
        for (name, function, options) in [
            ("tasks", "manager_open", json!({"maximumPayloadBytes": maximum_bytes})),
            ("sessions", "session_store_open", json!({})),
            ("a2a", "state_provider_open", json!({})),
        ] {
            let mut frame = Frame { receiver: store, ..Frame::default() };
            frame.texts.insert("options".to_owned(), format!("{options}\0").into_bytes());
            house.handles.insert(name.to_owned(), opened(function, frame));
        }
        house
    }

    fn call(&self, call: &Call) -> Outcome {
        let outcome = call.invoke(&self.handles);
        assert!(outcome.is_ok(), "{}: {}", call.function, outcome.error);
        outcome
    }

    /// Makes a call while no large buffer can be had. It is refused, and `look` shows the same after it.
    fn refuse(&mut self, call: &Call, look: Option<&Call>) {
        let before = look.map(|look| self.call(look));
        let mut frame = call.prepare(&self.handles);
        REFUSED_FROM.store(REFUSED_BYTES, Ordering::Relaxed);
        let returned = (call.function().invoke)(&mut frame);
        REFUSED_FROM.store(usize::MAX, Ordering::Relaxed);
        let outcome = call.outcome(&frame, returned);
        let reason = outcome.error["reason"].as_str().unwrap_or("none");
        assert!(["system_resource", "storage_unavailable"].contains(&reason), "{}: {reason}", call.function);
        assert_eq!((outcome.document, outcome.flag, outcome.revision), (None, 0, 0), "{}", call.function);
        if let (Some(look), Some(before)) = (look, before) {
            let after = self.call(look);
            let is_same = (after.document, after.revision) == (before.document, before.revision);
            assert!(is_same, "{} changed something", call.function);
        }
        self.refused.insert(call.function().symbol);
    }

    /// Makes a call that changes something: without memory it is refused, with memory it is made.
    fn writes(&mut self, call: &Call, look: &Call) -> Value {
        self.refuse(call, Some(look));
        self.call(call).json()
    }

    /// Makes a call that gives a payload.
    fn reads(&mut self, call: &Call) {
        self.refuse(call, None);
        let document = self.call(call).document.unwrap_or_default();
        assert!(document.len() >= PAYLOAD_BYTES, "{} gives no payload", call.function);
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        for (name, function) in [
            ("tasks", "manager_close"),
            ("sessions", "session_store_close"),
            ("a2a", "state_provider_close"),
            ("store", "store_close"),
        ] {
            Call::new(function, name).invoke(&self.handles);
        }
    }
}

fn opened(function: &str, mut frame: Frame) -> *mut c_void {
    let returned = (Function::named(function).expect("a function").invoke)(&mut frame);
    assert_eq!(returned, calls::Returned::Status(0), "{function}");
    frame.opened
}

fn large() -> String {
    "y".repeat(PAYLOAD_BYTES)
}

fn tasks(function: &'static str) -> Call {
    Call::new(function, "tasks")
}

fn of_task(function: &'static str, id: &str) -> Call {
    tasks(function).with("task_id", id)
}

fn client(function: &'static str, id: &str) -> Call {
    of_task(function, id).with("endpoint", "/mcp")
}

fn task_id(record: &Value) -> String {
    record["task"]["taskId"].as_str().expect("an id").to_owned()
}

fn create(house: &House, more: &Value) -> String {
    let mut creation = json!({"endpoint": "/mcp", "origin": "x"});
    creation.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    task_id(&house.call(&tasks("manager_create_task").with("creation", creation)).json())
}

fn every_transition_of_a_task(house: &mut House) -> String {
    let creation = json!({"endpoint": "/mcp", "origin": large()});
    let list = tasks("manager_list_tasks");
    house.writes(&tasks("manager_create_task").with("creation", creation), &list);

    let id = create(house, &json!({}));
    let find = of_task("manager_find_task", &id);
    let request = json!({"q": {"method": "elicitation/create", "params": {"message": large()}}});
    house.writes(&of_task("manager_request_task_input", &id).with("input_requests", request), &find);
    let answers = json!({"q": {"action": "accept", "content": {"a": large()}}});
    house.writes(&client("manager_update_task", &id).with("input_responses", answers), &find);
    let taken = house.writes(&of_task("manager_take_task_input_responses", &id), &find);
    assert_eq!(taken["q"]["content"]["a"], large(), "nothing was lost");
    house.writes(&of_task("manager_mark_task_working", &id).with("status_message", large()), &find);
    let result = json!({"text": large()});
    house.writes(&of_task("manager_complete_task", &id).with("result", result), &find);

    let fails = create(house, &json!({}));
    let failure = json!({"code": 1, "message": "m", "data": large()});
    let find = of_task("manager_find_task", &fails);
    house.writes(&of_task("manager_fail_task", &fails).with("failure", failure), &find);
    let cancelled = create(house, &json!({}));
    let find = of_task("manager_find_task", &cancelled);
    house.writes(&of_task("manager_cancel_task", &cancelled).with("status_message", large()), &find);
    id
}

fn every_read_of_a_task(house: &mut House, id: &str) {
    house.reads(&of_task("manager_find_task", id));
    house.reads(&of_task("manager_wait_task", id).with("seen_revision", 0).with("timeout_ms", 0));
    house.reads(&tasks("manager_list_tasks").with("params", json!({"includePayload": true})));
    house.reads(&client("manager_find_authorized_task", id));
    let rendering = taskhold::ffi::TASKHOLD_RENDER_GET_RESULT;
    house.reads(&client("manager_render_task", id).with("rendering", rendering).with("options", json!({})));
    let get = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": id}});
    let handle = tasks("manager_handle_request")
        .with("endpoint", "/mcp")
        .with("client_capabilities", json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    house.reads(&handle.clone().with("request", get));

    let asked = create(house, &json!({}));
    let request = json!({"q": {"method": "elicitation/create", "params": {}}});
    house.call(&of_task("manager_request_task_input", &asked).with("input_requests", request));
    let answers = json!({"q": {"action": "accept", "content": {"a": large()}}});
    let update = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/update",
        "params": {"taskId": asked, "inputResponses": answers}});
    let handle = |request: Value| handle.clone().with("request", request);
    let response = house.writes(&handle(update), &of_task("manager_find_task", &asked));
    assert!(response["error"].is_null(), "{response}");
    // The answer that stands in the error is left out where there is no memory for it either.
    let cancel =
        json!({"jsonrpc": "2.0", "id": large(), "method": "tasks/cancel", "params": {"taskId": asked}});
    house.refuse(&handle(cancel), None);
}

fn every_call_of_a_worker(house: &mut House) {
    let id = create(house, &json!({"queue": "q", "attempts": {"maximum": 3}, "work": large()}));
    let find = of_task("manager_find_task", &id);
    let claim = tasks("manager_claim_task")
        .with("claim", json!({"worker": "w", "queues": ["q"], "leaseMs": 1000}))
        .with("timeout_ms", 0);
    let lease = house.writes(&claim, &find)["lease"]["token"].clone();
    let renewals = json!({"leaseMs": 1000, "tasks": [{"taskId": id, "lease": lease, "checkpoint": large()}]});
    let renewed = house.writes(&tasks("manager_renew_leases").with("renewals", renewals), &find);
    assert_eq!(renewed["renewed"], json!([id]));
    let park = json!({"lease": lease, "checkpoint": format!("p{}", large())});
    let request = json!({"q": {"method": "elicitation/create", "params": {}}});
    let ask =
        of_task("manager_request_task_input", &id).with("input_requests", request).with("options", park);
    house.writes(&ask, &find);
    let release = json!({"lease": lease, "checkpoint": large(), "failure": {"code": 1, "message": "m", "data": large()}});
    house.writes(&of_task("manager_release_task", &id).with("options", release), &find);
    let other = json!({"endpoint": "/mcp", "origin": 1, "operationId": "o", "work": large()});
    let creation = tasks("manager_create_task").with("creation", other);
    assert_eq!(house.writes(&creation, &tasks("manager_list_tasks"))["created"], true);
    house.reads(&creation);
}

fn every_call_of_sessions(house: &mut House) {
    let of = |function, id: &str| Call::new(function, "sessions").with("session_id", id);
    let creation =
        json!({"sessionId": "s", "sessionContext": {"text": large()}, "authorizationPartition": "ann"});
    let create =
        Call::new("session_store_create", "sessions").with("endpoint", "/mcp").with("creation", creation);
    let find = of("session_store_find_by_session_id", "s");
    let session = house.writes(&create, &find);
    house.reads(&find);
    house.reads(
        &of("session_store_find_authorized_session", "s").with("endpoint", "/mcp").with("partition", "ann"),
    );
    house.reads(&Call::new("session_store_list_sessions", "sessions"));
    let mut updated = session.clone();
    updated["version"] = json!(1);
    let replace =
        Call::new("session_store_replace", "sessions").with("expected", session).with("updated", updated);
    house.writes(&replace, &find);
}

fn every_call_of_a2a(house: &mut House) {
    let of = |function| Call::new(function, "a2a").with("task_id", "t");
    let owned = |function| of(function).with("owner", "ann");
    let get = owned("state_provider_get_task");
    let save = |text: &str| {
        let task = json!({"id": "t", "status": {"state": "working"}, "metadata": {"text": text}});
        Call::new("state_provider_save_task", "a2a").with("owner", "ann").with("task", task)
    };
    house.writes(&save(&large()), &get);
    house.writes(&save("").with("save_options", json!({"event": {"text": large()}})), &get);
    house.call(&save(&large()));
    house.reads(&get);
    house.reads(&Call::new("state_provider_list_tasks", "a2a").with("owner", "ann"));
    house.reads(&of("state_provider_read_events"));
    let list = owned("state_provider_list_push_configs");
    let config = json!({"url": "u", "token": large()});
    house.writes(
        &owned("state_provider_set_push_config").with("config_id", "c").with("config", config),
        &list,
    );
    house.reads(&list);
}

fn survives(mut house: House) {
    let id = every_transition_of_a_task(&mut house);
    every_read_of_a_task(&mut house, &id);
    every_call_of_a_worker(&mut house);
    every_call_of_a2a(&mut house);
    every_call_of_sessions(&mut house);
    let json = json!({"text": large()});
    house.handles.insert(String::new(), ptr::null_mut());
    house.reads(&Call::new("json_get", "").with("json", json).with("pointer", "/text"));

    let symbols: BTreeSet<_> = include_str!("abi/symbols.txt").lines().collect();
    let left: BTreeSet<_> = WITHOUT_PAYLOADS.into_iter().chain(house.refused.iter().copied()).collect();
    assert_eq!(
        symbols.difference(&left).collect::<Vec<_>>(),
        Vec::<&&str>::new(),
        "exports that were not called"
    );
}

#[cfg(feature = "sqlite")]
fn empty_file(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", path.display()));
    }
    format!("sqlite:{}", path.display())
}

#[test]
fn where_no_large_buffer_can_be_had_calls_are_refused_and_change_nothing() {
    let _alone = ONE_AT_A_TIME.lock().expect("no panic");
    survives(House::open(None, 1_000_000));
    #[cfg(feature = "sqlite")]
    survives(House::open(Some(&empty_file("no_memory.db")), 1_000_000));
}

/// Runs in a process of its own: what can be had there is limited for good.
#[cfg(target_os = "linux")]
mod limited {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::*;

    /// More than the C library ever keeps for later.
    const LARGE_BYTES: usize = 40 << 20;
    const ROOM_BYTES: u64 = 12 << 20;

    fn address_space_bytes() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
        let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).expect("its size");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
    }

    fn without_room<T>(run: impl FnOnce() -> T) -> T {
        let usual = getrlimit(Resource::As);
        let full = Rlimit { current: Some(address_space_bytes() + ROOM_BYTES), ..usual };
        setrlimit(Resource::As, full).expect("a lower limit");
        let outcome = run();
        setrlimit(Resource::As, usual).expect("the usual limit");
        outcome
    }

    fn holds(url: Option<&str>) {
        let house = House::open(url, 2 * LARGE_BYTES);
        let text = "y".repeat(LARGE_BYTES);
        let creation =
            tasks("manager_create_task").with("creation", json!({"endpoint": "/mcp", "origin": text}));
        let id = task_id(&house.call(&creation).json());
        let find = of_task("manager_find_task", &id);
        for _ in 0..3 {
            let mut frame = find.prepare(&house.handles);
            let returned = without_room(|| (find.function().invoke)(&mut frame));
            let outcome = find.outcome(&frame, returned);
            let reason = outcome.error["reason"].as_str().unwrap_or("none").to_owned();
            assert!(["system_resource", "storage_unavailable"].contains(&reason.as_str()), "{reason}");
            assert!(house.call(&find).document.expect("a record").len() > LARGE_BYTES);
        }
    }

    #[test]
    fn as_a_process() {
        if std::env::var_os("TASKHOLD_TEST_LIMITED").is_none() {
            return;
        }
        holds(None);
        #[cfg(feature = "sqlite")]
        holds(Some(&empty_file("limited.db")));
    }

    #[test]
    fn a_process_whose_address_space_is_full_gets_refusals_and_works_on() {
        let _alone = ONE_AT_A_TIME.lock();
        let output = std::process::Command::new(std::env::current_exe().expect("a path"))
            .args(["--exact", "limited::as_a_process", "--nocapture"])
            .env("TASKHOLD_TEST_LIMITED", "1")
            // Other arenas have addresses in reserve.
            .env("MALLOC_ARENA_MAX", "1")
            .output()
            .expect("started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
