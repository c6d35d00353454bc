//! What happens to A2A tasks over time: their logs, waiting for the next save, and event queues.

use std::ffi::c_char;

use super::args::{Out, optional_text, text, timeout};
use super::events::taskhold_events;
use super::guard::guard;
use super::handle;
use super::state_provider::taskhold_state_provider;
use super::status::taskhold_status;

/// Reads a task's log: the events that saves appended to it (`save_options.event`), oldest first.
///
/// To follow a task, pass as `afterRevision` the revision of the last event that you have or, when `events` came
/// back empty, `revision`; then wait with taskhold_state_provider_wait_task(). The log goes with its task.
///
/// `params`: `afterRevision` (0), only events behind it; `limit` 1 to 1000 (100).
///
/// @param provider   In: the provider.
/// @param task_id    In: the task's id, whoever owns it: for the trusted host, never for clients.
/// @param params     In, optional: JSON object.
/// @param out_events Out, owned: `{"events": [{"revision": 8, "event": {...}}], "revision": 9, "missing": false}`, from
///                   one snapshot: the events byte for byte, each with the revision of the save that brought it;
///                   the task's revision, 0 for an unknown task, whose log is empty. `missing` is true when events
///                   behind `afterRevision` were dropped, or when that is above the task's revision: it was
///                   deleted and made again. Free it with taskhold_string_free().
/// @param out_error  Out, owned, optional: why the call failed.
/// @return OK, also for an unknown task; INVALID_ARGUMENT (invalid_value, invalid_identifier, malformed `params`).
/// @note Any thread. A store in memory does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_read_events(
    provider: *mut taskhold_state_provider,
    task_id: *const c_char,
    params: *const c_char,
    out_events: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (events, error) = unsafe { (Out::clear(out_events), Out::clear(out_error)) };
    guard("taskhold_state_provider_read_events", error, || {
        let provider = handle::get(provider)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (task_id, params) = unsafe { (text("task_id", task_id)?, optional_text("params", params)?) };
        events.require("out_events")?;
        events.give(provider.read_events(task_id, params)?)?;
        Ok(())
    })
}

/// Waits until a task's revision is not the one that was seen, and gives it: at once, or as soon as the task is saved
/// here or in another process. Any number of threads may wait for one task.
///
/// @param provider      In: the provider.
/// @param task_id       In: the task's id, whoever owns it: for the trusted host, never for clients.
/// @param seen_revision In: the revision that the caller knows; 0 when none.
/// @param timeout_ms    In: longest wait in milliseconds of real time; 0 looks and returns, TASKHOLD_WAIT_FOREVER
///                      waits without end.
/// @param out_revision  Out, optional: the task's revision.
/// @param out_error     Out, owned, optional: why the call failed.
/// @return OK; TIMEOUT (timeout): it is still the one that was seen; NOT_FOUND (task_not_found): the task is not
///         there, or went; CLOSED (closed_while_waiting): the provider was closed; INVALID_ARGUMENT
///         (invalid_identifier).
/// @note Any thread. Blocks the thread; a JVM's virtual thread stays pinned to its carrier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_wait_task(
    provider: *mut taskhold_state_provider,
    task_id: *const c_char,
    seen_revision: u64,
    timeout_ms: u32,
    out_revision: *mut u64,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (revision, error) = unsafe { (Out::clear(out_revision), Out::clear(out_error)) };
    guard("taskhold_state_provider_wait_task", error, || {
        let provider = handle::get(provider)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let task_id = unsafe { text("task_id", task_id) }?;
        revision.set(provider.wait_task(task_id, seen_revision, timeout(timeout_ms))?);
        Ok(())
    })
}

/// Opens a queue that tells when tasks become final: once for each, after the change is stored, and not for
/// replicated saves. With the provider's option `announceSaves` it also tells of every save, replicated ones too, so
/// that one queue serves any number of streams: on `saved`, read the task's events. It sees what other handles of
/// the same name and other processes save over one store.
///
/// @param provider   In: the provider.
/// @param capacity   In: most events that wait in the queue, at least 1.
/// @param out_events Out, owned: the queue. Close it with taskhold_events_close(). It outlives the provider.
/// @param out_error  Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_value: `capacity` is 0).
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_open_events(
    provider: *mut taskhold_state_provider,
    capacity: u32,
    out_events: *mut *mut taskhold_events,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (events, error) = unsafe { (Out::clear(out_events), Out::clear(out_error)) };
    guard("taskhold_state_provider_open_events", error, || {
        let provider = handle::get(provider)?;
        events.require("out_events")?;
        events.set(handle::open(provider.open_events(capacity)?)?);
        Ok(())
    })
}
