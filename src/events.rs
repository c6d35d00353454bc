//! Telling who waits. A [`Hub`] belongs to one table: changes are announced there after they are readable
//! and with no lock held; waiters sleep there by id, and event queues collect there. Announcing costs two
//! loads when nobody listens.

#![forbid(unsafe_code)]

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::clock::Wake;
use crate::error::{Error, Reason, Result, invalid};
use crate::json::ObjectWriter;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex, RwLock};
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
    /// The A2A task was saved: `{"event": "saved", "taskId": …}`. Told to the queues that want it.
    Saved,
}

impl EventKind {
    /// The name in an event's JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::CancelationRequested => "cancelation_requested",
            Self::Finalized => "finalized",
            Self::Saved => "saved",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Changed, Self::CancelationRequested, Self::Finalized, Self::Saved]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// How a look at the state ended for someone who waits.
#[derive(Debug)]
pub enum Look<T> {
    /// What was waited for is there.
    Ready(T),
    /// Not yet. Look again when woken, or after this time at the latest, if one is given.
    Again(Option<Duration>),
}

/// What a hub asks of a store that other processes share.
pub trait RemoteNotifier: Send + Sync {
    /// Somebody is about to sleep here: changes by other processes that come after his look wake him.
    fn waiter_came(&self);

    /// An event queue was opened: from now on, others' events are announced here.
    fn queue_came(&self) -> Result<()>;

    /// Tells the queues of other processes of an event that no change of a record stands for.
    fn publish(&self, kind: EventKind, id: &str) -> Result<()>;
}

/// Sees to what becomes due by time alone and is to be announced.
pub trait Keeper: Send + Sync {
    /// Does what is due and says how long until the next, if there is one.
    fn keep(&self) -> Option<Duration>;
}

/// The announcements of one table.
#[derive(Default)]
pub struct Hub {
    /// `None` where nobody else shares the store.
    remote: Option<Weak<dyn RemoteNotifier>>,
    waiting: AtomicUsize,
    wait_queues: Mutex<HashMap<Box<str>, Arc<WaitQueue>>>,
    open_queues: Arc<AtomicUsize>,
    queues: RwLock<Vec<Weak<EventQueue>>>,
}

/// Where those who wait for one id sleep.
#[derive(Default)]
struct WaitQueue {
    /// Counts announcements, so that one between a look and the sleep that follows is not lost.
    announced: Mutex<u64>,
    woken: Condvar,
    sleepers: AtomicUsize,
}

impl WaitQueue {
    fn wake(&self) {
        *self.announced.lock() += 1;
        self.woken.notify_all();
    }
}

impl Hub {
    /// A hub over a store that other processes share.
    pub fn shared(remote: Weak<dyn RemoteNotifier>) -> Self {
        Self { remote: Some(remote), ..Self::default() }
    }

    fn remote(&self) -> Option<Arc<dyn RemoteNotifier>> {
        self.remote.as_ref().and_then(Weak::upgrade)
    }

    /// Announces something that no change of a record stands for, to other processes too.
    pub fn publish(&self, kind: EventKind, id: &str) -> Result<()> {
        if let Some(remote) = self.remote() {
            remote.publish(kind, id)?;
        }
        self.announce(kind, id);
        Ok(())
    }

    /// Tells every queue that events were lost before they came here.
    pub fn lag(&self) {
        let queues = self.queues.read().clone();
        for queue in queues.iter().filter_map(Weak::upgrade) {
            queue.lag();
        }
    }

    /// Announces that something happened to `id`: to waiters and to event queues. Call it after the change is
    /// readable and with no lock held.
    #[inline]
    pub fn announce(&self, kind: EventKind, id: &str) {
        self.wake(id);
        if self.open_queues.load(Ordering::SeqCst) > 0 {
            let queues = self.queues.read().clone();
            for queue in queues.iter().filter_map(Weak::upgrade) {
                queue.push(kind, id);
            }
        }
    }

