//! What other processes change. While somebody waits or listens here, one thread looks every few milliseconds
//! whether the file changed: then waiters look again, and events that others wrote down are announced. Events
//! are written down only while a process has said in the file that it listens. The same thread renews the
//! leases of this store, its place among the listeners and its pins, and ends when there is nothing to do.

#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::Shared;
use super::file::StoreFile;
use super::session_row::PIN_LEASE_MS;
use super::table::system_ms;
use super::writer::Transaction;
use crate::clock::Wake as _;
use crate::error::Result;
use crate::events::{Elsewhere, EventKind, Hub};

/// How often the thread looks. A change is to be seen within 25 ms.
const LOOK_EVERY: Duration = Duration::from_millis(8);
/// How long others write events down for a listener that does not renew its lease.
const LISTENER_LEASE_MS: i64 = 10_000;
const RENEW_EVERY: Duration = Duration::from_millis(LISTENER_LEASE_MS.unsigned_abs() / 4);
const RENEW_PINS_EVERY: Duration = Duration::from_millis(PIN_LEASE_MS.unsigned_abs() / 4);
/// Events older than this were read by every listener that is alive.
const KEEP_EVENTS_MS: i64 = 60_000;

const LISTEN: &str = "INSERT INTO listeners (listener, lease_until) VALUES (?1, ?2) \
     ON CONFLICT (listener) DO UPDATE SET lease_until = excluded.lease_until";
const IS_HEARD: &str = "SELECT 1 FROM listeners WHERE lease_until > ?1 AND listener <> ?2 LIMIT 1";
const WRITE_DOWN: &str =
    "INSERT INTO changes (written_at, writer, name, event, id) VALUES (?1, ?2, ?3, ?4, ?5)";
const LAST_NUMBER: &str = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0)";
const READ_EVENTS: &str =
    "SELECT number, writer, name, event, id FROM changes WHERE number > ?1 ORDER BY number";

/// Writes an event down for the processes that listen.
pub(super) fn note_event(
    transaction: &Transaction<'_>,
    name: i64,
    event: EventKind,
    id: &str,
) -> rusqlite::Result<()> {
    let values = (system_ms(), transaction.holder(), name, event.name(), id);
    transaction.execute(WRITE_DOWN, values).map(|_| ())
}

/// What a hub reaches other processes by.
pub(super) struct Ear {
    shared: Weak<Shared>,
    name: i64,
}

impl Ear {
    pub(super) fn new(shared: &Arc<Shared>, name: i64) -> Self {
        Self { shared: Arc::downgrade(shared), name }
    }
}

impl Elsewhere for Ear {
    fn waiter_came(&self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.watch.start(&shared);
        }
    }

    fn queue_came(&self) -> Result<()> {
        let Some(shared) = self.shared.upgrade() else { return Ok(()) };
        let listened = shared.watch.listen(&shared);
        shared.watch.start(&shared);
        listened
    }

    fn publish(&self, kind: EventKind, id: &str) -> Result<()> {
        let Some(shared) = self.shared.upgrade() else { return Ok(()) };
        // Most often nobody else listens, and then nothing is written.
        let values = (system_ms(), shared.holder);
        if shared.read(|connection| connection.prepare_cached(IS_HEARD)?.exists(values))? {
            shared.write(false, |transaction| Ok(note_event(transaction, self.name, kind, id)?))??;
        }
        Ok(())
    }
}

/// The number of the last event that was read, and until when others write events down.
#[derive(Clone, Copy, Debug)]
struct Listening {
    last: i64,
    lease_until_ms: i64,
    renewed: Instant,
}

/// The thread and what it needs.
#[derive(Default)]
pub(super) struct Watch {
    hubs: Mutex<Vec<(i64, Weak<Hub>)>>,
    listening: Mutex<Option<Listening>>,
    /// True from when the thread is asked for until it has decided to end.
    runs: Mutex<bool>,
    is_running: AtomicBool,
    bell: Arc<Bell>,
}

