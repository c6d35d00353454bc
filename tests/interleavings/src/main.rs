//! Models of what threads do to each other in the library. The library's sources are compiled here a second
//! time, with a `sync` module that hands out shuttle's primitives instead of the standard library's: a scheduler
//! decides at every lock, wait and atomic access which thread goes on, tries many orders, and reports a failed
//! assertion, a deadlock or a lost wake-up together with the schedule that leads to it. Schedules are drawn at
//! random and by probabilistic concurrency testing, which finds a fault that takes few changes of thread.
//!
//! `interleavings [NAME]` runs the models whose name contains NAME. `TASKHOLD_SCHEDULES` says how many schedules
//! each has; those over files have fewer.

#![allow(
    dead_code,
    missing_docs,
    non_camel_case_types,
    unused_imports,
    reason = "the library is compiled without the exports that use it"
)]

#[path = "../../../src/a2a/mod.rs"]
mod a2a;
#[path = "../../../src/claimers.rs"]
mod claimers;
#[path = "../../../src/clock.rs"]
mod clock;
#[path = "../../../src/error.rs"]
mod error;
#[path = "../../../src/events.rs"]
mod events;
mod fault;
mod ffi;
#[path = "../../../src/json/mod.rs"]
mod json;
#[path = "../../../src/options.rs"]
mod options;
#[path = "../../../src/page_token.rs"]
mod page_token;
#[path = "../../../src/reason.rs"]
mod reason;
#[path = "../../../src/session/mod.rs"]
mod session;
#[path = "../../../src/store/mod.rs"]
mod store;
mod sync;
#[path = "../../../src/task/mod.rs"]
mod task;
#[path = "../../../src/text.rs"]
mod text;
#[path = "../../../src/time.rs"]
mod time;

mod model_claimers;
mod model_events;
mod model_pins;
mod model_rules;
mod model_table;
mod sqlite;

use std::time::Instant;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};

/// A model: what is modelled, and one run of it.
type Model = (&'static str, fn());

/// How many changes of thread a fault may take that the second scheduler looks for.
const DEPTH: usize = 3;
/// Models over files have one schedule for so many of others.
const FEWER_OVER_FILES: usize = 20;

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let schedules: usize = std::env::var("TASKHOLD_SCHEDULES")
        .map_or(2000, |text| text.parse().expect("TASKHOLD_SCHEDULES is a number"));
    // Its atomics are sequentially consistent: weaker orderings are what `orderings` and Miri look at.
    // Leases of pins are renewed at every turn of SQLite's worker.
    // SAFETY: there is one thread yet.
    unsafe {
        std::env::set_var("SHUTTLE_SILENCE_WARNINGS", "1");
        std::env::set_var("TASKHOLD_TEST_PIN_RENEW_MS", "0");
    }
    let in_memory = [ffi::models::ALL, model_events::ALL, model_table::ALL, model_rules::ALL, model_claimers::ALL].concat();
    let models = [in_memory, sqlite::models()].concat().into_iter().map(|model| (model, schedules));
    // Each run makes a file, which takes as long as a hundred runs of others.
    let over_files = model_pins::ALL.iter().map(|&model| (model, schedules.div_ceil(FEWER_OVER_FILES)));
    let wanted: Vec<(Model, usize)> =
        models.chain(over_files).filter(|((name, _), _)| name.contains(&wanted)).collect();
    assert!(!wanted.is_empty(), "no model has such a name");
    for ((name, model), schedules) in wanted {
        let begun = Instant::now();
        let mut config = Config::new();
        config.stack_size = 1 << 20;
        Runner::new(RandomScheduler::new(schedules / 2), config.clone()).run(model);
        Runner::new(PctScheduler::new(DEPTH, schedules - schedules / 2), config).run(model);
        println!("ok: {name} ({schedules} schedules, {:.1} s)", begun.elapsed().as_secs_f32());
    }
}
