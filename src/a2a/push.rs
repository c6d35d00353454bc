//! The push notification configs of a task: pure functions over the text of an array of
//! `{"id": …, "config": …}`, in which each id stands once, oldest first. A config is the host's own JSON object and
//! is kept byte for byte.
//!
//! A server often registers a config with the message that is about to make the task. Such a config waits in the
//! provider until the task is first saved.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::sync::Arc;

use super::list::any_owner;
use crate::error::{Error, Reason, Result};
use crate::json::{self, ArrayWriter, DEFAULT_MAXIMUM_PAYLOAD_BYTES, Kind, ObjectWriter, Value};
use crate::options::Object;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::text::{Text, to_shared};

/// Most configs of one task.
pub(crate) const MAXIMUM_CONFIGS: usize = 100;

/// Most tasks that are not saved yet and have configs; beyond that the oldest are forgotten.
const MAXIMUM_WAITING: usize = 1024;

const NONE: &str = "[]";

/// Checks a config on its way in.
pub(crate) fn parse_config(config: &str, maximum_bytes: u64) -> Result<&str> {
    let value = json::parse(config, maximum_bytes).map_err(|error| error.about("config"))?;
    if value.kind() != Kind::Object {
        return Err(Error::new(Reason::InvalidPayload, "a push notification config must be a JSON object")
            .with_key("config"));
    }
    Ok(value.text())
}

/// Reads the `params` of `list_push_configs`: whether the task may be anyone's.
pub(crate) fn parse_list_params(text: Option<&str>, owner: Option<&str>) -> Result<bool> {
    let given = Object::parse("params", text, &["anyOwner"], DEFAULT_MAXIMUM_PAYLOAD_BYTES)?;
    any_owner(&given, owner)
}

/// The configs in `configs`: decoded id and the text of the whole element.
fn elements(configs: Option<&str>) -> impl Iterator<Item = (String, &str)> {
    Value::trusted(configs.unwrap_or(NONE)).elements().map(|element| {
        let id = element.get("id").and_then(Value::as_str).unwrap_or_default().into_owned();
        (id, element.text())
    })
}

fn array(elements: &[&str]) -> Result<Arc<str>> {
    let mut text = Text::with_capacity(2 + elements.iter().map(|element| element.len() + 1).sum::<usize>());
    ArrayWriter::new(&mut text).json(elements);
    to_shared(text.check()?.as_str())
}

/// `configs` with `config` under `id`, in the place of the one that had the id, or behind the others.
pub(crate) fn set(configs: Option<&str>, id: &str, config: &str) -> Result<Arc<str>> {
    let mut element = Text::with_capacity(32 + id.len() + config.len());
    ObjectWriter::new(&mut element).string("id", id).json("config", config);
    let element = element.check()?;
    let known: Vec<(String, &str)> = elements(configs).collect();
    let mut all: Vec<&str> = known.iter().map(|(_, text)| *text).collect();
    if let Some(at) = known.iter().position(|(known, _)| known == id) {
        all[at] = element.as_str();
    } else if all.len() < MAXIMUM_CONFIGS {
        all.push(element.as_str());
    } else {
        return Err(Error::new(
            Reason::CapacityExhausted,
            "the task has as many push notification configs as it may have",
        )
        .with_limit(MAXIMUM_CONFIGS as u64));
    }
    array(&all)
}

/// `configs` with all of `others`, each as [`set`] has it.
pub(crate) fn merge(configs: Option<&str>, others: &str) -> Result<Arc<str>> {
    let mut merged = to_shared(configs.unwrap_or(NONE))?;
    for element in Value::trusted(others).elements() {
        let (Some(id), Some(config)) = (element.get("id").and_then(Value::as_str), element.get("config"))
        else {
            continue;
        };
        merged = set(Some(&merged), &id, config.text())?;
    }
    Ok(merged)
}

/// `configs` without the one under `id`, or, without an id, without any. `None` when nothing is left.
pub(crate) fn delete(configs: Option<&str>, id: Option<&str>) -> Result<Option<Arc<str>>> {
    let Some(id) = id else { return Ok(None) };
    let left: Vec<&str> =
        elements(configs).filter(|(known, _)| known != id).map(|(_, element)| element).collect();
    (!left.is_empty()).then(|| array(&left)).transpose()
}

/// The answer to a listing.
pub(crate) fn render(configs: Option<&str>) -> Text {
    let configs = configs.unwrap_or(NONE);
    let mut text = Text::with_capacity(16 + configs.len());
    ObjectWriter::new(&mut text).json("configs", configs);
    text
}

/// The configs of tasks that are not saved yet.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Beside the queue, since each save asks whether there are some.
    count: AtomicUsize,
    queue: Mutex<VecDeque<WaitingConfigs>>,
}

#[derive(Debug)]
struct WaitingConfigs {
    task_id: Box<str>,
    owner: Option<Box<str>>,
    configs: Arc<str>,
}

impl WaitingConfigs {
    fn are_of(&self, task_id: &str, owner: Option<&str>) -> bool {
        *self.task_id == *task_id && self.owner.as_deref() == owner
    }
}

impl Waiting {
    /// The configs of `owner`'s task, if some wait for it.
    pub fn get(&self, task_id: &str, owner: Option<&str>) -> Option<Arc<str>> {
        if self.count.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let waiting = self.queue.lock();
        waiting.iter().find(|known| known.are_of(task_id, owner)).map(|known| Arc::clone(&known.configs))
    }

