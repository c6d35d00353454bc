//! The snapshot of a session: a JSON object of exactly thirteen members. A new session's is rendered here;
//! one that a host hands back is read in one walk over its text and checked member by member.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use super::creation::Creation;
use crate::error::{Error, Reason, Result, invalid};
use crate::json::{self, DEFAULT_MAXIMUM_PAYLOAD_BYTES, Kind, ObjectWriter, Value};
use crate::options::{check_identifier, check_name};
use crate::text::Text;
use crate::time::{format_timestamp, parse_timestamp};

/// The members, in the order in which they are rendered.
const MEMBERS: [&str; 13] = [
    "sessionId",
    "endpoint",
    "authorizationPartition",
    "createdAt",
    "lastActivityAt",
    "initialized",
    "initializedNotificationReceived",
    "protocolVersion",
    "clientCapabilities",
    "negotiatedCapabilities",
    "sessionContext",
    "terminatedAt",
    "version",
];

/// Largest version: hosts and databases count in signed 64-bit integers.
const MAXIMUM_VERSION: u64 = i64::MAX.cast_unsigned();

/// A snapshot that a host handed in, read and checked.
#[derive(Debug)]
pub(super) struct Snapshot<'a> {
    /// The whole object, without surrounding white space.
    pub(super) value: Value<'a>,
    pub(super) session_id: Cow<'a, str>,
    pub(super) endpoint: Cow<'a, str>,
    pub(super) partition: Option<Cow<'a, str>>,
    pub(super) created_ms: i64,
    pub(super) last_activity_ms: i64,
    pub(super) initialized: bool,
    pub(super) terminated: bool,
    pub(super) version: u64,
}

impl<'a> Snapshot<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self> {
        let value = json::parse(text, DEFAULT_MAXIMUM_PAYLOAD_BYTES)?;
        let [
            session_id,
            endpoint,
            partition,
            created_at,
            last_activity_at,
            initialized,
            notification_received,
            protocol_version,
            client_capabilities,
            negotiated_capabilities,
            session_context,
            terminated_at,
            version,
        ] = read_members(value)?;

        let session_id = session_id.string()?;
        check_identifier(&session_id, "sessionId")?;
        let endpoint = endpoint.string()?;
        check_name(&endpoint, "endpoint")?;
        let partition = if partition.value.is_null() { None } else { Some(partition.string()?) };
        if let Some(partition) = &partition {
            check_name(partition, "authorizationPartition")?;
        }
        notification_received.boolean()?;
        protocol_version.is_null_or(Kind::String, "the member must be a string or null")?;
        client_capabilities.is_null_or(Kind::Object, "the member must be an object or null")?;
        negotiated_capabilities.is_null_or(Kind::Object, "the member must be an object or null")?;
        if session_context.value.kind() != Kind::Object {
            return Err(session_context.refused("the member must be an object"));
        }
        let terminated = !terminated_at.value.is_null();
        if terminated {
            terminated_at.timestamp()?;
        }
        Ok(Self {
            value,
            session_id,
            endpoint,
            partition,
            created_ms: created_at.timestamp()?,
            last_activity_ms: last_activity_at.timestamp()?,
            initialized: initialized.boolean()?,
            terminated,
            version: version.version()?,
        })
    }
}

/// One member of a snapshot.
#[derive(Clone, Copy)]
struct Entry<'a> {
    key: &'static str,
    value: Value<'a>,
}

impl<'a> Entry<'a> {
    fn refused(self, message: &'static str) -> Error {
        invalid(self.key, message)
    }

    fn string(self) -> Result<Cow<'a, str>> {
        self.value.as_str().ok_or_else(|| self.refused("the member must be a string"))
    }

    fn boolean(self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.refused("the member must be true or false"))
    }

    fn is_null_or(self, kind: Kind, message: &'static str) -> Result<()> {
        if self.value.is_null() || self.value.kind() == kind { Ok(()) } else { Err(self.refused(message)) }
    }

    /// A timestamp exactly as this library writes it.
    fn timestamp(self) -> Result<i64> {
        let text =
            self.value.as_str().ok_or_else(|| self.refused("the member must be a timestamp in a string"))?;
        let ms = parse_timestamp(&text).map_err(|error| error.with_key(self.key))?;
        if format_timestamp(ms) != text.as_bytes() {
            return Err(Error::new(
                Reason::InvalidTimestamp,
                "a session's timestamps must have the form YYYY-MM-DDTHH:MM:SS.mmmZ",
            )
            .with_key(self.key));
        }
        Ok(ms)
    }

    fn version(self) -> Result<u64> {
        self.value.as_u64().filter(|&version| version <= MAXIMUM_VERSION).ok_or_else(|| {
            self.refused("the member must be a whole number within its limits").with_limit(MAXIMUM_VERSION)
        })
    }
}

/// Every member of `snapshot` in the order of [`MEMBERS`]; one that is unknown or absent is refused by name.
fn read_members(snapshot: Value<'_>) -> Result<[Entry<'_>; 13]> {
    if snapshot.kind() != Kind::Object {
        return Err(Error::new(Reason::InvalidValue, "a session snapshot must be a JSON object"));
    }
    let mut found = [None; 13];
    for (at, member) in snapshot.members().enumerate() {
        let key = member.key();
        // A snapshot mostly comes back in the order in which it was given out.
        let place = if MEMBERS.get(at).is_some_and(|&name| name == key) {
            Some(at)
        } else {
            MEMBERS.iter().position(|&name| name == key)
        };
        let Some(place) = place else {
            return Err(
                Error::new(Reason::UnknownKey, "the session snapshot has an unknown member").with_key(&key)
            );
        };
        found[place] = Some(member.value);
    }
    let mut entries = [Entry { key: "", value: snapshot }; 13];
    for ((entry, key), value) in entries.iter_mut().zip(MEMBERS).zip(found) {
        let absent = || Error::new(Reason::MissingKey, "the session snapshot lacks a member").with_key(key);
        *entry = Entry { key, value: value.ok_or_else(absent)? };
    }
    Ok(entries)
}

/// The snapshot of the session that `creation` makes at `created_ms`. Like any other, it must keep within the
/// limit of a payload: it could not be handed back for a replacement otherwise.
pub(super) fn render_new(creation: &Creation<'_>, created_ms: i64) -> Result<Text> {
    let created_at = format_timestamp(created_ms);
    let mut text = Text::with_capacity(creation.context.len() + 512);
    ObjectWriter::new(&mut text)
        .string("sessionId", &creation.session_id)
        .string("endpoint", creation.endpoint)
        .string_or_null("authorizationPartition", creation.partition.as_deref())
        .timestamp("createdAt", &created_at)
        .timestamp("lastActivityAt", &created_at)
        .bool("initialized", false)
        .bool("initializedNotificationReceived", false)
        .json("protocolVersion", "null")
        .json("clientCapabilities", "null")
        .json("negotiatedCapabilities", "null")
        .json("sessionContext", creation.context)
        .json("terminatedAt", "null")
        .int("version", 0);
    let text = text.check()?;
    if text.len() as u64 > DEFAULT_MAXIMUM_PAYLOAD_BYTES {
        return Err(Error::new(Reason::PayloadTooLarge, "the session has more bytes than the limit")
            .with_limit(DEFAULT_MAXIMUM_PAYLOAD_BYTES));
    }
    Ok(text)
}
