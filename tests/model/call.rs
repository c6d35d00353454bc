//! A call of an export by name, what came of it, and what the model expects.

use std::collections::HashMap;
use std::ffi::c_void;

use serde_json::{Map, Value, json};

use crate::calls::{Frame, Function, Parameter, Returned, take_text};
use crate::support::calls::status_name;

/// A call: a function, the handle that it is called on, and its other arguments as the vectors write them.
#[derive(Clone, Debug)]
pub struct Call {
    pub function: &'static str,
    pub on: String,
    pub arguments: Map<String, Value>,
}

impl Call {
    pub fn new(function: &'static str, on: &str) -> Self {
        Self { function, on: on.to_owned(), arguments: Map::new() }
    }

    /// With an argument: a string crosses as it is, null as NULL, any other value as its text.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.arguments.insert(name.to_owned(), value.into());
        self
    }

    /// As a step of a vector.
    pub fn to_step(&self, expected: &Expected) -> Value {
        let mut step = json!({"call": self.function, "on": self.on});
        if !self.arguments.is_empty() {
            step["args"] = Value::Object(self.arguments.clone());
        }
        step["expect"] = expected.to_json();
        step
    }

    /// Makes the call.
    pub fn invoke(&self, handles: &HashMap<String, *mut c_void>) -> Outcome {
        let mut frame = self.prepare(handles);
        let returned = (self.function().invoke)(&mut frame);
        self.outcome(&frame, returned)
    }

    pub fn function(&self) -> &'static Function {
        Function::named(self.function).expect("a function")
    }

    /// The arguments as they cross.
    pub fn prepare(&self, handles: &HashMap<String, *mut c_void>) -> Frame {
        let function = self.function();
        let mut frame = Frame { receiver: handles[&self.on], ..Frame::default() };
        for (name, value) in &self.arguments {
            let kind = function.argument(name).unwrap_or_else(|| panic!("{} has no {name}", self.function));
            if kind == Parameter::Number {
                let number = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
                frame.numbers.insert(name.clone(), number.expect("a whole number"));
                continue;
            }
            let text = match value {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            frame.texts.insert(name.clone(), [text.as_bytes(), b"\0"].concat());
        }
        frame
    }

    /// What came of the call that was made with `frame`.
    pub fn outcome(&self, frame: &Frame, returned: Returned) -> Outcome {
        let Returned::Status(status) = returned else { panic!("there is a status") };
        let function = self.function();
        let error = if function.has(Parameter::Error) { take_text(frame.error) } else { None };
        let document = if function.has(Parameter::Document) { take_text(frame.document) } else { None };
        Outcome {
            status: status_name(status),
            error: error.map_or(Value::Null, |text| serde_json::from_str(&text).expect("an error is JSON")),
            document,
            flag: if function.has(Parameter::Flag) { frame.flag } else { 0 },
            revision: if function.has(Parameter::Revision) { frame.revision } else { 0 },
        }
    }
}

/// What came of a call.
#[derive(Debug)]
pub struct Outcome {
    pub status: &'static str,
    pub error: Value,
    pub document: Option<String>,
    pub flag: i32,
    pub revision: u64,
}

impl Outcome {
    pub fn is_ok(&self) -> bool {
        self.status == "ok"
    }

    /// The document as JSON; null when there is none.
    pub fn json(&self) -> Value {
        self.document
            .as_ref()
            .map_or(Value::Null, |text| serde_json::from_str(text).expect("a document is JSON"))
    }
}

/// What must come of a call.
#[derive(Clone, Debug)]
pub enum Expected {
    /// OK, and no output but those named by others.
    Done,
    /// OK and NULL.
    Null,
    /// OK and this document.
    Document(Value),
    /// OK and this document, byte for byte.
    Bytes(String),
    /// OK and this number.
    Flag(i32),
    /// OK and this revision.
    Revision(u64),
    /// OK, this document (NULL when none) and this revision.
    At(Option<Value>, u64),
    /// A refusal with this status and reason.
    Refused(&'static str, &'static str),
    /// Something that the model has judged already: what is wrong with it, if anything.
    Judged(Option<String>),
}

impl Expected {
    /// What differs.
    pub fn difference(&self, outcome: &Outcome) -> Option<String> {
        let (status, reason) = match self {
            Self::Refused(status, reason) => (*status, *reason),
            _ => ("ok", ""),
        };
        if let Self::Judged(judgement) = self {
            return judgement.clone();
        }
        if outcome.status != status || outcome.error["reason"].as_str().unwrap_or_default() != reason {
            return Some(format!("should be {status} {reason}, is {} {}", outcome.status, outcome.error));
        }
        let holds = match self {
            Self::Done | Self::Judged(_) => true,
            Self::Refused(..) => outcome.document.is_none() && outcome.flag == 0 && outcome.revision == 0,
            Self::Null => outcome.document.is_none(),
            Self::Document(value) => outcome.json() == *value,
            Self::Bytes(text) => outcome.document.as_ref() == Some(text),
            Self::Flag(flag) => outcome.flag == *flag,
            Self::Revision(revision) => outcome.revision == *revision,
            Self::At(value, revision) => {
                outcome.document.is_some() == value.is_some()
                    && outcome.json() == value.clone().unwrap_or(Value::Null)
                    && outcome.revision == *revision
            }
        };
        (!holds).then(|| format!("should give {self:?}\n  gives {outcome:?}"))
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Done | Self::Judged(_) => json!({}),
            Self::Null => json!({"out": {"null": true}}),
            Self::Document(value) => json!({"out": {"exact": value}}),
            Self::Bytes(text) => json!({"out": {"bytes": text}}),
            Self::Flag(flag) => json!({"out": {"exact": flag}}),
            Self::Revision(revision) => json!({"revision": revision}),
            Self::At(None, revision) => json!({"out": {"null": true}, "revision": revision}),
            Self::At(Some(value), revision) => json!({"out": {"exact": value}, "revision": revision}),
            Self::Refused(status, reason) => json!({"status": status, "reason": reason}),
        }
    }
}

pub const TASK_NOT_FOUND: Expected = Expected::Refused("not_found", "task_not_found");
pub const TIMEOUT: Expected = Expected::Refused("timeout", "timeout");

pub fn invalid(reason: &'static str) -> Expected {
    Expected::Refused("invalid_argument", reason)
}

pub fn refused(reason: &'static str) -> Expected {
    Expected::Refused("invalid_state", reason)
}
