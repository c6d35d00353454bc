//! The way to the server: a socket, or TLS over one.

#![forbid(unsafe_code)]

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::fault::Fault;
use super::sockets::{self, Noted};
use super::url::{Host, TlsMode};

const UNREACHABLE: Fault = Fault::Connect("the database server cannot be reached");
const NO_TLS: Fault = Fault::Connect(
    "the database server has no TLS, which sslmode asks for, or its certificate is not accepted",
);

enum Kind {
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// A connected socket, with TLS or without.
pub(super) struct Stream {
    kind: Kind,
    _noted: Noted,
}

impl Stream {
    /// Connects to the first of `hosts` that answers.
    pub(super) fn connect(
        hosts: &[Host],
        mode: TlsMode,
        config: Option<&Arc<ClientConfig>>,
        timeout: Duration,
    ) -> Result<Self, Fault> {
        let deadline = Instant::now() + timeout;
        let mut fault = UNREACHABLE;
        for host in hosts {
            match Self::connect_to(host, mode, config, deadline) {
                Ok(stream) => return Ok(stream),
                Err(failed) => fault = failed,
            }
        }
        Err(fault)
    }

    fn connect_to(
        host: &Host,
        mode: TlsMode,
        config: Option<&Arc<ClientConfig>>,
        deadline: Instant,
    ) -> Result<Self, Fault> {
        match host {
            #[cfg(unix)]
            Host::Unix(folder, port) => {
                // As with libpq, sockets of the system have no TLS.
                let socket = UnixStream::connect(folder.join(format!(".s.PGSQL.{port}")));
                let socket = socket.map_err(|_| UNREACHABLE)?;
                let noted = sockets::note(&socket);
                Ok(Self { kind: Kind::Unix(socket), _noted: noted })
            }
            #[cfg(not(unix))]
            Host::Unix(..) => Err(UNREACHABLE),
            Host::Tcp(name, port) => {
                let socket = connect_tcp(name, *port, deadline)?;
                let noted = sockets::note(&socket);
                let kind = match config {
                    Some(config) => negotiate(socket, name, mode, config)?,
                    None => Kind::Tcp(socket),
                };
                Ok(Self { kind, _noted: noted })
            }
        }
    }

    /// Whether nobody between here and the server can read along.
    pub(super) fn is_private(&self) -> bool {
        !matches!(self.kind, Kind::Tcp(_))
    }

    /// The longest that one read or write takes.
    pub(super) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match &self.kind {
            Kind::Tcp(socket) => set_timeouts(socket, timeout),
            Kind::Tls(stream) => set_timeouts(&stream.sock, timeout),
            #[cfg(unix)]
            Kind::Unix(socket) => {
                socket.set_read_timeout(timeout)?;
                socket.set_write_timeout(timeout)
            }
        }
    }

    pub(super) fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        match &self.kind {
            Kind::Tcp(socket) => socket.set_nonblocking(nonblocking),
            Kind::Tls(stream) => stream.sock.set_nonblocking(nonblocking),
            #[cfg(unix)]
            Kind::Unix(socket) => socket.set_nonblocking(nonblocking),
        }
    }

    /// Whether there is something to read, or the other side has closed: on a connection that nobody uses, either
    /// means that the server ends it.
    #[cfg(target_os = "linux")]
    pub(super) fn has_news(&self) -> bool {
        use rustix::net::{RecvFlags, recv};
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let mut byte = [0u8; 1];
        let peeked = match &self.kind {
            Kind::Tcp(socket) => recv(socket, &mut byte[..], flags),
            Kind::Tls(stream) => recv(&stream.sock, &mut byte[..], flags),
            Kind::Unix(socket) => recv(socket, &mut byte[..], flags),
        };
        !matches!(peeked, Err(rustix::io::Errno::AGAIN))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn has_news(&self) -> bool {
        let mut byte = [0u8; 1];
        let peek = |socket: &TcpStream| {
            let peeked = socket.set_nonblocking(true).and_then(|()| socket.peek(&mut byte));
            let _ = socket.set_nonblocking(false);
            !matches!(peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
        };
        match &self.kind {
            Kind::Tcp(socket) => peek(socket),
            Kind::Tls(stream) => peek(&stream.sock),
            #[cfg(unix)]
            Kind::Unix(_) => false,
        }
    }
}

#[cfg(target_os = "linux")]
impl std::os::fd::AsFd for Stream {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match &self.kind {
            Kind::Tcp(socket) => socket.as_fd(),
            Kind::Tls(stream) => stream.sock.as_fd(),
            Kind::Unix(socket) => socket.as_fd(),
        }
    }
}

fn set_timeouts(socket: &TcpStream, timeout: Option<Duration>) -> io::Result<()> {
    socket.set_read_timeout(timeout)?;
    socket.set_write_timeout(timeout)
}

fn connect_tcp(name: &str, port: u16, deadline: Instant) -> Result<TcpStream, Fault> {
    let addresses = (name, port).to_socket_addrs().map_err(|_| UNREACHABLE)?;
    for address in addresses {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let Ok(socket) = TcpStream::connect_timeout(&address, left) else { continue };
        if socket.set_nodelay(true).is_err() || set_timeouts(&socket, Some(left)).is_err() {
            continue;
        }
        #[cfg(target_os = "linux")]
        let _ = rustix::net::sockopt::set_socket_keepalive(&socket, true);
        return Ok(socket);
    }
    Err(UNREACHABLE)
}

/// Asks the server for TLS. It is never given up for less than `mode` asks for.
fn negotiate(
    mut socket: TcpStream,
    name: &str,
    mode: TlsMode,
    config: &Arc<ClientConfig>,
) -> Result<Kind, Fault> {
    let mut request = bytes::BytesMut::new();
    postgres_protocol::message::frontend::ssl_request(&mut request);
    let mut answer = [0u8; 1];
    socket.write_all(&request).and_then(|()| socket.read_exact(&mut answer)).map_err(|_| UNREACHABLE)?;
    if &answer != b"S" {
        return if mode == TlsMode::Prefer { Ok(Kind::Tcp(socket)) } else { Err(NO_TLS) };
    }
    // Nothing may be in the buffer yet: it would have been put there by somebody else.
    let name = ServerName::try_from(name.to_owned()).map_err(|_| NO_TLS)?;
    let connection = ClientConnection::new(Arc::clone(config), name).map_err(|_| NO_TLS)?;
    let mut stream = StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).map_err(|_| NO_TLS)?;
    }
    Ok(Kind::Tls(Box::new(stream)))
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.kind {
            Kind::Tcp(socket) => socket.read(buffer),
            Kind::Tls(stream) => stream.read(buffer),
            #[cfg(unix)]
            Kind::Unix(socket) => socket.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &mut self.kind {
            Kind::Tcp(socket) => socket.write(buffer),
            Kind::Tls(stream) => stream.write(buffer),
            #[cfg(unix)]
            Kind::Unix(socket) => socket.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.kind {
            Kind::Tcp(socket) => socket.flush(),
            Kind::Tls(stream) => stream.flush(),
            #[cfg(unix)]
            Kind::Unix(socket) => socket.flush(),
        }
    }
}
