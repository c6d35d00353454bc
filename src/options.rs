//! Reading the JSON objects that this library defines: options, creations, parameters. An unknown member is
//! refused by name, a wrong value too, with its limit; `null` stands for "not given".

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::ops::RangeInclusive;

use crate::error::{Error, Reason, Result, invalid};
use crate::json::{self, JsonMember, Kind, Value};

/// Most bytes of an identifier, endpoint, partition, owner or name.
pub(crate) const MAXIMUM_NAME_BYTES: usize = 1024;

/// Largest duration: it must fit a signed 64-bit count of nanoseconds.
pub(crate) const MAXIMUM_DURATION_MS: u64 = (i64::MAX / crate::clock::NANOS_PER_MILLI) as u64;

/// Rows on a page of an operators' listing, unless another number is asked for.
pub(crate) const DEFAULT_PAGE_SIZE: u64 = 100;

/// Most rows on such a page.
pub(crate) const MAXIMUM_PAGE_SIZE: u64 = 1000;

/// Most members that an object of this library's own has.
const MOST_MEMBERS: usize = 16;

/// The members of one object.
#[derive(Debug)]
pub struct Object<'a> {
    known: &'static [&'static str],
    /// In the order of `known`.
    values: [Option<Value<'a>>; MOST_MEMBERS],
    /// How many of `known` are to be looked through for those that are there: most objects have the first few.
    end: usize,
}

impl<'a> Object<'a> {
    fn empty(known: &'static [&'static str]) -> Self {
        Self { known, values: [None; MOST_MEMBERS], end: 0 }
    }

    /// Parses `text` (`None` stands for `{}`), which the parameter `parameter` gave, as an object that has only
    /// members in `known`.
    pub fn parse(
        parameter: &str,
        text: Option<&'a str>,
        known: &'static [&'static str],
        maximum_bytes: u64,
    ) -> Result<Self> {
        let Some(text) = text else { return Ok(Self::empty(known)) };
        Self::parse_text(text, known, maximum_bytes).map_err(|error| error.about(parameter))
    }

    fn parse_text(text: &'a str, known: &'static [&'static str], maximum_bytes: u64) -> Result<Self> {
        let mut this = Self::empty(known);
        let mut unknown = None;
        let value = json::parse_members(text, maximum_bytes, &mut |member| {
            if !this.note(member) {
                unknown.get_or_insert(member);
            }
        })?;
        this.checked(value, unknown)
    }

    /// The same for a value that was validated before.
    pub fn from_value(value: Value<'a>, known: &'static [&'static str]) -> Result<Self> {
        let mut this = Self::empty(known);
        let mut unknown = None;
        for member in value.members() {
            if !this.note(member) {
                unknown.get_or_insert(member);
            }
        }
        this.checked(value, unknown)
    }

    /// Keeps a member, if it is known.
    #[inline]
    fn note(&mut self, member: JsonMember<'a>) -> bool {
        let key = member.key();
        let place = self.known.iter().position(|known| *known == key);
        if let Some(place) = place {
            self.values[place] = Some(member.value);
            self.end = self.end.max(place + 1);
        }
        place.is_some()
    }

    fn checked(self, value: Value<'a>, unknown: Option<JsonMember<'a>>) -> Result<Self> {
        if value.kind() != Kind::Object {
            return Err(Error::new(Reason::InvalidValue, "a JSON object is expected here"));
        }
        match unknown {
            None => Ok(self),
            Some(member) => {
                Err(Error::new(Reason::UnknownKey, "the object has an unknown member")
                    .with_key(&member.key()))
            }
        }
    }

    /// The member `key`, if it is there and not null.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        self.get_or_null(key).filter(|value| !value.is_null())
    }

    /// The member `key`, if it is there.
    pub fn get_or_null(&self, key: &str) -> Option<Value<'a>> {
        let place = self.known[..self.end].iter().position(|known| *known == key)?;
        self.values[place]
    }

    /// Whether there is one of the members that are known from `key` on, which may be null.
    pub fn has_from(&self, key: &str) -> bool {
        !self.known[self.end..].contains(&key)
    }

    /// A string.
    pub fn string(&self, key: &str) -> Result<Option<Cow<'a, str>>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| invalid(key, "the member must be a string"))
    }

    /// A boolean.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| invalid(key, "the member must be true or false"))
    }

    /// A whole number within `range`. The error states the bound that was broken.
    pub fn whole_number(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let (low, high) = (*range.start(), *range.end());
        match value.as_u64() {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            Some(number) if number > high => {
                Err(invalid(key, "the member must be a whole number and not above the limit")
                    .with_limit(high))
            }
            _ if value.as_i64().is_some() => {
                Err(invalid(key, "the member must be a whole number and not below the limit").with_limit(low))
            }
            // Too large for any integer type, or no whole number at all.
            _ => Err(invalid(key, "the member must be a whole number within its limits").with_limit(high)),
        }
    }

    /// A string that is a name: an endpoint, partition, owner or table name (design section 4).
    pub fn name(&self, key: &str) -> Result<Option<Cow<'a, str>>> {
        let Some(name) = self.string(key)? else { return Ok(None) };
        check_name(&name, key)?;
        Ok(Some(name))
    }
}

/// Endpoints, partitions, owners and table names: any string of at most 1024 bytes without NUL.
pub fn check_name(name: &str, key: &str) -> Result<()> {
    if name.len() > MAXIMUM_NAME_BYTES {
        return Err(
            invalid(key, "the name has more bytes than the limit").with_limit(MAXIMUM_NAME_BYTES as u64)
        );
    }
    if has_nul(name) {
        return Err(Error::new(Reason::EmbeddedNul, "the name holds U+0000").with_key(key));
    }
    Ok(())
}

/// Whether U+0000 is in a name. Without leaving early, which for short texts is quicker than a search.
#[inline]
pub(crate) fn has_nul(name: &str) -> bool {
    name.bytes().fold(false, |found, byte| found | matches!(byte, b'\0'))
}

/// Task, session and context ids: 1 to 1024 bytes, not blank, without CR, LF or NUL.
pub fn check_identifier(id: &str, key: &str) -> Result<()> {
    let refused = |message| Error::new(Reason::InvalidIdentifier, message).with_key(key);
    if id.len() > MAXIMUM_NAME_BYTES {
        return Err(
            refused("the identifier has more bytes than the limit").with_limit(MAXIMUM_NAME_BYTES as u64)
        );
    }
    // Looking at every byte, without leaving early, is what the compiler turns into vector instructions. Nearly every
    // id is of visible characters, and one look is enough for it.
    if id.bytes().fold(!id.is_empty(), |visible, byte| visible & matches!(byte, b'!'..=b'~')) {
        return Ok(());
    }
    if id.bytes().fold(false, |found, byte| found | matches!(byte, b'\0' | b'\r' | b'\n')) {
        return Err(refused("the identifier holds CR, LF or NUL"));
    }
    if id.chars().all(char::is_whitespace) {
        return Err(refused("the identifier is empty or blank"));
    }
    Ok(())
}
