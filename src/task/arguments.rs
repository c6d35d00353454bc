//! Reading what a worker hands in: a creation, a result, a failure, a status message. Everything is checked
//! before the store is asked, so that a malformed creation takes no capacity.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::capabilities::ClientCapabilities;
use super::input::InputKind;
use super::lease::NewWork;
use super::work_arguments::{document_bytes, new_work};
use crate::error::{Error, Reason, Result, invalid};
use crate::json::{self, DEFAULT_MAXIMUM_PAYLOAD_BYTES, Kind, Value};
use crate::options::{MAXIMUM_DURATION_MS, Object, check_name};
use crate::store::{Claim, TaskCreation, TaskRow};
use crate::text::to_shared;

const TIME_TO_LIVE: &str = "taskTimeToLiveMs";

/// Who asks on the protocol side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller<'a> {
    endpoint: &'a str,
    partition: Option<&'a str>,
}

impl<'a> Caller<'a> {
    /// A caller at `endpoint`; no partition is the anonymous one.
    pub(crate) fn new(endpoint: &'a str, partition: Option<&'a str>) -> Result<Self> {
        check_name(endpoint, "endpoint")?;
        partition.map_or(Ok(()), |partition| check_name(partition, "partition"))?;
        Ok(Self { endpoint, partition })
    }

    /// What a task must say to be this caller's.
    pub(crate) fn claim(self) -> Claim<'a> {
        Claim { endpoint: self.endpoint, partition: self.partition }
    }

    /// Whether the task is this caller's: both must match exactly.
    pub(crate) fn owns(self, row: &TaskRow) -> bool {
        row.texts.belongs_to(self.endpoint, self.partition)
    }
}

/// A task that is to be created.
#[derive(Clone, Debug)]
pub(crate) struct NewTask<'a> {
    /// What it keeps as it was given.
    pub(crate) given: TaskCreation<'a>,
    /// In the place of the manager's.
    pub(crate) time_to_live_ms: Option<i64>,
    /// Its queue, lease and operation.
    pub(crate) work: Option<NewWork>,
}

/// Reads the `creation` of a task. Each payload in it may have `maximum_bytes`.
pub(crate) fn parse_creation(text: &str, maximum_bytes: u64) -> Result<NewTask<'_>> {
    const KNOWN: &[&str] = &[
        "endpoint",
        "authorizationPartition",
        "origin",
        "metadata",
        "declaredInputRequests",
        TIME_TO_LIVE,
        "queue",
        "delayMs",
        "attempts",
        "work",
        "lease",
        "operationId",
    ];
    let document_bytes = document_bytes(maximum_bytes, 3);
    if text.len() as u64 > document_bytes {
        return Err(too_large(maximum_bytes).with_key("creation"));
    }
    let object = Object::parse("creation", Some(text), KNOWN, document_bytes)?;
    let missing = |key| Error::new(Reason::MissingKey, "the creation lacks a member").with_key(key);
    let endpoint = object.name("endpoint")?.ok_or_else(|| missing("endpoint"))?;
    let partition = object.name("authorizationPartition")?;
    let origin = match object.get_or_null("origin") {
        None => return Err(missing("origin")),
        Some(origin) if origin.is_null() => return Err(invalid("origin", "the origin must not be null")),
        Some(origin) => payload(origin, "origin", maximum_bytes)?,
    };
    let metadata = object.get("metadata").map(|metadata| match metadata.kind() {
        Kind::Object => payload(metadata, "metadata", maximum_bytes),
        _ => Err(invalid("metadata", "the metadata must be an object")),
    });
    let declared = object.get("declaredInputRequests").map(check_declared_input_requests);
    let time_to_live_ms = object.whole_number(TIME_TO_LIVE, 1..=MAXIMUM_DURATION_MS)?;
    Ok(NewTask {
        given: TaskCreation {
            endpoint,
            partition,
            origin,
            metadata: metadata.transpose()?,
            declared_input_requests: declared.transpose()?,
        },
        time_to_live_ms: time_to_live_ms.and_then(|ms| i64::try_from(ms).ok()),
        work: new_work(&object, maximum_bytes)?,
    })
}

pub(super) fn payload<'a>(value: Value<'a>, key: &str, maximum_bytes: u64) -> Result<&'a str> {
    if value.text().len() as u64 > maximum_bytes {
        return Err(too_large(maximum_bytes).with_key(key));
    }
    Ok(value.text())
}

pub(super) fn too_large(maximum_bytes: u64) -> Error {
    Error::new(Reason::PayloadTooLarge, "the payload has more bytes than the limit").with_limit(maximum_bytes)
}

