//! Walking the members and elements of a validated text. Values are skipped by counting brackets outside of
//! strings, without recursion and without looking at what is in them. On text that was never validated a walk
//! ends early: it neither panics nor runs on.

#![forbid(unsafe_code)]

use super::{JsonMember, Value, scan};

/// Walks the members of an object.
#[derive(Clone, Debug)]
pub struct Members<'a>(Walk<'a>);

/// Walks the elements of an array.
#[derive(Clone, Debug)]
pub struct Elements<'a>(Walk<'a>);

impl<'a> Members<'a> {
    pub(super) fn of(value: Value<'a>) -> Self {
        Self(Walk::into(value, b'{'))
    }
}

impl<'a> Elements<'a> {
    pub(super) fn of(value: Value<'a>) -> Self {
        Self(Walk::into(value, b'['))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = JsonMember<'a>;

    #[inline]
    fn next(&mut self) -> Option<JsonMember<'a>> {
        let member = self.0.member();
        if member.is_none() {
            self.0 = Walk::OVER;
        }
        member
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        let element = self.0.value();
        if element.is_none() {
            self.0 = Walk::OVER;
        }
        element
    }
}

impl std::iter::FusedIterator for Members<'_> {}
impl std::iter::FusedIterator for Elements<'_> {}

/// A place within a container's text: before a member or element, or at the closing bracket.
#[derive(Clone, Debug)]
struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Walk<'a> {
    const OVER: Self = Self { text: "", at: 0 };

    fn into(value: Value<'a>, bracket: u8) -> Self {
        let text = value.text();
        if text.as_bytes().first() != Some(&bracket) {
            return Self::OVER;
        }
        Self { text, at: scan::skip_space(text.as_bytes(), 1) }
    }

    #[inline]
    fn member(&mut self) -> Option<JsonMember<'a>> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        let end = string_end(bytes, self.at)?;
        let raw_key = self.text.get(self.at..end)?;
        let colon = scan::skip_space(bytes, end);
        if bytes.get(colon) != Some(&b':') {
            return None;
        }
        self.at = scan::skip_space(bytes, colon + 1);
        Some(JsonMember { raw_key, value: self.value()? })
    }

    /// The value here; goes on to the next member or element.
    #[inline]
    fn value(&mut self) -> Option<Value<'a>> {
        let bytes = self.text.as_bytes();
        let end = value_end(bytes, self.at)?;
        let value = self.text.get(self.at..end)?;
        self.at = scan::skip_space(bytes, end);
        if bytes.get(self.at) == Some(&b',') {
            self.at = scan::skip_space(bytes, self.at + 1);
        }
        Some(Value::trusted(value))
    }
}

/// Where the value that begins at `at` ends. `None` if none begins there or it does not end.
#[inline]
fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string_end(bytes, at),
        b'{' | b'[' => container_end(bytes, at),
        b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
            let scalar = bytes[at..].iter();
            let length = scalar
                .take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'E' | b'.' | b'+' | b'-'));
            Some(at + length.count())
        }
        _ => None,
    }
}

/// Where the string whose opening quote is at `at` ends, past its closing quote.
#[inline]
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = scan::plain_end(bytes, at + 1);
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at = scan::plain_end(bytes, at + 2),
            // A control character: the text was not validated.
            _ => return None,
        }
    }
}

fn container_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = string_end(bytes, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            // Mostly a string follows at once.
            b',' | b':' => {}
            _ => {
                at = scan::structure_start(bytes, at + 1);
                continue;
            }
        }
        at += 1;
    }
}
