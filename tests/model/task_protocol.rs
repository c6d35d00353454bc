//! What the sequences do with tasks on the protocol's side.

use serde_json::{Value, json};

use super::call::{Call, Expected, TASK_NOT_FOUND, invalid, refused};
use super::pool;
use super::task_steps::{keyed, object_text};
use super::tasks::{Conditions, Manager, Task};
use super::world::{Numbers, TASKS, World};

/// Who calls: most often the one whose task it is.
struct Caller {
    endpoint: String,
    partition: Option<String>,
}

fn response(id: &Value, member: &str, value: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, member: value})
}

impl World {
    fn caller(&self, number: u8, id: &str) -> Caller {
        let task = self.tasks.all.iter().find(|task| task.id == id);
        let (endpoint, partition) =
            task.map_or(("/mcp", None), |task| (&*task.endpoint, task.partition.as_deref()));
        let (endpoint, partition) = match number % 10 {
            0 => ("/other", partition),
            1 => (endpoint, pool::PARTITIONS[usize::from(number / 8) % 4]),
            _ => (endpoint, partition),
        };
        Caller { endpoint: endpoint.to_owned(), partition: partition.map(str::to_owned) }
    }

    fn authorized(&self, manager: &Manager, caller: &Caller, id: &str) -> Option<&Task> {
        let found = self.tasks.find(manager.name, id, self.time);
        found.filter(|task| task.is_of(&caller.endpoint, caller.partition.as_deref()))
    }

    fn call_as(function: &'static str, handle: &str, caller: &Caller) -> Call {
        Call::new(function, handle)
            .with("endpoint", caller.endpoint.clone())
            .with("partition", json!(caller.partition))
    }

    /// The outcome of an update by `caller`, with its announcement.
    fn accept(
        &mut self,
        manager: &Manager,
        caller: &Caller,
        id: &str,
        responses: &[(String, String)],
        conditions: &Conditions,
    ) -> Result<(Vec<String>, Vec<String>), Expected> {
        if self.authorized(manager, caller, id).is_none() {
            return Err(TASK_NOT_FOUND);
        }
        let now = self.time;
        let updated = self.tasks.find_mut(manager.name, id, now)?.update(responses, conditions, now)?;
        if !updated.0.is_empty() {
            self.announce((TASKS, manager.name), "changed", id);
        }
        Ok(updated)
    }

    pub fn update(&mut self, [_, manager, task, caller, options, rest @ ..]: Numbers) {
        let (handle, manager) = self.manager(manager);
        let id = self.task_id(&manager, task);
        let caller = self.caller(caller, &id);
        let revision = self.tasks.find(manager.name, &id, self.time).map_or(1, |task| task.revision);
        let (json, conditions) = match options % 8 {
            0 => (
                json!({"expectedRevision": revision}),
                Conditions { expected_revision: Some(revision), ..Conditions::default() },
            ),
            1 => (
                json!({"expectedRevision": revision + 1}),
                Conditions { expected_revision: Some(revision + 1), ..Conditions::default() },
            ),
            2 => (
                json!({"unlessCancelationRequested": true}),
                Conditions { unless_cancelation_requested: true, ..Conditions::default() },
            ),
            _ => (Value::Null, Conditions::default()),
        };
        let count = usize::from(rest[4]) % 3;
        let responses = keyed(&rest[..count * 2], |number| self.answer(&id, rest[0], number));
        let call = Self::call_as("manager_update_task", handle, &caller)
            .with("task_id", id.clone())
            .with("input_responses", object_text(&responses))
            .with("options", json);
        match self.accept(&manager, &caller, &id, &responses, &conditions) {
            Err(refusal) => drop(self.expect(&call, &refusal)),
            Ok((mut accepted, mut ignored)) => {
                let outcome = call.invoke(&self.handles);
                let sorted = |value: &Value| {
                    let keys = value.as_array().cloned().unwrap_or_default();
                    let mut keys: Vec<_> =
                        keys.iter().filter_map(|key| key.as_str().map(str::to_owned)).collect();
                    keys.sort();
                    keys
                };
                accepted.sort();
                ignored.sort();
                let found = outcome.json();
                let is_right = sorted(&found["accepted"]) == accepted
                    && sorted(&found["ignored"]) == ignored
                    && found.as_object().is_some_and(|members| members.len() == 2);
                let wrong = (!is_right)
                    .then(|| format!("should accept {accepted:?} ignore {ignored:?}: {outcome:?}"));
                self.judge(&call, &outcome, &Expected::Judged(wrong));
            }
        }
    }

