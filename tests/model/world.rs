//! The store under test, the handles over it, and the model beside them.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;

use serde_json::{Map, Value, json};

use super::a2a::{Provider, Providers};
use super::call::{Call, Expected, Outcome};
use super::queues::Queue;
use super::sessions::{Sessions, Store};
use super::tasks::{Manager, Tasks};
use super::time::Time;
use crate::calls::{Frame, Function};
use crate::support::fixture::NOW_MS;
use crate::support::stores::{Place, ages_by_wall_clock};

/// What a step is made of: small numbers, whose meaning depends on the state that the step meets.
pub type Numbers = [u8; 10];

/// Kinds of tables that queues belong to.
pub const TASKS: u8 = 0;
pub const A2A: u8 = 2;

pub struct World {
    pub handles: HashMap<String, *mut c_void>,
    pub time: Time,
    pub managers: Vec<(&'static str, Manager)>,
    pub tasks: Tasks,
    pub stores: Vec<(&'static str, Store)>,
    pub sessions: Sessions,
    pub providers: Vec<(&'static str, Provider)>,
    pub a2a: Providers,
    pub queues: Vec<(&'static str, Queue)>,
    /// The steps so far, as a vector has them.
    steps: Vec<Value>,
    /// Ids that the library made, with their variables.
    variables: Vec<(String, String)>,
    pub failure: Option<String>,
    /// Whether there was queued work. Plain tasks are judged strictly until then.
    pub is_queued: bool,
    /// Tasks that were claimed.
    pub claims: u64,
    /// Of the store. What it has on disk or in a database goes with it.
    _place: Place,
}

fn open(function: &str, receiver: *mut c_void, texts: &[(&str, String)], clock: *mut c_void) -> *mut c_void {
    let mut frame = Frame { receiver, ..Frame::default() };
    for (name, text) in texts {
        frame.texts.insert((*name).to_owned(), [text.as_bytes(), b"\0"].concat());
    }
    frame.handles.insert("clock".to_owned(), clock);
    frame.numbers.extend([("epoch_ms".to_owned(), i128::from(NOW_MS)), ("capacity".to_owned(), 3)]);
    (Function::named(function).expect("a function").invoke)(&mut frame);
    assert!(!frame.opened.is_null(), "{function}");
    frame.opened
}

impl World {
    pub fn new() -> Self {
        let clock = open("clock_open_manual", ptr::null_mut(), &[], ptr::null_mut());
        let place = Place::wanted();
        let (url, options) = place.address();
        let store = open("store_open", ptr::null_mut(), &[("url", url), ("options", options)], clock);
        let mut world = Self {
            handles: HashMap::from([("clock".to_owned(), clock), ("store".to_owned(), store)]),
            time: Time { wall: NOW_MS, tick: 0 },
            managers: vec![
                (
                    "m",
                    Manager {
                        name: "default",
                        maximum_retained_tasks: 6,
                        time_to_live: 900,
                        poll_interval: 5,
                    },
                ),
                (
                    "n",
                    Manager {
                        name: "default",
                        maximum_retained_tasks: 4,
                        time_to_live: 400,
                        poll_interval: 7,
                    },
                ),
                (
                    "o",
                    Manager {
                        name: "other",
                        maximum_retained_tasks: 2,
                        time_to_live: 700,
                        poll_interval: 1000,
                    },
                ),
            ],
            tasks: Tasks::default(),
            stores: vec![
                ("s", Store { name: "default", idle: 100, limit: 3, initialization: 60, keep: 100 }),
                ("t", Store { name: "default", idle: 160, limit: 4, initialization: 0, keep: 100 }),
                ("u", Store { name: "other", idle: 0, limit: 0, initialization: 50, keep: 2 }),
            ],
            sessions: Sessions::default(),
            providers: vec![
                ("p", Provider { name: "default", grace: 50, maximum: 0, retention: 0 }),
                ("q", Provider { name: "default", grace: 0, maximum: 5, retention: 120 }),
                ("r", Provider { name: "other", grace: 20, maximum: 3, retention: 100 }),
            ],
            a2a: Providers::default(),
            queues: Vec::new(),
            steps: Vec::new(),
            variables: Vec::new(),
            failure: None,
            is_queued: false,
            claims: 0,
            _place: place,
        };
        world.open_all();
        world
    }

    fn open_all(&mut self) {
        for (handle, manager) in self.managers.clone() {
            self.open_over(
                "manager",
                handle,
                &json!({
                    "name": manager.name, "maximumRetainedTasks": manager.maximum_retained_tasks,
                    "taskTimeToLiveMs": manager.time_to_live, "pollIntervalMs": manager.poll_interval,
                }),
            );
        }
        for (handle, store) in self.stores.clone() {
            self.open_sessions(handle, store);
        }
        for (handle, provider) in self.providers.clone() {
            self.open_over(
                "state_provider",
                handle,
                &json!({
                    "name": provider.name, "gracePeriodMs": provider.grace,
                    "maximumRetainedTasks": provider.maximum, "finalizedRetentionMs": provider.retention,
                }),
            );
        }
        for (queue, on, kind, function) in [
            ("em", "m", TASKS, "manager_open_events"),
            ("eo", "o", TASKS, "manager_open_events"),
            ("ep", "p", A2A, "state_provider_open_events"),
            ("er", "r", A2A, "state_provider_open_events"),
        ] {
            self.handles.insert(queue.to_owned(), open(function, self.handles[on], &[], ptr::null_mut()));
            let name = if ["m", "p"].contains(&on) { "default" } else { "other" };
            self.queues.push((queue, Queue::new((kind, name), 3)));
            self.steps.push(json!({"call": function, "on": on, "args": {"capacity": 3}, "as": queue}));
        }
    }

    fn open_over(&mut self, kind: &str, handle: &str, options: &Value) {
        let opened = open(
            &format!("{kind}_open"),
            self.handles["store"],
            &[("options", options.to_string())],
            ptr::null_mut(),
        );
        self.handles.insert(handle.to_owned(), opened);
        self.steps.push(json!({"open": kind, "as": handle, "options": options}));
    }

    pub fn open_sessions(&mut self, handle: &'static str, store: Store) {
        self.open_over(
            "session_store",
            handle,
            &json!({
                "name": store.name, "idleTimeoutMs": store.idle, "concurrentSessionLimit": store.limit,
                "initializationTimeoutMs": store.initialization, "keepExpired": store.keep,
            }),
        );
        self.sessions.opened(handle);
    }

    pub fn close_sessions(&mut self, handle: &'static str) {
        self.note(json!({"close": handle}));
        let call = Call::new("session_store_close", handle);
        assert!(call.invoke(&self.handles).is_ok());
        self.sessions.closed(handle, self.time);
    }

    pub fn note(&mut self, step: Value) {
        self.steps.push(step);
    }

    /// Makes a call of which the model knows what comes.
    pub fn expect(&mut self, call: &Call, expected: &Expected) -> Outcome {
        let outcome = call.invoke(&self.handles);
        self.judge(call, &outcome, expected);
        outcome
    }

    /// Compares, and keeps the step.
    pub fn judge(&mut self, call: &Call, outcome: &Outcome, expected: &Expected) {
        self.steps.push(call.to_step(expected));
        if let Some(difference) = expected.difference(outcome) {
            let steps = self.steps.iter().map(Value::to_string).collect::<Vec<_>>().join(",\n");
            let steps = self.variables.iter().fold(steps, |steps, (id, name)| steps.replace(id, name));
            self.failure
                .get_or_insert(format!("{} on {}: {difference}\n[{steps}]\n", call.function, call.on));
        }
    }

    /// The id in the output of the last step came from the library: from now on it is a variable.
    pub fn name_id(&mut self, id: &str, pointer: &str) {
        let name = format!("x{}", self.variables.len());
        if let Some(step) = self.steps.last_mut() {
            step["save"] = Value::Object(Map::from_iter([(name.clone(), pointer.into())]));
        }
        self.variables.push((id.to_owned(), format!("${{{name}}}")));
    }

    pub fn announce(&mut self, table: (u8, &str), event: &str, id: &str) {
        for (_, queue) in self.queues.iter_mut().filter(|(_, queue)| queue.table == table) {
            if self.is_queued { queue.push_loosely(event, id) } else { queue.push(event, id) }
        }
    }

    /// What somebody may announce by and by.
    pub fn may_announce(&mut self, table: (u8, &str), event: &str, id: &str) {
        for (_, queue) in self.queues.iter_mut().filter(|(_, queue)| queue.table == table) {
            queue.may_push(event, id);
        }
    }

    fn next_event(&mut self, at: usize) {
        let call = Call::new("events_next", self.queues[at].0).with("timeout_ms", 0);
        if self.is_queued {
            let outcome = call.invoke(&self.handles);
            let expected = self.queues[at].1.judge(&outcome);
            self.judge(&call, &outcome, &expected);
        } else {
            let expected = self.queues[at].1.next();
            self.expect(&call, &expected);
        }
    }

    pub fn step(&mut self, system: u8, numbers: Numbers) {
        match system {
            0 => self.task_step(numbers),
            1 => self.session_step(numbers),
            2 => self.a2a_step(numbers),
            4 => self.work_step(numbers),
            _ => self.time_step(numbers),
        }
        self.sessions.expire(self.time);
        self.settle_tasks();
    }

    fn time_step(&mut self, [kind, amount, at, ..]: Numbers) {
        match kind % 4 {
            0 => {
                // A store that measures ages by the wall clock takes a step for time. What a step back does to
                // records that have expired depends on whether they were removed already.
                let is_time = ages_by_wall_clock();
                let ms = i64::from(amount) * 8 - if is_time { 0 } else { 1000 };
                self.expect(&Call::new("clock_step_wall", "clock").with("ms", ms), &Expected::Done);
                self.time.wall += ms;
                self.time.tick += if is_time { ms } else { 0 };
            }
            1 | 2 => {
                // Round numbers, so that boundaries are met exactly.
                let ms = [0, 1, 19, 20, 30, 49, 50, 60, 61, 99, 100, 101, 120][usize::from(amount) % 13];
                self.expect(&Call::new("clock_advance", "clock").with("ms", ms), &Expected::Done);
                self.time = Time { wall: self.time.wall + ms, tick: self.time.tick + ms };
            }
            _ => {
                self.next_event(usize::from(at) % self.queues.len());
            }
        }
    }

    /// Looks at everything: the statistics, each record, and what waits in the queues.
    pub fn audit(&mut self) {
        let mut by_status =
            json!({"working": 0, "input_required": 0, "completed": 0, "failed": 0, "cancelled": 0});
        for task in self.tasks.all.iter().filter(|task| task.is_there(self.time)) {
            by_status[task.status] = (by_status[task.status].as_u64().expect("a number") + 1).into();
        }
        let expected = json!({
            "tasks": by_status, "sessions": self.sessions.alive.len(), "a2aTasks": self.a2a.count_all(self.time),
            "waiters": 0, "eventQueues": self.queues.len(), "queues": self.queue_figures(), "claims": self.claims,
        });
        let call = Call::new("store_stats", "store");
        let outcome = call.invoke(&self.handles);
        let found = outcome.json();
        let wrong =
            expected.as_object().expect("an object").iter().find(|(key, value)| found[*key] != **value);
        let wrong = wrong.map(|(key, value)| format!("{key} should be {value}: {found}"));
        self.judge(&call, &outcome, &Expected::Judged(wrong));
        self.audit_tasks();
        self.audit_sessions();
        self.audit_a2a();
        for at in 0..self.queues.len() {
            for _ in 0..5 {
                self.next_event(at);
            }
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for (name, handle) in &self.handles {
            let kind = match name.as_str() {
                "clock" | "store" => name.as_str(),
                "m" | "n" | "o" => "manager",
                "s" | "t" | "u" => "session_store",
                "p" | "q" | "r" => "state_provider",
                _ => "events",
            };
            let mut frame = Frame { receiver: *handle, ..Frame::default() };
            (Function::named(&format!("{kind}_close")).expect("a function").invoke)(&mut frame);
        }
    }
}
