//! Races in rounds: a few threads that live through all rounds meet at a barrier, act on the state that was
//! set up for the round, and meet again; then the outcome is checked.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread;

use crate::support::stores::Kind;

/// How many rounds each race has. In a database each call is a transaction.
fn rounds() -> usize {
    let given = std::env::var("TASKHOLD_RACE_ROUNDS").ok();
    let usual = match Kind::wanted() {
        Kind::Memory => 2000,
        Kind::Sqlite => 200,
        Kind::Postgres => 60,
    };
    given.map_or(usual, |text| text.parse().expect("TASKHOLD_RACE_ROUNDS is a number"))
}

/// A barrier that spins shortly, so that threads leave it together, and then gives way.
struct Gate {
    threads: usize,
    arrived: AtomicUsize,
    turn: AtomicUsize,
}

impl Gate {
    fn pass(&self) {
        let turn = self.turn.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.turn.store(turn + 1, Ordering::Release);
            return;
        }
        let mut looks = 0;
        while self.turn.load(Ordering::Acquire) == turn {
            looks += 1;
            if looks < 200 {
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }
}

/// A short time that differs by round and racer, so that the racers overlap in many ways.
fn stagger(round: usize, racer: usize) {
    let mixed = (round * 31 + racer * 17 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    for _ in 0..mixed % 400 {
        std::hint::spin_loop();
    }
}

/// What one racer of a race does with the state of a round.
pub type Racer<'a, S, T> = &'a (dyn Fn(&S) -> T + Sync);

/// Lets `racers` act at once on what `setup` makes, round for round, and has `check` look at each outcome.
pub fn race<S: Send + Sync, T: Send>(
    setup: impl Fn(usize) -> S,
    racers: &[Racer<'_, S, T>],
    check: impl Fn(S, Vec<T>),
) {
    type Outcome<T> = Result<T, Box<dyn Any + Send>>;
    let gate = Gate { threads: racers.len(), arrived: AtomicUsize::new(0), turn: AtomicUsize::new(0) };
    let state: RwLock<Option<S>> = RwLock::new(None);
    let outcomes: Vec<Mutex<Option<Outcome<T>>>> = racers.iter().map(|_| Mutex::new(None)).collect();
    let over = AtomicBool::new(false);
    let run = |round: usize, number: usize| {
        let state = state.read().unwrap_or_else(PoisonError::into_inner);
        let state = state.as_ref().expect("set up");
        gate.pass();
        stagger(round, number);
        let outcome = catch_unwind(AssertUnwindSafe(|| racers[number](state)));
        *outcomes[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        gate.pass();
    };
    thread::scope(|scope| {
        for number in 1..racers.len() {
            let (gate, over, run) = (&gate, &over, &run);
            scope.spawn(move || {
                for round in 0.. {
                    gate.pass();
                    if over.load(Ordering::Acquire) {
                        return;
                    }
                    run(round, number);
                }
            });
        }
        let played = catch_unwind(AssertUnwindSafe(|| {
            for round in 0..rounds() {
                *state.write().unwrap_or_else(PoisonError::into_inner) = Some(setup(round));
                gate.pass();
                run(round, 0);
                let take = |place: &Mutex<Option<Outcome<T>>>| {
                    let outcome = place.lock().unwrap_or_else(PoisonError::into_inner).take();
                    outcome.expect("each racer has an outcome").unwrap_or_else(|panic| resume_unwind(panic))
                };
                let outcomes = outcomes.iter().map(take).collect();
                let played = state.write().unwrap_or_else(PoisonError::into_inner).take();
                check(played.expect("set up"), outcomes);
            }
        }));
        over.store(true, Ordering::Release);
        gate.pass();
        if let Err(panic) = played {
            resume_unwind(panic);
        }
    });
}
