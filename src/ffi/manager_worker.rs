//! MCP tasks, the worker's side: trusted code that creates tasks and moves them on.

use std::ffi::c_char;

use super::args::{Out, optional_text, text, timeout};
use super::guard::guard;
use super::handle;
use super::manager::taskhold_manager;
use super::status::taskhold_status;

/// Creates a task: a random id (UUID version 4), status working, revision 1. Whoever may read it can read it
/// before this returns.
///
/// Queued work. With `queue` (string of 1 to 256 bytes) workers may claim the task (taskhold_manager_claim_task());
/// a queue belongs to the managers of one name. With a queue may stand `delayMs` (0: not claimable before) and
/// `attempts` (`{"maximum": 1, "backoffMs": 1000, "maximumBackoffMs": 60000}`; at most 1000): how often the work may
/// be begun, and how long after the end of one attempt the next can be, doubled each time. One is the default,
/// because most tools must not run twice. `work` (any JSON value) is what a worker needs, trusted as `origin` is.
///
/// With `lease` (`{"worker": "h1:77", "leaseMs": 30000}`) the task is created in its creator's hands: attempt 1 has
/// begun, and the answer's `lease` has the `token`. Without a queue nobody else can claim it: this is how a server
/// that works in its own process gets its dead work noticed. With `delayMs` it does not go together.
///
/// With `operationId` (an identifier), with or without a queue, creating is idempotent: unique per manager name,
/// endpoint and partition while the task is there. The same operationId with the same `queue` and `work` gives the
/// record of the task that is there, ended or not, and makes no other: `created` in the answer says which it was, and
/// `false` says that the work is not the caller's. In the anonymous partition all callers share these ids: never
/// put a client's own key there as it is.
///
/// @param manager    In: the manager.
/// @param creation   In: JSON object: `endpoint` (string; the endpoint that the task belongs to) and `origin`
///                   (any JSON but null; what the task came from) are required; `authorizationPartition`
///                   (string or null; null is the anonymous one), `metadata` (object; stands in the record as it
///                   was given, and as `_meta` in every rendering unless it is empty) and
///                   `declaredInputRequests` (array of "elicitation/form", "elicitation/url",
///                   "sampling/createMessage", "roots/list", each at most once: what the task may ask; absent is
///                   anything) may be absent. So may `taskTimeToLiveMs` (in the place of the manager's, for this
///                   task) and the members about work above.
/// @param out_record Out, owned, optional: the record; see taskhold_manager.
/// @param out_error  Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (malformed `creation`); CAPACITY_EXHAUSTED (capacity_exhausted,
///         partition_capacity_exhausted): a limit of unexpired tasks is reached, and none is evicted; CONFLICT
///         (operation_mismatch); LIMIT_EXCEEDED (payload_too_large: `origin`, `metadata` or `work`;
///         nesting_too_deep). A refused creation uses no capacity.
/// @note Any thread. Announces the task to subscribers on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_create_task(
    manager: *mut taskhold_manager,
    creation: *const c_char,
    out_record: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (record, error) = unsafe { (Out::clear(out_record), Out::clear(out_error)) };
    guard("taskhold_manager_create_task", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let creation = unsafe { text("creation", creation) }?;
        record.give(manager.create_task(creation)?)?;
        Ok(())
    })
}

/// Finds a task for trusted code: nobody's authorization is checked. A protocol request goes through
/// taskhold_manager_find_authorized_task() or one of the functions below it instead.
///
/// @param manager    In: the manager.
/// @param task_id    In: the task's id.
/// @param out_record Out, owned, optional: the record, or NULL when there is no such task or it expired.
/// @param out_error  Out, owned, optional: why the call failed.
/// @return OK, also when nothing is found; INVALID_ARGUMENT (invalid_identifier).
/// @note Any thread. A store in memory does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_find_task(
    manager: *mut taskhold_manager,
    task_id: *const c_char,
    out_record: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (record, error) = unsafe { (Out::clear(out_record), Out::clear(out_error)) };
    guard("taskhold_manager_find_task", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let task_id = unsafe { text("task_id", task_id) }?;
        record.give_optional(manager.find_task(task_id)?)?;
        Ok(())
    })
}

