//! Processes over one file. They mix all operations, some of them are killed, and an audit compares what each
//! was told with what the file holds. `TASKHOLD_KILL_ROUNDS` says how many rounds (10 unless given).
//!
//! A process says on its standard output what came back from each call. What is killed in between may have
//! done more than it said, but never less.

mod processes;
mod stores;

use std::path::Path;

use processes::{audit, worker};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, file, number, operations] = &arguments[..]
        && role == "worker"
    {
        worker::run(Path::new(file), number.parse().unwrap(), operations.parse().unwrap());
        return;
    }
    let rounds = std::env::var("TASKHOLD_KILL_ROUNDS").ok();
    let rounds: u64 = rounds.map_or(10, |rounds| rounds.parse().expect("TASKHOLD_KILL_ROUNDS is a number"));
    for round in 0..rounds.div_ceil(4) {
        println!("sixteen processes open a new file");
        audit::sixteen_open_a_new_file(round);
    }
    for round in 0..rounds {
        let processes = if round % 2 == 0 { 8 } else { 2 };
        let said = audit::round(round, processes);
        println!("round {round}: {processes} processes, {said}");
    }
    println!("ok: {rounds} rounds");
}
