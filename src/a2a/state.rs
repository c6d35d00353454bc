//! The states of an A2A task. The protocol has spelled them in two ways, `TASK_STATE_INPUT_REQUIRED` and
//! `input-required`; both are read, and one is stored: no prefix, lower case, hyphens, `canceled`. A state that
//! is not known here is kept too, and is active: a later version of the protocol may have more states.

#![forbid(unsafe_code)]

use std::borrow::Cow;

const PREFIX: &str = "TASK_STATE_";

/// States that a task does not leave.
const FINAL: [&str; 4] = ["completed", "canceled", "failed", "rejected"];

/// States that a task may leave.
const ACTIVE: [&str; 6] =
    ["submitted", "working", "input-required", "auth-required", "unknown", "unspecified"];

/// Whether a state, in the stored spelling, is final.
pub(crate) fn is_final(state: &str) -> bool {
    FINAL.contains(&state)
}

/// The stored spelling of a state that the protocol defines today.
pub(crate) fn known(spelled: &str) -> Option<&'static str> {
    let bare = spelled.strip_prefix(PREFIX).unwrap_or(spelled);
    if same_state(bare, "cancelled") {
        return Some("canceled");
    }
    FINAL.into_iter().chain(ACTIVE).find(|state| same_state(bare, state))
}

/// The stored spelling of any state.
pub(crate) fn stored(spelled: &str) -> Cow<'_, str> {
    if let Some(state) = known(spelled) {
        return Cow::Borrowed(state);
    }
    let bare = spelled.strip_prefix(PREFIX).unwrap_or(spelled);
    if bare.bytes().all(|byte| stored_byte(byte) == byte) {
        return Cow::Borrowed(bare);
    }
    Cow::Owned(bare.to_ascii_lowercase().replace('_', "-"))
}

fn same_state(bare: &str, state: &str) -> bool {
    bare.len() == state.len() && bare.bytes().map(stored_byte).eq(state.bytes())
}

fn stored_byte(byte: u8) -> u8 {
    if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stored spelling, whether final, and every way it may come.
    const TABLE: [(&str, bool, &[&str]); 10] = [
        ("submitted", false, &["submitted", "TASK_STATE_SUBMITTED", "SUBMITTED"]),
        ("working", false, &["working", "TASK_STATE_WORKING", "Working"]),
        (
            "input-required",
            false,
            &["input-required", "TASK_STATE_INPUT_REQUIRED", "input_required", "INPUT_REQUIRED"],
        ),
        ("auth-required", false, &["auth-required", "TASK_STATE_AUTH_REQUIRED", "AUTH_REQUIRED"]),
        ("unknown", false, &["unknown", "TASK_STATE_UNKNOWN"]),
        ("unspecified", false, &["unspecified", "TASK_STATE_UNSPECIFIED"]),
        ("completed", true, &["completed", "TASK_STATE_COMPLETED", "COMPLETED"]),
        (
            "canceled",
            true,
            &["canceled", "cancelled", "TASK_STATE_CANCELED", "TASK_STATE_CANCELLED", "CANCELLED"],
        ),
        ("failed", true, &["failed", "TASK_STATE_FAILED"]),
        ("rejected", true, &["rejected", "TASK_STATE_REJECTED"]),
    ];

    #[test]
    fn every_state_is_read_in_every_spelling() {
        for (state, final_, spellings) in TABLE {
            for spelled in spellings {
                assert_eq!(known(spelled), Some(state), "{spelled}");
                assert_eq!(stored(spelled), state, "{spelled}");
                assert_eq!(is_final(&stored(spelled)), final_, "{spelled}");
            }
        }
        assert_eq!(TABLE.len(), FINAL.len() + ACTIVE.len());
    }

    #[test]
    fn a_state_of_the_future_is_kept_and_active() {
        let table = [
            ("TASK_STATE_PAUSED_BY_USER", "paused-by-user"),
            ("paused", "paused"),
            ("Completed!", "completed!"),
            ("TASK_STATE_TASK_STATE_COMPLETED", "task-state-completed"),
            ("task_state_completed", "task-state-completed"),
            ("complete", "complete"),
            (" completed", " completed"),
            // Only ASCII letters have the same lower case everywhere.
            ("ÜBER_FÄLLIG", "Über-fÄllig"),
        ];
        for (spelled, expected) in table {
            assert_eq!(known(spelled), None, "{spelled}");
            assert_eq!(stored(spelled), expected);
            assert!(!is_final(&stored(spelled)), "{spelled}");
        }
    }
}