/// Marks a task that is working or waits for input as working. Its outstanding input requests are superseded:
/// answers to them that come later are ignored. Accepted answers that were not taken yet stay.
///
/// `options`, here and in the four transitions below: `{"expectedRevision": 3}` makes the call conditional on
/// the revision, `{"unlessCancelationRequested": true}` on no client having asked for cancelation; both are
/// decided in the same atomic step. Here also `{"withdrawInputRequests": ["key"]}`: only these requests are
/// superseded, and the task stays in its status while others are open; `[]` sets the message only.
///
/// A task that was created with a queue or a lease is moved on by who holds it alone: there the transitions and
/// taskhold_manager_take_task_input_responses() also need `{"lease": 3}`, the token of the lease. Without it they are
/// refused (lease_required), and under any other than the current one too (lease_lost). A lease that has lapsed is
/// current until somebody claims the task, if it has attempts left. Marking as working, failing and cancelling take
/// `{"force": true}` instead, for operators; the holder's lease stays current while the task has not ended. With
/// `{"checkpoint": ...}` the worker notes in the same step what another one needs to go on.
///
/// @param manager        In: the manager.
/// @param task_id        In: the task's id.
/// @param status_message In, optional: the new status message for people; NULL clears it.
/// @param options        In, optional: JSON object.
/// @param out_record     Out, owned, optional: the record after the change.
/// @param out_error      Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_identifier, malformed `options`); NOT_FOUND (task_not_found);
///         INVALID_STATE (task_terminal, lease_required, cancelation_requested); CONFLICT (lease_lost,
///         revision_mismatch); LIMIT_EXCEEDED (payload_too_large).
/// @note Any thread. Announces the change to subscribers on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_mark_task_working(
    manager: *mut taskhold_manager,
    task_id: *const c_char,
    status_message: *const c_char,
    options: *const c_char,
    out_record: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (record, error) = unsafe { (Out::clear(out_record), Out::clear(out_error)) };
    guard("taskhold_manager_mark_task_working", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (task_id, status_message, options) = unsafe {
            (
                text("task_id", task_id)?,
                optional_text("status_message", status_message)?,
                optional_text("options", options)?,
            )
        };
        let changed = manager.mark_task_working(task_id, status_message, options)?;
        record.give_with(|| changed.into_text())?;
        Ok(())
    })
}

/// Asks the client for input: adds requests and puts the task into status input_required.
///
/// A key is used once in a task's life. Repeating outstanding requests exactly changes nothing but the
/// message. Refusals are found in this order: no request, no task, terminal, untaken answers, keys.
///
/// `{"lease": 3, "park": true}` also lets go of a task with a queue: parked, it is held by nobody, costs no worker
/// while a person thinks, and the last answer makes it claimable again. The next claim goes on with the same attempt.
/// Repeating outstanding requests exactly parks, too. Without `park` the worker keeps the lease and renews it.
///
/// @param manager        In: the manager.
/// @param task_id        In: the task's id.
/// @param input_requests In: JSON object of at least one member: each value is an input request, `{"method":
///                       "elicitation/create" | "sampling/createMessage" | "roots/list", "params": {...}}`.
/// @param status_message In, optional: the new status message for people; NULL clears it.
/// @param options        In, optional: JSON object, as for taskhold_manager_mark_task_working() but without
///                       `withdrawInputRequests` and `force`; `park` as above.
/// @param out_record     Out, owned, optional: the record after the change.
/// @param out_error      Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_identifier, empty_input_requests, invalid_payload,
///         input_request_key_reused, malformed JSON or `options`); NOT_FOUND (task_not_found); INVALID_STATE
///         (task_terminal, lease_required, input_responses_untaken, cancelation_requested, not_queued); CONFLICT
///         (lease_lost, revision_mismatch); LIMIT_EXCEEDED (payload_too_large, nesting_too_deep).
/// @note Any thread. Announces the change to subscribers on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_request_task_input(
    manager: *mut taskhold_manager,
    task_id: *const c_char,
    input_requests: *const c_char,
    status_message: *const c_char,
    options: *const c_char,
    out_record: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (record, error) = unsafe { (Out::clear(out_record), Out::clear(out_error)) };
    guard("taskhold_manager_request_task_input", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (task_id, input_requests, status_message, options) = unsafe {
            (
                text("task_id", task_id)?,
                text("input_requests", input_requests)?,
                optional_text("status_message", status_message)?,
                optional_text("options", options)?,
            )
        };
        let changed = manager.request_task_input(task_id, input_requests, status_message, options)?;
        record.give_with(|| changed.into_text())?;
        Ok(())
    })
}

