//! Reads the vector files and checks their shape: an unknown key, function, argument, handle, matcher or
//! placeholder is an error of the file, found before anything is played.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::calls::{Function, Parameter};
use super::matching::{MATCHERS, PLACEHOLDERS};

/// 2025-11-30T10:30:00.000Z, where a case's clock starts unless it says otherwise.
const DEFAULT_EPOCH_MS: i64 = 1_764_498_600_000;

/// The backends that a case may be restricted to.
const BACKENDS: [&str; 3] = ["memory", "sqlite", "postgres"];

/// The variables that the runner sets.
const RESERVED: [&str; 4] = ["url", "options", "backend", "n"];

/// The statuses that a step may expect.
const STATUSES: [&str; 14] = [
    "ok",
    "invalid_argument",
    "invalid_handle",
    "not_found",
    "invalid_state",
    "capacity_exhausted",
    "limit_exceeded",
    "conflict",
    "timeout",
    "closed",
    "unavailable",
    "corrupt",
    "unsupported",
    "internal",
];

/// One case.
pub struct Case {
    file: String,
    name: String,
    backends: Option<Vec<String>>,
    /// Where the case's clock starts.
    pub epoch_ms: i64,
    /// What is played, in order.
    pub steps: Vec<Step>,
}

impl Case {
    /// File and name.
    pub fn title(&self) -> String {
        format!("{}: {}", self.file, self.name)
    }

    /// Whether it is to be played on `backend`.
    pub fn is_for(&self, backend: &str) -> bool {
        self.backends.as_ref().is_none_or(|backends| backends.iter().any(|known| known == backend))
    }
}

/// The handle that a step calls a function on.
#[derive(Debug)]
pub enum Receiver {
    /// The function takes none.
    None,
    /// A NULL handle.
    Null,
    /// The handle opened under this name.
    Named(String),
}

/// One step: a call, what it is given and what it should give.
pub struct Step {
    /// The function.
    pub function: &'static Function,
    /// Its handle.
    pub receiver: Receiver,
    /// Its arguments by name.
    pub arguments: Map<String, Value>,
    /// The name of the handle that it opens.
    pub opens: Option<String>,
    /// What it should give.
    pub expect: Map<String, Value>,
    /// JSON pointers into the main output, by the variable that gets the value.
    pub save: BTreeMap<String, String>,
    /// How often it is played.
    pub times: u64,
}

/// A file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    #[serde(rename = "description")]
    _description: String,
    cases: Vec<Value>,
}

/// A case as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCase {
    name: String,
    about: String,
    backends: Option<Vec<String>>,
    #[serde(default = "default_epoch_ms")]
    epoch_ms: i64,
    #[serde(default, deserialize_with = "given")]
    raw: Option<Value>,
    steps: Vec<Value>,
}

/// A step as it is written, its abbreviation written out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStep {
    call: String,
    #[serde(default, deserialize_with = "given")]
    on: Option<Value>,
    #[serde(default)]
    args: Map<String, Value>,
    #[serde(rename = "as", default, deserialize_with = "given")]
    opens: Option<Value>,
    #[serde(default)]
    expect: Map<String, Value>,
    #[serde(default)]
    save: BTreeMap<String, String>,
    #[serde(default = "once")]
    times: u64,
}

fn default_epoch_ms() -> i64 {
    DEFAULT_EPOCH_MS
}

fn once() -> u64 {
    1
}

/// A member that is there, also when it is null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// A value in the form of a type, or what is wrong with it.
fn written<T: for<'de> Deserialize<'de>>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error| error.to_string())
}

/// Every case of every file, or a panic that says what is wrong with a file.
pub fn load() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut paths: Vec<_> = std::fs::read_dir(directory)
        .expect("the vectors are there")
        .map(|entry| entry.expect("the vectors can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    paths.sort();
    paths.iter().flat_map(|path| load_file(path)).collect()
}

fn load_file(path: &Path) -> Vec<Case> {
    let file = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).expect("the vectors can be read");
    let root: WrittenFile = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    root.cases
        .iter()
        .map(|case| {
            let name = case["name"].as_str().unwrap_or_else(|| panic!("{file}: a case has no name"));
            read_case(&file, name, case).unwrap_or_else(|error| panic!("{file}: {name}: {error}"))
        })
        .collect()
}

