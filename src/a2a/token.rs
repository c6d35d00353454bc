//! What the page tokens of an owner's listing say: where it goes on, by value, and how many tasks the first page
//! counted. A token is refused under another owner or other filters.

#![forbid(unsafe_code)]

use crate::error::Result;
use crate::options::{MAXIMUM_NAME_BYTES, check_identifier};
use crate::page_token;
use crate::store::A2aPosition;

/// Total; in a listing of all owners, owner flag, length and owner; timestamp flag, timestamp, id.
const MAXIMUM_BYTES: usize = 8 + 1 + 2 + MAXIMUM_NAME_BYTES + 1 + 8 + MAXIMUM_NAME_BYTES;

/// What a listing must have in common from page to page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    /// Whose tasks.
    pub owner: Option<&'a str>,
    /// Whether all owners' instead.
    pub any_owner: bool,
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
    /// Behind what it goes on.
    pub position: TokenPosition,
}

/// Where a listing goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenPosition {
    /// Behind this task of an owner's, the last one that was shown. Only a listing of all owners says which owner.
    Within {
        /// Whose task.
        owner: Option<Box<str>>,
        /// Its place.
        position: A2aPosition,
    },
    /// Behind all of an owner's tasks.
    Behind {
        /// Whose tasks.
        owner: Option<Box<str>>,
    },
}

impl Scope<'_> {
    fn listing(&self) -> page_token::Scope {
        page_token::Scope::new(if self.any_owner { "a2a of any owner" } else { "a2a" })
            .with(self.owner)
            .with(self.context_id)
            .with(self.state)
            .with_number(self.status_timestamp_from_ms)
    }
}

impl Token {
    /// The token's text, for a listing of `scope`.
    pub fn encode(&self, scope: &Scope<'_>) -> String {
        page_token::encode(scope.listing(), &self.content(scope.any_owner))
    }

    /// Reads a token that a listing of `scope` gave out.
    pub fn decode(text: &str, scope: &Scope<'_>) -> Result<Self> {
        page_token::decode(text, scope.listing(), MAXIMUM_BYTES, |content| {
            Self::of_content(content, scope.any_owner)
        })
    }

    fn of_content(content: &[u8], any_owner: bool) -> Option<Self> {
        let (total, rest) = content.split_first_chunk::<8>()?;
        let (owner, rest) = if any_owner { read_owner(rest)? } else { (None, rest) };
        let position = if any_owner && rest.is_empty() {
            TokenPosition::Behind { owner }
        } else {
            TokenPosition::Within { owner, position: read_position(rest)? }
        };
        Some(Self { total: u64::from_be_bytes(*total), position })
    }

    fn content(&self, any_owner: bool) -> Vec<u8> {
        let mut content = Vec::with_capacity(64);
        content.extend_from_slice(&self.total.to_be_bytes());
        let (TokenPosition::Within { owner, .. } | TokenPosition::Behind { owner }) = &self.position;
        if any_owner {
            content.push(u8::from(owner.is_some()));
            let owner = owner.as_deref().unwrap_or_default();
            content.extend_from_slice(&u16::try_from(owner.len()).unwrap_or(u16::MAX).to_be_bytes());
            content.extend_from_slice(owner.as_bytes());
        }
        if let TokenPosition::Within { position, .. } = &self.position {
            let timestamp = position.status_timestamp_ms;
            content.push(u8::from(timestamp.is_some()));
            content.extend_from_slice(&timestamp.unwrap_or(0).to_be_bytes());
            content.extend_from_slice(position.id.as_bytes());
        }
        content
    }
}

fn read_owner(content: &[u8]) -> Option<(Option<Box<str>>, &[u8])> {
    let (&has_owner, rest) = content.split_first()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (owner, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
    let owner = std::str::from_utf8(owner).ok()?;
    match has_owner {
        0 if owner.is_empty() => Some((None, rest)),
        1 => Some((Some(owner.into()), rest)),
        _ => None,
    }
}

fn read_position(content: &[u8]) -> Option<A2aPosition> {
    let (&has_timestamp, rest) = content.split_first()?;
    let (timestamp, id) = rest.split_first_chunk::<8>()?;
    let status_timestamp_ms = match has_timestamp {
        0 => None,
        1 => Some(i64::from_be_bytes(*timestamp)),
        _ => return None,
    };
    let id = std::str::from_utf8(id).ok()?;
    check_identifier(id, "pageToken").ok()?;
    Some(A2aPosition { status_timestamp_ms, id: id.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCOPE: Scope<'_> = Scope {
        owner: Some("ann"),
        any_owner: false,
        context_id: Some("c"),
        state: Some("working"),
        status_timestamp_from_ms: Some(5),
    };

    fn token(status_timestamp_ms: Option<i64>, id: &str) -> Token {
        let position = A2aPosition { status_timestamp_ms, id: id.to_owned() };
        Token { total: 60, position: TokenPosition::Within { owner: None, position } }
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
    fn a_token_of_all_owners_says_whose_tasks_come_next() {
        let scope = Scope { owner: None, any_owner: true, ..SCOPE };
        let longest = "x".repeat(MAXIMUM_NAME_BYTES);
        for owner in [None, Some(""), Some("ann"), Some("é\n"), Some(&longest)] {
            let owner: Option<Box<str>> = owner.map(Into::into);
            let position = A2aPosition { status_timestamp_ms: Some(-7), id: longest.clone() };
            for position in
                [TokenPosition::Within { owner: owner.clone(), position }, TokenPosition::Behind { owner }]
            {
                let given = Token { total: 3, position };
                assert_eq!(Token::decode(&given.encode(&scope), &scope).expect("its own token"), given);
            }
        }
        let seal = |content: &[u8]| page_token::encode(scope.listing(), content);
        let behind = Token { total: 3, position: TokenPosition::Behind { owner: Some("ann".into()) } };
        let content = behind.content(true);
        assert!(Token::decode(&seal(&content), &scope).is_ok());
        for (at, byte) in [(8, 0), (8, 2), (10, 4), (10, 2), (11, 0xff)] {
            let mut content = content.clone();
            content[at] = byte;
            assert!(Token::decode(&seal(&content), &scope).is_err(), "{at} {byte}");
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
            Scope { owner: None, any_owner: true, ..SCOPE },
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
        let mut content = token(Some(1), "t").content(false);
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
