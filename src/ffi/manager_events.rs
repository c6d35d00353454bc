//! MCP tasks, the publisher's side: telling who wants to know that a task changed.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::args::{Out, null_argument, text};
use super::callback::TaskCallback;
use super::events::{taskhold_events, taskhold_subscription};
use super::guard::guard;
use super::handle;
use super::manager::taskhold_manager;
use super::status::taskhold_status;

/// Announces that a task changed, as the manager does by itself after each change: to subscribers of this
/// manager and to event queues. For hosts that learn of changes elsewhere. An announcement is a hint: the id
/// need not be that of a task that is there.
///
/// @param manager   In: the manager.
/// @param task_id   In: the task's id.
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_identifier).
/// @note Any thread. Calls the subscribers on this thread, in order of subscription, before it returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_publish_task_changed(
    manager: *mut taskhold_manager,
    task_id: *const c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let error = unsafe { Out::clear(out_error) };
    guard("taskhold_manager_publish_task_changed", error, || {
        let manager = handle::get(manager)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let task_id = unsafe { text("task_id", task_id) }?;
        manager.publish_task_changed(task_id)
    })
}

/// Subscribes to the changes that are made through this manager: after each successful change that a client
/// can observe, once the new state is readable and with no lock held, the function is called with the task's
/// id. Subscribers are called in order of subscription, on the thread that made the change. A call that
/// changes nothing, a request for cancelation and an expiry announce nothing.
///
/// `on_task_changed` may call any function of this library, taskhold_subscription_close() on its own
/// subscription and taskhold_manager_close() included. It may run on several threads at once. No C++
/// exception, longjmp or thread exit may leave it.
///
/// `user_data` passes to the library with this call, whatever becomes of it: `release(user_data)` is called
/// exactly once. That is before taskhold_subscription_close() returns when no call of `on_task_changed` runs,
/// else when the last one ends, and no call enters `on_task_changed` after it; and before this function returns when
/// it fails.
///
/// @param manager          In: the manager.
/// @param on_task_changed  In: the function to call. `task_id` is borrowed for that call.
/// @param user_data        In, optional: what `on_task_changed` and `release` are called with.
/// @param release          In, optional: lets go of `user_data`; the same rules as for `on_task_changed`.
/// @param out_subscription Out, owned: the subscription. End it with taskhold_subscription_close().
/// @param out_error        Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (null_argument: `on_task_changed` too).
/// @note Any thread. Hosts with a garbage collector or green threads use taskhold_manager_open_events().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_subscribe(
    manager: *mut taskhold_manager,
    on_task_changed: Option<unsafe extern "C" fn(user_data: *mut c_void, task_id: *const c_char)>,
    user_data: *mut c_void,
    release: Option<unsafe extern "C" fn(user_data: *mut c_void)>,
    out_subscription: *mut *mut taskhold_subscription,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: the functions may be called with the user data on any thread (documentation above).
    let callback = unsafe { TaskCallback::new(on_task_changed, user_data, release) };
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (subscription, error) = unsafe { (Out::clear(out_subscription), Out::clear(out_error)) };
    guard("taskhold_manager_subscribe", error, || {
        // Moved in here, so that the callback is dropped inside the guard whatever happens.
        let callback = Arc::new(callback);
        let manager = handle::get(manager)?;
        if !callback.is_callable() {
            return Err(null_argument("on_task_changed"));
        }
        subscription.require("out_subscription")?;
        subscription.set(handle::open(manager.subscribe(callback))?);
        Ok(())
    })
}

/// Opens a queue of the changes of all tasks under this manager's name, also of those that other handles and
/// other processes make over the same store. The queue is bounded: events of one task coalesce, and where
/// events had to be dropped an event says so. Expiry makes no event. A task that a lapsed lease ended is announced
/// while somebody waits, here in taskhold_events_next(), or for work or a task, and by calls that change tasks: a host
/// that only watches taskhold_events_fd() hears of it by the next of these.
///
/// @param manager    In: the manager.
/// @param capacity   In: most events that wait in the queue, at least 1.
/// @param out_events Out, owned: the queue. Close it with taskhold_events_close(). It outlives the manager.
/// @param out_error  Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_value: `capacity` is 0).
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_open_events(
    manager: *mut taskhold_manager,
    capacity: u32,
    out_events: *mut *mut taskhold_events,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (events, error) = unsafe { (Out::clear(out_events), Out::clear(out_error)) };
    guard("taskhold_manager_open_events", error, || {
        let manager = handle::get(manager)?;
        events.require("out_events")?;
        events.set(handle::open(manager.open_events(capacity)?)?);
        Ok(())
    })
}
