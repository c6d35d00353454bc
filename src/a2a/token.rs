//! Page tokens: where a listing goes on, by value, and how many tasks the first page counted. A token carries
//! a digest over its own content, the owner and the filters, so that a damaged one, or one of another listing,
//! is refused. It gives no access: whoever makes one up still sees only the owner's own tasks.

#![forbid(unsafe_code)]

use crate::error::{Error, Reason, Result};
use crate::options::{MAXIMUM_NAME_BYTES, check_identifier};
use crate::store::A2aPosition;

const VERSION: u8 = 1;
const DIGEST_BYTES: usize = 8;
/// Version, digest, total, timestamp flag, timestamp; then the id.
const FIXED_BYTES: usize = 1 + DIGEST_BYTES + 8 + 1 + 8;

/// What a listing must have in common from page to page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    /// Whose tasks.
    pub owner: Option<&'a str>,
    /// Only this context.
    pub context_id: Option<&'a str>,
    /// Only this state.
    pub state: Option<&'a str>,
    /// Only status timestamps at or after this.
    pub status_timestamp_from_ms: Option<i64>,
}

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// How many tasks the first page counted.
    pub total: u64,
    /// The last task that was shown.
    pub position: A2aPosition,
}

impl Token {
    /// The token's text, for a listing of `scope`.
    pub fn encode(&self, scope: &Scope<'_>) -> String {
        let content = self.content();
        let mut text = String::with_capacity(2 * (1 + DIGEST_BYTES + content.len()));
        push_hex(&mut text, &[VERSION]);
        push_hex(&mut text, &digest(scope, &content).to_be_bytes());
        push_hex(&mut text, &content);
        text
    }

    /// Reads a token that a listing of `scope` gave out.
    pub fn decode(text: &str, scope: &Scope<'_>) -> Result<Self> {
        Self::try_decode(text, scope).ok_or_else(|| {
            Error::new(Reason::InvalidPageToken, "the page token is malformed or belongs to another listing")
                .with_key("pageToken")
        })
    }

    fn try_decode(text: &str, scope: &Scope<'_>) -> Option<Self> {
        if text.len() > 2 * (FIXED_BYTES + MAXIMUM_NAME_BYTES) {
            return None;
        }
        let bytes = from_hex(text)?;
        let (&version, rest) = bytes.split_first()?;
        let (given_digest, content) = rest.split_first_chunk::<DIGEST_BYTES>()?;
        if version != VERSION || u64::from_be_bytes(*given_digest) != digest(scope, content) {
            return None;
        }
        let (total, rest) = content.split_first_chunk::<8>()?;
        let (&has_timestamp, rest) = rest.split_first()?;
        let (timestamp, id) = rest.split_first_chunk::<8>()?;
        let status_timestamp_ms = match has_timestamp {
            0 => None,
            1 => Some(i64::from_be_bytes(*timestamp)),
            _ => return None,
        };
        let id = std::str::from_utf8(id).ok()?;
        check_identifier(id, "pageToken").ok()?;
        let position = A2aPosition { status_timestamp_ms, id: id.to_owned() };
        Some(Self { total: u64::from_be_bytes(*total), position })
    }

    fn content(&self) -> Vec<u8> {
        let timestamp = self.position.status_timestamp_ms;
        let mut content = Vec::with_capacity(FIXED_BYTES + self.position.id.len());
        content.extend_from_slice(&self.total.to_be_bytes());
        content.push(u8::from(timestamp.is_some()));
        content.extend_from_slice(&timestamp.unwrap_or(0).to_be_bytes());
        content.extend_from_slice(self.position.id.as_bytes());
        content
    }
}

/// The same in every process and version: a token may come back to another node.
fn digest(scope: &Scope<'_>, content: &[u8]) -> u64 {
    let mut hash = Fnv1a::default();
    for text in [scope.owner, scope.context_id, scope.state] {
        hash.write_optional(text.map(str::as_bytes));
    }
    hash.write_optional(
        scope.status_timestamp_from_ms.map(i64::to_be_bytes).as_ref().map(<[u8; 8]>::as_slice),
    );
    hash.write(content);
    hash.0
}

