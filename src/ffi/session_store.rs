//! MCP session stores.

use std::ffi::c_char;

use super::args::{Out, optional_text, text};
use super::guard::guard;
use super::handle::{self, Handle, HandleTable};
use super::status::taskhold_status;
use super::store::taskhold_store;
use crate::session::SessionStore;
use crate::store::Store;

/// A store of MCP sessions: it admits and finds sessions, and replaces them by compare-and-set.
///
/// A session is a JSON object of exactly these members: `sessionId`, `endpoint` (strings),
/// `authorizationPartition` (string or null), `createdAt`, `lastActivityAt` (timestamps), `initialized`,
/// `initializedNotificationReceived` (booleans), `protocolVersion` (string or null), `clientCapabilities`,
/// `negotiatedCapabilities` (objects or null), `sessionContext` (object), `terminatedAt` (timestamp or null) and
/// `version` (whole number). All but the creation is the host's to write, by a replacement: a session that no
/// replacement initializes or gives a later `lastActivityAt` expires.
pub struct taskhold_session_store {
    _private: (),
}

impl Handle for taskhold_session_store {
    type Object = SessionStore;
    const KIND: u8 = 6;

    fn table() -> &'static HandleTable<Self::Object> {
        static TABLE: HandleTable<SessionStore> = HandleTable::new();
        &TABLE
    }

    fn close(sessions: &Self::Object) {
        sessions.close();
    }
}

/// Opens a session store.
///
/// Options, each of which may be absent or null for its default:
///  - `name` (string, "default"): session stores with the same name over one store share their sessions.
///  - `idleTimeoutMs` (86400000; 0: never): a session that was idle for longer expires.
///  - `concurrentSessionLimit` (8192; 0: none): how many sessions may be there, terminated ones not counted.
///  - `concurrentSessionLimitPerPartition` (0: none): how many sessions that are not terminated each authorization
///    partition may have, the anonymous one too, over all endpoints; exact, and checked before the limit of all.
///  - `initializationTimeoutMs` (60000; 0: off): a session that is not initialized after this time expires,
///    pinned or not. A terminated one stays for one idle timeout, as every terminated session does.
///  - `keepExpired` (0): how many of the sessions that expired are kept for
///    taskhold_session_store_take_expired().
///
/// @param store        In, optional: where the sessions live. NULL is a private store in memory.
/// @param options      In, optional: JSON object.
/// @param out_sessions Out, owned: the session store. Close it with taskhold_session_store_close().
/// @param out_error    Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (malformed `options`); UNAVAILABLE (storage_unavailable).
/// @note Any thread. A store in memory does not block. No thread is started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_session_store_open(
    store: *mut taskhold_store,
    options: *const c_char,
    out_sessions: *mut *mut taskhold_session_store,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (sessions, error) = unsafe { (Out::clear(out_sessions), Out::clear(out_error)) };
    guard("taskhold_session_store_open", error, || {
        let store = handle::get_optional(store)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let options = unsafe { optional_text("options", options) }?;
        sessions.require("out_sessions")?;
        let opened = match store {
            Some(store) => SessionStore::open(&store, options)?,
            None => SessionStore::open(&Store::in_memory(), options)?,
        };
        sessions.set(handle::open(opened)?);
        Ok(())
    })
}

/// Gives the options that a session store works with, defaults filled in.
///
/// @param sessions    In: the session store.
/// @param out_options Out, owned: JSON object. Free it with taskhold_string_free().
/// @param out_error   Out, owned, optional: why the call failed.
/// @return OK.
/// @note Any thread. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_session_store_options(
    sessions: *mut taskhold_session_store,
    out_options: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (options, error) = unsafe { (Out::clear(out_options), Out::clear(out_error)) };
    guard("taskhold_session_store_options", error, || {
        let sessions = handle::get(sessions)?;
        options.require("out_options")?;
        options.give(sessions.options())?;
        Ok(())
    })
}

/// Closes a session store. The pins that it took end with it; its sessions stay in the store.
///
/// @param sessions In: the session store. NULL and a closed one are fine.
/// @return OK; INVALID_HANDLE (foreign).
/// @note Any thread, also a finalizer or inside a callback. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_session_store_close(
    sessions: *mut taskhold_session_store,
) -> taskhold_status {
    guard("taskhold_session_store_close", Out::none(), || handle::close(sessions))
}

