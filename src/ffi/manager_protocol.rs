//! MCP tasks, the protocol's side: what a client may do, checked against the endpoint and the authorization
//! partition of its request.

use std::ffi::c_char;

use super::args::{Out, bytes, optional_text, text};
use super::guard::guard;
use super::handle;
use super::manager::taskhold_manager;
use super::status::taskhold_status;
use crate::error::{Result, invalid};
use crate::task::Rendering;

/// Rendering: the flat `CreateTaskResult` (`resultType` "task").
pub const TASKHOLD_RENDER_CREATE_RESULT: i32 = 1;
/// Rendering: the result of `tasks/get` (`resultType` "complete").
pub const TASKHOLD_RENDER_GET_RESULT: i32 = 2;
/// Rendering: the whole `notifications/tasks` message.
pub const TASKHOLD_RENDER_NOTIFICATION: i32 = 3;

fn rendering_of(rendering: i32) -> Result<Rendering> {
    match rendering {
        TASKHOLD_RENDER_CREATE_RESULT => Ok(Rendering::CreateResult),
        TASKHOLD_RENDER_GET_RESULT => Ok(Rendering::GetResult),
        TASKHOLD_RENDER_NOTIFICATION => Ok(Rendering::Notification),
        _ => Err(invalid("rendering", "the rendering is not one of TASKHOLD_RENDER_*")),
    }
}

/// Finds a task that the caller may see: its endpoint and its authorization partition must both match
/// exactly. Unknown, expired and foreign tasks give the same answer.
///
/// @param manager    In: the manager.
/// @param endpoint   In: the endpoint that the request came to; at most 1024 bytes, may be "".
/// @param partition  In, optional: the authorization partition of the caller; NULL is the anonymous one, and
///                   another than "".
/// @param task_id    In: the task's id.
/// @param out_record Out, owned, optional: the record, or NULL. Only its `task` may reach the client.
/// @param out_error  Out, owned, optional: why the call failed.
/// @return OK, also when nothing is found; INVALID_ARGUMENT (invalid_value, invalid_identifier).
/// @note Any thread. A store in memory does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_find_authorized_task(
    manager: *mut taskhold_manager,
    endpoint: *const c_char,
    partition: *const c_char,
    task_id: *const c_char,
    out_record: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (record, error) = unsafe { (Out::clear(out_record), Out::clear(out_error)) };
    guard("taskhold_manager_find_authorized_task", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (endpoint, partition, task_id) = unsafe {
            (text("endpoint", endpoint)?, optional_text("partition", partition)?, text("task_id", task_id)?)
        };
        record.give_optional(manager.find_authorized_task(endpoint, partition, task_id)?)?;
        Ok(())
    })
}

/// Accepts a client's answers to input requests (`tasks/update`). An answer counts when its key is
/// outstanding and its shape matches the request; every other one is ignored without a trace. In the answer to an
/// elicitation, `content` that is null, and a null among its members, count as absent. The last
/// outstanding answer makes the task working again and clears its message. A working or terminal task is
/// left alone: that is OK too.
///
/// @param manager         In: the manager.
/// @param endpoint        In: the endpoint that the request came to.
/// @param partition       In, optional: the authorization partition of the caller; NULL is the anonymous one.
/// @param task_id         In: the task's id.
/// @param input_responses In: JSON object, answers by the keys of their requests.
/// @param options         In, optional: JSON object, as for taskhold_manager_request_task_input().
/// @param out_outcome     Out, owned, optional: for the host, not for the client: `{"accepted": ["key"...],
///                        "ignored": ["key"...]}`.
/// @param out_error       Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_value, invalid_identifier, invalid_payload, malformed JSON or
///         `options`); NOT_FOUND (task_not_found): unknown, expired or not the caller's; INVALID_STATE
///         (cancelation_requested); CONFLICT (revision_mismatch); LIMIT_EXCEEDED (payload_too_large,
///         nesting_too_deep).
/// @note Any thread. Announces accepted answers to subscribers on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_update_task(
    manager: *mut taskhold_manager,
    endpoint: *const c_char,
    partition: *const c_char,
    task_id: *const c_char,
    input_responses: *const c_char,
    options: *const c_char,
    out_outcome: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (outcome, error) = unsafe { (Out::clear(out_outcome), Out::clear(out_error)) };
    guard("taskhold_manager_update_task", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (endpoint, partition, task_id, input_responses, options) = unsafe {
            (
                text("endpoint", endpoint)?,
                optional_text("partition", partition)?,
                text("task_id", task_id)?,
                text("input_responses", input_responses)?,
                optional_text("options", options)?,
            )
        };
        outcome.give(manager.update_task(endpoint, partition, task_id, input_responses, options)?)?;
        Ok(())
    })
}

