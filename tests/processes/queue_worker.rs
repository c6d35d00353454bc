//! One process that works on queued tasks: it creates, claims, renews, asks, answers, gives back and ends them at
//! random, and says what came of each call.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use taskhold::error::Status;
use taskhold::task::TaskManager;

use super::worker::{allowed, parsed, say, task_id};
use super::{LEASE_MS, Numbers, OPERATIONS, QUEUES, Shared};

/// What a worker's call may be refused with once the lease is another's, or the task has ended.
const LOST: [Status; 2] = [Status::Conflict, Status::InvalidState];

struct Worker {
    numbers: Numbers,
    tasks: TaskManager,
    name: String,
}

/// A task in this worker's hands, and how many checkpoints it noted there.
struct Held {
    id: String,
    token: u64,
    noted: u64,
}

pub fn run(shared: &Shared, number: u64, operations: u64) {
    let store = shared.open();
    let mut worker = Worker {
        numbers: Numbers(0x9e37_79b9_7f4a_7c15 ^ (number + 1)),
        tasks: TaskManager::open(&store, None).unwrap(),
        name: format!("worker-{number}"),
    };
    say("opened");
    for _ in 0..operations {
        match worker.numbers.below(16) {
            0..=3 => worker.create(),
            4 => worker.create_once(),
            5 => worker.create_held(),
            6 | 7 => worker.answer(),
            8 => worker.wish_to_cancel(),
            _ => worker.claim(),
        }
    }
    say("done");
}

/// The order of a task for which so many attempts are allowed.
fn creation(queue: &str, maximum: u64) -> Value {
    json!({
        "endpoint": "/mcp", "origin": {}, "queue": queue, "work": {"n": 1},
        "attempts": {"maximum": maximum, "backoffMs": 4, "maximumBackoffMs": 10},
    })
}

impl Held {
    /// The options of a call under the lease.
    fn options(&self, more: &Value) -> String {
        let mut options = more.clone();
        options["lease"] = self.token.into();
        options.to_string()
    }

    /// The next checkpoint. Later ones are greater, whoever notes them.
    fn note(&mut self) -> Value {
        self.noted += 1;
        json!([self.token, self.noted])
    }

    fn say_noted(&self) {
        say(&format!("noted {} {} {}", self.id, self.token, self.noted));
    }
}

impl Worker {
    fn creation(&mut self) -> Value {
        let queue = QUEUES[usize::try_from(self.numbers.below(2)).unwrap()];
        creation(queue, 1 + self.numbers.below(3))
    }

    fn create(&mut self) {
        let creation = self.creation().to_string();
        let record = allowed(self.tasks.create_task(&creation), &[]).unwrap();
        say(&format!("created {}", task_id(record.as_str())));
    }

    /// Under an operation that every process has: one of them makes the task.
    fn create_once(&mut self) {
        let operation = self.numbers.below(OPERATIONS);
        let mut creation = creation(QUEUES[0], 2);
        creation["operationId"] = format!("operation-{operation}").into();
        let record = parsed(allowed(self.tasks.create_task(&creation.to_string()), &[]).unwrap().as_str());
        let id = record["task"]["taskId"].as_str().unwrap();
        say(&format!("operation {operation} {id}"));
        if record["created"] == true {
            say(&format!("created {id}"));
        }
    }

    fn create_held(&mut self) {
        let mut creation = self.creation();
        creation["lease"] = json!({"worker": self.name, "leaseMs": LEASE_MS});
        let record = parsed(allowed(self.tasks.create_task(&creation.to_string()), &[]).unwrap().as_str());
        say(&format!("created {}", record["task"]["taskId"].as_str().unwrap()));
        self.work_on(&record);
    }

    fn claim(&mut self) {
        let claim = json!({"worker": self.name, "queues": QUEUES, "leaseMs": LEASE_MS}).to_string();
        let patience = Duration::from_millis(5 * self.numbers.below(2));
        if let Some(record) = allowed(self.tasks.claim_task(&claim, Some(patience)), &[]).unwrap() {
            self.work_on(&parsed(record.into_text().as_str()));
        }
    }

    /// Works on the task of this record until it is out of the worker's hands.
    fn work_on(&mut self, record: &Value) {
        let id = record["task"]["taskId"].as_str().unwrap().to_owned();
        let mut held = Held { id, token: record["lease"]["token"].as_u64().unwrap(), noted: 0 };
        let checkpoint = |at: usize| record["checkpoint"][at].as_u64().unwrap_or(0);
        let (attempt, token, note) = (&record["attempt"], checkpoint(0), checkpoint(1));
        say(&format!("claimed {} {} {attempt} {token} {note}", held.id, held.token));
        if self.take(&mut held).is_none() {
            return;
        }
        loop {
            let went_on = match self.numbers.below(12) {
                0..=4 => self.renew(&mut held),
                5 => self.ask(&mut held),
                6 => return self.park(&mut held),
                7 => return self.release(&mut held),
                // It forgets the task.
                8 => return,
                9 => {
                    // It is slower than it said, and does not know.
                    thread::sleep(Duration::from_millis(LEASE_MS * 3 / 2));
                    return self.complete(&held);
                }
                _ => return self.complete(&held),
            };
            if went_on.is_none() {
                return;
            }
        }
    }

