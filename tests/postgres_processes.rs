//! The test of many processes over a PostgreSQL server (4 rounds of kills, and 2 of queued work, unless given).

mod processes;
mod stores;

fn main() {
    processes::main(stores::Kind::Postgres, [4, 2]);
}
