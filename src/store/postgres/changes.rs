//! What other processes change. Who waits or listens has a row among the listeners, with a lease; a writer that sees one
//! sends a notification after its commit, which carries no id but a digest. Events are also written down, because a
//! notification may be lost. The worker listens on a connection of its own, and looks by itself now and then, more often
//! while it has no such connection.

#![forbid(unsafe_code)]

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::connection::{Connection, Query};
use super::statement_text::server_ms;
use super::values::{Values, values};
use super::worker::Chore;
use super::{Shared, digest};
use crate::error::Result;
use crate::events::{EventKind, Hub, RemoteNotifier};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use crate::sync::thread;

/// Somebody waits for a record.
pub(super) const WAITERS: i64 = 1;
/// Somebody has an event queue.
pub(super) const QUEUES: i64 = 2;
/// Somebody waits for a task to claim.
pub(super) const CLAIMERS: i64 = 4;

/// A writer has looked for listeners within this time before its commit. Whoever begins to listen waits for so long:
/// from then on every commit is heard.
pub(super) const LISTENED_WITHIN: Duration = Duration::from_millis(20);
/// How often the worker looks by itself while it is notified.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long it goes on listening when nobody waits any more: the next one often comes soon.
const LINGER: Duration = Duration::from_secs(2);
/// How long others tell a listener that does not renew its lease.
const LISTENER_LEASE_MS: i64 = 10_000;
const RENEW_EVERY: Duration = Duration::from_millis(LISTENER_LEASE_MS.unsigned_abs() / 4);
/// How long a number that was passed over may still come: its transaction had not ended.
const LATE_WITHIN: Duration = Duration::from_secs(10);
/// How soon a lost connection is replaced.
const RECONNECT_AFTER: Duration = Duration::from_millis(500);

const LISTEN: &str = concat!(
    "WITH l AS (INSERT INTO @listeners AS l (listener, kinds, lease_until) VALUES ($1, $2, $3 + ",
    server_ms!(),
    ") ON CONFLICT (listener) DO UPDATE SET kinds = excluded.kinds, lease_until = excluded.lease_until) \
     SELECT coalesce((SELECT max(number) FROM @changes), 0)"
);
const STOP_LISTENING: &str = "DELETE FROM @listeners WHERE listener = $1";
/// Events older than a minute were read by every listener that is alive.
const PURGE_CHANGES: &str = concat!(
    "DELETE FROM @changes WHERE number IN (SELECT number FROM @changes ORDER BY number LIMIT 1000) \
     AND written_at < ",
    server_ms!(),
    " - 60000"
);
const PURGE_LISTENERS: &str =
    concat!("DELETE FROM @listeners WHERE lease_until < ", server_ms!(), " - 60000");
const WHO_LISTENS: &str = concat!(
    "SELECT coalesce(bit_or(kinds), 0) FROM @listeners WHERE listener <> $1 AND lease_until > ",
    server_ms!()
);
const NOTIFY: &str = "SELECT pg_notify($1, $2)";
/// Writes the events `$6` of the record `$5` down, and notifies.
const WRITE_DOWN: &str = concat!(
    "WITH c AS (INSERT INTO @changes (written_at, writer, name, event, id) SELECT ",
    server_ms!(),
    ", $3, $4, e, $5 FROM unnest($6) e) SELECT pg_notify($1, $2)"
);
const READ_EVENTS: &str = "SELECT number, writer, name, event, id FROM @changes \
     WHERE number > $1 OR number = ANY ($2) ORDER BY number";

/// A change to be told.
pub(super) struct Change<'a> {
    pub(super) name: i64,
    pub(super) id: &'a str,
    pub(super) events: &'a [EventKind],
    /// The queue in which something became due.
    pub(super) queue: Option<&'a str>,
}

/// What stands for a record or a queue in a notification.
fn key(kind: &str, name: i64, word: &str) -> u64 {
    digest(&[kind, &name.to_string(), word])
}

/// What a hub reaches other processes by: the database.
pub(super) struct DatabaseNotifier {
    shared: Weak<Shared>,
    name: i64,
}

impl DatabaseNotifier {
    pub(super) fn new(shared: &Arc<Shared>, name: i64) -> Self {
        Self { shared: Arc::downgrade(shared), name }
    }
}

