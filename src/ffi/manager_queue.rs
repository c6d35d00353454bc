//! MCP tasks, the queues: workers claim tasks, keep their leases and give tasks back.

use std::ffi::c_char;

use super::args::{Out, optional_text, text, timeout};
use super::guard::guard;
use super::handle;
use super::manager::taskhold_manager;
use super::status::taskhold_status;

/// Claims a task that was created with a `queue`: of the first of these queues that has one, the task that became
/// available first. The worker then holds it under a lease, and each task is held by one worker. taskhold runs
/// nothing: it says who may work on what, and takes work over when a worker dies.
///
/// Claimable is a task with a queue whose status is working, which nobody holds, for which no cancelation was
/// requested, and whose `availableAt` has come. A lease that has lapsed (now is at or after its `expiresAt`) holds
/// nothing: while attempts are left, the task can be claimed again from the lapse and its backoff on. A claim begins
/// the next attempt, unless the worker before parked the task or released it with `countsAsAttempt` false: then it
/// goes on with the same one. Outstanding requests, answers that were not taken and the checkpoint are still there.
///
/// The answer is the record, and in it `lease.token`: a whole number, greater with every claim of that task. Every
/// transition of such a task needs it in its options, `{"lease": 3}`, so that a worker that was held up and lost its
/// lease can change nothing any more. A claim grows the revision and wakes taskhold_manager_wait_task(); it is not
/// announced, and the client sees a working task all the time.
///
/// @param manager    In: the manager.
/// @param claim      In: JSON object, all of it required: `worker` (string of 1 to 256 bytes: who claims), `queues`
///                   (array of 1 to 64 strings, in strict order of preference) and `leaseMs` (1 to 86400000: for how
///                   long the worker holds the task unless it renews the lease).
/// @param timeout_ms In: longest wait for a task in milliseconds of real time, never the manual clock's, also for
///                   what becomes due meanwhile or is made claimable in another process; 0 looks and returns,
///                   TASKHOLD_WAIT_FOREVER waits without end.
/// @param out_record Out, owned: the record with the lease's token, or NULL when no task came. Free it with
///                   taskhold_string_free().
/// @param out_error  Out, owned, optional: why the call failed.
/// @return OK, also when no task came; INVALID_ARGUMENT (missing_key, malformed `claim`); CLOSED
///         (closed_while_waiting): the manager was closed.
/// @note Any thread. Blocks the thread; a JVM's virtual thread stays pinned to its carrier. Claimers line up: a task
///       that becomes due wakes one of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_claim_task(
    manager: *mut taskhold_manager,
    claim: *const c_char,
    timeout_ms: u32,
    out_record: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (record, error) = unsafe { (Out::clear(out_record), Out::clear(out_error)) };
    guard("taskhold_manager_claim_task", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let claim = unsafe { text("claim", claim) }?;
        record.require("out_record")?;
        let claimed = manager.claim_task(claim, timeout(timeout_ms))?;
        record.give_optional(claimed.map(crate::task::Record::into_text))?;
        Ok(())
    })
}

/// Renews leases: sets the end of each to `leaseMs` from now, also to an earlier time. Renew at a third of the lease.
/// Each task is one atomic step; a store in a file takes them into one transaction.
///
/// @param manager     In: the manager.
/// @param renewals    In: JSON object: `leaseMs` (1 to 86400000) and `tasks`, an array of 1 to 1000 objects, none of
///                    the same task: `taskId`, `lease` (the token) and, optional, `checkpoint` (any JSON value: what
///                    another worker needs to go on; absent or null keeps the one that is there). Checkpoints together
///                    have at most `maximumPayloadBytes`.
/// @param out_outcome Out, owned, optional: `{"renewed": ["id"...], "lost": ["id"...], "cancelationRequested":
///                    ["id"...]}`. Lost are leases of tasks that are unknown, expired, ended or held under another
///                    lease; they spoil nothing for the rest. The last are those of the renewed whose client asked
///                    for cancelation. Free it with taskhold_string_free().
/// @param out_error   Out, owned, optional: why the call failed.
/// @return OK, whatever was lost; INVALID_ARGUMENT (missing_key, invalid_identifier, malformed `renewals`);
///         LIMIT_EXCEEDED (payload_too_large: the checkpoints together; nesting_too_deep): nothing was renewed.
/// @note Any thread. Moves no revision, wakes nobody and announces nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_renew_leases(
    manager: *mut taskhold_manager,
    renewals: *const c_char,
    out_outcome: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (outcome, error) = unsafe { (Out::clear(out_outcome), Out::clear(out_error)) };
    guard("taskhold_manager_renew_leases", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let renewals = unsafe { text("renewals", renewals) }?;
        outcome.give(manager.renew_leases(renewals)?)?;
        Ok(())
    })
}

/// Gives a held task back to its queue. After attempt n the next can begin `backoffMs` x 2^(n-1) later, at most
/// `maximumBackoffMs`. With no attempt left the task is failed with `failure`, or with `{"code": -32603, "message":
/// "The work on this task did not succeed."}`; where the client asked for cancelation it is cancelled. Released while
/// requests are outstanding, the task is parked: the last answer makes it claimable.
///
/// @param manager    In: the manager.
/// @param task_id    In: the task's id.
/// @param options    In: JSON object: `lease` (the token, needed), `delayMs` (0: claimable after this and after the
///                   backoff, whichever is longer), `countsAsAttempt` (true; false for an orderly shutdown: the next
///                   claim goes on with the same attempt, and only the delay holds it up), `statusMessage` (absent
///                   keeps the message, null clears it), `checkpoint` (any JSON value; absent or null keeps the one
///                   that is there) and `failure` (JSON-RPC error object: becomes `lastFailure`).
/// @param out_record Out, owned, optional: the record after the change.
/// @param out_error  Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_identifier, invalid_payload: `failure`; malformed `options`); NOT_FOUND
///         (task_not_found); INVALID_STATE (task_terminal, lease_required, not_queued); CONFLICT (lease_lost);
///         LIMIT_EXCEEDED (payload_too_large, nesting_too_deep).
/// @note Any thread. Announced to subscribers on this thread where the status or the message changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_release_task(
    manager: *mut taskhold_manager,
    task_id: *const c_char,
    options: *const c_char,
    out_record: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (record, error) = unsafe { (Out::clear(out_record), Out::clear(out_error)) };
    guard("taskhold_manager_release_task", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (task_id, options) = unsafe { (text("task_id", task_id)?, optional_text("options", options)?) };
        let released = manager.release_task(task_id, options)?;
        record.give_with(|| released.into_text())?;
        Ok(())
    })
}
