//! Subscriptions and event queues, whoever opened them.

use std::ffi::c_char;
use std::sync::Arc;

use super::args::{Out, WAIT_FOREVER, timeout};
use super::guard::guard;
use super::handle::{self, Handle, HandleTable};
use super::status::taskhold_status;
use crate::events::EventQueue;
use crate::task::Subscription;

/// A subscription to the changes that a manager makes.
pub struct taskhold_subscription {
    _private: (),
}

impl Handle for taskhold_subscription {
    type Object = Subscription;
    const KIND: u8 = 4;

    fn table() -> &'static HandleTable<Self::Object> {
        static TABLE: HandleTable<Subscription> = HandleTable::new();
        &TABLE
    }

    fn close(subscription: &Self::Object) {
        subscription.close();
    }
}

/// A queue of events that a host pulls from.
pub struct taskhold_events {
    _private: (),
}

impl Handle for taskhold_events {
    type Object = Arc<EventQueue>;
    const KIND: u8 = 5;

    fn table() -> &'static HandleTable<Self::Object> {
        static TABLE: HandleTable<Arc<EventQueue>> = HandleTable::new();
        &TABLE
    }

    fn close(events: &Self::Object) {
        events.close();
    }
}

/// How long to wait: without end.
pub const TASKHOLD_WAIT_FOREVER: u32 = u32::MAX;

const _: () = assert!(TASKHOLD_WAIT_FOREVER == WAIT_FOREVER);

/// Ends a subscription: a change that is announced after this returned is not told to its function. A call that
/// another thread was making at that moment goes on, and may even enter the function after this returned, because
/// this waits for nobody. `release` comes when the last such call is over: a host that must know that none is under
/// way waits for it; see taskhold_manager_subscribe().
///
/// @param subscription In: the subscription. NULL and a closed one are fine.
/// @return OK; INVALID_HANDLE (foreign).
/// @note Any thread, also a finalizer or inside a callback, its own included. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_subscription_close(
    subscription: *mut taskhold_subscription,
) -> taskhold_status {
    guard("taskhold_subscription_close", Out::none(), || handle::close(subscription))
}

/// Takes the next event out of a queue, or waits for one.
///
/// `{"event": "changed", "taskId": "..."}`: the task was created, its state changed, or answers were accepted.
/// `{"event": "cancelation_requested", "taskId": "..."}`: a client asked for the task's cancelation.
/// `{"event": "finalized", "taskId": "..."}`: the A2A task became final.
/// `{"event": "saved", "taskId": "..."}`: the A2A task was saved, where the provider has `announceSaves`.
/// `{"event": "lagged"}`: the queue was full and events were dropped here: look at everything again.
/// Ignore events that you do not know.
///
/// @param events     In: the queue.
/// @param timeout_ms In: longest wait in milliseconds of real time; 0 looks and returns,
///                   TASKHOLD_WAIT_FOREVER waits without end.
/// @param out_event  Out, owned: the event, JSON. Free it with taskhold_string_free().
/// @param out_error  Out, owned, optional: why the call failed.
/// @return OK; TIMEOUT (timeout): no event came; CLOSED (closed_while_waiting): the queue was closed.
/// @note Any thread; each event goes to one caller. Blocks the thread; a JVM's virtual thread stays pinned to
///       its carrier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_events_next(
    events: *mut taskhold_events,
    timeout_ms: u32,
    out_event: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (event, error) = unsafe { (Out::clear(out_event), Out::clear(out_error)) };
    guard("taskhold_events_next", error, || {
        let events = handle::get(events)?;
        event.require("out_event")?;
        event.give(events.next(timeout(timeout_ms))?)?;
        Ok(())
    })
}

/// Gives a descriptor that is readable while events are in the queue, for the host's event loop. It is
/// borrowed, non-blocking, close-on-exec and level-triggered: the host neither reads nor closes it, and
/// unregisters it before it closes the queue.
///
/// @param events    In: the queue.
/// @param out_fd    Out: the descriptor; the same one for each call.
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK; UNSUPPORTED (unsupported_platform): not Linux; INTERNAL (system_resource): the process has no
///         descriptor left.
/// @note Any thread. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_events_fd(
    events: *mut taskhold_events,
    out_fd: *mut i32,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (fd, error) = unsafe { (Out::clear(out_fd), Out::clear(out_error)) };
    guard("taskhold_events_fd", error, || {
        let events = handle::get(events)?;
        fd.require("out_fd")?;
        fd.set(events.fd()?);
        Ok(())
    })
}

/// Closes a queue. Calls that wait on it end with CLOSED.
///
/// @param events In: the queue. NULL and a closed one are fine.
/// @return OK; INVALID_HANDLE (foreign).
/// @note Any thread, also a finalizer or inside a callback. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_events_close(events: *mut taskhold_events) -> taskhold_status {
    guard("taskhold_events_close", Out::none(), || handle::close(events))
}
