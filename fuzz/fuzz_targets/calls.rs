//! Random sequences of calls of every export, over handles and strings that are right, wrong, closed, given out
//! by earlier calls, or made up, on one thread or on two at once. No call crashes or reports a defect of the
//! library; a call that fails leaves its outputs cleared and says why; in the end nothing is left open.

#![no_main]

use std::ffi::{CString, c_char};
use std::sync::{LazyLock, Mutex, PoisonError};

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use taskhold::ffi::*;

#[path = "../../tests/support/calls.rs"]
#[allow(dead_code, reason = "a part of it is used")]
mod calls;
#[path = "../../tests/support/erased.rs"]
mod erased;
#[path = "../../tests/support/exports/mod.rs"]
#[allow(dead_code, reason = "a part of it is used")]
mod exports;
#[path = "../../tests/support/fixture.rs"]
#[allow(dead_code, reason = "a part of it is used")]
mod fixture;

use erased::Word;
use exports::{Answer, Argument, Export, Output, Role};
use fixture::{Fixture, Kind};

static EXPORTS: LazyLock<Vec<Export>> = LazyLock::new(exports::all);

/// How one argument is chosen.
#[derive(Arbitrary, Debug)]
enum Choice {
    /// As in a call that succeeds.
    Right,
    Null,
    /// A handle that is or was open, or a string that was given out.
    Known(u8),
    /// A text of the list below.
    Listed(u8),
    Text(Vec<u8>),
    Word(u64),
    /// The right text with a byte changed.
    Damaged(u8, u8),
}

#[derive(Arbitrary, Debug)]
struct Step {
    export: u8,
    choices: Vec<Choice>,
}

#[derive(Debug)]
struct Input {
    on_two_threads: bool,
    steps: Vec<Step>,
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let on_two_threads = u.arbitrary()?;
        let mut steps = Vec::new();
        while steps.len() < 24 && !u.is_empty() {
            let export: u8 = u.arbitrary()?;
            let parameters = EXPORTS[usize::from(export) % EXPORTS.len()].parameters.len();
            let mut choices = Vec::with_capacity(parameters);
            for _ in 0..parameters {
                // Mostly right, so that sequences get somewhere.
                let is_right = u.ratio(3_u8, 4_u8)?;
                choices.push(if is_right { Choice::Right } else { u.arbitrary()? });
            }
            steps.push(Step { export, choices });
        }
        Ok(Self { on_two_threads, steps })
    }
}

const LISTED: [&str; 20] = [
    "{}",
    "null",
    r#"{"expectedRevision":1}"#,
    r#"{"unlessCancelationRequested":true}"#,
    r#"{"withdrawInputRequests":["a"]}"#,
    r#"{"maximumPayloadBytes":1,"maximumRetainedTasks":1}"#,
    r#"{"concurrentSessionLimit":1,"idleTimeoutMs":1}"#,
    r#"{"pageSize":1,"pageToken":""}"#,
    r#"{"a":{"roots":[]},"b":{"roots":[]}}"#,
    r#"{"c":{"method":"roots/list"}}"#,
    r#"{"taskTimeToLiveMs":1}"#,
    r#"{"finalizedRetentionMs":1,"maximumRetainedTasks":1}"#,
    r#"{"id":"the-a2a-task","status":{"state":"completed"},"history":[1,{}],"artifacts":[]}"#,
    r#"{"worker":"w","queues":["q","none"],"leaseMs":1}"#,
    r#"{"endpoint":"/mcp","origin":{},"queue":"q","operationId":"o","attempts":{"maximum":2,"backoffMs":0}}"#,
    r#"{"lease":1,"park":true,"checkpoint":{}}"#,
    r#"{"lease":1,"countsAsAttempt":false,"statusMessage":null}"#,
    "/task/taskId",
    "",
    "\u{2003}",
];

