//! The one validating pass over a JSON text: RFC 8259 and what is refused beyond it. It does not recurse: the
//! kinds of the open containers are the bits of one integer, which has as many as levels are allowed.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use crate::error::{Error, Reason, Result};

use super::decode::{decode, hex4, is_high_surrogate, is_low_surrogate};
use super::keys::Keys;
use crate::text::check_room;

use super::{JsonMember, MAXIMUM_DEPTH, Value, scan};

/// Levels that this library's own documents add around a payload, at most.
const OWN_LEVELS: u32 = 16;

/// Most bytes of any text: spans within a text are kept in 32 bits.
const MAXIMUM_TEXT_BYTES: u64 = u32::MAX as u64;

/// Validates one JSON text in a single pass without recursion: RFC 8259, no byte order mark, no duplicate keys
/// (by decoded name), no lone surrogate escapes, at most `maximum_bytes` and [`MAXIMUM_DEPTH`]. Surrounding
/// white space is accepted and is not part of the value.
pub fn parse(text: &str, maximum_bytes: u64) -> Result<Value<'_>> {
    parse_nested(text, maximum_bytes, MAXIMUM_DEPTH, &mut |_| {})
}

/// [`parse`] for a text that this library may have given out: around a payload as deep as is accepted there
/// are a few levels of its own, and there is no limit of bytes.
pub fn parse_given_out(text: &str) -> Result<Value<'_>> {
    parse_nested(text, u64::MAX, MAXIMUM_DEPTH + OWN_LEVELS, &mut |_| {})
}

/// [`parse`] that shows the members of the outermost object as it passes them, which saves a walk. Each is
/// valid by then; whether the whole text is, is known at the end.
#[inline]
pub fn parse_members<'a>(
    text: &'a str,
    maximum_bytes: u64,
    visit: &mut impl FnMut(JsonMember<'a>),
) -> Result<Value<'a>> {
    parse_nested(text, maximum_bytes, MAXIMUM_DEPTH, visit)
}

#[inline]
fn parse_nested<'a>(
    text: &'a str,
    maximum_bytes: u64,
    maximum_depth: u32,
    visit: &mut impl FnMut(JsonMember<'a>),
) -> Result<Value<'a>> {
    let maximum_bytes = maximum_bytes.min(MAXIMUM_TEXT_BYTES);
    if text.len() as u64 > maximum_bytes {
        return Err(Error::new(Reason::PayloadTooLarge, "the JSON text has more bytes than the limit")
            .with_limit(maximum_bytes));
    }
    let bytes = text.as_bytes();
    let start = scan::skip_space(bytes, 0);
    let end = value(text, start, maximum_depth, visit)?;
    if scan::skip_space(bytes, end) != text.len() {
        return Err(malformed());
    }
    Ok(Value::trusted(&text[start..end]))
}

/// [`parse`] for bytes that may not be UTF-8, which is checked first.
pub fn parse_bytes(bytes: &[u8], maximum_bytes: u64) -> Result<Value<'_>> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => parse(text, maximum_bytes),
        Err(_) => Err(Error::new(Reason::InvalidUtf8, "the JSON text is not valid UTF-8")),
    }
}

#[cold]
fn malformed() -> Error {
    Error::new(Reason::InvalidJson, "the text is not well-formed JSON")
}

#[cold]
fn too_deep(maximum_depth: u32) -> Error {
    Error::new(Reason::NestingTooDeep, "the JSON text is nested deeper than the limit")
        .with_limit(maximum_depth.into())
}

#[cold]
fn lone_surrogate() -> Error {
    Error::new(Reason::LoneSurrogate, "a JSON string has an escaped surrogate without its other half")
}

#[cold]
fn duplicate_key() -> Error {
    Error::new(Reason::DuplicateKey, "a JSON object has the same member twice")
}

/// The byte at `at`. Past the end of the text it is 0, which is nowhere allowed.
#[inline]
fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// The value that begins at `at`, with everything in it, gives the place where it ends; so do all functions
/// below for what they are named after.
#[inline]
fn value<'a>(
    text: &'a str,
    mut at: usize,
    maximum_depth: u32,
    visit: &mut impl FnMut(JsonMember<'a>),
) -> Result<usize> {
    let bytes = text.as_bytes();
    let mut keys = Keys::default();
    let mut depth = 0;
    let mut open = OpenContainers::default();
    // Where the current member of the outermost object begins.
    let mut member = Start::default();
    loop {
        match byte(bytes, at) {
            b'"' => at = string(bytes, at)?,
            bracket @ (b'{' | b'[') => {
                if depth == maximum_depth {
                    return Err(too_deep(maximum_depth));
                }
                at = scan::skip_space(bytes, at + 1);
                let is_object = bracket == b'{';
                if byte(bytes, at) == if is_object { b'}' } else { b']' } {
                    at += 1;
                } else {
                    depth += 1;
                    open.push(is_object);
                    if is_object {
                        keys.open();
                        let start = key(text, at, &mut keys)?;
                        at = start.value;
                        if depth == 1 {
                            member = start;
                        }
                    }
                    continue;
                }
            }
            b'-' | b'0'..=b'9' => at = number(bytes, at)?,
            b't' => at = literal(bytes, at, b"true")?,
            b'f' => at = literal(bytes, at, b"false")?,
            b'n' => at = literal(bytes, at, b"null")?,
            _ => return Err(malformed()),
        }
        // A value ended: close the containers that end with it and go to the next value.
        loop {
            if depth == 0 {
                return Ok(at);
            }
            let in_object = open.innermost_is_object();
            if depth == 1 && in_object {
                visit(JsonMember {
                    raw_key: &text[member.key..member.key_end],
                    value: Value::trusted(&text[member.value..at]),
                });
            }
            at = scan::skip_space(bytes, at);
            match byte(bytes, at) {
                b',' => {
                    at = scan::skip_space(bytes, at + 1);
                    if in_object {
                        let start = key(text, at, &mut keys)?;
                        at = start.value;
                        if depth == 1 {
                            member = start;
                        }
                    }
                    break;
                }
                b'}' if in_object => keys.close(),
                b']' if !in_object => {}
                _ => return Err(malformed()),
            }
            at += 1;
            depth -= 1;
            open.pop();
        }
    }
}

