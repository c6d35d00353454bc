//! Text on its way to the host. A [`Text`] keeps room for the block header that `ffi` writes before it hands
//! the bytes out, so that a rendered document reaches the host without another copy.

#![forbid(unsafe_code)]

use std::io::Write as _;

/// UTF-8 text under construction, with [`Text::HEADER`] unused bytes in front of it.
#[derive(Debug)]
pub struct Text {
    block: Vec<u8>,
}

const HEX: &[u8; 16] = b"0123456789abcdef";

impl Text {
    /// Bytes reserved in front of the text.
    pub(crate) const HEADER: usize = 16;

    /// An empty text with room for `capacity` bytes and the final NUL.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut block = Vec::with_capacity(Self::HEADER + capacity + 1);
        block.extend_from_slice(&[0; Self::HEADER]);
        Self { block }
    }

    /// Appends `text` as it is.
    #[inline]
    pub fn push_str(&mut self, text: &str) {
        self.block.extend_from_slice(text.as_bytes());
    }

    /// Appends one integer in decimal digits.
    pub fn push_int(&mut self, value: impl Into<i128>) {
        let value: i128 = value.into();
        let Ok(mut rest) = u64::try_from(value) else {
            // Writing to a Vec cannot fail.
            let _ = write!(self.block, "{value}");
            return;
        };
        // Formatting 128-bit integers is slow, and transitions write several numbers.
        let mut digits = [b'0'; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.block.extend_from_slice(&digits[start..]);
    }

    /// Appends `text` as a JSON string, quotes included.
    pub fn push_json_string(&mut self, text: &str) {
        self.block.push(b'"');
        let bytes = text.as_bytes();
        let mut start = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            if byte >= 0x20 && byte != b'"' && byte != b'\\' {
                continue;
            }
            self.block.extend_from_slice(&bytes[start..at]);
            start = at + 1;
            match byte {
                b'"' => self.block.extend_from_slice(b"\\\""),
                b'\\' => self.block.extend_from_slice(b"\\\\"),
                b'\n' => self.block.extend_from_slice(b"\\n"),
                b'\r' => self.block.extend_from_slice(b"\\r"),
                b'\t' => self.block.extend_from_slice(b"\\t"),
                _ => self.block.extend_from_slice(&[
                    b'\\',
                    b'u',
                    b'0',
                    b'0',
                    HEX[usize::from(byte >> 4)],
                    HEX[usize::from(byte & 15)],
                ]),
            }
        }
        self.block.extend_from_slice(&bytes[start..]);
        self.block.push(b'"');
    }

    /// Appends `text` as a JSON string, or `null`.
    pub fn push_json_string_or_null(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.push_json_string(text),
            None => self.push_str("null"),
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.block.len() - Self::HEADER
    }

    /// Whether nothing was appended yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text so far.
    pub fn as_str(&self) -> &str {
        // Only whole `str`s and ASCII are ever appended.
        std::str::from_utf8(&self.block[Self::HEADER..]).unwrap_or_default()
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