/// FNV-1a with 64 bits.
struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Presence and length first, so that neighbouring fields never read as one another.
    fn write_optional(&mut self, bytes: Option<&[u8]>) {
        let Some(bytes) = bytes else { return self.write(&[0]) };
        self.write(&[1]);
        self.write(&(bytes.len() as u64).to_be_bytes());
        self.write(bytes);
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

    const SCOPE: Scope<'_> = Scope {
        owner: Some("ann"),
        context_id: Some("c"),
        state: Some("working"),
        status_timestamp_from_ms: Some(5),
    };

    fn token(status_timestamp_ms: Option<i64>, id: &str) -> Token {
        Token { total: 60, position: A2aPosition { status_timestamp_ms, id: id.to_owned() } }
    }

    #[test]
    fn a_token_comes_back_as_it_was() {
        let longest = "🦀".repeat(256);
        for timestamp in [None, Some(0), Some(-1), Some(i64::MIN), Some(i64::MAX)] {
            for id in ["a", "a-b", "é", "\u{1f980}", " x ", "\"quoted\"", &longest] {
                for total in [0, 60, u64::MAX] {
                    let given = Token { total, ..token(timestamp, id) };
                    let text = given.encode(&SCOPE);
                    assert!(text.bytes().all(|byte| byte.is_ascii_hexdigit()));
                    assert_eq!(Token::decode(&text, &SCOPE).expect("its own token"), given);
                }
            }
        }
    }

    #[test]
    fn a_token_is_the_same_in_every_version() {
        let text = token(Some(1_000), "t").encode(&SCOPE);
        let (version, rest) = text.split_at(2);
        let (_, content) = rest.split_at(16);
        assert_eq!(version, "01");
        assert_eq!(content, "000000000000003c0100000000000003e874");
        let mut hash = Fnv1a::default();
        hash.write(b"foobar");
        assert_eq!(hash.0, 0x8594_4171_f739_67e8, "a published value of FNV-1a");
    }

    #[test]
    fn a_token_of_another_listing_is_refused() {
        let scopes = [
            SCOPE,
            Scope { owner: None, ..SCOPE },
            Scope { owner: Some(""), ..SCOPE },
            Scope { owner: Some("bob"), ..SCOPE },
            Scope { context_id: None, ..SCOPE },
            Scope { context_id: Some("d"), ..SCOPE },
            Scope { state: None, ..SCOPE },
            Scope { state: Some("failed"), ..SCOPE },
            Scope { status_timestamp_from_ms: None, ..SCOPE },
            Scope { status_timestamp_from_ms: Some(6), ..SCOPE },
            // The same bytes, in other fields.
            Scope { owner: Some("annc"), context_id: Some(""), ..SCOPE },
            Scope { owner: Some("c"), context_id: Some("ann"), ..SCOPE },
        ];
        for (at, from) in scopes.iter().enumerate() {
            let text = token(Some(1), "t").encode(from);
            for (other, to) in scopes.iter().enumerate() {
                assert_eq!(Token::decode(&text, to).is_ok(), at == other, "{from:?} {to:?}");
            }
        }
    }

    #[test]
    fn garbage_is_refused() {
        let good = token(Some(1), "t").encode(&SCOPE);
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
        garbage.push("0".repeat(2 * (FIXED_BYTES + MAXIMUM_NAME_BYTES)));
        garbage.push("0".repeat(1 << 20));
        for at in 0..good.len() {
            let mut bytes = good.clone().into_bytes();
            bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
            garbage.push(String::from_utf8(bytes).expect("ASCII"));
        }
        for text in garbage {
            if text == good {
                continue;
            }
            let error = Token::decode(&text, &SCOPE).expect_err(&text);
            assert_eq!((error.reason(), error.key()), (Reason::InvalidPageToken, Some("pageToken")));
        }
    }

    /// Tokens that are well made over content that no listing gives out.
    #[test]
    fn impossible_positions_are_refused() {
        let long = "x".repeat(MAXIMUM_NAME_BYTES + 1);
        for id in ["", " ", "a\nb", "a\0", &long] {
            assert!(Token::decode(&token(None, id).encode(&SCOPE), &SCOPE).is_err(), "{id:?}");
        }
        let seal = |content: &[u8]| {
            let mut text = String::new();
            push_hex(&mut text, &[VERSION]);
            push_hex(&mut text, &digest(&SCOPE, content).to_be_bytes());
            push_hex(&mut text, content);
            text
        };
        let mut content = token(Some(1), "t").content();
        assert!(Token::decode(&seal(&content), &SCOPE).is_ok());
        content[8] = 2;
        assert!(Token::decode(&seal(&content), &SCOPE).is_err(), "a flag that is neither");
        content[8] = 1;
        content.push(0xff);
        assert!(Token::decode(&seal(&content), &SCOPE).is_err(), "an id that is no UTF-8");
        assert!(Token::decode(&seal(&content[..12]), &SCOPE).is_err(), "a timestamp cut short");
        assert!(Token::decode(&seal(&[]), &SCOPE).is_err(), "no content");
    }
}
