//! The model of MCP tasks: a list of tasks for each name, in order of creation.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::call::{Expected, TASK_NOT_FOUND, invalid, refused};
use super::pool;
use super::time::{Time, timestamp};
use super::work::{Authority, Work};

/// A task. Payloads are kept as texts.
#[derive(Clone, Debug)]
pub struct Task {
    pub id: String,
    pub name: &'static str,
    pub endpoint: String,
    pub partition: Option<String>,
    pub creation: Value,
    pub created: Time,
    pub updated: i64,
    pub time_to_live: i64,
    pub poll_interval: i64,
    pub status: &'static str,
    pub message: Option<String>,
    pub revision: u64,
    pub cancelation_requested: bool,
    /// `result` or `error`, and its text.
    pub ending: Option<(&'static str, String)>,
    pub outstanding: Vec<(String, String)>,
    pub used: BTreeSet<String>,
    pub responses: Vec<(String, String)>,
    pub work: Option<Work>,
}

/// What a call demands beside its rule.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    pub expected_revision: Option<u64>,
    pub unless_cancelation_requested: bool,
    pub authority: Authority,
}

/// What goes with a request for input, or with taking what came.
#[derive(Clone, Debug, Default)]
pub struct Aside {
    /// Park, or peek.
    pub only: bool,
    pub checkpoint: Value,
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn map(members: &[(String, String)]) -> Value {
    Value::Object(members.iter().map(|(key, text)| (key.clone(), parsed(text))).collect())
}

impl Task {
    /// A plain one.
    pub fn new(
        id: String,
        manager: &Manager,
        endpoint: &str,
        partition: Option<&str>,
        creation: Value,
        now: Time,
    ) -> Self {
        Self {
            id,
            name: manager.name,
            endpoint: endpoint.to_owned(),
            partition: partition.map(str::to_owned),
            creation,
            created: now,
            updated: now.wall,
            time_to_live: manager.time_to_live,
            poll_interval: manager.poll_interval,
            status: "working",
            message: None,
            revision: 1,
            cancelation_requested: false,
            ending: None,
            outstanding: Vec::new(),
            used: BTreeSet::new(),
            responses: Vec::new(),
            work: None,
        }
    }

    pub fn is_there(&self, now: Time) -> bool {
        now.tick - self.created.tick < self.time_to_live
    }

    pub fn is_terminal(&self) -> bool {
        ["completed", "failed", "cancelled"].contains(&self.status)
    }

    pub fn is_of(&self, endpoint: &str, partition: Option<&str>) -> bool {
        self.endpoint == endpoint && self.partition.as_deref() == partition
    }

    /// The extension's `DetailedTask`, with or without its payload.
    fn detailed(&self, with_payload: bool) -> Map<String, Value> {
        let mut task = json!({
            "taskId": self.id, "status": self.status, "createdAt": timestamp(self.created.wall),
            "lastUpdatedAt": timestamp(self.updated), "ttlMs": self.time_to_live, "pollIntervalMs": self.poll_interval,
        });
        if let Some(message) = &self.message {
            task["statusMessage"] = message.as_str().into();
        }
        if with_payload {
            if self.status == "input_required" {
                task["inputRequests"] = map(&self.outstanding);
            }
            if let Some((member, text)) = &self.ending {
                task[*member] = parsed(text);
            }
        }
        task.as_object().expect("an object").clone()
    }

    pub fn record(&self, with_payload: bool) -> Value {
        let mut record = json!({
            "task": self.detailed(with_payload), "revision": self.revision, "endpoint": self.endpoint,
            "authorizationPartition": self.partition, "origin": self.creation["origin"],
            "cancelationRequested": self.cancelation_requested,
        });
        for member in ["metadata", "declaredInputRequests"] {
            if !self.creation[member].is_null() {
                record[member] = self.creation[member].clone();
            }
        }
        self.push_work(&mut record, with_payload);
        record
    }

    /// Rendering 1, 2 or 3.
    pub fn rendering(&self, rendering: i32, subscription_id: Option<&Value>) -> Value {
        let mut task = self.detailed(rendering != 1);
        let mut meta = self.creation["metadata"].as_object().cloned().unwrap_or_default();
        if let (3, Some(id)) = (rendering, subscription_id) {
            meta.insert("io.modelcontextprotocol/subscriptionId".to_owned(), id.clone());
        }
        if !meta.is_empty() {
            task.insert("_meta".to_owned(), Value::Object(meta));
        }
        if rendering == 3 {
            return json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": task});
        }
        task.insert("resultType".to_owned(), if rendering == 1 { "task" } else { "complete" }.into());
        Value::Object(task)
    }

