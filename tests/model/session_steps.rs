//! What the sequences do with sessions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::call::{Call, Expected, invalid};
use super::pool;
use super::sessions::{Session, Store};
use super::time::timestamp;
use super::world::{Numbers, World};

fn session_id(number: u8) -> String {
    ["one", "two", "three", "four~!"][usize::from(number) % 4].to_owned()
}

/// The same value with its members in another order, at every depth.
fn reordered(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members.iter().rev().map(|(key, member)| (key.clone(), reordered(member))).collect(),
        ),
        Value::Array(elements) => elements.iter().map(reordered).collect(),
        other => other.clone(),
    }
}

impl World {
    fn store(&self, number: u8) -> (&'static str, Store) {
        self.stores[[0, 1, 0, 1, 2][usize::from(number) % 5]]
    }

    pub fn session_step(&mut self, numbers: Numbers) {
        match numbers[0] % 16 {
            0..=2 => self.create_session(numbers),
            3 => self.find_session(numbers),
            4 => self.find_authorized_session(numbers),
            5..=9 => self.replace_session(numbers),
            10 => self.delete_session(numbers),
            11 | 12 => self.pin(numbers),
            13 => self.unpin(numbers),
            14 => self.take_expired(numbers),
            15 if numbers[2].is_multiple_of(2) => self.reopen(numbers),
            _ => self.list_sessions(numbers),
        }
    }

    fn create_session(&mut self, [_, store, id, partition, variant, ..]: Numbers) {
        let (handle, store) = self.store(store);
        let id = (id > 60).then(|| session_id(id));
        let partition = pool::PARTITIONS[usize::from(partition) % 4];
        let context =
            [json!({}), json!({"n": 1, "s": {"b": [], "a": null}})][usize::from(variant) % 2].clone();
        let mut creation = json!({"authorizationPartition": partition, "sessionContext": context});
        if let Some(id) = &id {
            creation["sessionId"] = json!(id);
        }
        let is_bad = variant > 240;
        if is_bad {
            creation["sessionId"] = json!("not visible");
        }
        let call =
            Call::new("session_store_create", handle).with("endpoint", "/mcp").with("creation", creation);
        if is_bad {
            let outcome = call.invoke(&self.handles);
            let wrong = outcome.status != "invalid_argument";
            self.judge(&call, &outcome, &Expected::Judged(wrong.then(|| format!("{outcome:?}"))));
            return;
        }
        if id.as_ref().is_some_and(|id| self.sessions.find(store.name, id).is_some()) {
            self.expect(&call, &Expected::Refused("conflict", "session_id_in_use"));
            return;
        }
        if store.limit > 0 && self.sessions.count(store.name) >= store.limit {
            self.expect(&call, &Expected::Null);
            return;
        }
        let outcome = call.invoke(&self.handles);
        let made = id.is_none();
        let id = id.unwrap_or_else(|| outcome.json()["sessionId"].as_str().unwrap_or("none").to_owned());
        let now = timestamp(self.time.wall);
        let snapshot = json!({
            "sessionId": id, "endpoint": "/mcp", "authorizationPartition": partition, "createdAt": now,
            "lastActivityAt": now, "initialized": false, "initializedNotificationReceived": false,
            "protocolVersion": null, "clientCapabilities": null, "negotiatedCapabilities": null,
            "sessionContext": context, "terminatedAt": null, "version": 0,
        });
        self.judge(&call, &outcome, &Expected::Document(snapshot.clone()));
        if made {
            self.name_id(&id, "/sessionId");
        }
        let tick = self.time.tick;
        self.sessions.alive.push(Session {
            name: store.name,
            snapshot,
            idle_timeout: store.idle,
            initialization_timeout: store.initialization,
            created: tick,
            active: tick,
            unpinned: i64::MIN,
            pins: BTreeMap::new(),
        });
    }

    /// The id of a session that is there, or was, or never was.
    fn known_session(&self, number: u8) -> String {
        let alive = &self.sessions.alive;
        match alive.get(usize::from(number) % alive.len().max(1)) {
            Some(session) if number > 50 => session.id().to_owned(),
            _ => session_id(number),
        }
    }

    fn find_session(&mut self, [_, store, id, ..]: Numbers) {
        let ((handle, store), id) = (self.store(store), self.known_session(id));
        let found = self.sessions.find(store.name, &id);
        let expected =
            found.map_or(Expected::Null, |at| Expected::Document(self.sessions.alive[at].snapshot.clone()));
        let call = Call::new("session_store_find_by_session_id", handle).with("session_id", id);
        self.expect(&call, &expected);
    }

