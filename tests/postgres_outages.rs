//! A server that restarts, crashes, or ends connections while processes work on it: calls end within seconds, what was
//! acknowledged is there, what was refused is not, nothing is done twice, and nobody turns in circles meanwhile.
//! `TASKHOLD_OUTAGES` says how many restarts there are (3 unless given).

mod stores;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stores::postgres::{Schema, control, sql, try_sql_at, url};
use taskhold::a2a::StateProvider;
use taskhold::clock::Clock;
use taskhold::error::{Error, Reason, Status};
use taskhold::store::Store;
use taskhold::task::TaskManager;

const TIMEOUTS: &str = r#"{"acquireTimeoutMs": 2000, "statementTimeoutMs": 2000}"#;
/// Longer than any call takes, for a machine that has something else to do.
const PATIENCE: Duration = Duration::from_secs(30);

/// One test at a time has the server.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// What a call says of the one change that it was to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Done,
    Refused,
    Unknown,
}

/// A worker, and what it was told of its records.
struct Worker<'w> {
    number: usize,
    tasks: TaskManager,
    provider: StateProvider,
    /// Lowest and highest revision that each task can have.
    revisions: HashMap<String, (u64, u64)>,
    /// What was said of each event of the log.
    events: Vec<Said>,
    /// Operations that have a task, for certain.
    operations: u64,
    load: &'w Load,
}

/// What all workers share.
#[derive(Default)]
struct Load {
    is_over: AtomicBool,
    done: AtomicU64,
    refused: AtomicU64,
    unknown: AtomicU64,
}

impl Worker<'_> {
    /// Makes a call, which must end in time and may fail only because of the storage.
    fn call<T>(&self, call: impl FnOnce() -> Result<T, Error>) -> (Said, Option<T>) {
        let begun = Instant::now();
        let outcome = call();
        assert!(begun.elapsed() < PATIENCE, "a call took {:?}", begun.elapsed());
        let (said, value, count) = match outcome {
            Ok(value) => (Said::Done, Some(value), &self.load.done),
            Err(error) if error.reason() == Reason::OutcomeUnknown => {
                (Said::Unknown, None, &self.load.unknown)
            }
            Err(error) if error.status() == Status::Unavailable => (Said::Refused, None, &self.load.refused),
            Err(error) => panic!("{error:?}"),
        };
        count.fetch_add(1, Ordering::SeqCst);
        if said != Said::Done {
            // As a host does that is told to try again.
            thread::sleep(Duration::from_millis(10));
        }
        (said, value)
    }

    fn partition(&self) -> String {
        format!("worker-{}", self.number)
    }

    /// Creates the next task, and asks again until it is certain that it is there.
    fn create(&mut self) {
        let creation = json!({
            "endpoint": "/mcp", "origin": {}, "authorizationPartition": self.partition(),
            "operationId": format!("operation-{}", self.operations),
        })
        .to_string();
        loop {
            let (said, record) = self.call(|| self.tasks.create_task(&creation));
            if said == Said::Done {
                let record = parsed(record.unwrap().as_str());
                let id = record["task"]["taskId"].as_str().unwrap().to_owned();
                self.revisions.insert(id, (1, 1));
                self.operations += 1;
                return;
            }
        }
    }

    fn change(&mut self) {
        let id = self.revisions.keys().nth(self.events.len() % self.revisions.len()).unwrap().clone();
        let (said, record) = self.call(|| self.tasks.mark_task_working(&id, Some("on it"), None));
        let (lowest, highest) = self.revisions[&id];
        let range = match said {
            Said::Done => {
                let record = parsed(record.unwrap().into_text().as_str());
                let revision = record["revision"].as_u64().unwrap();
                assert!(
                    (lowest + 1..=highest + 1).contains(&revision),
                    "{revision} after {lowest}..{highest}"
                );
                (revision, revision)
            }
            Said::Refused => (lowest, highest),
            Said::Unknown => (lowest, highest + 1),
        };
        self.revisions.insert(id, range);
    }

    fn save(&mut self) {
        let task = json!({"id": self.partition(), "status": {"state": "working"}}).to_string();
        let options = json!({"event": {"n": self.events.len()}}).to_string();
        let (said, _) = self.call(|| self.provider.save_task(None, &task, Some(&options)));
        self.events.push(said);
    }

    fn work(&mut self) {
        self.create();
        while !self.load.is_over.load(Ordering::SeqCst) {
            self.change();
            self.save();
            if self.events.len().is_multiple_of(8) && self.operations < 40 {
                self.create();
            }
        }
    }

    /// Compares what was said with what is there.
    fn audit(&self, tasks: &TaskManager, provider: &StateProvider) {
        for (id, (lowest, highest)) in &self.revisions {
            let record = parsed(tasks.find_task(id).unwrap().expect("an acknowledged task").as_str());
            let revision = record["revision"].as_u64().unwrap();
            assert!((*lowest..=*highest).contains(&revision), "{revision} is not in {lowest}..={highest}");
        }
        let params = json!({"authorizationPartition": self.partition(), "pageSize": 1000}).to_string();
        let page = parsed(tasks.list_tasks(Some(&params)).unwrap().as_str());
        assert_eq!(
            page["records"].as_array().unwrap().len(),
            self.revisions.len(),
            "one task for each operation"
        );
        let mut times = vec![0; self.events.len()];
        let mut after = 0;
        loop {
            let params = json!({"afterRevision": after, "limit": 1000}).to_string();
            let log = parsed(provider.read_events(&self.partition(), Some(&params)).unwrap().as_str());
            let events = log["events"].as_array().unwrap();
            for event in events {
                times[usize::try_from(event["event"]["n"].as_u64().unwrap()).unwrap()] += 1;
            }
            match events.last() {
                Some(last) => after = last["revision"].as_u64().unwrap(),
                None => break,
            }
        }
        for (at, said) in self.events.iter().enumerate() {
            let allowed = match said {
                Said::Done => 1..=1,
                Said::Refused => 0..=0,
                Said::Unknown => 0..=1,
            };
            assert!(allowed.contains(&times[at]), "event {at} was {said:?} and is there {} times", times[at]);
        }
    }
}

