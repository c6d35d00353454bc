//! A2A task state providers.

use std::ffi::c_char;

use super::args::{Out, optional_text, text};
use super::guard::guard;
use super::handle::{self, Handle, HandleTable};
use super::status::taskhold_status;
use super::store::taskhold_store;
use crate::a2a::{Liveness, StateProvider};
use crate::store::Store;

/// A provider of the state of A2A tasks: it keeps the tasks and tells which are active and which are final.
pub struct taskhold_state_provider {
    _private: (),
}

impl Handle for taskhold_state_provider {
    type Object = StateProvider;
    const KIND: u8 = 7;

    fn table() -> &'static HandleTable<Self::Object> {
        static TABLE: HandleTable<StateProvider> = HandleTable::new();
        &TABLE
    }

    fn close(provider: &Self::Object) {
        provider.close();
    }
}

/// Liveness: the task is unknown, was deleted, or is not retained any more.
pub const TASKHOLD_LIVENESS_ABSENT: i32 = 0;
/// Liveness: the task is not final.
pub const TASKHOLD_LIVENESS_ACTIVE: i32 = 1;
/// Liveness: the task is final, and counts as active for the rest of its grace period.
pub const TASKHOLD_LIVENESS_GRACE: i32 = 2;
/// Liveness: the task is final and its grace period is over.
pub const TASKHOLD_LIVENESS_FINALIZED: i32 = 3;

const _: () = {
    assert!(TASKHOLD_LIVENESS_ABSENT == Liveness::Absent as i32);
    assert!(TASKHOLD_LIVENESS_ACTIVE == Liveness::Active as i32);
    assert!(TASKHOLD_LIVENESS_GRACE == Liveness::Grace as i32);
    assert!(TASKHOLD_LIVENESS_FINALIZED == Liveness::Finalized as i32);
};

/// Opens a state provider.
///
/// Options, each of which may be absent or null for its default:
///  - `name` (string, "default"): providers with the same name over one store share their tasks.
///  - `gracePeriodMs` (15000; 0 allowed): how long a final task still counts as active.
///  - `maximumRetainedTasks` (0: none): how many tasks may be there at once, exactly.
///  - `finalizedRetentionMs` (0: for ever): how long a task is kept after it became final.
///  - `activeRetentionMs` (0: for ever): how long a task that is not final is kept after its last save, so that
///    abandoned tasks give their places back. Each task has the value of the provider that saved it last.
///  - `maximumEventsPerTask`, `maximumEventBytesPerTask` (0: none): how many events a task's log keeps, and how many
///    bytes of their texts. The oldest go, at most 64 with each save.
///  - `announceSaves` (false): event queues also tell of every save, see taskhold_state_provider_open_events().
///  - `maximumPayloadBytes` (10485760): most bytes of one task.
///
/// @param store        In, optional: where the tasks live. NULL is a private store in memory.
/// @param options      In, optional: JSON object.
/// @param out_provider Out, owned: the provider. Close it with taskhold_state_provider_close().
/// @param out_error    Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (malformed `options`); UNAVAILABLE (storage_unavailable).
/// @note Any thread. A store in memory does not block. No thread is started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_open(
    store: *mut taskhold_store,
    options: *const c_char,
    out_provider: *mut *mut taskhold_state_provider,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (provider, error) = unsafe { (Out::clear(out_provider), Out::clear(out_error)) };
    guard("taskhold_state_provider_open", error, || {
        let store = handle::get_optional(store)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let options = unsafe { optional_text("options", options) }?;
        provider.require("out_provider")?;
        let opened = match store {
            Some(store) => StateProvider::open(&store, options)?,
            None => StateProvider::open(&Store::in_memory(), options)?,
        };
        provider.set(handle::open(opened)?);
        Ok(())
    })
}

/// Gives the options that a provider works with, defaults filled in.
///
/// @param provider    In: the provider.
/// @param out_options Out, owned: JSON object. Free it with taskhold_string_free().
/// @param out_error   Out, owned, optional: why the call failed.
/// @return OK.
/// @note Any thread. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_options(
    provider: *mut taskhold_state_provider,
    out_options: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (options, error) = unsafe { (Out::clear(out_options), Out::clear(out_error)) };
    guard("taskhold_state_provider_options", error, || {
        let provider = handle::get(provider)?;
        options.require("out_options")?;
        options.give(provider.options())?;
        Ok(())
    })
}

/// Closes a provider. Its tasks stay in the store; those of a private store end. Calls that wait through it end
/// with CLOSED.
///
/// @param provider In: the provider. NULL and a closed one are fine.
/// @return OK; INVALID_HANDLE (foreign).
/// @note Any thread, also a finalizer or inside a callback. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_close(
    provider: *mut taskhold_state_provider,
) -> taskhold_status {
    guard("taskhold_state_provider_close", Out::none(), || handle::close(provider))
}