/// One bit per open container, the innermost lowest: set for an object.
#[derive(Default)]
struct OpenContainers {
    inner: u128,
    outer: u16,
}

const _: () = assert!(MAXIMUM_DEPTH + OWN_LEVELS <= u128::BITS + u16::BITS);

impl OpenContainers {
    #[inline]
    fn push(&mut self, is_object: bool) {
        self.outer = (self.outer << 1) | (self.inner >> 127) as u16;
        self.inner = (self.inner << 1) | u128::from(is_object);
    }

    #[inline]
    fn pop(&mut self) {
        self.inner = (self.inner >> 1) | (u128::from(self.outer & 1) << 127);
        self.outer >>= 1;
    }

    #[inline]
    fn innermost_is_object(&self) -> bool {
        self.inner & 1 == 1
    }
}

/// Where the parts of a member begin.
#[derive(Clone, Copy, Default)]
struct Start {
    key: usize,
    key_end: usize,
    value: usize,
}

/// A key with its colon, up to the value.
#[inline]
fn key<'a>(text: &'a str, start: usize, keys: &mut Keys<'a>) -> Result<Start> {
    let bytes = text.as_bytes();
    if byte(bytes, start) != b'"' {
        return Err(malformed());
    }
    let mut at = scan::plain_end(bytes, start + 1);
    let escaped = byte(bytes, at) != b'"';
    if escaped {
        at = string_from(bytes, at)? - 1;
    }
    let inside = &text[start + 1..at];
    let name = if escaped {
        check_room(inside.len())?;
        decode(inside)
    } else {
        Cow::Borrowed(inside)
    };
    if !keys.add(name)? {
        return Err(duplicate_key());
    }
    let key_end = at + 1;
    at = scan::skip_space(bytes, key_end);
    if byte(bytes, at) != b':' {
        return Err(malformed());
    }
    Ok(Start { key: start, key_end, value: scan::skip_space(bytes, at + 1) })
}

/// A string whose opening quote is at `at`.
#[inline]
fn string(bytes: &[u8], at: usize) -> Result<usize> {
    let at = scan::plain_end(bytes, at + 1);
    if byte(bytes, at) == b'"' { Ok(at + 1) } else { string_from(bytes, at) }
}

/// The rest of a string from the first byte on that is not plain.
fn string_from(bytes: &[u8], mut at: usize) -> Result<usize> {
    loop {
        at = match byte(bytes, at) {
            b'"' => return Ok(at + 1),
            b'\\' => scan::plain_end(bytes, escape(bytes, at)?),
            _ => return Err(malformed()),
        }
    }
}

#[inline]
fn escape(bytes: &[u8], at: usize) -> Result<usize> {
    match byte(bytes, at + 1) {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 2),
        b'u' => unicode_escape(bytes, at),
        _ => Err(malformed()),
    }
}

fn unicode_escape(bytes: &[u8], at: usize) -> Result<usize> {
    let unit = hex4(bytes, at + 2).ok_or_else(malformed)?;
    let end = at + 6;
    if is_low_surrogate(unit) {
        return Err(lone_surrogate());
    }
    if !is_high_surrogate(unit) {
        return Ok(end);
    }
    if bytes.get(end..end + 2) != Some(b"\\u") {
        return Err(lone_surrogate());
    }
    let low = hex4(bytes, end + 2).ok_or_else(malformed)?;
    if is_low_surrogate(low) { Ok(end + 6) } else { Err(lone_surrogate()) }
}

#[inline]
fn number(bytes: &[u8], mut at: usize) -> Result<usize> {
    at += usize::from(byte(bytes, at) == b'-');
    at = if byte(bytes, at) == b'0' { at + 1 } else { digits(bytes, at)? };
    if byte(bytes, at) == b'.' {
        at = digits(bytes, at + 1)?;
    }
    if matches!(byte(bytes, at), b'e' | b'E') {
        at += 1;
        at += usize::from(matches!(byte(bytes, at), b'+' | b'-'));
        at = digits(bytes, at)?;
    }
    Ok(at)
}

/// One or more digits.
#[inline]
fn digits(bytes: &[u8], start: usize) -> Result<usize> {
    let mut at = start;
    while byte(bytes, at).is_ascii_digit() {
        at += 1;
    }
    if at == start { Err(malformed()) } else { Ok(at) }
}

#[inline]
fn literal(bytes: &[u8], at: usize, literal: &[u8]) -> Result<usize> {
    if bytes[at..].starts_with(literal) { Ok(at + literal.len()) } else { Err(malformed()) }
}
