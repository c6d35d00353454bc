//! Page tokens: where a listing goes on, by value. A token carries a digest over its own content and over what the
//! listing is of, so that a damaged one, or one of another listing, is refused. It names no row and gives no access:
//! whoever makes one up still sees only what the listing shows.
//!
//! The text is the hexadecimal form of a version, the digest and the content.

#![forbid(unsafe_code)]

use crate::error::{Error, Reason, Result};

const VERSION: u8 = 1;
const DIGEST_BYTES: usize = 8;

/// What a listing must have in common from page to page: its kind and its filters. The digest is the same in every
/// process and version, because a token may come back to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scope(Fnv1a);

impl Scope {
    /// A listing of this kind.
    pub(crate) fn new(kind: &str) -> Self {
        Self(Fnv1a::new()).with(Some(kind))
    }

    /// The listing narrowed by a filter, or by none in its place.
    pub(crate) fn with(self, filter: Option<&str>) -> Self {
        self.with_bytes(filter.map(str::as_bytes))
    }

    /// The listing narrowed by a number, or by none in its place.
    pub(crate) fn with_number(self, filter: Option<i64>) -> Self {
        self.with_bytes(filter.map(i64::to_be_bytes).as_ref().map(<[u8; 8]>::as_slice))
    }

    fn with_bytes(mut self, filter: Option<&[u8]>) -> Self {
        // Presence and length come first, so that neighbouring filters never read as one another.
        match filter {
            None => self.0.write(&[0]),
            Some(bytes) => {
                self.0.write(&[1]);
                self.0.write(&(bytes.len() as u64).to_be_bytes());
                self.0.write(bytes);
            }
        }
        self
    }

    fn digest(mut self, content: &[u8]) -> [u8; DIGEST_BYTES] {
        self.0.write(content);
        self.0.0.to_be_bytes()
    }
}

/// The token with `content` of a listing of `scope`.
pub(crate) fn encode(scope: Scope, content: &[u8]) -> String {
    let mut text = String::with_capacity(2 * (1 + DIGEST_BYTES + content.len()));
    push_hex(&mut text, &[VERSION]);
    push_hex(&mut text, &scope.digest(content));
    push_hex(&mut text, content);
    text
}

/// What `read` makes of the content, at most `maximum_bytes` long, of a token that a listing of `scope` gave out.
pub(crate) fn decode<T>(
    text: &str,
    scope: Scope,
    maximum_bytes: usize,
    read: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<T> {
    content(text, scope, maximum_bytes).and_then(|content| read(&content)).ok_or_else(|| {
        Error::new(Reason::InvalidPageToken, "the page token is malformed or belongs to another listing")
            .with_key("pageToken")
    })
}

/// The token of a page that goes on after the row with this sequence number.
pub(crate) fn encode_number(scope: Scope, after: u64) -> String {
    encode(scope, &after.to_be_bytes())
}

/// The sequence number in such a token.
pub(crate) fn decode_number(text: &str, scope: Scope) -> Result<u64> {
    decode(text, scope, size_of::<u64>(), |content| content.try_into().ok().map(u64::from_be_bytes))
}

fn content(text: &str, scope: Scope, maximum_bytes: usize) -> Option<Vec<u8>> {
    if text.len() > 2 * (1 + DIGEST_BYTES + maximum_bytes) {
        return None;
    }
    let mut bytes = from_hex(text)?;
    let (&version, rest) = bytes.split_first()?;
    let (digest, content) = rest.split_first_chunk::<DIGEST_BYTES>()?;
    if version != VERSION || *digest != scope.digest(content) {
        return None;
    }
    Some(bytes.split_off(1 + DIGEST_BYTES))
}

/// FNV-1a with 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fnv1a(u64);

impl Fnv1a {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    for &byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
    }
}

/// Lower-case digits only, so that one token has one spelling.
fn from_hex(text: &str) -> Option<Vec<u8>> {
    let nibble = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|&[high, low]| Some(nibble(high)? << 4 | nibble(low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: usize = 40;

    fn content_of(text: &str, scope: Scope) -> Result<Vec<u8>> {
        decode(text, scope, LONGEST, |content| Some(content.to_vec()))
    }

    #[test]
    fn a_token_comes_back_as_it_was_and_is_the_same_in_every_version() {
        let scope = Scope::new("kind").with(Some("a")).with_number(Some(-1));
        for content in [&b""[..], b"\0", b"\xff\x00content", &[7; LONGEST]] {
            let text = encode(scope, content);
            assert!(text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
            assert_eq!(content_of(&text, scope).unwrap(), content);
        }
        assert_eq!(encode(Scope::new("kind"), b"\x01\xab"), "0173bb812d815c38b601ab");
        let mut hash = Fnv1a::new();
        hash.write(b"foobar");
        assert_eq!(hash.0, 0x8594_4171_f739_67e8, "a published value of FNV-1a");
    }

    #[test]
    fn a_token_of_another_listing_is_refused() {
        let kind = Scope::new("kind");
        let scopes = [
            kind,
            Scope::new("other"),
            Scope::new(""),
            kind.with(None),
            kind.with(Some("")),
            kind.with(Some("ab")),
            kind.with(Some("a")).with(Some("b")),
            kind.with(Some("a")).with(None),
            kind.with(None).with(Some("a")),
            kind.with_number(Some(0)),
            kind.with_number(Some(1)),
        ];
        for (at, from) in scopes.iter().enumerate() {
            let text = encode(*from, b"content");
            for (other, to) in scopes.iter().enumerate() {
                assert_eq!(content_of(&text, *to).is_ok(), at == other, "{from:?} {to:?}");
            }
        }
    }

    #[test]
    fn garbage_is_refused() {
        let scope = Scope::new("kind");
        let good = encode(scope, b"content");
        let mut garbage: Vec<String> = [
            " ",
            "x",
            "1:",
            "0",
            "00",
            "01",
            "999999999999999999999:a",
            "1735783445678:t",
            "null",
            "é",
            "🦀🦀",
            "%00",
            "\0",
            "-1",
            "AQ==",
        ]
        .map(str::to_owned)
        .to_vec();
        garbage.extend((0..good.len()).map(|end| good[..end].to_owned()));
        garbage.extend([format!("{good}0"), format!("{good}00"), format!(" {good}"), good.to_uppercase()]);
        garbage.extend([good.replacen("01", "02", 1), good.replacen("01", "+1", 1)]);
        garbage.extend([
            "0".repeat(2 * (9 + LONGEST)),
            "0".repeat(1 << 20),
            encode(scope, &[7; LONGEST + 1]),
        ]);
        for at in 0..good.len() {
            let mut bytes = good.clone().into_bytes();
            bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
            garbage.push(String::from_utf8(bytes).expect("ASCII"));
        }
        for text in garbage {
            let error = content_of(&text, scope).expect_err(&text);
            assert_eq!((error.reason(), error.key()), (Reason::InvalidPageToken, Some("pageToken")));
        }
        let refused = decode(&good, scope, LONGEST, |_| None::<()>).unwrap_err();
        assert_eq!(refused.reason(), Reason::InvalidPageToken, "content that no listing gives out");
    }
}