/// Creates and admits a session: new, not initialized, not terminated, version 0. The limit is checked in the
/// same atomic step.
///
/// @param sessions    In: the session store.
/// @param endpoint    In: the endpoint that the session belongs to; at most 1024 bytes.
/// @param creation    In, optional: JSON object: `sessionId` (1 to 1024 visible ASCII characters; else one
///                    with at least 128 random bits is made), `authorizationPartition` (string or null: the
///                    user that the session is bound to), `sessionContext` (object).
/// @param out_session Out, owned, optional: the session, JSON; NULL when it is declined because the limit is
///                    reached.
/// @param out_error   Out, owned, optional: why the call failed.
/// @return OK, also when the session is declined; INVALID_ARGUMENT (invalid_value, invalid_identifier,
///         invalid_payload: the context is no object; malformed `creation`); CONFLICT (session_id_in_use);
///         LIMIT_EXCEEDED (payload_too_large, nesting_too_deep).
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_session_store_create(
    sessions: *mut taskhold_session_store,
    endpoint: *const c_char,
    creation: *const c_char,
    out_session: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (session, error) = unsafe { (Out::clear(out_session), Out::clear(out_error)) };
    guard("taskhold_session_store_create", error, || {
        let sessions = handle::get(sessions)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (endpoint, creation) =
            unsafe { (text("endpoint", endpoint)?, optional_text("creation", creation)?) };
        session.give_optional(sessions.create(endpoint, creation)?)?;
        Ok(())
    })
}

/// Finds a session by its id.
///
/// @param sessions    In: the session store.
/// @param session_id  In: the session's id.
/// @param out_session Out, owned, optional: the session, JSON, or NULL when there is none or it expired.
/// @param out_error   Out, owned, optional: why the call failed.
/// @return OK, also when nothing is found; INVALID_ARGUMENT (invalid_identifier).
/// @note Any thread. A store in memory does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_session_store_find_by_session_id(
    sessions: *mut taskhold_session_store,
    session_id: *const c_char,
    out_session: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (session, error) = unsafe { (Out::clear(out_session), Out::clear(out_error)) };
    guard("taskhold_session_store_find_by_session_id", error, || {
        let sessions = handle::get(sessions)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let session_id = unsafe { text("session_id", session_id) }?;
        session.give_optional(sessions.find_by_session_id(session_id)?)?;
        Ok(())
    })
}

/// Finds a session that the caller may use: its endpoint and its authorization partition must both match
/// exactly. Unknown, expired and foreign sessions give the same answer.
///
/// @param sessions    In: the session store.
/// @param endpoint    In: the endpoint that the request came to.
/// @param partition   In, optional: the authorization partition of the caller; NULL is the anonymous one.
/// @param session_id  In: the session's id.
/// @param out_session Out, owned, optional: the session, JSON, or NULL.
/// @param out_error   Out, owned, optional: why the call failed.
/// @return OK, also when nothing is found; INVALID_ARGUMENT (invalid_value, invalid_identifier).
/// @note Any thread. A store in memory does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_session_store_find_authorized_session(
    sessions: *mut taskhold_session_store,
    endpoint: *const c_char,
    partition: *const c_char,
    session_id: *const c_char,
    out_session: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (session, error) = unsafe { (Out::clear(out_session), Out::clear(out_error)) };
    guard("taskhold_session_store_find_authorized_session", error, || {
        let sessions = handle::get(sessions)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (endpoint, partition, session_id) = unsafe {
            (
                text("endpoint", endpoint)?,
                optional_text("partition", partition)?,
                text("session_id", session_id)?,
            )
        };
        session.give_optional(sessions.find_authorized_session(endpoint, partition, session_id)?)?;
        Ok(())
    })
}

/// Lists sessions for operators, oldest first. Never for clients: nobody's authorization is checked. A full walk
/// meets every session that stays meanwhile, each once, whatever comes and goes. Sessions that expired are not shown,
/// terminated ones are. To be listed keeps no session alive.
///
/// `params`: `endpoint` and `authorizationPartition` (null: the anonymous one) as filters; `pageSize` 1 to 1000 (100);
/// `pageToken`, from the page before ("": the first). A page may be short, or empty, before the last.
///
/// @param sessions  In: the session store.
/// @param params    In, optional: JSON object.
/// @param out_page  Out, owned: `{"sessions": [...], "corrupt": ["id"...], "nextPageToken": ""}`: the sessions as
///                  taskhold_session_store_find_by_session_id() gives them; `corrupt` names those that cannot be
///                  read; the token is "" on the last page. Free it with taskhold_string_free().
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_page_token, malformed `params`).
/// @note Any thread. A store in memory does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_session_store_list_sessions(
    sessions: *mut taskhold_session_store,
    params: *const c_char,
    out_page: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (page, error) = unsafe { (Out::clear(out_page), Out::clear(out_error)) };
    guard("taskhold_session_store_list_sessions", error, || {
        let sessions = handle::get(sessions)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let params = unsafe { optional_text("params", params) }?;
        page.require("out_page")?;
        page.give(sessions.list_sessions(params)?)?;
        Ok(())
    })
}

