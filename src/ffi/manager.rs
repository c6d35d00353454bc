//! MCP task managers: opening and closing.

use std::ffi::c_char;

use super::args::{Out, optional_text};
use super::guard::guard;
use super::handle::{self, Handle, HandleTable};
use super::status::taskhold_status;
use super::store::taskhold_store;
use crate::store::Store;
use crate::task::TaskManager;

/// A manager of MCP tasks (extension io.modelcontextprotocol/tasks, SEP-2663): it creates tasks, keeps their
/// state and answers the protocol's requests about them. The application does the work and tells the manager
/// how it goes.
///
/// The record of a task, for trusted code, is a JSON object: `task` (the extension's DetailedTask, and the only
/// part that may reach a client), `revision` (1 at first; grows with each change), `endpoint`,
/// `authorizationPartition` (string or null), `origin`, `metadata` and `declaredInputRequests` (as given at the
/// creation, if they were) and `cancelationRequested` (boolean).
///
/// The record of a task that was created with a queue, a lease or an operation id also has `queue`, `work`,
/// `checkpoint`, `attempt` (attempts begun, 0 at first), `attempts` (with its defaults), `availableAt` (the time from
/// which on it can be claimed), `lease` (`{"worker": "...", "expiresAt": "..."}`), `lastFailure` and `operationId`, each
/// null where there is none. No client ever sees any of it: to clients a queued, scheduled or retried task is working.
pub struct taskhold_manager {
    _private: (),
}

impl Handle for taskhold_manager {
    type Object = TaskManager;
    const KIND: u8 = 3;

    fn table() -> &'static HandleTable<Self::Object> {
        static TABLE: HandleTable<TaskManager> = HandleTable::new();
        &TABLE
    }

    fn close(manager: &Self::Object) {
        manager.close();
    }
}

/// Opens a task manager.
///
/// Options, each of which may be absent or null for its default:
///  - `name` (string, "default"): managers with the same name over one store share their tasks.
///  - `maximumRetainedTasks` (1024): how many unexpired tasks may be there at once, exactly. On SQL stores 0
///    is allowed, means no limit, and is the default.
///  - `maximumRetainedTasksPerPartition` (0, no limit): the same for each authorization partition apart, over all
///    endpoints; the anonymous one counts too. So one caller cannot use up what all share.
///  - `taskTimeToLiveMs` (3600000): how long a task lives, from its creation on.
///  - `pollIntervalMs` (1000): how often a client should ask.
///  - `maximumPayloadBytes` (10485760): most bytes of one payload.
///
/// Numbers are positive and whole; durations fit a signed 64-bit count of nanoseconds. A task keeps the time
/// to live and the poll interval that it was created with.
///
/// @param store       In, optional: where the tasks live. NULL is a private store in memory.
/// @param options     In, optional: JSON object.
/// @param out_manager Out, owned: the manager. Close it with taskhold_manager_close().
/// @param out_error   Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (malformed `options`); UNAVAILABLE (storage_unavailable).
/// @note Any thread. A store in memory does not block. No thread is started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_open(
    store: *mut taskhold_store,
    options: *const c_char,
    out_manager: *mut *mut taskhold_manager,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (manager, error) = unsafe { (Out::clear(out_manager), Out::clear(out_error)) };
    guard("taskhold_manager_open", error, || {
        let store = handle::get_optional(store)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let options = unsafe { optional_text("options", options) }?;
        manager.require("out_manager")?;
        let opened = match store {
            Some(store) => TaskManager::open(&store, options)?,
            None => TaskManager::open(&Store::in_memory(), options)?,
        };
        manager.set(handle::open(opened)?);
        Ok(())
    })
}

/// Gives the options that a manager works with, defaults filled in.
///
/// @param manager     In: the manager.
/// @param out_options Out, owned: JSON object. Free it with taskhold_string_free().
/// @param out_error   Out, owned, optional: why the call failed.
/// @return OK.
/// @note Any thread. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_options(
    manager: *mut taskhold_manager,
    out_options: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (options, error) = unsafe { (Out::clear(out_options), Out::clear(out_error)) };
    guard("taskhold_manager_options", error, || {
        let manager = handle::get(manager)?;
        options.require("out_options")?;
        options.give(manager.options())?;
        Ok(())
    })
}

/// Closes a manager. Calls that run on it finish, waits in it end with CLOSED. Its tasks stay in the store;
/// those of a private store end. Event queues and subscriptions are handles of their own and stay open, but
/// a subscription has nobody left who announces anything to it.
///
/// @param manager In: the manager. NULL and a closed one are fine.
/// @return OK; INVALID_HANDLE (foreign).
/// @note Any thread, also a finalizer or inside a callback. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_manager_close(manager: *mut taskhold_manager) -> taskhold_status {
    guard("taskhold_manager_close", Out::none(), || handle::close(manager))
}