/// Ends a sleep of the thread.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Bell {
    fn ring(&self) {
        *lock(&self.rung) = true;
        self.heard.notify_all();
    }

    fn sleep(&self, rest: Duration) {
        let rung = lock(&self.rung);
        let slept = self.heard.wait_timeout_while(rung, rest, |rung| !*rung);
        *slept.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread's own: its connection and what it saw last.
#[derive(Default)]
struct Eyes {
    connection: Option<Connection>,
    /// Goes after the connection.
    file: Option<Arc<StoreFile>>,
    version: Option<i64>,
    pins_renewed: Option<Instant>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.bell.ring();
    }
}

impl Watch {
    /// Announces others' changes to the table `name` at `hub`.
    pub(super) fn register(&self, name: i64, hub: &Arc<Hub>) {
        let mut hubs = lock(&self.hubs);
        hubs.retain(|(_, known)| known.strong_count() > 0);
        hubs.push((name, Arc::downgrade(hub)));
    }

    fn hubs(&self) -> Vec<(i64, Arc<Hub>)> {
        lock(&self.hubs).iter().filter_map(|(name, hub)| Some((*name, hub.upgrade()?))).collect()
    }

    /// Waiters and queues over all tables.
    pub(super) fn audience(&self) -> (usize, usize) {
        self.hubs()
            .iter()
            .map(|(_, hub)| hub.counts())
            .fold((0, 0), |sum, (waiters, queues)| (sum.0 + waiters, sum.1 + queues))
    }

    /// Makes sure that the thread runs.
    pub(super) fn start(&self, shared: &Arc<Shared>) {
        let mut runs = lock(&self.runs);
        if *runs {
            // It may be asleep between two renewals of pins.
            self.bell.ring();
            return;
        }
        let (weak, bell) = (Arc::downgrade(shared), Arc::clone(&self.bell));
        let spawned = std::thread::Builder::new().name("taskhold-watch".to_owned()).spawn(move || {
            let mut eyes = Eyes::default();
            loop {
                let Some(shared) = weak.upgrade() else { return };
                let rest = shared.watch.look(&shared, &mut eyes);
                drop(shared);
                let Some(rest) = rest else { return };
                bell.sleep(rest);
            }
        });
        // Without a thread waiters still see this process's changes, and others' when their time is over. The
        // next who waits tries again.
        *runs = spawned.is_ok();
        self.is_running.store(*runs, Ordering::Relaxed);
    }