/// Completes a task: terminal and immutable from now on; outstanding requests and untaken answers are
/// cleared. Of any number of racing calls that end a task exactly one wins. A tool result whose `isError` is
/// true is still a completed task. Beyond its shape the result is not checked.
///
/// @param manager        In: the manager.
/// @param task_id        In: the task's id.
/// @param result         In: JSON object, kept and given back byte for byte; its `resultType`, if there, is
///                       "complete".
/// @param status_message In, optional: the last status message for people; NULL clears it.
/// @param options        In, optional: JSON object: `expectedRevision`, `unlessCancelationRequested` and `lease`, as
///                       for taskhold_manager_mark_task_working().
/// @param out_record     Out, owned, optional: the record after the change.
/// @param out_error      Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_identifier, invalid_payload, malformed JSON or `options`); NOT_FOUND
///         (task_not_found); INVALID_STATE (task_terminal, lease_required, cancelation_requested); CONFLICT
///         (lease_lost, revision_mismatch); LIMIT_EXCEEDED (payload_too_large, nesting_too_deep).
/// @note Any thread. Announces the change to subscribers on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_complete_task(
    manager: *mut taskhold_manager,
    task_id: *const c_char,
    result: *const c_char,
    status_message: *const c_char,
    options: *const c_char,
    out_record: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (record, error) = unsafe { (Out::clear(out_record), Out::clear(out_error)) };
    guard("taskhold_manager_complete_task", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (task_id, result, status_message, options) = unsafe {
            (
                text("task_id", task_id)?,
                text("result", result)?,
                optional_text("status_message", status_message)?,
                optional_text("options", options)?,
            )
        };
        let changed = manager.complete_task(task_id, result, status_message, options)?;
        record.give_with(|| changed.into_text())?;
        Ok(())
    })
}

/// Fails a task with an error that the client sees: terminal and immutable from now on. This is for JSON-RPC
/// errors; a tool that ran and reports an error has completed.
///
/// @param manager        In: the manager.
/// @param task_id        In: the task's id.
/// @param failure        In: JSON-RPC error object: integer `code`, string `message`, optional `data`; kept
///                       and given back byte for byte.
/// @param status_message In, optional: the last status message for people; NULL clears it.
/// @param options        In, optional: JSON object, as for taskhold_manager_complete_task(); `force` too.
/// @param out_record     Out, owned, optional: the record after the change.
/// @param out_error      Out, owned, optional: why the call failed.
/// @return As taskhold_manager_complete_task().
/// @note Any thread. Announces the change to subscribers on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_fail_task(
    manager: *mut taskhold_manager,
    task_id: *const c_char,
    failure: *const c_char,
    status_message: *const c_char,
    options: *const c_char,
    out_record: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (record, error) = unsafe { (Out::clear(out_record), Out::clear(out_error)) };
    guard("taskhold_manager_fail_task", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (task_id, failure, status_message, options) = unsafe {
            (
                text("task_id", task_id)?,
                text("failure", failure)?,
                optional_text("status_message", status_message)?,
                optional_text("options", options)?,
            )
        };
        let changed = manager.fail_task(task_id, failure, status_message, options)?;
        record.give_with(|| changed.into_text())?;
        Ok(())
    })
}

/// Marks a task as cancelled: terminal and immutable from now on. This is the worker's decision; a client
/// only asks for it (taskhold_manager_request_task_cancelation()).
///
/// @param manager        In: the manager.
/// @param task_id        In: the task's id.
/// @param status_message In, optional: the last status message for people; NULL clears it.
/// @param options        In, optional: JSON object, as for taskhold_manager_complete_task(); `force` too.
/// @param out_record     Out, owned, optional: the record after the change.
/// @param out_error      Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_identifier, malformed `options`); NOT_FOUND (task_not_found);
///         INVALID_STATE (task_terminal, lease_required, cancelation_requested); CONFLICT (lease_lost,
///         revision_mismatch); LIMIT_EXCEEDED (payload_too_large).
/// @note Any thread. Announces the change to subscribers on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_cancel_task(
    manager: *mut taskhold_manager,
    task_id: *const c_char,
    status_message: *const c_char,
    options: *const c_char,
    out_record: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (record, error) = unsafe { (Out::clear(out_record), Out::clear(out_error)) };
    guard("taskhold_manager_cancel_task", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (task_id, status_message, options) = unsafe {
            (
                text("task_id", task_id)?,
                optional_text("status_message", status_message)?,
                optional_text("options", options)?,
            )
        };
        let changed = manager.cancel_task(task_id, status_message, options)?;
        record.give_with(|| changed.into_text())?;
        Ok(())
    })
}

