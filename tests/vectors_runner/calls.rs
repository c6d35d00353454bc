//! The table of C functions that a vector may call, each with its parameters in the order of the header, and
//! the frame that holds the arguments and outputs of one call.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use taskhold::ffi;

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The handle that the step names with `on`.
    Receiver,
    /// Another handle, named by an argument.
    Handle,
    /// A C string.
    Text,
    /// An integer of any width.
    Number,
    /// A text output: the call's main output.
    Document,
    /// An `int32_t` output: the call's main output, compared as a JSON number.
    Flag,
    /// The revision beside or instead of a main output.
    Revision,
    /// The handle that is opened.
    Opened,
    /// The error object.
    Error,
}

/// What a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// A status.
    Status(i32),
    /// Nothing can fail; the value is in the frame's outputs.
    Value,
}

/// A function of the C ABI.
pub struct Function {
    /// Its symbol.
    pub symbol: &'static str,
    /// Its symbol without `taskhold_`, as the vectors name it.
    pub name: &'static str,
    /// Its parameters in order.
    pub parameters: &'static [(Parameter, &'static str)],
    /// Calls it.
    pub invoke: fn(&mut Frame) -> Returned,
}

impl Function {
    /// The function that the vectors call `name`.
    pub fn named(name: &str) -> Option<&'static Function> {
        FUNCTIONS.iter().find(|function| function.name == name)
    }

    /// Whether it has a parameter of this kind.
    pub fn has(&self, kind: Parameter) -> bool {
        self.parameters.iter().any(|&(parameter, _)| parameter == kind)
    }

    /// The kind of the argument `name`, if a step may give it.
    pub fn argument(&self, name: &str) -> Option<Parameter> {
        let kinds = [Parameter::Handle, Parameter::Text, Parameter::Number];
        self.parameters
            .iter()
            .find(|&&(kind, known)| known == name && kinds.contains(&kind))
            .map(|&(kind, _)| kind)
    }
}

/// Arguments and outputs of one call. Outputs start as nonsense, so that a call that fails to clear them shows.
#[derive(Debug)]
pub struct Frame {
    /// The handle that the step names with `on`.
    pub receiver: *mut c_void,
    /// Other handles, by argument.
    pub handles: HashMap<String, *mut c_void>,
    /// Texts, NUL-terminated; absent ones are NULL.
    pub texts: HashMap<String, Vec<u8>>,
    /// Integers.
    pub numbers: HashMap<String, i128>,
    /// Outputs.
    pub document: *mut c_char,
    /// See [`Parameter::Flag`].
    pub flag: i32,
    /// See [`Parameter::Revision`].
    pub revision: u64,
    /// See [`Parameter::Opened`].
    pub opened: *mut c_void,
    /// See [`Parameter::Error`].
    pub error: *mut c_char,
    /// The text that a function without a status returned.
    pub returned: Option<String>,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            receiver: ptr::null_mut(),
            handles: HashMap::new(),
            texts: HashMap::new(),
            numbers: HashMap::new(),
            document: ptr::without_provenance_mut(1),
            flag: -77,
            revision: u64::MAX,
            opened: ptr::without_provenance_mut(1),
            error: ptr::without_provenance_mut(1),
            returned: None,
        }
    }
}

impl Frame {
    fn text(&self, name: &str) -> *const c_char {
        self.texts.get(name).map_or(ptr::null(), |text| text.as_ptr().cast())
    }

    fn number<T: TryFrom<i128>>(&self, name: &str) -> T {
        let number = *self.numbers.get(name).unwrap_or_else(|| panic!("the argument {name} is missing"));
        T::try_from(number).unwrap_or_else(|_| panic!("the argument {name} does not fit its type"))
    }

    fn handle(&self, name: &str) -> *mut c_void {
        self.handles.get(name).copied().unwrap_or(ptr::null_mut())
    }
}

/// Copies a text that the library handed out and frees it.
pub fn take_text(text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: outputs are NUL-terminated and stay valid until they are freed, which happens here, once.
    let copy = unsafe { CStr::from_ptr(text) }.to_str().expect("outputs are UTF-8").to_owned();
    // SAFETY: the text came from the library and is not used again.
    unsafe { ffi::taskhold_string_free(text) };
    Some(copy)
}

fn static_text(text: *const c_char) -> String {
    // SAFETY: the functions that return text return static NUL-terminated strings.
    unsafe { CStr::from_ptr(text) }.to_str().expect("static texts are UTF-8").to_owned()
}