    /// Lets those look again who wait for `id`. Call it as [`Self::announce`].
    #[inline]
    pub fn wake(&self, id: &str) {
        // A waiter counts itself in before it reads the row under the row's lock. So whoever changes the row
        // after that read sees the count here: the lock orders the two.
        if self.waiting.load(Ordering::SeqCst) > 0 {
            let queue = self.wait_queues.lock().get(id).cloned();
            if let Some(queue) = queue {
                queue.wake();
            }
        }
    }

    /// Opens a queue that holds at most `capacity` events (at least 1), of all kinds but [`EventKind::Saved`].
    pub fn open_queue(self: &Arc<Self>, capacity: u32) -> Result<Arc<EventQueue>> {
        self.open_queue_with(capacity, false)
    }

    /// The same, and `hears_saves` says whether the queue gets that kind too.
    pub fn open_queue_with(self: &Arc<Self>, capacity: u32, hears_saves: bool) -> Result<Arc<EventQueue>> {
        if capacity == 0 {
            return Err(invalid("capacity", "the capacity is below the limit").with_limit(1));
        }
        let queue = Arc::new(EventQueue {
            keeper: Mutex::new(None),
            capacity: usize::try_from(capacity).unwrap_or(usize::MAX),
            hears_saves,
            state: Mutex::default(),
            arrived: Condvar::new(),
            open_queues: Arc::clone(&self.open_queues),
        });
        {
            let mut queues = self.queues.write();
            // Only when most are closed: opening many queues must not look at each of them each time.
            if queues.len() > 2 * self.open_queues.load(Ordering::SeqCst) {
                queues.retain(|known| known.strong_count() > 0);
            }
            queues.push(Arc::downgrade(&queue));
            self.open_queues.fetch_add(1, Ordering::SeqCst);
        }
        if let Some(remote) = self.remote() {
            remote.queue_came()?;
        }
        Ok(queue)
    }

    /// Looks until `look` is ready, `timeout` (real time, `None`: for ever) has passed (`TIMEOUT`), or
    /// `closed` is set (`CLOSED`). Looks at least once, and after every announcement for `id`.
    pub fn wait<T>(
        &self,
        id: &str,
        timeout: Option<Duration>,
        closed: &AtomicBool,
        look: &mut dyn FnMut() -> Result<Look<T>>,
    ) -> Result<T> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let waiter = Waiter::new(self, id);
        let mut is_remote_told = false;
        loop {
            let announced = *waiter.queue.announced.lock();
            let again = match look()? {
                Look::Ready(value) => return Ok(value),
                Look::Again(again) => again,
            };
            if closed.load(Ordering::SeqCst) {
                return Err(Error::new(
                    Reason::ClosedWhileWaiting,
                    "the handle was closed while the call waited",
                ));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(Error::new(Reason::Timeout, "nothing happened within the time given"));
            }
            // Only now: most waits find what they wait for at once, or may not take any time.
            if !is_remote_told && let Some(remote) = self.remote() {
                remote.waiter_came();
            }
            is_remote_told = true;
            waiter.queue.sleep(announced, [left, again].into_iter().flatten().min());
        }
    }

    /// The ids that somebody waits for.
    pub fn awaited_ids(&self) -> Vec<Box<str>> {
        self.wait_queues.lock().keys().cloned().collect()
    }

    /// Lets those who wait for events look at the time again: something is due sooner than they know.
    pub fn stir_queues(&self) {
        if self.open_queues.load(Ordering::SeqCst) > 0 {
            let queues = self.queues.read().clone();
            for queue in queues.iter().filter_map(Weak::upgrade) {
                queue.stir();
            }
        }
    }

    /// How many threads wait here now, and how many queues are open.
    pub fn counts(&self) -> (usize, usize) {
        (self.waiting.load(Ordering::SeqCst), self.open_queues.load(Ordering::SeqCst))
    }
}