    /// An answer: most often one that matches what is asked under the key.
    fn answer(&self, id: &str, key: u8, number: u8) -> &'static str {
        let key = pool::KEYS[usize::from(key) % pool::KEYS.len()];
        let task = self.tasks.all.iter().find(|task| task.id == id);
        let asked = task.and_then(|task| task.outstanding.iter().find(|(open, _)| open == key));
        let at = usize::from(number) % pool::RESPONSES.len();
        let matching = asked.filter(|_| number > 90).and_then(|(_, request)| {
            let kind = pool::request(request).0;
            pool::RESPONSES.iter().find(|(_, kinds)| kinds[kind])
        });
        matching.unwrap_or(&pool::RESPONSES[at]).0
    }

    pub fn request_cancelation(&mut self, [_, manager, task, caller, find, ..]: Numbers) {
        let (handle, manager) = self.manager(manager);
        let id = self.task_id(&manager, task);
        let caller = self.caller(caller, &id);
        if find & 1 == 0 {
            let found = self.authorized(&manager, &caller, &id);
            let expected = found.map_or(Expected::Null, |task| Expected::Document(task.record(true)));
            let call = Self::call_as("manager_find_authorized_task", handle, &caller).with("task_id", id);
            self.expect(&call, &expected);
            return;
        }
        let expected =
            if self.ask_to_cancel(&manager, &caller, &id) { Expected::Done } else { TASK_NOT_FOUND };
        let call = Self::call_as("manager_request_task_cancelation", handle, &caller).with("task_id", id);
        self.expect(&call, &expected);
    }

    /// Whether the task is the caller's.
    fn ask_to_cancel(&mut self, manager: &Manager, caller: &Caller, id: &str) -> bool {
        if self.authorized(manager, caller, id).is_none() {
            return false;
        }
        let now = self.time;
        let found = self.tasks.find_mut(manager.name, id, now).ok();
        if let Some(event) = found.and_then(|task| task.request_cancelation(now)) {
            self.announce((TASKS, manager.name), event, id);
        }
        true
    }

    pub fn render(&mut self, [_, manager, task, caller, rendering, with, capabilities, ..]: Numbers) {
        let (handle, manager) = self.manager(manager);
        let id = self.task_id(&manager, task);
        let caller = self.caller(caller, &id);
        let rendering = i32::from(rendering % 4);
        let capabilities = (with & 1 == 0).then(|| pool::capabilities(capabilities));
        let subscription_id =
            (with & 2 == 0).then(|| json!(["sub", 7, 1.5e3, null])[usize::from(with / 4) % 4].clone());
        let mut options = json!({});
        if let Some(capabilities) = &capabilities {
            options["clientCapabilities"] = capabilities.clone();
        }
        if let Some(id) = &subscription_id {
            options["subscriptionId"] = id.clone();
        }
        let call = Self::call_as("manager_render_task", handle, &caller)
            .with("task_id", id.clone())
            .with("rendering", rendering)
            .with("options", options);
        let declared = capabilities.map(|capabilities| pool::declares(&capabilities));
        let is_fractional = subscription_id.as_ref().is_some_and(Value::is_f64);
        // A member that is null is not given.
        let subscription_id = subscription_id.filter(|id| !id.is_null());
        let expected = if rendering == 0 || is_fractional {
            invalid("invalid_value")
        } else if declared.is_some_and(|(extension, _)| !extension) {
            refused("undeliverable")
        } else {
            match self.authorized(&manager, &caller, &id) {
                None => TASK_NOT_FOUND,
                Some(task)
                    if rendering != 1
                        && !(task.is_declared() && declared.is_none_or(|(_, kinds)| task.suits(kinds))) =>
                {
                    refused("undeliverable")
                }
                Some(task) => {
                    Expected::At(Some(task.rendering(rendering, subscription_id.as_ref())), task.revision)
                }
            }
        };
        self.expect(&call, &expected);
    }

    pub fn request(&mut self, [_, manager, task, caller, method, capabilities, shape, rest @ ..]: Numbers) {
        let (handle, manager) = self.manager(manager);
        let task_id = self.task_id(&manager, task);
        let caller = self.caller(caller, &task_id);
        let method =
            ["tasks/get", "tasks/get", "tasks/update", "tasks/cancel", "tasks/list"][usize::from(method) % 5];
        let id =
            [json!(1), json!("a\u{e9}"), json!(-7), Value::Null, json!(1.5)][usize::from(shape) % 5].clone();
        let responses = keyed(&rest[..2], |number| self.answer(&task_id, rest[0], number));
        let mut params = format!(r#""taskId":{}"#, json!(task_id));
        if method == "tasks/update" {
            params = format!(r#"{params},"inputResponses":{}"#, object_text(&responses));
        }
        let given = pool::capabilities(capabilities & 0x3f);
        let has_argument = capabilities & 0x40 == 0;
        if !has_argument {
            params = format!(r#"{params},"_meta":{{"io.modelcontextprotocol/clientCapabilities":{given}}}"#);
        }
        let is_notification = shape > 220;
        let head = if is_notification { String::new() } else { format!(r#""id":{id},"#) };
        let request = format!(r#"{{"jsonrpc":"2.0",{head}"method":"{method}","params":{{{params}}}}}"#);
        let call = Self::call_as("manager_handle_request", handle, &caller)
            .with("client_capabilities", if has_argument { given.clone() } else { Value::Null })
            .with("request", request);
        if is_notification {
            self.expect(&call, &Expected::Null);
            return;
        }
        let code = |code: i64| (code, Value::Null);
        let (extension, kinds) = pool::declares(&given);
        let answered = if id.is_null() || id.is_f64() {
            Err(code(-32600))
        } else if method == "tasks/list" {
            Err(code(-32601))
        } else if !extension {
            Err((-32021, json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})))
        } else {
            match self.authorized(&manager, &caller, &task_id) {
                None => Err(code(-32602)),
                Some(task) if method == "tasks/get" && !task.is_declared() => Err(code(-32603)),
                Some(task) if method == "tasks/get" && !task.suits(kinds) => Err((-32021, json!("any"))),
                Some(task) if method == "tasks/get" => Ok(task.rendering(2, None)),
                Some(_) if method == "tasks/update" => {
                    let _ = self.accept(&manager, &caller, &task_id, &responses, &Conditions::default());
                    Ok(json!({"resultType": "complete"}))
                }
                Some(_) => {
                    self.ask_to_cancel(&manager, &caller, &task_id);
                    Ok(json!({"resultType": "complete"}))
                }
            }
        };
        let expected = match answered {
            Ok(result) => Expected::Document(response(&id, "result", &result)),
            Err((code, required)) => {
                let outcome = call.invoke(&self.handles);
                let found = outcome.json();
                let id = if code == -32600 { Value::Null } else { id };
                let data = &found["error"]["data"]["requiredCapabilities"];
                let is_right = found["error"]["code"] == code
                    && found["error"]["message"].is_string()
                    && found["id"] == id
                    && match required {
                        Value::Null => found["error"].get("data").is_none(),
                        Value::String(_) => data.as_object().is_some_and(|data| !data.is_empty()),
                        required => *data == required,
                    };
                let wrong = (!is_right).then(|| format!("should be {code} for {id}: {outcome:?}"));
                self.judge(&call, &outcome, &Expected::Judged(wrong));
                return;
            }
        };
        self.expect(&call, &expected);
    }
}
