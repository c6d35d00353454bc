//! The test of many processes over a file (10 rounds of kills, and 4 of queued work, unless given).

mod processes;
mod stores;

fn main() {
    processes::main(stores::Kind::Sqlite, [10, 4]);
}
