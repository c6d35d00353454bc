//! Running any export with any arguments, and looking at what it did to its outputs.

use std::ffi::c_char;

use taskhold::ffi::*;

use super::calls::{self, Failure};
use super::erased::Word;
use super::exports::{Answer, Argument, Export, Output, Role};
use super::fixture::{Fixture, Kind};

/// What an output holds before a call: a function must neither read it nor leave it.
const GARBAGE: u64 = 0xa5a5_a5a5_a5a5_a5a5;
const LOW_HALF: u64 = 0xffff_ffff;

/// What a call left behind.
pub struct Ran<'a> {
    export: &'a Export,
    /// The result: a status for most exports.
    pub result: u64,
    /// What stands in the place of each output that was given one.
    places: Vec<Option<u64>>,
}

/// The arguments of a call that succeeds.
pub fn arguments(export: &Export, fixture: &Fixture) -> Vec<Argument> {
    export.parameters.iter().map(|parameter| parameter.role.argument(fixture)).collect()
}

/// Calls `export`; its outputs hold garbage before.
pub fn run<'a>(export: &'a Export, arguments: &[Argument]) -> Ran<'a> {
    assert_eq!(arguments.len(), export.parameters.len(), "{}", export.name);
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
    // SAFETY: outputs have room, strings live until the call returns, and a handle may be anything.
    let result = unsafe { export.function.call(&words) };
    let places = arguments
        .iter()
        .zip(places)
        .map(|(argument, place)| matches!(argument, Argument::Place).then_some(place))
        .collect();
    Ran { export, result, places }
}

impl Ran<'_> {
    /// The result as a status.
    pub fn status(&self) -> taskhold_status {
        Word::from_word(self.result)
    }

    /// Takes the error object over and checks it; every other output must be cleared.
    pub fn failure(mut self) -> Failure {
        let error = self.export.out_error().and_then(|at| self.places[at].take());
        self.assert_cleared();
        let error = error.expect("out_error was given a place");
        assert_ne!(self.status(), TASKHOLD_OK, "{}", self.export.name);
        calls::outcome(self.status(), <*mut c_char>::from_word(error)).expect_err("a failure")
    }

    /// Checks that every output was cleared, and no byte beside it was touched.
    pub fn assert_cleared(&self) {
        for (parameter, place) in self.export.parameters.iter().zip(&self.places) {
            let Some(place) = *place else { continue };
            let expected = match &parameter.role {
                Role::Out { output: Output::Int32, .. } => GARBAGE & !LOW_HALF,
                _ => 0,
            };
            assert_eq!(place, expected, "{}: {}", self.export.name, parameter.name);
        }
    }

    /// Checks that the call ended as `answer` says, and lets go of what it gave out.
    pub fn finish(self, answer: Answer) {
        if let Answer::Status(expected) = answer {
            let error = self.export.out_error().and_then(|at| self.places[at]).unwrap_or(0);
            let error = calls::take(<*mut c_char>::from_word(error));
            assert_eq!(self.status(), expected, "{}: {error:?}", self.export.name);
        }
        for (parameter, place) in self.export.parameters.iter().zip(&self.places) {
            let (Role::Out { output, .. }, Some(place)) = (&parameter.role, *place) else { continue };
            match output {
                Output::Text if parameter.name != "out_error" => {
                    calls::take(<*mut c_char>::from_word(place));
                }
                Output::Handle(kind) => assert_eq!(close(*kind, place), TASKHOLD_OK),
                Output::Int32 => assert_eq!(place & !LOW_HALF, GARBAGE & !LOW_HALF, "{}", self.export.name),
                Output::Text | Output::Uint64 => {}
            }
        }
    }
}

/// Closes a handle of `kind`.
pub fn close(kind: Kind, handle: u64) -> taskhold_status {
    // SAFETY: any value may be given.
    unsafe {
        match kind {
            Kind::Clock => taskhold_clock_close(Word::from_word(handle)),
            Kind::Store => taskhold_store_close(Word::from_word(handle)),
            Kind::Manager => taskhold_manager_close(Word::from_word(handle)),
            Kind::Subscription => taskhold_subscription_close(Word::from_word(handle)),
            Kind::Events => taskhold_events_close(Word::from_word(handle)),
            Kind::SessionStore => taskhold_session_store_close(Word::from_word(handle)),
            Kind::StateProvider => taskhold_state_provider_close(Word::from_word(handle)),
        }
    }
}