macro_rules! parameter {
    (receiver) => {
        Parameter::Receiver
    };
    (handle) => {
        Parameter::Handle
    };
    (text) => {
        Parameter::Text
    };
    (number) => {
        Parameter::Number
    };
    (document) => {
        Parameter::Document
    };
    (flag) => {
        Parameter::Flag
    };
    (revision) => {
        Parameter::Revision
    };
    (opened) => {
        Parameter::Opened
    };
    (error) => {
        Parameter::Error
    };
}

macro_rules! argument {
    ($frame:ident, receiver, $name:ident) => {
        $frame.receiver.cast()
    };
    ($frame:ident, handle, $name:ident) => {
        $frame.handle(stringify!($name)).cast()
    };
    ($frame:ident, text, $name:ident) => {
        $frame.text(stringify!($name))
    };
    ($frame:ident, number, $name:ident) => {
        $frame.number(stringify!($name))
    };
    ($frame:ident, document, $name:ident) => {
        &raw mut $frame.document
    };
    ($frame:ident, flag, $name:ident) => {
        &raw mut $frame.flag
    };
    ($frame:ident, revision, $name:ident) => {
        &raw mut $frame.revision
    };
    ($frame:ident, opened, $name:ident) => {
        (&raw mut $frame.opened).cast()
    };
    ($frame:ident, error, $name:ident) => {
        &raw mut $frame.error
    };
}

macro_rules! outcome {
    ($frame:ident, status, $call:expr) => {
        Returned::Status($call)
    };
    ($frame:ident, number, $call:expr) => {{
        $frame.returned = Some($call.to_string());
        Returned::Value
    }};
    ($frame:ident, text, $call:expr) => {{
        $frame.returned = Some(static_text($call));
        Returned::Value
    }};
}

macro_rules! functions {
    ($($name:ident($($kind:ident $parameter:ident),*) -> $returned:ident;)*) => {
        /// Every function that a vector may call.
        pub static FUNCTIONS: &[Function] = &[$(Function {
            symbol: stringify!($name),
            name: stringify!($name).split_at("taskhold_".len()).1,
            parameters: &[$((parameter!($kind), stringify!($parameter))),*],
            #[allow(unused_unsafe, unused_variables)]
            invoke: |frame| {
                // SAFETY: texts are NUL-terminated or NULL, outputs are valid for writing, and handles are
                // values that the library gave out, or ones that it must refuse.
                outcome!(frame, $returned, unsafe { ffi::$name($(argument!(frame, $kind, $parameter)),*) })
            },
        }),*];
    };
}

