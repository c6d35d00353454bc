//! Processes over one file. They mix all operations, some of them are killed, and an audit compares what each
//! was told with what the file holds. Others share queued work, where some also stand still for longer than their
//! leases. `TASKHOLD_KILL_ROUNDS` says how many rounds of both (10, and 4 of queued work, unless given).
//!
//! A process says on its standard output what came back from each call. What is killed in between may have
//! done more than it said, but never less.

mod processes;
mod stores;

use std::path::Path;

use processes::queue_audit::{self, Figures};
use processes::{audit, queue_worker, worker};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, file, number, operations] = &arguments[..] {
        let run = match &**role {
            "worker" => worker::run,
            "queue" => queue_worker::run,
            _ => panic!("no process is a {role}"),
        };
        run(Path::new(file), number.parse().unwrap(), operations.parse().unwrap());
        return;
    }
    let given = std::env::var("TASKHOLD_KILL_ROUNDS").ok();
    let given: Option<u64> = given.map(|rounds| rounds.parse().expect("TASKHOLD_KILL_ROUNDS is a number"));
    let rounds = given.unwrap_or(10);
    for round in 0..rounds.div_ceil(4) {
        println!("sixteen processes open a new file");
        audit::sixteen_open_a_new_file(round);
    }
    for round in 0..rounds {
        let processes = if round % 2 == 0 { 8 } else { 2 };
        let said = audit::round(round, processes);
        println!("round {round}: {processes} processes, {said}");
    }
    let mut figures = Figures::default();
    for round in 0..given.unwrap_or(4) {
        let figures_of_round = queue_audit::round(round);
        println!("queued work, round {round}: {figures_of_round:?}");
        figures.add(figures_of_round);
    }
    println!("queued work in all:\n{}\n{}", Figures::TITLES, figures.line());
    println!("ok: {rounds} rounds");
}
