//! Processes over one file, and visitors to its folder: they remove, rename or replace the file, its log or the log's
//! index while the processes write. Each process gets `storage_unavailable` then, closes its handles and opens the file
//! anew; what it is told from then on holds. `TASKHOLD_VISITS` says how many visits (9, one of each kind, unless given).

mod stores;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use stores::Folder;
use taskhold::clock::Clock;
use taskhold::error::Reason;
use taskhold::store::Store;
use taskhold::task::TaskManager;

const PROCESSES: usize = 3;
const OPTIONS: &str = r#"{"durability": "normal", "busyTimeoutMs": 200}"#;
const CREATION: &str = r#"{"endpoint": "/mcp", "origin": 1}"#;
/// A store looks ten times a second; the rest is for a machine that is busy.
const NOTICED_WITHIN: Duration = Duration::from_secs(2);
/// Until all have closed the file that was visited and opened it anew.
const RECOVERED_WITHIN: Duration = Duration::from_secs(30);
/// What each process writes before the visit and after it.
const ENOUGH: usize = 20;

/// What a visitor does to a file, by its name.
type Visit = (&'static str, fn(&Path));

const VISITS: [Visit; 3] = [
    ("removes", |file| std::fs::remove_file(file).unwrap()),
    ("renames", |file| std::fs::rename(file, file.with_extension("aside")).unwrap()),
    ("replaces", |file| {
        let aside = file.with_extension("aside");
        std::fs::copy(file, &aside).unwrap();
        std::fs::rename(&aside, file).unwrap();
    }),
];

fn open(url: &str) -> Option<(TaskManager, Store)> {
    let store = match Store::open(Some(url), Some(OPTIONS), Clock::System) {
        Ok(store) => store,
        Err(error) => {
            assert_eq!(error.reason(), Reason::StorageUnavailable);
            return None;
        }
    };
    match TaskManager::open(&store, None) {
        Ok(tasks) => Some((tasks, store)),
        Err(error) => {
            assert_eq!(error.reason(), Reason::StorageUnavailable);
            None
        }
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// One of the processes: creates tasks until its input ends.
#[test]
fn as_a_process() {
    let Ok(url) = std::env::var("TASKHOLD_TEST_URL") else { return };
    let is_over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let ending = is_over.clone();
    thread::spawn(move || {
        std::io::stdin().lines().for_each(drop);
        ending.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    let is_over = || is_over.load(std::sync::atomic::Ordering::SeqCst);
    while !is_over() {
        let Some((tasks, store)) = open(&url) else { continue };
        say("opened");
        while !is_over() {
            match tasks.create_task(CREATION) {
                Ok(record) => {
                    let record: Value = serde_json::from_str(record.as_str()).unwrap();
                    say(&format!("created {}", record["task"]["taskId"].as_str().unwrap()));
                }
                Err(error) => {
                    assert_eq!(error.reason(), Reason::StorageUnavailable);
                    say("lost");
                    break;
                }
            }
            thread::sleep(Duration::from_millis(1));
        }
        drop((tasks, store));
    }
    // The thread that closes the file ends with the process.
    thread::sleep(Duration::from_millis(50));
}

/// A process and what it says.
struct Process {
    child: Child,
    lines: Receiver<(Instant, String)>,
    said: Vec<(Instant, String)>,
}

impl Process {
    fn start(url: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "as_a_process", "--nocapture"])
            .env("TASKHOLD_TEST_URL", url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = tell.send((Instant::now(), line));
            }
        });
        Self { child, lines, said: Vec::new() }
    }

    /// Listens until `is_enough` of what was said.
    fn listen(&mut self, is_enough: impl Fn(&[(Instant, String)]) -> bool) {
        let begun = Instant::now();
        while !is_enough(&self.said) {
            let left = RECOVERED_WITHIN.checked_sub(begun.elapsed()).expect("it goes on in time");
            self.said.push(self.lines.recv_timeout(left).expect("it goes on in time"));
        }
    }

    fn end(&mut self) {
        drop(self.child.stdin.take());
        self.said.extend(self.lines.iter());
        assert!(self.child.wait().unwrap().success(), "a process failed");
    }
}

fn created(said: &[(Instant, String)]) -> impl Iterator<Item = &str> {
    said.iter().filter_map(|(_, line)| line.strip_prefix("created "))
}

/// Where what was said after the file was opened anew begins.
fn opened_anew(said: &[(Instant, String)]) -> Option<usize> {
    let lost = said.iter().position(|(_, line)| line == "lost")?;
    Some(lost + said[lost..].iter().position(|(_, line)| line == "opened")?)
}

fn visit(suffix: &str, does: fn(&Path)) -> (usize, usize) {
    let folder = Folder::new();
    let url = folder.url("agents.db");
    let mut processes: Vec<Process> = (0..PROCESSES).map(|_| Process::start(&url)).collect();
    for process in &mut processes {
        process.listen(|said| created(said).count() >= ENOUGH);
    }
    let visited = Instant::now();
    does(&folder.path.join(format!("agents.db{suffix}")));
    for process in &mut processes {
        process.listen(|said| opened_anew(said).is_some_and(|at| created(&said[at..]).count() >= ENOUGH));
    }
    processes.iter_mut().for_each(Process::end);
    folder.wait_until_closed_here("agents.db");
    let store = Store::open(Some(&url), None, Clock::System).unwrap();
    let findings = store.check().unwrap();
    assert!(findings.as_str().contains(r#""ok":true"#), "{}", findings.as_str());
    let tasks = TaskManager::open(&store, None).unwrap();
    let is_there = |id: &str| tasks.find_task(id).unwrap().is_some();
    let (mut kept, mut before) = (0, 0);
    for process in &processes {
        let at = opened_anew(&process.said).unwrap();
        let (first, then) = process.said.split_at(at);
        let noticed = first.iter().find(|(_, line)| line == "lost").unwrap().0;
        assert!(noticed.saturating_duration_since(visited) < NOTICED_WITHIN, "noticed late");
        assert!(created(then).all(is_there), "acknowledged after the file was opened anew, and gone");
        kept += created(first).filter(|id| is_there(id)).count();
        before += created(first).count();
    }
    (kept, before)
}

#[cfg(target_os = "linux")]
#[test]
fn after_a_visit_nothing_is_acknowledged_that_is_lost() {
    let given = std::env::var("TASKHOLD_VISITS").ok();
    let visits: usize = given.map_or(9, |visits| visits.parse().expect("TASKHOLD_VISITS is a number"));
    for number in 0..visits {
        let suffix = ["", "-wal", "-shm"][number % 3];
        let (name, does) = VISITS[number / 3 % 3];
        let (kept, before) = visit(suffix, does);
        let is_saved = name != "replaces" && !suffix.is_empty();
        assert!(!is_saved || kept == before, "{name} agents.db{suffix}: {kept} of {before} are there");
        println!("a visitor {name} agents.db{suffix}: {kept} of {before} from before are there");
    }
}
