//! The one validating pass over a JSON text: RFC 8259 and what is refused beyond it. It does not recurse: the
//! kinds of the open containers are the bits of one integer, which has as many as levels are allowed.

#![forbid(unsafe_code)]

use crate::error::{Error, Reason, Result};

use super::decode::{hex4, is_high_surrogate, is_low_surrogate};
use super::keys::Keys;
use super::{MAXIMUM_DEPTH, Value, scan};

/// Most bytes of any text: spans within a text are kept in 32 bits.
const MAXIMUM_TEXT_BYTES: u64 = u32::MAX as u64;

/// Validates one JSON text in a single pass without recursion: RFC 8259, no byte order mark, no duplicate keys
/// (by decoded name), no lone surrogate escapes, at most `maximum_bytes` and [`MAXIMUM_DEPTH`]. Surrounding
/// white space is accepted and is not part of the value.
pub fn parse(text: &str, maximum_bytes: u64) -> Result<Value<'_>> {
    let maximum_bytes = maximum_bytes.min(MAXIMUM_TEXT_BYTES);
    if text.len() as u64 > maximum_bytes {
        return Err(Error::new(Reason::PayloadTooLarge, "the JSON text has more bytes than the limit")
            .with_limit(maximum_bytes));
    }
    let mut validator =
        Validator { bytes: text.as_bytes(), at: 0, depth: 0, objects: 0, keys: Keys::new(text) };
    let start = scan::skip_space(text.as_bytes(), 0);
    validator.at = start;
    validator.text()?;
    let end = validator.at;
    if scan::skip_space(text.as_bytes(), end) != text.len() {
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
fn too_deep() -> Error {
    Error::new(Reason::NestingTooDeep, "the JSON text is nested deeper than the limit")
        .with_limit(u64::from(MAXIMUM_DEPTH))
}

#[cold]
fn lone_surrogate() -> Error {
    Error::new(Reason::LoneSurrogate, "a JSON string has an escaped surrogate without its other half")
}

#[cold]
fn duplicate_key() -> Error {
    Error::new(Reason::DuplicateKey, "a JSON object has the same member twice")
}

struct Validator<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
    /// One bit per open container, the innermost lowest: set for an object.
    objects: u128,
    keys: Keys<'a>,
}

impl Validator<'_> {
    /// The byte at the current place. At the end of the text it is 0, which is nowhere allowed.
    #[inline]
    fn byte(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    #[inline]
    fn byte_after_space(&mut self) -> u8 {
        self.at = scan::skip_space(self.bytes, self.at);
        self.byte()
    }

    /// The value at the current place, with everything in it.
    fn text(&mut self) -> Result<()> {
        loop {
            match self.byte() {
                b'"' => {
                    self.at += 1;
                    self.string()?;
                }
                b'{' => {
                    self.open(true)?;
                    if self.byte_after_space() != b'}' {
                        self.key()?;
                        continue;
                    }
                    self.close();
                }
                b'[' => {
                    self.open(false)?;
                    if self.byte_after_space() != b']' {
                        continue;
                    }
                    self.close();
                }
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                _ => return Err(malformed()),
            }
            if self.ends()? {
                return Ok(());
            }
        }
    }

    /// After a value: closes what ends here and goes to the next value. True when the whole text's value ended.
    #[inline]
    fn ends(&mut self) -> Result<bool> {
        while self.depth > 0 {
            let in_object = self.objects & 1 == 1;
            match self.byte_after_space() {
                b',' => {
                    self.at += 1;
                    self.byte_after_space();
                    if in_object {
                        self.key()?;
                    }
                    return Ok(false);
                }
                b'}' if in_object => self.close(),
                b']' if !in_object => self.close(),
                _ => return Err(malformed()),
            }
        }
        Ok(true)
    }

    #[inline]
    fn open(&mut self, object: bool) -> Result<()> {
        if self.depth == MAXIMUM_DEPTH {
            return Err(too_deep());
        }
        self.at += 1;
        self.depth += 1;
        self.objects = (self.objects << 1) | u128::from(object);
        if object {
            self.keys.open();
        }
        Ok(())
    }

    #[inline]
    fn close(&mut self) {
        if self.objects & 1 == 1 {
            self.keys.close();
        }
        self.at += 1;
        self.depth -= 1;
        self.objects >>= 1;
    }

    /// A key with its colon, up to the value.
    #[inline]
    fn key(&mut self) -> Result<()> {
        if self.byte() != b'"' {
            return Err(malformed());
        }
        self.at += 1;
        let start = self.at;
        let escaped = self.string()?;
        if !self.keys.add(start, self.at - 1, escaped) {
            return Err(duplicate_key());
        }
        if self.byte_after_space() != b':' {
            return Err(malformed());
        }
        self.at += 1;
        self.byte_after_space();
        Ok(())
    }

    /// The rest of a string whose opening quote was read. True if it has escapes.
    #[inline]
    fn string(&mut self) -> Result<bool> {
        self.at = scan::plain_end(self.bytes, self.at);
        if self.byte() == b'"' {
            self.at += 1;
            return Ok(false);
        }
        self.string_with_escapes()?;
        Ok(true)
    }

    fn string_with_escapes(&mut self) -> Result<()> {
        loop {
            match self.byte() {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.escape()?,
                _ => return Err(malformed()),
            }
            self.at = scan::plain_end(self.bytes, self.at);
        }
    }

    #[inline]
    fn escape(&mut self) -> Result<()> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => self.unicode_escape(),
            _ => Err(malformed()),
        }
    }

    fn unicode_escape(&mut self) -> Result<()> {
        let unit = hex4(self.bytes, self.at + 2).ok_or_else(malformed)?;
        self.at += 6;
        if is_low_surrogate(unit) {
            return Err(lone_surrogate());
        }
        if is_high_surrogate(unit) {
            if self.bytes.get(self.at..self.at + 2) != Some(b"\\u") {
                return Err(lone_surrogate());
            }
            let low = hex4(self.bytes, self.at + 2).ok_or_else(malformed)?;
            if !is_low_surrogate(low) {
                return Err(lone_surrogate());
            }
            self.at += 6;
        }
        Ok(())
    }

    #[inline]
    fn number(&mut self) -> Result<()> {
        if self.byte() == b'-' {
            self.at += 1;
        }
        if self.byte() == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.byte(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// One or more digits.
    #[inline]
    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
        if self.at == start { Err(malformed()) } else { Ok(()) }
    }

    #[inline]
    fn literal(&mut self, literal: &'static [u8]) -> Result<()> {
        if !self.bytes[self.at..].starts_with(literal) {
            return Err(malformed());
        }
        self.at += literal.len();
        Ok(())
    }
}
