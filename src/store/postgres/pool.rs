//! The connections of a store. A call takes one that is free, opens another, or waits for one until its time is over.
//! One that failed, or that the server ended while nobody used it, is never lent again.

#![forbid(unsafe_code)]

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connection::{Connection, Setup};
use super::fault::Fault;
use super::schema;
use crate::error::Error;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex};

/// Connections to one server.
pub(super) struct Pool {
    setup: Arc<Setup>,
    connections: Mutex<Connections>,
    given_back: Condvar,
    most: usize,
    acquire_timeout: Duration,
    opened: AtomicU64,
}

#[derive(Default)]
struct Connections {
    free: Vec<Connection>,
    /// Those that are free or lent, and those that are being opened.
    open: usize,
    is_closed: bool,
}

/// A connection that is lent.
pub(super) struct Lent<'p> {
    pool: &'p Pool,
    connection: Option<Connection>,
}

/// The room of a connection that is being opened, given back on every way out.
struct Room<'p>(Option<&'p Pool>);

impl Drop for Room<'_> {
    fn drop(&mut self) {
        if let Some(pool) = self.0 {
            pool.connections.lock().open -= 1;
            pool.given_back.notify_one();
        }
    }
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum Denied {
    Fault(Fault),
    /// The database is not a store of this version any more.
    Refused(Error),
}

impl Pool {
    pub(super) fn new(setup: Arc<Setup>, most: usize, acquire_timeout: Duration) -> Self {
        Self {
            setup,
            connections: Mutex::default(),
            given_back: Condvar::new(),
            most,
            acquire_timeout,
            opened: AtomicU64::new(0),
        }
    }

    pub(super) fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    /// How many connections are there, how many of them are free, and how many were ever opened.
    pub(super) fn figures(&self) -> (usize, usize, u64) {
        let connections = self.connections.lock();
        (connections.open, connections.free.len(), self.opened.load(Ordering::Relaxed))
    }

    /// A connection that is free, or a new one.
    pub(super) fn lend(&self) -> Result<Lent<'_>, Denied> {
        let mut deadline = None;
        let mut connections = self.connections.lock();
        loop {
            if let Some(mut connection) = connections.free.pop() {
                drop(connections);
                if connection.is_sound() {
                    return Ok(Lent { pool: self, connection: Some(connection) });
                }
                connection.abandon();
                connections = self.connections.lock();
                connections.open -= 1;
                continue;
            }
            if connections.open < self.most {
                connections.open += 1;
                drop(connections);
                return self.open();
            }
            let now = Instant::now();
            let deadline = *deadline.get_or_insert(now + self.acquire_timeout);
            if now >= deadline {
                return Err(Denied::Fault(Fault::PoolExhausted));
            }
            connections = self.given_back.wait_timeout(connections, deadline - now);
        }
    }

    fn open(&self) -> Result<Lent<'_>, Denied> {
        let mut room = Room(Some(self));
        let mut connection = self.connect()?;
        schema::check(&mut connection)?;
        room.0 = None;
        Ok(Lent { pool: self, connection: Some(connection) })
    }

    /// A connection beside the pool.
    pub(super) fn connect(&self) -> Result<Connection, Denied> {
        let connection = Connection::open(&self.setup).map_err(Denied::Fault)?;
        self.opened.fetch_add(1, Ordering::Relaxed);
        Ok(connection)
    }

    /// Takes a connection into the pool that was opened beside it.
    pub(super) fn adopt(&self, connection: Connection) {
        let mut connections = self.connections.lock();
        if connections.open < self.most && connection.is_idle() {
            connections.open += 1;
            connections.free.push(connection);
        }
    }

    /// Closes what is free, and what is lent as soon as it comes back.
    pub(super) fn close(&self) {
        let mut connections = self.connections.lock();
        connections.is_closed = true;
        let free = std::mem::take(&mut connections.free);
        connections.open -= free.len();
        drop(connections);
        drop(free);
    }
}

impl Deref for Lent<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match &self.connection {
            Some(connection) => connection,
            None => unreachable!("it is taken when this is dropped"),
        }
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        match &mut self.connection {
            Some(connection) => connection,
            None => unreachable!("it is taken when this is dropped"),
        }
    }
}

impl Drop for Lent<'_> {
    /// A panic, too, must leave the others their room; a transaction that was left open goes with its connection.
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        let mut connections = self.pool.connections.lock();
        if connection.is_idle() && !connections.is_closed {
            connections.free.push(connection);
            drop(connections);
        } else {
            connections.open -= 1;
            drop(connections);
            drop(connection);
        }
        self.pool.given_back.notify_one();
    }
}
