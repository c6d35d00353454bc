//! Task ids: RFC 9562 version 4 UUIDs. Each takes its 122 random bits from the operating system in one call
//! of its own, so that a process and its fork never give out the same id.

#![forbid(unsafe_code)]

use std::sync::Arc;

use uuid::Builder;
use uuid::fmt::Hyphenated;

use crate::error::{Error, Reason, Result};

/// A new random id.
pub(crate) fn random_task_id() -> Result<Arc<str>> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|_| Error::new(Reason::SystemResource, "the operating system gave no random numbers"))?;
    let mut buffer = [0; Hyphenated::LENGTH];
    let id = Builder::from_random_bytes(bytes).into_uuid().hyphenated().encode_lower(&mut buffer);
    Ok(Arc::from(&*id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_4_uuids_and_differ() {
        let (one, other) = (random_task_id().unwrap(), random_task_id().unwrap());
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
