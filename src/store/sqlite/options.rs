//! The options of a store on SQLite.

#![forbid(unsafe_code)]

use std::time::Duration;

use crate::error::{Result, invalid};
use crate::json::DEFAULT_MAXIMUM_PAYLOAD_BYTES;
use crate::options::Object;

const DEFAULT_BUSY_TIMEOUT_MS: u64 = 5000;
/// An hour: nobody waits longer for a lock on purpose.
const MAXIMUM_BUSY_TIMEOUT_MS: u64 = 3_600_000;

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// The disk has it: it survives a loss of power.
    Full,
    /// The operating system has it: it survives the end of the process.
    Normal,
}

/// How a store was opened.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) durability: Durability,
    pub(super) busy_timeout: Duration,
    pub(super) allow_network_file_system: bool,
}

impl Options {
    pub(super) fn parse(text: Option<&str>) -> Result<Self> {
        let object = Object::parse(
            "options",
            text,
            &["durability", "busyTimeoutMs", "allowNetworkFileSystem"],
            DEFAULT_MAXIMUM_PAYLOAD_BYTES,
        )?;
        let durability = match object.string("durability")?.as_deref() {
            None | Some("full") => Durability::Full,
            Some("normal") => Durability::Normal,
            Some(_) => return Err(invalid("durability", "the member must be \"full\" or \"normal\"")),
        };
        let busy_timeout_ms = object
            .whole_number("busyTimeoutMs", 0..=MAXIMUM_BUSY_TIMEOUT_MS)?
            .unwrap_or(DEFAULT_BUSY_TIMEOUT_MS);
        Ok(Self {
            durability,
            busy_timeout: Duration::from_millis(busy_timeout_ms),
            allow_network_file_system: object.boolean("allowNetworkFileSystem")?.unwrap_or(false),
        })
    }
}
