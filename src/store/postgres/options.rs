//! The options of a store on PostgreSQL.

#![forbid(unsafe_code)]

use std::time::Duration;

use crate::error::{Result, invalid};
use crate::json::DEFAULT_MAXIMUM_PAYLOAD_BYTES;
use crate::options::Object;

const DEFAULT_POOL_SIZE: u64 = 8;
const MAXIMUM_POOL_SIZE: u64 = 1000;
const DEFAULT_TIMEOUT_MS: u64 = 5000;
/// An hour: nobody waits longer on purpose.
const MAXIMUM_TIMEOUT_MS: u64 = 3_600_000;
const DEFAULT_EVENT_POLL_MS: u64 = 100;
const MAXIMUM_EVENT_POLL_MS: u64 = 60_000;
/// Longest name of anything on PostgreSQL.
const MAXIMUM_SCHEMA_BYTES: usize = 63;

/// How a store was opened.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) pool_size: usize,
    pub(super) acquire_timeout: Duration,
    pub(super) statement_timeout: Duration,
    pub(super) schema: String,
    pub(super) is_pooler_safe: bool,
    pub(super) event_poll: Duration,
}

impl Options {
    pub(super) fn parse(text: Option<&str>) -> Result<Self> {
        let object = Object::parse(
            "options",
            text,
            &["poolSize", "acquireTimeoutMs", "statementTimeoutMs", "schema", "poolerSafe", "eventPollMs"],
            DEFAULT_MAXIMUM_PAYLOAD_BYTES,
        )?;
        let duration = |key, most, default| -> Result<Duration> {
            Ok(Duration::from_millis(object.whole_number(key, 1..=most)?.unwrap_or(default)))
        };
        let pool_size = object.whole_number("poolSize", 1..=MAXIMUM_POOL_SIZE)?.unwrap_or(DEFAULT_POOL_SIZE);
        let schema = object.string("schema")?.map_or_else(|| "public".to_owned(), Into::into);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if schema.is_empty() || schema.len() > MAXIMUM_SCHEMA_BYTES || !schema.bytes().all(is_plain) {
            return Err(invalid(
                "schema",
                "the member must be a name of letters, digits, hyphens and underscores",
            )
            .with_limit(MAXIMUM_SCHEMA_BYTES as u64));
        }
        Ok(Self {
            pool_size: usize::try_from(pool_size).unwrap_or(usize::MAX),
            acquire_timeout: duration("acquireTimeoutMs", MAXIMUM_TIMEOUT_MS, DEFAULT_TIMEOUT_MS)?,
            statement_timeout: duration("statementTimeoutMs", MAXIMUM_TIMEOUT_MS, DEFAULT_TIMEOUT_MS)?,
            schema,
            is_pooler_safe: object.boolean("poolerSafe")?.unwrap_or(false),
            event_poll: duration("eventPollMs", MAXIMUM_EVENT_POLL_MS, DEFAULT_EVENT_POLL_MS)?,
        })
    }
}