functions! {
    taskhold_abi_version() -> number;
    taskhold_version() -> text;
    taskhold_status_name(number status) -> text;
    taskhold_describe(document out_json, error out_error) -> status;
    taskhold_json_get(text json, text pointer, document out_value, error out_error) -> status;

    taskhold_clock_open_manual(number epoch_ms, opened out_clock, error out_error) -> status;
    taskhold_clock_advance(receiver clock, number ms, error out_error) -> status;
    taskhold_clock_step_wall(receiver clock, number ms, error out_error) -> status;
    taskhold_clock_close(receiver clock) -> status;

    taskhold_store_open(text url, text options, handle clock, opened out_store, error out_error) -> status;
    taskhold_store_stats(receiver store, document out_json, error out_error) -> status;
    taskhold_store_check(receiver store, document out_json, error out_error) -> status;
    taskhold_store_copy(receiver store, handle to, text options, document out_json, error out_error) -> status;
    taskhold_store_close(receiver store) -> status;

    taskhold_manager_open(receiver store, text options, opened out_manager, error out_error) -> status;
    taskhold_manager_options(receiver m, document out_options, error out_error) -> status;
    taskhold_manager_close(receiver m) -> status;
    taskhold_manager_create_task(receiver m, text creation, document out_record, error out_error) -> status;
    taskhold_manager_find_task(receiver m, text task_id, document out_record, error out_error) -> status;
    taskhold_manager_mark_task_working(receiver m, text task_id, text status_message, text options,
        document out_record, error out_error) -> status;
    taskhold_manager_request_task_input(receiver m, text task_id, text input_requests, text status_message,
        text options, document out_record, error out_error) -> status;
    taskhold_manager_complete_task(receiver m, text task_id, text result, text status_message, text options,
        document out_record, error out_error) -> status;
    taskhold_manager_fail_task(receiver m, text task_id, text failure, text status_message, text options,
        document out_record, error out_error) -> status;
    taskhold_manager_cancel_task(receiver m, text task_id, text status_message, text options,
        document out_record, error out_error) -> status;
    taskhold_manager_take_task_input_responses(receiver m, text task_id, text options, document out_responses,
        error out_error) -> status;
    taskhold_manager_is_task_cancelation_requested(receiver m, text task_id, flag out_requested,
        error out_error) -> status;
    taskhold_manager_wait_task(receiver m, text task_id, number seen_revision, number timeout_ms,
        document out_record, error out_error) -> status;
    taskhold_manager_list_tasks(receiver m, text params, document out_page, error out_error) -> status;
    taskhold_manager_claim_task(receiver m, text claim, number timeout_ms, document out_record,
        error out_error) -> status;
    taskhold_manager_renew_leases(receiver m, text renewals, document out_outcome, error out_error) -> status;
    taskhold_manager_release_task(receiver m, text task_id, text options, document out_record,
        error out_error) -> status;
    taskhold_manager_find_authorized_task(receiver m, text endpoint, text partition, text task_id,
        document out_record, error out_error) -> status;
    taskhold_manager_update_task(receiver m, text endpoint, text partition, text task_id, text input_responses,
        text options, document out_outcome, error out_error) -> status;
    taskhold_manager_request_task_cancelation(receiver m, text endpoint, text partition, text task_id,
        error out_error) -> status;
    taskhold_manager_render_task(receiver m, text endpoint, text partition, text task_id, number rendering,
        text options, document out_json, revision out_revision, error out_error) -> status;
    taskhold_manager_handle_request(receiver m, text endpoint, text partition, text client_capabilities,
        text request, document out_response, error out_error) -> status;
    taskhold_manager_publish_task_changed(receiver m, text task_id, error out_error) -> status;
    taskhold_manager_open_events(receiver m, number capacity, opened out_events, error out_error) -> status;

    taskhold_events_next(receiver e, number timeout_ms, document out_event, error out_error) -> status;
    taskhold_events_fd(receiver e, flag out_fd, error out_error) -> status;
    taskhold_events_close(receiver e) -> status;

    taskhold_session_store_open(receiver store, text options, opened out_sessions, error out_error) -> status;
    taskhold_session_store_options(receiver s, document out_options, error out_error) -> status;
    taskhold_session_store_close(receiver s) -> status;
    taskhold_session_store_create(receiver s, text endpoint, text creation, document out_session,
        error out_error) -> status;
    taskhold_session_store_find_by_session_id(receiver s, text session_id, document out_session,
        error out_error) -> status;
    taskhold_session_store_find_authorized_session(receiver s, text endpoint, text partition, text session_id,
        document out_session, error out_error) -> status;
    taskhold_session_store_replace(receiver s, text expected, text updated, flag out_replaced,
        error out_error) -> status;
    taskhold_session_store_delete_by_session_id(receiver s, text session_id, error out_error) -> status;
    taskhold_session_store_pin(receiver s, text session_id, flag out_pinned, error out_error) -> status;
    taskhold_session_store_unpin(receiver s, text session_id, error out_error) -> status;
    taskhold_session_store_list_sessions(receiver s, text params, document out_page, error out_error) -> status;
    taskhold_session_store_take_expired(receiver s, document out_sessions, error out_error) -> status;

    taskhold_state_provider_open(receiver store, text options, opened out_provider, error out_error) -> status;
    taskhold_state_provider_options(receiver p, document out_options, error out_error) -> status;
    taskhold_state_provider_close(receiver p) -> status;
    taskhold_state_provider_save_task(receiver p, text owner, text task, text save_options,
        revision out_revision, error out_error) -> status;
    taskhold_state_provider_get_task(receiver p, text owner, text task_id, text params, document out_task,
        revision out_revision, error out_error) -> status;
    taskhold_state_provider_delete_task(receiver p, text owner, text task_id, error out_error) -> status;
    taskhold_state_provider_list_tasks(receiver p, text owner, text params, document out_result,
        error out_error) -> status;
    taskhold_state_provider_is_task_active(receiver p, text task_id, flag out_active, error out_error) -> status;
    taskhold_state_provider_is_task_finalized(receiver p, text task_id, flag out_finalized,
        error out_error) -> status;
    taskhold_state_provider_task_liveness(receiver p, text task_id, flag out_liveness,
        error out_error) -> status;
    taskhold_state_provider_open_events(receiver p, number capacity, opened out_events,
        error out_error) -> status;
    taskhold_state_provider_read_events(receiver p, text task_id, text params, document out_events,
        error out_error) -> status;
    taskhold_state_provider_wait_task(receiver p, text task_id, number seen_revision, number timeout_ms,
        revision out_revision, error out_error) -> status;
    taskhold_state_provider_set_push_config(receiver p, text owner, text task_id, text config_id, text config,
        error out_error) -> status;
    taskhold_state_provider_list_push_configs(receiver p, text owner, text task_id, text params,
        document out_configs, error out_error) -> status;
    taskhold_state_provider_delete_push_config(receiver p, text owner, text task_id, text config_id,
        error out_error) -> status;
}
