//! Text on its way to the host. A [`Text`] keeps room for the block header that `ffi` writes before it hands
//! the bytes out, so that a rendered document reaches the host without another copy.

#![forbid(unsafe_code)]

use crate::time::TIMESTAMP_LENGTH;

/// UTF-8 text under construction, with [`Text::HEADER`] unused bytes in front of it. They are bytes, and not a
/// `String`, so that a timestamp's digits need no check on the way in.
#[derive(Debug)]
pub struct Text {
    block: Vec<u8>,
}

impl Text {
    /// Bytes reserved in front of the text.
    pub(crate) const HEADER: usize = 16;

    /// An empty text with room for `capacity` bytes and the final NUL.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut block = Vec::with_capacity(Self::HEADER + capacity + 1);
        block.extend_from_slice(&[0; Self::HEADER]);
        Self { block }
    }

    /// Makes room for `additional` bytes more.
    pub(crate) fn reserve(&mut self, additional: usize) {
        self.block.reserve(additional);
    }

    /// Appends `text` as it is.
    #[inline]
    pub fn push_str(&mut self, text: &str) {
        self.block.extend_from_slice(text.as_bytes());
    }

    /// Appends one integer in decimal digits.
    #[inline]
    pub fn push_int(&mut self, value: impl itoa::Integer) {
        self.push_str(itoa::Buffer::new().format(value));
    }

    /// Appends a timestamp as [`crate::time::format_timestamp`] gives it.
    #[inline]
    pub fn push_timestamp(&mut self, timestamp: &[u8; TIMESTAMP_LENGTH]) {
        self.block.extend_from_slice(timestamp);
    }

    /// Appends `text` as a JSON string, quotes included.
    pub fn push_json_string(&mut self, text: &str) {
        self.push_str("\"");
        let mut rest = text;
        // Every escaped character is one byte long, so the cuts are at character boundaries.
        while let Some(at) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
            self.push_str(&rest[..at]);
            match rest.as_bytes()[at] {
                b'"' => self.push_str("\\\""),
                b'\\' => self.push_str("\\\\"),
                b'\n' => self.push_str("\\n"),
                b'\r' => self.push_str("\\r"),
                b'\t' => self.push_str("\\t"),
                control => {
                    self.push_str("\\u00");
                    for digit in [control >> 4, control & 15] {
                        self.block.push(b"0123456789abcdef"[usize::from(digit)]);
                    }
                }
            }
            rest = &rest[at + 1..];
        }
        self.push_str(rest);
        self.push_str("\"");
    }

    /// Appends `text` as a JSON string, or `null`.
    pub fn push_json_string_or_null(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.push_json_string(text),
            None => self.push_str("null"),
        }
    }

    /// Length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.block.len() - Self::HEADER
    }

    /// The text so far. What was appended was UTF-8, and this makes sure of it.
    pub fn as_str(&self) -> &str {
        simdutf8::basic::from_utf8(&self.block[Self::HEADER..]).unwrap_or_default()
    }

    /// The whole block: header room, then the text.
    pub(crate) fn into_block(self) -> Vec<u8> {
        self.block
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let mut this = Self::with_capacity(text.len());
        this.push_str(text);
        this
    }
}
