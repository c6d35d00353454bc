//! The URL of a server, in the form that libpq reads: `postgresql://user:password@host:port/database?sslmode=…`. No error
//! repeats a part of it, since any part may hold a secret.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Reason, Result};

const DEFAULT_PORT: u16 = 5432;
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How far TLS is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlsMode {
    /// Never.
    Disable,
    /// When the server has it.
    Prefer,
    /// Always; whose certificate it is does not matter.
    Require,
    /// Always, with a certificate that the roots vouch for.
    VerifyCa,
    /// The same, and the certificate is for this host.
    VerifyFull,
}

/// Where the certificates are that vouch for the server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Roots {
    System,
    File(PathBuf),
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Tcp(String, u16),
    /// The folder of its socket.
    Unix(PathBuf, u16),
}

/// A word that is never printed.
#[derive(Clone)]
pub(super) struct Secret(pub(super) String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

/// What a URL says.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) hosts: Vec<Host>,
    pub(super) user: String,
    pub(super) password: Option<Secret>,
    pub(super) database: String,
    pub(super) tls: TlsMode,
    pub(super) roots: Roots,
    pub(super) connect_timeout: Duration,
    pub(super) application_name: String,
    /// Passed on to the server as it stands.
    pub(super) options: Option<String>,
}

fn malformed(message: &'static str) -> Error {
    Error::new(Reason::InvalidStoreUrl, message)
}

const FORM: &str = "a PostgreSQL URL has the form postgresql://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=MODE, with special characters percent-encoded";

/// Decodes what is percent-encoded.
fn decode(text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next(), rest.next()];
        let mut value = 0;
        for digit in digits {
            let digit =
                digit.and_then(|digit| char::from(digit).to_digit(16)).ok_or_else(|| malformed(FORM))?;
            value = value * 16 + digit;
        }
        bytes.push(u8::try_from(value).unwrap_or_default());
    }
    let text = String::from_utf8(bytes).map_err(|_| malformed(FORM))?;
    if text.contains('\0') {
        return Err(malformed(FORM));
    }
    Ok(text)
}

fn port(text: &str) -> Result<u16> {
    if text.is_empty() { Ok(DEFAULT_PORT) } else { text.parse().map_err(|_| malformed(FORM)) }
}

fn host(text: &str, port: u16) -> Result<Host> {
    let name = decode(text)?;
    Ok(if name.starts_with('/') {
        Host::Unix(name.into(), port)
    } else if name.is_empty() {
        Host::Tcp("localhost".to_owned(), port)
    } else {
        Host::Tcp(name, port)
    })
}

/// Hosts with their ports, separated by commas. An IPv6 address stands in brackets.
fn hosts(authority: &str) -> Result<Vec<Host>> {
    let one = |text: &str| {
        if let Some(rest) = text.strip_prefix('[') {
            let (address, rest) = rest.split_once(']').ok_or_else(|| malformed(FORM))?;
            let number = match rest.strip_prefix(':') {
                Some(number) => number,
                None if rest.is_empty() => rest,
                None => return Err(malformed(FORM)),
            };
            return host(address, port(number)?);
        }
        let (name, number) = text.split_once(':').unwrap_or((text, ""));
        host(name, port(number)?)
    };
    authority.split(',').map(one).collect()
}

