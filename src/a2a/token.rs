//! What the page tokens of an owner's listing say: where it goes on, by value, and how many tasks the first page
//! counted. A token is refused under another owner or other filters.

#![forbid(unsafe_code)]

use crate::error::Result;
use crate::options::{MAXIMUM_NAME_BYTES, check_identifier};
use crate::page_token;
use crate::store::A2aPosition;

/// Total, timestamp flag, timestamp; then the id.
const FIXED_BYTES: usize = 8 + 1 + 8;

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

impl Scope<'_> {
    fn listing(&self) -> page_token::Scope {
        page_token::Scope::new("a2a")
            .with(self.owner)
            .with(self.context_id)
            .with(self.state)
            .with_number(self.status_timestamp_from_ms)
    }
}

impl Token {
    /// The token's text, for a listing of `scope`.
    pub fn encode(&self, scope: &Scope<'_>) -> String {
        page_token::encode(scope.listing(), &self.content())
    }

    /// Reads a token that a listing of `scope` gave out.
    pub fn decode(text: &str, scope: &Scope<'_>) -> Result<Self> {
        page_token::decode(text, scope.listing(), FIXED_BYTES + MAXIMUM_NAME_BYTES, Self::of_content)
    }

    fn of_content(content: &[u8]) -> Option<Self> {
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
        assert_eq!(
            token(Some(1_000), "t").encode(&SCOPE),
            "0197717ad13ef27878000000000000003c0100000000000003e874"
        );
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

    /// Tokens that are well made over content that no listing gives out.
    #[test]
    fn impossible_positions_are_refused() {
        let long = "x".repeat(MAXIMUM_NAME_BYTES + 1);
        for id in ["", " ", "a\nb", "a\0", &long] {
            assert!(Token::decode(&token(None, id).encode(&SCOPE), &SCOPE).is_err(), "{id:?}");
        }
        let seal = |content: &[u8]| page_token::encode(SCOPE.listing(), content);
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