/// Saves a task: a new one, or in place of the stored one (the last write wins). When it first becomes final
/// (completed, canceled, failed or rejected, in either spelling) that time is kept, whatever is saved later. Any
/// other state is active, also one that this version does not know: a final state that is misspelt never ends.
///
/// @param provider     In: the provider.
/// @param owner        In, optional: whose task it is; at most 1024 bytes; NULL is the anonymous owner, and
///                     another than "".
/// @param task         In: an A2A Task object, kept and given back byte for byte; `id` and `status.state` are
///                     required.
/// @param save_options In, optional: JSON object: `expectedRevision` makes the save conditional on the stored
///                     revision (0: there must be none); `mustExist` (false) on there being the task;
///                     `unlessFinal` (false) on its not being final yet; `event`, any JSON value but null, is
///                     appended to the task's log in the same step, under the revision that the save makes;
///                     `isReplicated` (false) says that another node saved it first, and announces no
///                     finalization.
/// @param out_revision Out, optional: the revision that this save made.
/// @param out_error    Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_value, invalid_payload, invalid_identifier, invalid_timestamp,
///         malformed JSON or `save_options`, `mustExist` with `expectedRevision` 0); NOT_FOUND
///         (task_not_found): the id belongs to another owner, or `mustExist` was given and there is no task;
///         CONFLICT (revision_mismatch); INVALID_STATE (task_final): the stored task is final, and this one is
///         not, or `unlessFinal` was given; CAPACITY_EXHAUSTED (capacity_exhausted); LIMIT_EXCEEDED
///         (payload_too_large: the task, or `event`, also when it alone has more than `maximumEventBytesPerTask`;
///         nesting_too_deep). They are checked in this order.
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_save_task(
    provider: *mut taskhold_state_provider,
    owner: *const c_char,
    task: *const c_char,
    save_options: *const c_char,
    out_revision: *mut u64,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (revision, error) = unsafe { (Out::clear(out_revision), Out::clear(out_error)) };
    guard("taskhold_state_provider_save_task", error, || {
        let provider = handle::get(provider)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (owner, task, save_options) = unsafe {
            (
                optional_text("owner", owner)?,
                text("task", task)?,
                optional_text("save_options", save_options)?,
            )
        };
        revision.set(provider.save_task(owner, task, save_options)?);
        Ok(())
    })
}

/// Finds one of the owner's tasks. Unknown tasks and those of other owners give the same answer.
///
/// @param provider     In: the provider.
/// @param owner        In, optional: whose task; NULL is the anonymous owner.
/// @param task_id      In: the task's id.
/// @param params       In, optional: JSON object: `historyLength` (absent: all; n: the last n messages; 0: no
///                     `history`).
/// @param out_task     Out, owned, optional: the task, JSON, or NULL.
/// @param out_revision Out, optional: its revision; 0 when there is none.
/// @param out_error    Out, owned, optional: why the call failed.
/// @return OK, also when nothing is found; INVALID_ARGUMENT (invalid_value, invalid_identifier, malformed
///         `params`).
/// @note Any thread. A store in memory does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_get_task(
    provider: *mut taskhold_state_provider,
    owner: *const c_char,
    task_id: *const c_char,
    params: *const c_char,
    out_task: *mut *mut c_char,
    out_revision: *mut u64,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (task, revision, error) =
        unsafe { (Out::clear(out_task), Out::clear(out_revision), Out::clear(out_error)) };
    guard("taskhold_state_provider_get_task", error, || {
        let provider = handle::get(provider)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (owner, task_id, params) = unsafe {
            (optional_text("owner", owner)?, text("task_id", task_id)?, optional_text("params", params)?)
        };
        if let Some((found, shown)) = provider.get_task(owner, task_id, params)? {
            task.give(found)?;
            revision.set(shown);
        }
        Ok(())
    })
}

/// Deletes one of the owner's tasks. One that is not there, or is another owner's, is left alone.
///
/// @param provider  In: the provider.
/// @param owner     In, optional: whose task; NULL is the anonymous owner.
/// @param task_id   In: the task's id.
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK, whether or not there was one; INVALID_ARGUMENT (invalid_value, invalid_identifier).
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_delete_task(
    provider: *mut taskhold_state_provider,
    owner: *const c_char,
    task_id: *const c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let error = unsafe { Out::clear(out_error) };
    guard("taskhold_state_provider_delete_task", error, || {
        let provider = handle::get(provider)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (owner, task_id) = unsafe { (optional_text("owner", owner)?, text("task_id", task_id)?) };
        provider.delete_task(owner, task_id)
    })
}

