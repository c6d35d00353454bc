//! Input requests and responses by shape: what may be asked, and which answer fits which question.
//! Content is never checked against a requested schema, and extra members are allowed.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use crate::error::{Error, Reason, Result};
use crate::json::{self, Kind, Value};
use crate::store::Member;
use crate::text::{no_room, to_shared};

/// The kinds of input request, told apart as declarations and client capabilities do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputKind {
    ElicitationForm,
    ElicitationUrl,
    Sampling,
    Roots,
}

impl InputKind {
    pub(crate) const ALL: [Self; 4] =
        [Self::ElicitationForm, Self::ElicitationUrl, Self::Sampling, Self::Roots];

    /// The name in `declaredInputRequests`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ElicitationForm => "elicitation/form",
            Self::ElicitationUrl => "elicitation/url",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    /// The kind with this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind of `request`, if it is an input request at all.
    pub(crate) fn of_request(request: Value<'_>) -> Option<Self> {
        let method = request.get("method")?.as_str()?;
        let params = request.get("params");
        if params.is_some_and(|params| params.kind() != Kind::Object) {
            return None;
        }
        match method.as_ref() {
            "elicitation/create" => match params?.get("mode") {
                None => Some(Self::ElicitationForm),
                Some(mode) => match mode.as_str()?.as_ref() {
                    "form" => Some(Self::ElicitationForm),
                    "url" => Some(Self::ElicitationUrl),
                    _ => None,
                },
            },
            "sampling/createMessage" => params.map(|_| Self::Sampling),
            "roots/list" => Some(Self::Roots),
            _ => None,
        }
    }

    /// Whether `response` has the shape of an answer to a request of this kind.
    pub(crate) fn is_answered_by(self, response: Value<'_>) -> bool {
        match self {
            Self::ElicitationForm | Self::ElicitationUrl => is_elicit_result(response),
            Self::Sampling => is_create_message_result(response),
            Self::Roots => is_list_roots_result(response),
        }
    }
}

fn is_one_of(value: Option<Value<'_>>, names: &[&str]) -> bool {
    value.and_then(Value::as_str).is_some_and(|text| names.contains(&text.as_ref()))
}

fn is_string(value: Option<Value<'_>>) -> bool {
    value.is_some_and(|value| value.kind() == Kind::String)
}

fn is_elicit_result(response: Value<'_>) -> bool {
    is_one_of(response.get("action"), &["accept", "decline", "cancel"])
        && response.get("content").is_none_or(|content| match content.kind() {
            Kind::Null => true,
            Kind::Object => content.members().all(|member| is_content(member.value)),
            _ => false,
        })
}

/// Clients that write every member of a form send null for one that was left empty.
fn is_content(value: Value<'_>) -> bool {
    match value.kind() {
        Kind::Null | Kind::String | Kind::Number | Kind::Bool => true,
        Kind::Array => value.elements().all(|element| element.kind() == Kind::String),
        Kind::Object => false,
    }
}

fn is_create_message_result(response: Value<'_>) -> bool {
    let is_block = |block: Value<'_>| block.kind() == Kind::Object && is_string(block.get("type"));
    is_one_of(response.get("role"), &["user", "assistant"])
        && is_string(response.get("model"))
        && response.get("content").is_some_and(|content| match content.kind() {
            Kind::Array => content.elements().all(is_block),
            _ => is_block(content),
        })
}

fn is_list_roots_result(response: Value<'_>) -> bool {
    response.get("roots").is_some_and(|roots| {
        roots.kind() == Kind::Array
            && roots.elements().all(|root| root.kind() == Kind::Object && is_string(root.get("uri")))
    })
}

/// Reads a map of input requests: not empty, and every value an input request.
pub(crate) fn parse_requests(text: &str, maximum_bytes: u64) -> Result<Vec<Member>> {
    let refused = |message| Error::new(Reason::InvalidPayload, message).with_key("input_requests");
    let map = json::parse(text, maximum_bytes).map_err(|error| error.about("input_requests"))?;
    if map.kind() != Kind::Object {
        return Err(refused("the input requests must be an object"));
    }
    let mut requests = Vec::new();
    for member in map.members() {
        if InputKind::of_request(member.value).is_none() {
            return Err(refused("a member is not an input request"));
        }
        requests.try_reserve(1).map_err(|_| no_room())?;
        requests.push(Member { key: to_shared(member.raw_key)?, value: to_shared(member.value.text())? });
    }
    if requests.is_empty() {
        return Err(Error::new(Reason::EmptyInputRequests, "the map of input requests is empty")
            .with_key("input_requests"));
    }
    Ok(requests)
}

/// Reads a map of input responses; what the values are is judged against the requests.
pub(crate) fn parse_responses(text: &str, maximum_bytes: u64) -> Result<Value<'_>> {
    let map = json::parse(text, maximum_bytes).map_err(|error| error.about("input_responses"))?;
    if map.kind() != Kind::Object {
        return Err(Error::new(Reason::InvalidPayload, "the input responses must be an object")
            .with_key("input_responses"));
    }
    Ok(map)
}

/// The decoded key of a stored member.
pub(crate) fn decoded_key(member: &Member) -> Cow<'_, str> {
    Value::trusted(&member.key).as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
