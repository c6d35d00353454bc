//! The queue of those who write: what is acknowledged is committed, by whomever, and nobody waits for an end that
//! nobody tells.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rusqlite::Connection;
use shuttle::rand::Rng as _;
use shuttle::thread;

use super::backoff::Backoff;
use super::failure::Failure;
use super::file::StoreFile;
use super::writer::{Transaction, Writer};
use crate::Model;
use crate::error::{Error, Reason, Result};

pub const ALL: &[Model] = &[
    ("writer: what is acknowledged is committed, whoever commits", the_acknowledged_is_committed),
    ("writer: a commit that fails is told to all who shared it, and to readers of it", a_commit_that_fails),
    (
        "writer: a step that panics after it wrote, or refuses before, ends nobody else's wait",
        a_step_that_panics,
    ),
    ("writer: who works outside of transactions meets none, and who only tries waits for none", outside),
];

/// The rows that were inserted since the last end of a transaction, and those that were committed.
#[derive(Default)]
struct Rows {
    open: HashSet<i64>,
    committed: HashSet<i64>,
}

struct World {
    writer: Writer,
    backoff: Backoff,
    rows: Arc<Mutex<Rows>>,
}

impl World {
    /// The first `failures` commits that write fail.
    fn new(failures: usize) -> Arc<Self> {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE rows (number INTEGER PRIMARY KEY)").unwrap();
        let rows = Arc::new(Mutex::new(Rows::default()));
        let (committing, mut failures) = (Arc::clone(&rows), failures);
        connection
            .commit_hook(Some(move || {
                let mut rows = committing.lock().unwrap();
                let open = std::mem::take(&mut rows.open);
                let fails = failures > 0;
                if fails {
                    failures -= 1;
                } else {
                    rows.committed.extend(open);
                }
                fails
            }))
            .unwrap();
        let rolling_back = Arc::clone(&rows);
        connection.rollback_hook(Some(move || rolling_back.lock().unwrap().open.clear())).unwrap();
        let writer = Writer::new(connection, StoreFile::new(), 1);
        Arc::new(Self { writer, backoff: Backoff::new(1), rows })
    }

    fn run<T>(
        &self,
        step: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, Failure>,
    ) -> Result<std::result::Result<T, Error>> {
        self.writer.run(&self.backoff, Instant::now(), step)
    }

    fn insert(&self, transaction: &Transaction<'_>, number: i64) -> std::result::Result<(), Failure> {
        transaction.execute("INSERT INTO rows VALUES (?1)", (number,))?;
        self.rows.lock().unwrap().open.insert(number);
        Ok(())
    }

    fn write(&self, number: i64) -> bool {
        let outcome = self.run(|transaction| self.insert(transaction, number));
        assert_eq!(outcome.is_ok(), self.is_committed(number), "an answer is what became of the transaction");
        outcome.is_ok()
    }

    fn is_committed(&self, number: i64) -> bool {
        self.rows.lock().unwrap().committed.contains(&number)
    }

    /// What a step sees is committed when the call returns, or the call fails.
    fn look(&self) -> bool {
        let seen = self.run(|transaction| {
            Ok(transaction.query_all("SELECT number FROM rows", (), |row| row.get::<_, i64>(0))?)
        });
        let Ok(seen) = seen else { return false };
        assert!(seen.unwrap().into_iter().all(|number| self.is_committed(number)), "seen, and not committed");
        true
    }

    /// The table has what was committed and no more.
    fn assert_rows(&self, expected: usize) {
        let count = self.writer.outside(|connection| {
            assert!(connection.is_autocommit(), "a transaction is left open");
            connection.query_row("SELECT count(*) FROM rows", (), |row| row.get::<_, i64>(0)).unwrap()
        });
        assert_eq!(usize::try_from(count), Ok(expected));
        assert_eq!(self.rows.lock().unwrap().committed.len(), expected);
    }
}

type Call = Box<dyn FnOnce(&World) -> bool + Send>;

/// Makes the calls, each on a thread, and says which of them were acknowledged.
fn race(world: &Arc<World>, calls: Vec<Call>) -> Vec<bool> {
    let threads: Vec<_> = calls
        .into_iter()
        .map(|call| {
            let world = Arc::clone(world);
            thread::spawn(move || call(&world))
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn the_acknowledged_is_committed() {
    let world = World::new(0);
    let calls: Vec<Call> = vec![
        Box::new(|world| world.write(1) && world.write(2)),
        Box::new(|world| world.write(3)),
        Box::new(|world| world.write(4)),
        Box::new(World::look),
    ];
    assert!(race(&world, calls).into_iter().all(|done| done));
    world.assert_rows(4);
    assert_eq!(world.writer.writes(), 4);
    assert!((1..=4).contains(&world.writer.commits()));
}

fn a_commit_that_fails() {
    let failures = shuttle::rand::thread_rng().gen_range(1..3);
    let world = World::new(failures);
    let calls: Vec<Call> = vec![
        Box::new(|world| world.write(1)),
        Box::new(|world| world.write(2)),
        Box::new(|world| world.write(3)),
        Box::new(World::look),
    ];
    let written = race(&world, calls)[..3].iter().filter(|done| **done).count();
    world.assert_rows(written);
}

fn a_step_that_panics() {
    let world = World::new(0);
    let panics: Call = Box::new(|world| {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            world.run(|transaction| -> std::result::Result<(), Failure> {
                world.insert(transaction, 1)?;
                resume_unwind(Box::new("on purpose"))
            })
        }));
        panicked.is_ok() || world.is_committed(1)
    });
    let refuses: Call = Box::new(|world| {
        let refusal = || Failure::Refused(Error::new(Reason::TaskTerminal, ""));
        matches!(world.run(|_| Err::<(), _>(refusal())), Ok(Ok(())))
    });
    let calls = vec![
        panics,
        refuses,
        Box::new(|world: &World| world.write(2)),
        Box::new(|world: &World| world.write(3)),
    ];
    let done = race(&world, calls);
    assert_eq!(done[..2], [false, false]);
    world.assert_rows(done[2..].iter().filter(|done| **done).count());
}

fn outside() {
    let world = World::new(0);
    let calls: Vec<Call> = vec![
        Box::new(|world| world.write(1)),
        Box::new(|world| world.write(2)),
        Box::new(|world| world.writer.outside(Connection::is_autocommit)),
        Box::new(|world| {
            let tried = world.writer.try_run(&world.backoff, |transaction| world.insert(transaction, 3));
            assert_eq!(tried.is_some(), world.is_committed(3));
            true
        }),
    ];
    assert!(race(&world, calls).into_iter().all(|done| done));
    let tried = usize::from(world.is_committed(3));
    world.assert_rows(2 + tried);
}
