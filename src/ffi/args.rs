//! What the host passes: the only place where its pointers are read or written. An [`Out`] is an
//! out-parameter, cleared when it is made and never read; a string is borrowed for the call and checked to
//! be UTF-8 before anyone sees it.

use std::ffi::{CStr, c_char};
use std::ptr;
use std::time::Duration;

use super::block::hand_out;
use crate::error::{Error, Reason, Result};
use crate::text::Text;

/// What an out-parameter holds when the call gives nothing.
pub(super) trait Cleared: Copy {
    const CLEARED: Self;
}

impl Cleared for i32 {
    const CLEARED: Self = 0;
}

impl Cleared for u64 {
    const CLEARED: Self = 0;
}

impl<T> Cleared for *mut T {
    const CLEARED: Self = ptr::null_mut();
}

/// An out-parameter of the running export.
#[derive(Clone, Copy)]
pub(super) struct Out<T>(*mut T);

impl<T: Cleared> Out<T> {
    /// Clears the out-parameter `pointer`.
    ///
    /// # Safety
    /// `pointer` is NULL, or may be written through as long as this value lives.
    #[inline]
    pub(super) unsafe fn clear(pointer: *mut T) -> Self {
        let this = Self(pointer);
        this.set(T::CLEARED);
        this
    }

    /// An out-parameter that the function does not have.
    pub(super) fn none() -> Self {
        Self(ptr::null_mut())
    }

    /// Whether the host gave a place to write to.
    pub(super) fn is_wanted(self) -> bool {
        !self.0.is_null()
    }

    /// Refuses the call when the host gave no place to write to.
    #[inline]
    pub(super) fn require(self, name: &str) -> Result<()> {
        if self.is_wanted() { Ok(()) } else { Err(null_argument(name)) }
    }

    /// Writes the value, if the host wants it.
    #[inline]
    pub(super) fn set(self, value: T) {
        if self.is_wanted() {
            // SAFETY: whoever made this value promised that the pointer may be written through.
            unsafe { self.0.write(value) };
        }
    }
}

impl Out<*mut c_char> {
    /// Hands `text` out, if the host wants it.
    #[inline]
    pub(super) fn give(self, text: Text) -> Result<()> {
        if self.is_wanted() {
            self.set(hand_out(text)?);
        }
        Ok(())
    }

    /// Hands out what `text` gives, if the host wants it.
    #[inline]
    pub(super) fn give_with(self, text: impl FnOnce() -> Text) -> Result<()> {
        if self.is_wanted() {
            self.set(hand_out(text())?);
        }
        Ok(())
    }

    /// Hands `text` out, if there is one; else the out-parameter stays NULL.
    #[inline]
    pub(super) fn give_optional(self, text: Option<Text>) -> Result<()> {
        text.map_or(Ok(()), |text| self.give(text))
    }
}

/// The bytes of the string parameter `name`, which must not be NULL, without its final NUL.
///
/// # Safety
/// `pointer` is NULL, or points to a NUL-terminated string that stays unchanged for `'a`.
#[inline]
pub(super) unsafe fn bytes<'a>(name: &str, pointer: *const c_char) -> Result<&'a [u8]> {
    if pointer.is_null() {
        return Err(null_argument(name));
    }
    // SAFETY: it is not NULL, and the caller promised the rest.
    Ok(unsafe { CStr::from_ptr(pointer) }.to_bytes())
}

/// Below so many bytes `simdutf8` does what the standard library does.
const SHORT: usize = 64;

/// The string parameter `name`, which must not be NULL.
///
/// # Safety
/// As [`bytes`].
#[inline]
pub(super) unsafe fn text<'a>(name: &str, pointer: *const c_char) -> Result<&'a str> {
    // SAFETY: the caller promised it.
    let bytes = unsafe { bytes(name, pointer) }?;
    // Most ids: what checks long texts by vectors checks short ones byte by byte.
    if bytes.len() < SHORT && bytes.is_ascii() {
        // SAFETY: ASCII is UTF-8.
        return Ok(unsafe { std::str::from_utf8_unchecked(bytes) });
    }
    simdutf8::basic::from_utf8(bytes)
        .map_err(|_| Error::new(Reason::InvalidUtf8, "the string is not valid UTF-8").with_key(name))
}

/// The string parameter `name`, which may be NULL.
///
/// # Safety
/// As [`bytes`].
#[inline]
pub(super) unsafe fn optional_text<'a>(name: &str, pointer: *const c_char) -> Result<Option<&'a str>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller promised it.
    unsafe { text(name, pointer) }.map(Some)
}

/// The timeout that never ends.
pub(super) const WAIT_FOREVER: u32 = u32::MAX;

/// The time to wait; `None` is for ever.
pub(super) fn timeout(timeout_ms: u32) -> Option<Duration> {
    (timeout_ms != WAIT_FOREVER).then(|| Duration::from_millis(timeout_ms.into()))
}

/// The refusal of a NULL where something must stand.
#[cold]
pub(super) fn null_argument(name: &str) -> Error {
    Error::new(Reason::NullArgument, "a required pointer is NULL").with_key(name)
}
