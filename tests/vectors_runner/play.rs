//! Plays one case: opens its clock and store, makes each call, compares, and closes what is left.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;

use serde_json::{Map, Value, json};
use taskhold::error::Status;

use super::calls::{Frame, Function, Parameter, Returned, take_text};
use super::format::{Case, Receiver, Step};
use super::matching;
use super::postgres;
use super::values::{self, Variables};

/// Which store the cases are played on.
pub struct Target {
    /// Its backend as the vectors call it.
    pub backend: String,
    url: String,
    options: Option<String>,
}

impl Target {
    /// `TASKHOLD_VECTOR_STORE` and `TASKHOLD_VECTOR_STORE_OPTIONS`, in which `{case}` is the number of the case,
    /// so that each has a store of its own.
    pub fn from_environment() -> Self {
        let url = std::env::var("TASKHOLD_VECTOR_STORE").unwrap_or_else(|_| "memory:".to_owned());
        let backend = match url.split(':').next().unwrap_or_default() {
            "postgresql" | "postgres" => "postgres",
            other => other,
        };
        Self {
            backend: backend.to_owned(),
            options: std::env::var("TASKHOLD_VECTOR_STORE_OPTIONS").ok(),
            url,
        }
    }
}

/// An opened handle: the function that closes it, and its value, which stays known after closing.
struct Handle {
    close: &'static Function,
    value: *mut c_void,
}

/// The state of a case while it is played.
struct Player {
    handles: HashMap<String, Handle>,
    variables: Variables,
}

/// Plays `case`; an error says which step differed and how.
pub fn play(case: &Case, target: &Target, number: usize) -> Result<(), String> {
    let per_case = |template: &str| template.replace("{case}", &number.to_string());
    let url = per_case(&target.url);
    let mut player = Player { handles: HashMap::new(), variables: Variables::new() };
    player.variables.insert("url".to_owned(), json!(url));
    let options = target.options.as_deref().map(per_case);
    player.variables.insert("backend".to_owned(), json!(target.backend));
    player.variables.insert("options".to_owned(), json!(options));
    player.open_clock_and_store(case.epoch_ms, &url, options.as_deref())?;

    let mut outcome = Ok(());
    'steps: for (at, step) in case.steps.iter().enumerate() {
        for time in 1..=step.times {
            player.variables.insert("n".to_owned(), json!(time));
            if let Err(failure) = player.play(step) {
                let times = if step.times > 1 { format!(", time {time}") } else { String::new() };
                outcome = Err(format!("step {} ({}){times}: {failure}", at + 1, step.function.name));
                break 'steps;
            }
        }
    }
    player.close_all()?;
    // A file goes with its folder; a server's schema goes here.
    if let Some(schema) = options.as_deref().and_then(schema).filter(|_| target.backend == "postgres") {
        postgres::drop_schema(&schema);
    }
    outcome
}

/// The schema that a store's options name.
fn schema(options: &str) -> Option<String> {
    let options: Value = serde_json::from_str(options).ok()?;
    options["schema"].as_str().map(str::to_owned)
}

impl Player {
    fn open_clock_and_store(
        &mut self,
        epoch_ms: i64,
        url: &str,
        options: Option<&str>,
    ) -> Result<(), String> {
        let step = |name: &str, opens: &str, arguments: Value| Step {
            function: Function::named(name).expect("it is in the table"),
            receiver: Receiver::None,
            arguments: arguments.as_object().expect("it is an object").clone(),
            opens: Some(opens.to_owned()),
            expect: Map::new(),
            save: std::collections::BTreeMap::new(),
            times: 1,
        };
        self.play(&step("clock_open_manual", "clock", json!({"epoch_ms": epoch_ms})))?;
        self.play(&step("store_open", "store", json!({"url": url, "options": options, "clock": "clock"})))
    }

    fn play(&mut self, step: &Step) -> Result<(), String> {
        let mut frame = self.frame(step)?;
        let status = match (step.function.invoke)(&mut frame) {
            Returned::Status(status) => status,
            Returned::Value => Status::Ok.code(),
        };
        let error = if step.function.has(Parameter::Error) { take_text(frame.error) } else { None };
        if status == Status::Ok.code() {
            self.check_success(step, &frame, error.as_deref())
        } else {
            self.check_failure(step, &frame, status, error.as_deref())
        }
    }

    fn frame(&self, step: &Step) -> Result<Frame, String> {
        let mut frame = Frame::default();
        if let Receiver::Named(name) = &step.receiver {
            frame.receiver = self.handle(name)?;
        } else {
            frame.receiver = ptr::null_mut();
        }
        for (name, value) in &step.arguments {
            match step.function.argument(name) {
                Some(Parameter::Handle) => {
                    let handle = value.as_str().map_or(Ok(ptr::null_mut()), |handle| self.handle(handle))?;
                    frame.handles.insert(name.clone(), handle);
                }
                Some(Parameter::Number) => {
                    let number = values::expand(value, &self.variables)?;
                    let number = number.to_string().parse().map_err(|_| format!("{name} is not a number"))?;
                    frame.numbers.insert(name.clone(), number);
                }
                _ => {
                    if let Some(mut bytes) = values::argument(value, &self.variables)? {
                        bytes.push(0);
                        frame.texts.insert(name.clone(), bytes);
                    }
                }
            }
        }
        Ok(frame)
    }

