//! Random sequences of calls of all three systems over one store, against a naive model that keeps plain maps
//! of JSON values: after each call the status, the reason and the document must be what the model says.
//! `TASKHOLD_MODEL_CASES` sets how many sequences are played. A sequence that does not hold is printed as a case
//! for `tests/vectors`.

#[path = "vectors_runner/calls.rs"]
#[allow(dead_code)]
mod calls;
mod support;

#[path = "model"]
mod model {
    pub mod a2a;
    pub mod a2a_steps;
    pub mod call;
    pub mod pool;
    pub mod queues;
    pub mod session_steps;
    pub mod sessions;
    pub mod task_protocol;
    pub mod task_steps;
    pub mod tasks;
    pub mod time;
    pub mod work;
    pub mod work_steps;
    pub mod world;
}

use model::world::{Numbers, World};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use support::stores::Kind;

fn cases() -> u32 {
    let given = std::env::var("TASKHOLD_MODEL_CASES").ok();
    let usual = match Kind::wanted() {
        Kind::Memory => 100,
        Kind::Sqlite => 30,
        Kind::Postgres => 8,
    };
    given.map_or(usual, |text| text.parse().expect("TASKHOLD_MODEL_CASES is a number"))
}

/// Plays sequences in which `weights` says how often each system is called.
fn play(weights: [u32; 4]) {
    let config =
        Config { cases: cases(), failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    let [tasks, sessions, a2a, work] = weights;
    let step = prop_oneof![
        tasks => any::<Numbers>().prop_map(|numbers| (0, numbers)),
        sessions => any::<Numbers>().prop_map(|numbers| (1, numbers)),
        a2a => any::<Numbers>().prop_map(|numbers| (2, numbers)),
        2 => any::<Numbers>().prop_map(|numbers| (3, numbers)),
        work => any::<Numbers>().prop_map(|numbers| (4, numbers)),
    ];
    let sequences = prop::collection::vec(step, 0..=120);
    let outcome = TestRunner::new(config).run(&sequences, |steps| {
        let mut world = World::new();
        for (system, numbers) in steps {
            world.step(system, numbers);
            if let Some(failure) = &world.failure {
                return Err(TestCaseError::fail(failure.clone()));
            }
        }
        world.audit();
        world.failure.as_ref().map_or(Ok(()), |failure| Err(TestCaseError::fail(failure.clone())))
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(failure, _)) => panic!("{failure}"),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

#[test]
fn tasks_are_as_the_model_says() {
    play([12, 0, 0, 0]);
}

#[test]
fn sessions_are_as_the_model_says() {
    play([0, 12, 0, 0]);
}

#[test]
fn a2a_tasks_are_as_the_model_says() {
    play([0, 0, 12, 0]);
}

#[test]
fn all_three_are_as_the_model_says() {
    play([5, 4, 4, 0]);
}

#[test]
fn queued_tasks_are_as_the_model_says() {
    play([8, 0, 0, 10]);
}
