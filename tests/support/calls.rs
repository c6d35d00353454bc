//! Calling the exports from Rust as a host does, with strings in and owned strings out.

use std::ffi::{CStr, CString, c_char};
use std::ptr;

use serde_json::Value;
use taskhold::ffi::*;

/// How a call failed: its status and its error object.
#[derive(Debug, PartialEq)]
pub struct Failure {
    pub status: taskhold_status,
    pub error: Value,
}

impl Failure {
    pub fn reason(&self) -> &str {
        self.error["reason"].as_str().unwrap_or_default()
    }
}

/// A C string.
pub fn c(text: &str) -> CString {
    CString::new(text).expect("a text without NUL")
}

/// Takes an owned string over.
pub fn take(string: *mut c_char) -> Option<String> {
    if string.is_null() {
        return None;
    }
    // SAFETY: the library handed it out, NUL-terminated, to be freed once.
    unsafe {
        let text = CStr::from_ptr(string).to_str().expect("the library speaks UTF-8").to_owned();
        taskhold_string_free(string);
        Some(text)
    }
}

/// Checks that `out_error` agrees with `status`, and gives what came of the call.
pub fn outcome(status: taskhold_status, error: *mut c_char) -> Result<(), Failure> {
    let error = take(error);
    if status == TASKHOLD_OK {
        assert_eq!(error, None, "no error object without an error");
        return Ok(());
    }
    let error: Value = serde_json::from_str(&error.expect("an error object")).expect("it is JSON");
    assert_eq!(error["status"], status_name(status));
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()));
    Err(Failure { status, error })
}

/// Runs a call whose only output is `out_error`.
pub fn plain(call: impl FnOnce(*mut *mut c_char) -> taskhold_status) -> Result<(), Failure> {
    let mut error = ptr::null_mut();
    let status = call(&raw mut error);
    outcome(status, error)
}

/// Runs a call that gives out a string or NULL.
pub fn text(
    call: impl FnOnce(*mut *mut c_char, *mut *mut c_char) -> taskhold_status,
) -> Result<Option<String>, Failure> {
    let mut string = ptr::null_mut();
    let ended = plain(|error| call(&raw mut string, error));
    let string = take(string);
    assert!(ended.is_ok() || string.is_none(), "outputs stay cleared when a call fails");
    ended.map(|()| string)
}

/// Runs a call that gives out a JSON text.
pub fn json(
    call: impl FnOnce(*mut *mut c_char, *mut *mut c_char) -> taskhold_status,
) -> Result<Value, Failure> {
    text(call).map(|text| text.map_or(Value::Null, |text| serde_json::from_str(&text).expect("JSON")))
}

/// Runs a call that gives out a handle.
pub fn handle<H>(
    call: impl FnOnce(*mut *mut H, *mut *mut c_char) -> taskhold_status,
) -> Result<*mut H, Failure> {
    let mut opened = ptr::null_mut();
    plain(|error| call(&raw mut opened, error))?;
    assert!(!opened.is_null());
    Ok(opened)
}

/// Runs a call that gives out a number.
pub fn number<N: Default>(
    call: impl FnOnce(*mut N, *mut *mut c_char) -> taskhold_status,
) -> Result<N, Failure> {
    let mut value = N::default();
    plain(|error| call(&raw mut value, error))?;
    Ok(value)
}

pub fn status_name(status: taskhold_status) -> &'static str {
    // SAFETY: the name is static and NUL-terminated.
    unsafe { CStr::from_ptr(taskhold_status_name(status)) }.to_str().expect("ASCII")
}

pub fn live_handles() -> u64 {
    // SAFETY: the outputs are writable.
    let described = json(|out, error| unsafe { taskhold_describe(out, error) }).expect("described");
    described["liveHandles"].as_u64().expect("a number")
}

pub fn open_store(clock: *mut taskhold_clock) -> *mut taskhold_store {
    // SAFETY: the strings are NULL and the outputs writable.
    handle(|out, error| unsafe { taskhold_store_open(ptr::null(), ptr::null(), clock, out, error) })
        .expect("a store")
}

pub fn open_manager(store: *mut taskhold_store, options: &str) -> *mut taskhold_manager {
    let options = c(options);
    // SAFETY: the string lives until the call returns and the outputs are writable.
    handle(|out, error| unsafe { taskhold_manager_open(store, options.as_ptr(), out, error) })
        .expect("a manager")
}

pub fn open_sessions(store: *mut taskhold_store, options: &str) -> *mut taskhold_session_store {
    let options = c(options);
    // SAFETY: as in `open_manager`.
    handle(|out, error| unsafe { taskhold_session_store_open(store, options.as_ptr(), out, error) })
        .expect("a session store")
}

pub fn open_provider(store: *mut taskhold_store, options: &str) -> *mut taskhold_state_provider {
    let options = c(options);
    // SAFETY: as in `open_manager`.
    handle(|out, error| unsafe { taskhold_state_provider_open(store, options.as_ptr(), out, error) })
        .expect("a provider")
}

pub fn open_events(manager: *mut taskhold_manager, capacity: u32) -> *mut taskhold_events {
    // SAFETY: the outputs are writable.
    handle(|out, error| unsafe { taskhold_manager_open_events(manager, capacity, out, error) })
        .expect("a queue")
}

pub fn create_task(manager: *mut taskhold_manager) -> Result<Value, Failure> {
    create_task_with(manager, r#"{"endpoint":"/mcp","origin":{}}"#)
}

pub fn create_task_with(manager: *mut taskhold_manager, creation: &str) -> Result<Value, Failure> {
    let creation = c(creation);
    // SAFETY: the string lives until the call returns and the outputs are writable.
    json(|out, error| unsafe { taskhold_manager_create_task(manager, creation.as_ptr(), out, error) })
}

/// The id in a task's record.
pub fn id_of(record: &Value) -> String {
    record["task"]["taskId"].as_str().expect("a task's record has its id").to_owned()
}

pub fn find_task(manager: *mut taskhold_manager, task_id: &str) -> Result<Value, Failure> {
    let task_id = c(task_id);
    // SAFETY: the string lives until the call returns and the outputs are writable.
    json(|out, error| unsafe { taskhold_manager_find_task(manager, task_id.as_ptr(), out, error) })
}

pub fn mark_working(manager: *mut taskhold_manager, task_id: &str, message: &str) -> Result<Value, Failure> {
    let (task_id, message) = (c(task_id), c(message));
    // SAFETY: the strings live until the call returns and the outputs are writable.
    json(|out, error| unsafe {
        taskhold_manager_mark_task_working(
            manager,
            task_id.as_ptr(),
            message.as_ptr(),
            ptr::null(),
            out,
            error,
        )
    })
}

pub fn next_event(events: *mut taskhold_events, timeout_ms: u32) -> Result<Value, Failure> {
    // SAFETY: the outputs are writable.
    json(|out, error| unsafe { taskhold_events_next(events, timeout_ms, out, error) })
}

pub fn close_manager(manager: *mut taskhold_manager) {
    // SAFETY: any handle may be given.
    assert_eq!(unsafe { taskhold_manager_close(manager) }, TASKHOLD_OK);
}

pub fn close_store(store: *mut taskhold_store) {
    // SAFETY: any handle may be given.
    assert_eq!(unsafe { taskhold_store_close(store) }, TASKHOLD_OK);
}

pub fn close_events(events: *mut taskhold_events) {
    // SAFETY: any handle may be given.
    assert_eq!(unsafe { taskhold_events_close(events) }, TASKHOLD_OK);
}
