//! Reading what queued work is asked for with: the members of a creation, a claim, a renewal, a release, and the
//! options by which workers say under which lease they act.

#![forbid(unsafe_code)]

use std::sync::Arc;

use hashbrown::HashSet;

use super::arguments::{check_failure, payload, status_message, too_large};
use super::lease::{Authority, Hold, Message, NewWork, Release};
use crate::error::{Error, Reason, Result, invalid};
use crate::json::{DEFAULT_MAXIMUM_PAYLOAD_BYTES, Kind, Value};
use crate::options::{MAXIMUM_DURATION_MS, MAXIMUM_NAME_BYTES, Object, check_identifier, has_nul};
use crate::store::{Attempts, WorkOrder};
use crate::text::to_shared;

/// Most bytes of the name of a queue or a worker.
const MAXIMUM_WORK_NAME_BYTES: usize = 256;
pub(crate) const MAXIMUM_LEASE_MS: u64 = 86_400_000;
pub(crate) const MAXIMUM_ATTEMPTS: u64 = 1000;
/// Most queues that one claim names.
pub(crate) const MAXIMUM_QUEUES: usize = 64;
/// Most leases that one call renews.
pub(crate) const MAXIMUM_RENEWALS: usize = 1000;

const DEFAULT_ATTEMPTS: u64 = 1;
const DEFAULT_BACKOFF_MS: u64 = 1000;
const DEFAULT_MAXIMUM_BACKOFF_MS: u64 = 60_000;

/// Room for the members of an options object that are no payloads, and for its punctuation and white space.
const ENVELOPE_BYTES: u64 = 64 * 1024;
/// The same for each task in a renewal: its id may be written with escapes.
const RENEWAL_BYTES: u64 = 6 * MAXIMUM_NAME_BYTES as u64 + 256;

/// Most bytes of an object with up to `payloads` payloads of this many bytes.
pub(crate) fn document_bytes(maximum_bytes: u64, payloads: u64) -> u64 {
    maximum_bytes.saturating_mul(payloads).saturating_add(ENVELOPE_BYTES)
}

/// The same for options, which never have less room than those without a payload.
pub(crate) fn options_bytes(maximum_bytes: u64, payloads: u64) -> u64 {
    document_bytes(maximum_bytes, payloads).max(DEFAULT_MAXIMUM_PAYLOAD_BYTES)
}

fn missing(key: &str) -> Error {
    Error::new(Reason::MissingKey, "the object lacks a member").with_key(key)
}

/// The name of a queue or a worker.
fn work_name(value: Value<'_>, key: &str) -> Result<Arc<str>> {
    let name = value.as_str().ok_or_else(|| invalid(key, "the member must be a string"))?;
    if name.is_empty() {
        return Err(invalid(key, "the name is empty").with_limit(1));
    }
    if name.len() > MAXIMUM_WORK_NAME_BYTES {
        return Err(
            invalid(key, "the name has more bytes than the limit").with_limit(MAXIMUM_WORK_NAME_BYTES as u64)
        );
    }
    if has_nul(&name) {
        return Err(Error::new(Reason::EmbeddedNul, "the name holds U+0000").with_key(key));
    }
    Ok(name.into())
}

fn duration(object: &Object<'_>, key: &str, default: u64) -> Result<i64> {
    let ms = object.whole_number(key, 0..=MAXIMUM_DURATION_MS)?.unwrap_or(default);
    i64::try_from(ms).map_err(|_| invalid(key, "the duration is too long"))
}

fn lease_ms(object: &Object<'_>) -> Result<i64> {
    let ms = object.whole_number("leaseMs", 1..=MAXIMUM_LEASE_MS)?.ok_or_else(|| missing("leaseMs"))?;
    i64::try_from(ms).map_err(|_| invalid("leaseMs", "the duration is too long"))
}

/// `{"worker": …, "leaseMs": …}`.
fn hold(object: &Object<'_>) -> Result<Hold> {
    let worker = object.get("worker").ok_or_else(|| missing("worker"))?;
    Ok(Hold { worker: work_name(worker, "worker")?, lease_ms: lease_ms(object)? })
}

