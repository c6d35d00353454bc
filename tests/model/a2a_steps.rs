//! What the sequences do with A2A tasks.

use serde_json::{Map, Value, json};

use super::a2a::{CONTEXTS, Provider, STATES, TIMESTAMPS, Task, Walk, is_final};
use super::call::{Call, Expected, TASK_NOT_FOUND, invalid, refused};
use super::pool::PARTITIONS;
use super::world::{A2A, Numbers, World};

const OWNERS: usize = 3;

impl World {
    fn provider(&self, number: u8) -> (&'static str, Provider) {
        self.providers[[0, 1, 0, 1, 2][usize::from(number) % 5]]
    }

    pub fn a2a_step(&mut self, numbers: Numbers) {
        self.a2a.expire(self.time);
        match numbers[0] % 14 {
            0..=5 => self.save(numbers),
            6 | 7 => self.get(numbers),
            8 => self.delete(numbers),
            9..=11 => self.list_a2a(numbers),
            _ => self.look(numbers),
        }
    }

    fn save(&mut self, [_, provider, owner, id, state, timestamp, context, body, options, ..]: Numbers) {
        let (handle, provider) = self.provider(provider);
        let id = format!("t{}", id % 7);
        let stored = self.a2a.find(provider.name, &id).map(|at| self.a2a.all[at].clone());
        // Most often the owner saves.
        let owner = match &stored {
            Some(stored) if owner > 60 => stored.owner,
            _ => PARTITIONS[usize::from(owner) % OWNERS],
        };
        let (written, state) = STATES[usize::from(state) % STATES.len()];
        let (timestamp, ms) = TIMESTAMPS[usize::from(timestamp) % TIMESTAMPS.len()];
        let context = CONTEXTS[usize::from(context) % CONTEXTS.len()];
        let mut task = json!({"n": body, "id": id, "status": {"state": written}});
        if let Some(timestamp) = timestamp {
            task["status"]["timestamp"] = timestamp.into();
        }
        if let Some(context) = context {
            task["contextId"] = context.into();
        }
        if body & 1 == 0 {
            task["history"] = (0..body / 2 % 4).map(|number| json!({"messageId": number})).collect();
        }
        if body & 8 == 0 {
            task["artifacts"] = json!([{"artifactId": "a"}]);
        }
        // White space, so that a text is told from another one with the same meaning.
        let text = format!(" {task}\n");
        let revision = stored.as_ref().map_or(0, |task| task.revision);
        let is_replicated = options & 0x80 == 0;
        let mut save_options = json!({});
        if is_replicated {
            save_options["isReplicated"] = true.into();
        }
        let expected_revision =
            [None, None, None, Some(revision), Some(revision), Some(revision + 1), Some(0)]
                [usize::from(options) % 7];
        if let Some(expected) = expected_revision {
            save_options["expectedRevision"] = expected.into();
        }
        let call = Call::new("state_provider_save_task", handle)
            .with("owner", json!(owner))
            .with("task", text.clone())
            .with("save_options", save_options);
        let was_final = stored.as_ref().is_some_and(|task| is_final(task.state));
        let refusal = if stored.as_ref().is_some_and(|task| task.owner != owner) {
            Some(TASK_NOT_FOUND)
        } else if expected_revision.is_some_and(|expected| expected != revision) {
            Some(Expected::Refused("conflict", "revision_mismatch"))
        } else if was_final && !is_final(state) {
            Some(refused("task_final"))
        } else if stored.is_none()
            && provider.maximum > 0
            && self.a2a.count(provider.name) >= provider.maximum
        {
            Some(Expected::Refused("capacity_exhausted", "capacity_exhausted"))
        } else {
            None
        };
        if let Some(refusal) = refusal {
            self.expect(&call, &refusal);
            return;
        }
        self.expect(&call, &Expected::Revision(revision + 1));
        let finalized = stored.and_then(|task| task.finalized).or(is_final(state).then_some(self.time.tick));
        self.a2a.all.retain(|task| task.name != provider.name || task.id != id);
        self.a2a.all.push(Task {
            name: provider.name,
            id: id.clone(),
            owner,
            text: text.trim().to_owned(),
            state,
            timestamp: ms,
            context,
            revision: revision + 1,
            finalized,
            retention: provider.retention,
        });
        if is_final(state) && !was_final && !is_replicated {
            self.announce((A2A, provider.name), "finalized", &id);
        }
    }