impl Target {
    /// Reads what follows the scheme and its colon.
    pub(super) fn parse(rest: &str) -> Result<Self> {
        let rest = rest.strip_prefix("//").ok_or_else(|| malformed(FORM))?;
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (userinfo, authority) = match authority.rsplit_once('@') {
            Some((userinfo, authority)) => (Some(userinfo), authority),
            None => (None, authority),
        };
        let (mut user, mut password) = (None, None);
        if let Some(userinfo) = userinfo {
            let (name, word) =
                userinfo.split_once(':').map_or((userinfo, None), |(name, word)| (name, Some(word)));
            user = Some(decode(name)?).filter(|name| !name.is_empty());
            password = word.map(decode).transpose()?.map(Secret);
        }
        let mut target = Self {
            hosts: hosts(authority)?,
            user: String::new(),
            password,
            database: decode(database)?,
            tls: TlsMode::Prefer,
            roots: Roots::System,
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            application_name: "taskhold".to_owned(),
            options: None,
        };
        let mut has_roots = false;
        let (mut host_given, mut port_given) = (None, None);
        for pair in query.into_iter().flat_map(|query| query.split('&')).filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| malformed(FORM))?;
            let value = decode(value)?;
            match key {
                "sslmode" => target.tls = tls_mode(&value)?,
                "sslrootcert" => {
                    has_roots = true;
                    target.roots = if value == "system" { Roots::System } else { Roots::File(value.into()) };
                }
                "connect_timeout" => {
                    let seconds: u64 = value.parse().map_err(|_| malformed(FORM))?;
                    if seconds > 0 {
                        target.connect_timeout = Duration::from_secs(seconds.min(3600));
                    }
                }
                "application_name" => target.application_name = value,
                "options" => target.options = Some(value),
                "user" => user = Some(value),
                "password" => target.password = Some(Secret(value)),
                "dbname" => target.database = value,
                "host" => host_given = Some(value),
                "port" => port_given = Some(port(&value)?),
                // Accepted, because everything is as they ask: a server that only reads is refused, and channel
                // binding is never required.
                "target_session_attrs" if matches!(value.as_str(), "any" | "read-write" | "primary") => {}
                "channel_binding" if matches!(value.as_str(), "disable" | "prefer") => {}
                _ => return Err(malformed("the PostgreSQL URL has a parameter that is not known")),
            }
        }
        if let Some(name) = host_given {
            target.hosts = vec![host(&name.replace('%', "%25"), port_given.unwrap_or(DEFAULT_PORT))?];
        } else if let Some(number) = port_given {
            for host in &mut target.hosts {
                match host {
                    Host::Tcp(_, port) | Host::Unix(_, port) => *port = number,
                }
            }
        }
        target.user = user
            .filter(|user| !user.is_empty())
            .ok_or_else(|| malformed("the PostgreSQL URL names no user"))?;
        if target.database.is_empty() {
            target.database.clone_from(&target.user);
        }
        // As libpq does: whoever names roots wants them asked.
        if has_roots && target.tls == TlsMode::Require {
            target.tls = TlsMode::VerifyCa;
        }
        Ok(target)
    }
}

fn tls_mode(value: &str) -> Result<TlsMode> {
    Ok(match value {
        "disable" => TlsMode::Disable,
        "allow" | "prefer" => TlsMode::Prefer,
        "require" => TlsMode::Require,
        "verify-ca" => TlsMode::VerifyCa,
        "verify-full" => TlsMode::VerifyFull,
        _ => {
            return Err(malformed(
                "sslmode is one of disable, allow, prefer, require, verify-ca and verify-full",
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Target {
        Target::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    #[test]
    fn the_parts_are_read() {
        let read = target("//us%40er:p%3Ass@db.example:6432/agents?sslmode=verify-full&sslrootcert=/ca.pem");
        assert_eq!(read.user, "us@er");
        assert_eq!(read.password.unwrap().0, "p:ss");
        assert_eq!(read.hosts, [Host::Tcp("db.example".to_owned(), 6432)]);
        assert_eq!((read.database.as_str(), read.tls), ("agents", TlsMode::VerifyFull));
        assert_eq!(read.roots, Roots::File("/ca.pem".into()));

        let read = target("//u@/");
        assert_eq!(read.hosts, [Host::Tcp("localhost".to_owned(), 5432)]);
        assert_eq!((read.database.as_str(), read.tls), ("u", TlsMode::Prefer));

        let read = target("//u@[::1]:5433,other/d");
        assert_eq!(read.hosts, [Host::Tcp("::1".to_owned(), 5433), Host::Tcp("other".to_owned(), 5432)]);

        let read = target("//u@%2Frun%2Fpostgresql/d");
        assert_eq!(read.hosts, [Host::Unix("/run/postgresql".into(), 5432)]);
        let read = target("///d?host=/run/postgresql&user=u&port=5433");
        assert_eq!(read.hosts, [Host::Unix("/run/postgresql".into(), 5433)]);

        assert_eq!(target("//u@h?sslmode=require&sslrootcert=system").tls, TlsMode::VerifyCa);
    }

    #[test]
    fn what_is_malformed_is_refused_without_a_word_of_it() {
        for url in [
            "",
            "/x",
            "//h/d",
            "//:secret@h/d",
            "//u:secret@h:secret/d",
            "//u:secret%2@h/d",
            "//u@h/d?secret",
            "//u@h/d?secret=secret",
            "//u@h/d?sslmode=secret",
            "//u@h/d?connect_timeout=secret",
            "//u:%00secret@h/d",
            "//u@[::1/d",
            "//u@h/d?target_session_attrs=secret",
        ] {
            let error = Target::parse(url).map(|_| ()).expect_err(url);
            assert_eq!(error.reason(), Reason::InvalidStoreUrl, "{url}");
            assert!(!error.message().contains("secret"), "{url}");
            assert_eq!(error.key(), None, "{url}");
        }
        assert!(!format!("{:?}", target("//u:secret@h/d")).contains("secret"));
    }
}