impl RemoteNotifier for DatabaseNotifier {
    fn waiter_came(&self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.changes.somebody_came(&shared, WAITERS);
        }
    }

    fn queue_came(&self) -> Result<()> {
        let Some(shared) = self.shared.upgrade() else { return Ok(()) };
        let is_new = shared.changes.listen(&shared, QUEUES)?;
        shared.worker.call(&shared);
        if is_new {
            thread::sleep(LISTENED_WITHIN);
        }
        Ok(())
    }

    fn publish(&self, kind: EventKind, id: &str) -> Result<()> {
        let Some(shared) = self.shared.upgrade() else { return Ok(()) };
        // Most often nobody else listens, and then nothing is written.
        let kinds = who_listens(&shared)?;
        let change = Change { name: self.name, id, events: &[kind], queue: None };
        shared.changes.tell(&shared, kinds, &change);
        Ok(())
    }
}

/// What this store has said among the listeners, and which events it has read.
struct Listening {
    kinds: i64,
    last: i64,
    /// Numbers that were passed over, and until when they may come.
    missing: Vec<(i64, Instant)>,
    renewed: Instant,
}

/// A table whose changes are looked for.
struct Watched {
    name: i64,
    /// See [`super::columns::Statements::versions`].
    versions_sql: String,
    hub: Weak<Hub>,
}

/// The tables of a store, and its place among the listeners.
#[derive(Default)]
pub(super) struct Changes {
    watched: Mutex<Vec<Arc<Watched>>>,
    listening: Mutex<Option<Listening>>,
    /// For whom others tell this store now, and it hears them without delay.
    heard_for: AtomicI64,
    notified: AtomicU64,
    heard: AtomicU64,
}

/// What the worker saw at its last look.
#[derive(Default)]
pub(super) struct ListenState {
    pub(super) connection: Option<Connection>,
    /// When another connection is tried.
    reconnect_at: Option<Instant>,
    /// When everything is looked at again.
    look_at: Option<Instant>,
    needed_until: Option<Instant>,
    /// The rows that somebody waits for, by table and id: sequence number and revision.
    versions: hashbrown::HashMap<(i64, Box<str>), (i64, i64)>,
}

