//! Every export with a call of it that succeeds, and what each of its parameters is, so that tests can walk
//! through all of them: misuse, panics, forks. A new export must be entered here.

use std::ffi::{CString, c_void};

use taskhold::ffi::*;

use super::erased::{Erased, Word};
use super::fixture::{A2A_ID, Fixture, Kind, PAYLOAD_BYTES, SESSION_ID, on_task_changed, release};

/// What an export answers when its arguments are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A status, and this one.
    Status(taskhold_status),
    /// No status: it cannot fail.
    Plain,
}

/// What a JSON parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Json {
    /// An object whose members this library defines, of so many bytes at most.
    Members(usize),
    /// A payload, kept as it is, of so many bytes at most.
    Payload(usize),
    /// A text that is answered whatever it is.
    Request,
}

/// What an out-parameter gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// An owned string.
    Text,
    /// An owned handle.
    Handle(Kind),
    Int32,
    Uint64,
}

/// What a parameter is, with its value in a call that succeeds.
pub enum Role {
    /// A handle; NULL is refused unless it is optional.
    Handle { kind: Kind, optional: bool },
    /// The handle that the function closes.
    Closed(Kind),
    /// A task, session or context id.
    Identifier(fn(&Fixture) -> String),
    /// An endpoint, partition or owner.
    Name { value: Option<&'static str>, optional: bool },
    /// Any text.
    Text { value: Option<&'static str>, optional: bool },
    /// A JSON text.
    Json { value: fn(&Fixture) -> Option<String>, optional: bool, json: Json },
    /// A number, and one that is refused, if there is one.
    Number { value: u64, refused: Option<u64> },
    /// An out-parameter; NULL is refused unless it is optional.
    Out { output: Output, optional: bool },
    /// The owned string that is freed, made anew for each call.
    Owned,
    /// The function that is called back.
    Callback,
    /// What it is called with.
    UserData,
    /// The function that lets go of that.
    Release,
}

pub struct Parameter {
    pub name: &'static str,
    pub role: Role,
}

pub struct Export {
    pub name: &'static str,
    pub function: Box<dyn Erased>,
    pub parameters: Vec<Parameter>,
    pub answer: Answer,
}

impl Export {
    /// The position of `out_error`, if there is one.
    pub fn out_error(&self) -> Option<usize> {
        self.parameters.iter().position(|parameter| parameter.name == "out_error")
    }
}

/// Most bytes where no option says otherwise.
const DEFAULT_PAYLOAD_BYTES: usize = 10 * 1024 * 1024;

const OUT_TEXT: Role = Role::Out { output: Output::Text, optional: false };
const OPTIONAL_TEXT: Role = Role::Out { output: Output::Text, optional: true };
const OUT_INT: Role = Role::Out { output: Output::Int32, optional: false };
const OPTIONAL_REVISION: Role = Role::Out { output: Output::Uint64, optional: true };
const TASK_ID: Role = Role::Identifier(|fixture| fixture.task_id.clone());
const THE_SESSION: Role = Role::Identifier(|_| SESSION_ID.to_owned());
const A2A_TASK: Role = Role::Identifier(|_| A2A_ID.to_owned());
const ENDPOINT: Role = Role::Name { value: Some("/mcp"), optional: false };
const ANYONE: Role = Role::Name { value: None, optional: true };
const MESSAGE: Role = Role::Text { value: None, optional: true };
const OPTIONS: Role =
    Role::Json { value: |_| None, optional: true, json: Json::Members(DEFAULT_PAYLOAD_BYTES) };

const fn on(kind: Kind) -> Role {
    Role::Handle { kind, optional: false }
}

const fn maybe(kind: Kind) -> Role {
    Role::Handle { kind, optional: true }
}

const fn opened(kind: Kind) -> Role {
    Role::Out { output: Output::Handle(kind), optional: false }
}

const fn members(value: fn(&Fixture) -> Option<String>) -> Role {
    Role::Json { value, optional: false, json: Json::Members(PAYLOAD_BYTES) }
}

const fn payload(value: fn(&Fixture) -> Option<String>) -> Role {
    Role::Json { value, optional: false, json: Json::Payload(PAYLOAD_BYTES) }
}

const fn number(value: u64, refused: Option<u64>) -> Role {
    Role::Number { value, refused }
}

#[expect(clippy::unnecessary_wraps, reason = "a value of `Role::Json` may be NULL")]
fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// An owned string, as the library gives it out, as a word.
pub fn owned_string() -> u64 {
    let mut string = std::ptr::null_mut();
    // SAFETY: the outputs are writable.
    let status = unsafe { taskhold_describe(&raw mut string, std::ptr::null_mut()) };
    assert_eq!(status, TASKHOLD_OK);
    string.to_word()
}

macro_rules! infer {
    ($parameter:ident) => {
        _
    };
}

macro_rules! export {
    ($function:ident($($parameter:ident: $role:expr),* $(,)?)) => {
        export!($function($($parameter: $role),*) -> Answer::Status(TASKHOLD_OK))
    };
    ($function:ident($($parameter:ident: $role:expr),* $(,)?) -> $answer:expr) => {
        Export {
            name: stringify!($function),
            function: Box::new($function as unsafe extern "C" fn($(infer!($parameter)),*) -> _),
            parameters: vec![$(Parameter { name: stringify!($parameter), role: $role }),*],
            answer: $answer,
        }
    };
}

/// All exports, in no order that matters.
pub fn all() -> Vec<Export> {
    [library(), places(), worker(), protocol(), publisher(), sessions(), providers()]
        .into_iter()
        .flatten()
        .collect()
}

fn library() -> Vec<Export> {
    vec![
        export!(taskhold_abi_version() -> Answer::Plain),
        export!(taskhold_version() -> Answer::Plain),
        export!(taskhold_status_name(status: number(0, None)) -> Answer::Plain),
        export!(taskhold_describe(out_json: OUT_TEXT, out_error: OPTIONAL_TEXT)),
        export!(taskhold_string_free(string: Role::Owned) -> Answer::Plain),
        export!(taskhold_json_get(
            json: Role::Json {
                value: |_| text(r#"{"a":["b"]}"#),
                optional: false,
                json: Json::Payload(usize::MAX),
            },
            pointer: Role::Text { value: Some("/a/0"), optional: false },
            out_value: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
    ]
}

fn places() -> Vec<Export> {
    use Kind::{Clock, Store};
    vec![
        export!(taskhold_clock_open_manual(
            epoch_ms: number(0, Some(u64::MAX / 2)),
            out_clock: opened(Kind::Clock),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_clock_advance(clock: on(Clock), ms: number(1, Some(u64::MAX)), out_error: OPTIONAL_TEXT)),
        export!(taskhold_clock_step_wall(
            clock: on(Clock),
            ms: number(u64::MAX, Some(u64::MAX / 2)),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_clock_close(clock: Role::Closed(Clock))),
        export!(taskhold_store_open(
            url: Role::Text { value: Some("memory:"), optional: true },
            options: OPTIONS,
            clock: maybe(Clock),
            out_store: opened(Kind::Store),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_store_stats(store: on(Store), out_json: OUT_TEXT, out_error: OPTIONAL_TEXT)),
        export!(taskhold_store_close(store: Role::Closed(Store))),
    ]
}

fn worker() -> Vec<Export> {
    use Kind::{Manager, Store};
    vec![
        export!(taskhold_manager_open(
            store: maybe(Store),
            options: OPTIONS,
            out_manager: opened(Kind::Manager),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_options(manager: on(Manager), out_options: OUT_TEXT, out_error: OPTIONAL_TEXT)),
        export!(taskhold_manager_close(manager: Role::Closed(Manager))),
        export!(taskhold_manager_create_task(
            manager: on(Manager),
            creation: members(|_| text(r#"{"endpoint":"/mcp","origin":1}"#)),
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_find_task(
            manager: on(Manager),
            task_id: TASK_ID,
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_mark_task_working(
            manager: on(Manager),
            task_id: TASK_ID,
            status_message: MESSAGE,
            options: OPTIONS,
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_request_task_input(
            manager: on(Manager),
            task_id: TASK_ID,
            input_requests: payload(|_| text(r#"{"c":{"method":"roots/list"}}"#)),
            status_message: MESSAGE,
            options: OPTIONS,
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_complete_task(
            manager: on(Manager),
            task_id: TASK_ID,
            result: payload(|_| text(r#"{"content":[]}"#)),
            status_message: MESSAGE,
            options: OPTIONS,
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_fail_task(
            manager: on(Manager),
            task_id: TASK_ID,
            failure: payload(|_| text(r#"{"code":-32000,"message":"no"}"#)),
            status_message: MESSAGE,
            options: OPTIONS,
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_cancel_task(
            manager: on(Manager),
            task_id: TASK_ID,
            status_message: MESSAGE,
            options: OPTIONS,
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_take_task_input_responses(
            manager: on(Manager),
            task_id: TASK_ID,
            options: OPTIONS,
            out_responses: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_is_task_cancelation_requested(
            manager: on(Manager),
            task_id: TASK_ID,
            out_requested: OUT_INT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_wait_task(
            manager: on(Manager),
            task_id: TASK_ID,
            seen_revision: number(1, None),
            timeout_ms: number(0, None),
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_list_tasks(
            manager: on(Manager),
            params: OPTIONS,
            out_page: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
    ]
}

fn protocol() -> Vec<Export> {
    use Kind::Manager;
    vec![
        export!(taskhold_manager_find_authorized_task(
            manager: on(Manager),
            endpoint: ENDPOINT,
            partition: ANYONE,
            task_id: TASK_ID,
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_update_task(
            manager: on(Manager),
            endpoint: ENDPOINT,
            partition: ANYONE,
            task_id: TASK_ID,
            input_responses: payload(|_| text(r#"{"a":{"roots":[]}}"#)),
            options: OPTIONS,
            out_outcome: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_request_task_cancelation(
            manager: on(Manager),
            endpoint: ENDPOINT,
            partition: ANYONE,
            task_id: TASK_ID,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_render_task(
            manager: on(Manager),
            endpoint: ENDPOINT,
            partition: ANYONE,
            task_id: TASK_ID,
            rendering: number(2, Some(4)),
            options: OPTIONS,
            out_json: OUT_TEXT,
            out_revision: OPTIONAL_REVISION,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_handle_request(
            manager: on(Manager),
            endpoint: ENDPOINT,
            partition: ANYONE,
            client_capabilities: Role::Json {
                value: |_| text(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
                optional: true,
                json: Json::Payload(DEFAULT_PAYLOAD_BYTES),
            },
            request: Role::Json {
                value: |fixture| {
                    let task_id = &fixture.task_id;
                    Some(format!(
                        r#"{{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{{"taskId":"{task_id}"}}}}"#
                    ))
                },
                optional: false,
                json: Json::Request,
            },
            out_response: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
    ]
}

fn publisher() -> Vec<Export> {
    use Kind::{Events, Manager, Subscription};
    vec![
        export!(taskhold_manager_publish_task_changed(
            manager: on(Manager),
            task_id: TASK_ID,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_subscribe(
            manager: on(Manager),
            on_task_changed: Role::Callback,
            user_data: Role::UserData,
            release: Role::Release,
            out_subscription: opened(Kind::Subscription),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_open_events(
            manager: on(Manager),
            capacity: number(4, Some(0)),
            out_events: opened(Kind::Events),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_subscription_close(subscription: Role::Closed(Subscription))),
        export!(taskhold_events_next(
            events: on(Events),
            timeout_ms: number(0, None),
            out_event: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        ) -> Answer::Status(TASKHOLD_TIMEOUT)),
        export!(taskhold_events_fd(events: on(Events), out_fd: OUT_INT, out_error: OPTIONAL_TEXT)),
        export!(taskhold_events_close(events: Role::Closed(Events))),
    ]
}

fn sessions() -> Vec<Export> {
    use Kind::{SessionStore, Store};
    let session = |value| Role::Json { value, optional: false, json: Json::Payload(DEFAULT_PAYLOAD_BYTES) };
    vec![
        export!(taskhold_session_store_open(
            store: maybe(Store),
            options: OPTIONS,
            out_sessions: opened(Kind::SessionStore),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_options(
            sessions: on(SessionStore),
            out_options: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_close(sessions: Role::Closed(SessionStore))),
        export!(taskhold_session_store_create(
            sessions: on(SessionStore),
            endpoint: ENDPOINT,
            creation: OPTIONS,
            out_session: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_find_by_session_id(
            sessions: on(SessionStore),
            session_id: THE_SESSION,
            out_session: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_find_authorized_session(
            sessions: on(SessionStore),
            endpoint: ENDPOINT,
            partition: ANYONE,
            session_id: THE_SESSION,
            out_session: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_replace(
            sessions: on(SessionStore),
            expected: session(|fixture| Some(fixture.session.clone())),
            updated: session(|fixture| Some(fixture.next_session())),
            out_replaced: OUT_INT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_delete_by_session_id(
            sessions: on(SessionStore),
            session_id: THE_SESSION,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_pin(
            sessions: on(SessionStore),
            session_id: THE_SESSION,
            out_pinned: OUT_INT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_unpin(
            sessions: on(SessionStore),
            session_id: THE_SESSION,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_take_expired(
            sessions: on(SessionStore),
            out_sessions: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
    ]
}

fn providers() -> Vec<Export> {
    use Kind::{StateProvider, Store};
    vec![
        export!(taskhold_state_provider_open(
            store: maybe(Store),
            options: OPTIONS,
            out_provider: opened(Kind::StateProvider),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_options(
            provider: on(StateProvider),
            out_options: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_close(provider: Role::Closed(StateProvider))),
        export!(taskhold_state_provider_save_task(
            provider: on(StateProvider),
            owner: ANYONE,
            task: payload(|_| text(r#"{"id":"another","status":{"state":"working"}}"#)),
            save_options: OPTIONS,
            out_revision: OPTIONAL_REVISION,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_get_task(
            provider: on(StateProvider),
            owner: ANYONE,
            task_id: A2A_TASK,
            params: OPTIONS,
            out_task: OPTIONAL_TEXT,
            out_revision: OPTIONAL_REVISION,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_delete_task(
            provider: on(StateProvider),
            owner: ANYONE,
            task_id: A2A_TASK,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_list_tasks(
            provider: on(StateProvider),
            owner: ANYONE,
            params: OPTIONS,
            out_result: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_is_task_active(
            provider: on(StateProvider),
            task_id: A2A_TASK,
            out_active: OUT_INT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_is_task_finalized(
            provider: on(StateProvider),
            task_id: A2A_TASK,
            out_finalized: OUT_INT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_task_liveness(
            provider: on(StateProvider),
            task_id: A2A_TASK,
            out_liveness: OUT_INT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_open_events(
            provider: on(StateProvider),
            capacity: number(4, Some(0)),
            out_events: opened(Kind::Events),
            out_error: OPTIONAL_TEXT,
        )),
    ]
}

/// One argument of a call: a word, or a string that lives as long as this.
pub enum Argument {
    Word(u64),
    String(CString),
    /// A place for an output.
    Place,
}

impl Role {
    /// The argument of a call that succeeds.
    pub fn argument(&self, fixture: &Fixture) -> Argument {
        let string = |text: Option<String>| match text {
            Some(text) => Argument::String(CString::new(text).expect("no NUL")),
            None => Argument::Word(0),
        };
        match self {
            Self::Handle { kind, .. } | Self::Closed(kind) => Argument::Word(fixture.handle(*kind)),
            Self::Identifier(value) => string(Some(value(fixture))),
            Self::Name { value, .. } | Self::Text { value, .. } => string(value.map(str::to_owned)),
            Self::Json { value, .. } => string(value(fixture)),
            Self::Number { value, .. } => Argument::Word(*value),
            Self::Out { .. } => Argument::Place,
            Self::Owned => Argument::Word(owned_string()),
            Self::Callback => {
                let function: unsafe extern "C" fn(*mut c_void, *const std::ffi::c_char) = on_task_changed;
                Argument::Word(Some(function).to_word())
            }
            Self::UserData => Argument::Word(0),
            Self::Release => {
                let function: unsafe extern "C" fn(*mut c_void) = release;
                Argument::Word(Some(function).to_word())
            }
        }
    }
}
