//! What goes to the server as parameters and comes back as columns, in the binary forms of the protocol.

#![forbid(unsafe_code)]

use std::ops::Range;
use std::sync::Arc;

use fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::DataRowBody;

use super::super::sql::{Source, SqlValue, Unreadable};
use super::fault::Fault;

const BOOL: u32 = 16;
const BYTEA: u32 = 17;
const INT8: u32 = 20;
const INT4: u32 = 23;
const TEXT: u32 = 25;
const VARCHAR: u32 = 1043;
const TEXT_ARRAY: u32 = 1009;
const INT8_ARRAY: u32 = 1016;

/// The parameters of one statement.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    bytes: Vec<u8>,
    /// The type of each, and where it stands; `None` is NULL.
    places: Vec<(u32, Option<Range<usize>>)>,
}

impl Values {
    pub(super) const NONE: Self = Self { bytes: Vec::new(), places: Vec::new() };

    fn add(&mut self, type_oid: u32, bytes: Option<&[u8]>) {
        let place = bytes.map(|bytes| {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(bytes);
            start..self.bytes.len()
        });
        self.places.push((type_oid, place));
    }

    /// Adds a value.
    pub(super) fn push(&mut self, value: SqlValue<'_>) {
        match value {
            SqlValue::Integer(number) => {
                self.add(INT8, number.map(i64::to_be_bytes).as_ref().map(|bytes| &bytes[..]));
            }
            SqlValue::Flag(flag) => self.add(BOOL, Some(&[u8::from(flag)])),
            SqlValue::Text(text) => self.add(TEXT, text),
            SqlValue::Bytes(bytes) => self.add(BYTEA, bytes),
            SqlValue::Other => self.add(TEXT, None),
        }
    }

    fn array<'a>(&mut self, of: u32, type_oid: u32, elements: impl ExactSizeIterator<Item = &'a [u8]>) {
        let start = self.bytes.len();
        let count = i32::try_from(elements.len()).unwrap_or(i32::MAX);
        let dimensions = i32::from(count > 0);
        for number in [dimensions, 0, i32::try_from(of).unwrap_or_default()] {
            self.bytes.extend_from_slice(&number.to_be_bytes());
        }
        if count > 0 {
            for number in [count, 1] {
                self.bytes.extend_from_slice(&number.to_be_bytes());
            }
        }
        for element in elements {
            self.bytes.extend_from_slice(&i32::try_from(element.len()).unwrap_or(i32::MAX).to_be_bytes());
            self.bytes.extend_from_slice(element);
        }
        self.places.push((type_oid, Some(start..self.bytes.len())));
    }

    /// Adds an array of texts.
    pub(super) fn push_texts<'a>(&mut self, texts: impl ExactSizeIterator<Item = &'a str>) {
        self.array(TEXT, TEXT_ARRAY, texts.map(str::as_bytes));
    }

    /// Adds an array of numbers.
    pub(super) fn push_integers(&mut self, numbers: &[i64]) {
        let bytes: Vec<[u8; 8]> = numbers.iter().map(|number| number.to_be_bytes()).collect();
        self.array(INT8, INT8_ARRAY, bytes.iter().map(|bytes| &bytes[..]));
    }

    /// The types, in order.
    pub(super) fn types(&self) -> impl Iterator<Item = u32> + '_ {
        self.places.iter().map(|(type_oid, _)| *type_oid)
    }

    /// The bytes of each.
    pub(super) fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> + '_ {
        self.places.iter().map(|(_, place)| place.clone().map(|place| &self.bytes[place]))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }
}

/// Puts values together.
macro_rules! values {
    ($($value:expr),* $(,)?) => {{
        #[allow(unused_mut, reason = "there may be none")]
        let mut values = $crate::store::postgres::values::Values::default();
        $( values.push($value.into()); )*
        values
    }};
}
pub(super) use values;

/// A row of an answer.
pub(super) struct Row {
    body: DataRowBody,
    places: Vec<Option<Range<usize>>>,
    types: Arc<[u32]>,
}

impl Row {
    pub(super) fn new(body: DataRowBody, types: &Arc<[u32]>) -> Result<Self, Fault> {
        let places: Vec<_> = body.ranges().collect().map_err(|_| Fault::Protocol)?;
        if places.len() != types.len() {
            return Err(Fault::Protocol);
        }
        Ok(Self { body, places, types: Arc::clone(types) })
    }

    /// A number, where the statement is known to give one.
    pub(super) fn integer(&self, at: usize) -> i64 {
        match self.value(at) {
            Ok(SqlValue::Integer(number)) => number.unwrap_or(0),
            Ok(SqlValue::Flag(flag)) => i64::from(flag),
            _ => 0,
        }
    }

    /// A number or NULL.
    pub(super) fn optional_integer(&self, at: usize) -> Option<i64> {
        match self.value(at) {
            Ok(SqlValue::Integer(number)) => number,
            _ => None,
        }
    }

    pub(super) fn flag(&self, at: usize) -> bool {
        self.integer(at) != 0
    }

    /// A text, as far as it can be read.
    pub(super) fn text(&self, at: usize) -> String {
        match self.value(at) {
            Ok(SqlValue::Text(Some(bytes))) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        }
    }

    /// How many columns there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn is_null(&self, at: usize) -> bool {
        self.places.get(at).is_none_or(Option::is_none)
    }
}

impl<'r> Source<'r> for &'r Row {
    fn value(&self, at: usize) -> Result<SqlValue<'r>, Unreadable> {
        let (place, type_oid) = self.places.get(at).zip(self.types.get(at)).ok_or(Unreadable)?;
        let bytes = place.clone().map(|place| &self.body.buffer()[place]);
        Ok(match *type_oid {
            TEXT | VARCHAR => SqlValue::Text(bytes),
            BYTEA => SqlValue::Bytes(bytes),
            INT8 => SqlValue::Integer(number::<8>(bytes)?.map(i64::from_be_bytes)),
            INT4 => SqlValue::Integer(number::<4>(bytes)?.map(|bytes| i32::from_be_bytes(bytes).into())),
            BOOL => match number::<1>(bytes)? {
                Some([flag]) => SqlValue::Flag(flag != 0),
                None => SqlValue::Integer(None),
            },
            _ if bytes.is_none() => SqlValue::Integer(None),
            _ => SqlValue::Other,
        })
    }
}

fn number<const N: usize>(bytes: Option<&[u8]>) -> Result<Option<[u8; N]>, Unreadable> {
    bytes.map(|bytes| bytes.try_into().map_err(|_| Unreadable)).transpose()
}
