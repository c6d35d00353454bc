//! Those who wait for a task to claim: over a counter of the model's own, and over tasks in memory. A call that is lost
//! is a deadlock here, for nobody looks again by himself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use shuttle::thread;
use shuttle::thread::JoinHandle;

use crate::Model;
use crate::claimers::{Claim, Claimers, Counter};
use crate::error::{Reason, Result};
use crate::store::Store;
use crate::sync::Mutex;
use crate::sync::atomic::AtomicBool;
use crate::task::TaskManager;

pub const ALL: &[Model] = &[
    ("claimers: each task that comes is taken", each_task_is_taken),
    ("claimers: at several queues, each task is taken", each_task_of_several_queues_is_taken),
    ("claimers: one whose time is over passes its call on", an_end_of_time_passes_on),
    ("claimers: one whose handle is closed passes its call on", a_close_passes_on),
    ("claimers: one whose look fails passes its call on", a_failure_passes_on),
    ("claimers: the timer of one who leaves is kept by the next", a_timer_passes_on),
    ("claimers: a task calls one of those who wait", no_herd),
    ("claimers: a task that is given back calls who waits", what_is_given_back_is_claimed),
    ("claimers: a handle that closes leaves tasks to others", a_closed_handle_leaves_tasks),
];

/// A wait that is over after its looks.
const NO_TIME: Option<Duration> = Some(Duration::from_nanos(1));
/// Of a timer: over as soon as somebody else has gone on.
const SOON: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Queue {
    ready: usize,
    /// Tasks whose time comes by itself, which only whoever keeps the timer sees.
    timed: usize,
    has_time_come: bool,
}

impl Queue {
    fn take(&mut self) -> bool {
        let from = if self.ready > 0 {
            &mut self.ready
        } else if self.has_time_come && self.timed > 0 {
            &mut self.timed
        } else {
            return false;
        };
        *from -= 1;
        true
    }
}

#[derive(Default)]
struct World {
    claimers: Claimers,
    queues: Mutex<BTreeMap<Arc<str>, Queue>>,
    /// No place where the scheduler may change threads.
    looks: AtomicUsize,
}

impl World {
    fn with<T>(&self, queue: &str, act: impl FnOnce(&mut Queue) -> T) -> T {
        act(self.queues.lock().entry(queue.into()).or_default())
    }

    fn put(&self, queue: &str) {
        self.with(queue, |queue| queue.ready += 1);
        self.claimers.offer(queue, Duration::ZERO);
    }

    fn left(&self) -> usize {
        self.queues.lock().values().map(|queue| queue.ready + queue.timed).sum()
    }
}

/// One who looks at the queues of a world.
struct Looker {
    world: Arc<World>,
    queues: Vec<Arc<str>>,
    /// After how many looks the next one fails.
    fails_after: Option<usize>,
}

impl Counter<()> for Looker {
    fn look(&mut self, leads: &[bool]) -> Result<Claim<()>> {
        self.world.looks.fetch_add(1, Ordering::SeqCst);
        if let Some(left) = self.fails_after.as_mut() {
            match left.checked_sub(1) {
                Some(fewer) => *left = fewer,
                None => return Err(crate::store::corrupt_row()),
            }
        }
        let mut needs_timer = false;
        for (place, name) in self.queues.iter().enumerate() {
            let leads = leads.get(place) == Some(&true);
            let (is_taken, is_timed) = self.world.with(name, |queue| (queue.take(), queue.timed > 0));
            if is_taken {
                return Ok(Claim::Taken((), place));
            }
            needs_timer |= leads && is_timed;
        }
        Ok(Claim::Nothing(needs_timer.then_some(SOON)))
    }

    fn needs_timer(&self, place: usize) -> bool {
        self.world.with(&self.queues[place], |queue| queue.timed > 0)
    }
}

type Waiter = JoinHandle<std::result::Result<bool, Reason>>;

