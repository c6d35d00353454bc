//! A process that is suspended for longer than the leases of its pins. Others go on without it, and when it resumes it
//! finds what is so: it takes its pins again where the session is still there, and no limit is exceeded.
#![cfg(all(feature = "fault-injection", feature = "sqlite", target_os = "linux"))]

mod stores;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use stores::{Folder, QUICK};
use taskhold::clock::Clock;
use taskhold::session::SessionStore;
use taskhold::store::Store;

const URL: &str = "TASKHOLD_TEST_URL_OF_SUSPENDED_PROCESS";
/// A session is idle for so long that it stays.
const LONG: &str = r#"{"name": "long", "idleTimeoutMs": 600000, "initializationTimeoutMs": 0}"#;
/// One session, which goes soon when nobody holds it.
const SHORT: &str =
    r#"{"name": "short", "idleTimeoutMs": 50, "initializationTimeoutMs": 0, "concurrentSessionLimit": 1}"#;

fn open(url: &str) -> (SessionStore, SessionStore) {
    let store = Store::open(Some(url), Some(QUICK), Clock::System).unwrap();
    (SessionStore::open(&store, Some(LONG)).unwrap(), SessionStore::open(&store, Some(SHORT)).unwrap())
}

fn creation(id: &str) -> String {
    format!(r#"{{"sessionId": "{id}"}}"#)
}

/// The process that is suspended: it pins a session of each kind, and answers what it finds when it is asked.
#[test]
fn the_suspended_process() {
    let Ok(url) = std::env::var(URL) else { return };
    let (long, short) = open(&url);
    long.create("/mcp", Some(&creation("kept"))).unwrap().unwrap();
    assert!(long.pin("kept").unwrap());
    // A slow process may lose it before it is pinned.
    while short.create("/mcp", Some(&creation("lost"))).unwrap().is_none() || !short.pin("lost").unwrap() {}
    println!("\nsaid: ready");
    for line in std::io::stdin().lines() {
        line.unwrap();
        let kept = long.find_by_session_id("kept").unwrap().is_some();
        let lost = short.find_by_session_id("lost").unwrap().is_some();
        let pinned = short.pin("lost").unwrap();
        let created = short.create("/mcp", None).unwrap().is_some();
        println!("\nsaid: kept {kept}, lost {lost}, pinned {pinned}, created {created}");
    }
}

struct Suspended {
    process: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Suspended {
    fn start(url: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_suspended_process", "--nocapture"])
            .envs([(URL, url), ("TASKHOLD_TEST_PIN_LEASE_MS", "1000")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stdout.take().unwrap());
        Self { process, said }
    }

    fn next(&mut self) -> String {
        let mut line = String::new();
        while self.said.read_line(&mut line).unwrap() > 0 {
            if let Some(said) = line.trim_end().strip_prefix("said: ") {
                return said.to_owned();
            }
            line.clear();
        }
        panic!("the process ended");
    }

    fn signal(&self, signal: libc::c_int) {
        let id = i32::try_from(self.process.id()).unwrap();
        // SAFETY: the process was started here and not waited for yet.
        assert_eq!(unsafe { libc::kill(id, signal) }, 0);
    }

    /// Suspends it, and comes back when it stands still.
    fn suspend(&self) {
        self.signal(libc::SIGSTOP);
        let id = i32::try_from(self.process.id()).unwrap();
        let mut status = 0;
        // SAFETY: as above; only waits for the stop.
        assert_eq!(unsafe { libc::waitpid(id, &raw mut status, libc::WUNTRACED) }, id);
        assert!(libc::WIFSTOPPED(status), "it ended");
    }
}

impl Drop for Suspended {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_process_that_was_suspended_for_longer_than_a_lease_finds_what_is_so() {
    let folder = Folder::new();
    let url = folder.url("agents.db");
    let (long, short) = open(&url);
    let outsider = Connection::open(folder.path.join("agents.db")).unwrap();
    let is_leased = || {
        let sql = "SELECT count(*) FROM session_pins p JOIN sessions s ON s.sequence = p.session \
             WHERE s.id = 'kept' AND p.lease_until > CAST(1000 * unixepoch('subsec') AS INTEGER)";
        outsider.query_row(sql, (), |row| row.get::<_, i64>(0)).is_ok_and(|rows| rows == 1)
    };
    let mut suspended = Suspended::start(&url);
    assert_eq!(suspended.next(), "ready");
    suspended.suspend();
    // Its leases lapse: the place of its session is given to another.
    let has_place = || {
        if let Ok(created) = short.create("/mcp", Some(&creation("other"))) {
            return created.is_some() && short.pin("other").unwrap();
        }
        // It stands still with the file locked.
        suspended.signal(libc::SIGCONT);
        std::thread::sleep(Duration::from_millis(20));
        suspended.suspend();
        false
    };
    wait_until("its lease ends", has_place);
    wait_until("its other lease ends", || !is_leased());
    assert!(long.find_by_session_id("kept").unwrap().is_some());
    suspended.signal(libc::SIGCONT);
    suspended.process.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    assert_eq!(suspended.next(), "kept true, lost false, pinned false, created false");
    assert!(short.find_by_session_id("other").unwrap().is_some());
    wait_until("it takes its pin again", is_leased);
}
