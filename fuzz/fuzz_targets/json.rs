//! The JSON boundary: a text is accepted exactly when serde_json accepts it and it has none of what is refused
//! beyond RFC 8259; what is accepted is kept byte for byte, and walking it gives what serde_json reads, level by
//! level. Walking a text that was never validated does no harm.

#![no_main]

use std::collections::HashSet;
use std::fmt;

use libfuzzer_sys::fuzz_target;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use taskhold::error::Reason;
use taskhold::json::{self, Kind, Value};

/// Levels of nesting that are accepted.
const DEPTH: usize = 128;

/// The members of an object in order, duplicates among them.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;

        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Each)
    }
}

/// What is wrong with a text that RFC 8259 allows.
#[derive(Default)]
struct Faults {
    has_lone_surrogate: bool,
    has_duplicate_key: bool,
    is_too_deep: bool,
}

/// One level of a text: serde_json has seen that all of it is well-formed.
enum Level<'a> {
    Object(Vec<(String, &'a RawValue)>),
    Array(Vec<&'a RawValue>),
    String(String),
    Scalar,
}

/// Reads one level; `None` when a string or a key in it cannot be decoded.
fn level(raw: &RawValue) -> Option<Level<'_>> {
    let text = raw.get();
    Some(match text.as_bytes()[0] {
        b'{' => Level::Object(serde_json::from_str::<Members<'_>>(text).ok()?.0),
        b'[' => Level::Array(serde_json::from_str(text).expect("elements are not looked into")),
        b'"' => Level::String(serde_json::from_str(text).ok()?),
        _ => Level::Scalar,
    })
}

fn find_faults(raw: &RawValue, depth: usize, faults: &mut Faults) {
    let is_container = matches!(raw.get().as_bytes()[0], b'{' | b'[');
    let depth = depth + usize::from(is_container);
    if depth > DEPTH {
        faults.is_too_deep = true;
        return;
    }
    match level(raw) {
        None => faults.has_lone_surrogate = true,
        Some(Level::Object(members)) => {
            let keys: HashSet<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
            faults.has_duplicate_key |= keys.len() < members.len();
            for (_, value) in members {
                find_faults(value, depth, faults);
            }
        }
        Some(Level::Array(elements)) => {
            for element in elements {
                find_faults(element, depth, faults);
            }
        }
        Some(Level::String(_) | Level::Scalar) => {}
    }
}

/// Checks that walking `value` gives what serde_json reads.
fn compare(whole: &str, value: Value<'_>, raw: &RawValue) {
    assert_eq!(value.text(), raw.get());
    assert_eq!(&whole[json::offset_in(whole, value.text())..][..value.text().len()], raw.get());
    assert!(value.same_meaning(value));
    let kind = value.kind();
    match level(raw).expect("accepted, so it can be decoded") {
        Level::Object(expected) => {
            assert_eq!(kind, Kind::Object);
            let members: Vec<_> = value.members().collect();
            assert_eq!(members.len(), expected.len());
            for (member, (key, raw)) in members.iter().zip(expected) {
                assert_eq!(member.key(), key.as_str());
                assert_eq!(value.get(&key).map(Value::text), Some(raw.get()));
                let pointer = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
                let pointed = value.pointer(&pointer).expect("a well-formed pointer");
                assert_eq!(pointed.map(Value::text), Some(raw.get()));
                compare(whole, member.value, raw);
            }
        }
        Level::Array(expected) => {
            assert_eq!(kind, Kind::Array);
            assert_eq!(value.elements().count(), expected.len());
            for (element, raw) in value.elements().zip(expected) {
                compare(whole, element, raw);
            }
        }
        Level::String(expected) => {
            assert_eq!(kind, Kind::String);
            assert_eq!(value.as_str().as_deref(), Some(expected.as_str()));
        }
        Level::Scalar => {
            let text = raw.get();
            assert_eq!(value.as_bool(), text.parse().ok());
            assert_eq!(value.is_null(), text == "null");
            if kind == Kind::Number {
                assert_eq!(value.as_i64(), text.parse().ok());
                let unsigned = if text == "-0" { Some(0) } else { text.parse().ok() };
                assert_eq!(value.as_u64(), unsigned);
            }
        }
    }
    assert!(kind == Kind::Object || value.members().next().is_none());
    assert!(kind == Kind::Array || value.elements().next().is_none());
}

/// Whatever a walk over any text gives, it ends, and what it gives are parts of that text.
fn walk_anything(text: &str) {
    let value = Value::trusted(text);
    for part in value.members().map(|member| member.value).chain(value.elements()) {
        assert!(json::offset_in(text, part.text()) + part.text().len() <= text.len());
    }
    assert!(value.members().count() + value.elements().count() <= text.len());
    let _ = (value.as_str(), value.as_i64(), value.as_u64(), value.get("a"), value.pointer("/a/0"));
    let _ = value.same_meaning(value);
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        let error = json::parse_bytes(data, u64::MAX).expect_err("not UTF-8");
        assert_eq!(error.reason(), Reason::InvalidUtf8);
        return;
    };
    walk_anything(text);
    let limited = json::parse(text, data.len().saturating_sub(1) as u64);
    assert_eq!(limited.is_err_and(|error| error.reason() == Reason::PayloadTooLarge), !data.is_empty());
    let parsed = json::parse(text, u64::MAX).map_err(|error| error.reason());
    let Ok(raw) = serde_json::from_str::<&RawValue>(text) else {
        let reason = parsed.expect_err("accepted what serde_json refuses");
        // The first thing that is wrong is named, which may be another.
        assert!(matches!(
            reason,
            Reason::InvalidJson | Reason::DuplicateKey | Reason::LoneSurrogate | Reason::NestingTooDeep
        ));
        return;
    };
    let mut faults = Faults::default();
    find_faults(raw, 0, &mut faults);
    match parsed {
        Ok(value) => {
            assert!(!faults.has_lone_surrogate && !faults.has_duplicate_key && !faults.is_too_deep);
            assert_eq!(value.text(), text.trim_matches([' ', '\t', '\r', '\n']));
            compare(text, value, raw);
            let mut shown = Vec::new();
            json::parse_members(text, u64::MAX, &mut |member| {
                shown.push((member.raw_key, member.value.text()))
            })
            .expect("accepted before");
            let walked = value.members().map(|member| (member.raw_key, member.value.text()));
            assert!(shown.iter().copied().eq(walked));
        }
        Err(Reason::LoneSurrogate) => assert!(faults.has_lone_surrogate),
        Err(Reason::DuplicateKey) => assert!(faults.has_duplicate_key || faults.has_lone_surrogate),
        Err(Reason::NestingTooDeep) => assert!(faults.is_too_deep),
        Err(reason) => panic!("refused as {reason:?}"),
    }
});
