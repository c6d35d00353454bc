//! Timestamps: RFC 3339 in, exactly `YYYY-MM-DDTHH:MM:SS.mmmZ` out.

#![forbid(unsafe_code)]

use crate::error::Result;

/// Length of a timestamp that is given out.
pub(crate) const TIMESTAMP_LENGTH: usize = 24;

/// `wall_ms` (milliseconds since 1970, clamped to the years 0001 to 9999) as `YYYY-MM-DDTHH:MM:SS.mmmZ`.
pub fn format_timestamp(_wall_ms: i64) -> [u8; TIMESTAMP_LENGTH] {
    todo!()
}

/// Milliseconds since 1970 of an RFC 3339 timestamp with any offset and 0 to 9 fraction digits, years 0001 to
/// 9999; anything else is `INVALID_ARGUMENT` (`invalid_timestamp`). Digits beyond milliseconds are cut.
pub fn parse_timestamp(_text: &str) -> Result<i64> {
    todo!()
}