impl Changes {
    /// Announces others' changes to the table `name` at `hub`.
    pub(super) fn watch(&self, name: i64, versions_sql: &str, hub: &Arc<Hub>) {
        let mut watched = self.watched.lock();
        watched.retain(|known| known.hub.strong_count() > 0);
        watched.push(Arc::new(Watched {
            name,
            versions_sql: versions_sql.to_owned(),
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

    /// Notifications sent and received.
    pub(super) fn figures(&self) -> (u64, u64) {
        (self.notified.load(Ordering::Relaxed), self.heard.load(Ordering::Relaxed))
    }

    /// Somebody is about to sleep until others change something. He has counted himself in before.
    pub(super) fn somebody_came(&self, shared: &Arc<Shared>, kind: i64) {
        if self.heard_for.load(Ordering::SeqCst) & kind == 0 {
            shared.worker.call(shared);
        }
    }

    /// Tells those who listen of a change. Nobody waits for the answer: what is lost here is found by a look.
    pub(super) fn tell(&self, shared: &Shared, kinds: i64, change: &Change<'_>) {
        let Change { name, id, events, queue } = change;
        let has_events = kinds & QUEUES != 0 && !events.is_empty();
        let is_for_waiters = kinds & WAITERS != 0;
        let queue = queue.filter(|_| kinds & CLAIMERS != 0);
        if !has_events && !is_for_waiters && queue.is_none() {
            return;
        }
        let queue = queue.map_or(0, |queue| key("queue", *name, queue));
        let payload =
            format!("{:x} {} {:x} {queue:x}", shared.number, u8::from(has_events), key("id", *name, id));
        self.notified.fetch_add(1, Ordering::Relaxed);
        let mut values = values![&*shared.channel, payload.as_str()];
        if has_events {
            for value in [shared.number, *name] {
                values.push(value.into());
            }
            values.push((*id).into());
            values.push_texts(events.iter().map(|event| event.name()));
        }
        shared.send_only(if has_events { WRITE_DOWN } else { NOTIFY }, values);
    }

    /// Says among the listeners that this store listens for `kinds`, too. True when others did not know that.
    fn listen(&self, shared: &Arc<Shared>, kinds: i64) -> Result<bool> {
        let mut listening = self.listening.lock();
        let known = listening.as_ref().map_or(0, |known| known.kinds);
        let kinds = kinds | known;
        if let Some(known) = &*listening
            && known.kinds == kinds
            && known.renewed.elapsed() < RENEW_EVERY
        {
            return Ok(false);
        }
        let begun = Instant::now();
        let last = shared.transaction(|transaction| {
            transaction.defer(PURGE_CHANGES, Values::NONE);
            transaction.defer(PURGE_LISTENERS, Values::NONE);
            let answer = transaction.finish(LISTEN, values![shared.number, kinds, LISTENER_LEASE_MS])?;
            Ok(answer.rows.first().map_or(0, |columns| columns.integer(0)))
        })?;
        let lease = Duration::from_millis(LISTENER_LEASE_MS.unsigned_abs());
        let before = listening.take().filter(|before| before.renewed.elapsed() < lease);
        let is_new = before.as_ref().is_none_or(|before| before.kinds != kinds);
        let had_queues = known & QUEUES != 0;
        if had_queues && before.is_none() {
            // The lease had lapsed: others may not have written everything down.
            self.watched().iter().for_each(|(_, hub)| hub.lag());
        }
        let (last, missing) = match before {
            Some(before) if had_queues => (before.last, before.missing),
            _ => (last, Vec::new()),
        };
        *listening = Some(Listening { kinds, last, missing, renewed: begun });
        Ok(is_new)
    }

    /// Takes this store out of the listeners, unless somebody came meanwhile.
    pub(super) fn stop_listening(&self, shared: &Arc<Shared>) {
        let mut listening = self.listening.lock();
        self.heard_for.store(0, Ordering::SeqCst);
        // Whoever opens a queue counts first and then says so here.
        if self.audience() == (0, 0) && listening.take().is_some() {
            // One that stays behind lapses.
            let _ = shared.write(STOP_LISTENING, &values![shared.number]);
        }
    }

    /// What the audience is there for.
    fn wanted(&self, chores: &[Arc<dyn Chore>]) -> i64 {
        let (waiters, queues) = self.audience();
        let claimers = chores.iter().any(|chore| chore.needs_listening());
        let bit = |is_there: bool, kind: i64| if is_there { kind } else { 0 };
        bit(waiters > 0, WAITERS) | bit(queues > 0, QUEUES) | bit(claimers, CLAIMERS)
    }

    /// One look. Gives the time until the next, or `None` when nobody waits or listens.
    pub(super) fn turn(
        &self,
        shared: &Arc<Shared>,
        state: &mut ListenState,
        chores: &[Arc<dyn Chore>],
    ) -> Option<Duration> {
        let begun = Instant::now();
        let wanted = self.wanted(chores);
        if wanted != 0 {
            state.needed_until = Some(begun + LINGER);
        } else if state.needed_until.is_none_or(|until| until <= begun) {
            self.stop_listening(shared);
            if self.wanted(chores) == 0 {
                *state = ListenState::default();
                return None;
            }
            state.needed_until = Some(begun + LINGER);
        }
        let mut is_full_look = state.look_at.is_none_or(|at| at <= begun);
        if !shared.pool.setup().is_pooler_safe
            && state.connection.is_none()
            && state.reconnect_at.is_none_or(|at| at <= begun)
        {
            state.connection = connect(shared);
            state.reconnect_at = Some(begun + RECONNECT_AFTER);
            // What came while there was no connection was not notified.
            is_full_look = true;
        }
        let known = self.listening.lock().as_ref().map_or(0, |known| known.kinds);
        let is_listening = self.listen(shared, wanted | known);
        let is_new = matches!(is_listening, Ok(true));
        let mut woken = Vec::new();
        let mut has_events = is_full_look || is_new;
        if let Some(connection) = &mut state.connection {
            if let Ok(notifications) = connection.take_notifications() {
                self.heard.fetch_add(notifications.len() as u64, Ordering::Relaxed);
                for notification in notifications {
                    has_events |= self.hear(shared, &notification, &mut woken);
                }
            } else {
                state.connection = None;
                is_full_look = true;
                has_events = true;
            }
        }
        // From here on whoever comes is told of everything that comes later.
        let hears = state.connection.is_some() && is_listening.is_ok() && !is_new;
        let before = self.heard_for.swap(if hears { wanted | known } else { 0 }, Ordering::SeqCst);
        if is_full_look || is_new || before & wanted != wanted {
            self.wake_waiters(shared, state);
        }
        if has_events && wanted & QUEUES != 0 {
            let _ = self.read_events(shared);
        }
        let next_look = match (hears, is_new) {
            (true, _) => LOOK_EVERY,
            (false, true) => LISTENED_WITHIN,
            (false, false) => shared.event_poll,
        };
        if is_full_look || is_new || state.look_at.is_none_or(|at| at > begun + next_look) {
            state.look_at = Some(begun + next_look);
        }
        let due = chores.iter().filter_map(|chore| chore.turn(&woken, is_full_look || is_new)).min();
        let left = state.look_at.map_or(next_look, |at| at.saturating_duration_since(Instant::now()));
        Some(due.map_or(left, |due| due.min(left)))
    }

    /// Wakes those whom a notification is for. Queues of work go to `woken`. True when events were written down.
    fn hear(&self, shared: &Shared, notification: &str, woken: &mut Vec<u64>) -> bool {
        let mut words = notification.split(' ').map(|word| u64::from_str_radix(word, 16).ok());
        let (Some(Some(writer)), Some(Some(has_events)), Some(Some(record)), Some(Some(queue))) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return false;
        };
        // Its own changes this process announced when it made them.
        if writer.cast_signed() == shared.number {
            return false;
        }
        for (table, hub) in self.watched() {
            for id in hub.awaited_ids() {
                if key("id", table.name, &id) == record {
                    hub.wake(&id);
                }
            }
        }
        if queue != 0 {
            woken.push(queue);
        }
        has_events != 0
    }

    /// Wakes those who wait for a row that is not what it was at the last look, or that was not looked at yet.
    fn wake_waiters(&self, shared: &Shared, state: &mut ListenState) {
        let mut versions = hashbrown::HashMap::new();
        for (table, hub) in self.watched() {
            let ids = hub.awaited_ids();
            if ids.is_empty() {
                continue;
            }
            let mut values = values![table.name];
            values.push_texts(ids.iter().map(|id| &**id));
            let rows = shared.read(&table.versions_sql, &values);
            let found: hashbrown::HashMap<String, (i64, i64)> = rows
                .iter()
                .flatten()
                .map(|columns| (columns.text(2), (columns.integer(0), columns.integer(1))))
                .collect();
            for id in ids {
                let version = found.get(&*id).copied();
                let key = (table.name, id);
                if rows.is_err() || version.is_none() || version != state.versions.get(&key).copied() {
                    hub.wake(&key.1);
                }
                if let Some(version) = version {
                    versions.insert(key, version);
                }
            }
        }
        state.versions = versions;
    }

    fn read_events(&self, shared: &Shared) -> Result<()> {
        let mut listening = self.listening.lock();
        let Some(listening) = &mut *listening else { return Ok(()) };
        let now = Instant::now();
        listening.missing.retain(|(_, until)| *until > now);
        let mut values = values![listening.last];
        let missing: Vec<i64> = listening.missing.iter().map(|(number, _)| *number).collect();
        values.push_integers(&missing);
        let rows = shared.read(READ_EVENTS, &values)?;
        let watched = self.watched();
        for columns in &rows {
            let number = columns.integer(0);
            listening.missing.retain(|(missing, _)| *missing != number);
            if number > listening.last {
                // Far more than that are not under way at once.
                let passed = (listening.last + 1..number).rev().take(1000);
                listening.missing.extend(passed.map(|passed| (passed, now + LATE_WITHIN)));
                listening.last = number;
            }
            let (writer, name) = (columns.integer(1), columns.integer(2));
            // Its own changes this process announced when it made them.
            if writer == shared.number {
                continue;
            }
            if let Some(kind) = EventKind::from_name(&columns.text(3)) {
                let id = columns.text(4);
                let of_name = watched.iter().filter(|(table, _)| table.name == name);
                of_name.for_each(|(_, hub)| hub.announce(kind, &id));
            }
        }
        Ok(())
    }
}

/// Whether the queue of a table is what a notification is about.
pub(super) fn is_queue(woken: u64, name: i64, queue: &str) -> bool {
    key("queue", name, queue) == woken
}

/// Who listens in other processes.
pub(super) fn who_listens(shared: &Shared) -> Result<i64> {
    let rows = shared.read(WHO_LISTENS, &values![shared.number])?;
    Ok(rows.first().map_or(0, |columns| columns.integer(0)))
}

/// A connection that listens.
fn connect(shared: &Arc<Shared>) -> Option<Connection> {
    let mut connection = shared.pool.connect().ok()?;
    let listen = format!("LISTEN \"{}\"", shared.channel);
    connection.run(&[Query::new(&listen, Values::NONE)]).ok()?;
    Some(connection)
}
