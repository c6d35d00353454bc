//! A client's answers to input requests. They are laid out by key before the store is asked, since a client may
//! send a million of them: what then happens in the store's atomic step costs as much as the task has open
//! requests, however many answers there are.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use hashbrown::HashMap;

use crate::json::{JsonMember, Value};
use crate::text::Text;

/// The answers of one update, in the order in which the client sent them.
#[derive(Debug)]
pub(crate) struct Responses<'a> {
    members: Vec<JsonMember<'a>>,
    /// Places in `members` by decoded key.
    places: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Responses<'a> {
    /// The members of the object `map`.
    pub(crate) fn of(map: Value<'a>) -> Self {
        let members: Vec<_> = map.members().collect();
        let places = members.iter().enumerate().map(|(place, member)| (member.key(), place)).collect();
        Self { members, places }
    }

    /// The answer under a decoded key, with its place.
    pub(crate) fn find(&self, key: &str) -> Option<(usize, Value<'a>)> {
        let place = *self.places.get(key)?;
        self.members.get(place).map(|member| (place, member.value))
    }
}

/// Which answers an update accepted: their places, in order.
#[derive(Debug, Default)]
pub(crate) struct UpdateOutcome {
    pub(crate) accepted: Vec<usize>,
}

impl UpdateOutcome {
    /// What the host is told: every key as the client sent it.
    pub(crate) fn to_json(&self, responses: &Responses<'_>) -> Text {
        let mut accepted = self.accepted.iter().copied().peekable();
        let mut ignored = Vec::new();
        let mut text = Text::with_capacity(32);
        text.push_str("{\"accepted\":");
        let mut separator = "[";
        for (place, member) in responses.members.iter().enumerate() {
            if accepted.next_if_eq(&place).is_some() {
                text.push_str(separator);
                text.push_str(member.raw_key);
                separator = ",";
            } else {
                ignored.push(member.raw_key);
            }
        }
        text.push_str(if self.accepted.is_empty() { "[],\"ignored\":[" } else { "],\"ignored\":[" });
        for (at, key) in ignored.iter().enumerate() {
            text.push_str(if at > 0 { "," } else { "" });
            text.push_str(key);
        }
        text.push_str("]}");
        text
    }
}
