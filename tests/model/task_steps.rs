//! What the sequences do with tasks on the worker's side.

use serde_json::{Map, Value, json};

use super::call::{Call, Expected, Outcome, TASK_NOT_FOUND, TIMEOUT, invalid};
use super::pool;
use super::tasks::{Aside, Conditions, Manager, Task, Walk};
use super::world::{Numbers, TASKS, World};

/// The options of a transition, and what they demand.
#[derive(Default)]
pub struct Options {
    pub json: Value,
    pub conditions: Conditions,
    refusal: Option<Expected>,
}

impl Options {
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.json[name] = value.into();
    }
}

/// Distinct keys, each with the text that `choose` gives it.
pub fn keyed(numbers: &[u8], choose: impl Fn(u8) -> &'static str) -> Vec<(String, String)> {
    let mut members: Vec<(String, String)> = Vec::new();
    for pair in numbers.chunks(2) {
        let key = pool::KEYS[usize::from(pair[0]) % pool::KEYS.len()];
        if members.iter().all(|(known, _)| known != key) {
            members.push((key.to_owned(), choose(pair[1]).to_owned()));
        }
    }
    members
}

/// The text of an object with these members.
pub fn object_text(members: &[(String, String)]) -> String {
    let members: Vec<_> = members.iter().map(|(key, text)| format!("{}:{text}", json!(key))).collect();
    format!("{{{}}}", members.join(","))
}

pub fn message(number: u8) -> Option<&'static str> {
    [None, None, Some(""), Some("going on"), Some("\u{1F600} \"quoted\"\n")][usize::from(number) % 5]
}

impl World {
    pub fn manager(&self, number: u8) -> (&'static str, Manager) {
        // The first two share their tasks and come more often.
        self.managers[[0, 1, 0, 1, 2][usize::from(number) % 5]]
    }

    /// The id of a task, most often one of the latest that this manager has; else of one that is gone, of
    /// another manager's, or of none.
    pub fn task_id(&self, manager: &Manager, number: u8) -> String {
        let is_near = |task: &&Task| task.name == manager.name && task.is_there(self.time);
        let near: Vec<_> = self.tasks.all.iter().filter(|task| number >= 230 || is_near(task)).collect();
        let back = usize::from(number) % near.len().clamp(1, if number < 230 { 3 } else { 9 });
        match near.len().checked_sub(back + 1) {
            Some(at) if number < 250 => near[at].id.clone(),
            _ => "nobody".to_owned(),
        }
    }

    fn options(number: u8, task: Option<&Task>) -> Options {
        let revision = task.map_or(1, |task| task.revision);
        let revisions = [Some(revision), Some(revision + 1), None];
        let (mut json, mut conditions, mut refusal) = (Value::Null, Conditions::default(), None);
        match number % 10 {
            1..=3 => {
                conditions.expected_revision = revisions[usize::from(number % 10) - 1];
                json = json!({"expectedRevision": conditions.expected_revision});
            }
            4 | 5 => {
                conditions.unless_cancelation_requested = true;
                json = json!({"unlessCancelationRequested": true});
            }
            6 => {
                conditions = Conditions {
                    expected_revision: Some(revision),
                    unless_cancelation_requested: true,
                    ..Conditions::default()
                };
                json = json!({"unlessCancelationRequested": true, "expectedRevision": revision});
            }
            7 if number > 200 => {
                json = json!({"nope": 1});
                refusal = Some(invalid("unknown_key"));
            }
            8 => json = json!({"unlessCancelationRequested": false}),
            _ => {}
        }
        Options { json, conditions, refusal }
    }

    pub fn task_step(&mut self, numbers: Numbers) {
        match numbers[0] % 18 {
            0 | 1 => self.create_task(numbers),
            2 => self.find_task(numbers),
            3 => self.mark(numbers),
            4..=6 => self.ask(numbers),
            7 | 8 => self.end(numbers),
            9 => self.take(numbers),
            10 => self.wait_or_look(numbers),
            11 => self.list(numbers),
            12..=14 => self.update(numbers),
            15 => self.request_cancelation(numbers),
            16 => self.render(numbers),
            _ => self.request(numbers),
        }
    }

