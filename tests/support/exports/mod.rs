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
    /// A text that the library may have given out: of any size, and some levels deeper than a payload.
    GivenOut,
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
    /// A task, session or context id, or that of a push notification config.
    Identifier { value: fn(&Fixture) -> String, optional: bool },
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
const TASK_ID: Role = Role::Identifier { value: |fixture| fixture.task_id.clone(), optional: false };
const THE_SESSION: Role = Role::Identifier { value: |_| SESSION_ID.to_owned(), optional: false };
const A2A_TASK: Role = Role::Identifier { value: |_| A2A_ID.to_owned(), optional: false };
const CONFIG_ID: Role = Role::Identifier { value: |_| "config".to_owned(), optional: true };
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

/// Members of which none is a payload.
const fn own_members(value: fn(&Fixture) -> Option<String>) -> Role {
    Role::Json { value, optional: false, json: Json::Members(DEFAULT_PAYLOAD_BYTES) }
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

mod places;
mod records;
mod tasks;

/// All exports, in no order that matters.
pub fn all() -> Vec<Export> {
    [
        places::library(),
        places::places(),
        tasks::worker(),
        tasks::queue(),
        tasks::protocol(),
        tasks::publisher(),
        records::sessions(),
        records::providers(),
        records::provider_events(),
    ]
    .into_iter()
    .flatten()
    .collect()
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
            Self::Identifier { value, .. } => string(Some(value(fixture))),
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
