//! JSON as this library needs it: texts are validated once, on the way in, and kept byte for byte; what a
//! rule needs of them is read by walking the validated text. Nothing here builds a tree or turns a number
//! into a double.

#![forbid(unsafe_code)]

mod decode;
mod equal;
mod keys;
mod pointer;
mod scan;
mod validate;
mod walk;
mod write;

use std::borrow::Cow;

use crate::error::Result;

pub use validate::{parse, parse_bytes, parse_given_out, parse_members};
pub use walk::{Elements, Members};
pub(crate) use write::{ArrayWriter, ObjectWriter};

/// Deepest nesting accepted.
pub(crate) const MAXIMUM_DEPTH: u32 = 128;

/// Most bytes of one payload, unless configured.
pub(crate) const DEFAULT_MAXIMUM_PAYLOAD_BYTES: u64 = 10 * 1024 * 1024;

/// What a JSON value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// One value inside a validated text. Copying it copies a reference. On text that was never validated every
/// method still gives some answer, but no meaningful one.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    text: &'a str,
}

impl<'a> Value<'a> {
    /// A value over a text that was validated before, such as a stored payload. No surrounding white space.
    pub fn trusted(text: &'a str) -> Self {
        Self { text }
    }

    /// The value's text, byte for byte.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        match self.text.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            _ => Kind::Null,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// The decoded string, if it is one.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        (self.kind() == Kind::String).then(|| decode::decode(inside(self.text)))
    }

    /// The boolean, if it is one.
    pub fn as_bool(self) -> Option<bool> {
        match self.text {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The integer, if it is a number written without fraction and exponent that fits.
    pub fn as_i64(self) -> Option<i64> {
        if self.kind() == Kind::Number { self.text.parse().ok() } else { None }
    }

    /// The integer, if it is a number written without fraction and exponent that fits; `-0` is 0.
    pub fn as_u64(self) -> Option<u64> {
        match self.text {
            "-0" => Some(0),
            text if self.kind() == Kind::Number => text.parse().ok(),
            _ => None,
        }
    }

    /// The members of an object, in order; of anything else, none.
    pub fn members(self) -> Members<'a> {
        Members::of(self)
    }

    /// The elements of an array, in order; of anything else, none.
    pub fn elements(self) -> Elements<'a> {
        Elements::of(self)
    }

    /// The value of the member whose decoded name is `name`.
    pub fn get(self, name: &str) -> Option<Value<'a>> {
        self.members()
            .find(|member| decode::decodes_to(inside(member.raw_key), name))
            .map(|member| member.value)
    }

    /// Equality of meaning: key order does not count, strings and keys compare decoded, numbers by their text.
    pub fn same_meaning(self, other: Value<'_>) -> bool {
        equal::same_meaning(self, other)
    }

    /// The value that an RFC 6901 pointer names, or `None`. A malformed pointer is `INVALID_ARGUMENT`.
    pub fn pointer(self, pointer: &str) -> Result<Option<Value<'a>>> {
        pointer::resolve(self, pointer)
    }
}

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub struct JsonMember<'a> {
    /// The key as it stands in the text, quotes included.
    pub raw_key: &'a str,
    /// The value.
    pub value: Value<'a>,
}

impl<'a> JsonMember<'a> {
    /// The decoded key.
    pub fn key(&self) -> Cow<'a, str> {
        decode::decode(inside(self.raw_key))
    }
}

/// What stands between the quotes of a string.
fn inside(string: &str) -> &str {
    let opened = string.strip_prefix('"').unwrap_or(string);
    opened.strip_suffix('"').unwrap_or(opened)
}

/// Byte offset of `part` in `whole`; both must be slices of one text, as values and their parts are.
pub fn offset_in(whole: &str, part: &str) -> usize {
    let offset = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    debug_assert!(offset <= whole.len(), "the part is not a slice of the whole");
    offset
}
