//! RFC 6901: naming one value within a JSON text.

#![forbid(unsafe_code)]

use crate::error::{Result, invalid};

use super::{Kind, Value};

/// The value that `pointer` names within `value`, or `None`. A malformed pointer is refused even where nothing
/// could be named.
pub(super) fn resolve<'a>(value: Value<'a>, pointer: &str) -> Result<Option<Value<'a>>> {
    let Some(tokens) = pointer.strip_prefix('/') else {
        return if pointer.is_empty() {
            Ok(Some(value))
        } else {
            Err(invalid("pointer", "a JSON pointer is empty or begins with a slash"))
        };
    };
    if pointer.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1'])) {
        return Err(invalid("pointer", "a tilde in a JSON pointer is followed by 0 or 1"));
    }
    Ok(tokens.split('/').try_fold(value, step))
}

fn step<'a>(value: Value<'a>, token: &str) -> Option<Value<'a>> {
    match value.kind() {
        Kind::Object if token.contains('~') => {
            // In this order, or `~01` would become a slash.
            value.get(&token.replace("~1", "/").replace("~0", "~"))
        }
        Kind::Object => value.get(token),
        Kind::Array => value.elements().nth(index(token)?),
        _ => None,
    }
}

/// An array index: digits without leading zeros. `-`, the place after the last element, names nothing.
fn index(token: &str) -> Option<usize> {
    let digits = token.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (token == "0" || !token.starts_with('0'))).then(|| token.parse().ok())?
}