/// Lists the owner's tasks, as the A2A protocol's ListTasks: by status timestamp descending (absent last),
/// then by id ascending.
///
/// `params`: `contextId`, `status`, `statusTimestampAfter` (at or after) as filters; `pageSize` 1 to 100 (50);
/// `pageToken`, from the page before ("": the first); `historyLength` (0: no `history`; n: the last n messages);
/// `includeArtifacts` (false); `includeRevisions` (false); `anyOwner` (false): the tasks of all owners, for operators and
/// never for clients. `owner` must be NULL then; each element of `tasks` is `{"owner": "...", "revision": 7, "task": {...}}`
/// (the anonymous owner is null), and the tasks of one owner stand together, the anonymous owner's first, then by
/// owner ascending.
///
/// @param provider   In: the provider.
/// @param owner      In, optional: whose tasks; NULL is the anonymous owner.
/// @param params     In, optional: JSON object.
/// @param out_result Out, owned: `{"tasks": [...], "totalSize": 0, "pageSize": 0, "nextPageToken": ""}`:
///                   `pageSize` is the number of tasks on this page; the token is "" on the last one.
///                   `corrupt`, if there, names the tasks that cannot be read; `revisions`, if asked for, has
///                   one for each task. Free it with taskhold_string_free().
/// @param out_error  Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_value, invalid_identifier, invalid_timestamp, invalid_page_token:
///         also a token of other filters or of another owner; malformed `params`).
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_list_tasks(
    provider: *mut taskhold_state_provider,
    owner: *const c_char,
    params: *const c_char,
    out_result: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (result, error) = unsafe { (Out::clear(out_result), Out::clear(out_error)) };
    guard("taskhold_state_provider_list_tasks", error, || {
        let provider = handle::get(provider)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (owner, params) = unsafe { (optional_text("owner", owner)?, optional_text("params", params)?) };
        result.require("out_result")?;
        result.give(provider.list_tasks(owner, params)?)?;
        Ok(())
    })
}

/// Tells whether a task is active: not final, or final but within the grace period after it became so
/// (now < finalized at + grace period). For deciding whether events that arrive late are still processed.
///
/// @param provider   In: the provider.
/// @param task_id    In: the task's id, whoever owns it.
/// @param out_active Out: 1 if it is active, else 0; 0 for an unknown task.
/// @param out_error  Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_identifier); UNAVAILABLE (storage_unavailable): a failed storage is
///         never reported as "not active".
/// @note Any thread. A store in memory does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_is_task_active(
    provider: *mut taskhold_state_provider,
    task_id: *const c_char,
    out_active: *mut i32,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (active, error) = unsafe { (Out::clear(out_active), Out::clear(out_error)) };
    guard("taskhold_state_provider_is_task_active", error, || {
        let provider = handle::get(provider)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let task_id = unsafe { text("task_id", task_id) }?;
        active.require("out_active")?;
        active.set(provider.is_task_active(task_id)?.into());
        Ok(())
    })
}

/// Tells whether a task is in a final state, whatever the grace period. For deciding whether a queue can be
/// closed and removed.
///
/// @param provider      In: the provider.
/// @param task_id       In: the task's id, whoever owns it.
/// @param out_finalized Out: 1 if it is final, else 0; 0 for an unknown task.
/// @param out_error     Out, owned, optional: why the call failed.
/// @return As taskhold_state_provider_is_task_active().
/// @note Any thread. A store in memory does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_is_task_finalized(
    provider: *mut taskhold_state_provider,
    task_id: *const c_char,
    out_finalized: *mut i32,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (finalized, error) = unsafe { (Out::clear(out_finalized), Out::clear(out_error)) };
    guard("taskhold_state_provider_is_task_finalized", error, || {
        let provider = handle::get(provider)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let task_id = unsafe { text("task_id", task_id) }?;
        finalized.require("out_finalized")?;
        finalized.set(provider.is_task_finalized(task_id)?.into());
        Ok(())
    })
}

/// Tells where a task stands: both answers above, and whether it is known at all, from one reading.
///
/// @param provider     In: the provider.
/// @param task_id      In: the task's id, whoever owns it.
/// @param out_liveness Out: TASKHOLD_LIVENESS_ABSENT, _ACTIVE, _GRACE or _FINALIZED.
/// @param out_error    Out, owned, optional: why the call failed.
/// @return As taskhold_state_provider_is_task_active().
/// @note Any thread. A store in memory does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_task_liveness(
    provider: *mut taskhold_state_provider,
    task_id: *const c_char,
    out_liveness: *mut i32,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (liveness, error) = unsafe { (Out::clear(out_liveness), Out::clear(out_error)) };
    guard("taskhold_state_provider_task_liveness", error, || {
        let provider = handle::get(provider)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let task_id = unsafe { text("task_id", task_id) }?;
        liveness.require("out_liveness")?;
        liveness.set(provider.task_liveness(task_id)? as i32);
        Ok(())
    })
}
