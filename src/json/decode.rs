//! Decoding the inside of a JSON string: the text between its quotes, as validated. Text without a
//! backslash is its own decoded form and is borrowed.

#![forbid(unsafe_code)]

use std::borrow::Cow;

/// The decoded form of what stands between a string's quotes.
#[inline]
pub(super) fn decode(inside: &str) -> Cow<'_, str> {
    match inside.bytes().position(|byte| byte == b'\\') {
        None => Cow::Borrowed(inside),
        Some(at) => Cow::Owned(decode_escapes(inside, at)),
    }
}

/// Whether the decoded form of `inside` is `name`, without decoding it where that can be told.
#[inline]
pub(super) fn decodes_to(inside: &str, name: &str) -> bool {
    // An escape is always longer than what it stands for.
    match inside.len().cmp(&name.len()) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => inside == name && !inside.contains('\\'),
        std::cmp::Ordering::Greater => inside.contains('\\') && characters(inside).eq(name.chars()),
    }
}

/// Whether the decoded forms are the same, without decoding either.
pub(super) fn same_decoded(one: &str, other: &str) -> bool {
    characters(one).eq(characters(other))
}

/// The characters of the decoded form. Nothing is allocated for them, however long it is.
fn characters(mut rest: &str) -> impl Iterator<Item = char> {
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let (character, length) =
            if first == '\\' { escape(rest.as_bytes()) } else { (first, first.len_utf8()) };
        rest = rest.get(length..).unwrap_or_default();
        Some(character)
    })
}

#[cold]
fn decode_escapes(inside: &str, first_escape: usize) -> String {
    let mut decoded = String::with_capacity(inside.len());
    let (plain, mut rest) = inside.split_at(first_escape);
    decoded.push_str(plain);
    loop {
        // `rest` begins with a backslash.
        let (character, length) = escape(rest.as_bytes());
        decoded.push(character);
        rest = rest.get(length..).unwrap_or_default();
        match rest.find('\\') {
            None => break,
            Some(at) => {
                let (plain, escaped) = rest.split_at(at);
                decoded.push_str(plain);
                rest = escaped;
            }
        }
    }
    decoded.push_str(rest);
    decoded
}

/// What the escape at the start of `bytes` stands for, and its length. One that was not validated gives the
/// replacement character.
fn escape(bytes: &[u8]) -> (char, usize) {
    let simple = match bytes.get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode_escape(bytes),
        Some(&byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
        _ => return (char::REPLACEMENT_CHARACTER, 1),
    };
    (simple, 2)
}

fn unicode_escape(bytes: &[u8]) -> (char, usize) {
    let Some(unit) = hex4(bytes, 2) else { return (char::REPLACEMENT_CHARACTER, 2) };
    if let Some(character) = char::from_u32(unit) {
        return (character, 6);
    }
    let low = bytes.get(6..8).filter(|escape| escape == b"\\u").and_then(|_| hex4(bytes, 8));
    let pair = low
        .filter(|low| is_high_surrogate(unit) && is_low_surrogate(*low))
        .and_then(|low| char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)));
    pair.map_or((char::REPLACEMENT_CHARACTER, 6), |character| (character, 12))
}

/// What each byte is worth as a hexadecimal digit; [`NO_DIGIT`] if it is none.
#[allow(clippy::cast_possible_truncation)] // value < 16
static HEX_DIGITS: [u8; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value] as usize] = value as u8;
        digits[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    digits
};

const NO_DIGIT: u8 = 0xFF;

/// The number that the four hexadecimal digits at `at` write.
#[inline]
pub(super) fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    let digits: &[u8; 4] = bytes.get(at..)?.first_chunk()?;
    let [a, b, c, d] = digits.map(|digit| u32::from(HEX_DIGITS[usize::from(digit)]));
    ((a | b | c | d) < 16).then_some((a << 12) | (b << 8) | (c << 4) | d)
}

pub(super) fn is_high_surrogate(unit: u32) -> bool {
    (0xD800..0xDC00).contains(&unit)
}

pub(super) fn is_low_surrogate(unit: u32) -> bool {
    (0xDC00..0xE000).contains(&unit)
}
