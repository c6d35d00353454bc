//! One JSON-RPC request of the tasks extension in, the whole response out. Checks go in one order: the text,
//! the request, the method, the extension, the parameters, the task, and last what may be delivered. Messages
//! are fixed texts; the request id comes back byte for byte; a notification executes nothing.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use super::arguments::{Caller, is_request_id};
use super::capabilities::{ClientCapabilities, TASKS_REQUIRED, Undeliverable, check_delivery};
use super::transitions::Preconditions;
use super::{TaskManager, render};
use crate::error::{Error, Reason, Result};
use crate::json::{self, Kind, ObjectWriter, Value};
use crate::options::check_identifier;
use crate::text::{Text, check_room};

const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const RESPONSE_START: &str = "{\"jsonrpc\":\"2.0\",\"id\":";
const RESULT: &str = ",\"result\":";
const ACKNOWLEDGEMENT: &str = "{\"resultType\":\"complete\"}";

/// A JSON-RPC error.
#[derive(Debug)]
enum RpcError {
    Parse,
    InvalidRequest,
    MethodNotFound,
    /// The client lacks these capabilities: JSON in the shape of client capabilities.
    MissingCapability(Cow<'static, str>),
    InvalidParams,
    TaskNotFound,
    Internal,
}

impl RpcError {
    const fn code(&self) -> i32 {
        match self {
            Self::Parse => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::MissingCapability(_) => -32021,
            Self::InvalidParams | Self::TaskNotFound => -32602,
            Self::Internal => -32603,
        }
    }

    const fn message(&self) -> &'static str {
        match self {
            Self::Parse => "Parse error",
            Self::InvalidRequest => "Invalid request",
            Self::MethodNotFound => "Method not found",
            Self::MissingCapability(_) => "Missing required client capability",
            Self::InvalidParams => "Invalid params",
            Self::TaskNotFound => "Task not found",
            Self::Internal => "Internal error",
        }
    }

    /// The whole response. `id` is JSON text.
    fn response(&self, id: &str) -> Text {
        let mut text = Text::with_capacity(256 + id.len());
        let mut response = ObjectWriter::new(&mut text);
        response.plain_string("jsonrpc", "2.0").json("id", id);
        let mut error = response.object("error");
        error.int("code", self.code()).string("message", self.message());
        if let Self::MissingCapability(required) = self {
            error.object("data").json("requiredCapabilities", required);
        }
        drop(error);
        drop(response);
        text
    }
}

impl From<Undeliverable> for RpcError {
    fn from(why: Undeliverable) -> Self {
        match why {
            Undeliverable::Undeclared => Self::Internal,
            Undeliverable::Missing(required) => Self::MissingCapability(Cow::Owned(required)),
        }
    }
}

/// Why there is no result: an answer for the client, or a failure of the call itself.
enum Failure {
    Answer(RpcError),
    Call(Error),
}

impl From<RpcError> for Failure {
    fn from(error: RpcError) -> Self {
        Self::Answer(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if error.reason() == Reason::TaskNotFound {
            Self::Answer(RpcError::TaskNotFound)
        } else {
            Self::Call(error)
        }
    }
}

/// A well-formed request, or a notification when it has no id.
struct Request<'a> {
    id: Option<&'a str>,
    method: Cow<'a, str>,
    params: Option<Value<'a>>,
}

impl<'a> Request<'a> {
    /// Reads `value`. One that is no request is refused with the id to answer with.
    fn of(value: Value<'a>) -> std::result::Result<Self, &'a str> {
        let given = value.get("id");
        let id = given.filter(|id| is_request_id(*id)).map(Value::text);
        let refused = id.unwrap_or("null");
        if given.is_some() != id.is_some()
            || value.get("jsonrpc").and_then(Value::as_str).as_deref() != Some("2.0")
        {
            return Err(refused);
        }
        let method = value.get("method").and_then(Value::as_str).ok_or(refused)?;
        Ok(Self { id, method, params: value.get("params") })
    }

    /// The capabilities in the request's own metadata.
    fn capabilities(&self) -> Option<ClientCapabilities<'a>> {
        self.params?.get("_meta")?.get(CLIENT_CAPABILITIES).and_then(ClientCapabilities::of)
    }
}

