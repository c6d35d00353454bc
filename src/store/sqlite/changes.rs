//! What other processes change. While somebody waits or listens here, the worker looks every few milliseconds
//! whether the file changed. Then it wakes those who wait for a row that is another one than before, and announces
//! the events that others wrote down. Events are written down only while a process has said in the file that it
//! listens.

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _};

use super::Shared;
use super::file::StoreFile;
use super::table::system_ms;
use super::worker::Chore;
use super::writer::Transaction;
use crate::error::Result;
use crate::events::{EventKind, Hub, RemoteNotifier};
use crate::sync::Mutex;

/// How often the worker looks. A change is to be seen within 25 ms.
const LOOK_EVERY: Duration = Duration::from_millis(8);
/// A look takes at most so large a part of the time: one in so many.
const LOOK_SHARE: u32 = 4;
/// How long it goes on when nobody waits any more: the next one often comes soon.
const LINGER: Duration = Duration::from_secs(1);
/// How long others write events down for a listener that does not renew its lease.
const LISTENER_LEASE_MS: i64 = 10_000;
const RENEW_EVERY: Duration = Duration::from_millis(LISTENER_LEASE_MS.unsigned_abs() / 4);
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
    let values = (system_ms(), transaction.store(), name, event.name(), id);
    transaction.execute(WRITE_DOWN, values).map(|_| ())
}

/// What a hub reaches other processes by: the file.
pub(super) struct FileNotifier {
    shared: Weak<Shared>,
    name: i64,
}

impl FileNotifier {
    pub(super) fn new(shared: &Arc<Shared>, name: i64) -> Self {
        Self { shared: Arc::downgrade(shared), name }
    }
}