/// Lets workers work while `disturb` disturbs them. It is called with a function that waits until they get on.
fn under_load(url: &str, options: &str, disturb: impl FnOnce(&dyn Fn())) {
    const WORKERS: usize = 6;
    let schema = Schema::new();
    let open = |number: usize, load| {
        let store = Store::open(Some(url), Some(&schema.options_with(options)), Clock::System).unwrap();
        Worker {
            number,
            tasks: TaskManager::open(&store, None).unwrap(),
            provider: StateProvider::open(&store, None).unwrap(),
            revisions: HashMap::new(),
            events: Vec::new(),
            operations: 0,
            load,
        }
    };
    let load = Load::default();
    let workers: Vec<Worker> = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|number| {
                let mut worker = open(number, &load);
                scope.spawn(move || {
                    worker.work();
                    worker
                })
            })
            .collect();
        let progress = || {
            let from = load.done.load(Ordering::SeqCst);
            let begun = Instant::now();
            while load.done.load(Ordering::SeqCst) < from + 60 {
                assert!(begun.elapsed() < 2 * PATIENCE, "nothing gets on");
                thread::sleep(Duration::from_millis(2));
            }
        };
        progress();
        disturb(&progress);
        progress();
        load.is_over.store(true, Ordering::SeqCst);
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let store = Store::open(Some(url), Some(&schema.options_with(options)), Clock::System).unwrap();
    let (tasks, provider) =
        (TaskManager::open(&store, None).unwrap(), StateProvider::open(&store, None).unwrap());
    for worker in &workers {
        worker.audit(&tasks, &provider);
    }
    let findings = store.check().unwrap();
    assert!(findings.as_str().contains(r#""ok":true"#), "{}", findings.as_str());
    let count = |count: &AtomicU64| count.load(Ordering::SeqCst);
    println!(
        "{} done, {} refused, {} unknown",
        count(&load.done),
        count(&load.refused),
        count(&load.unknown)
    );
}

fn outages() -> usize {
    let given = std::env::var("TASKHOLD_OUTAGES").ok();
    given.map_or(3, |text| text.parse().expect("TASKHOLD_OUTAGES is a number"))
}

#[test]
fn a_server_that_restarts_under_load() {
    let _alone = alone();
    under_load(&url(), TIMEOUTS, |progress| {
        for outage in 0..outages() {
            control(&["restart", "-m", if outage % 2 == 0 { "immediate" } else { "fast" }]);
            progress();
        }
    });
}

/// Ends all connections but its own, again and again.
fn terminate(times: usize) {
    for _ in 0..times {
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE usename = current_user AND pid <> pg_backend_pid()";
        let _ = try_sql_at(&url(), end);
        thread::sleep(Duration::from_millis(15));
    }
}

#[test]
fn connections_that_an_administrator_ends_under_load() {
    let _alone = alone();
    under_load(&url(), TIMEOUTS, |progress| {
        for _ in 0..outages() {
            terminate(12);
            progress();
        }
    });
}

#[test]
fn connections_that_are_ended_behind_a_pooler_under_load() {
    let _alone = alone();
    let pooler = stores::postgres::Pooler::start();
    let options = r#"{"acquireTimeoutMs": 2000, "statementTimeoutMs": 2000, "poolerSafe": true}"#;
    under_load(&pooler.url, options, |progress| {
        for _ in 0..outages() {
            terminate(12);
            progress();
        }
    });
}

/// The processor time of this process so far.
fn processor_time() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the structure is writable, and filled in when the call succeeds.
    let usage = unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()), 0);
        usage.assume_init()
    };
    let time = |value: libc::timeval| {
        Duration::from_secs(value.tv_sec.unsigned_abs()) + Duration::from_micros(value.tv_usec.unsigned_abs())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Asks again when the storage fails, as a host does, until there is an answer.
fn until_answered<T>(mut ask: impl FnMut() -> Result<T, Error>) -> T {
    let begun = Instant::now();
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(error) => assert_eq!(error.status(), Status::Unavailable, "{error:?}"),
        }
        assert!(begun.elapsed() < 4 * PATIENCE, "no answer");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn those_who_wait_through_an_outage_rest_and_then_hear_of_changes() {
    let _alone = alone();
    let schema = Schema::new();
    let open = || Store::open(Some(&url()), Some(&schema.options_with(TIMEOUTS)), Clock::System).unwrap();
    let (one, other) = (open(), open());
    let (mine, theirs) = (TaskManager::open(&one, None).unwrap(), TaskManager::open(&other, None).unwrap());
    let creation = r#"{"endpoint": "/mcp", "origin": {}}"#;
    let record = parsed(mine.create_task(creation).unwrap().as_str());
    let id = record["task"]["taskId"].as_str().unwrap();
    let queue = mine.open_events(16).unwrap();
    let claim = json!({"worker": "w", "queues": ["q"], "leaseMs": 60_000}).to_string();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| until_answered(|| mine.wait_task(id, 1, Some(2 * PATIENCE))));
        let hearing = scope.spawn(|| until_answered(|| queue.next(Some(2 * PATIENCE))));
        let claiming = scope.spawn(|| until_answered(|| mine.claim_task(&claim, Some(2 * PATIENCE))));
        thread::sleep(Duration::from_millis(300));
        control(&["stop", "-m", "immediate"]);
        let (before, outage) = (processor_time(), Duration::from_secs(3));
        thread::sleep(outage);
        let spent = processor_time().saturating_sub(before);
        assert!(spent < outage / 4, "{spent:?} of {outage:?}");
        control(&["start"]);
        until_answered(|| theirs.mark_task_working(id, Some("on it"), None));
        let queued = r#"{"endpoint": "/mcp", "origin": {}, "queue": "q", "operationId": "o"}"#;
        until_answered(|| theirs.create_task(queued));
        assert_eq!(parsed(waiting.join().unwrap().as_str())["revision"], 2);
        let event = parsed(hearing.join().unwrap().as_str());
        assert!(event["taskId"] == *id || event["event"] == "lagged", "{event}");
        assert!(claiming.join().unwrap().is_some());
    });
    drop(sql("SELECT 1"));
}