impl Wake for Hub {
    fn wake_all(&self) {
        self.stir_queues();
        if self.waiting.load(Ordering::SeqCst) > 0 {
            let queues: Vec<_> = self.wait_queues.lock().values().cloned().collect();
            for queue in queues {
                queue.wake();
            }
        }
    }
}

impl WaitQueue {
    /// Sleeps until there was another announcement than the `seen`th, or for `limit`.
    fn sleep(&self, seen: u64, limit: Option<Duration>) {
        let announced = self.announced.lock();
        let asleep = |announced: &mut u64| *announced == seen;
        // The result is not needed: whoever wakes looks again.
        if let Some(limit) = limit {
            drop(self.woken.wait_timeout_while(announced, limit, asleep));
        } else {
            drop(self.woken.wait_while(announced, asleep));
        }
    }
}

/// One who waits, counted from its first look on until it leaves on whatever way.
struct Waiter<'a> {
    hub: &'a Hub,
    id: &'a str,
    queue: Arc<WaitQueue>,
}

impl<'a> Waiter<'a> {
    fn new(hub: &'a Hub, id: &'a str) -> Self {
        let mut queues = hub.wait_queues.lock();
        let queue = Arc::clone(queues.entry(id.into()).or_default());
        queue.sleepers.fetch_add(1, Ordering::Relaxed);
        hub.waiting.fetch_add(1, Ordering::SeqCst);
        drop(queues);
        Self { hub, id, queue }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut queues = self.hub.wait_queues.lock();
        self.hub.waiting.fetch_sub(1, Ordering::SeqCst);
        if self.queue.sleepers.fetch_sub(1, Ordering::Relaxed) == 1 {
            queues.remove(self.id);
        }
    }
}

/// A bounded queue of events that coalesces by kind and task id. When it is full, one `lagged` event takes
/// the place of all that are lost.
pub struct EventQueue {
    keeper: Mutex<Option<Weak<dyn Keeper>>>,
    capacity: usize,
    hears_saves: bool,
    state: Mutex<QueueState>,
    arrived: Condvar,
    open_queues: Arc<AtomicUsize>,
}

#[derive(Default)]
struct QueueState {
    /// `None` stands for `lagged`.
    pending: VecDeque<Option<(EventKind, Arc<str>)>>,
    known: HashSet<(EventKind, Arc<str>)>,
    /// Counts the calls of those who wait to look at the time again.
    stirs: u64,
    lagged: bool,
    closed: bool,
    #[cfg(target_os = "linux")]
    signal: Option<std::os::fd::OwnedFd>,
}

impl EventQueue {
    fn push(&self, kind: EventKind, id: &str) {
        if kind == EventKind::Saved && !self.hears_saves {
            return;
        }
        let event = (kind, Arc::from(id));
        let mut state = self.state.lock();
        if state.closed || state.known.contains(&event) {
            return;
        }
        let was_empty = state.pending.is_empty();
        if state.known.len() < self.capacity {
            state.known.insert(event.clone());
            state.pending.push_back(Some(event));
        } else if state.lagged {
            return;
        } else {
            state.lagged = true;
            state.pending.push_back(None);
        }
        if was_empty {
            state.raise_signal();
        }
        drop(state);
        self.arrived.notify_one();
    }

    /// Notes that events were lost.
    fn lag(&self) {
        let mut state = self.state.lock();
        if state.closed || state.lagged {
            return;
        }
        state.lagged = true;
        state.pending.push_back(None);
        state.raise_signal();
        drop(state);
        self.arrived.notify_one();
    }

