//! When there is no memory for a buffer as large as a payload, every call that meets one is refused, changes nothing,
//! and the handles work on: with an allocator that fails on demand, over both stores.

#![allow(
    clippy::undocumented_unsafe_blocks,
    clippy::too_many_lines,
    reason = "SAFETY everywhere: open handles, C strings that outlive the call, writable outputs"
)]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::CString;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use support::calls::{self, Failure, c, id_of};
use taskhold::ffi::*;

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

type Call<'a> = Box<dyn Fn() -> Result<(), Failure> + 'a>;

/// A call that gives a text, whatever it is.
fn gives(
    call: impl Fn(*mut *mut std::ffi::c_char, *mut *mut std::ffi::c_char) -> taskhold_status,
) -> Result<(), Failure> {
    calls::text(call).map(|text| {
        let text = text.unwrap_or_default();
        assert!(text.len() >= PAYLOAD_BYTES, "{text}");
    })
}

struct House {
    store: *mut taskhold_store,
    manager: *mut taskhold_manager,
    sessions: *mut taskhold_session_store,
    provider: *mut taskhold_state_provider,
}

impl House {
    fn open(url: Option<&CString>) -> Self {
        let url = url.map_or(ptr::null(), |url| url.as_ptr());
        // SAFETY: the URL is NULL or a C string; the outputs are writable.
        let store = calls::handle(|out, error| unsafe {
            taskhold_store_open(url, ptr::null(), ptr::null_mut(), out, error)
        })
        .expect("opened");
        Self {
            store,
            manager: calls::open_manager(store, "{}"),
            sessions: calls::open_sessions(store, "{}"),
            provider: calls::open_provider(store, "{}"),
        }
    }

    fn create(&self, creation: &CString) -> Result<Value, Failure> {
        // SAFETY: as above.
        calls::json(|out, error| unsafe {
            taskhold_manager_create_task(self.manager, creation.as_ptr(), out, error)
        })
    }

    fn find(&self, id: &str) -> Value {
        calls::find_task(self.manager, id).expect("found")
    }
}

/// Runs `call` while no large buffer can be had: it is refused.
fn refused(name: &str, call: &dyn Fn() -> Result<(), Failure>) {
    REFUSED_FROM.store(REFUSED_BYTES, Ordering::Relaxed);
    let outcome = call();
    REFUSED_FROM.store(usize::MAX, Ordering::Relaxed);
    let failure = outcome.expect_err(name);
    let reason = failure.reason().to_owned();
    assert!(reason == "system_resource" || reason == "storage_unavailable", "{name}: {reason}");
}