fn attempts(value: Option<Value<'_>>) -> Result<Attempts> {
    const KNOWN: &[&str] = &["maximum", "backoffMs", "maximumBackoffMs"];
    let value = value.unwrap_or(Value::trusted("{}"));
    let object = Object::from_value(value, KNOWN).map_err(|error| error.about("attempts"))?;
    let maximum = object.whole_number("maximum", 1..=MAXIMUM_ATTEMPTS)?.unwrap_or(DEFAULT_ATTEMPTS);
    Ok(Attempts {
        maximum: u32::try_from(maximum).unwrap_or(u32::MAX),
        backoff_ms: duration(&object, "backoffMs", DEFAULT_BACKOFF_MS)?,
        maximum_backoff_ms: duration(&object, "maximumBackoffMs", DEFAULT_MAXIMUM_BACKOFF_MS)?,
    })
}

/// The members of a creation that are about work; `None` when there is none. They are known behind all others.
pub(crate) fn new_work(creation: &Object<'_>, maximum_bytes: u64) -> Result<Option<NewWork>> {
    if !creation.has_from("queue") {
        return Ok(None);
    }
    let given = |key| creation.get(key);
    let queue = given("queue").map(|queue| work_name(queue, "queue")).transpose()?;
    let hold = given("lease").map(|lease| {
        let object =
            Object::from_value(lease, &["worker", "leaseMs"]).map_err(|error| error.about("lease"))?;
        hold(&object)
    });
    let hold = hold.transpose()?;
    let operation_id = creation.string("operationId")?;
    if let Some(id) = &operation_id {
        check_identifier(id, "operationId")?;
    }
    if queue.is_none()
        && let Some(key) = ["delayMs", "attempts"].into_iter().find(|key| given(key).is_some())
    {
        return Err(invalid(key, "the member needs a queue"));
    }
    if hold.is_some() && given("delayMs").is_some() {
        return Err(invalid("delayMs", "a task that is created with a lease has no delay"));
    }
    let is_fenced = queue.is_some() || hold.is_some();
    if !is_fenced && operation_id.is_none() {
        return match given("work") {
            None => Ok(None),
            Some(_) => Err(invalid("work", "the member needs a queue, a lease or an operation id")),
        };
    }
    let work = given("work").map(|work| payload(work, "work", maximum_bytes)).transpose()?;
    Ok(Some(NewWork {
        order: Arc::new(WorkOrder {
            queue,
            work: work.map(to_shared).transpose()?,
            operation_id: operation_id.map(Arc::from),
            attempts: attempts(given("attempts"))?,
            is_fenced,
        }),
        delay_ms: duration(creation, "delayMs", 0)?,
        hold,
    }))
}

/// Who wants a task, and out of which queues.
#[derive(Debug)]
pub(crate) struct ClaimRequest {
    pub(crate) hold: Hold,
    pub(crate) queues: Vec<Arc<str>>,
}

impl ClaimRequest {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        const QUEUES: &str = "queues";
        let object = Object::parse(
            "claim",
            Some(text),
            &["worker", QUEUES, "leaseMs"],
            DEFAULT_MAXIMUM_PAYLOAD_BYTES,
        )?;
        let hold = hold(&object)?;
        let queues = object.get(QUEUES).ok_or_else(|| missing(QUEUES))?;
        if queues.kind() != Kind::Array {
            return Err(invalid(QUEUES, "the member must be an array of strings"));
        }
        let queues: Vec<Arc<str>> =
            queues.elements().map(|queue| work_name(queue, QUEUES)).collect::<Result<_>>()?;
        if queues.is_empty() {
            return Err(invalid(QUEUES, "there is no queue").with_limit(1));
        }
        if queues.len() > MAXIMUM_QUEUES {
            return Err(
                invalid(QUEUES, "there are more queues than the limit").with_limit(MAXIMUM_QUEUES as u64)
            );
        }
        Ok(Self { hold, queues })
    }
}

/// One lease that is to be renewed.
#[derive(Debug)]
pub(crate) struct Renewal<'a> {
    pub(crate) task_id: std::borrow::Cow<'a, str>,
    /// The id as it was given: JSON text.
    pub(crate) raw_id: &'a str,
    pub(crate) token: u64,
    pub(crate) checkpoint: Option<Arc<str>>,
}

/// Leases that are to be renewed together.
#[derive(Debug)]
pub(crate) struct Renewals<'a> {
    pub(crate) lease_ms: i64,
    pub(crate) tasks: Vec<Renewal<'a>>,
}

