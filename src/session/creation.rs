//! What a host says about a new session: an id of its own if it has a generator, the partition that the
//! session is bound to, and the context that it carries.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use crate::error::{Error, Reason, Result};
use crate::json::{DEFAULT_MAXIMUM_PAYLOAD_BYTES, Kind};
use crate::options::{MAXIMUM_NAME_BYTES, Object};

const SESSION_ID: &str = "sessionId";
const AUTHORIZATION_PARTITION: &str = "authorizationPartition";
const SESSION_CONTEXT: &str = "sessionContext";

/// A session that is asked for, with its id.
#[derive(Debug)]
pub(super) struct Creation<'a> {
    pub(super) session_id: Cow<'a, str>,
    pub(super) endpoint: &'a str,
    pub(super) partition: Option<Cow<'a, str>>,
    /// JSON text of an object.
    pub(super) context: &'a str,
    /// See [`SessionRow::instance`](crate::store::SessionRow::instance).
    pub(super) instance: i64,
}

impl<'a> Creation<'a> {
    /// Reads `creation` and draws an id unless it has one.
    pub(super) fn parse(endpoint: &'a str, creation: Option<&'a str>) -> Result<Self> {
        const KNOWN: &[&str] = &[SESSION_ID, AUTHORIZATION_PARTITION, SESSION_CONTEXT];
        let object = Object::parse("creation", creation, KNOWN, DEFAULT_MAXIMUM_PAYLOAD_BYTES)?;
        let given_id = object.string(SESSION_ID)?;
        if let Some(id) = &given_id {
            check_session_id(id)?;
        }
        let partition = object.name(AUTHORIZATION_PARTITION)?;
        let context = object.get(SESSION_CONTEXT);
        if context.is_some_and(|context| context.kind() != Kind::Object) {
            return Err(Error::new(Reason::InvalidPayload, "a session context must be a JSON object")
                .with_key(SESSION_CONTEXT));
        }
        let (generated_id, instance) = draw()?;
        Ok(Self {
            session_id: given_id.unwrap_or_else(|| format!("{generated_id:032x}").into()),
            endpoint,
            partition,
            context: context.map_or("{}", |context| context.text()),
            instance,
        })
    }
}

/// MCP lets a session id consist of visible ASCII characters only.
fn check_session_id(id: &str) -> Result<()> {
    let refused = |message| Error::new(Reason::InvalidIdentifier, message).with_key(SESSION_ID);
    if id.len() > MAXIMUM_NAME_BYTES {
        return Err(
            refused("the session id has more bytes than the limit").with_limit(MAXIMUM_NAME_BYTES as u64)
        );
    }
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(refused("a session id must be one or more visible ASCII characters"));
    }
    Ok(())
}

/// 128 random bits for an id and 64 for an instance, in one call to the operating system.
fn draw() -> Result<(u128, i64)> {
    let (mut id, mut instance) = ([0; 16], [0; 8]);
    let mut random = [0; 24];
    getrandom::fill(&mut random).map_err(|_| {
        Error::new(Reason::SystemResource, "the operating system gave no random numbers for a session id")
    })?;
    id.copy_from_slice(&random[..16]);
    instance.copy_from_slice(&random[16..]);
    Ok((u128::from_ne_bytes(id), i64::from_ne_bytes(instance)))
}
