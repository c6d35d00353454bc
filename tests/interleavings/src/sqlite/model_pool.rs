//! The connections that read: no more at once than there may be, and room that a failure or a panic leaves is not lost.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use shuttle::thread;

use super::backoff::Backoff;
use super::file::StoreFile;
use super::pool::Pool;
use crate::Model;

pub const ALL: &[Model] = &[
    ("pool: readers share a bounded number of connections, whatever becomes of each", readers_share),
    ("pool: a connection that cannot be opened leaves its room to others", an_open_that_fails),
];

const MOST: usize = 2;

struct World {
    pool: Pool,
    backoff: Backoff,
    reading: AtomicUsize,
}

impl World {
    fn new(file: Arc<StoreFile>) -> Arc<Self> {
        let pool = Pool::new(file, Duration::ZERO, MOST);
        Arc::new(Self { pool, backoff: Backoff::new(1), reading: AtomicUsize::new(0) })
    }

    fn read(&self, end: fn() -> rusqlite::Result<()>) -> bool {
        let outcome = self.pool.read(&self.backoff, |connection| {
            assert!(self.reading.fetch_add(1, Ordering::Relaxed) < MOST, "too many at once");
            thread::yield_now();
            let is_whole = connection.is_autocommit();
            self.reading.fetch_sub(1, Ordering::Relaxed);
            assert!(is_whole);
            end()
        });
        outcome.is_ok()
    }

    /// All the room there is can be had at once.
    fn assert_whole(&self) {
        let nested = self.pool.read(&self.backoff, |_| {
            assert!(self.pool.read(&self.backoff, |_| Ok(())).is_ok());
            Ok(())
        });
        assert!(nested.is_ok());
    }
}

fn readers_share() {
    let world = World::new(StoreFile::new());
    let ends: [fn() -> rusqlite::Result<()>; 4] = [
        || Ok(()),
        || Err(rusqlite::Error::InvalidQuery),
        || resume_unwind(Box::new("on purpose")),
        || Ok(()),
    ];
    let readers = ends.map(|end| {
        let world = Arc::clone(&world);
        thread::spawn(move || catch_unwind(AssertUnwindSafe(|| world.read(end))).ok())
    });
    let outcomes = readers.map(|reader| reader.join().unwrap());
    assert_eq!(outcomes, [Some(true), Some(false), None, Some(true)]);
    world.assert_whole();
}

fn an_open_that_fails() {
    let file = StoreFile::new();
    file.fails.store(true, Ordering::Relaxed);
    let world = World::new(file);
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let world = Arc::clone(&world);
            thread::spawn(move || world.read(|| Ok(())))
        })
        .collect();
    let served = readers.into_iter().map(|reader| reader.join().unwrap());
    assert_eq!(served.filter(|served| !served).count(), 1);
    world.assert_whole();
}
