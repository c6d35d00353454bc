//! Telling who waits. A [`Hub`] belongs to one table: changes are announced there after they are readable
//! and with no lock held; waiters sleep there by id, and event queues collect there. Cost is one load when
//! nobody listens.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::clock::Wake;
use crate::error::Result;
use crate::text::Text;

/// What is announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The task changed: `{"event": "changed", "taskId": …}`.
    Changed,
    /// The client asked for cancelation: `{"event": "cancelation_requested", "taskId": …}`.
    CancelationRequested,
    /// The A2A task became final: `{"event": "finalized", "taskId": …}`.
    Finalized,
}

/// How a look at the state ended for someone who waits.
#[derive(Debug)]
pub enum Look<T> {
    /// What was waited for is there.
    Ready(T),
    /// Not yet. Look again when woken, or after this time at the latest, if one is given.
    Again(Option<Duration>),
}

/// The announcements of one table.
#[derive(Default)]
pub struct Hub {}

impl Hub {
    /// Announces that something happened to `id`: to waiters and to event queues.
    pub fn announce(&self, _kind: EventKind, _id: &str) {
        todo!()
    }

    /// Opens a queue that holds at most `capacity` events (at least 1).
    pub fn open_queue(self: &Arc<Self>, _capacity: u32) -> Result<Arc<EventQueue>> {
        todo!()
    }

    /// Looks until `look` is ready, `timeout` (real time, `None`: for ever) has passed (`TIMEOUT`), or
    /// `closed` is set (`CLOSED`). Looks at least once, and after every announcement for `id`.
    pub fn wait<T>(
        &self,
        _id: &str,
        _timeout: Option<Duration>,
        _closed: &AtomicBool,
        _look: &mut dyn FnMut() -> Result<Look<T>>,
    ) -> Result<T> {
        todo!()
    }

    /// How many threads wait here now, and how many queues are open.
    pub fn counts(&self) -> (usize, usize) {
        todo!()
    }
}

impl Wake for Hub {
    fn wake_all(&self) {
        todo!()
    }
}

/// A bounded queue of events that coalesces by task id.
pub struct EventQueue {}

impl EventQueue {
    /// The next event as JSON; `TIMEOUT` when none comes in time (`None`: wait for ever), `CLOSED` when the
    /// queue is closed meanwhile.
    pub fn next(&self, _timeout: Option<Duration>) -> Result<Text> {
        todo!()
    }

    /// A descriptor that is readable while events are there (Linux). It stays this queue's.
    pub fn fd(&self) -> Result<i32> {
        todo!()
    }

    /// Ends the queue and wakes who waits on it.
    pub fn close(&self) {
        todo!()
    }
}