/// One case, or what is wrong with it.
pub fn read_case(file: &str, name: &str, case: &Value) -> Result<Case, String> {
    let written: WrittenCase = written(case)?;
    if written.raw.is_some_and(|raw| raw != true) {
        return Err("\"raw\" can only be true".to_owned());
    }
    if written.about.is_empty() || written.name.is_empty() {
        return Err("\"name\" or \"about\" is empty".to_owned());
    }
    let mut named = written.backends.iter().flatten();
    if let Some(unknown) = named.find(|name| !BACKENDS.contains(&name.as_str())) {
        return Err(format!("there is no backend {unknown}"));
    }
    if written.steps.is_empty() {
        return Err("there are no steps".to_owned());
    }
    // Handles by name, with the prefix of the functions that take them.
    let mut handles = BTreeMap::from([("clock".to_owned(), "clock"), ("store".to_owned(), "store")]);
    let steps = written
        .steps
        .iter()
        .enumerate()
        .map(|(at, step)| read_step(step, &mut handles).map_err(|error| format!("step {}: {error}", at + 1)))
        .collect::<Result<_, _>>()?;
    let WrittenCase { backends, epoch_ms, .. } = written;
    Ok(Case { file: file.to_owned(), name: name.to_owned(), backends, epoch_ms, steps })
}

fn read_step(step: &Value, handles: &mut BTreeMap<String, &'static str>) -> Result<Step, String> {
    let WrittenStep { call: name, on, args: arguments, opens, expect, save, times } =
        written(&unabbreviated(step, handles)?)?;
    let function = Function::named(&name).ok_or_else(|| format!("there is no function {name}"))?;

    let receiver = match (on, function.has(Parameter::Receiver)) {
        (None, false) => Receiver::None,
        (Some(Value::Null), true) => Receiver::Null,
        (Some(Value::String(name)), true) if handles.contains_key(&name) => Receiver::Named(name),
        _ => return Err("\"on\" must name an open handle, or be null, if the function takes one".to_owned()),
    };

    for (argument, value) in &arguments {
        let kind = function.argument(argument).ok_or_else(|| format!("{name} takes no {argument}"))?;
        let fits = match kind {
            Parameter::Number => value.is_i64() || value.is_u64() || value.is_string(),
            Parameter::Handle => {
                value.is_null() || value.as_str().is_some_and(|name| handles.contains_key(name))
            }
            _ => true,
        };
        if !fits {
            return Err(format!("{argument} cannot be {value}"));
        }
        check_numbers(value)?;
    }
    let numbers = function.parameters.iter().filter(|(kind, _)| *kind == Parameter::Number);
    if let Some((_, absent)) = numbers.clone().find(|(_, name)| !arguments.contains_key(*name)) {
        return Err(format!("the argument {absent} is missing"));
    }

    let opens = match (opens, function.has(Parameter::Opened)) {
        (None, false) => None,
        (Some(Value::String(name)), true) => Some(name),
        _ => return Err("\"as\" must name the handle, if and only if the function opens one".to_owned()),
    };
    if let Some(name) = &opens {
        handles.insert(name.clone(), prefix_of_opened(function.name));
    }

    check_expectation(&expect)?;
    if let Some(name) = RESERVED.iter().find(|name| save.contains_key(**name)) {
        return Err(format!("the variable {name} is the runner's"));
    }
    if times == 0 {
        return Err("\"times\" is not a positive integer".to_owned());
    }
    Ok(Step { function, receiver, arguments, opens, expect, save, times })
}

fn prefix_of_opened(function: &str) -> &'static str {
    match function {
        "clock_open_manual" => "clock",
        "store_open" => "store",
        "manager_open" => "manager",
        "session_store_open" => "session_store",
        "state_provider_open" => "state_provider",
        _ => "events",
    }
}

