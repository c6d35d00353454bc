//! What a session store can be told when it is opened. A member that is absent or null has its default.

#![forbid(unsafe_code)]

use crate::error::Result;
use crate::json::{DEFAULT_MAXIMUM_PAYLOAD_BYTES, ObjectWriter};
use crate::options::{MAXIMUM_DURATION_MS, Object};
use crate::store::Limits;
use crate::text::Text;

const DEFAULT_NAME: &str = "default";
const DEFAULT_IDLE_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;
const DEFAULT_CONCURRENT_SESSION_LIMIT: u64 = 8192;
const DEFAULT_INITIALIZATION_TIMEOUT_MS: u64 = 60_000;

/// Largest `concurrentSessionLimit`: what every backend and host language can count.
const MAXIMUM_SESSIONS: u64 = i64::MAX.cast_unsigned();

/// Largest `keepExpired`: the buffer is memory of this process.
const MAXIMUM_KEPT: u64 = 1_000_000;

const NAME: &str = "name";
const IDLE_TIMEOUT_MS: &str = "idleTimeoutMs";
const CONCURRENT_SESSION_LIMIT: &str = "concurrentSessionLimit";
const CONCURRENT_SESSION_LIMIT_PER_PARTITION: &str = "concurrentSessionLimitPerPartition";
const INITIALIZATION_TIMEOUT_MS: &str = "initializationTimeoutMs";
const KEEP_EXPIRED: &str = "keepExpired";

/// The effective options of a session store.
#[derive(Debug)]
pub(super) struct Options {
    /// Which table of the store.
    pub(super) name: String,
    /// 0: sessions are never idle for too long.
    pub(super) idle_timeout_ms: u64,
    /// 0: no limit.
    pub(super) concurrent_session_limit: u64,
    /// 0: no limit.
    pub(super) concurrent_session_limit_per_partition: u64,
    /// 0: an initialization may take for ever.
    pub(super) initialization_timeout_ms: u64,
    /// How many expired sessions are remembered for the host; 0: none.
    pub(super) keep_expired: u64,
}

impl Options {
    pub(super) fn parse(options: Option<&str>) -> Result<Self> {
        const KNOWN: &[&str] = &[
            NAME,
            IDLE_TIMEOUT_MS,
            CONCURRENT_SESSION_LIMIT,
            CONCURRENT_SESSION_LIMIT_PER_PARTITION,
            INITIALIZATION_TIMEOUT_MS,
            KEEP_EXPIRED,
        ];
        let object = Object::parse("options", options, KNOWN, DEFAULT_MAXIMUM_PAYLOAD_BYTES)?;
        let number = |key, most, default| Ok(object.whole_number(key, 0..=most)?.unwrap_or(default));
        Ok(Self {
            name: object.name(NAME)?.map_or_else(|| DEFAULT_NAME.to_owned(), Into::into),
            idle_timeout_ms: number(IDLE_TIMEOUT_MS, MAXIMUM_DURATION_MS, DEFAULT_IDLE_TIMEOUT_MS)?,
            concurrent_session_limit: number(
                CONCURRENT_SESSION_LIMIT,
                MAXIMUM_SESSIONS,
                DEFAULT_CONCURRENT_SESSION_LIMIT,
            )?,
            concurrent_session_limit_per_partition: number(
                CONCURRENT_SESSION_LIMIT_PER_PARTITION,
                MAXIMUM_SESSIONS,
                0,
            )?,
            initialization_timeout_ms: number(
                INITIALIZATION_TIMEOUT_MS,
                MAXIMUM_DURATION_MS,
                DEFAULT_INITIALIZATION_TIMEOUT_MS,
            )?,
            keep_expired: number(KEEP_EXPIRED, MAXIMUM_KEPT, 0)?,
        })
    }

    /// The limits as tables take them.
    pub(super) fn limits(&self) -> Limits {
        let limit = |sessions: u64| (sessions > 0).then_some(sessions);
        Limits {
            total: limit(self.concurrent_session_limit),
            per_partition: limit(self.concurrent_session_limit_per_partition),
        }
    }

    pub(super) fn to_json(&self) -> Text {
        let mut text = Text::with_capacity(160 + self.name.len());
        ObjectWriter::new(&mut text)
            .string("name", &self.name)
            .int(IDLE_TIMEOUT_MS, self.idle_timeout_ms)
            .int(CONCURRENT_SESSION_LIMIT, self.concurrent_session_limit)
            .int(CONCURRENT_SESSION_LIMIT_PER_PARTITION, self.concurrent_session_limit_per_partition)
            .int(INITIALIZATION_TIMEOUT_MS, self.initialization_timeout_ms)
            .int(KEEP_EXPIRED, self.keep_expired);
        text
    }
}
