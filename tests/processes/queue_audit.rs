//! Processes that share queued work. Some are killed, some stand still for longer than their leases. Then what is
//! left over is done, and what each process said is compared with what the store holds.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskhold::task::TaskManager;

use super::audit::{Fate, check, listen, start};
use super::worker::parsed;
use super::{LEASE_MS, Numbers, QUEUES, Shared};
use crate::stores::Kind;

const PROCESSES: u64 = 6;
const OPERATIONS_OF_EACH: u64 = 45;

/// What happened in rounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    pub rounds: usize,
    pub kills: usize,
    pub stops: usize,
    pub tasks: usize,
    pub claims: usize,
    /// Completions that were acknowledged.
    pub ends: usize,
    /// Tasks that lapses or releases ended, or wishes to cancel.
    pub given_up: usize,
    /// Completions that were refused because the lease was lost or the task had ended.
    pub refused: usize,
}

impl Figures {
    pub const TITLES: &str = "rounds  kills  stops  tasks  claims  ended  given up  late completions refused";

    pub fn add(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.kills += other.kills;
        self.stops += other.stops;
        self.tasks += other.tasks;
        self.claims += other.claims;
        self.ends += other.ends;
        self.given_up += other.given_up;
        self.refused += other.refused;
    }

    pub fn line(&self) -> String {
        let Self { rounds, kills, stops, tasks, claims, ends, given_up, refused } = self;
        format!(
            "{rounds:6}  {kills:5}  {stops:5}  {tasks:5}  {claims:6}  {ends:5}  {given_up:8}  {refused:24}"
        )
    }
}

/// One round.
pub fn round(kind: Kind, round: u64) -> Figures {
    let shared = Shared::new(kind);
    let mut numbers = Numbers(0x00c0_ffee ^ (round + 1) << 20);
    // Of six, three are killed after a random number of lines and replaced, and two stand still now and then.
    let fates: Vec<Fate> = (0..PROCESSES)
        .map(|at| match at {
            0 | 2 | 4 => Fate::Killed(usize::try_from(1 + numbers.below(60)).unwrap()),
            1 | 3 => Fate::Stopped(
                3,
                usize::try_from(1 + numbers.below(30)).unwrap(),
                Duration::from_millis(2 * LEASE_MS),
            ),
            _ => Fate::Lives,
        })
        .collect();
    let (mut said, mut kills, mut stops) = (Vec::new(), 0, 0);
    thread::scope(|scope| {
        let shared = &shared;
        let listeners: Vec<_> = fates
            .iter()
            .enumerate()
            .map(|(at, fate)| {
                scope.spawn(move || {
                    let number = round * 1000 + at as u64;
                    let mut heard = listen(start("queue", shared, number, OPERATIONS_OF_EACH), fate);
                    if heard.was_killed {
                        let other = start("queue", shared, number + 500, OPERATIONS_OF_EACH / 2);
                        heard.lines.extend(listen(other, &Fate::Lives).lines);
                    }
                    heard
                })
            })
            .collect();
        for listener in listeners {
            let heard = listener.join().unwrap();
            kills += usize::from(heard.was_killed);
            stops += heard.stops;
            said.extend(heard.lines);
        }
    });
    let store = shared.open();
    check(&store);
    let tasks = TaskManager::open(&store, None).unwrap();
    finish(&tasks, &mut said);
    check(&store);
    Figures { rounds: 1, kills, stops, ..Audit::of(&said).compare(&tasks) }
}

fn records(tasks: &TaskManager, status: &str) -> Vec<Value> {
    let params = json!({"status": status, "pageSize": 1000, "includePayload": true}).to_string();
    parsed(tasks.list_tasks(Some(&params)).unwrap().as_str())["records"].as_array().unwrap().clone()
}