    fn find_authorized_session(&mut self, [_, store, id, partition, endpoint, ..]: Numbers) {
        let ((handle, store), id) = (self.store(store), self.known_session(id));
        let found = self.sessions.find(store.name, &id).map(|at| self.sessions.alive[at].snapshot.clone());
        let endpoint = if endpoint % 4 == 0 { "/other" } else { "/mcp" };
        let partition = match &found {
            Some(snapshot) if partition % 3 > 0 => snapshot["authorizationPartition"].clone(),
            _ => json!(pool::PARTITIONS[usize::from(partition) % 4]),
        };
        let visible =
            found.filter(|found| found["authorizationPartition"] == partition && endpoint == "/mcp");
        let call = Call::new("session_store_find_authorized_session", handle)
            .with("endpoint", endpoint)
            .with("partition", partition)
            .with("session_id", id);
        self.expect(&call, &visible.map_or(Expected::Null, Expected::Document));
    }

    fn replace_session(&mut self, [_, store, which, change, activity, late, order, step, ..]: Numbers) {
        let (handle, store) = self.store(store);
        let alive: Vec<_> = self.sessions.alive.iter().filter(|session| session.name == store.name).collect();
        let expected = match alive.get(usize::from(which) % alive.len().max(1)) {
            Some(session) if late > 40 => session.snapshot.clone(),
            _ if self.sessions.stale.is_empty() => return,
            _ => self.sessions.stale[usize::from(late) % self.sessions.stale.len()].clone(),
        };
        let mut updated = expected.clone();
        let version = expected["version"].as_u64().expect("a version");
        updated["version"] = (version + 1 + u64::from(step % 2)).into();
        let lagging = [0, 0, 30, 99, -20][usize::from(activity) % 5];
        if activity > 80 {
            updated["lastActivityAt"] = timestamp(self.time.wall - lagging).into();
        }
        let mut is_allowed = true;
        match change % 12 {
            0..=3 => updated["initialized"] = true.into(),
            4 => updated["sessionContext"] = json!({"step": step, "f": 1.50}),
            5 => updated["terminatedAt"] = timestamp(self.time.wall).into(),
            6 => {
                updated["initialized"] = true.into();
                updated["protocolVersion"] = "2025-11-25".into();
                updated["clientCapabilities"] = json!({"roots": {}});
            }
            7 => {
                updated["version"] = version.into();
                is_allowed = false;
            }
            8 => {
                updated["endpoint"] = "/other".into();
                is_allowed = false;
            }
            9 => {
                is_allowed = updated["terminatedAt"].is_null();
                updated["terminatedAt"] = Value::Null;
            }
            10 => {
                is_allowed = updated["authorizationPartition"] == "p";
                updated["authorizationPartition"] = "p".into();
            }
            _ => {}
        }
        let given = if order % 3 == 0 { reordered(&expected) } else { expected.clone() };
        let call = Call::new("session_store_replace", handle)
            .with("expected", given)
            .with("updated", updated.clone());
        if !is_allowed {
            self.expect(&call, &invalid("invalid_replacement"));
            return;
        }
        let id = expected["sessionId"].as_str().expect("a string");
        let found =
            self.sessions.find(store.name, id).filter(|&at| self.sessions.alive[at].snapshot == expected);
        self.expect(&call, &Expected::Flag(found.is_some().into()));
        let Some(at) = found else { return };
        let now = self.time;
        let session = &mut self.sessions.alive[at];
        if !session.is_terminated() {
            if !updated["terminatedAt"].is_null() {
                session.active = now.tick;
            } else if updated["lastActivityAt"] != expected["lastActivityAt"] {
                session.active = now.tick - lagging.max(0);
            }
        }
        session.snapshot = updated;
        self.sessions.remember(expected);
    }

    fn delete_session(&mut self, [_, store, id, ..]: Numbers) {
        let ((handle, store), id) = (self.store(store), self.known_session(id));
        let call = Call::new("session_store_delete_by_session_id", handle).with("session_id", id.clone());
        self.expect(&call, &Expected::Done);
        if let Some(at) = self.sessions.find(store.name, &id) {
            let session = self.sessions.alive.remove(at);
            self.sessions.remember(session.snapshot);
        }
    }

