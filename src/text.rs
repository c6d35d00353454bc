//! Text on its way to the host. A [`Text`] keeps room for the block header that `ffi` writes before it hands
//! the bytes out, so that a rendered document reaches the host without another copy.

#![forbid(unsafe_code)]

use crate::time::TIMESTAMP_LENGTH;

/// UTF-8 text under construction, with [`Text::HEADER`] unused bytes in front of it.
#[derive(Debug)]
pub struct Text {
    block: String,
}

impl Text {
    /// Bytes reserved in front of the text.
    pub(crate) const HEADER: usize = 16;

    /// An empty text with room for `capacity` bytes and the final NUL.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut block = String::with_capacity(Self::HEADER + capacity + 1);
        block.push_str(HEADER_ROOM);
        Self { block }
    }

    /// Makes room for `additional` bytes more.
    pub(crate) fn reserve(&mut self, additional: usize) {
        self.block.reserve(additional);
    }

    /// Appends `text` as it is.
    #[inline]
    pub fn push_str(&mut self, text: &str) {
        self.block.push_str(text);
    }

    /// Appends one integer in decimal digits.
    #[inline]
    pub fn push_int(&mut self, value: impl itoa::Integer) {
        self.push_str(itoa::Buffer::new().format(value));
    }

    /// Appends a timestamp as [`crate::time::format_timestamp`] gives it.
    #[inline]
    pub fn push_timestamp(&mut self, timestamp: &[u8; TIMESTAMP_LENGTH]) {
        self.push_str(std::str::from_utf8(timestamp).unwrap_or_default());
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
                        self.block.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
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

    /// The text so far.
    pub fn as_str(&self) -> &str {
        &self.block[Self::HEADER..]
    }

    /// The whole block: header room, then the text.
    pub(crate) fn into_block(self) -> Vec<u8> {
        self.block.into_bytes()
    }
}

const HEADER_ROOM: &str = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
const _: () = assert!(HEADER_ROOM.len() == Text::HEADER);

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let mut this = Self::with_capacity(text.len());
        this.push_str(text);
        this
    }
}