    fn owned(&self, provider: &Provider, owner: Option<&str>, id: &str) -> Option<&Task> {
        let at = self.a2a.find(provider.name, id)?;
        Some(&self.a2a.all[at]).filter(|task| task.owner == owner)
    }

    /// The id of a task that is there, or of any.
    fn known_id(&self, provider: &Provider, number: u8) -> String {
        let near: Vec<_> = self.a2a.all.iter().filter(|task| task.name == provider.name).collect();
        match near.get(usize::from(number) % near.len().max(1)) {
            Some(task) if number > 40 => task.id.clone(),
            _ => format!("t{}", number % 8),
        }
    }

    /// An id, and its owner or somebody else.
    fn task_and_owner(&self, provider: &Provider, owner: u8, id: u8) -> (String, Option<&'static str>) {
        let id = self.known_id(provider, id);
        let known = self.a2a.find(provider.name, &id).map(|at| self.a2a.all[at].owner);
        let owner = known.filter(|_| owner > 50).unwrap_or(PARTITIONS[usize::from(owner) % OWNERS]);
        (id, owner)
    }

    fn get(&mut self, [_, provider, owner, id, history, ..]: Numbers) {
        let (handle, provider) = self.provider(provider);
        let (id, owner) = self.task_and_owner(&provider, owner, id);
        let history = [None, None, Some(0), Some(1), Some(2), Some(9)][usize::from(history) % 6];
        let call = Call::new("state_provider_get_task", handle)
            .with("owner", json!(owner))
            .with("task_id", id.clone())
            .with("params", history.map_or(Value::Null, |history| json!({"historyLength": history})));
        let found = self.owned(&provider, owner, &id);
        let expected = match (found, history) {
            (None, _) => Expected::At(None, 0),
            (Some(task), None) => Expected::Bytes(task.text.clone()),
            (Some(task), history) => Expected::At(Some(task.cut(history, true)), task.revision),
        };
        self.expect(&call, &expected);
    }

    fn delete(&mut self, [_, provider, owner, id, ..]: Numbers) {
        let (handle, provider) = self.provider(provider);
        let (id, owner) = self.task_and_owner(&provider, owner, id);
        let call = Call::new("state_provider_delete_task", handle)
            .with("owner", json!(owner))
            .with("task_id", id.clone());
        self.expect(&call, &Expected::Done);
        if self.owned(&provider, owner, &id).is_some() {
            self.a2a.all.retain(|task| task.name != provider.name || task.id != id);
        }
    }

    fn look(&mut self, [_, provider, id, question, ..]: Numbers) {
        let (handle, provider) = self.provider(provider);
        let id = self.known_id(&provider, id);
        let found = self.a2a.find(provider.name, &id);
        let liveness = found.map_or(0, |at| self.a2a.all[at].liveness(provider.grace, self.time));
        let (function, answer) = match question % 3 {
            0 => ("state_provider_is_task_active", i32::from(liveness == 1 || liveness == 2)),
            1 => ("state_provider_is_task_finalized", i32::from(liveness >= 2)),
            _ => ("state_provider_task_liveness", liveness),
        };
        self.expect(&Call::new(function, handle).with("task_id", id), &Expected::Flag(answer));
    }

