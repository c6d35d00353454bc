//! Processes over one store. They mix all operations, some of them are killed, and an audit compares what each
//! was told with what the store holds. Others share queued work, where some also stand still for longer than their
//! leases. `TASKHOLD_KILL_ROUNDS` says how many rounds of both.
//!
//! A process says on its standard output what came back from each call. What is killed in between may have
//! done more than it said, but never less.

pub mod audit;
pub mod queue_audit;
pub mod queue_worker;
pub mod worker;

use taskhold::clock::Clock;
use taskhold::store::Store;

use crate::stores::postgres::sql;
use crate::stores::{Kind, Place};
use queue_audit::Figures;

/// Tasks that every process tries to end, and takes responses from.
pub const CONTESTED: usize = 24;
/// Sessions and A2A tasks that every process changes.
pub const SHARED: usize = 6;
/// The limit of the manager that is too small for all.
pub const LIMIT: usize = 30;
/// The queues of the workers, in their order of preference.
pub const QUEUES: [&str; 2] = ["urgent", "reports"];
/// Of one claim or renewal: shorter than a process may stand still.
pub const LEASE_MS: u64 = 60;
/// Operations that every process may begin.
pub const OPERATIONS: u64 = 24;

/// The store that processes share: what each of them opens, and, for the first of them, its place.
pub struct Shared {
    pub url: String,
    pub options: String,
    place: Option<Place>,
}

impl Shared {
    /// A place for an empty store.
    pub fn new(kind: Kind) -> Self {
        let place = Place::new(kind);
        let (url, options) = place.address();
        let options = match kind {
            // Short waits of a reader for others are normal; none is refused.
            Kind::Sqlite => r#"{"durability": "normal", "busyTimeoutMs": 20000}"#.to_owned(),
            _ => options,
        };
        Self { url, options, place: Some(place) }
    }

    pub fn open(&self) -> Store {
        Store::open(Some(&self.url), Some(&self.options), Clock::System).unwrap()
    }

    /// Leaves something in the place that is no store yet, as whoever sets a host up may.
    fn prepare(&self) {
        match self.place.as_ref() {
            Some(Place::File(folder)) => std::fs::write(folder.path.join("agents.db"), "").unwrap(),
            Some(Place::Schema(schema)) => drop(sql(&format!("CREATE SCHEMA {}", schema.name))),
            _ => {}
        }
    }
}

/// The whole test, and each of its processes. `rounds` are those of both parts unless the environment says more.
pub fn main(kind: Kind, rounds: [u64; 2]) {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, url, options, number, operations] = &arguments[..] {
        let shared = Shared { url: url.clone(), options: options.clone(), place: None };
        let run = match &**role {
            "worker" => worker::run,
            "queue" => queue_worker::run,
            _ => panic!("no process is a {role}"),
        };
        run(&shared, number.parse().unwrap(), operations.parse().unwrap());
        return;
    }
    let given = std::env::var("TASKHOLD_KILL_ROUNDS").ok();
    let given: Option<u64> = given.map(|rounds| rounds.parse().expect("TASKHOLD_KILL_ROUNDS is a number"));
    let [rounds, rounds_of_queues] = rounds.map(|usual| given.unwrap_or(usual));
    for round in 0..rounds.div_ceil(4) {
        println!("sixteen processes open a new store, then one that is used");
        audit::sixteen_open_a_new_store(kind, round);
        audit::sixteen_open_a_used_store(kind, round);
    }
    for round in 0..rounds {
        let processes = if round % 2 == 0 { 8 } else { 2 };
        let said = audit::round(kind, round, processes);
        println!("round {round}: {processes} processes, {said}");
    }
    let mut figures = Figures::default();
    for round in 0..rounds_of_queues {
        let figures_of_round = queue_audit::round(kind, round);
        println!("queued work, round {round}: {figures_of_round:?}");
        figures.add(figures_of_round);
    }
    println!("queued work in all:\n{}\n{}", Figures::TITLES, figures.line());
    println!("ok: {rounds} rounds");
}

/// A small generator of numbers.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }
}
