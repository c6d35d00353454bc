//! What may be delivered to a client: it must have declared the tasks extension, and an outstanding input
//! request must be among the kinds that the task declared at creation and that the client can answer.

#![forbid(unsafe_code)]

use super::input::InputKind;
use crate::error::{Error, Reason, Result};
use crate::json::{self, Kind, Value};
use crate::store::{TaskRow, TaskStatus};

const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The `requiredCapabilities` of every method of the tasks extension.
pub(crate) const TASKS_REQUIRED: &str = "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}";

/// Why a task's state may not go to a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Undeliverable {
    /// A request is outstanding that the task did not declare.
    Undeclared,
    /// The client lacks these capabilities: JSON in the shape of client capabilities.
    Missing(String),
}

impl Undeliverable {
    /// The error of a call that renders.
    pub(crate) fn into_error(self) -> Error {
        let message = match self {
            Self::Undeclared => "an outstanding input request is not among the declared ones",
            Self::Missing(_) => "the client lacks a required capability",
        };
        Error::new(Reason::Undeliverable, message)
    }
}

/// The capabilities that a client declared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientCapabilities<'a>(Value<'a>);

impl<'a> ClientCapabilities<'a> {
    /// Capabilities out of an argument, which must be an object.
    pub(crate) fn parse(text: &'a str, maximum_bytes: u64) -> Result<Self> {
        const PARAMETER: &str = "client_capabilities";
        let capabilities = json::parse(text, maximum_bytes).map_err(|error| error.about(PARAMETER))?;
        Self::of(capabilities).ok_or_else(|| {
            Error::new(Reason::InvalidValue, "the client capabilities must be an object").with_key(PARAMETER)
        })
    }

    /// Capabilities out of a validated value, if it is an object.
    pub(crate) fn of(value: Value<'a>) -> Option<Self> {
        (value.kind() == Kind::Object).then_some(Self(value))
    }

    /// Whether the client declared the tasks extension.
    pub(crate) fn has_tasks(self) -> bool {
        object(self.0, "extensions").and_then(|extensions| object(extensions, TASKS_EXTENSION)).is_some()
    }

    /// Whether the client can answer a request of this kind.
    pub(crate) fn supports(self, kind: InputKind) -> bool {
        let elicitation = || object(self.0, "elicitation");
        match kind {
            // An empty object is how clients said "form" before there were modes; null is an absent mode.
            InputKind::ElicitationForm => elicitation().is_some_and(|modes| {
                object(modes, "form").is_some() || modes.members().all(|mode| mode.value.is_null())
            }),
            InputKind::ElicitationUrl => elicitation().is_some_and(|modes| object(modes, "url").is_some()),
            InputKind::Sampling => object(self.0, "sampling").is_some(),
            InputKind::Roots => object(self.0, "roots").is_some(),
        }
    }
}

fn object<'a>(value: Value<'a>, key: &str) -> Option<Value<'a>> {
    value.get(key).filter(|member| member.kind() == Kind::Object)
}

/// Whether the outstanding requests of `row` may be delivered: to anyone, and to a client with these
/// capabilities, if they are known.
pub(crate) fn check_delivery(
    row: &TaskRow,
    capabilities: Option<ClientCapabilities<'_>>,
) -> std::result::Result<(), Undeliverable> {
    if row.status != TaskStatus::InputRequired {
        return Ok(());
    }
    let requests = row.input.iter().flat_map(|input| &input.outstanding);
    let is_outstanding = {
        let kinds: Vec<_> =
            requests.filter_map(|request| InputKind::of_request(Value::trusted(&request.value))).collect();
        move |kind: InputKind| kinds.contains(&kind)
    };
    if let Some(declared) = row.texts.declared_input_requests() {
        let declared: Vec<_> = Value::trusted(declared)
            .elements()
            .filter_map(|name| InputKind::from_name(name.as_str()?.as_ref()))
            .collect();
        if InputKind::ALL.into_iter().any(|kind| is_outstanding(kind) && !declared.contains(&kind)) {
            return Err(Undeliverable::Undeclared);
        }
    }
    let Some(capabilities) = capabilities else { return Ok(()) };
    let lacks = |kind: InputKind| is_outstanding(kind) && !capabilities.supports(kind);
    let missing = required_capabilities(InputKind::ALL.map(lacks));
    missing.map_or(Ok(()), |missing| Err(Undeliverable::Missing(missing)))
}

/// The client capabilities behind the kinds that are marked, in the order of [`InputKind::ALL`]; `None` when
/// no kind is.
fn required_capabilities(missing: [bool; 4]) -> Option<String> {
    let [form, url, sampling, roots] = missing;
    let elicitation = match (form, url) {
        (true, true) => Some("\"elicitation\":{\"form\":{},\"url\":{}}"),
        (true, false) => Some("\"elicitation\":{\"form\":{}}"),
        (false, true) => Some("\"elicitation\":{\"url\":{}}"),
        (false, false) => None,
    };
    let members: Vec<_> =
        [elicitation, sampling.then_some("\"sampling\":{}"), roots.then_some("\"roots\":{}")]
            .into_iter()
            .flatten()
            .collect();
    (!members.is_empty()).then(|| format!("{{{}}}", members.join(",")))
}

#[cfg(test)]
mod tests;
