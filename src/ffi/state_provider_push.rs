//! The push notification configs of A2A tasks.

use std::ffi::c_char;

use super::args::{Out, optional_text, text};
use super::guard::guard;
use super::handle;
use super::state_provider::taskhold_state_provider;
use super::status::taskhold_status;

/// Keeps a push notification config for one of the owner's tasks, in the place of the one with the same id. It goes
/// with its task. A save of the task leaves it alone, and this moves no revision and announces nothing.
///
/// A server often has the config before the task: while nothing is stored under `task_id`, the config waits in this
/// provider's memory, for at most 1024 tasks (the oldest are forgotten), and is stored with the first save of the
/// task by the same owner through this provider. A task of another owner ends the wait.
///
/// @param provider  In: the provider.
/// @param owner     In, optional: whose task; NULL is the anonymous owner.
/// @param task_id   In: the task's id.
/// @param config_id In, optional: the config's id, 1 to 1024 bytes, unique for the task; NULL stands for `task_id`, as
///                  the A2A SDKs have it.
/// @param config    In: the config: a JSON object, of at most `maximumPayloadBytes`, kept byte for byte. Nothing in it is
///                  looked at: whether its URL may be called is the host's to decide.
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_value, invalid_identifier, invalid_payload, malformed JSON); NOT_FOUND
///         (task_not_found): the task is another owner's; CAPACITY_EXHAUSTED (capacity_exhausted): the task has 100
///         configs; LIMIT_EXCEEDED (payload_too_large, nesting_too_deep).
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_set_push_config(
    provider: *mut taskhold_state_provider,
    owner: *const c_char,
    task_id: *const c_char,
    config_id: *const c_char,
    config: *const c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let error = unsafe { Out::clear(out_error) };
    guard("taskhold_state_provider_set_push_config", error, || {
        let provider = handle::get(provider)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (owner, task_id, config_id, config) = unsafe {
            (
                optional_text("owner", owner)?,
                text("task_id", task_id)?,
                optional_text("config_id", config_id)?,
                text("config", config)?,
            )
        };
        provider.set_push_config(owner, task_id, config_id, config)
    })
}

/// Lists the push notification configs of one of the owner's tasks.
///
/// `params`: `anyOwner` (false): of the task whoever owns it. This is for sending notifications, never for clients;
/// `owner` must be NULL then.
///
/// @param provider    In: the provider.
/// @param owner       In, optional: whose task; NULL is the anonymous owner.
/// @param task_id     In: the task's id.
/// @param params      In, optional: JSON object.
/// @param out_configs Out, owned: `{"configs": [{"id": "...", "config": {...}}]}`, the one that was set first coming
///                    first; empty for an unknown task and for another owner's. Free it with taskhold_string_free().
/// @param out_error   Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_value, invalid_identifier, malformed `params`).
/// @note Any thread. A store in memory does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_list_push_configs(
    provider: *mut taskhold_state_provider,
    owner: *const c_char,
    task_id: *const c_char,
    params: *const c_char,
    out_configs: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (configs, error) = unsafe { (Out::clear(out_configs), Out::clear(out_error)) };
    guard("taskhold_state_provider_list_push_configs", error, || {
        let provider = handle::get(provider)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (owner, task_id, params) = unsafe {
            (optional_text("owner", owner)?, text("task_id", task_id)?, optional_text("params", params)?)
        };
        configs.require("out_configs")?;
        configs.give(provider.list_push_configs(owner, task_id, params)?)?;
        Ok(())
    })
}

/// Deletes a push notification config of one of the owner's tasks, or all of them. What is not there, or is another
/// owner's, is left alone.
///
/// @param provider  In: the provider.
/// @param owner     In, optional: whose task; NULL is the anonymous owner.
/// @param task_id   In: the task's id.
/// @param config_id In, optional: the config's id; NULL deletes all of the task's.
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK, whether or not there was one; INVALID_ARGUMENT (invalid_value, invalid_identifier).
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_state_provider_delete_push_config(
    provider: *mut taskhold_state_provider,
    owner: *const c_char,
    task_id: *const c_char,
    config_id: *const c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let error = unsafe { Out::clear(out_error) };
    guard("taskhold_state_provider_delete_push_config", error, || {
        let provider = handle::get(provider)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (owner, task_id, config_id) = unsafe {
            (
                optional_text("owner", owner)?,
                text("task_id", task_id)?,
                optional_text("config_id", config_id)?,
            )
        };
        provider.delete_push_config(owner, task_id, config_id)
    })
}
