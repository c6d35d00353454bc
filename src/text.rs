//! Text on its way to the host. A [`Text`] keeps room for the block header that `ffi` writes before it hands
//! the bytes out, so that a rendered document reaches the host without another copy. Where there is no memory for a
//! text it is cut short and says so when it is handed out or stored: appending cannot fail.

#![forbid(unsafe_code)]

use std::sync::Arc;

use crate::error::{Error, Reason, Result};
use crate::time::TIMESTAMP_LENGTH;

/// UTF-8 text under construction, with [`Text::HEADER`] unused bytes in front of it. They are bytes, and not a
/// `String`, so that a timestamp's digits need no check on the way in.
#[derive(Debug)]
pub struct Text {
    block: Vec<u8>,
    /// Whether something could not be appended because there was no memory for it.
    is_cut: bool,
}

impl Text {
    /// Bytes reserved in front of the text.
    pub(crate) const HEADER: usize = 16;

    /// An empty text with room for `capacity` bytes and the final NUL.
    #[inline]
    pub fn with_capacity(capacity: usize) -> Self {
        let mut this = Self { block: Vec::new(), is_cut: false };
        // More than any allocation can have is refused there, too.
        this.is_cut = this.block.try_reserve_exact(capacity.saturating_add(Self::HEADER + 1)).is_err();
        this.push_bytes(&[0; Self::HEADER]);
        this
    }

    /// Makes room for `additional` bytes more.
    #[cold]
    #[inline(never)]
    pub(crate) fn reserve(&mut self, additional: usize) {
        self.is_cut = self.is_cut || self.block.try_reserve(additional).is_err();
    }

    #[inline]
    fn push_bytes(&mut self, bytes: &[u8]) {
        if self.block.capacity() - self.block.len() < bytes.len() {
            self.reserve(bytes.len());
            if self.is_cut {
                return;
            }
        }
        self.block.extend_from_slice(bytes);
    }

    /// Appends `text` as it is.
    #[inline]
    pub fn push_str(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
    }

    /// Appends one integer in decimal digits.
    #[inline]
    pub fn push_int(&mut self, value: impl itoa::Integer) {
        self.push_str(itoa::Buffer::new().format(value));
    }

    /// Appends a timestamp as [`crate::time::format_timestamp`] gives it.
    #[inline]
    pub fn push_timestamp(&mut self, timestamp: &[u8; TIMESTAMP_LENGTH]) {
        self.push_bytes(timestamp);
    }

    /// Appends `text` as a JSON string, quotes included.
    pub fn push_json_string(&mut self, text: &str) {
        // Appending does not fail, and neither does writing a string.
        let _ = serde_json::to_writer(&mut *self, text);
    }

    /// Appends `text` as a JSON string, or `null`.
    pub fn push_json_string_or_null(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.push_json_string(text),
            None => self.push_str("null"),
        }
    }

    /// Refuses a text that there was no memory for.
    #[inline]
    pub fn check(self) -> Result<Self> {
        if self.is_cut { Err(no_room()) } else { Ok(self) }
    }

    /// Length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.block.len().saturating_sub(Self::HEADER)
    }

    /// The text so far. What was appended was UTF-8, and this makes sure of it.
    pub fn as_str(&self) -> &str {
        self.block
            .get(Self::HEADER..)
            .and_then(|text| simdutf8::basic::from_utf8(text).ok())
            .unwrap_or_default()
    }

    /// The whole block: header room, the text, a NUL.
    #[inline]
    pub(crate) fn into_block(mut self) -> Result<Vec<u8>> {
        self.push_bytes(b"\0");
        Ok(self.check()?.block)
    }
}

/// For [`serde_json`], which writes nothing but UTF-8.
impl std::io::Write for Text {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.push_bytes(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let mut this = Self::with_capacity(text.len());
        this.push_str(text);
        this
    }
}

/// From this size on a buffer is reserved so that the want of memory is an error and not the end of the process.
pub(crate) const LARGE_BYTES: usize = 64 * 1024;

/// A copy of `text` to be shared. Nothing stable makes an [`Arc`] in a way that may fail, so that room for a large
/// one is asked for first.
#[inline]
pub(crate) fn to_shared(text: &str) -> Result<Arc<str>> {
    check_room(text.len())?;
    Ok(text.into())
}

/// Refuses a large buffer that there is no memory for, where what makes the buffer cannot fail.
#[inline]
pub(crate) fn check_room(bytes: usize) -> Result<()> {
    if bytes >= LARGE_BYTES { try_room(bytes) } else { Ok(()) }
}

#[cold]
fn try_room(bytes: usize) -> Result<()> {
    Vec::<u8>::new().try_reserve_exact(bytes.saturating_add(64)).map_err(|_| no_room())
}

/// The refusal where there is no memory for a buffer.
#[cold]
pub(crate) fn no_room() -> Error {
    Error::new(Reason::SystemResource, "there is no memory for a buffer of this size")
}
