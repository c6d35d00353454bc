//! Reading the columns of a row, one after another. What stands there may be anything: whatever this library would not
//! have written makes the row unreadable, and is never taken for something else.

#![forbid(unsafe_code)]

use std::marker::PhantomData;

use crate::text::check_room;

/// The columns hold something that this library did not write.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Unreadable;

/// The value of a column, or that of a parameter of a statement; its type is known where it is NULL, too.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum SqlValue<'a> {
    Integer(Option<i64>),
    Flag(bool),
    /// Read: as the database has it, which may not be UTF-8.
    Text(Option<&'a [u8]>),
    Bytes(Option<&'a [u8]>),
    /// Of another type.
    Other,
}

impl<'a> From<&'a str> for SqlValue<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Some(text.as_bytes()))
    }
}

impl<'a> From<Option<&'a str>> for SqlValue<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Self::Text(text.map(str::as_bytes))
    }
}

impl From<i64> for SqlValue<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(Some(number))
    }
}

impl From<Option<i64>> for SqlValue<'_> {
    fn from(number: Option<i64>) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for SqlValue<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl<'a> From<&'a [u8]> for SqlValue<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(Some(bytes))
    }
}

impl<'a> From<Option<&'a [u8]>> for SqlValue<'a> {
    fn from(bytes: Option<&'a [u8]>) -> Self {
        Self::Bytes(bytes)
    }
}

/// The columns of one row as a database gives them.
pub(in super::super) trait Source<'r> {
    /// The value of the column at a place; a NULL is one of any type.
    fn value(&self, at: usize) -> Result<SqlValue<'r>, Unreadable>;
}

/// Reads columns one after another.
pub(in super::super) struct Reader<'r, S> {
    source: S,
    at: usize,
    is_thorough: bool,
    /// Whether there was no memory for what a column holds.
    lacks_room: bool,
    row: PhantomData<&'r ()>,
}

impl<'r, S: Source<'r>> Reader<'r, S> {
    pub(in super::super) fn new(source: S, at: usize) -> Self {
        Self { source, at, is_thorough: false, lacks_room: false, row: PhantomData }
    }

    /// One that also parses every JSON text.
    pub(in super::super) fn thorough(source: S, at: usize) -> Self {
        Self { is_thorough: true, ..Self::new(source, at) }
    }

    /// Whether there was no memory for what a column holds. A row that there is no memory for is not one that cannot be
    /// read.
    pub(in super::super) fn lacks_room(&self) -> bool {
        self.lacks_room
    }

    fn value(&mut self) -> Result<SqlValue<'r>, Unreadable> {
        self.at += 1;
        self.source.value(self.at - 1)
    }

    pub(in super::super) fn text(&mut self) -> Result<&'r str, Unreadable> {
        self.optional_text()?.ok_or(Unreadable)
    }

    pub(in super::super) fn optional_text(&mut self) -> Result<Option<&'r str>, Unreadable> {
        match self.value()? {
            SqlValue::Text(None) | SqlValue::Integer(None) | SqlValue::Bytes(None) => Ok(None),
            // It is copied into a row, and once more to be put together with the other texts.
            SqlValue::Text(Some(bytes)) if check_room(2 * bytes.len()).is_err() => {
                self.lacks_room = true;
                Err(Unreadable)
            }
            SqlValue::Text(Some(bytes)) => {
                simdutf8::basic::from_utf8(bytes).map(Some).map_err(|_| Unreadable)
            }
            _ => Err(Unreadable),
        }
    }

    pub(in super::super) fn optional_bytes(&mut self) -> Result<Option<&'r [u8]>, Unreadable> {
        match self.value()? {
            SqlValue::Bytes(bytes) => Ok(bytes),
            SqlValue::Text(None) | SqlValue::Integer(None) => Ok(None),
            _ => Err(Unreadable),
        }
    }

    pub(in super::super) fn integer(&mut self) -> Result<i64, Unreadable> {
        self.optional_integer()?.ok_or(Unreadable)
    }

    pub(in super::super) fn optional_integer(&mut self) -> Result<Option<i64>, Unreadable> {
        match self.value()? {
            SqlValue::Integer(number) => Ok(number),
            SqlValue::Text(None) | SqlValue::Bytes(None) => Ok(None),
            _ => Err(Unreadable),
        }
    }

    pub(in super::super) fn flag(&mut self) -> Result<bool, Unreadable> {
        match self.value()? {
            SqlValue::Flag(flag) => Ok(flag),
            SqlValue::Integer(Some(number @ (0 | 1))) => Ok(number == 1),
            _ => Err(Unreadable),
        }
    }

    /// A count that this library keeps as `u64` and a database as a signed number.
    pub(in super::super) fn count(&mut self) -> Result<u64, Unreadable> {
        u64::try_from(self.integer()?).map_err(|_| Unreadable)
    }

    /// A JSON text. It was validated when it came, so that a read looks only at its two ends.
    pub(in super::super) fn json(&mut self) -> Result<&'r str, Unreadable> {
        let text = self.text()?;
        self.check_json(text)?;
        Ok(text)
    }

    /// A JSON text, or NULL.
    pub(in super::super) fn optional_json(&mut self) -> Result<Option<&'r str>, Unreadable> {
        let text = self.optional_text()?;
        text.map_or(Ok(()), |text| self.check_json(text))?;
        Ok(text)
    }

    /// A JSON text whose parts are needed, or NULL.
    pub(in super::super) fn optional_parsed(&mut self) -> Result<Option<&'r str>, Unreadable> {
        let text = self.optional_text()?;
        text.map_or(Ok(()), parse)?;
        Ok(text)
    }

    fn check_json(&self, text: &str) -> Result<(), Unreadable> {
        if self.is_thorough {
            return parse(text);
        }
        match text.as_bytes() {
            [b'{', .., b'}'] | [b'[', .., b']'] | [b'"', .., b'"'] => Ok(()),
            [b'{' | b'[' | b'"', ..] => Err(Unreadable),
            // Numbers and words are short.
            _ => parse(text),
        }
    }
}

fn parse(text: &str) -> Result<(), Unreadable> {
    crate::json::parse(text, u64::MAX).map(|_| ()).map_err(|_| Unreadable)
}

/// A `u64` as a database keeps it. Beyond a signed number it stays at the largest.
pub(in super::super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