    fn handle(&self, name: &str) -> Result<*mut c_void, String> {
        self.handles.get(name).map(|handle| handle.value).ok_or_else(|| format!("{name} was not opened"))
    }

    fn check_success(&mut self, step: &Step, frame: &Frame, error: Option<&str>) -> Result<(), String> {
        if let Some(error) = error {
            return Err(format!("the call succeeded and left an error: {error}"));
        }
        let output = if step.function.has(Parameter::Document) {
            take_text(frame.document)
        } else if step.function.has(Parameter::Flag) {
            Some(frame.flag.to_string())
        } else {
            frame.returned.clone()
        };
        if let Some(name) = &step.opens {
            let close = closes(step.function.name);
            let handle = Handle { close, value: frame.opened };
            // A handle that gives way to one of the same name is closed at once.
            if let Some(previous) = self.handles.insert(name.clone(), handle) {
                close_handle(&previous)?;
            }
        }
        let expected = step.expect.get("status").and_then(Value::as_str).unwrap_or("ok");
        let mut found = Vec::new();
        if expected != "ok" {
            found.push(format!("the status should be {expected}, is ok"));
        }
        if let Some(revision) = step.expect.get("revision") {
            let revision = values::expand(revision, &self.variables)?;
            if revision != json!(frame.revision) {
                found.push(format!("the revision should be {revision}, is {}", frame.revision));
            }
        }
        self.finish(step, output.as_deref(), found)
    }

    fn check_failure(
        &mut self,
        step: &Step,
        frame: &Frame,
        status: i32,
        error: Option<&str>,
    ) -> Result<(), String> {
        let error = if step.function.has(Parameter::Error) {
            error.ok_or_else(|| format!("the call gave status {status} and no error object"))?
        } else {
            "{}"
        };
        let name = status_name(status);
        let expected = step.expect.get("status").and_then(Value::as_str).unwrap_or("ok");
        let mut found = Vec::new();
        if expected != name {
            found.push(format!("the status should be {expected}, is {name}"));
        }
        let details: Value =
            serde_json::from_str(error).map_err(|refusal| format!("the error is not JSON: {refusal}"))?;
        if step.function.has(Parameter::Error) {
            if details["status"] != name || !details["reason"].is_string() || !details["message"].is_string()
            {
                found.push("the error lacks its status, reason or message".to_owned());
            }
            for key in ["reason", "key", "limit"] {
                let Some(wanted) = step.expect.get(key) else { continue };
                let wanted = values::expand(wanted, &self.variables)?;
                if details[key] != wanted {
                    found.push(format!("the error's {key} should be {wanted}, is {}", details[key]));
                }
            }
        }
        for (kind, cleared) in [
            (Parameter::Document, frame.document.is_null()),
            (Parameter::Flag, frame.flag == 0),
            (Parameter::Revision, frame.revision == 0),
            (Parameter::Opened, frame.opened.is_null()),
        ] {
            if step.function.has(kind) && !cleared {
                found.push(format!("the output ({kind:?}) is not cleared"));
            }
        }
        self.finish(step, Some(error), found)
    }

    /// Compares the main output (of a call that failed, its error object), reports, and saves.
    fn finish(&mut self, step: &Step, output: Option<&str>, mut found: Vec<String>) -> Result<(), String> {
        if let Some(matcher) = step.expect.get("out") {
            let matcher = values::expand(matcher, &self.variables)?;
            found.extend(matching::differences(&matcher, output));
        }
        if !found.is_empty() {
            let shown: String = output.unwrap_or("NULL").chars().take(1500).collect();
            return Err(format!("{}\n  the output is {shown}", found.join("\n  ")));
        }
        for (variable, pointer) in &step.save {
            let output = output.ok_or("there is no output to save from")?;
            let value = if pointer.is_empty() {
                Value::String(output.to_owned())
            } else {
                let document: Value = serde_json::from_str(output).map_err(|error| error.to_string())?;
                document.pointer(pointer).cloned().ok_or_else(|| format!("there is no {pointer} to save"))?
            };
            self.variables.insert(variable.clone(), value);
        }
        Ok(())
    }

    /// Closes every handle, closed ones once more: that is always fine.
    fn close_all(&self) -> Result<(), String> {
        self.handles.values().try_for_each(close_handle)
    }
}

fn closes(opener: &str) -> &'static Function {
    let prefix = if opener.ends_with("open_events") {
        "events"
    } else {
        opener.split_once("_open").map_or(opener, |(prefix, _)| prefix)
    };
    Function::named(&format!("{prefix}_close")).expect("what can be opened can be closed")
}

fn close_handle(handle: &Handle) -> Result<(), String> {
    let mut frame = Frame { receiver: handle.value, ..Frame::default() };
    match (handle.close.invoke)(&mut frame) {
        Returned::Status(0) => Ok(()),
        outcome => Err(format!("{} gave {outcome:?}", handle.close.name)),
    }
}

fn status_name(code: i32) -> &'static str {
    Status::ALL.iter().find(|status| status.code() == code).map_or("unknown", |status| status.name())
}
