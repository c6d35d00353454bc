//! Arguments and expected values out of JSON: variables (`${name}`) and generated texts (`{"$text": […]}`).

use std::collections::HashMap;

use serde_json::Value;

/// Variables by name.
pub type Variables = HashMap<String, Value>;

/// `value` with its variables and generated texts put in.
pub fn expand(value: &Value, variables: &Variables) -> Result<Value, String> {
    match value {
        Value::String(text) => expand_string(text, variables),
        Value::Array(elements) => elements
            .iter()
            .map(|element| expand(element, variables))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        Value::Object(members) => {
            if let Some(pieces) = generated(value) {
                let bytes = join(pieces, variables)?;
                return String::from_utf8(bytes)
                    .map(Value::String)
                    .map_err(|_| "only a whole argument may have bytes that are not UTF-8".to_owned());
            }
            let members = members.iter().map(|(key, member)| {
                let Value::String(key) = expand_string(key, variables)? else {
                    return Err(format!("the key {key} is not a string"));
                };
                Ok((key, expand(member, variables)?))
            });
            members.collect::<Result<_, String>>().map(Value::Object)
        }
        _ => Ok(value.clone()),
    }
}

/// The bytes that cross for a C string: a string as it is, any other value as compact JSON, null as NULL.
pub fn argument(value: &Value, variables: &Variables) -> Result<Option<Vec<u8>>, String> {
    let bytes = match generated(value) {
        Some(pieces) => join(pieces, variables)?,
        None => match expand(value, variables)? {
            Value::Null => return Ok(None),
            Value::String(text) => text.into_bytes(),
            other => other.to_string().into_bytes(),
        },
    };
    if bytes.contains(&0) {
        return Err("a C string cannot hold a NUL".to_owned());
    }
    Ok(Some(bytes))
}

fn generated(value: &Value) -> Option<&Vec<Value>> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    members.get("$text")?.as_array()
}

fn join(pieces: &[Value], variables: &Variables) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for piece in pieces {
        if let Value::String(text) = piece {
            match expand_string(text, variables)? {
                Value::String(text) => bytes.extend_from_slice(text.as_bytes()),
                other => bytes.extend_from_slice(other.to_string().as_bytes()),
            }
            continue;
        }
        let members = piece.as_object().ok_or_else(|| format!("{piece} is no piece of a text"))?;
        let keys: Vec<&str> = members.keys().map(String::as_str).collect();
        match keys[..] {
            ["repeat", "times"] => {
                let (Some(text), Some(times)) = (piece["repeat"].as_str(), piece["times"].as_u64()) else {
                    return Err(format!("{piece} is no piece of a text"));
                };
                let times = usize::try_from(times).map_err(|error| error.to_string())?;
                bytes.extend_from_slice(text.repeat(times).as_bytes());
            }
            ["hex"] => {
                bytes.extend(piece["hex"].as_str().and_then(from_hex).ok_or("this is not hexadecimal")?);
            }
            _ => return Err(format!("{piece} is no piece of a text")),
        }
    }
    Ok(bytes)
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    digits.chunks(2).map(|pair| u8::try_from(pair.first()? * 16 + pair.get(1)?).ok()).collect()
}

/// A string with its variables put in. When it is one variable and nothing else, the variable's value.
fn expand_string(text: &str, variables: &Variables) -> Result<Value, String> {
    let look_up = |name: &str| variables.get(name).ok_or_else(|| format!("there is no variable {name}"));
    if let Some(name) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'))
        && !name.contains("${")
    {
        return look_up(name).cloned();
    }
    let mut parts = text.split("${");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').ok_or_else(|| format!("a variable does not end: {part}"))?;
        match look_up(name)? {
            Value::String(text) => whole.push_str(text),
            other => whole.push_str(&other.to_string()),
        }
        whole.push_str(rest);
    }
    Ok(Value::String(whole))
}
