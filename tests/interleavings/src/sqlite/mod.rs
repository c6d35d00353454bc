//! What shares SQLite's connections and threads, between stand-ins for its neighbours: connections are to databases in
//! memory, and a turn of the worker is what a model makes of it. And its models.

#[path = "../../../../src/store/sqlite/backoff.rs"]
mod backoff;
#[path = "../../../../src/store/sqlite/failure.rs"]
mod failure;
#[path = "../../../../src/store/sqlite/pool.rs"]
mod pool;
#[path = "../../../../src/store/sqlite/worker.rs"]
mod worker;
#[path = "../../../../src/store/sqlite/writer.rs"]
mod writer;

mod model_pool;
mod model_worker;
mod model_writer;

use std::sync::Arc;

use self::changes::Changes;
use self::worker::Worker;

pub fn models() -> Vec<crate::Model> {
    [model_pool::ALL, model_worker::ALL, model_writer::ALL].concat()
}

mod file {
    use std::sync::Arc;

    use rusqlite::Connection;

    pub(super) struct StoreFile {
        /// Whether the next connection cannot be opened.
        pub(super) fails: std::sync::atomic::AtomicBool,
    }

    impl StoreFile {
        pub(super) fn new() -> Arc<Self> {
            Arc::new(Self { fails: std::sync::atomic::AtomicBool::new(false) })
        }

        pub(super) fn open_reader(&self) -> rusqlite::Result<Connection> {
            if self.fails.swap(false, std::sync::atomic::Ordering::Relaxed) {
                return Err(rusqlite::Error::InvalidQuery);
            }
            Connection::open_in_memory()
        }
    }
}

mod changes {
    use std::sync::Arc;
    use std::time::Duration;

    use super::Shared;
    use super::worker::Chore;

    #[derive(Default)]
    pub(super) struct PollState;

    /// What a turn does.
    pub(super) type Turn = Box<dyn Fn() -> Option<Duration> + Send + Sync>;

    pub(super) struct Changes(pub(super) Turn);

    impl Changes {
        pub(super) fn turn(
            &self,
            _shared: &Arc<Shared>,
            _poll: &mut PollState,
            _chores: &[Arc<dyn Chore>],
        ) -> Option<Duration> {
            (self.0)()
        }

        pub(super) fn stop_listening(&self, _shared: &Arc<Shared>) {}
    }
}

mod pins {
    use std::sync::Arc;
    use std::time::Duration;

    use super::Shared;

    pub(super) fn turn(_shared: &Arc<Shared>) -> Option<Duration> {
        None
    }

    pub(super) fn end_all(shared: &Arc<Shared>) {
        (shared.ends)();
    }
}

/// Nobody watches for sessions that others expire.
mod watchers {
    use std::sync::Arc;
    use std::time::Duration;

    use super::Shared;

    pub(super) fn turn(_shared: &Arc<Shared>) -> Option<Duration> {
        None
    }

    pub(super) fn end_all(_shared: &Arc<Shared>) {}
}

/// Neither copied nor lost.
struct Log;

impl Log {
    fn turn(&self, _shared: &Arc<Shared>) -> Option<std::time::Duration> {
        None
    }

    fn guard(&self) -> &Self {
        self
    }

    fn may_copy_log(&self) -> bool {
        true
    }

    fn copy_log_on_close(&self) {}
}

/// What the worker works for.
struct Shared {
    changes: Changes,
    ends: Box<dyn Fn() + Send + Sync>,
    log: Log,
    file: Log,
    writer: Log,
    worker: Worker,
}
