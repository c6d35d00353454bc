//! The one error type. A refusal has a [`Reason`] out of a closed list; each reason belongs to one
//! [`Status`]. Messages are fixed texts: they never contain ids, keys, partitions, payloads or URLs.

#![forbid(unsafe_code)]

pub use crate::reason::{Reason, Status};

/// Short for a result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;

/// A refusal or a failure. Boxed, so that the happy path carries one pointer.
#[derive(Debug)]
pub struct Error(Box<Details>);

#[derive(Debug)]
struct Details {
    reason: Reason,
    message: &'static str,
    key: Option<String>,
    limit: Option<u64>,
    response: Option<String>,
}

impl Error {
    /// An error with a fixed message.
    #[cold]
    pub fn new(reason: Reason, message: &'static str) -> Self {
        Self(Box::new(Details { reason, message, key: None, limit: None, response: None }))
    }

    /// Names the option, member or parameter that is at fault. Only names that this library defines, or
    /// the name of an unknown option, may stand here.
    #[must_use]
    pub fn with_key(mut self, key: &str) -> Self {
        // An unknown option's name comes from the caller: long ones are cut at a character boundary.
        let end = key.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|&end| end <= 64).last();
        self.0.key = Some(key[..end.unwrap_or(0)].to_owned());
        self
    }

    /// Names the parameter that is at fault, unless it is known more closely.
    #[must_use]
    pub fn about(self, parameter: &str) -> Self {
        if self.0.key.is_some() { self } else { self.with_key(parameter) }
    }

    /// States the limit that was broken.
    #[must_use]
    pub fn with_limit(mut self, limit: u64) -> Self {
        self.0.limit = Some(limit);
        self
    }

    /// Adds the JSON-RPC response that a protocol host may send although the call failed.
    #[must_use]
    pub fn with_response(mut self, response: String) -> Self {
        self.0.response = Some(response);
        self
    }

    /// Why.
    pub fn reason(&self) -> Reason {
        self.0.reason
    }

    /// What to branch on.
    pub fn status(&self) -> Status {
        self.0.reason.status()
    }

    /// The option, member or parameter at fault, if one was named.
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// What happened, in fixed words.
    pub fn message(&self) -> &'static str {
        self.0.message
    }

    /// The limit that was broken, if one was stated.
    pub fn limit(&self) -> Option<u64> {
        self.0.limit
    }

    /// The JSON-RPC response that a protocol host may send although the call failed.
    pub fn response(&self) -> Option<&str> {
        self.0.response.as_deref()
    }
}

/// An error about the value of one member or parameter.
#[cold]
pub(crate) fn invalid(key: &str, message: &'static str) -> Error {
    Error::new(Reason::InvalidValue, message).with_key(key)
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.message)
    }
}

impl std::error::Error for Error {}