/// What calls gave out so far, for later calls.
#[derive(Default)]
struct Known {
    handles: Vec<(Kind, u64)>,
    strings: Vec<CString>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn string(bytes: Vec<u8>) -> Argument {
    let bytes = bytes.into_iter().take_while(|byte| *byte != 0).collect::<Vec<_>>();
    Argument::String(CString::new(bytes).expect("cut at the first NUL"))
}

fn string_argument(role: &Role, choice: &Choice, fixture: &Fixture, known: &Mutex<Known>) -> Argument {
    match choice {
        Choice::Right | Choice::Word(_) => role.argument(fixture),
        Choice::Null => Argument::Word(0),
        Choice::Known(number) => {
            let known = lock(known);
            let given = known.strings.get(usize::from(*number) % known.strings.len().max(1));
            given.map_or(Argument::Word(0), |text| Argument::String(text.clone()))
        }
        Choice::Listed(number) => string(LISTED[usize::from(*number) % LISTED.len()].into()),
        Choice::Text(bytes) => string(bytes.clone()),
        Choice::Damaged(at, byte) => match role.argument(fixture) {
            Argument::String(text) if !text.is_empty() => {
                let mut bytes = text.into_bytes();
                let at = usize::from(*at) % bytes.len();
                bytes[at] = *byte;
                string(bytes)
            }
            other => other,
        },
    }
}

fn argument(name: &str, role: &Role, choice: &Choice, fixture: &Fixture, known: &Mutex<Known>) -> Argument {
    match role {
        Role::Handle { .. } | Role::Closed(_) => match choice {
            Choice::Null => Argument::Word(0),
            Choice::Known(number) => {
                let known = lock(known);
                let given = known.handles.get(usize::from(*number) % known.handles.len().max(1));
                Argument::Word(given.map_or(0, |(_, handle)| *handle))
            }
            Choice::Listed(number) => Argument::Word(fixture.handle(Kind::ALL[usize::from(*number) % 7])),
            Choice::Word(word) => Argument::Word(*word),
            _ => role.argument(fixture),
        },
        Role::Identifier { .. } | Role::Name { .. } | Role::Text { .. } | Role::Json { .. } => {
            string_argument(role, choice, fixture, known)
        }
        Role::Number { .. } => match choice {
            // Nothing waits for long.
            Choice::Word(word) if name == "timeout_ms" => Argument::Word(word % 2),
            Choice::Word(word) => Argument::Word(*word),
            Choice::Null => Argument::Word(0),
            _ => role.argument(fixture),
        },
        // Where an output may go, NULL may be given; a function to call may be missing.
        Role::Out { .. } | Role::Callback | Role::Release => match choice {
            Choice::Null => Argument::Word(0),
            _ => role.argument(fixture),
        },
        Role::Owned | Role::UserData => role.argument(fixture),
    }
}

fn call(step: &Step, fixture: &Fixture, known: &Mutex<Known>) {
    const GARBAGE: u64 = 0xa5a5_a5a5_a5a5_a5a5;
    let export = &EXPORTS[usize::from(step.export) % EXPORTS.len()];
    let arguments: Vec<Argument> = export
        .parameters
        .iter()
        .zip(&step.choices)
        .map(|(parameter, choice)| argument(parameter.name, &parameter.role, choice, fixture, known))
        .collect();
    let mut places = vec![GARBAGE; arguments.len()];
    let place = places.as_mut_ptr();
    let words: Vec<u64> = arguments
        .iter()
        .enumerate()
        .map(|(at, argument)| match argument {
            Argument::Word(word) => *word,
            Argument::String(string) => string.as_ptr().to_word(),
            Argument::Place => place.wrapping_add(at).to_word(),
        })
        .collect();
    // SAFETY: outputs have room, strings live until the call returns, functions are what they should be or
    // NULL, and a handle may be anything.
    let result = unsafe { export.function.call(&words) };
    if export.answer == Answer::Plain {
        return;
    }
    let status: taskhold_status = Word::from_word(result);
    assert_ne!(status, TASKHOLD_INTERNAL, "{} found a defect", export.name);
    assert_ne!(calls::status_name(status), "unknown");
    for ((parameter, argument), place) in export.parameters.iter().zip(&arguments).zip(places) {
        let (Role::Out { output, .. }, Argument::Place) = (&parameter.role, argument) else { continue };
        if parameter.name == "out_error" {
            let error = <*mut c_char>::from_word(place);
            assert_eq!(calls::outcome(status, error).is_ok(), status == TASKHOLD_OK);
            continue;
        }
        if status != TASKHOLD_OK {
            let cleared = if *output == Output::Int32 { place & 0xffff_ffff } else { place };
            assert_eq!(cleared, 0, "{}: {}", export.name, parameter.name);
            continue;
        }
        match output {
            Output::Text => {
                if let Some(text) = calls::take(<*mut c_char>::from_word(place)) {
                    lock(known).strings.push(CString::new(text).expect("a C string"));
                }
            }
            Output::Handle(kind) => lock(known).handles.push((*kind, place)),
            Output::Int32 | Output::Uint64 => assert_ne!(place, GARBAGE, "{}", parameter.name),
        }
    }
}

/// As `tests/support/running.rs` has it.
fn close(kind: Kind, handle: u64) {
    // SAFETY: any value may be given.
    let status = unsafe {
        match kind {
            Kind::Clock => taskhold_clock_close(Word::from_word(handle)),
            Kind::Store => taskhold_store_close(Word::from_word(handle)),
            Kind::Manager => taskhold_manager_close(Word::from_word(handle)),
            Kind::Subscription => taskhold_subscription_close(Word::from_word(handle)),
            Kind::Events => taskhold_events_close(Word::from_word(handle)),
            Kind::SessionStore => taskhold_session_store_close(Word::from_word(handle)),
            Kind::StateProvider => taskhold_state_provider_close(Word::from_word(handle)),
        }
    };
    assert_eq!(status, TASKHOLD_OK);
}

/// The fixture's handles are words that any thread may use.
struct Shared<'a>(&'a Fixture);
// SAFETY: see above; its texts are only read.
unsafe impl Sync for Shared<'_> {}

impl Shared<'_> {
    fn fixture(&self) -> &Fixture {
        self.0
    }
}

fuzz_target!(|input: Input| {
    let fixture = Fixture::new();
    let known = Mutex::new(Known::default());
    lock(&known).strings.push(CString::new(fixture.task_id.clone()).expect("no NUL"));
    if input.on_two_threads {
        let shared = Shared(&fixture);
        let (first, second) = input.steps.split_at(input.steps.len() / 2);
        std::thread::scope(|scope| {
            let threads = [first, second].map(|steps| {
                let (shared, known) = (&shared, &known);
                scope.spawn(move || steps.iter().for_each(|step| call(step, shared.fixture(), known)))
            });
            // The scope would not wait for what threads free at their very end, which would look like a leak.
            for thread in threads {
                thread.join().expect("no panic");
            }
        });
    } else {
        input.steps.iter().for_each(|step| call(step, &fixture, &known));
    }
    let opened = known.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (kind, handle) in opened.handles {
        close(kind, handle);
    }
    fixture.close();
    assert_eq!(calls::live_handles(), 0);
});
