//! Agreement with `serde_json` on what is JSON: on fragments, documents and damaged documents.

use proptest::prelude::*;
use serde_json::value::RawValue;
use taskhold::error::Reason;
use taskhold::json;

use crate::NO_LIMIT;
use crate::documents::{FRAGMENTS, damaged, document, space};

/// Whether a parsed tree holds every member of its text: of duplicates it keeps one. The
/// colons outside of strings are the members.
fn holds_all(tree: &serde_json::Value, text: &str) -> bool {
    fn members(tree: &serde_json::Value) -> usize {
        match tree {
            serde_json::Value::Array(elements) => elements.iter().map(members).sum(),
            serde_json::Value::Object(object) => object.values().map(|value| 1 + members(value)).sum(),
            _ => 0,
        }
    }
    let unescaped = text.replace("\\\\", "").replace("\\\"", "");
    let colons: usize = unescaped.split('"').step_by(2).map(|outside| outside.matches(':').count()).sum();
    members(tree) == colons
}

fn agree(text: &str) -> Result<(), TestCaseError> {
    let tree = serde_json::from_str::<serde_json::Value>(text);
    match json::parse(text, NO_LIMIT) {
        Ok(value) => {
            prop_assert!(tree.is_ok_and(|tree| holds_all(&tree, text)), "accepted {text:?}");
            prop_assert_eq!(value.text(), text.trim_matches([' ', '\t', '\r', '\n']));
        }
        Err(error) => {
            prop_assert!(
                !tree.is_ok_and(|tree| holds_all(&tree, text)),
                "refused {text:?}: {:?}",
                error.reason()
            );
            if error.reason() == Reason::InvalidJson {
                prop_assert!(serde_json::from_str::<&RawValue>(text).is_err(), "malformed? {text:?}");
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn fragments_are_judged_as_serde_json_does(parts in prop::collection::vec(prop::sample::select(FRAGMENTS), 0..12)) {
        agree(&parts.concat())?;
    }

    #[test]
    fn documents_are_judged_as_serde_json_does(text in document(), before in space(), after in space()) {
        agree(&format!("{before}{text}{after}"))?;
    }

    #[test]
    fn damaged_documents_are_judged_as_serde_json_does((_, text) in damaged()) {
        agree(&text)?;
    }
}