/// Handles one request. `None` for a notification.
pub(super) fn handle_request(
    manager: &TaskManager,
    caller: Caller<'_>,
    capabilities: Option<ClientCapabilities<'_>>,
    request: &[u8],
) -> Result<Option<Text>> {
    let Ok(value) = json::parse_bytes(request, u64::MAX) else {
        return Ok(Some(RpcError::Parse.response("null")));
    };
    let request = match Request::of(value) {
        Ok(request) => request,
        Err(id) => return Ok(Some(RpcError::InvalidRequest.response(id))),
    };
    let Some(id) = request.id else { return Ok(None) };
    match result(manager, caller, capabilities, &request, id) {
        Ok(response) => Ok(Some(response)),
        Err(Failure::Answer(error)) => Ok(Some(error.response(id))),
        Err(Failure::Call(error)) => {
            // It is copied into the error, and written there as a string.
            let response = RpcError::Internal.response(id).check();
            let response = response.ok().filter(|response| check_room(4 * response.len()).is_ok());
            Err(match response {
                Some(response) => error.with_response(response.as_str().to_owned()),
                None => error,
            })
        }
    }
}

fn result(
    manager: &TaskManager,
    caller: Caller<'_>,
    capabilities: Option<ClientCapabilities<'_>>,
    request: &Request<'_>,
    id: &str,
) -> std::result::Result<Text, Failure> {
    let method = request.method.as_ref();
    if !matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel") {
        return Err(RpcError::MethodNotFound.into());
    }
    let Some(capabilities) =
        capabilities.or_else(|| request.capabilities()).filter(|capabilities| capabilities.has_tasks())
    else {
        return Err(RpcError::MissingCapability(Cow::Borrowed(TASKS_REQUIRED)).into());
    };
    let params = request.params.filter(|params| params.kind() == Kind::Object);
    let task_id = params
        .and_then(|params| params.get("taskId"))
        .and_then(Value::as_str)
        .filter(|task_id| check_identifier(task_id, "taskId").is_ok());
    let (Some(params), Some(task_id)) = (params, task_id) else { return Err(RpcError::InvalidParams.into()) };
    match method {
        "tasks/get" => return get(manager, caller, capabilities, &task_id, id),
        "tasks/update" => {
            let is_acceptable = |responses: &Value<'_>| {
                responses.kind() == Kind::Object
                    && responses.text().len() as u64 <= manager.options.maximum_payload_bytes
            };
            let responses =
                params.get("inputResponses").filter(is_acceptable).ok_or(RpcError::InvalidParams)?;
            manager.accept_responses(caller, &task_id, responses, Preconditions::default())?;
        }
        _ => manager.note_cancelation_request(caller, &task_id)?,
    }
    let mut response = response_start(id, ACKNOWLEDGEMENT.len());
    response.push_str(ACKNOWLEDGEMENT);
    response.push_str("}");
    Ok(response)
}

fn get(
    manager: &TaskManager,
    caller: Caller<'_>,
    capabilities: ClientCapabilities<'_>,
    task_id: &str,
    id: &str,
) -> std::result::Result<Text, Failure> {
    let response = manager.read(task_id, Some(caller), |row| {
        check_delivery(row, Some(capabilities)).map_err(RpcError::from).map(|()| {
            let mut text = response_start(id, render::client_room(row, None));
            render::push_get_result(&mut text, row);
            text.push_str("}");
            text
        })
    })?;
    Ok(response.ok_or(RpcError::TaskNotFound)??)
}

fn response_start(id: &str, result_capacity: usize) -> Text {
    let mut text = Text::with_capacity(RESPONSE_START.len() + id.len() + RESULT.len() + result_capacity + 1);
    text.push_str(RESPONSE_START);
    text.push_str(id);
    text.push_str(RESULT);
    text
}