    /// The next event as JSON; `TIMEOUT` when none comes in time (`None`: wait for ever), `CLOSED` when the
    /// queue is closed meanwhile.
    pub fn next(&self, timeout: Option<Duration>) -> Result<Text> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let stirs = self.state.lock().stirs;
            let keeper = self.keeper.lock().as_ref().and_then(Weak::upgrade);
            let again = keeper.and_then(|keeper| keeper.keep());
            let mut state = self.state.lock();
            if state.closed {
                return Err(Error::new(
                    Reason::ClosedWhileWaiting,
                    "the handle was closed while the call waited",
                ));
            }
            if let Some(event) = state.pending.pop_front() {
                match &event {
                    Some(event) => {
                        state.known.remove(event);
                    }
                    None => state.lagged = false,
                }
                if state.pending.is_empty() {
                    state.clear_signal();
                    state.give_room_back();
                }
                return Ok(event_text(event.as_ref()));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(Error::new(Reason::Timeout, "nothing happened within the time given"));
            }
            if state.stirs != stirs {
                continue;
            }
            // The result is not needed: whoever wakes looks again.
            match [left, again].into_iter().flatten().min() {
                Some(limit) => drop(self.arrived.wait_timeout(state, limit)),
                None => drop(self.arrived.wait(state)),
            }
        }
    }

    /// Lets `keeper` see to the time while somebody waits for the next event.
    pub fn set_keeper(&self, keeper: Weak<dyn Keeper>) {
        *self.keeper.lock() = Some(keeper);
    }

    fn stir(&self) {
        self.state.lock().stirs += 1;
        self.arrived.notify_all();
    }

    /// A descriptor that is readable while events are there, or once the queue is closed (Linux). It stays
    /// this queue's and lives as long.
    #[cfg(target_os = "linux")]
    pub fn fd(&self) -> Result<i32> {
        use std::os::fd::AsRawFd as _;

        use rustix::event::{EventfdFlags, eventfd};

        let mut state = self.state.lock();
        if state.signal.is_none() {
            let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
            let signal = eventfd(0, flags).map_err(|_| {
                Error::new(
                    Reason::SystemResource,
                    "the operating system gave no descriptor for the event queue",
                )
            })?;
            state.signal = Some(signal);
            if !state.pending.is_empty() {
                state.raise_signal();
            }
        }
        // Set just above.
        Ok(state.signal.as_ref().map_or(-1, std::os::fd::OwnedFd::as_raw_fd))
    }

    /// There is no such descriptor on this platform.
    #[cfg(not(target_os = "linux"))]
    pub fn fd(&self) -> Result<i32> {
        Err(Error::new(
            Reason::UnsupportedPlatform,
            "the descriptor of an event queue is there on Linux only",
        ))
    }

    /// Ends the queue and wakes who waits on it.
    pub fn close(&self) {
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        state.closed = true;
        state.pending.clear();
        state.known.clear();
        state.raise_signal();
        drop(state);
        self.open_queues.fetch_sub(1, Ordering::SeqCst);
        self.arrived.notify_all();
    }
}

impl Drop for EventQueue {
    fn drop(&mut self) {
        self.close();
    }
}

impl QueueState {
    /// A queue that once was long gives its room back when it is empty.
    fn give_room_back(&mut self) {
        const ROOM: usize = 1024;
        if self.pending.capacity() > ROOM {
            self.pending.shrink_to(ROOM);
            self.known.shrink_to(ROOM);
        }
    }

    // The descriptor is a hint beside the queue: whatever a read or write of it gives, the queue stays right.
    #[cfg(target_os = "linux")]
    fn raise_signal(&self) {
        if let Some(signal) = &self.signal {
            let _ = rustix::io::write(signal, &1u64.to_ne_bytes());
        }
    }

    #[cfg(target_os = "linux")]
    fn clear_signal(&self) {
        if let Some(signal) = &self.signal {
            let _ = rustix::io::read(signal, &mut [0u8; 8]);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn raise_signal(&self) {}

    #[cfg(not(target_os = "linux"))]
    fn clear_signal(&self) {}
}

fn event_text(event: Option<&(EventKind, Arc<str>)>) -> Text {
    let Some((kind, id)) = event else { return Text::from("{\"event\":\"lagged\"}") };
    let mut text = Text::with_capacity(48 + kind.name().len() + id.len());
    ObjectWriter::new(&mut text).plain_string("event", kind.name()).string("taskId", id);
    text
}