/// Records that a client asks for the cancelation of a task (`tasks/cancel`). The status does not change: the
/// worker decides. Asking again, or for a terminal task, is OK and changes nothing. Work that was created with a
/// queue or a lease and that nobody holds has no worker to decide: the request ends it as cancelled.
///
/// @param manager   In: the manager.
/// @param endpoint  In: the endpoint that the request came to.
/// @param partition In, optional: the authorization partition of the caller; NULL is the anonymous one.
/// @param task_id   In: the task's id.
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_value, invalid_identifier); NOT_FOUND (task_not_found): unknown,
///         expired or not the caller's.
/// @note Any thread. Wakes taskhold_manager_wait_task() and event queues; subscribers are told only where the
///       request ended the task.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_request_task_cancelation(
    manager: *mut taskhold_manager,
    endpoint: *const c_char,
    partition: *const c_char,
    task_id: *const c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let error = unsafe { Out::clear(out_error) };
    guard("taskhold_manager_request_task_cancelation", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (endpoint, partition, task_id) = unsafe {
            (text("endpoint", endpoint)?, optional_text("partition", partition)?, text("task_id", task_id)?)
        };
        manager.request_task_cancelation(endpoint, partition, task_id)
    })
}

/// Renders a task as a client gets it, with the revision that the text shows, both from one reading.
///
/// @param manager      In: the manager.
/// @param endpoint     In: the endpoint of the client.
/// @param partition    In, optional: the authorization partition of the client; NULL is the anonymous one.
/// @param task_id      In: the task's id.
/// @param rendering    In: TASKHOLD_RENDER_CREATE_RESULT, _GET_RESULT or _NOTIFICATION.
/// @param options      In, optional: JSON object: `clientCapabilities` (object), checked, if given, as in a
///                     request; `subscriptionId` (string or whole number, as a request's id is), which goes
///                     into the notification's `_meta["io.modelcontextprotocol/subscriptionId"]`.
/// @param out_json     Out, owned: the JSON text, for the client. Free it with taskhold_string_free().
/// @param out_revision Out, optional: the revision that it shows.
/// @param out_error    Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_value: also an unknown `rendering`; invalid_identifier, malformed
///         `options`); NOT_FOUND (task_not_found): unknown, expired or not the caller's; INVALID_STATE
///         (undeliverable): the task asks for input that was not declared at its creation, or that the
///         client has no capability for.
/// @note Any thread. A store in memory does not block. Never changes the task.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_render_task(
    manager: *mut taskhold_manager,
    endpoint: *const c_char,
    partition: *const c_char,
    task_id: *const c_char,
    rendering: i32,
    options: *const c_char,
    out_json: *mut *mut c_char,
    out_revision: *mut u64,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (json, revision, error) =
        unsafe { (Out::clear(out_json), Out::clear(out_revision), Out::clear(out_error)) };
    guard("taskhold_manager_render_task", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (endpoint, partition, task_id, options) = unsafe {
            (
                text("endpoint", endpoint)?,
                optional_text("partition", partition)?,
                text("task_id", task_id)?,
                optional_text("options", options)?,
            )
        };
        json.require("out_json")?;
        let rendering = rendering_of(rendering)?;
        let (text, shown) = manager.render_task(endpoint, partition, task_id, rendering, options)?;
        json.give(text)?;
        revision.set(shown);
        Ok(())
    })
}

/// Answers one JSON-RPC request of the extension: `tasks/get`, `tasks/update` or `tasks/cancel`. Whatever the
/// request is, the answer is a whole JSON-RPC response; the call fails only when the arguments around it are
/// malformed or the storage fails. A notification executes nothing and has no response.
///
/// The response carries, in this order of checks: -32700 (the text is not acceptable JSON), -32600 (not one
/// request), -32601 (another method), -32021 with `data.requiredCapabilities` (the client does not declare
/// the extension), -32602 (bad params; also an unknown, foreign or expired task, with one message), -32603
/// (the task asks for input that it did not declare), -32021 (the client has no capability for an input
/// request that would be delivered), or the result. The request's id comes back byte for byte.
///
/// @param manager             In: the manager.
/// @param endpoint            In: the endpoint that the request came to.
/// @param partition           In, optional: the authorization partition of the caller; NULL is the anonymous
///                            one.
/// @param client_capabilities In, optional: JSON object, the capabilities that the client has declared. NULL
///                            takes them from the request's
///                            `_meta["io.modelcontextprotocol/clientCapabilities"]`.
/// @param request             In: the request as it came; need not even be UTF-8 (that is -32700).
/// @param out_response        Out, owned: the response, or NULL for a notification. Free it with
///                            taskhold_string_free().
/// @param out_error           Out, owned, optional: why the call failed. When the storage failed it has a
///                            member `response`: a -32603 response that is ready to be sent.
/// @return OK, also when the response is an error; INVALID_ARGUMENT (invalid_value, malformed
///         `client_capabilities`); UNAVAILABLE (storage_unavailable, outcome_unknown); CORRUPT (corrupt_row).
/// @note Any thread. Announces accepted answers to subscribers on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_handle_request(
    manager: *mut taskhold_manager,
    endpoint: *const c_char,
    partition: *const c_char,
    client_capabilities: *const c_char,
    request: *const c_char,
    out_response: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (response, error) = unsafe { (Out::clear(out_response), Out::clear(out_error)) };
    guard("taskhold_manager_handle_request", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (endpoint, partition, client_capabilities, request) = unsafe {
            (
                text("endpoint", endpoint)?,
                optional_text("partition", partition)?,
                optional_text("client_capabilities", client_capabilities)?,
                bytes("request", request)?,
            )
        };
        response.require("out_response")?;
        response.give_optional(manager.handle_request(
            endpoint,
            partition,
            client_capabilities,
            request,
        )?)?;
        Ok(())
    })
}
