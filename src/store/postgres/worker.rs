//! The one background thread of an open store. It runs while there is something to do beside the callers: listening
//! for others' changes while somebody waits, renewing leases, and closing the connections once the last handle is gone.
//! Whoever has something for it makes that visible and then calls it; a panic in one turn ends that turn and no more.

#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::bell::Bell;
use super::changes::ListenState;
use super::{Shared, pins, watchers};
use crate::fault;
use crate::store::add_listener;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, thread};

/// How long a turn that panicked is not tried again.
const REST_AFTER_PANIC: Duration = Duration::from_millis(100);

/// Something else that the worker does at its turns, such as waking claimers when work becomes due.
pub(super) trait Chore: Send + Sync {
    /// Does what is due and says when to be called again at the latest; `None`: not before somebody calls the
    /// worker. `woken` are the queues that were notified; a full look passes nothing over.
    fn turn(&self, woken: &[u64], is_full_look: bool) -> Option<Duration>;

    /// Whether the worker must listen for it.
    fn needs_listening(&self) -> bool;
}

/// The thread and what is asked of it.
#[derive(Default)]
pub(super) struct Worker {
    state: Mutex<State>,
    bell: Bell,
    chores: Mutex<Vec<Weak<dyn Chore>>>,
    panics: AtomicU64,
}

#[derive(Default)]
struct State {
    /// From when the thread is asked for until it has decided to end, under this lock.
    is_running: bool,
    /// Somebody has something for it since its last turn began.
    is_called: bool,
    /// The last handle is gone.
    is_closing: bool,
}

impl Worker {
    /// Adds to what is done at each turn, for as long as it lives.
    pub(super) fn add_chore(&self, chore: Weak<dyn Chore>) {
        add_listener(&mut self.chores.lock(), chore);
    }

    fn chores(&self) -> Vec<Arc<dyn Chore>> {
        self.chores.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Makes sure that a turn begins from now on.
    pub(super) fn call(&self, shared: &Arc<Shared>) {
        let mut state = self.state.lock();
        state.is_called = true;
        self.start(&mut state, shared);
    }

    /// The last handle is gone: winds everything up, on the thread, so that whoever closed does not wait.
    pub(super) fn close(&self, shared: &Arc<Shared>) {
        let mut state = self.state.lock();
        state.is_closing = true;
        self.start(&mut state, shared);
    }

    fn start(&self, state: &mut State, shared: &Arc<Shared>) {
        if state.is_running {
            self.bell.ring();
            return;
        }
        let shared = Arc::clone(shared);
        let thread = thread::Builder::new().name("taskhold-postgres".to_owned());
        // Without a thread, waiters still see this process's changes, and others' when their time is over; leases
        // lapse. Whoever comes next tries again.
        state.is_running = thread.spawn(move || run(shared)).is_ok();
    }

    /// Whether the thread runs.
    pub(super) fn is_running(&self) -> bool {
        self.state.lock().is_running
    }

    /// How many turns ended in a panic.
    pub(super) fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// After a turn: what comes next.
    fn rest(&self, listening: &ListenState, rest: Option<Duration>) -> Next {
        let is_wanted = |state: &State| state.is_called || state.is_closing;
        {
            let mut state = self.state.lock();
            if !is_wanted(&state) && rest.is_none() {
                state.is_running = false;
                return Next::End;
            }
            if is_wanted(&state) {
                state.is_called = false;
                return if state.is_closing { Next::WindUp } else { Next::Turn };
            }
        }
        // Whoever calls from here on rings, which is not forgotten.
        self.bell.sleep(listening.connection.as_ref(), rest.unwrap_or_default());
        let mut state = self.state.lock();
        state.is_called = false;
        if state.is_closing { Next::WindUp } else { Next::Turn }
    }
}

enum Next {
    Turn,
    WindUp,
    End,
}

fn run(shared: Arc<Shared>) {
    let mut listening = ListenState::default();
    loop {
        let turned = catch_unwind(AssertUnwindSafe(|| turn(&shared, &mut listening)));
        let rest = turned.unwrap_or_else(|_| {
            shared.worker.panics.fetch_add(1, Ordering::Relaxed);
            listening = ListenState::default();
            Some(REST_AFTER_PANIC)
        });
        match shared.worker.rest(&listening, rest) {
            Next::Turn => {}
            Next::WindUp => break,
            Next::End => return,
        }
    }
    drop(listening);
    let _ = catch_unwind(AssertUnwindSafe(|| {
        pins::end_all(&shared);
        watchers::end_all(&shared);
        shared.changes.stop_listening(&shared);
    }));
    shared.pool.close();
    drop(shared);
}

/// One look at everything. Gives the time until the next, or `None` when nothing is left to do.
fn turn(shared: &Arc<Shared>, listening: &mut ListenState) -> Option<Duration> {
    fault::point("postgres_worker");
    let chores = shared.worker.chores();
    let listened = shared.changes.turn(shared, listening, &chores);
    [listened, pins::turn(shared), watchers::turn(shared)].into_iter().flatten().min()
}