    fn create_task(&mut self, [_, manager, endpoint, partition, variant, ..]: Numbers) {
        let (handle, manager) = self.manager(manager);
        let endpoint = ["/mcp", "/mcp", ""][usize::from(endpoint) % 3];
        let partition = pool::PARTITIONS[usize::from(partition) % 4];
        let origins = json!([{"n": 1}, 0, false, ""]);
        let mut creation = json!({"endpoint": endpoint, "origin": origins[usize::from(variant) % 4]});
        if partition.is_some() || variant & 1 == 0 {
            creation["authorizationPartition"] = json!(partition);
        }
        match variant / 4 % 8 {
            0 => creation["metadata"] = json!({"k": {"z": 1}}),
            1 => creation["metadata"] = json!({}),
            2 => creation["declaredInputRequests"] = json!(["roots/list", "elicitation/form"]),
            3 => creation["declaredInputRequests"] = json!(pool::KINDS),
            4 => creation["origin"] = Value::Null,
            _ => {}
        }
        let call = Call::new("manager_create_task", handle).with("creation", creation.clone());
        if creation["origin"].is_null() {
            let outcome = call.invoke(&self.handles);
            let wrong = outcome.status != "invalid_argument";
            self.judge(&call, &outcome, &Expected::Judged(wrong.then(|| format!("{outcome:?}"))));
            return;
        }
        if self.tasks.count(manager.name, self.time) >= manager.maximum_retained_tasks {
            self.expect(&call, &Expected::Refused("capacity_exhausted", "capacity_exhausted"));
            return;
        }
        let outcome = call.invoke(&self.handles);
        let id = outcome.json()["task"]["taskId"].as_str().unwrap_or("none").to_owned();
        let is_new = id.len() == 36 && self.tasks.all.iter().all(|task| task.id != id);
        let task = Task::new(id.clone(), &manager, endpoint, partition, creation, self.time);
        let expected = Expected::Document(task.record(true));
        self.judge(&call, &outcome, &if is_new { expected } else { Expected::Null });
        self.name_id(&id, "/task/taskId");
        self.tasks.all.push(task);
        self.announce((TASKS, manager.name), "changed", &id);
    }

    fn find_task(&mut self, [_, manager, task, ..]: Numbers) {
        let (handle, manager) = self.manager(manager);
        let id = self.task_id(&manager, task);
        let found = self.tasks.find(manager.name, &id, self.time);
        let expected = found.map_or(Expected::Null, |task| Expected::Document(task.record(true)));
        self.expect(&Call::new("manager_find_task", handle).with("task_id", id), &expected);
    }