    fn open_kinds(&self) -> impl Iterator<Item = usize> {
        self.outstanding.iter().map(|(_, text)| pool::request(text).0)
    }

    /// Whether every outstanding request was declared when the task was created.
    pub fn is_declared(&self) -> bool {
        let Some(declared) = self.creation["declaredInputRequests"].as_array() else { return true };
        self.open_kinds().all(|kind| declared.iter().any(|name| name == pool::KINDS[kind]))
    }

    /// Whether a client with these kinds may be asked everything that is outstanding.
    pub fn suits(&self, kinds: [bool; 4]) -> bool {
        self.open_kinds().all(|kind| kinds[kind])
    }

    fn check(&self, conditions: &Conditions) -> Result<(), Expected> {
        if conditions.expected_revision.is_some_and(|expected| expected != self.revision) {
            return Err(Expected::Refused("conflict", "revision_mismatch"));
        }
        if conditions.unless_cancelation_requested && self.cancelation_requested {
            return Err(refused("cancelation_requested"));
        }
        Ok(())
    }

    fn check_open(&self, conditions: &Conditions) -> Result<(), Expected> {
        if self.is_terminal() {
            return Err(refused("task_terminal"));
        }
        self.check_authority(conditions.authority)?;
        self.check(conditions)
    }

    pub fn touch(&mut self, now: Time) {
        self.updated = self.updated.max(now.wall);
        self.revision += 1;
    }

    pub fn mark(
        &mut self,
        message: Option<&str>,
        withdraw: Option<&[String]>,
        checkpoint: &Value,
        conditions: &Conditions,
        now: Time,
    ) -> Result<(), Expected> {
        self.check_open(conditions)?;
        self.check_checkpoint(checkpoint)?;
        self.note(checkpoint);
        match withdraw {
            None => self.outstanding.clear(),
            Some(keys) => self.outstanding.retain(|(key, _)| !keys.contains(key)),
        }
        if self.outstanding.is_empty() {
            self.status = "working";
        }
        self.message = message.map(str::to_owned);
        self.touch(now);
        Ok(())
    }

    /// Whether anything changed.
    pub fn ask(
        &mut self,
        requests: &[(String, String)],
        message: Option<&str>,
        aside: &Aside,
        conditions: &Conditions,
        now: Time,
    ) -> Result<bool, Expected> {
        self.check_open(conditions)?;
        if aside.only && self.queue().is_none() {
            return Err(refused("not_queued"));
        }
        if !self.responses.is_empty() {
            return Err(refused("input_responses_untaken"));
        }
        let mut added = Vec::new();
        for (key, text) in requests {
            if !self.used.contains(key) {
                added.push((key.clone(), text.clone()));
                continue;
            }
            let repeats = |(open, known): &(String, String)| {
                open == key && pool::request(known).1 == pool::request(text).1
            };
            if !self.outstanding.iter().any(repeats) {
                return Err(invalid("input_request_key_reused"));
            }
        }
        self.check_checkpoint(&aside.checkpoint)?;
        self.note(&aside.checkpoint);
        if aside.only {
            if self.cancelation_requested {
                self.finish("cancelled", None, None, now);
                return Ok(true);
            }
            self.park();
        }
        if added.is_empty() && self.message.as_deref() == message {
            self.revision += u64::from(aside.only);
            return Ok(false);
        }
        if !added.is_empty() {
            self.status = "input_required";
            self.used.extend(added.iter().map(|(key, _)| key.clone()));
            self.outstanding.extend(added);
        }
        self.message = message.map(str::to_owned);
        self.touch(now);
        Ok(true)
    }