impl RemoteNotifier for FileNotifier {
    fn waiter_came(&self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.worker.call(&shared);
        }
    }

    fn queue_came(&self) -> Result<()> {
        let Some(shared) = self.shared.upgrade() else { return Ok(()) };
        let listened = shared.changes.listen(&shared);
        shared.worker.call(&shared);
        listened
    }

    fn publish(&self, kind: EventKind, id: &str) -> Result<()> {
        let Some(shared) = self.shared.upgrade() else { return Ok(()) };
        // Most often nobody else listens, and then nothing is written.
        let values = (system_ms(), shared.number);
        if shared.read(|connection| connection.prepare_cached(IS_HEARD)?.exists(values))? {
            shared.write(|transaction| Ok(note_event(transaction, self.name, kind, id)?))??;
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

/// A table whose changes are looked for.
struct Watched {
    name: i64,
    /// Tells a row from itself before a change: [`super::columns::Statements::version`].
    version_sql: String,
    hub: Weak<Hub>,
}

/// The tables of a store, and its place among the listeners.
#[derive(Default)]
pub(super) struct Changes {
    watched: Mutex<Vec<Arc<Watched>>>,
    listening: Mutex<Option<Listening>>,
}

/// Sequence number and revision of a row, if it is there.
type Version = Option<(i64, i64)>;

/// What the worker saw at its last look.
#[derive(Default)]
pub(super) struct PollState {
    connection: Option<Connection>,
    /// Goes after the connection.
    file: Option<Arc<StoreFile>>,
    data_version: Option<i64>,
    /// The rows that somebody waits for, by table and id.
    versions: HashMap<(i64, Box<str>), Version>,
    needed_until: Option<Instant>,
}

impl Changes {
    /// Announces others' changes to the table `name` at `hub`.
    pub(super) fn watch(&self, name: i64, version_sql: &str, hub: &Arc<Hub>) {
        let mut watched = self.watched.lock();
        watched.retain(|known| known.hub.strong_count() > 0);
        watched.push(Arc::new(Watched {
            name,
            version_sql: version_sql.to_owned(),
            hub: Arc::downgrade(hub),
        }));
    }

    fn watched(&self) -> Vec<(Arc<Watched>, Arc<Hub>)> {
        let watched = self.watched.lock();
        watched.iter().filter_map(|table| Some((Arc::clone(table), table.hub.upgrade()?))).collect()
    }

    /// Waiters and queues over all tables.
    pub(super) fn audience(&self) -> (usize, usize) {
        self.watched()
            .iter()
            .map(|(_, hub)| hub.counts())
            .fold((0, 0), |sum, (waiters, queues)| (sum.0 + waiters, sum.1 + queues))
    }

    /// Says in the file that this store listens, unless it has said so lately.
    fn listen(&self, shared: &Arc<Shared>) -> Result<()> {
        let mut listening = self.listening.lock();
        let now = system_ms();
        if let Some(listening) = &*listening
            && listening.renewed.elapsed() < RENEW_EVERY
            && listening.lease_until_ms > now
        {
            return Ok(());
        }
        let lease_until_ms = now + LISTENER_LEASE_MS;
        let last = shared.write(|transaction| {
            transaction.execute(LISTEN, (shared.number, lease_until_ms))?;
            transaction.execute("DELETE FROM changes WHERE written_at < ?1", (now - KEEP_EVENTS_MS,))?;
            transaction.execute("DELETE FROM listeners WHERE lease_until < ?1", (now - KEEP_EVENTS_MS,))?;
            Ok(transaction.query(LAST_NUMBER, (), |row| row.get::<_, i64>(0))?.unwrap_or(0))
        })??;
        let before = listening.as_ref().filter(|before| before.lease_until_ms > now);
        if listening.is_some() && before.is_none() {
            // The lease had lapsed: others may not have written everything down.
            self.watched().iter().for_each(|(_, hub)| hub.lag());
        }
        let last = before.map_or(last, |before| before.last);
        *listening = Some(Listening { last, lease_until_ms, renewed: Instant::now() });
        Ok(())
    }

    pub(super) fn stop_listening(&self, shared: &Arc<Shared>) {
        let mut listening = self.listening.lock();
        // Whoever opens a queue counts first and then says so here.
        if self.audience().1 == 0 && listening.take().is_some() {
            // One that stays behind lapses.
            let _ = shared.try_write(|transaction| {
                transaction.execute("DELETE FROM listeners WHERE listener = ?1", (shared.number,))?;
                Ok(())
            });
        }
    }

    /// One look. Gives the time until the next, or `None` when nobody waits or listens.
    pub(super) fn turn(
        &self,
        shared: &Arc<Shared>,
        poll: &mut PollState,
        chores: &[Arc<dyn Chore>],
    ) -> Option<Duration> {
        let begun = Instant::now();
        let (waiters, queues) = self.audience();
        let is_needed = waiters + queues > 0 || chores.iter().any(|chore| chore.needs_polling());
        if queues == 0 {
            self.stop_listening(shared);
        }
        if is_needed {
            poll.needed_until = Some(begun + LINGER);
        } else if poll.needed_until.is_none_or(|until| until <= begun) {
            *poll = PollState::default();
            return chores.iter().filter_map(|chore| chore.turn(None, true)).min();
        }
        if queues > 0 {
            // What fails now is tried again at the next look.
            let _ = self.listen(shared);
        }
        let changed = !poll.sees_no_change(shared);
        if changed {
            self.wake_waiters(poll);
        }
        if queues > 0
            && let Some(connection) = &poll.connection
        {
            let _ = self.read_events(shared, connection);
        }
        let due = chores.iter().filter_map(|chore| chore.turn(poll.connection.as_ref(), changed)).min();
        let rest = if is_needed { LOOK_EVERY.max(begun.elapsed() * LOOK_SHARE) } else { LINGER };
        Some(due.map_or(rest, |due| due.min(rest)))
    }

    /// Wakes those who wait for a row that is not what it was at the last look, or that was not looked at yet.
    fn wake_waiters(&self, poll: &mut PollState) {
        let mut versions = HashMap::new();
        for (table, hub) in self.watched() {
            for id in hub.awaited_ids() {
                let version = poll
                    .connection
                    .as_ref()
                    .and_then(|connection| version_of(connection, &table.version_sql, table.name, &id).ok());
                let key = (table.name, id);
                if version.is_none() || version != poll.versions.get(&key).copied() {
                    hub.wake(&key.1);
                }
                if let Some(version) = version {
                    versions.insert(key, version);
                }
            }
        }
        poll.versions = versions;
    }

    fn read_events(&self, shared: &Arc<Shared>, connection: &Connection) -> rusqlite::Result<()> {
        let mut listening = self.listening.lock();
        let Some(listening) = &mut *listening else { return Ok(()) };
        let newest: i64 = connection.prepare_cached(LAST_NUMBER)?.query_row((), |row| row.get(0))?;
        if newest <= listening.last {
            return Ok(());
        }
        let watched = self.watched();
        let mut statement = connection.prepare_cached(READ_EVENTS)?;
        let mut rows = statement.query((listening.last,))?;
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(0)?;
            if number > listening.last + 1 {
                for (_, hub) in &watched {
                    hub.lag();
                }
            }
            listening.last = number;
            let (writer, name): (i64, i64) = (row.get(1)?, row.get(2)?);
            // Its own changes this process announced when it made them.
            if writer == shared.number {
                continue;
            }
            let kind = row.get_ref(3)?.as_str().ok().and_then(EventKind::from_name);
            if let (Some(kind), Ok(id)) = (kind, row.get_ref(4)?.as_str()) {
                let of_name = watched.iter().filter(|(table, _)| table.name == name);
                of_name.for_each(|(_, hub)| hub.announce(kind, id));
            }
        }
        Ok(())
    }
}

fn version_of(connection: &Connection, sql: &str, name: i64, id: &str) -> rusqlite::Result<Version> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row((name, id), |row| Ok((row.get(0)?, row.get_ref(1)?.as_i64().unwrap_or(0)))).optional()
}

impl PollState {
    /// Whether it is certain that nothing changed since the last look.
    fn sees_no_change(&mut self, shared: &Arc<Shared>) -> bool {
        if self.connection.is_none() {
            self.file = Some(Arc::clone(&shared.file));
            self.connection = shared.file.open_reader().ok();
            self.data_version = None;
        }
        let version = self.connection.as_ref().and_then(|connection| {
            let mut statement = connection.prepare_cached("PRAGMA data_version").ok()?;
            statement.query_row((), |row| row.get::<_, i64>(0)).ok()
        });
        if version.is_none() {
            self.connection = None;
        }
        let same = version.is_some() && version == self.data_version;
        self.data_version = version;
        same
    }
}