/// Somebody who waits; whether he got a task.
fn wait(world: &Arc<World>, queues: &[&str], timeout: Option<Duration>, closed: &Arc<AtomicBool>) -> Waiter {
    wait_failing(world, queues, timeout, closed, None)
}

fn wait_failing(
    world: &Arc<World>,
    queues: &[&str],
    timeout: Option<Duration>,
    closed: &Arc<AtomicBool>,
    fails_after: Option<usize>,
) -> Waiter {
    let (world, closed) = (Arc::clone(world), Arc::clone(closed));
    let queues: Vec<Arc<str>> = queues.iter().map(|&queue| queue.into()).collect();
    thread::spawn(move || {
        let mut looker = Looker { world: Arc::clone(&world), queues, fails_after };
        let queues = looker.queues.clone();
        let waited = world.claimers.wait(&queues, timeout, &closed, &mut looker);
        waited.map(|taken| taken.is_some()).map_err(|error| error.reason())
    })
}

fn open() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

fn end(world: &World) {
    assert_eq!((world.left(), world.claimers.count(), world.claimers.queues().len()), (0, 0, 0));
}

fn each_task_is_taken() {
    let world = Arc::new(World::default());
    let waiters: Vec<_> = (0..3).map(|_| wait(&world, &["q"], None, &open())).collect();
    let putting = Arc::clone(&world);
    let puts = thread::spawn(move || putting.put("q"));
    world.put("q");
    world.put("q");
    puts.join().unwrap();
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap(), Ok(true));
    }
    end(&world);
}

fn each_task_of_several_queues_is_taken() {
    let world = Arc::new(World::default());
    let waiters = [
        wait(&world, &["a", "b"], None, &open()),
        wait(&world, &["b", "a", "b"], None, &open()),
        wait(&world, &["b"], None, &open()),
    ];
    let putting = Arc::clone(&world);
    let puts = thread::spawn(move || putting.put("b"));
    // The one that waits at `b` alone is served whatever the others take.
    world.put("b");
    world.put("b");
    puts.join().unwrap();
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap(), Ok(true));
    }
    end(&world);
}

/// One leaves as it will while a task comes; the other waits for ever and must get it, or the next one.
fn one_leaves(
    world: &Arc<World>,
    leaves: Waiter,
    stays: Waiter,
    as_it_will: std::result::Result<bool, Reason>,
) {
    world.put("q");
    let left = leaves.join().unwrap();
    if left == Ok(true) {
        world.put("q");
    } else {
        assert_eq!(left, as_it_will);
    }
    assert_eq!(stays.join().unwrap(), Ok(true));
    end(world);
}

fn an_end_of_time_passes_on() {
    let world = Arc::new(World::default());
    let leaves = wait(&world, &["q"], NO_TIME, &open());
    let stays = wait(&world, &["other", "q"], None, &open());
    one_leaves(&world, leaves, stays, Ok(false));
}

fn a_close_passes_on() {
    let world = Arc::new(World::default());
    let closed = open();
    let leaves = wait(&world, &["q", "other"], None, &closed);
    let stays = wait(&world, &["q"], None, &open());
    let closing = Arc::clone(&world);
    let closes = thread::spawn(move || {
        closed.store(true, Ordering::SeqCst);
        closing.claimers.call_all();
    });
    one_leaves(&world, leaves, stays, Err(Reason::ClosedWhileWaiting));
    closes.join().unwrap();
}

fn a_failure_passes_on() {
    let world = Arc::new(World::default());
    let leaves = wait_failing(&world, &["q"], None, &open(), Some(2));
    let stays = wait(&world, &["q"], None, &open());
    world.put("q");
    // It waits until a task calls it, and then cannot read it.
    world.put("q");
    let left = leaves.join().unwrap();
    assert!([Ok(true), Err(Reason::CorruptRow)].contains(&left), "{left:?}");
    assert_eq!(stays.join().unwrap(), Ok(true));
    assert_eq!(world.left(), usize::from(left != Ok(true)));
}