    pub fn end(
        &mut self,
        status: &'static str,
        ending: Option<(&'static str, String)>,
        message: Option<&str>,
        conditions: &Conditions,
        now: Time,
    ) -> Result<(), Expected> {
        self.check_open(conditions)?;
        self.finish(status, ending, message, now);
        Ok(())
    }

    /// The keys accepted and ignored.
    pub fn update(
        &mut self,
        responses: &[(String, String)],
        conditions: &Conditions,
        now: Time,
    ) -> Result<(Vec<String>, Vec<String>), Expected> {
        self.check(conditions)?;
        let (mut accepted, mut ignored) = (Vec::new(), Vec::new());
        for (key, text) in responses {
            let (_, matches) = pool::RESPONSES.iter().find(|(known, _)| known == text).expect("of the pool");
            let open = self
                .outstanding
                .iter()
                .position(|(open, request)| open == key && matches[pool::request(request).0]);
            if let Some(open) = open {
                self.outstanding.remove(open);
                self.responses.push((key.clone(), text.clone()));
                accepted.push(key.clone());
            } else {
                ignored.push(key.clone());
            }
        }
        if !accepted.is_empty() {
            if self.outstanding.is_empty() {
                self.status = "working";
                self.message = None;
            }
            self.touch(now);
        }
        Ok((accepted, ignored))
    }

    pub fn take(&mut self, aside: &Aside, conditions: &Conditions) -> Result<Value, Expected> {
        if self.is_terminal() {
            return self.check(conditions).map(|()| json!({}));
        }
        self.check_open(conditions)?;
        self.check_checkpoint(&aside.checkpoint)?;
        self.note(&aside.checkpoint);
        let taken = map(&self.responses);
        if !aside.only {
            self.responses.clear();
        }
        Ok(taken)
    }

    /// What is announced, if anything changed. Work that nobody holds ends.
    pub fn request_cancelation(&mut self, now: Time) -> Option<&'static str> {
        if self.is_terminal() || self.cancelation_requested {
            return None;
        }
        self.cancelation_requested = true;
        if self.work.as_ref().is_some_and(|work| work.is_fenced() && work.holder().is_none()) {
            self.finish("cancelled", None, None, now);
            return Some("changed");
        }
        self.revision += 1;
        Some("cancelation_requested")
    }
}

/// The options of a manager.
#[derive(Clone, Copy, Debug)]
pub struct Manager {
    pub name: &'static str,
    pub maximum_retained_tasks: usize,
    pub time_to_live: i64,
    pub poll_interval: i64,
}

/// A listing that was not walked to its end.
#[derive(Clone, Debug)]
pub struct Walk {
    pub manager: String,
    pub filters: Map<String, Value>,
    pub after: usize,
    pub token: String,
}

/// All tasks that ever were, in order of creation.
#[derive(Default)]
pub struct Tasks {
    pub all: Vec<Task>,
    pub walk: Option<Walk>,
}

impl Tasks {
    pub fn count(&self, name: &str, now: Time) -> usize {
        self.all.iter().filter(|task| task.name == name && task.is_there(now)).count()
    }

    /// The task, if it is there for managers of this name.
    pub fn find(&self, name: &str, id: &str, now: Time) -> Option<&Task> {
        self.all.iter().find(|task| task.name == name && task.id == id && task.is_there(now))
    }

    pub fn find_mut(&mut self, name: &str, id: &str, now: Time) -> Result<&mut Task, Expected> {
        let found = self.all.iter_mut().find(|task| task.name == name && task.id == id && task.is_there(now));
        found.ok_or(TASK_NOT_FOUND)
    }

    /// What a page shows: positions in `all` of the tasks that pass the filters behind `after`.
    pub fn listed(&self, name: &str, filters: &Map<String, Value>, after: usize, now: Time) -> Vec<usize> {
        let passes = |task: &Task| {
            filters.get("status").is_none_or(|status| status == task.status)
                && filters.get("endpoint").is_none_or(|endpoint| *endpoint == task.endpoint)
                && filters
                    .get("authorizationPartition")
                    .is_none_or(|wanted| wanted.as_str() == task.partition.as_deref())
                && filters.get("queue").is_none_or(|queue| queue.as_str() == task.queue())
                && filters.get("worker").is_none_or(|worker| {
                    !task.is_terminal() && worker.as_str() == task.work.as_ref().and_then(Work::holder)
                })
                && filters.get("workState").is_none_or(|state| state.as_str() == task.work_state())
        };
        let shown = self.all.iter().enumerate().skip(after);
        shown
            .filter(|(_, task)| task.name == name && task.is_there(now) && passes(task))
            .map(|(at, _)| at)
            .collect()
    }
}