/// `open`, `close`, `advance_ms` and `step_wall_ms` written out as calls.
fn unabbreviated(step: &Value, handles: &BTreeMap<String, &'static str>) -> Result<Value, String> {
    let members = step.as_object().ok_or("a step is not an object")?;
    let mut whole = if let Some(kind) = members.get("open") {
        object(step, &["open", "as", "on", "options", "expect"])?;
        let kind = kind.as_str().filter(|kind| ["manager", "session_store", "state_provider"].contains(kind));
        let kind = kind.ok_or("only the three systems can be opened like this")?;
        json!({
            "call": format!("{kind}_open"),
            "on": members.get("on").cloned().unwrap_or_else(|| json!("store")),
            "as": members.get("as"),
            "args": {"options": members.get("options")},
        })
    } else if let Some(handle) = members.get("close") {
        object(step, &["close", "expect"])?;
        let prefix = handle.as_str().and_then(|name| handles.get(name));
        let prefix = prefix.ok_or("\"close\" must name an open handle")?;
        json!({"call": format!("{prefix}_close"), "on": handle})
    } else if let Some(ms) = members.get("advance_ms") {
        object(step, &["advance_ms"])?;
        json!({"call": "clock_advance", "on": "clock", "args": {"ms": ms}})
    } else if let Some(ms) = members.get("step_wall_ms") {
        object(step, &["step_wall_ms"])?;
        json!({"call": "clock_step_wall", "on": "clock", "args": {"ms": ms}})
    } else {
        return Ok(step.clone());
    };
    if let Some(expect) = members.get("expect") {
        whole["expect"] = expect.clone();
    }
    Ok(whole)
}

fn check_expectation(expect: &Map<String, Value>) -> Result<(), String> {
    let allowed = ["status", "reason", "key", "limit", "out", "revision"];
    if let Some(unknown) = expect.keys().find(|key| !allowed.contains(&key.as_str())) {
        return Err(format!("nothing called {unknown} can be expected"));
    }
    let status = expect.get("status").map_or(Some("ok"), Value::as_str).unwrap_or_default();
    if !STATUSES.contains(&status) {
        return Err(format!("there is no status {status:?}"));
    }
    if status == "ok" && ["reason", "key", "limit"].iter().any(|key| expect.contains_key(*key)) {
        return Err("a call that succeeds has no reason, key or limit".to_owned());
    }
    let Some(matcher) = expect.get("out") else { return Ok(()) };
    let matcher = object(matcher, &MATCHERS)?;
    if matcher.is_empty() || (matcher.contains_key("null") && matcher.len() > 1) {
        return Err("\"null\" stands alone in a matcher, and a matcher is not empty".to_owned());
    }
    for kind in ["subset", "exact"] {
        matcher.get(kind).map_or(Ok(()), check_expected_value)?;
    }
    Ok(())
}

/// JSON in the files has whole numbers only: JSON parsers spell other ones differently, so that they stand in
/// texts.
fn check_numbers(value: &Value) -> Result<(), String> {
    match value {
        Value::Number(number) if !number.is_i64() && !number.is_u64() => {
            Err(format!("{number} is no whole number of 64 bits: it must stand in a text"))
        }
        Value::Array(elements) => elements.iter().try_for_each(check_numbers),
        Value::Object(members) => members.values().try_for_each(check_numbers),
        _ => Ok(()),
    }
}

fn check_expected_value(value: &Value) -> Result<(), String> {
    match value {
        Value::Number(_) => check_numbers(value),
        Value::String(text) if text.starts_with('$') && !text.starts_with("${") => {
            if PLACEHOLDERS.contains(&text.as_str()) {
                Ok(())
            } else {
                Err(format!("{text} stands for nothing"))
            }
        }
        Value::Array(elements) => elements.iter().try_for_each(check_expected_value),
        Value::Object(members) => members.values().try_for_each(check_expected_value),
        _ => Ok(()),
    }
}

fn object<'a>(value: &'a Value, known: &[&str]) -> Result<&'a Map<String, Value>, String> {
    let members = value.as_object().ok_or_else(|| format!("{value} is not an object"))?;
    match members.keys().find(|key| !known.contains(&key.as_str())) {
        Some(unknown) => Err(format!("the key {unknown:?} is not known here")),
        None => Ok(members),
    }
}
