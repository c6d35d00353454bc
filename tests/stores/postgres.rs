//! A PostgreSQL server for a test: the one of `scripts/postgres.sh` in whose midst the test runs, or one that it starts
//! for the test process alone. Statements beside the library run by `psql`; each store has a schema of its own.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// What `scripts/postgres.sh` tells of its server.
fn server() -> &'static HashMap<String, String> {
    static SERVER: OnceLock<HashMap<String, String>> = OnceLock::new();
    SERVER.get_or_init(|| {
        if std::env::var_os("TASKHOLD_TEST_POSTGRES").is_some() {
            return std::env::vars().collect();
        }
        // The server is there until the pipe closes, and so until this process ends in whichever way.
        let mut script = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/postgres.sh"))
            .args(["c", "sh", "-c", "env; echo; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the script runs");
        let lines = BufReader::new(script.stdout.take().expect("a pipe")).lines();
        let variables: HashMap<String, String> = lines
            .map(|line| line.expect("its environment"))
            .take_while(|line| !line.is_empty())
            .filter_map(|line| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
            .collect();
        assert!(variables.contains_key("TASKHOLD_TEST_POSTGRES"), "no server for this test");
        std::mem::forget(script);
        variables
    })
}

/// The URL of the tests' database, as its owner.
pub fn url() -> String {
    server()["TASKHOLD_TEST_POSTGRES"].clone()
}

/// Where the tests' database is, in parts that a test changes.
pub struct Address {
    pub user: String,
    /// As a URL has it.
    pub password: String,
    pub host: String,
    pub port: u16,
    pub database: String,
    pub parameters: String,
}

impl Address {
    /// That of the tests' database.
    pub fn new() -> Self {
        let url = url();
        let rest = url.strip_prefix("postgresql://").expect("a URL");
        let (login, rest) = rest.split_once('@').expect("a login");
        let (host, rest) = rest.split_once(':').expect("a port");
        let (port, rest) = rest.split_once('/').expect("a path");
        let (database, parameters) = rest.split_once('?').expect("parameters");
        let (user, password) = login.split_once(':').expect("a password");
        Self {
            user: user.to_owned(),
            password: password.to_owned(),
            host: host.to_owned(),
            port: port.parse().expect("a port"),
            database: database.to_owned(),
            parameters: parameters.to_owned(),
        }
    }

    pub fn url(&self) -> String {
        let Self { user, password, host, port, database, parameters } = self;
        format!("postgresql://{user}:{password}@{host}:{port}/{database}?{parameters}")
    }
}

/// The certificate that the server's own is signed with.
pub fn certificate() -> String {
    server()["TASKHOLD_TEST_POSTGRES_CA"].clone()
}

/// Calls `pg_ctl` for the server: `["restart", "-m", "immediate"]`.
pub fn control(words: &[&str]) {
    let mut command = server()["TASKHOLD_TEST_POSTGRES_CTL"].split(' ');
    let done = Command::new(command.next().expect("a program"))
        .args(command)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .expect("pg_ctl runs");
    assert!(done.success(), "pg_ctl {words:?}");
}

/// Runs statements at `url` and gives the rows' text, or what the server or `psql` complained of.
pub fn try_sql_at(url: &str, statements: &str) -> Result<String, String> {
    let output = Command::new("psql")
        .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statements, url])
        .env("PATH", &server()["PATH"])
        .env("PGCONNECT_TIMEOUT", "20")
        .stdin(Stdio::null())
        .output()
        .expect("psql runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end().to_owned();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// Runs statements in the tests' database.
pub fn sql(statements: &str) -> String {
    try_sql_at(&url(), statements).unwrap_or_else(|complaint| panic!("{statements}: {complaint}"))
}

/// A schema of its own for a store. It is dropped with its owner.
pub struct Schema {
    pub name: String,
}

impl Schema {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { name: format!("test_{}_{number}", std::process::id()) }
    }

    /// Options that open a store in this schema.
    pub fn options(&self) -> String {
        self.options_with("{}")
    }

    /// These options, and this schema.
    pub fn options_with(&self, others: &str) -> String {
        let mut options: serde_json::Value = serde_json::from_str(others).expect("options are JSON");
        options["schema"] = self.name.as_str().into();
        options.to_string()
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        drop_schema(&self.name);
    }
}

/// Drops a schema and all that is in it, if it is there.
pub fn drop_schema(name: &str) {
    // A store that is just closing may still hold a lock for a moment.
    for _ in 0..3 {
        if try_sql_at(&url(), &format!("DROP SCHEMA IF EXISTS \"{name}\" CASCADE")).is_ok() {
            return;
        }
    }
}

/// PgBouncer before the tests' server, until it is dropped.
pub struct Pooler {
    script: Child,
    pub url: String,
}

impl Pooler {
    pub fn start() -> Self {
        let mut script = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/pgbouncer.sh"))
            .args(["sh", "-c", "echo \"$TASKHOLD_TEST_POSTGRES\"; exec cat"])
            .env("TASKHOLD_TEST_POSTGRES", url())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("PgBouncer");
        let mut url = String::new();
        BufReader::new(script.stdout.take().expect("PgBouncer")).read_line(&mut url).expect("PgBouncer");
        assert!(!url.is_empty(), "PgBouncer did not start");
        Self { script, url: url.trim().to_owned() }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.script.stdin.take());
        self.script.wait().expect("PgBouncer");
    }
}