fn a_timer_passes_on() {
    let world = Arc::new(World::default());
    world.with("q", |queue| queue.timed = 1);
    let leaves = wait(&world, &["other", "q"], NO_TIME, &open());
    let stays = wait(&world, &["q"], None, &open());
    let aging = Arc::clone(&world);
    let ages = thread::spawn(move || aging.with("q", |queue| queue.has_time_come = true));
    let left = leaves.join().unwrap().unwrap();
    ages.join().unwrap();
    if left {
        world.put("q");
    }
    assert_eq!(stays.join().unwrap(), Ok(true));
    end(&world);
}

fn no_herd() {
    const WAITERS: usize = 4;
    let world = Arc::new(World::default());
    let closed = open();
    let waiters: Vec<_> = (0..WAITERS).map(|_| wait(&world, &["q"], None, &closed)).collect();
    world.put("q");
    while world.left() > 0 {
        thread::yield_now();
    }
    // Each looks before it waits, and again when it stands in line. The task calls one, and whoever takes it may have
    // been called for nothing by then and calls another.
    let looks = world.looks.load(Ordering::SeqCst);
    assert!(looks <= 2 * WAITERS + 2, "{looks} looks");
    closed.store(true, Ordering::SeqCst);
    world.claimers.call_all();
    let outcomes: Vec<_> = waiters.into_iter().map(|waiter| waiter.join().unwrap()).collect();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Ok(true)).count(), 1);
    end(&world);
}

const CLAIM: &str = r#"{"worker":"w","queues":["q"],"leaseMs":100000}"#;
const QUEUED: &str = r#"{"endpoint":"","origin":1,"queue":"q"}"#;

fn managers() -> [Arc<TaskManager>; 2] {
    let store = Store::open(None, None, crate::clock::Clock::System).unwrap();
    [(); 2].map(|()| Arc::new(TaskManager::open(&store, Some(r#"{"taskTimeToLiveMs":1000000}"#)).unwrap()))
}

fn claim(manager: &TaskManager) -> std::result::Result<Option<serde_json::Value>, Reason> {
    let claimed = manager.claim_task(CLAIM, None).map_err(|error| error.reason())?;
    Ok(claimed.map(|record| serde_json::from_str(record.into_text().as_str()).unwrap()))
}

fn what_is_given_back_is_claimed() {
    let [one, other] = managers();
    one.create_task(QUEUED).unwrap();
    let threads = [one, other].map(|manager| {
        thread::spawn(move || {
            let claimed = claim(&manager).unwrap().expect("no end of time");
            let id = claimed["task"]["taskId"].as_str().unwrap();
            if claimed["lease"]["token"] == 1 {
                manager.release_task(id, Some(r#"{"lease":1,"countsAsAttempt":false}"#)).unwrap();
            }
            claimed["lease"]["token"].as_u64().unwrap()
        })
    });
    let mut tokens = threads.map(|thread| thread.join().unwrap());
    tokens.sort_unstable();
    assert_eq!(tokens, [1, 2]);
}

fn a_closed_handle_leaves_tasks() {
    let [one, other] = managers();
    let closing = Arc::clone(&one);
    let leaves = {
        let one = Arc::clone(&one);
        thread::spawn(move || claim(&one).map(|claimed| claimed.is_some()))
    };
    let stays = {
        let other = Arc::clone(&other);
        thread::spawn(move || claim(&other).unwrap().is_some())
    };
    let closes = thread::spawn(move || closing.close());
    other.create_task(QUEUED).unwrap();
    let left = leaves.join().unwrap();
    if left == Ok(true) {
        other.create_task(QUEUED).unwrap();
    } else {
        assert!([Err(Reason::Closed), Err(Reason::ClosedWhileWaiting)].contains(&left), "{left:?}");
    }
    assert!(stays.join().unwrap());
    closes.join().unwrap();
}