    /// Makes a call that changes a task, and announces when it did.
    pub fn change(
        &mut self,
        (handle, manager): (&'static str, Manager),
        call: &Call,
        id: &str,
        change: impl FnOnce(&mut Task) -> Result<bool, Expected>,
    ) -> Outcome {
        debug_assert_eq!(handle, call.on);
        let changed = self.tasks.find_mut(manager.name, id, self.time).and_then(|task| {
            let changed = change(task)?;
            Ok((changed, Expected::Document(task.record(true))))
        });
        match changed {
            Ok((changed, expected)) => {
                if changed {
                    self.announce((TASKS, manager.name), "changed", id);
                }
                self.expect(call, &expected)
            }
            Err(expected) => self.expect(call, &expected),
        }
    }

    fn mark(&mut self, [_, manager, task, text, options, withdraw, first, second, ..]: Numbers) {
        let (manager, now) = (self.manager(manager), self.time);
        let id = self.task_id(&manager.1, task);
        let found = self.tasks.find(manager.1.name, &id, now);
        let mut given = Self::options(options, found);
        Self::authorize(&mut given, found, options / 10, true);
        let checkpoint = Self::checkpoint(&mut given, found, text / 5);
        let keys = match withdraw % 4 {
            0 | 1 => None,
            2 => Some(vec![]),
            _ => Some(keyed(&[first, 0, second, 0], |_| "").into_iter().map(|(key, _)| key).collect()),
        };
        if let (Some(keys), None) = (&keys, &given.refusal) {
            given.set("withdrawInputRequests", json!(keys));
        }
        let call = Call::new("manager_mark_task_working", manager.0)
            .with("task_id", id.clone())
            .with("status_message", json!(message(text)))
            .with("options", given.json);
        if let Some(refusal) = given.refusal {
            self.expect(&call, &refusal);
            return;
        }
        self.change(manager, &call, &id, |task| {
            task.mark(message(text), keys.as_deref(), &checkpoint, &given.conditions, now).map(|()| true)
        });
    }

    fn ask(&mut self, [_, manager, task, text, options, rest @ ..]: Numbers) {
        let (manager, now) = (self.manager(manager), self.time);
        let id = self.task_id(&manager.1, task);
        let found = self.tasks.find(manager.1.name, &id, now);
        let mut given = Self::options(options, found);
        Self::authorize(&mut given, found, options / 10, false);
        let checkpoint = Self::checkpoint(&mut given, found, text / 5);
        let parks = text % 4 == 0 && (found.is_some_and(Task::is_fenced) || text > 240);
        if parks {
            given.set("park", true);
        }
        let aside = Aside { only: parks, checkpoint };
        let count = usize::from(rest[4]) % 3;
        let requests =
            keyed(&rest[..count * 2], |number| pool::REQUESTS[usize::from(number) % pool::REQUESTS.len()].0);
        let call = Call::new("manager_request_task_input", manager.0)
            .with("task_id", id.clone())
            .with("input_requests", object_text(&requests))
            .with("status_message", json!(message(text)))
            .with("options", given.json);
        let refusal = if requests.is_empty() { Some(invalid("empty_input_requests")) } else { given.refusal };
        if let Some(refusal) = refusal {
            self.expect(&call, &refusal);
            return;
        }
        self.change(manager, &call, &id, |task| {
            task.ask(&requests, message(text), &aside, &given.conditions, now)
        });
    }

    fn end(&mut self, [_, manager, task, text, options, how, payload, ..]: Numbers) {
        let (manager, now) = (self.manager(manager), self.time);
        let id = self.task_id(&manager.1, task);
        let found = self.tasks.find(manager.1.name, &id, now);
        let mut given = Self::options(options, found);
        Self::authorize(&mut given, found, options / 10, how % 3 > 0);
        let (call, status, member, (payload, is_good)) = match how % 3 {
            0 => {
                let result = pool::RESULTS[usize::from(payload) % pool::RESULTS.len()];
                (
                    Call::new("manager_complete_task", manager.0).with("result", result.0),
                    "completed",
                    "result",
                    result,
                )
            }
            1 => {
                let failure = pool::FAILURES[usize::from(payload) % pool::FAILURES.len()];
                (
                    Call::new("manager_fail_task", manager.0).with("failure", failure.0),
                    "failed",
                    "error",
                    failure,
                )
            }
            _ => (Call::new("manager_cancel_task", manager.0), "cancelled", "", ("", true)),
        };
        let call = call
            .with("task_id", id.clone())
            .with("status_message", json!(message(text)))
            .with("options", given.json);
        let refusal = if is_good { given.refusal } else { Some(invalid("invalid_payload")) };
        if let Some(refusal) = refusal {
            self.expect(&call, &refusal);
            return;
        }
        let ending = (!member.is_empty()).then(|| (member, payload.to_owned()));
        let outcome = self.change(manager, &call, &id, |task| {
            task.end(status, ending, message(text), &given.conditions, now).map(|()| true)
        });
        if outcome.document.is_some_and(|record| !record.contains(payload)) {
            self.judge(
                &call,
                &call.invoke(&self.handles),
                &Expected::Judged(Some("not byte for byte".to_owned())),
            );
        }
    }

    fn take(&mut self, [_, manager, task, options, how, ..]: Numbers) {
        let (handle, manager) = self.manager(manager);
        let id = self.task_id(&manager, task);
        let now = self.time;
        let found = self.tasks.find(manager.name, &id, now);
        let mut given = Self::options(options, found);
        Self::authorize(&mut given, found, options / 10, false);
        let checkpoint = Self::checkpoint(&mut given, found, how);
        let peeks = how % 4 == 1;
        if peeks {
            given.set("peek", true);
        }
        if peeks && !checkpoint.is_null() {
            given.refusal.get_or_insert(invalid("invalid_value"));
        }
        let aside = Aside { only: peeks, checkpoint };
        let call = Call::new("manager_take_task_input_responses", handle)
            .with("task_id", id.clone())
            .with("options", given.json);
        let expected = given.refusal.unwrap_or_else(|| {
            let taken = self
                .tasks
                .find_mut(manager.name, &id, now)
                .and_then(|task| task.take(&aside, &given.conditions));
            taken.map_or_else(|refusal| refusal, Expected::Document)
        });
        self.expect(&call, &expected);
    }

    fn wait_or_look(&mut self, [_, manager, task, seen, ..]: Numbers) {
        let (handle, manager) = self.manager(manager);
        let id = self.task_id(&manager, task);
        let found = self.tasks.find(manager.name, &id, self.time);
        if seen % 3 == 0 {
            let expected =
                found.map_or(TASK_NOT_FOUND, |task| Expected::Flag(task.cancelation_requested.into()));
            let call = Call::new("manager_is_task_cancelation_requested", handle).with("task_id", id);
            self.expect(&call, &expected);
            return;
        }
        let seen = found.map_or(0, |task| task.revision - u64::from(seen % 3 == 1));
        let expected = match found {
            None => TASK_NOT_FOUND,
            Some(task) if task.revision > seen => Expected::Document(task.record(true)),
            Some(_) => TIMEOUT,
        };
        let call = Call::new("manager_wait_task", handle)
            .with("task_id", id)
            .with("seen_revision", seen)
            .with("timeout_ms", 0);
        self.expect(&call, &expected);
    }

    fn list(&mut self, [_, manager, go_on, size, filter, value, payload, ..]: Numbers) {
        let (mut handle, mut options) = self.manager(manager);
        let mut filters = Map::new();
        match filter % 5 {
            0 => drop(filters.insert(
                "status".to_owned(),
                json!(["working", "input_required", "completed"][usize::from(value) % 3]),
            )),
            1 => drop(filters.insert("endpoint".to_owned(), json!("/mcp"))),
            2 => {
                let partition = pool::PARTITIONS[usize::from(value) % 4];
                filters.insert("authorizationPartition".to_owned(), json!(partition));
            }
            3 if self.is_queued => Self::work_filter(&mut filters, value),
            _ => {}
        }
        let walk = self.tasks.walk.clone().filter(|_| go_on % 3 > 0);
        let mut after = 0;
        let mut params = filters.clone();
        let mut is_strange = false;
        if let Some(walk) = walk {
            if go_on % 3 == 1 {
                (handle, options) =
                    *self.managers.iter().find(|(name, _)| *name == walk.manager).expect("open");
                filters = walk.filters;
                params.clone_from(&filters);
            } else {
                let name = self.managers.iter().find(|(name, _)| *name == walk.manager).expect("open").1.name;
                is_strange = filters != walk.filters || name != options.name;
            }
            after = walk.after;
            params.insert("pageToken".to_owned(), walk.token.into());
        }
        let size = usize::from(size) % 4 + 1;
        params.insert("pageSize".to_owned(), size.into());
        let with_payload = payload & 1 == 0;
        if with_payload {
            params.insert("includePayload".to_owned(), true.into());
        }
        let call = Call::new("manager_list_tasks", handle).with("params", Value::Object(params));
        if is_strange {
            self.expect(&call, &invalid("invalid_page_token"));
            return;
        }
        let listed = self.tasks.listed(options.name, &filters, after, self.time);
        let shown = &listed[..listed.len().min(size)];
        let records: Vec<_> = shown.iter().map(|&at| self.tasks.all[at].record(with_payload)).collect();
        let after = shown.last().map_or(after, |at| at + 1);
        let outcome = call.invoke(&self.handles);
        let page = outcome.json();
        let token = page["nextPageToken"].as_str().unwrap_or("none").to_owned();
        let later = self.tasks.all[after..].iter().any(|task| task.name == options.name);
        let is_right = page["records"] == Value::Array(records.clone())
            && page["corrupt"] == json!([])
            && (listed.len() <= size || !token.is_empty())
            && (later || token.is_empty());
        let wrong = (!is_right).then(|| format!("should show {records:?}, of {}\n{outcome:?}", listed.len()));
        self.judge(&call, &outcome, &Expected::Judged(wrong));
        self.tasks.walk =
            (!token.is_empty()).then(|| Walk { manager: handle.to_owned(), filters, after, token });
    }

    pub fn audit_tasks(&mut self) {
        for at in 0..self.tasks.all.len() {
            let task = self.tasks.all[at].clone();
            for (handle, manager) in self.managers.clone() {
                let is_there = manager.name == task.name && task.is_there(self.time);
                let expected = if is_there { Expected::Document(task.record(true)) } else { Expected::Null };
                self.expect(
                    &Call::new("manager_find_task", handle).with("task_id", task.id.clone()),
                    &expected,
                );
            }
        }
    }
}
