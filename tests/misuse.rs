//! What happens when an export is used wrongly, for every export, parameter and way to be wrong: the
//! documented status and reason, cleared outputs, no change of state, and nothing left open. An export
//! without an entry in `support::exports` fails here.

mod support;

use std::ffi::CString;
use std::sync::atomic::Ordering;

use support::calls::{self, Failure};
use support::erased::Word;
use support::exports::{self, Answer, Argument, Export, Json, Output, Role};
use support::fixture::{self, Fixture, Kind, RELEASES};
use support::running::{self, arguments, run};
use support::{generated, header};
use taskhold::ffi::*;

/// One wrong argument, and how the call must end.
struct Misuse {
    what: &'static str,
    argument: Argument,
    status: taskhold_status,
    reason: &'static str,
    /// What `key` must be, if anything.
    key: Option<String>,
    limit: Option<u64>,
}

impl Misuse {
    fn new(what: &'static str, argument: Argument, status: taskhold_status, reason: &'static str) -> Self {
        Self { what, argument, status, reason, key: None, limit: None }
    }

    fn with_key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    fn with_limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit as u64);
        self
    }
}

fn bytes(bytes: impl Into<Vec<u8>>) -> Argument {
    Argument::String(CString::new(bytes).expect("no NUL"))
}

fn invalid_argument(what: &'static str, argument: Argument, reason: &'static str) -> Misuse {
    Misuse::new(what, argument, TASKHOLD_INVALID_ARGUMENT, reason)
}

/// Words that are not handles of `kind`, each with its reason.
fn wrong_handles(kind: Kind, fixture: &Fixture) -> Vec<Misuse> {
    let misuse =
        |what, word, reason| Misuse::new(what, Argument::Word(word), TASKHOLD_INVALID_HANDLE, reason);
    let good = fixture.handle(kind);
    let mut wrong = vec![
        misuse("a closed handle", fixture::closed(kind), "closed"),
        misuse("1", 1, "foreign"),
        misuse("all bits", u64::MAX, "foreign"),
        misuse("an address", (&raw const good).to_word(), "foreign"),
        misuse("the highest bit", good | 1 << 63, "foreign"),
        misuse("another slot", good + (1 << 24), "foreign"),
        misuse("a later generation", good + (1 << 54), "foreign"),
        misuse("generation 0", good & !(0xff_ffff << 32), "foreign"),
    ];
    let others = Kind::ALL.into_iter().filter(|other| *other != kind);
    wrong.extend(others.map(|other| misuse("a handle of another kind", fixture.handle(other), "foreign")));
    wrong
}

