//! Compares an output with a matcher and says where they differ.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

/// The keys of a matcher.
pub const MATCHERS: [&str; 8] = ["subset", "exact", "bytes", "null", "absent", "text", "contains", "differs"];

/// The placeholders that may stand in the values of `subset` and `exact`.
pub const PLACEHOLDERS: [&str; 6] = ["$any", "$string", "$integer", "$timestamp", "$uuid4", "$session_id"];

/// Every way in which `output` does not match. `matcher` has its variables put in already.
pub fn differences(matcher: &Value, output: Option<&str>) -> Vec<String> {
    let mut found = Vec::new();
    let Some(output) = output else {
        return if matcher["null"] == true { found } else { vec!["the output is NULL".to_owned()] };
    };
    for (kind, expected) in matcher.as_object().into_iter().flatten() {
        match kind.as_str() {
            "null" => found.push("the output should be NULL".to_owned()),
            "bytes" => {
                if expected.as_str() != Some(output) {
                    found.push(format!("the text should be {}", text_of(expected)));
                }
            }
            "contains" => {
                for part in strings(expected).filter(|part| !output.contains(part)) {
                    found.push(format!("the text should contain {part}"));
                }
            }
            "absent" => {
                for pointer in strings(expected).filter(|pointer| raw_at(output, pointer).is_some()) {
                    found.push(format!("{pointer}: should be absent"));
                }
            }
            "text" => each(expected, |pointer, wanted| match raw_at(output, pointer) {
                Some(text) if text == wanted => {}
                Some(text) => found.push(format!("{pointer}: the text should be {wanted}, is {text}")),
                None => found.push(format!("{pointer}: is absent, its text should be {wanted}")),
            }),
            "differs" => each(expected, |pointer, other| match raw_at(output, pointer) {
                Some(text) if text == other => found.push(format!("{pointer}: should differ from {other}")),
                Some(_) => {}
                None => found.push(format!("{pointer}: is absent")),
            }),
            _ => match serde_json::from_str::<Value>(output) {
                Ok(actual) => compare(expected, &actual, kind == "exact", "", &mut found),
                Err(error) => found.push(format!("the output is not JSON: {error}")),
            },
        }
    }
    found
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn each(value: &Value, mut visit: impl FnMut(&str, &str)) {
    for (pointer, text) in value.as_object().into_iter().flatten() {
        visit(pointer, &text_of(text));
    }
}

/// The text of the value that a JSON pointer names: a string decoded, anything else byte for byte.
pub fn raw_at(document: &str, pointer: &str) -> Option<String> {
    let mut raw: &str = document;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        if raw.starts_with('{') {
            raw = serde_json::from_str::<HashMap<String, &RawValue>>(raw).ok()?.get(&token)?.get();
        } else {
            raw = serde_json::from_str::<Vec<&RawValue>>(raw).ok()?.get(token.parse::<usize>().ok()?)?.get();
        }
    }
    Some(serde_json::from_str::<String>(raw).unwrap_or_else(|_| raw.to_owned()))
}

fn compare(expected: &Value, actual: &Value, exact: bool, path: &str, found: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            for (key, wanted) in expected {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                match actual.get(key) {
                    Some(value) => compare(wanted, value, exact, &path, found),
                    None => found.push(format!("{path}: is absent, should be {wanted}")),
                }
            }
            for (key, value) in actual.iter().filter(|(key, _)| exact && !expected.contains_key(*key)) {
                found.push(format!("{path}/{key}: should be absent, is {value}"));
            }
        }
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            for (at, (wanted, value)) in expected.iter().zip(actual).enumerate() {
                compare(wanted, value, exact, &format!("{path}/{at}"), found);
            }
        }
        (Value::String(placeholder), _) if placeholder.starts_with('$') => {
            if !stands_for(placeholder, actual) {
                found.push(format!("{path}: should be {placeholder}, is {actual}"));
            }
        }
        // Numbers keep their text, so that equality here is equality of spelling.
        _ if expected == actual => {}
        _ => found.push(format!("{path}: should be {expected}, is {actual}")),
    }
}

fn stands_for(placeholder: &str, actual: &Value) -> bool {
    let text = actual.as_str();
    match placeholder {
        "$any" => true,
        "$string" => text.is_some(),
        "$integer" => actual.as_i64().is_some() || actual.as_u64().is_some(),
        "$timestamp" => text.is_some_and(|text| has_form(text, "dddd-dd-ddTdd:dd:dd.dddZ")),
        "$uuid4" => text.is_some_and(|text| has_form(text, "xxxxxxxx-xxxx-4xxx-vxxx-xxxxxxxxxxxx")),
        "$session_id" => text.is_some_and(|text| {
            (22..=1024).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
        }),
        _ => false,
    }
}

/// Whether each character is what `form` asks for: d a digit, x a lower-case hexadecimal digit, v a UUID's
/// variant, anything else itself.
fn has_form(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(byte, wanted)| match wanted {
            b'd' => byte.is_ascii_digit(),
            b'x' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            b'v' => matches!(byte, b'8' | b'9' | b'a' | b'b'),
            _ => byte == wanted,
        })
}
