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
    println!("sixteen processes open an empty file");
    audit::sixteen_open_an_empty_file();
    let rounds = std::env::var("TASKHOLD_KILL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    let rounds: u64 = rounds.unwrap_or(10);
    for round in 0..rounds {
        let processes = if round % 2 == 0 { 8 } else { 2 };
        let said = audit::round(round, processes);
        println!("round {round}: {processes} processes, {said}");
    }
    println!("ok: {rounds} rounds");
}
