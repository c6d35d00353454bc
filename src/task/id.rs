//! Task ids: RFC 9562 version 4 UUIDs. Each takes its 122 random bits from the operating system in one call
//! of its own, so that a process and its fork never give out the same id.

#![forbid(unsafe_code)]

use uuid::Builder;
use uuid::fmt::Hyphenated;

use crate::error::{Error, Reason, Result};

/// A task id in its text form.
pub(crate) struct TaskId([u8; Hyphenated::LENGTH]);

impl TaskId {
    /// A new random id.
    pub(crate) fn random() -> Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|_| Error::new(Reason::SystemResource, "the operating system gave no random numbers"))?;
        let mut text = [0; Hyphenated::LENGTH];
        Builder::from_random_bytes(bytes).into_uuid().hyphenated().encode_lower(&mut text);
        Ok(Self(text))
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_4_uuids_and_differ() {
        let (one, other) = (TaskId::random().unwrap(), TaskId::random().unwrap());
        let (one, other) = (one.as_str(), other.as_str());
        assert_ne!(one, other);
        for id in [one, other] {
            assert_eq!(id.len(), 36);
            assert_eq!(id.as_bytes()[14], b'4', "version");
            assert!(matches!(id.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "variant");
            for (at, byte) in id.bytes().enumerate() {
                let hyphen = matches!(at, 8 | 13 | 18 | 23);
                assert_eq!(byte == b'-', hyphen);
                assert!(hyphen || byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
            }
        }
    }
}