fn survives(house: &House) {
    let (manager, sessions, provider) = (house.manager, house.sessions, house.provider);
    let large = "y".repeat(PAYLOAD_BYTES);
    let creation = |origin: &str| c(&format!("{{\"endpoint\":\"/mcp\",\"origin\":\"{origin}\"}}"));
    let large_creation = creation(&large);
    let (endpoint, owner) = (c("/mcp"), c("ann"));
    let payload = c(&format!("{{\"text\":\"{large}\"}}"));
    let failure = c(&format!("{{\"code\":1,\"message\":\"m\",\"data\":\"{large}\"}}"));
    let request =
        c(&format!("{{\"q\":{{\"method\":\"elicitation/create\",\"params\":{{\"message\":\"{large}\"}}}}}}"));
    let answer = c(&format!(
        "{{\"k\":{{\"action\":\"accept\",\"content\":{{\"a\":\"{large}\"}}}},\"q\":{{\"action\":\"decline\"}}}}"
    ));
    let message = c(&large);

    // Writes: nothing changes, and the same call is made when there is memory again.
    let task = id_of(&house.create(&creation("x")).expect("created"));
    let id = c(&task);
    let null = ptr::null();
    let asked = c("{\"k\":{\"method\":\"elicitation/create\",\"params\":{}}}");
    let ask = || {
        calls::json(|out, error| unsafe {
            taskhold_manager_request_task_input(manager, id.as_ptr(), asked.as_ptr(), null, null, out, error)
        })
    };
    let before = house.find(&task);
    let writes: Vec<(&str, Call<'_>)> = vec![
        ("create_task", Box::new(|| house.create(&large_creation).map(|_| ()))),
        (
            "mark_task_working",
            Box::new(|| {
                calls::json(|out, error| unsafe {
                    taskhold_manager_mark_task_working(
                        manager,
                        id.as_ptr(),
                        message.as_ptr(),
                        null,
                        out,
                        error,
                    )
                })
                .map(|_| ())
            }),
        ),
        (
            "request_task_input",
            Box::new(|| {
                calls::json(|out, error| unsafe {
                    taskhold_manager_request_task_input(
                        manager,
                        id.as_ptr(),
                        request.as_ptr(),
                        null,
                        null,
                        out,
                        error,
                    )
                })
                .map(|_| ())
            }),
        ),
        (
            "complete_task",
            Box::new(|| {
                calls::json(|out, error| unsafe {
                    taskhold_manager_complete_task(
                        manager,
                        id.as_ptr(),
                        payload.as_ptr(),
                        null,
                        null,
                        out,
                        error,
                    )
                })
                .map(|_| ())
            }),
        ),
        (
            "fail_task",
            Box::new(|| {
                calls::json(|out, error| unsafe {
                    taskhold_manager_fail_task(manager, id.as_ptr(), failure.as_ptr(), null, null, out, error)
                })
                .map(|_| ())
            }),
        ),
    ];
    for (name, write) in &writes {
        refused(name, write);
        assert_eq!(house.find(&task), before, "{name} changed something");
    }
    ask().expect("asked");
    let update = || {
        calls::text(|out, error| unsafe {
            taskhold_manager_update_task(
                manager,
                endpoint.as_ptr(),
                null,
                id.as_ptr(),
                answer.as_ptr(),
                null,
                out,
                error,
            )
        })
        .map(|_| ())
    };
    let before = house.find(&task);
    refused("update_task", &update);
    assert_eq!(house.find(&task), before);
    update().expect("answered");
    let take = || {
        calls::text(|out, error| unsafe {
            taskhold_manager_take_task_input_responses(manager, id.as_ptr(), null, out, error)
        })
    };
    refused("take_task_input_responses", &|| take().map(|_| ()));
    assert!(take().expect("taken").is_some_and(|taken| taken.len() > PAYLOAD_BYTES), "nothing was lost");
    for (name, write) in &writes[..4] {
        write().unwrap_or_else(|failure| panic!("{name} works on: {}", failure.reason()));
        if *name == "request_task_input" {
            update().expect("answered");
            take().expect("taken");
        }
    }

    // Reads.
    let params = c("{\"includePayload\":true}");
    let options = c("{}");
    let get = c(&format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/get\",\"params\":{{\"taskId\":\"{task}\"}}}}"
    ));
    let capabilities = c("{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}");
    let pointer = c("/text");
    let reads: Vec<(&str, Call<'_>)> = vec![
        (
            "find_task",
            Box::new(|| {
                gives(|out, error| unsafe { taskhold_manager_find_task(manager, id.as_ptr(), out, error) })
            }),
        ),
        (
            "wait_task",
            Box::new(|| {
                gives(|out, error| unsafe {
                    taskhold_manager_wait_task(manager, id.as_ptr(), 0, 0, out, error)
                })
            }),
        ),
        (
            "list_tasks",
            Box::new(|| {
                gives(|out, error| unsafe {
                    taskhold_manager_list_tasks(manager, params.as_ptr(), out, error)
                })
            }),
        ),
        (
            "find_authorized_task",
            Box::new(|| {
                gives(|out, error| unsafe {
                    taskhold_manager_find_authorized_task(
                        manager,
                        endpoint.as_ptr(),
                        null,
                        id.as_ptr(),
                        out,
                        error,
                    )
                })
            }),
        ),
        (
            "render_task",
            Box::new(|| {
                gives(|out, error| unsafe {
                    taskhold_manager_render_task(
                        manager,
                        endpoint.as_ptr(),
                        null,
                        id.as_ptr(),
                        TASKHOLD_RENDER_GET_RESULT,
                        options.as_ptr(),
                        out,
                        ptr::null_mut(),
                        error,
                    )
                })
            }),
        ),
        (
            "handle_request",
            Box::new(|| {
                gives(|out, error| unsafe {
                    taskhold_manager_handle_request(
                        manager,
                        endpoint.as_ptr(),
                        null,
                        capabilities.as_ptr(),
                        get.as_ptr(),
                        out,
                        error,
                    )
                })
            }),
        ),
        (
            "json_get",
            Box::new(|| {
                gives(|out, error| unsafe {
                    taskhold_json_get(payload.as_ptr(), pointer.as_ptr(), out, error)
                })
            }),
        ),
    ];
    for (name, read) in &reads {
        refused(name, read);
        read().unwrap_or_else(|failure| panic!("{name} works on: {}", failure.reason()));
    }

    // Sessions.
    let creation = c(&format!("{{\"sessionContext\":{{\"text\":\"{large}\"}}}}"));
    let create = || {
        calls::text(|out, error| unsafe {
            taskhold_session_store_create(sessions, endpoint.as_ptr(), creation.as_ptr(), out, error)
        })
    };
    refused("session create", &|| create().map(|_| ()));
    let session = create().expect("created").expect("admitted");
    let session_id =
        serde_json::from_str::<Value>(&session).expect("JSON")["sessionId"].as_str().map(c).expect("an id");
    let updated = c(&session.replace("\"version\":0", "\"version\":1"));
    let expected = c(&session);
    let find = || {
        gives(|out, error| unsafe {
            taskhold_session_store_find_by_session_id(sessions, session_id.as_ptr(), out, error)
        })
    };
    refused("find_by_session_id", &find);
    find().expect("found");
    let replace = || {
        calls::number(|out, error| unsafe {
            taskhold_session_store_replace(sessions, expected.as_ptr(), updated.as_ptr(), out, error)
        })
    };
    refused("session replace", &|| replace().map(|_: i32| ()));
    assert_eq!(replace().expect("replaced"), 1, "nothing had changed");

    // A2A tasks.
    let saved = c(&format!(
        "{{\"id\":\"t\",\"status\":{{\"state\":\"working\"}},\"metadata\":{{\"text\":\"{large}\"}}}}"
    ));
    let task_id = c("t");
    let save = || {
        calls::number(|out, error| unsafe {
            taskhold_state_provider_save_task(provider, owner.as_ptr(), saved.as_ptr(), null, out, error)
        })
    };
    refused("save_task", &|| save().map(|_: u64| ()));
    assert_eq!(save().expect("saved"), 1, "the first save was none");
    let get = || {
        gives(|out, error| unsafe {
            taskhold_state_provider_get_task(
                provider,
                owner.as_ptr(),
                task_id.as_ptr(),
                null,
                out,
                ptr::null_mut(),
                error,
            )
        })
    };
    let list = || {
        gives(|out, error| unsafe {
            taskhold_state_provider_list_tasks(provider, owner.as_ptr(), null, out, error)
        })
    };
    for (name, read) in [("get_task", &get as &dyn Fn() -> Result<(), Failure>), ("a2a list_tasks", &list)] {
        refused(name, read);
        read().unwrap_or_else(|failure| panic!("{name} works on: {}", failure.reason()));
    }
    // SAFETY: any handle may be given.
    unsafe {
        taskhold_manager_close(manager);
        taskhold_session_store_close(sessions);
        taskhold_state_provider_close(provider);
        taskhold_store_close(house.store);
    }
}

#[test]
fn where_no_large_buffer_can_be_had_calls_are_refused_and_change_nothing() {
    survives(&House::open(None));
    #[cfg(feature = "sqlite")]
    {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("no_memory.db");
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", path.display()));
        }
        survives(&House::open(Some(&c(&format!("sqlite:{}", path.display())))));
    }
}