/// Does what is left over: answers, claims, completes, and lets leases lapse that nobody keeps any more.
fn finish(tasks: &TaskManager, said: &mut Vec<String>) {
    let claim = json!({"worker": "the last", "queues": QUEUES, "leaseMs": 60_000}).to_string();
    let begun = Instant::now();
    loop {
        let parked = records(tasks, "input_required");
        for record in &parked {
            let requests = record["task"]["inputRequests"].as_object().unwrap();
            let responses: serde_json::Map<_, _> =
                requests.keys().map(|key| (key.clone(), json!({"roots": []}))).collect();
            let id = record["task"]["taskId"].as_str().unwrap();
            tasks.update_task("/mcp", None, id, &Value::Object(responses).to_string(), None).unwrap();
        }
        while let Some(record) = tasks.claim_task(&claim, Some(Duration::ZERO)).unwrap() {
            let record = parsed(record.into_text().as_str());
            let (id, token) = (record["task"]["taskId"].as_str().unwrap(), &record["lease"]["token"]);
            let checkpoint = |at: usize| record["checkpoint"][at].as_u64().unwrap_or(0);
            let (from, note) = (checkpoint(0), checkpoint(1));
            said.push(format!("claimed {id} {token} {} {from} {note}", record["attempt"]));
            let options = json!({"lease": token}).to_string();
            tasks.complete_task(id, &json!({"by": token}).to_string(), None, Some(&options)).unwrap();
            said.push(format!("ended {id} {token}"));
        }
        let open = records(tasks, "working");
        if parked.is_empty() && open.is_empty() {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "work is lost: {open:?} {parked:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A checkpoint: the token under which it was noted, and its number there.
type Note = (u64, u64);

/// A claim: its attempt, and the checkpoint that came with it.
type Claim = (u64, Note);

/// What was said of one task.
#[derive(Default)]
struct Told {
    /// By token.
    claims: BTreeMap<u64, Claim>,
    notes: Vec<Note>,
    ended_by: Option<u64>,
    refused: Vec<u64>,
}

/// What all processes said.
#[derive(Default)]
struct Audit<'a> {
    of_task: HashMap<&'a str, Told>,
    operations: HashMap<&'a str, &'a str>,
}

impl<'a> Audit<'a> {
    fn of(said: &'a [String]) -> Self {
        let mut audit = Self::default();
        let mut seen = HashSet::new();
        let number = |word: &str| word.parse::<u64>().unwrap();
        for line in said {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["opened" | "done"] => {}
                ["created", id] => {
                    assert!(seen.insert(line.as_str()), "created twice: {line}");
                    audit.of_task.entry(id).or_default();
                }
                ["operation", operation, id] => {
                    let known = audit.operations.entry(operation).or_insert(id);
                    assert_eq!(*known, id, "one operation made two tasks");
                }
                ["claimed", id, token, attempt, from, note] => {
                    let claim = (number(attempt), (number(from), number(note)));
                    let told = audit.of_task.entry(id).or_default();
                    assert!(told.claims.insert(number(token), claim).is_none(), "claimed twice: {line}");
                }
                ["noted", id, token, note] => {
                    audit.of_task.entry(id).or_default().notes.push((number(token), number(note)));
                }
                ["answered" | "took", ..] => assert!(seen.insert(line.as_str()), "twice: {line}"),
                ["ended", id, token] => {
                    let told = audit.of_task.entry(id).or_default();
                    assert!(told.ended_by.replace(number(token)).is_none(), "ended twice: {line}");
                }
                ["refused", id, token] => audit.of_task.entry(id).or_default().refused.push(number(token)),
                _ => panic!("not understood: {line}"),
            }
        }
        audit
    }

    fn compare(&self, tasks: &TaskManager) -> Figures {
        let mut figures = Figures::default();
        for (id, told) in &self.of_task {
            let record = tasks.find_task(id).unwrap().unwrap_or_else(|| panic!("{id} is gone"));
            told.compare(&parsed(record.as_str()));
            figures.claims += told.claims.len();
            figures.refused += told.refused.len();
        }
        for status in ["completed", "failed", "cancelled"] {
            let count = records(tasks, status).len();
            figures.tasks += count;
            *(if status == "completed" { &mut figures.ends } else { &mut figures.given_up }) += count;
        }
        assert!(figures.tasks >= self.of_task.len());
        figures
    }
}

impl Told {
    fn compare(&self, record: &Value) {
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let (attempt, maximum) = (number(&record["attempt"]), number(&record["attempts"]["maximum"]));
        assert!(attempt <= maximum, "begun too often: {record}");
        assert_eq!(record["lease"], Value::Null, "an ended task is held: {record}");
        let mut last = 0;
        for (&token, &(attempt, found)) in &self.claims {
            assert!((last..=maximum).contains(&attempt), "attempt {attempt} of {maximum} after {last}");
            last = attempt;
            // What was noted under an earlier lease was there when this one began.
            assert!(found.0 < token, "a checkpoint of a lease that was not there yet: {record}");
            let newest = self.notes.iter().filter(|note| note.0 < token).max();
            assert!(
                newest.is_none_or(|newest| *newest <= found),
                "{newest:?} was lost before {token}: {record}"
            );
        }
        let checkpoint = (number(&record["checkpoint"][0]), number(&record["checkpoint"][1]));
        assert!(self.notes.iter().all(|note| *note <= checkpoint), "a checkpoint was lost: {record}");
        let status = record["task"]["status"].as_str().unwrap();
        let by = (status == "completed").then(|| number(&record["task"]["result"]["by"]));
        if let Some(token) = self.ended_by {
            assert_eq!(by, Some(token), "another ended it as well: {record}");
        }
        assert!(by.is_none_or(|by| !self.refused.contains(&by)), "a refused completion counts: {record}");
        // Whoever claimed later had the task in hand, so that no earlier lease could end it.
        let newest = self.claims.keys().next_back().copied().unwrap_or(0);
        assert!(by.is_none_or(|by| by >= newest), "ended by {by:?} after {newest} was given out: {record}");
        match status {
            "completed" => {}
            "failed" => assert_eq!(attempt, maximum, "given up with attempts left: {record}"),
            "cancelled" => assert!(record["cancelationRequested"] == true, "{record}"),
            _ => panic!("a task that never ended: {record}"),
        }
    }
}