/// Replaces a session by compare-and-set: only if it has not expired and is stored exactly as `expected` says
/// (member order aside). A lost race changes nothing.
///
/// @param sessions     In: the session store.
/// @param expected     In: the session as it was given out.
/// @param updated      In: the session as it shall be: the same id, endpoint, partition and `createdAt`, a
///                     strictly greater `version`, a `terminatedAt` that does not go back to null,
///                     timestamps in the form given out. Its first `terminatedAt` frees its slot; it stays
///                     findable for one idle timeout more.
/// @param out_replaced Out: 1 if it was replaced, 0 if it was not as expected or is gone.
/// @param out_error    Out, owned, optional: why the call failed.
/// @return OK, also when the race is lost; INVALID_ARGUMENT (invalid_replacement; missing_key, unknown_key,
///         invalid_value, invalid_identifier, invalid_timestamp, embedded_nul: one of the two is no session;
///         malformed JSON); LIMIT_EXCEEDED (payload_too_large, nesting_too_deep).
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_session_store_replace(
    sessions: *mut taskhold_session_store,
    expected: *const c_char,
    updated: *const c_char,
    out_replaced: *mut i32,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (replaced, error) = unsafe { (Out::clear(out_replaced), Out::clear(out_error)) };
    guard("taskhold_session_store_replace", error, || {
        let sessions = handle::get(sessions)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (expected, updated) = unsafe { (text("expected", expected)?, text("updated", updated)?) };
        replaced.require("out_replaced")?;
        replaced.set(sessions.replace(expected, updated)?.into());
        Ok(())
    })
}

/// Deletes a session. One that is not there is fine.
///
/// @param sessions   In: the session store.
/// @param session_id In: the session's id.
/// @param out_error  Out, owned, optional: why the call failed.
/// @return OK, whether or not there was one; INVALID_ARGUMENT (invalid_identifier).
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_session_store_delete_by_session_id(
    sessions: *mut taskhold_session_store,
    session_id: *const c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let error = unsafe { Out::clear(out_error) };
    guard("taskhold_session_store_delete_by_session_id", error, || {
        let sessions = handle::get(sessions)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let session_id = unsafe { text("session_id", session_id) }?;
        sessions.delete_by_session_id(session_id)
    })
}

/// Pins a session: it is in use by a stream and does not expire. Pins are counted; they belong to the handle
/// that took them and end with it.
///
/// @param sessions   In: the session store.
/// @param session_id In: the session's id.
/// @param out_pinned Out: 1 if it is pinned, 0 if there is no such session or it expired.
/// @param out_error  Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_identifier).
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_session_store_pin(
    sessions: *mut taskhold_session_store,
    session_id: *const c_char,
    out_pinned: *mut i32,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (pinned, error) = unsafe { (Out::clear(out_pinned), Out::clear(out_error)) };
    guard("taskhold_session_store_pin", error, || {
        let sessions = handle::get(sessions)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let session_id = unsafe { text("session_id", session_id) }?;
        pinned.require("out_pinned")?;
        pinned.set(sessions.pin(session_id)?.into());
        Ok(())
    })
}

/// Takes back one pin of this handle. The idle time of a session starts at its last unpin. Without a pin of
/// this handle nothing happens.
///
/// @param sessions   In: the session store.
/// @param session_id In: the session's id.
/// @param out_error  Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_identifier).
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_session_store_unpin(
    sessions: *mut taskhold_session_store,
    session_id: *const c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let error = unsafe { Out::clear(out_error) };
    guard("taskhold_session_store_unpin", error, || {
        let sessions = handle::get(sessions)?;
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let session_id = unsafe { text("session_id", session_id) }?;
        sessions.unpin(session_id)
    })
}

/// Takes sessions that expired, each once, so that the host can let go of what it kept beside them: those that this
/// process removed, and, on SQLite, those that another process removed and that were created or pinned through this
/// handle. Only the last `keepExpired` ones are there. A process that stands still for ten minutes may miss some.
///
/// @param sessions     In: the session store.
/// @param out_sessions Out, owned: JSON array of `{"reason": "idle" | "uninitialized", "sessionId": "...",
///                     "endpoint": "..."}`, `[]` when there are none. Free it with taskhold_string_free().
/// @param out_error    Out, owned, optional: why the call failed.
/// @return OK; UNAVAILABLE (storage_unavailable).
/// @note Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_session_store_take_expired(
    sessions: *mut taskhold_session_store,
    out_sessions: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (expired, error) = unsafe { (Out::clear(out_sessions), Out::clear(out_error)) };
    guard("taskhold_session_store_take_expired", error, || {
        let sessions = handle::get(sessions)?;
        expired.require("out_sessions")?;
        expired.give(sessions.take_expired()?)?;
        Ok(())
    })
}
