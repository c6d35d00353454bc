//! What the sequences do with queued work.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::call::{Call, Expected};
use super::pool;
use super::task_steps::{Options, message};
use super::tasks::{Conditions, Task};
use super::time::Time;
use super::work::{Authority, Release, Work};
use super::world::{Numbers, TASKS, World};

const QUEUES: [&str; 3] = ["q", "r", "\u{e9}"];
const WORKERS: [&str; 2] = ["h1:7", "h2"];
/// Lengths that meet one another and the steps of time exactly.
const LEASES: [i64; 5] = [1, 20, 50, 100, 400];
const DELAYS: [i64; 4] = [0, 20, 50, 119];
/// What a worker needs: its text, and a number that texts of the same meaning share.
const WORK: [(&str, u8); 4] =
    [(r#"{"n":1,"m":[]}"#, 1), (r#"{"m":[],"n":1}"#, 1), (r#"{"n":1.0,"m":[]}"#, 2), ("7", 3)];
/// The meaning of work that is absent or null.
const NO_WORK: u8 = 0;
const OPERATIONS: [&str; 2] = ["o", "o2"];
/// Attempts at most, and the backoff with its limit.
const ATTEMPTS: [(u64, i64, i64); 4] = [(1, 1000, 60_000), (2, 20, 30), (3, 50, 60_000), (2, 0, 0)];

fn of<T: Copy>(choices: &[T], number: u8) -> T {
    choices[usize::from(number) % choices.len()]
}

impl World {
    pub fn work_step(&mut self, numbers: Numbers) {
        self.is_queued = true;
        match numbers[0] % 12 {
            0..=2 => self.create_work(numbers),
            3..=6 => self.claim(numbers),
            7..=9 => self.renew(numbers),
            _ => self.release(numbers),
        }
    }

    /// What time did to the tasks. A lapse is announced by whoever comes by and stores it.
    pub fn settle_tasks(&mut self) {
        let now = self.time;
        let there = self.tasks.all.iter_mut().filter(|task| task.is_there(now));
        let ended: Vec<_> =
            there.filter_map(|task| task.settle(now).then(|| (task.name, task.id.clone()))).collect();
        for (name, id) in ended {
            self.may_announce((TASKS, name), "changed", &id);
        }
    }

    /// Adds to the options of a transition under what it is made: most often the task's lease.
    pub fn authorize(given: &mut Options, task: Option<&Task>, number: u8, may_force: bool) {
        let token = task.and_then(|task| task.work.as_ref()).map_or(1, |work| work.token.max(1));
        let is_fenced = task.is_some_and(Task::is_fenced);
        let authority = match (number % 8, is_fenced) {
            (7, _) if may_force => Authority::Forced,
            (5, true) => Authority::Lease(token + 1),
            (0..=4 | 7, true) | (6, false) => Authority::Lease(token),
            _ => Authority::Unstated,
        };
        given.conditions.authority = authority;
        match authority {
            Authority::Unstated => {}
            Authority::Lease(token) => given.set("lease", token),
            Authority::Forced => given.set("force", true),
        }
    }

    /// A checkpoint, now and then.
    pub fn checkpoint(given: &mut Options, task: Option<&Task>, number: u8) -> Value {
        if !number.is_multiple_of(3) || !(task.is_some_and(Task::is_fenced) || number > 220) {
            return Value::Null;
        }
        let checkpoint = json!({"at": number, "x": 1.50});
        given.set("checkpoint", checkpoint.clone());
        checkpoint
    }

    fn create_work(
        &mut self,
        [_, manager, partition, kind, queue, attempts, how, work, operation, more]: Numbers,
    ) {
        let (handle, manager) = self.manager(manager);
        let partition = pool::PARTITIONS[usize::from(partition / 64) % 4];
        let mut creation = json!({"endpoint": "/mcp", "origin": 1, "authorizationPartition": partition});
        let queue = (kind % 5 > 0).then(|| of(&QUEUES[..2 + usize::from(kind > 200)], queue));
        let is_held = (kind % 5 == 0 && kind < 200) || how % 6 == 0;
        let operation =
            (operation % 3 == 0 || !(is_held || queue.is_some())).then(|| of(&OPERATIONS, operation / 3));
        let mut attempts_of = ATTEMPTS[0];
        if let Some(queue) = queue {
            creation["queue"] = queue.into();
            attempts_of = of(&ATTEMPTS, attempts);
            let (maximum, backoff, most) = attempts_of;
            creation["attempts"] =
                json!({"maximum": maximum, "backoffMs": backoff, "maximumBackoffMs": most});
        }
        let lease = is_held.then(|| (of(&WORKERS, how), of(&LEASES, how / 6)));
        let mut delay = 0;
        if let Some((worker, ms)) = lease {
            creation["lease"] = json!({"worker": worker, "leaseMs": ms});
        } else if queue.is_some() {
            delay = of(&DELAYS, how / 6);
            creation["delayMs"] = delay.into();
        }
        let work = (work % 3 > 0).then(|| of(&WORK, work / 3));
        if let Some(operation) = operation {
            creation["operationId"] = operation.into();
        }
        let time_to_live = (more % 4 == 0).then_some(300);
        if let Some(ms) = time_to_live {
            creation["taskTimeToLiveMs"] = ms.into();
        }
        // The texts of work differ by their bytes, so that they are put in as they are.
        let mut text = creation.to_string();
        if let Some((work, _)) = work {
            text = format!(r#"{},"work":{work}}}"#, &text[..text.len() - 1]);
        }
        let call = Call::new("manager_create_task", handle).with("creation", text);
        let now = self.time;
        let holder = operation.and_then(|operation| {
            self.tasks.all.iter().find(|task| {
                task.name == manager.name
                    && task.is_there(now)
                    && task.is_of("/mcp", partition)
                    && task.work.as_ref().is_some_and(|work| work.operation == Some(operation))
            })
        });
        if let Some(task) = holder {
            let known = task.work.as_ref().expect("it has an operation");
            let meaning = |work: Option<(&str, u8)>| work.map_or(NO_WORK, |(_, meaning)| meaning);
            let expected = if known.queue == queue && meaning(known.work) == meaning(work) {
                let mut record = task.record(true);
                record["created"] = false.into();
                Expected::Document(record)
            } else {
                Expected::Refused("conflict", "operation_mismatch")
            };
            self.expect(&call, &expected);
            return;
        }
        if self.tasks.count(manager.name, now) >= manager.maximum_retained_tasks {
            self.expect(&call, &Expected::Refused("capacity_exhausted", "capacity_exhausted"));
            return;
        }
        let outcome = call.invoke(&self.handles);
        let id = outcome.json()["task"]["taskId"].as_str().unwrap_or("none").to_owned();
        let is_new = id.len() == 36 && self.tasks.all.iter().all(|task| task.id != id);
        let begun = u64::from(lease.is_some());
        let work = Work {
            queue,
            work,
            operation,
            maximum: attempts_of.0,
            backoff: (attempts_of.1, attempts_of.2),
            attempt: begun,
            continues: false,
            token: begun,
            lease: lease.map(|(worker, ms)| (worker, now.plus(ms))),
            available: queue.map(|_| now.plus(delay)),
            checkpoint: Value::Null,
            last_failure: Value::Null,
            now,
        };
        let task = Task {
            time_to_live: time_to_live.unwrap_or(manager.time_to_live),
            work: Some(work),
            ..Task::new(id.clone(), &manager, "/mcp", partition, creation, now)
        };
        let mut record = task.record_with_token();
        if operation.is_some() {
            record["created"] = true.into();
        }
        self.judge(&call, &outcome, &if is_new { Expected::Document(record) } else { Expected::Null });
        self.name_id(&id, "/task/taskId");
        self.tasks.all.push(task);
        self.announce((TASKS, manager.name), "changed", &id);
    }

    fn claim(&mut self, [_, manager, worker, lease, first, second, ..]: Numbers) {
        let (handle, manager) = self.manager(manager);
        let (worker, lease_ms) = (of(&WORKERS, worker), of(&LEASES, lease));
        let mut queues = vec![of(&QUEUES, first)];
        if second % 3 > 0 {
            queues.push(of(&QUEUES, second));
        }
        let call = Call::new("manager_claim_task", handle)
            .with("claim", json!({"worker": worker, "queues": queues, "leaseMs": lease_ms}))
            .with("timeout_ms", 0);
        let now = self.time;
        let candidate = queues.iter().find_map(|queue| {
            let of_queue = self.tasks.all.iter().enumerate().filter(|(_, task)| {
                task.name == manager.name && task.is_there(now) && task.queue() == Some(queue)
            });
            let due = of_queue.filter_map(|(at, task)| Some((task.due()?.tick, at)));
            due.filter(|(due, _)| *due <= now.tick).min()
        });
        let expected = candidate.map_or(Expected::Null, |(_, at)| {
            let task = &mut self.tasks.all[at];
            task.claim(worker, lease_ms, now);
            self.claims += 1;
            Expected::Document(task.record_with_token())
        });
        self.expect(&call, &expected);
    }

    fn renew(&mut self, [_, manager, lease, count, rest @ ..]: Numbers) {
        let (handle, manager) = self.manager(manager);
        let (lease_ms, now) = (of(&LEASES, lease), self.time);
        let (mut tasks, mut renewed, mut lost, mut wished) = (vec![], vec![], vec![], vec![]);
        let mut ids: Vec<String> = Vec::new();
        for &number in &rest[..=usize::from(count) % 3] {
            let id = self.task_id(&manager, number);
            if ids.contains(&id) {
                continue;
            }
            ids.push(id.clone());
            let found = self.tasks.find_mut(manager.name, &id, now).ok();
            let current = found.as_ref().and_then(|task| task.work.as_ref()).map_or(1, |work| work.token);
            let token = (current + u64::from(number % 7 == 0)).max(1);
            let checkpoint = if number % 2 == 0 { json!([number]) } else { Value::Null };
            tasks.push(json!({"taskId": id, "lease": token, "checkpoint": checkpoint}));
            let task = found.and_then(|task| task.renew(token, lease_ms, &checkpoint, now).then_some(task));
            let Some(task) = task else {
                lost.push(id);
                continue;
            };
            if task.cancelation_requested {
                wished.push(id.clone());
            }
            renewed.push(id);
        }
        let call = Call::new("manager_renew_leases", handle)
            .with("renewals", json!({"leaseMs": lease_ms, "tasks": tasks}));
        let expected = json!({"renewed": renewed, "lost": lost, "cancelationRequested": wished});
        self.expect(&call, &Expected::Document(expected));
    }

    fn release(&mut self, [_, manager, task, text, authority, delay, counts, failure, more, _]: Numbers) {
        let (manager, now) = (self.manager(manager), self.time);
        let id = self.task_id(&manager.1, task);
        let found = self.tasks.find(manager.1.name, &id, now);
        let mut given = Options::default();
        Self::authorize(&mut given, found, authority, false);
        let checkpoint = Self::checkpoint(&mut given, found, more);
        let delay = of(&DELAYS, delay);
        given.set("delayMs", delay);
        let counts = counts % 3 > 0;
        given.set("countsAsAttempt", counts);
        let failure = (failure % 3 == 0).then(|| pool::FAILURES[usize::from(failure / 3) % 2].0);
        if let Some(failure) = failure {
            given.set("failure", serde_json::from_str::<Value>(failure).expect("JSON"));
        }
        let message = (text % 2 == 0).then(|| message(text / 2));
        if let Some(message) = message {
            given.set("statusMessage", json!(message));
        }
        let call = Call::new("manager_release_task", manager.0)
            .with("task_id", id.clone())
            .with("options", given.json);
        let conditions = Conditions { authority: given.conditions.authority, ..Conditions::default() };
        let release = Release { conditions, delay, counts, message, checkpoint, failure };
        self.change(manager, &call, &id, |task| task.release(&release, now));
    }

    /// The filters of a listing by work.
    pub fn work_filter(filters: &mut serde_json::Map<String, Value>, value: u8) {
        let (name, value) = match value % 3 {
            0 => ("queue", of(&QUEUES, value / 3)),
            1 => ("worker", of(&WORKERS, value / 3)),
            _ => ("workState", of(&["scheduled", "ready", "leased", "parked"], value / 3)),
        };
        filters.insert(name.to_owned(), value.into());
    }

    /// What the statistics should say of queues, by manager and queue.
    pub fn queue_figures(&self) -> Vec<Value> {
        let mut figures: BTreeMap<(&str, &str), Value> = BTreeMap::new();
        for task in self.tasks.all.iter().filter(|task| task.is_there(self.time)) {
            let (Some(queue), Some(state)) = (task.queue(), task.work_state()) else { continue };
            let figure = figures.entry((task.name, queue)).or_insert_with(|| {
                json!({
                    "manager": task.name, "queue": queue, "scheduled": 0, "ready": 0, "leased": 0, "parked": 0,
                    "oldestReadyMs": 0,
                })
            });
            figure[state] = (figure[state].as_u64().expect("a number") + 1).into();
            if let Some(due) = task.due().filter(|_| state == "ready") {
                let age = figure["oldestReadyMs"].as_i64().expect("a number").max(age(due, self.time));
                figure["oldestReadyMs"] = age.into();
            }
        }
        figures.into_values().collect()
    }
}

fn age(since: Time, now: Time) -> i64 {
    now.tick - since.tick
}