    fn pin(&mut self, [_, store, id, ..]: Numbers) {
        let ((handle, store), id) = (self.store(store), self.known_session(id));
        let found = self.sessions.find(store.name, &id);
        let call = Call::new("session_store_pin", handle).with("session_id", id);
        self.expect(&call, &Expected::Flag(found.is_some().into()));
        if let Some(at) = found {
            *self.sessions.alive[at].pins.entry(handle).or_default() += 1;
        }
    }

    fn unpin(&mut self, [_, store, id, ..]: Numbers) {
        let ((handle, store), id) = (self.store(store), self.known_session(id));
        let call = Call::new("session_store_unpin", handle).with("session_id", id.clone());
        self.expect(&call, &Expected::Done);
        let tick = self.time.tick;
        if let Some(at) = self.sessions.find(store.name, &id) {
            let session = &mut self.sessions.alive[at];
            if let Some(count) = session.pins.get_mut(handle).filter(|count| **count > 0) {
                *count -= 1;
                session.note_unpin(tick);
            }
        }
    }

    fn take_expired(&mut self, [_, store, ..]: Numbers) {
        let (handle, store) = self.store(store);
        let call = Call::new("session_store_take_expired", handle);
        let outcome = call.invoke(&self.handles);
        let mut told = outcome.json().as_array().cloned().unwrap_or_default();
        let count = told.len();
        let (_, untold) = self.sessions.untold.get_mut(handle).expect("open");
        let (all, most) = (untold.must.len(), untold.must.len() + untold.may.len());
        let mut take = |list: &mut Vec<Value>| {
            list.retain(|known| {
                let at = told.iter().position(|told| told == known);
                at.map(|at| told.remove(at)).is_none()
            });
        };
        take(&mut untold.must);
        take(&mut untold.may);
        let mut wrong = (!told.is_empty()).then(|| format!("{told:?} did not expire, or was told before"));
        if most <= store.keep && !untold.must.is_empty() {
            wrong = Some(format!("{:?} was not told", untold.must));
        }
        if count > store.keep || count < all.min(store.keep) {
            wrong = Some(format!("{count} were told, of {all}"));
        }
        untold.may.append(&mut untold.must);
        self.judge(&call, &outcome, &Expected::Judged(wrong));
    }

    fn reopen(&mut self, [_, store, ..]: Numbers) {
        let (handle, store) = self.store(store);
        self.close_sessions(handle);
        self.open_sessions(handle, store);
    }

    /// A whole walk, which meets the sessions that are there in order of creation.
    fn list_sessions(&mut self, [_, store, _, partition, size, ..]: Numbers) {
        let (handle, store) = self.store(store);
        let mut params = json!({"pageSize": size % 3 + 1});
        let partition = (partition > 128).then(|| json!(pool::PARTITIONS[usize::from(partition) % 4]));
        if let Some(partition) = &partition {
            params["authorizationPartition"] = partition.clone();
        }
        let mut left: Vec<Value> = self
            .sessions
            .alive
            .iter()
            .filter(|session| session.name == store.name)
            .map(|session| session.snapshot.clone())
            .filter(|snapshot| {
                partition.as_ref().is_none_or(|partition| snapshot["authorizationPartition"] == *partition)
            })
            .collect();
        loop {
            let call = Call::new("session_store_list_sessions", handle).with("params", params.clone());
            let outcome = call.invoke(&self.handles);
            let page = outcome.json();
            let rest = left.split_off(left.len().min(usize::from(size % 3 + 1)));
            let token = page["nextPageToken"].as_str().unwrap_or_default().to_owned();
            let wrong = page["sessions"] != json!(left) || token.is_empty() != rest.is_empty();
            let wrong = wrong.then(|| format!("{left:?} are there, and {} more", rest.len()));
            self.judge(&call, &outcome, &Expected::Judged(wrong));
            if token.is_empty() || rest.is_empty() {
                return;
            }
            params["pageToken"] = json!(token);
            left = rest;
        }
    }

    pub fn audit_sessions(&mut self) {
        for at in 0..self.sessions.alive.len() {
            let session = self.sessions.alive[at].clone();
            let handle = if session.name == "default" { "s" } else { "u" };
            let call = Call::new("session_store_find_by_session_id", handle).with("session_id", session.id());
            self.expect(&call, &Expected::Document(session.snapshot));
        }
        for store in 0..5 {
            self.list_sessions([0, store, 0, 0, 1, 0, 0, 0, 0, 0]);
            self.take_expired([0, store, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
    }
}
