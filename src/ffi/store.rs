//! Stores: where records live.

use std::ffi::c_char;

use super::args::{Out, optional_text};
use super::clock::taskhold_clock;
use super::guard::guard;
use super::handle::{self, Handle, HandleTable};
use super::status::taskhold_status;
use crate::clock::Clock;
use crate::store::Store;

/// Where records live. Open managers, session stores and state providers over it.
pub struct taskhold_store {
    _private: (),
}

impl Handle for taskhold_store {
    type Object = Store;
    const KIND: u8 = 2;

    fn table() -> &'static HandleTable<Self::Object> {
        static TABLE: HandleTable<Store> = HandleTable::new();
        &TABLE
    }

    /// What was opened over the store keeps it.
    fn close(_store: &Self::Object) {}
}

/// Opens a store. Managers, session stores and state providers that are opened over one store with the same
/// `name` share their records: they behave like nodes over one database.
///
/// @param url       In, optional: where the records live. NULL or "memory:" is a new store in this process's
///                  memory, which ends with its last handle and everything opened over it. "sqlite:PATH" is a file,
///                  where the build has SQLite (taskhold_describe(), `backends`): PATH is taken as it stands,
///                  absolute or relative to the working folder, and not decoded.
///                  "postgresql://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=MODE" (also "postgres://") is a database
///                  that the processes of any number of hosts share, where the build has PostgreSQL. It is read as libpq
///                  does, percent-encoded; `sslmode` (default "prefer"), `sslrootcert` (a file, or "system", the default),
///                  `connect_timeout`, `application_name`, `options`, `host`, `port`, `user`, `password` and `dbname` are
///                  known. No error repeats a part of it.
/// @param options   In, optional: JSON object of options of the backend. Memory has none. SQLite: `durability`
///                  "full" (default: a commit is on the disk) or "normal" (it survives the process, not a loss of
///                  power), `busyTimeoutMs` 5000 (longest wait for other processes), `allowNetworkFileSystem` false.
///                  PostgreSQL: `poolSize` 8 (1 to 1000; most connections of this store, beside one that listens while
///                  somebody waits), `acquireTimeoutMs` 5000 (longest wait for one of them), `statementTimeoutMs` 5000,
///                  `schema` "public" (where the tables are, made if it is missing; letters, digits, "_" and "-"),
///                  `poolerSafe` false (true behind a pooler in transaction mode: nothing is left with a connection
///                  between two transactions), `eventPollMs` 100 (how often changes by others are looked for while they
///                  are not notified).
/// @param clock     In, optional: the store's time, for tests. NULL is the system's.
/// @param out_store Out, owned: the store. Close it with taskhold_store_close().
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_store_url, or malformed `options`); UNSUPPORTED (unsupported_backend,
///         schema_too_new, unsupported_file_system); UNAVAILABLE (storage_unavailable); CORRUPT (corrupt_file).
/// @note Any thread. Memory does not block. On PostgreSQL the server's clock is the store's time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_store_open(
    url: *const c_char,
    options: *const c_char,
    clock: *mut taskhold_clock,
    out_store: *mut *mut taskhold_store,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (store, error) = unsafe { (Out::clear(out_store), Out::clear(out_error)) };
    guard("taskhold_store_open", error, || {
        let clock = match handle::get_optional(clock)? {
            Some(clock) => Clock::Manual((*clock).clone()),
            None => Clock::System,
        };
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let (url, options) = unsafe { (optional_text("url", url)?, optional_text("options", options)?) };
        store.require("out_store")?;
        #[cfg(all(feature = "sqlite", target_os = "linux"))]
        if url.is_some_and(|url| url.starts_with("sqlite:")) {
            super::fork_sqlite::watch()?;
        }
        store.set(handle::open(Store::open(url, options, clock)?)?);
        Ok(())
    })
}

