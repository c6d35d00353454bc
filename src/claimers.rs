//! Where those line up who wait for a task to claim: one line for each queue, and a claimer stands in the lines of
//! all its queues. A task that is due calls one of them. The first in a line also keeps the timer for what is due
//! next there; who leaves a line and still owes it something calls the next.

#![forbid(unsafe_code)]

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::clock::Wake;
use crate::error::{Error, Reason, Result};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex};

/// What a look at the queues came to.
#[derive(Debug)]
pub enum Claim<T> {
    /// A task was taken out of the queue at this place among the claimer's.
    Taken(T, usize),
    /// There was none. Look again when called, or after this time at the latest, if one is given.
    Nothing(Option<Duration>),
}

/// What a claimer needs of the store.
pub trait Counter<T> {
    /// Tries to take a task. `leads` says of which of the claimer's queues it keeps the timer; empty is of none.
    fn look(&mut self, leads: &[bool]) -> Result<Claim<T>>;

    /// Whether the queue at this place has tasks for which somebody must keep the timer.
    fn needs_timer(&self, place: usize) -> bool;
}

/// The lines of one table.
#[derive(Default)]
pub struct Claimers {
    waiting: AtomicUsize,
    lines: Mutex<HashMap<Arc<str>, Line>>,
}

#[derive(Default)]
struct Line {
    claimers: VecDeque<Arc<Claimer>>,
    /// When the first in line looks again by itself. `None` also while it looks.
    timer: Option<Instant>,
}

#[derive(Default)]
struct Claimer {
    /// Whether it is to look again.
    is_called: Mutex<bool>,
    called: Condvar,
}

impl Claimer {
    /// Calls it, unless it is called already.
    fn call(&self) -> bool {
        let mut is_called = self.is_called.lock();
        if *is_called {
            return false;
        }
        *is_called = true;
        drop(is_called);
        self.called.notify_one();
        true
    }

    fn answer(&self) -> bool {
        std::mem::take(&mut *self.is_called.lock())
    }

    /// Sleeps until it is called, or for `limit`.
    fn sleep(&self, limit: Option<Duration>) {
        let is_called = self.is_called.lock();
        let asleep = |is_called: &mut bool| !*is_called;
        // The result is not needed: whoever wakes looks again.
        if let Some(limit) = limit {
            drop(self.called.wait_timeout_while(is_called, limit, asleep));
        } else {
            drop(self.called.wait_while(is_called, asleep));
        }
    }
}

impl Line {
    fn is_led_by(&self, claimer: &Arc<Claimer>) -> bool {
        self.claimers.front().is_some_and(|first| Arc::ptr_eq(first, claimer))
    }

    /// Calls the first who is not called yet.
    fn call_one(&self) -> bool {
        self.claimers.iter().any(|claimer| claimer.call())
    }
}

impl Claimers {
    /// Tells the line of `queue` that a task there is due after this time. Call it after the change is readable and
    /// with no lock held.
    pub fn offer(&self, queue: &str, after: Duration) {
        // A claimer counts itself in before it looks. So whoever changes the queue after that look sees the count:
        // the queue's lock orders the two.
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let lines = self.lines.lock();
        let Some(line) = lines.get(queue) else { return };
        if after.is_zero() {
            line.call_one();
        } else if is_sooner(after, line.timer)
            && let Some(first) = line.claimers.front()
        {
            first.call();
        }
    }

    /// Tells those who keep timers that there is something else to see to after this time.
    pub fn remind(&self, after: Duration) {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        for line in self.lines.lock().values().filter(|line| is_sooner(after, line.timer)) {
            line.claimers.front().map(|first| first.call());
        }
    }

    /// Lets everybody look again, and see what was closed.
    pub fn call_all(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            for claimer in self.lines.lock().values().flat_map(|line| &line.claimers) {
                claimer.call();
            }
        }
    }

    /// The queues at which somebody waits.
    pub fn queues(&self) -> Vec<Arc<str>> {
        self.lines.lock().keys().cloned().collect()
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Looks until a task is taken, or until `timeout` (real time, `None`: for ever) has passed: `None`. `CLOSED`
    /// when `closed` is set meanwhile. Looks at least once.
    pub fn wait<T>(
        &self,
        queues: &[Arc<str>],
        timeout: Option<Duration>,
        closed: &AtomicBool,
        counter: &mut dyn Counter<T>,
    ) -> Result<Option<T>> {
        if let Claim::Taken(taken, _) = counter.look(&[])? {
            return Ok(Some(taken));
        }
        if timeout == Some(Duration::ZERO) {
            return Ok(None);
        }
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut place = Place::take(self, queues);
        loop {
            let leads = place.begin_look();
            let looked = counter.look(&leads);
            let again = match looked {
                Ok(Claim::Taken(taken, queue)) => {
                    place.leave(Some(queue), &mut |place| counter.needs_timer(place));
                    return Ok(Some(taken));
                }
                Ok(Claim::Nothing(again)) => again,
                Err(error) => {
                    place.leave(None, &mut |place| counter.needs_timer(place));
                    return Err(error);
                }
            };
            place.is_answering = false;
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let is_closed = closed.load(Ordering::SeqCst);
            if is_closed || left == Some(Duration::ZERO) {
                place.leave(None, &mut |place| counter.needs_timer(place));
                return if is_closed { Err(closed_while_waiting()) } else { Ok(None) };
            }
            place.set_timer(&leads, again);
            place.claimer.sleep([left, again].into_iter().flatten().min());
        }
    }
}