    /// Takes the answers that are there, together with a checkpoint.
    fn take(&mut self, held: &mut Held) -> Option<()> {
        let note = held.note();
        let options = held.options(&json!({"checkpoint": note}));
        let taken = allowed(self.tasks.take_task_input_responses(&held.id, Some(&options)), &LOST)?;
        let taken = parsed(taken.as_str());
        for key in taken.as_object().unwrap().keys() {
            say(&format!("took {} {key}", held.id));
        }
        // An ended task has nothing to take either; the next call tells.
        Some(())
    }

    fn renew(&mut self, held: &mut Held) -> Option<()> {
        let note = held.note();
        let renewal = json!({"taskId": held.id, "lease": held.token, "checkpoint": note});
        let renewals = json!({"leaseMs": LEASE_MS, "tasks": [renewal]}).to_string();
        let outcome = parsed(allowed(self.tasks.renew_leases(&renewals), &[]).unwrap().as_str());
        if outcome["lost"] == json!([held.id]) {
            return None;
        }
        assert_eq!(outcome["renewed"], json!([held.id]));
        held.say_noted();
        Some(())
    }

    /// The key under which the worker asks next. No other worker has it.
    fn request(held: &Held) -> String {
        json!({format!("{}-{}", held.token, held.noted): {"method": "roots/list"}}).to_string()
    }

    /// Asks, and takes the answer under the same lease.
    fn ask(&mut self, held: &mut Held) -> Option<()> {
        let note = held.note();
        let options = held.options(&json!({"checkpoint": note}));
        let request = Self::request(held);
        allowed(self.tasks.request_task_input(&held.id, &request, None, Some(&options)), &LOST)?;
        held.say_noted();
        self.respond(&held.id, &parsed(&request));
        self.take(held)
    }

    fn park(&mut self, held: &mut Held) {
        let note = held.note();
        let options = held.options(&json!({"checkpoint": note, "park": true}));
        let request = Self::request(held);
        if allowed(self.tasks.request_task_input(&held.id, &request, None, Some(&options)), &LOST).is_some() {
            held.say_noted();
        }
    }

    fn release(&mut self, held: &mut Held) {
        let (note, counts) = (held.note(), self.numbers.below(2) == 0);
        let failure = json!({"code": -32000, "message": "not now"});
        let options =
            held.options(&json!({"checkpoint": note, "countsAsAttempt": counts, "failure": failure}));
        if allowed(self.tasks.release_task(&held.id, Some(&options)), &LOST).is_some() {
            held.say_noted();
        }
    }

    fn complete(&mut self, held: &Held) {
        let result = json!({"content": [], "by": held.token}).to_string();
        let completed = self.tasks.complete_task(&held.id, &result, None, Some(&held.options(&json!({}))));
        let said = if allowed(completed, &LOST).is_some() { "ended" } else { "refused" };
        say(&format!("{said} {} {}", held.id, held.token));
    }

    /// Answers all requests of this object.
    fn respond(&self, id: &str, requests: &Value) {
        let responses: serde_json::Map<_, _> =
            requests.as_object().unwrap().keys().map(|key| (key.clone(), json!({"roots": []}))).collect();
        let responses = Value::Object(responses).to_string();
        let outcome = parsed(
            allowed(self.tasks.update_task("/mcp", None, id, &responses, None), &[]).unwrap().as_str(),
        );
        for key in outcome["accepted"].as_array().unwrap() {
            say(&format!("answered {id} {}", key.as_str().unwrap()));
        }
    }

    /// One of the first tasks with this status.
    fn any(&mut self, status: &str) -> Option<Value> {
        let params = json!({"status": status, "includePayload": true, "pageSize": 20}).to_string();
        let page = parsed(self.tasks.list_tasks(Some(&params)).unwrap().as_str());
        let records = page["records"].as_array().unwrap();
        let at = self.numbers.below((records.len() as u64).max(1));
        records.get(usize::try_from(at).unwrap()).cloned()
    }

    fn answer(&mut self) {
        if let Some(record) = self.any("input_required") {
            self.respond(record["task"]["taskId"].as_str().unwrap(), &record["task"]["inputRequests"]);
        }
    }

    fn wish_to_cancel(&mut self) {
        if let Some(record) = self.any("working") {
            let id = record["task"]["taskId"].as_str().unwrap();
            allowed(self.tasks.request_task_cancelation("/mcp", None, id), &[]).unwrap();
        }
    }
}
