//! Rows M1 to M9 and W1, W3, W4: the exported functions over the memory store against their anchors, in one process and in
//! turn. Every target is a ratio, or a figure that ten times this machine's noise would not reach.

#![allow(clippy::pedantic)] // Figures are rounded on purpose, and the loops read best as they are.

mod a2a;
mod growth;
mod sessions;
#[path = "../support/mod.rs"]
mod support;
mod tasks;
mod threads;
mod work;

use support::{Api, Table};

const ROUNDS: usize = 9;

/// What M1 asks of a find among so many records, as a ratio to RAW FIND. A large record is mostly copied.
fn most_of_a_find(count: usize, bytes: usize) -> f64 {
    match (count, bytes) {
        (_, 20_000..) => 1.3,
        (100_000.., _) => 1.5,
        _ => 2.0,
    }
}

fn main() {
    let api = Api::load();
    // `cargo bench -- M1 M6` runs these rows only; `--small` leaves the million out.
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--bench")).collect();
    let large = if asked.iter().any(|arg| arg == "--small") { 200_000 } else { 1_000_000 };
    let rows: Vec<_> = asked.iter().filter(|arg| !arg.starts_with("--")).collect();
    let wanted = |row: &str| rows.is_empty() || rows.iter().any(|asked| *asked == row);
    let table = Table::start("In memory, through the exported C functions");
    let all: [(&str, &dyn Fn()); 13] = [
        ("M1", &|| tasks::finds(&api, &table)),
        ("M2", &|| tasks::creations(&api, &table)),
        ("M3", &|| tasks::transitions(&api, &table)),
        ("M3", &|| a2a::saves(&api, &table)),
        ("M4", &|| sessions::finds_and_replacements(&api, &table)),
        ("M5", &|| threads::different_keys(&api, &table)),
        ("M6", &|| a2a::listings(&api, &table, large)),
        ("M7", &|| growth::hot_keys(&api, &table, large)),
        ("M8", &|| growth::memory(&api, &table)),
        ("M9", &|| threads::idle_calls(&api, &table)),
        ("W1", &|| work::claims(&api, &table)),
        ("W3", &|| work::renewals(&api, &table)),
        ("W4", &|| work::idle_claims(&api, &table)),
    ];
    for (row, run) in all {
        if wanted(row) {
            run();
        }
    }
}