impl Wake for Claimers {
    /// The clock was moved: the first in each line looks again, and who takes something calls the next.
    fn wake_all(&self) {
        self.remind(Duration::ZERO);
    }
}

fn closed_while_waiting() -> Error {
    Error::new(Reason::ClosedWhileWaiting, "the handle was closed while the call waited")
}

fn is_sooner(after: Duration, timer: Option<Instant>) -> bool {
    timer.is_none_or(|timer| Instant::now().checked_add(after).is_some_and(|due| due < timer))
}

/// A claimer's place in its lines, given up on every way out.
struct Place<'a> {
    claimers: &'a Claimers,
    queues: &'a [Arc<str>],
    claimer: Arc<Claimer>,
    /// Whether the look that runs answers a call.
    is_answering: bool,
    has_left: bool,
}

impl<'a> Place<'a> {
    fn take(claimers: &'a Claimers, queues: &'a [Arc<str>]) -> Self {
        let claimer = Arc::new(Claimer::default());
        let mut lines = claimers.lines.lock();
        for queue in queues {
            let line = if let Some(line) = lines.get_mut(queue) {
                line
            } else {
                lines.entry(Arc::clone(queue)).or_default()
            };
            // Somebody may name a queue twice.
            if !line.claimers.iter().rev().any(|known| Arc::ptr_eq(known, &claimer)) {
                line.claimers.push_back(Arc::clone(&claimer));
            }
        }
        claimers.waiting.fetch_add(1, Ordering::SeqCst);
        drop(lines);
        Self { claimers, queues, claimer, is_answering: false, has_left: false }
    }

    /// From now on calls are for the next look. Says of which queues this one keeps the timer.
    fn begin_look(&mut self) -> Vec<bool> {
        let mut lines = self.claimers.lines.lock();
        self.is_answering |= self.claimer.answer();
        let mut leads = Vec::with_capacity(self.queues.len());
        for queue in self.queues {
            let line = lines.get_mut(queue).filter(|line| line.is_led_by(&self.claimer));
            leads.push(line.is_some());
            if let Some(line) = line {
                line.timer = None;
            }
        }
        leads
    }

    fn set_timer(&self, leads: &[bool], again: Option<Duration>) {
        let timer = again.and_then(|again| Instant::now().checked_add(again));
        // Without a timer every task that comes calls it.
        if timer.is_none() {
            return;
        }
        let mut lines = self.claimers.lines.lock();
        for (queue, _) in self.queues.iter().zip(leads).filter(|(_, leads)| **leads) {
            if let Some(line) = lines.get_mut(queue) {
                line.timer = timer;
            }
        }
    }

    /// Leaves all lines, with a task out of one of them or without. What was called for here and not taken, and the
    /// timers kept here, pass on to the next.
    fn leave(&mut self, taken_from: Option<usize>, needs_timer: &mut dyn FnMut(usize) -> bool) {
        self.has_left = true;
        let mut lines = self.claimers.lines.lock();
        let is_called = *self.claimer.is_called.lock();
        for (place, queue) in self.queues.iter().enumerate() {
            let Some(line) = lines.get_mut(queue) else { continue };
            let led = line.is_led_by(&self.claimer);
            if led {
                line.claimers.pop_front();
                line.timer = None;
            } else {
                line.claimers.retain(|claimer| !Arc::ptr_eq(claimer, &self.claimer));
            }
            if line.claimers.is_empty() {
                lines.remove(queue);
                continue;
            }
            let owes = is_called || (self.is_answering && taken_from != Some(place));
            if owes || (led && needs_timer(place)) {
                line.call_one();
            }
        }
        self.claimers.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.has_left {
            // A look panicked: somebody else shall see to everything.
            self.leave(None, &mut |_| true);
        }
    }
}