    fn list_a2a(&mut self, [_, provider, owner, go_on, size, filter, value, view, ..]: Numbers) {
        let (mut handle, mut provider) = self.provider(provider);
        let mut owner = PARTITIONS[usize::from(owner) % OWNERS];
        let mut filters = Map::new();
        if filter % 4 == 0 {
            filters.insert("contextId".to_owned(), json!(["c", "d"][usize::from(value) % 2]));
        }
        if filter / 4 % 4 == 0 {
            filters.insert("status".to_owned(), json!(STATES[usize::from(value / 2) % (STATES.len() - 1)].0));
        }
        if filter / 16 % 4 == 0 {
            filters.insert(
                "statusTimestampAfter".to_owned(),
                json!(TIMESTAMPS[1 + usize::from(value / 3) % 5].0),
            );
        }
        let walk = self.a2a.walk.clone().filter(|_| go_on % 3 > 0);
        let mut params = filters.clone();
        let mut is_strange = false;
        if let Some(walk) = &walk {
            if go_on % 3 == 1 {
                (handle, provider) =
                    *self.providers.iter().find(|(name, _)| *name == walk.provider).expect("open");
                owner = walk.owner;
                filters.clone_from(&walk.filters);
                params.clone_from(&filters);
            } else {
                let name =
                    self.providers.iter().find(|(name, _)| *name == walk.provider).expect("open").1.name;
                // Two spellings of a state, or of a time, are one filter.
                if filters != walk.filters && filters.keys().eq(walk.filters.keys()) || name != provider.name
                {
                    return;
                }
                is_strange = filters != walk.filters || owner != walk.owner;
            }
            params.insert("pageToken".to_owned(), walk.token.clone().into());
        }
        let size = usize::from(size) % 3 + 1;
        params.insert("pageSize".to_owned(), size.into());
        let history = [None, Some(0), Some(1), Some(9)][usize::from(view) % 4];
        if let Some(history) = history {
            params.insert("historyLength".to_owned(), history.into());
        }
        let artifacts = view & 4 == 0;
        if artifacts {
            params.insert("includeArtifacts".to_owned(), true.into());
        }
        let with_revisions = view & 8 == 0;
        if with_revisions {
            params.insert("includeRevisions".to_owned(), true.into());
        }
        let call = Call::new("state_provider_list_tasks", handle)
            .with("owner", json!(owner))
            .with("params", Value::Object(params));
        if is_strange {
            self.expect(&call, &invalid("invalid_page_token"));
            return;
        }
        let listed = self.a2a.listed(provider.name, owner, &filters);
        let total = walk.as_ref().map_or(listed.len(), |walk| walk.total);
        let left: Vec<_> = match &walk {
            Some(walk) => listed.into_iter().filter(|task| task.place() > walk.after).collect(),
            None => listed,
        };
        let shown = &left[..left.len().min(size)];
        let tasks: Vec<_> = shown.iter().map(|task| task.cut(history.or(Some(0)), artifacts)).collect();
        let mut page =
            json!({"tasks": tasks, "totalSize": total, "pageSize": shown.len(), "nextPageToken": ""});
        if with_revisions {
            page["revisions"] = shown.iter().map(|task| task.revision).collect();
        }
        let goes_on = left.len() > size;
        let after = shown.last().map(|task| task.place());
        let outcome = call.invoke(&self.handles);
        let token = outcome.json()["nextPageToken"].as_str().unwrap_or_default().to_owned();
        if goes_on {
            page["nextPageToken"] = if token.is_empty() { json!("a token") } else { json!(token) };
        }
        self.judge(&call, &outcome, &Expected::Document(page));
        self.a2a.walk = after.filter(|_| goes_on).map(|after| Walk {
            provider: handle.to_owned(),
            owner,
            filters,
            after,
            total,
            token,
        });
    }

    pub fn audit_a2a(&mut self) {
        self.a2a.expire(self.time);
        for at in 0..self.a2a.all.len() {
            let task = self.a2a.all[at].clone();
            let handle = if task.name == "default" { "p" } else { "r" };
            let call = Call::new("state_provider_get_task", handle)
                .with("owner", json!(task.owner))
                .with("task_id", task.id);
            self.expect(&call, &Expected::Bytes(task.text));
        }
    }
}
