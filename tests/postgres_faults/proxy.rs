//! A TCP proxy before the server that does to connections what networks do.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What happens to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is closed both ways.
    Cut,
    /// The receiver of this direction sees the end of the stream, and nothing goes on in it.
    HalfClose,
    /// Nothing more arrives in this direction, and nobody is told.
    Hold,
    /// What follows arrives later.
    Delay(Duration),
    /// This arrives in the place of all that came in one piece with that byte, and then it is closed both ways.
    Replace(&'static [u8]),
}

/// Where bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    ToServer,
    ToClient,
}

#[derive(Default)]
struct State {
    /// In which direction, after how many more bytes, what happens, once.
    plan: Option<(Direction, usize, Fault)>,
    /// Bytes that arrived, by direction.
    passed: [usize; 2],
    /// How much later everything arrives.
    distance: Duration,
    /// Both ends of every connection.
    open: Vec<TcpStream>,
    is_closed: bool,
}

pub struct Proxy {
    pub port: u16,
    state: Arc<Mutex<State>>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Proxy {
    /// A proxy before the server on this port.
    pub fn new(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming() {
                if lock(&shared).is_closed {
                    return;
                }
                let client = client.expect("a connection");
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) else { continue };
                for stream in [&client, &server] {
                    stream.set_nodelay(true).expect("no delay of its own");
                    lock(&shared).open.push(stream.try_clone().expect("a handle"));
                }
                for direction in [Direction::ToServer, Direction::ToClient] {
                    let (client, server) = (client.try_clone().expect("a handle"), server.try_clone());
                    let server = server.expect("a handle");
                    let (from, to) = match direction {
                        Direction::ToServer => (client, server),
                        Direction::ToClient => (server, client),
                    };
                    let state = Arc::clone(&shared);
                    thread::spawn(move || pump(from, to, direction, &state));
                }
            }
        });
        Self { port, state }
    }

    /// Lets `fault` happen to whichever connection carries the next byte after `after` more in this direction.
    pub fn plan(&self, direction: Direction, after: usize, fault: Fault) {
        lock(&self.state).plan = Some((direction, after, fault));
    }

    /// Lets everything arrive later by this, as from a host that is far away.
    pub fn move_away(&self, distance: Duration) {
        lock(&self.state).distance = distance;
    }

    /// Forgets the plan and closes all connections. Gives whether the plan came true.
    pub fn heal(&self) -> bool {
        let mut state = lock(&self.state);
        for stream in state.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        state.plan.take().is_none()
    }

    /// Bytes that went to the server and to the client so far.
    pub fn passed(&self) -> [usize; 2] {
        lock(&self.state).passed
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.heal();
        lock(&self.state).is_closed = true;
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

/// How many of so many bytes go on, and what happens then.
fn next(state: &Mutex<State>, direction: Direction, bytes: usize) -> (usize, Option<Fault>) {
    let mut state = lock(state);
    let (pass, fault) = match &mut state.plan {
        Some((planned, after, fault)) if *planned == direction => {
            if *after < bytes {
                let pass = if matches!(fault, Fault::Replace(_)) { 0 } else { *after };
                let happens = (pass, Some(*fault));
                state.plan = None;
                happens
            } else {
                *after -= bytes;
                (bytes, None)
            }
        }
        _ => (bytes, None),
    };
    state.passed[direction as usize] += pass;
    (pass, fault)
}

fn pump(mut from: TcpStream, mut to: TcpStream, direction: Direction, state: &Mutex<State>) {
    let mut buffer = [0; 8192];
    while let Ok(bytes) = from.read(&mut buffer) {
        if bytes == 0 {
            break;
        }
        let (pass, fault) = next(state, direction, bytes);
        let distance = lock(state).distance;
        if !distance.is_zero() {
            thread::sleep(distance);
        }
        if to.write_all(&buffer[..pass]).is_err() {
            break;
        }
        match fault {
            None => {}
            Some(Fault::Delay(time)) => {
                thread::sleep(time);
                if to.write_all(&buffer[pass..bytes]).is_err() {
                    break;
                }
            }
            Some(Fault::Cut | Fault::Replace(_)) => {
                if let Some(Fault::Replace(words)) = fault {
                    let _ = to.write_all(words);
                }
                for stream in [&from, &to] {
                    let _ = stream.shutdown(Shutdown::Both);
                }
                return;
            }
            Some(fault) => {
                if fault == Fault::HalfClose {
                    let _ = to.shutdown(Shutdown::Write);
                }
                // The rest is lost.
                while from.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
                return;
            }
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}