fn check_declared_input_requests(declared: Value<'_>) -> Result<&str> {
    const KEY: &str = "declaredInputRequests";
    if declared.kind() != Kind::Array {
        return Err(invalid(KEY, "the declared input requests must be an array"));
    }
    let mut seen: Vec<InputKind> = Vec::new();
    for name in declared.elements() {
        let kind = name.as_str().and_then(|name| InputKind::from_name(&name));
        let Some(kind) = kind.filter(|kind| !seen.contains(kind)) else {
            return Err(invalid(KEY, "the declared input requests must be distinct names of known kinds"));
        };
        seen.push(kind);
    }
    Ok(declared.text())
}

/// Reads a result: an object whose `resultType`, if there, is `complete`.
pub(crate) fn parse_result(text: &str, maximum_bytes: u64) -> Result<&str> {
    let mut is_complete = true;
    let result = json::parse_members(text, maximum_bytes, &mut |member| {
        if member.key() == "resultType" {
            is_complete = member.value.as_str().is_some_and(|name| name == "complete");
        }
    })
    .map_err(|error| error.about("result"))?;
    if result.kind() != Kind::Object || !is_complete {
        return Err(Error::new(
            Reason::InvalidPayload,
            "the result must be an object whose resultType, if there, is complete",
        )
        .with_key("result"));
    }
    Ok(result.text())
}

/// Reads a failure: a JSON-RPC error object.
pub(crate) fn parse_failure(text: &str, maximum_bytes: u64) -> Result<&str> {
    check_failure(json::parse(text, maximum_bytes).map_err(|error| error.about("failure"))?)
}

/// The text of `failure`, if it is a JSON-RPC error object.
pub(super) fn check_failure(failure: Value<'_>) -> Result<&str> {
    let has_code = failure.get("code").is_some_and(is_integer);
    let has_message = failure.get("message").is_some_and(|message| message.kind() == Kind::String);
    if failure.kind() != Kind::Object || !has_code || !has_message {
        return Err(Error::new(
            Reason::InvalidPayload,
            "the failure must be a JSON-RPC error object: an integer code and a string message",
        )
        .with_key("failure"));
    }
    Ok(failure.text())
}

/// Reads a status message: any text.
pub(crate) fn status_message(text: Option<&str>, maximum_bytes: u64) -> Result<Option<Arc<str>>> {
    let Some(text) = text else { return Ok(None) };
    if text.len() as u64 > maximum_bytes {
        return Err(too_large(maximum_bytes).with_key("status_message"));
    }
    if text.contains('\0') {
        return Err(
            Error::new(Reason::EmbeddedNul, "the status message holds U+0000").with_key("status_message")
        );
    }
    to_shared(text).map(Some)
}

/// Whether `value` is a number written without fraction and exponent.
pub(crate) fn is_integer(value: Value<'_>) -> bool {
    value.kind() == Kind::Number && !value.text().contains(['.', 'e', 'E'])
}

/// Whether `value` may be the id of a JSON-RPC request or of a subscription.
pub(crate) fn is_request_id(value: Value<'_>) -> bool {
    value.kind() == Kind::String || is_integer(value)
}

/// The options of a rendering.
pub(crate) struct RenderOptions<'a> {
    /// What the client can do, if that is to be checked.
    pub(crate) capabilities: Option<ClientCapabilities<'a>>,
    /// The id of the subscription: JSON text.
    pub(crate) subscription_id: Option<&'a str>,
}

impl<'a> RenderOptions<'a> {
    pub(crate) fn parse(text: Option<&'a str>) -> Result<Self> {
        const CAPABILITIES: &str = "clientCapabilities";
        const SUBSCRIPTION_ID: &str = "subscriptionId";
        let object =
            Object::parse("options", text, &[CAPABILITIES, SUBSCRIPTION_ID], DEFAULT_MAXIMUM_PAYLOAD_BYTES)?;
        let capabilities = object.get(CAPABILITIES).map(|value| {
            ClientCapabilities::of(value)
                .ok_or_else(|| invalid(CAPABILITIES, "the client capabilities must be an object"))
        });
        let subscription_id = object.get(SUBSCRIPTION_ID);
        if subscription_id.is_some_and(|id| !is_request_id(id)) {
            return Err(invalid(SUBSCRIPTION_ID, "the subscription id must be a string or an integer"));
        }
        Ok(Self {
            capabilities: capabilities.transpose()?,
            subscription_id: subscription_id.map(Value::text),
        })
    }
}

#[cfg(test)]
mod tests;