    /// The configs of anyone's task with this id.
    pub fn get_any(&self, task_id: &str) -> Option<Arc<str>> {
        let waiting = self.queue.lock();
        waiting.iter().find(|known| *known.task_id == *task_id).map(|known| Arc::clone(&known.configs))
    }

    /// Replaces the configs of `owner`'s task by what `change` makes of them.
    pub fn change(
        &self,
        task_id: &str,
        owner: Option<&str>,
        change: impl FnOnce(Option<&str>) -> Result<Option<Arc<str>>>,
    ) -> Result<()> {
        let mut waiting = self.queue.lock();
        let at = waiting.iter().position(|known| known.are_of(task_id, owner));
        let changed = change(at.map(|at| &*waiting[at].configs))?;
        match (at, changed) {
            (Some(at), Some(configs)) => waiting[at].configs = configs,
            (Some(at), None) => drop(waiting.remove(at)),
            (None, Some(configs)) => {
                if waiting.len() == MAXIMUM_WAITING {
                    waiting.pop_front();
                }
                waiting.push_back(WaitingConfigs {
                    task_id: task_id.into(),
                    owner: owner.map(Into::into),
                    configs,
                });
            }
            (None, None) => {}
        }
        self.count.store(waiting.len(), Ordering::SeqCst);
        Ok(())
    }

    /// Forgets the configs of `owner`'s task, if they are still `configs`.
    pub fn forget(&self, task_id: &str, owner: Option<&str>, configs: &Arc<str>) {
        let mut waiting = self.queue.lock();
        waiting.retain(|known| !known.are_of(task_id, owner) || !Arc::ptr_eq(&known.configs, configs));
        self.count.store(waiting.len(), Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_is_set_replaced_and_deleted() {
        let one = set(None, "a", r#"{"url": "1.0"}"#).expect("room");
        assert_eq!(&*one, r#"[{"id":"a","config":{"url": "1.0"}}]"#);
        let two = set(Some(&one), "b \"c\"", "{}").expect("room");
        let replaced = set(Some(&two), "a", r#"{"url":2}"#).expect("room");
        assert_eq!(&*replaced, r#"[{"id":"a","config":{"url":2}},{"id":"b \"c\"","config":{}}]"#);
        let left = delete(Some(&replaced), Some("a")).expect("room").expect("one is left");
        assert_eq!(&*left, r#"[{"id":"b \"c\"","config":{}}]"#);
        assert_eq!(delete(Some(&left), Some("a")).expect("room").as_deref(), Some(&*left));
        assert_eq!(delete(Some(&left), Some("b \"c\"")).expect("room"), None);
        assert_eq!(delete(Some(&replaced), None).expect("room"), None);
        assert_eq!(delete(None, Some("a")).expect("room"), None);
        assert_eq!(render(None).as_str(), r#"{"configs":[]}"#);
        assert_eq!(render(Some(&left)).as_str(), r#"{"configs":[{"id":"b \"c\"","config":{}}]}"#);
    }

    #[test]
    fn configs_that_waited_join_those_that_are_there() {
        let there = set(None, "a", "1").expect("room");
        let waited = set(Some(&set(None, "b", "2").expect("room")), "a", "3").expect("room");
        let merged = merge(Some(&there), &waited).expect("room");
        assert_eq!(&*merged, r#"[{"id":"a","config":3},{"id":"b","config":2}]"#);
        assert_eq!(merge(None, &waited).as_deref().expect("room"), &*waited);
    }

    #[test]
    fn a_task_has_a_bounded_number_of_configs() {
        let mut configs = None;
        for n in 0..MAXIMUM_CONFIGS {
            configs = Some(set(configs.as_deref(), &n.to_string(), "{}").expect("room"));
        }
        let full = set(configs.as_deref(), "one more", "{}").expect_err("no room");
        assert_eq!(full.reason(), Reason::CapacityExhausted);
        set(configs.as_deref(), "0", r#"{"a":1}"#).expect("a replacement needs no room");
    }

    #[test]
    fn configs_wait_for_their_owners_task() {
        let waiting = Waiting::default();
        let add = |task: &str, owner| {
            waiting.change(task, owner, |configs| set(configs, "c", "{}").map(Some)).expect("room");
        };
        add("t", Some("ann"));
        assert!(waiting.get("t", Some("ann")).is_some() && waiting.get_any("t").is_some());
        assert!(waiting.get("t", None).is_none() && waiting.get("u", Some("ann")).is_none());
        waiting.change("t", Some("ann"), |configs| delete(configs, None)).expect("a change");
        assert!(waiting.get_any("t").is_none());
        for n in 0..=MAXIMUM_WAITING {
            add(&n.to_string(), None);
        }
        assert!(waiting.get_any("0").is_none() && waiting.get_any("1").is_some());
        let before = waiting.get("1", None).expect("configs");
        waiting.change("1", None, |configs| set(configs, "d", "{}").map(Some)).expect("room");
        waiting.forget("1", None, &before);
        let after = waiting.get("1", None).expect("they changed since");
        waiting.forget("1", None, &after);
        assert!(waiting.get_any("1").is_none() && waiting.get_any("2").is_some());
    }
}
