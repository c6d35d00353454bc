//! JSON as this library needs it: texts are validated once, on the way in, and kept byte for byte; what a
//! rule needs of them is read by walking the validated text. Nothing here builds a tree or turns a number
//! into a double.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use crate::error::Result;

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

/// One value inside a validated text. Copying it copies a reference.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    text: &'a str,
}

/// Validates one JSON text in a single pass without recursion, as design section 4 says: RFC 8259, no byte
/// order mark, no duplicate keys (by decoded name), no lone surrogate escapes, at most `maximum_bytes` and
/// [`MAXIMUM_DEPTH`]. Surrounding white space is accepted and is not part of the value.
pub fn parse(_text: &str, _maximum_bytes: u64) -> Result<Value<'_>> {
    todo!()
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
        todo!()
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// The decoded string, if it is one.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        todo!()
    }

    /// The boolean, if it is one.
    pub fn as_bool(self) -> Option<bool> {
        todo!()
    }

    /// The integer, if it is a number written without fraction and exponent that fits.
    pub fn as_i64(self) -> Option<i64> {
        todo!()
    }

    /// The integer, if it is a number written without sign, fraction and exponent that fits.
    pub fn as_u64(self) -> Option<u64> {
        todo!()
    }

    /// The members of an object, in order; of anything else, none.
    pub fn members(self) -> Members<'a> {
        todo!()
    }

    /// The elements of an array, in order; of anything else, none.
    pub fn elements(self) -> Elements<'a> {
        todo!()
    }

    /// The value of the member whose decoded name is `name`.
    pub fn get(self, _name: &str) -> Option<Value<'a>> {
        todo!()
    }

    /// Equality of meaning: key order does not count, strings and keys compare decoded, numbers by their text.
    pub fn same_meaning(self, _other: Value<'_>) -> bool {
        todo!()
    }

    /// The value that an RFC 6901 pointer names, or `None`. A malformed pointer is `INVALID_ARGUMENT`.
    pub fn pointer(self, _pointer: &str) -> Result<Option<Value<'a>>> {
        todo!()
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
        todo!()
    }
}

/// Walks the members of an object.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Members<'a> {
    type Item = JsonMember<'a>;
    fn next(&mut self) -> Option<JsonMember<'a>> {
        let _ = self.rest;
        todo!()
    }
}

/// Walks the elements of an array.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;
    fn next(&mut self) -> Option<Value<'a>> {
        let _ = self.rest;
        todo!()
    }
}

/// Byte offset of `part` in `whole`; both must be slices of one text, as values and their parts are.
pub fn offset_in(_whole: &str, _part: &str) -> usize {
    todo!()
}