/// Takes the answers that the client gave: returns and clears them in one step, so that each is taken once.
///
/// `{"peek": true}` shows them and clears nothing. A worker that may die between taking answers and using them peeks
/// first, and takes them together with the `checkpoint` that holds them.
///
/// @param manager       In: the manager.
/// @param task_id       In: the task's id.
/// @param options       In, optional: JSON object: `expectedRevision`, `unlessCancelationRequested`, `lease` and
///                      `checkpoint` (not with `peek`), as for the transitions, and `peek`.
/// @param out_responses Out, owned: JSON object, answers by the keys of their requests; `{}` when there are
///                      none, also of a terminal task. Free it with taskhold_string_free().
/// @param out_error     Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_identifier, malformed `options`); NOT_FOUND (task_not_found);
///         INVALID_STATE (lease_required, cancelation_requested); CONFLICT (lease_lost, revision_mismatch);
///         LIMIT_EXCEEDED (payload_too_large, nesting_too_deep). A task that has ended gives `{}` without a lease.
/// @note Any thread. Does not wait for answers. Announces nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_take_task_input_responses(
    manager: *mut taskhold_manager,
    task_id: *const c_char,
    options: *const c_char,
    out_responses: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (responses, error) = unsafe { (Out::clear(out_responses), Out::clear(out_error)) };
    guard("taskhold_manager_take_task_input_responses", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (task_id, options) = unsafe { (text("task_id", task_id)?, optional_text("options", options)?) };
        responses.require("out_responses")?;
        responses.give(manager.take_task_input_responses(task_id, options)?)?;
        Ok(())
    })
}

/// Tells whether a client has asked for the cancelation of a task. The request changes the status of no task that
/// somebody works on, and stays visible after the task's end.
///
/// @param manager       In: the manager.
/// @param task_id       In: the task's id.
/// @param out_requested Out: 1 if it was asked for, else 0.
/// @param out_error     Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_identifier); NOT_FOUND (task_not_found).
/// @note Any thread. A store in memory does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_is_task_cancelation_requested(
    manager: *mut taskhold_manager,
    task_id: *const c_char,
    out_requested: *mut i32,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (requested, error) = unsafe { (Out::clear(out_requested), Out::clear(out_error)) };
    guard("taskhold_manager_is_task_cancelation_requested", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let task_id = unsafe { text("task_id", task_id) }?;
        requested.require("out_requested")?;
        requested.set(manager.is_task_cancelation_requested(task_id)?.into());
        Ok(())
    })
}

/// Waits until a task's revision is greater than the one seen: a change of its state, or a client's first
/// request for cancelation. Returns at once if it is so already. Any number of threads may wait.
///
/// @param manager       In: the manager.
/// @param task_id       In: the task's id.
/// @param seen_revision In: the revision seen last; 0 for any.
/// @param timeout_ms    In: longest wait in milliseconds of real time, never the manual clock's; 0 looks and
///                      returns, TASKHOLD_WAIT_FOREVER waits without end.
/// @param out_record    Out, owned, optional: the record as it is now.
/// @param out_error     Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_identifier); NOT_FOUND (task_not_found): also when the task expires
///         during the wait; TIMEOUT (timeout); CLOSED (closed_while_waiting): the manager was closed.
/// @note Any thread. Blocks the thread; a JVM's virtual thread stays pinned to its carrier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_wait_task(
    manager: *mut taskhold_manager,
    task_id: *const c_char,
    seen_revision: u64,
    timeout_ms: u32,
    out_record: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (record, error) = unsafe { (Out::clear(out_record), Out::clear(out_error)) };
    guard("taskhold_manager_wait_task", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let task_id = unsafe { text("task_id", task_id) }?;
        record.give(manager.wait_task(task_id, seen_revision, timeout(timeout_ms))?)?;
        Ok(())
    })
}

/// Lists tasks for operators, oldest first. Never for clients: nobody's authorization is checked. A full walk
/// meets every task that stays meanwhile, each once.
///
/// `params`: `status`, `endpoint`, `authorizationPartition` (null: the anonymous one), `queue`, `worker` (who holds
/// the task) and `workState` as filters; `pageSize` 1 to 1000 (100); `pageToken`, from the page before ("": the
/// first); `includePayload` (false): whether records hold `result`, `error`, `inputRequests`, `work` and `checkpoint`.
///
/// `workState` of a task that has a queue or a lease and has not ended: "leased" (held), "parked" (held by nobody while
/// requests are outstanding), "ready" (to be claimed) or "scheduled" (to be claimed, but not yet).
///
/// @param manager   In: the manager.
/// @param params    In, optional: JSON object.
/// @param out_page  Out, owned: `{"records": [...], "corrupt": ["id"...], "nextPageToken": ""}`; `corrupt`
///                  names the tasks that cannot be read; the token is "" on the last page. Free it with
///                  taskhold_string_free().
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_page_token, malformed `params`).
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_list_tasks(
    manager: *mut taskhold_manager,
    params: *const c_char,
    out_page: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (page, error) = unsafe { (Out::clear(out_page), Out::clear(out_error)) };
    guard("taskhold_manager_list_tasks", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let params = unsafe { optional_text("params", params) }?;
        page.require("out_page")?;
        page.give(manager.list_tasks(params)?)?;
        Ok(())
    })
}