    /// Whether the thread runs.
    pub(super) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Relaxed)
    }

    /// Says in the file that this store listens, unless it has said so lately.
    fn listen(&self, shared: &Arc<Shared>) -> Result<()> {
        let mut listening = lock(&self.listening);
        let now = system_ms();
        if let Some(listening) = &*listening
            && listening.renewed.elapsed() < RENEW_EVERY
            && listening.lease_until_ms > now
        {
            return Ok(());
        }
        let lease_until_ms = now + LISTENER_LEASE_MS;
        let last = shared.write(false, |transaction| {
            transaction.execute(LISTEN, (shared.holder, lease_until_ms))?;
            transaction.execute("DELETE FROM changes WHERE written_at < ?1", (now - KEEP_EVENTS_MS,))?;
            transaction.execute("DELETE FROM listeners WHERE lease_until < ?1", (now - KEEP_EVENTS_MS,))?;
            Ok(transaction.query(LAST_NUMBER, (), |row| row.get::<_, i64>(0))?.unwrap_or(0))
        })??;
        let before = listening.as_ref().filter(|before| before.lease_until_ms > now);
        if listening.is_some() && before.is_none() {
            // The lease had lapsed: others may not have written everything down.
            self.hubs().iter().for_each(|(_, hub)| hub.lag());
        }
        let last = before.map_or(last, |before| before.last);
        *listening = Some(Listening { last, lease_until_ms, renewed: Instant::now() });
        Ok(())
    }

    fn stop_listening(&self, shared: &Arc<Shared>) {
        let mut listening = lock(&self.listening);
        // Whoever opens a queue counts first and then says so here.
        if self.audience().1 == 0 && listening.take().is_some() {
            // One that stays behind lapses.
            let _ = shared.write(true, |transaction| {
                transaction.execute("DELETE FROM listeners WHERE listener = ?1", (shared.holder,))?;
                Ok(())
            });
        }
    }

    /// One look. Gives the time until the next, or `None` when the thread is to end.
    fn look(&self, shared: &Arc<Shared>, eyes: &mut Eyes) -> Option<Duration> {
        let (waiters, queues) = self.audience();
        let holds_pins = shared.writer.holds_pins.load(Ordering::SeqCst);
        if waiters + queues == 0 && !holds_pins {
            self.stop_listening(shared);
            let mut runs = lock(&self.runs);
            // Somebody may have come meanwhile: who comes counts first and asks for the thread then.
            let (waiters, queues) = self.audience();
            if waiters + queues == 0 && !shared.writer.holds_pins.load(Ordering::SeqCst) {
                *runs = false;
                self.is_running.store(false, Ordering::Relaxed);
                return None;
            }
        }
        if holds_pins && eyes.pins_renewed.is_none_or(|renewed| renewed.elapsed() >= RENEW_PINS_EVERY) {
            eyes.pins_renewed = Some(Instant::now());
            renew_pins(shared);
        }
        if waiters + queues == 0 {
            *eyes = Eyes { pins_renewed: eyes.pins_renewed, ..Eyes::default() };
            self.stop_listening(shared);
            return Some(RENEW_PINS_EVERY);
        }
        if queues > 0 {
            // What fails now is tried again at the next look.
            let _ = self.listen(shared);
        }
        if !eyes.sees_no_change(shared) {
            self.hubs().iter().for_each(|(_, hub)| hub.wake_all());
        }
        if queues > 0
            && let Some(connection) = &eyes.connection
        {
            let _ = self.read_events(shared, connection);
        }
        Some(LOOK_EVERY)
    }

    fn read_events(&self, shared: &Arc<Shared>, connection: &Connection) -> rusqlite::Result<()> {
        let mut listening = lock(&self.listening);
        let Some(listening) = &mut *listening else { return Ok(()) };
        let newest: i64 = connection.prepare_cached(LAST_NUMBER)?.query_row((), |row| row.get(0))?;
        if newest <= listening.last {
            return Ok(());
        }
        let hubs = self.hubs();
        let mut statement = connection.prepare_cached(READ_EVENTS)?;
        let mut rows = statement.query((listening.last,))?;
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(0)?;
            if number > listening.last + 1 {
                for (_, hub) in &hubs {
                    hub.lag();
                }
            }
            listening.last = number;
            let (writer, name): (i64, i64) = (row.get(1)?, row.get(2)?);
            // Its own changes this process announced when it made them.
            if writer == shared.holder {
                continue;
            }
            let kind = row.get_ref(3)?.as_str().ok().and_then(EventKind::from_name);
            if let (Some(kind), Ok(id)) = (kind, row.get_ref(4)?.as_str()) {
                let of_name = hubs.iter().filter(|(number, _)| *number == name);
                of_name.for_each(|(_, hub)| hub.announce(kind, id));
            }
        }
        Ok(())
    }
}

impl Eyes {
    /// Whether it is certain that nothing changed since the last look.
    fn sees_no_change(&mut self, shared: &Arc<Shared>) -> bool {
        if self.connection.is_none() {
            self.file = Some(Arc::clone(&shared.file));
            self.connection = shared.file.open_reader().ok();
            self.version = None;
        }
        let version = self.connection.as_ref().and_then(|connection| {
            let mut statement = connection.prepare_cached("PRAGMA data_version").ok()?;
            statement.query_row((), |row| row.get::<_, i64>(0)).ok()
        });
        if version.is_none() {
            self.connection = None;
        }
        let same = version.is_some() && version == self.version;
        self.version = version;
        same
    }
}

/// Renews the leases of this store's pins, if it still has some.
fn renew_pins(shared: &Arc<Shared>) {
    // A pin that is taken meanwhile sets it again.
    shared.writer.holds_pins.store(false, Ordering::SeqCst);
    let renewed = shared.write(false, |transaction| {
        let sql = "UPDATE session_pins SET lease_until = ?2 WHERE holder = ?1";
        let renewed = transaction.execute(sql, (shared.holder, system_ms() + PIN_LEASE_MS))?;
        if renewed > 0 {
            transaction.note_pins();
        }
        Ok(())
    });
    if !matches!(renewed, Ok(Ok(()))) {
        // To be tried again.
        shared.writer.holds_pins.store(true, Ordering::SeqCst);
    }
}