fn wrong_json(name: &str, json: Json) -> Vec<Misuse> {
    let (limit, has_members, depth) = match json {
        Json::Members(limit) => (Some(limit), true, 128),
        Json::Payload(limit) => (Some(limit), false, 128),
        Json::GivenOut => (None, false, 128 + 16),
        Json::Request => return Vec::new(),
    };
    let deep = "[".repeat(depth + 1) + &"]".repeat(depth + 1);
    let mut wrong = vec![
        invalid_argument("no JSON", bytes(""), "invalid_json"),
        invalid_argument("half an object", bytes("{"), "invalid_json"),
        invalid_argument("a byte order mark", bytes("\u{feff}{}"), "invalid_json"),
        invalid_argument("a key twice", bytes(r#"{"a":1,"\u0061":2}"#), "duplicate_key"),
        invalid_argument("half a surrogate pair", bytes(r#"{"a":"\ud800"}"#), "lone_surrogate"),
        Misuse::new("too deep", bytes(deep), TASKHOLD_LIMIT_EXCEEDED, "nesting_too_deep").with_limit(depth),
    ];
    if has_members {
        wrong.push(invalid_argument("an array", bytes("[]"), "invalid_value"));
        wrong.push(
            invalid_argument("an unknown member", bytes(r#"{"nope":1}"#), "unknown_key").with_key("nope"),
        );
    }
    if let Some(limit) = limit {
        // A text with members may hold three payloads and what is around them.
        let size = if has_members { 3 * limit + (64 << 10) } else { limit };
        let large = format!(r#"{{"{name}":"{}"}}"#, "x".repeat(size));
        let misuse = Misuse::new("too large", bytes(large), TASKHOLD_LIMIT_EXCEEDED, "payload_too_large");
        wrong.push(misuse.with_limit(limit));
    }
    wrong
}

/// Every way to be wrong in one parameter.
fn misuses(name: &'static str, role: &Role, fixture: &Fixture) -> Vec<Misuse> {
    let null = || invalid_argument("NULL", Argument::Word(0), "null_argument").with_key(name);
    let not_utf8 = || invalid_argument("not UTF-8", bytes(*b"\xff\xfe{}"), "invalid_utf8").with_key(name);
    let mut wrong = Vec::new();
    match role {
        Role::Handle { kind, optional } => {
            if !optional {
                wrong.push(Misuse::new("NULL", Argument::Word(0), TASKHOLD_INVALID_HANDLE, "null"));
            }
            wrong.extend(wrong_handles(*kind, fixture));
        }
        Role::Identifier { optional, .. } => {
            wrong.extend((!optional).then(null));
            wrong.push(not_utf8());
            let texts = [
                ("no character", String::new()),
                ("blank", " \t\u{2003}".to_owned()),
                ("a line feed", "a\nb".to_owned()),
                ("a carriage return", "a\rb".to_owned()),
            ];
            let refused = texts
                .into_iter()
                .map(|(what, text)| invalid_argument(what, bytes(text), "invalid_identifier").with_key(name));
            wrong.extend(refused);
            let long = invalid_argument("too long", bytes("x".repeat(1025)), "invalid_identifier");
            wrong.push(long.with_key(name).with_limit(1024));
        }
        Role::Name { optional, .. } => {
            wrong.extend((!optional).then(null));
            wrong.push(not_utf8());
            let long = invalid_argument("too long", bytes("x".repeat(1025)), "invalid_value");
            wrong.push(long.with_key(name).with_limit(1024));
        }
        Role::Text { optional, .. } => {
            wrong.extend((!optional).then(null));
            wrong.push(not_utf8());
        }
        Role::Json { optional, json, .. } => {
            wrong.extend((!optional).then(null));
            wrong.extend((*json != Json::Request).then(not_utf8));
            wrong.extend(wrong_json(name, *json));
        }
        Role::Number { refused, .. } => {
            let refused =
                refused.map(|word| invalid_argument("out of range", Argument::Word(word), "invalid_value"));
            wrong.extend(refused.map(|misuse| misuse.with_key(name)));
        }
        Role::Out { optional, .. } => wrong.extend((!optional).then(null)),
        Role::Callback => wrong.push(null()),
        Role::Closed(_) | Role::Owned | Role::UserData | Role::Release => {}
    }
    wrong
}

fn check(export: &Export, name: &str, misuse: &Misuse, failure: &Failure) {
    let context = format!("{}: {name}: {}: {}", export.name, misuse.what, failure.error);
    assert_eq!(failure.status, misuse.status, "{context}");
    assert_eq!(failure.reason(), misuse.reason, "{context}");
    if let Some(key) = &misuse.key {
        assert_eq!(failure.error["key"], *key, "{context}");
    }
    if let Some(limit) = misuse.limit {
        assert_eq!(failure.error["limit"], limit, "{context}");
    }
}

/// Each wrong argument among right ones.
fn misuse_every_parameter(export: &Export) {
    let fixture = Fixture::new();
    let snapshot = fixture.snapshot();
    let has_release = export.parameters.iter().any(|parameter| matches!(parameter.role, Role::Release));
    for (at, parameter) in export.parameters.iter().enumerate() {
        for misuse in misuses(parameter.name, &parameter.role, &fixture) {
            let mut arguments = arguments(export, &fixture);
            arguments[at] = match &misuse.argument {
                Argument::Word(word) => Argument::Word(*word),
                Argument::String(string) => Argument::String(string.clone()),
                Argument::Place => unreachable!("a place is never wrong"),
            };
            let before = RELEASES.load(Ordering::SeqCst);
            let failure = run(export, &arguments).failure();
            check(export, parameter.name, &misuse, &failure);
            let released = RELEASES.load(Ordering::SeqCst) - before;
            assert_eq!(released, usize::from(has_release), "{}: the user data is released once", export.name);

            // The same without a place for the error object.
            if let Some(error) = export.out_error() {
                arguments[error] = Argument::Word(0);
                let ran = run(export, &arguments);
                assert_eq!(ran.status(), misuse.status, "{}: {}", export.name, misuse.what);
                ran.assert_cleared();
            }
        }
    }
    assert_eq!(fixture.snapshot(), snapshot, "{}: a refused call changes nothing", export.name);
    fixture.close();
}

/// The right arguments, also with NULL in the place of each output that may be NULL, each on a fixture of its
/// own: so it was the wrong argument that was refused.
fn use_rightly(export: &Export) {
    let optional = export.parameters.iter().enumerate().filter_map(|(at, parameter)| {
        let may_be_null = matches!(
            parameter.role,
            Role::Out { optional: true, .. }
                | Role::Handle { optional: true, .. }
                | Role::Name { optional: true, .. }
                | Role::Text { optional: true, .. }
                | Role::UserData
                | Role::Release
        );
        may_be_null.then_some(at)
    });
    for without in std::iter::once(None).chain(optional.map(Some)) {
        let fixture = Fixture::new();
        let mut arguments = arguments(export, &fixture);
        if let Some(at) = without {
            arguments[at] = Argument::Word(0);
        }
        run(export, &arguments).finish(export.answer);
        fixture.close();
    }
}

/// Closing is right at any time but for what is no handle of the kind.
fn misuse_close(export: &Export, kind: Kind) {
    let fixture = Fixture::new();
    let before = fixture.snapshot();
    let close = |word| run(export, &[Argument::Word(word)]).status();
    assert_eq!(close(0), TASKHOLD_OK, "{}: NULL", export.name);
    let closed = fixture::closed(kind);
    assert_eq!(close(closed), TASKHOLD_OK, "{}: closed", export.name);
    assert_eq!(close(closed), TASKHOLD_OK, "{}: closed again", export.name);
    for misuse in wrong_handles(kind, &fixture) {
        let Argument::Word(word) = misuse.argument else { unreachable!("a handle is a word") };
        if misuse.reason == "foreign" {
            assert_eq!(close(word), TASKHOLD_INVALID_HANDLE, "{}: {}", export.name, misuse.what);
        }
    }
    assert_eq!(fixture.snapshot(), before, "{}: nothing was closed", export.name);
    fixture.close();
}

#[test]
fn every_export_refuses_every_misuse_and_stays_as_it_was() {
    let _alone = support::alone();
    for export in exports::all() {
        let live = calls::live_handles();
        match export.parameters.as_slice() {
            [only] if matches!(only.role, Role::Closed(_)) => {
                let Role::Closed(kind) = only.role else { unreachable!("it matched") };
                misuse_close(&export, kind);
            }
            _ if export.answer == Answer::Plain => {}
            _ => misuse_every_parameter(&export),
        }
        use_rightly(&export);
        assert_eq!(calls::live_handles(), live, "{}: every handle was closed", export.name);
    }
}

#[test]
fn every_export_has_an_entry_that_agrees_with_the_header() {
    let text = std::fs::read_to_string(generated::root().join("include/taskhold.h")).expect("the header");
    let functions = header::functions(&text);
    let entries = exports::all();
    let symbols = std::fs::read_to_string(generated::root().join("tests/abi/symbols.txt")).expect("symbols");
    for symbol in symbols.lines() {
        let entry = entries.iter().find(|entry| entry.name == symbol);
        let entry = entry.unwrap_or_else(|| panic!("{symbol} has no entry in tests/support/exports.rs"));
        let function =
            functions.iter().find(|function| function.name == symbol).expect("it is in the header");
        let expected: Vec<_> =
            entry.parameters.iter().map(|parameter| (parameter.name, c_types(&parameter.role))).collect();
        let found: Vec<_> = function
            .parameters
            .iter()
            .map(|parameter| (parameter.name.as_str(), parameter.kind.as_str()))
            .collect();
        assert_eq!(found.len(), expected.len(), "{symbol}");
        for ((name, kind), (expected_name, expected_kind)) in found.into_iter().zip(expected) {
            assert_eq!(name, expected_name, "{symbol}");
            assert!(expected_kind.iter().any(|expected| expected == kind), "{symbol}: {name}: {kind}");
        }
    }
    assert_eq!(symbols.lines().count(), entries.len());
}

/// The C types that a role may have.
fn c_types(role: &Role) -> Vec<String> {
    let types: &[&str] = match role {
        Role::Handle { kind, .. } | Role::Closed(kind) => &[kind.c_type()],
        Role::Identifier { .. } | Role::Name { .. } | Role::Text { .. } | Role::Json { .. } => {
            &["constchar*"]
        }
        Role::Number { .. } => &["int32_t", "uint32_t", "int64_t", "uint64_t"],
        Role::Out { output: Output::Handle(kind), .. } => return vec![format!("{}*", kind.c_type())],
        Role::Out { output: Output::Int32, .. } => &["int32_t*"],
        Role::Out { output: Output::Uint64, .. } => &["uint64_t*"],
        Role::Out { output: Output::Text, .. } => &["char**"],
        Role::Owned => &["char*"],
        Role::UserData => &["void*"],
        Role::Callback | Role::Release => &["(*)"],
    };
    types.iter().map(|kind| (*kind).to_owned()).collect()
}

/// Look-ups of the same handle that was closed and whose slot is in use again.
#[test]
fn a_stale_handle_is_closed_whatever_became_of_its_slot() {
    let _alone = support::alone();
    for kind in Kind::ALL {
        let first = Fixture::new();
        let stale = first.handle(kind);
        first.close();
        let second = Fixture::new();
        assert_eq!(second.handle(kind) & 0xffff_ffff, stale & 0xffff_ffff, "{kind:?}: the slot is reused");
        for export in exports::all() {
            for (at, parameter) in export.parameters.iter().enumerate() {
                if !matches!(parameter.role, Role::Handle { kind: found, .. } if found == kind) {
                    continue;
                }
                let mut arguments = arguments(&export, &second);
                arguments[at] = Argument::Word(stale);
                assert_eq!(run(&export, &arguments).failure().reason(), "closed", "{}", export.name);
            }
        }
        assert_eq!(running::close(kind, stale), TASKHOLD_OK);
        let reason = calls::find_task(second.manager, &second.task_id).map(|_| ());
        assert_eq!(reason, Ok(()), "the slot's next handle is still open");
        second.close();
    }
}