/// Tells how a store is filled, for operators: `{"backend": "memory", "tasks": {"working": 0, ...},
/// "sessions": 0, "a2aTasks": 0, "expiredPending": 0, "bytes": 0, "waiters": 0, "eventQueues": 0, ...}`.
/// Members may be added.
///
/// @param store     In: the store.
/// @param out_json  Out, owned: the JSON object. Free it with taskhold_string_free().
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK; UNAVAILABLE (storage_unavailable).
/// @note Any thread. May visit every record: not for a hot path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_store_stats(
    store: *mut taskhold_store,
    out_json: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (json, error) = unsafe { (Out::clear(out_json), Out::clear(out_error)) };
    guard("taskhold_store_stats", error, || {
        let store = handle::get(store)?;
        json.require("out_json")?;
        json.give(store.stats()?)?;
        Ok(())
    })
}

/// Looks through a store, for operators: whether its storage is sound and which records cannot be read.
/// `{"backend": "sqlite", "ok": true, "schemaVersion": 1, "newestSchemaVersion": 1, "problems": [],
/// "records": 12, "unreadableCount": 0, "unreadable": []}`; an unreadable record is named as `{"kind": "task" |
/// "session" | "a2a", "name": "default", "id": "..."}`. `problems` and `unreadable` list the first 100. Members
/// may be added; memory has `ok`, `problems` and `unreadable` only. Nothing is repaired.
///
/// @param store     In: the store.
/// @param out_json  Out, owned: the JSON object. Free it with taskhold_string_free().
/// @param out_error Out, owned, optional: why the call failed. What is wrong with the store is no failure.
/// @return OK; UNAVAILABLE (storage_unavailable).
/// @note Any thread. Reads every record: not for a hot path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_store_check(
    store: *mut taskhold_store,
    out_json: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (json, error) = unsafe { (Out::clear(out_json), Out::clear(out_error)) };
    guard("taskhold_store_check", error, || {
        let store = handle::get(store)?;
        json.require("out_json")?;
        json.give(store.check()?)?;
        Ok(())
    })
}

/// Copies all records of a store into an empty one, which may be of another backend: MCP tasks in the order of their
/// creation, sessions, and A2A tasks with their logs and push notification configs, under all names. Ids, times,
/// revisions, leases, operation ids and payloads stay the same; pins are left behind, because they belong to open handles.
/// Then the two are compared, record by record. Nothing else may write to either meanwhile.
///
/// Gives how much there is: `{"tasks": 12, "sessions": 3, "a2aTasks": 5, "events": 40}`. Records that have expired do not
/// count and are left behind. After a failure the copy is to be thrown away; `store` is never changed.
///
/// @param store     In: the store to copy.
/// @param to        In: the empty store to copy to.
/// @param options   In, optional: JSON object. There are no options yet.
/// @param out_json  Out, owned: the JSON object. Free it with taskhold_string_free().
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (`to` is `store` itself, or malformed `options`); INVALID_STATE (store_not_empty);
///         CONFLICT (store_changed); CORRUPT (corrupt_row: taskhold_store_check() names the records); UNAVAILABLE
///         (storage_unavailable, outcome_unknown).
/// @note Any thread. Reads every record and writes it: it takes as long as that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_store_copy(
    store: *mut taskhold_store,
    to: *mut taskhold_store,
    options: *const c_char,
    out_json: *mut *mut c_char,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (json, error) = unsafe { (Out::clear(out_json), Out::clear(out_error)) };
    guard("taskhold_store_copy", error, || {
        let (store, to) = (handle::get(store)?, handle::get(to)?);
        // SAFETY: strings are NULL or NUL-terminated and stay until the function returns (header, "Strings").
        let options = unsafe { optional_text("options", options) }?;
        json.require("out_json")?;
        json.give(store.copy_to(&to, options)?)?;
        Ok(())
    })
}

/// Closes a store. What was opened over it goes on working; the records of a store in memory end when the
/// last of that is closed too.
///
/// @param store In: the store. NULL and a closed one are fine.
/// @return OK; INVALID_HANDLE (foreign).
/// @note Any thread, also a finalizer or inside a callback. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_store_close(store: *mut taskhold_store) -> taskhold_status {
    guard("taskhold_store_close", Out::none(), || handle::close(store))
}