impl<'a> Renewals<'a> {
    pub(crate) fn parse(text: &'a str, maximum_bytes: u64) -> Result<Self> {
        const TASKS: &str = "tasks";
        let ids = MAXIMUM_RENEWALS as u64 * RENEWAL_BYTES;
        let most = options_bytes(maximum_bytes.saturating_add(ids), 1);
        let object = Object::parse("renewals", Some(text), &["leaseMs", TASKS], most)?;
        let lease_ms = lease_ms(&object)?;
        let tasks = object.get(TASKS).ok_or_else(|| missing(TASKS))?;
        if tasks.kind() != Kind::Array {
            return Err(invalid(TASKS, "the member must be an array of objects"));
        }
        let tasks: Vec<Renewal<'a>> = tasks.elements().map(Renewal::read).collect::<Result<_>>()?;
        if tasks.is_empty() {
            return Err(invalid(TASKS, "there is no task").with_limit(1));
        }
        if tasks.len() > MAXIMUM_RENEWALS {
            return Err(
                invalid(TASKS, "there are more tasks than the limit").with_limit(MAXIMUM_RENEWALS as u64)
            );
        }
        let mut seen: HashSet<&str> = HashSet::with_capacity(tasks.len());
        let is_each_once = tasks.iter().all(|task| seen.insert(&task.task_id));
        drop(seen);
        if !is_each_once {
            return Err(invalid(TASKS, "a task is there twice"));
        }
        let bytes: u64 = tasks.iter().flat_map(|task| &task.checkpoint).map(|text| text.len() as u64).sum();
        if bytes > maximum_bytes {
            return Err(too_large(maximum_bytes).with_key("checkpoint"));
        }
        Ok(Self { lease_ms, tasks })
    }
}

impl<'a> Renewal<'a> {
    fn read(value: Value<'a>) -> Result<Self> {
        const TASK_ID: &str = "taskId";
        let object = Object::from_value(value, &[TASK_ID, "lease", "checkpoint"])
            .map_err(|error| error.about("tasks"))?;
        let task_id = object.string(TASK_ID)?.ok_or_else(|| missing(TASK_ID))?;
        check_identifier(&task_id, TASK_ID)?;
        Ok(Self {
            task_id,
            raw_id: object.get(TASK_ID).map_or("null", Value::text),
            token: token(&object)?.ok_or_else(|| missing("lease"))?,
            checkpoint: object
                .get("checkpoint")
                .map(|checkpoint| to_shared(checkpoint.text()))
                .transpose()?,
        })
    }
}

fn token(object: &Object<'_>) -> Result<Option<u64>> {
    object.whole_number("lease", 1..=i64::MAX.cast_unsigned())
}

/// Under what a worker acts, out of its options. `force` is known only where it is allowed.
pub(crate) fn authority(options: &Object<'_>) -> Result<Authority> {
    let is_forced = options.boolean("force")?.unwrap_or(false);
    match (token(options)?, is_forced) {
        (Some(_), true) => Err(invalid("force", "the call is made under a lease or by force, not both")),
        (Some(token), false) => Ok(Authority::Lease(token)),
        (None, true) => Ok(Authority::Forced),
        (None, false) => Ok(Authority::Unstated),
    }
}

/// What a worker notes beside its call.
pub(crate) fn checkpoint(options: &Object<'_>, maximum_bytes: u64) -> Result<Option<Arc<str>>> {
    const CHECKPOINT: &str = "checkpoint";
    let checkpoint = options.get(CHECKPOINT).map(|value| payload(value, CHECKPOINT, maximum_bytes));
    checkpoint.transpose()?.map(to_shared).transpose()
}

/// Reads the options of a release.
pub(crate) fn release(text: Option<&str>, maximum_bytes: u64) -> Result<Release<'_>> {
    const STATUS_MESSAGE: &str = "statusMessage";
    const KNOWN: &[&str] = &["lease", "delayMs", "countsAsAttempt", STATUS_MESSAGE, "checkpoint", "failure"];
    let object = Object::parse("options", text, KNOWN, options_bytes(maximum_bytes, 3))?;
    let message = match object.get_or_null(STATUS_MESSAGE) {
        None => Message::Kept,
        Some(message) if message.is_null() => Message::Cleared,
        Some(_) => {
            let message = object.string(STATUS_MESSAGE)?;
            status_message(message.as_deref(), maximum_bytes)
                .map_err(|error| error.with_key(STATUS_MESSAGE))?
                .map_or(Message::Cleared, Message::Set)
        }
    };
    let failure = object.get("failure").map(|failure| {
        payload(failure, "failure", maximum_bytes)?;
        check_failure(failure)
    });
    Ok(Release {
        authority: authority(&object)?,
        delay_ms: duration(&object, "delayMs", 0)?,
        counts_as_attempt: object.boolean("countsAsAttempt")?.unwrap_or(true),
        message,
        checkpoint: checkpoint(&object, maximum_bytes)?,
        failure: failure.transpose()?,
    })
}
