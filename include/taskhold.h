/**
 * @file taskhold.h
 * taskhold keeps the state of AI-agent servers: MCP tasks (extension io.modelcontextprotocol/tasks,
 * SEP-2663), MCP sessions and A2A tasks. It holds state and enforces its rules; the application does the
 * work.
 *
 * Handles
 * -------
 * taskhold_manager and the other types below are opaque: a handle has the type of a pointer, but its value
 * is a token and no address; it is never dereferenced. A handle may be copied freely. Used after its close,
 * forged, or in the place of another kind, it gives TASKHOLD_INVALID_HANDLE with one of the reasons `null`,
 * `closed`, `foreign` and `forked`, never undefined behaviour; a value is not issued twice in a process.
 * Each taskhold_*_close() may be called from any thread, from a finalizer and inside a callback. It never
 * blocks; calls that run finish first, and calls that wait end with TASKHOLD_CLOSED. Closing NULL or a closed
 * handle is TASKHOLD_OK. Handles may be closed in any order: what was opened over a store keeps it.
 *
 * Outputs
 * -------
 * A parameter `out_...` is written only: the function first clears it (NULL or 0) and sets it only when it
 * returns TASKHOLD_OK. It may point to uninitialised memory. One that is documented as optional may be NULL
 * when the value is not wanted; a NULL for another is TASKHOLD_INVALID_ARGUMENT (`null_argument`). "Owned"
 * means that the caller frees a string with taskhold_string_free() and ends a handle with its close. A
 * boolean is an int32_t, 0 or 1.
 *
 * Strings
 * -------
 * In: UTF-8 with a final NUL, borrowed for the call; one documented as optional may be NULL, for another that
 * is `null_argument`, and bytes that are not UTF-8 are `invalid_utf8`. Out: UTF-8 with a final NUL, owned by
 * the caller. A string of type `const char *` that is returned is static. Payloads are JSON texts and are
 * kept and given back byte for byte: key order, number spelling, escapes. JSON that is malformed is
 * `invalid_json`, `duplicate_key` or `lone_surrogate`; larger or deeper than the limits it is
 * TASKHOLD_LIMIT_EXCEEDED. Depth is that of the whole text that is passed: the origin in a creation, for one,
 * has a level less.
 *
 * Ids of tasks, sessions and contexts are opaque, compared byte by byte, 1 to 1024 bytes, not blank, without
 * CR, LF and U+0000, else `invalid_identifier`. Endpoints, partitions and owners are any string of at most 1024
 * bytes; NULL, "" and "default" are three different partitions. Timestamps given out have the form
 * YYYY-MM-DDTHH:MM:SS.mmmZ; accepted ones are RFC 3339. Durations are whole milliseconds.
 * Whole numbers are written without fraction and exponent: 1.0 and 1e3 are none.
 *
 * Errors
 * ------
 * A function that can fail returns a taskhold_status. Its last parameter `out_error` is optional; when the
 * call fails it gets a JSON object: `{"status": "invalid_state", "reason": "task_terminal", "message": "..."}`,
 * with `key` (the option, member or parameter at fault) and `limit` (the bound that was broken) where there is
 * one. `reason` is out of the closed list below. Messages are for people, and never contain ids, keys,
 * partitions, payloads or connection strings. There is no last error of a thread.
 *
 * Beside what its documentation lists, a function with a handle can return TASKHOLD_INVALID_HANDLE, one with
 * strings or outputs TASKHOLD_INVALID_ARGUMENT (`null_argument`, `invalid_utf8`), one that reaches the records
 * TASKHOLD_UNAVAILABLE (`storage_unavailable`, `outcome_unknown`) and TASKHOLD_CORRUPT (`corrupt_row`), never
 * in memory, and any TASKHOLD_INTERNAL (`panic`, `system_resource`). Checks go in this order: handles,
 * pointers and UTF-8, ids and names, JSON, the record. A find that finds nothing is TASKHOLD_OK with a NULL
 * record; an operation on a task that is not there is TASKHOLD_NOT_FOUND.
 *
 * Memory
 * ------
 * A buffer as large as a payload (64 KiB and more) that cannot be had is TASKHOLD_INTERNAL (`system_resource`) or
 * TASKHOLD_UNAVAILABLE (`storage_unavailable`): the call is refused, a change is not made, and the handle works on.
 * An update whose outcome is itself so large can be refused after it was made. Not promised, as by no
 * Rust program: small allocations, the tables' own growth, the record of a task with so large an `origin` whose last
 * attempt was abandoned, and a large one for which another thread takes the memory in the same instant; they end the
 * process.
 *
 * Threads, forks, panics
 * ----------------------
 * Every function may be called on the same handle from any number of threads at once. No thread is started
 * and no lock is held while a callback runs. After fork() the handles of the parent give
 * TASKHOLD_INVALID_HANDLE (`forked`) in the child, at once; closing them there is TASKHOLD_OK and touches
 * nothing; the child opens its own. A defect of the library (a panic) does not unwind into the host: it gives
 * TASKHOLD_INTERNAL, what was not committed has not happened, and other handles keep working.
 *
 * Evolution
 * ---------
 * Options and parameters are JSON objects: a member that is absent or null has its default, an unknown one is
 * refused by name (`unknown_key`). Functions, statuses, reasons, events and members of results may be added;
 * ignore those that you do not know. What is here does not change within one TASKHOLD_ABI_VERSION.
 */


#ifndef TASKHOLD_H
#define TASKHOLD_H

#include <stdint.h>

/** The version of this header. */
#define TASKHOLD_VERSION "0.1.0"
#define TASKHOLD_VERSION_MAJOR 0
#define TASKHOLD_VERSION_MINOR 1
#define TASKHOLD_VERSION_PATCH 0

/*
 * The reasons of errors, by the status that each belongs to. Names never change.
 *
 * TASKHOLD_INVALID_ARGUMENT
 *  - null_argument: A pointer that must not be NULL is NULL; `key` names the parameter.
 *  - invalid_utf8: A string is not valid UTF-8.
 *  - invalid_json: A text is not well-formed JSON (RFC 8259), or has a byte order mark.
 *  - duplicate_key: An object in a JSON text has the same member twice.
 *  - lone_surrogate: A string in a JSON text has an escaped surrogate without its other half.
 *  - embedded_nul: A string holds U+0000 where it must cross as a C string or is an endpoint,
 *    partition or name.
 *  - unknown_key: An object that this library defines has a member that it does not know; `key`
 *    names it.
 *  - missing_key: An object that this library defines lacks a required member; `key` names it.
 *  - invalid_value: A value has the wrong type, form or range; `key` names it, `limit` says which
 *    bound it broke.
 *  - invalid_identifier: A task, session or context id is empty, blank, too long, or has a
 *    forbidden character.
 *  - invalid_timestamp: A timestamp is not in the accepted form.
 *  - invalid_payload: A payload is JSON, but not of the shape that its place asks for.
 *  - empty_input_requests: The map of input requests has no member.
 *  - input_request_key_reused: An input request reuses a key that this task has used before.
 *  - invalid_page_token: A page token is malformed, or belongs to other filters or to another
 *    owner.
 *  - invalid_store_url: A store URL is not of a known form.
 *  - invalid_replacement: A session's replacement changes what may not change.
 *
 * TASKHOLD_INVALID_HANDLE
 *  - null: The handle is NULL.
 *  - closed: The handle is closed.
 *  - foreign: The value was never given out as a handle of this kind.
 *  - forked: The handle was made before a fork and belongs to the parent process.
 *
 * TASKHOLD_NOT_FOUND
 *  - task_not_found: No such task, or it expired, or it is not the caller's.
 *
 * TASKHOLD_INVALID_STATE
 *  - task_terminal: The task is completed, failed or cancelled and does not change any more.
 *  - input_responses_untaken: Accepted responses must be taken before another input round begins.
 *  - cancelation_requested: The client asked for cancelation and the call was made conditional on
 *    that.
 *  - lease_required: The task was created with a queue or a lease, and the call does not say which
 *    lease it is made under.
 *  - not_queued: The task has no queue to go back to.
 *  - undeliverable: The task's state may not be delivered to this client.
 *  - task_final: A final A2A task is never taken back to a state that is not final.
 *  - store_not_empty: The store that is copied to has records already.
 *
 * TASKHOLD_CAPACITY_EXHAUSTED
 *  - capacity_exhausted: The limit of retained records is reached.
 *  - partition_capacity_exhausted: The limit of retained tasks of one authorization partition is
 *    reached.
 *
 * TASKHOLD_LIMIT_EXCEEDED
 *  - payload_too_large: A payload or argument has more bytes than `limit`.
 *  - nesting_too_deep: A JSON text is nested deeper than `limit`.
 *
 * TASKHOLD_CONFLICT
 *  - revision_mismatch: The record has another revision than expected.
 *  - lease_lost: The lease is not the task's current one, or the task has none.
 *  - operation_mismatch: The operation id belongs to a task with another queue or other work.
 *  - session_id_in_use: The session id is in use.
 *  - store_changed: Somebody wrote to a store while it was copied, or to the copy.
 *
 * TASKHOLD_TIMEOUT
 *  - timeout: Nothing happened within the time given.
 *
 * TASKHOLD_CLOSED
 *  - closed_while_waiting: The handle was closed while the call waited.
 *
 * TASKHOLD_UNAVAILABLE
 *  - storage_unavailable: The storage failed; a retry may help.
 *  - outcome_unknown: The connection went during the commit: it may or may not have happened.
 *
 * TASKHOLD_CORRUPT
 *  - corrupt_row: A stored row cannot be read.
 *  - corrupt_file: The store's file is damaged, or is not a store of this library.
 *
 * TASKHOLD_UNSUPPORTED
 *  - unsupported_backend: This build has no such storage backend.
 *  - unsupported_platform: This platform cannot do it.
 *  - schema_too_new: The store was written by a newer version of this library; `limit` is the
 *    newest schema it can read.
 *  - unsupported_file_system: The store's file is on a network file system; `key` names the option
 *    that allows it.
 *
 * TASKHOLD_INTERNAL
 *  - system_resource: The operating system refused a resource: memory, random numbers or a
 *    descriptor.
 *  - panic: A defect of the library was caught; state is as before the call.
 */

/**
 * The version of the functions, types and constants of this header. Compare it with taskhold_abi_version()
 * when the library is loaded at run time.
 */
#define TASKHOLD_ABI_VERSION 1

/**
 * Rendering: the flat `CreateTaskResult` (`resultType` "task").
 */
#define TASKHOLD_RENDER_CREATE_RESULT 1

/**
 * Rendering: the result of `tasks/get` (`resultType` "complete").
 */
#define TASKHOLD_RENDER_GET_RESULT 2

/**
 * Rendering: the whole `notifications/tasks` message.
 */
#define TASKHOLD_RENDER_NOTIFICATION 3

/**
 * How long to wait: without end.
 */
#define TASKHOLD_WAIT_FOREVER UINT32_MAX

/**
 * Liveness: the task is unknown, was deleted, or is not retained any more.
 */
#define TASKHOLD_LIVENESS_ABSENT 0

/**
 * Liveness: the task is not final.
 */
#define TASKHOLD_LIVENESS_ACTIVE 1

/**
 * Liveness: the task is final, and counts as active for the rest of its grace period.
 */
#define TASKHOLD_LIVENESS_GRACE 2

/**
 * Liveness: the task is final and its grace period is over.
 */
#define TASKHOLD_LIVENESS_FINALIZED 3

/**
 * A clock that only moves when it is told to. For tests: give it to a store.
 */
typedef struct taskhold_clock taskhold_clock;

/**
 * A queue of events that a host pulls from.
 */
typedef struct taskhold_events taskhold_events;

/**
 * A manager of MCP tasks (extension io.modelcontextprotocol/tasks, SEP-2663): it creates tasks, keeps their
 * state and answers the protocol's requests about them. The application does the work and tells the manager
 * how it goes.
 *
 * The record of a task, for trusted code, is a JSON object: `task` (the extension's DetailedTask, and the only
 * part that may reach a client), `revision` (1 at first; grows with each change), `endpoint`,
 * `authorizationPartition` (string or null), `origin`, `metadata` and `declaredInputRequests` (as given at the
 * creation, if they were) and `cancelationRequested` (boolean).
 *
 * The record of a task that was created with a queue, a lease or an operation id also has `queue`, `work`,
 * `checkpoint`, `attempt` (attempts begun, 0 at first), `attempts` (with its defaults), `availableAt` (the time from
 * which on it can be claimed), `lease` (`{"worker": "...", "expiresAt": "..."}`), `lastFailure` and `operationId`, each
 * null where there is none. No client ever sees any of it: to clients a queued, scheduled or retried task is working.
 */
typedef struct taskhold_manager taskhold_manager;

/**
 * A store of MCP sessions: it admits and finds sessions, and replaces them by compare-and-set.
 *
 * A session is a JSON object of exactly these members: `sessionId`, `endpoint` (strings),
 * `authorizationPartition` (string or null), `createdAt`, `lastActivityAt` (timestamps), `initialized`,
 * `initializedNotificationReceived` (booleans), `protocolVersion` (string or null), `clientCapabilities`,
 * `negotiatedCapabilities` (objects or null), `sessionContext` (object), `terminatedAt` (timestamp or null) and
 * `version` (whole number). All but the creation is the host's to write, by a replacement: a session that no
 * replacement initializes or gives a later `lastActivityAt` expires.
 */
typedef struct taskhold_session_store taskhold_session_store;

/**
 * A provider of the state of A2A tasks: it keeps the tasks and tells which are active and which are final.
 */
typedef struct taskhold_state_provider taskhold_state_provider;

/**
 * Where records live. Open managers, session stores and state providers over it.
 */
typedef struct taskhold_store taskhold_store;

/**
 * A subscription to the changes that a manager makes.
 */
typedef struct taskhold_subscription taskhold_subscription;

/**
 * What came of a call: `TASKHOLD_OK` or one of the other `TASKHOLD_*` statuses below. The numbers never
 * change; treat one that you do not know as a failure.
 */
typedef int32_t taskhold_status;

/**
 * The call did what it says.
 */
#define TASKHOLD_OK 0

/**
 * An argument is malformed; the call cannot succeed as it stands.
 */
#define TASKHOLD_INVALID_ARGUMENT 1

/**
 * The handle is NULL, closed, forged, of another kind, or was made before a fork.
 */
#define TASKHOLD_INVALID_HANDLE 2

/**
 * The task is absent, expired, or not visible to the caller.
 */
#define TASKHOLD_NOT_FOUND 3

/**
 * A rule of the state machine refuses the call.
 */
#define TASKHOLD_INVALID_STATE 4

/**
 * The store is full; an unexpired record is never evicted.
 */
#define TASKHOLD_CAPACITY_EXHAUSTED 5

/**
 * An argument is larger or deeper than a limit.
 */
#define TASKHOLD_LIMIT_EXCEEDED 6

/**
 * An expected revision did not match, or an id is taken.
 */
#define TASKHOLD_CONFLICT 7

/**
 * Nothing happened within the time given.
 */
#define TASKHOLD_TIMEOUT 8

/**
 * The handle was closed while the call waited.
 */
#define TASKHOLD_CLOSED 9

/**
 * The storage failed; a retry may help.
 */
#define TASKHOLD_UNAVAILABLE 10

/**
 * A stored row cannot be read.
 */
#define TASKHOLD_CORRUPT 11

/**
 * This build or platform cannot do it.
 */
#define TASKHOLD_UNSUPPORTED 12

/**
 * A defect of the library; state is as before the call.
 */
#define TASKHOLD_INTERNAL 99

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Gives the ABI version of the library that is loaded; see TASKHOLD_ABI_VERSION.
 *
 * @return The version.
 * @note Any thread.
 */
uint32_t taskhold_abi_version(void);

/**
 * Gives the version of the library that is loaded, such as "0.1.0".
 *
 * @return Static; never freed.
 * @note Any thread.
 */
const char *taskhold_version(void);

/**
 * Gives the name of a status: "ok", "invalid_argument", ...
 *
 * @param status In: a status, or any other number.
 * @return Static; never freed; "unknown" for a number that is no status.
 * @note Any thread.
 */
const char *taskhold_status_name(int32_t status);

/**
 * Describes the library: `version`, `abiVersion`, `backends` (array of strings), `limits` (`identifierBytes`,
 * `nestingDepth`, `payloadBytes` where no option says otherwise, `durationMs`, `taskPageSize`,
 * `sessionPageSize`, `a2aTaskPageSize`), `defaults` (the options of `manager`, `sessionStore` and `stateProvider` over memory) and
 * `liveHandles` (how many handles this process has open). Members may be added.
 *
 * @param out_json  Out, owned: JSON object. Free it with taskhold_string_free().
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK.
 * @note Any thread. Not for a hot path.
 */
taskhold_status taskhold_describe(char **out_json,
                                  char **out_error);

/**
 * Reads one value out of a JSON text, for hosts without a parser.
 *
 * @param json      In: a JSON text of any size, nested at most 144 deep: whatever this library gives out.
 * @param pointer   In: RFC 6901 pointer: "" is the whole text, "/task/taskId" a member of a member, "/tasks/0"
 *                  an element.
 * @param out_value Out, owned: a string decoded, anything else as its text in `json`; NULL when it is not
 *                  there. Free it with taskhold_string_free().
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK, also when the value is not there; INVALID_ARGUMENT (invalid_value: `pointer` is malformed;
 *         embedded_nul: the string holds U+0000: ask for its parent; malformed `json`); LIMIT_EXCEEDED
 *         (nesting_too_deep).
 * @note Any thread.
 */
taskhold_status taskhold_json_get(const char *json,
                                  const char *pointer,
                                  char **out_value,
                                  char **out_error);

/**
 * Frees a string that this library handed out through a `char **`.
 *
 * @param string In: the string; not to be used afterwards. NULL is ignored. Strings of type `const char *`
 *               are static and are never freed.
 * @note Any thread, also inside a callback and after every handle is closed. Never blocks.
 */
void taskhold_string_free(char *string);

/**
 * Opens a clock that stands still until it is moved.
 *
 * @param epoch_ms  In: its wall time, in milliseconds since 1970-01-01T00:00:00Z, in the years 0001 to
 *                  9999. Its monotonic time starts at 0.
 * @param out_clock Out, owned: the clock. Close it with taskhold_clock_close().
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_value: `epoch_ms` is out of range).
 * @note Any thread. Does not block.
 */
taskhold_status taskhold_clock_open_manual(int64_t epoch_ms,
                                           taskhold_clock **out_clock,
                                           char **out_error);

/**
 * Moves a clock forward, wall time and monotonic time alike, and wakes everyone who waits in a store that
 * has it. The timeouts of waits are real time and do not feel it.
 *
 * @param clock     In: the clock.
 * @param ms        In: by how many milliseconds; 0 or more.
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_value: `ms` is negative, or leads out of the years 0001 to 9999 or
 *         further than 292 years from the start).
 * @note Any thread. Does not block.
 */
taskhold_status taskhold_clock_advance(taskhold_clock *clock,
                                       int64_t ms,
                                       char **out_error);

/**
 * Steps the wall time of a clock, as an operator or a time service does; its monotonic time stays. In memory
 * ages are measured by the monotonic time, so nothing expires and nothing lives longer; a store on SQLite, which other
 * processes share, measures them by the wall time.
 *
 * @param clock     In: the clock.
 * @param ms        In: by how many milliseconds; may be negative.
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_value: `ms` leads out of the years 0001 to 9999).
 * @note Any thread. Does not block.
 */
taskhold_status taskhold_clock_step_wall(taskhold_clock *clock,
                                         int64_t ms,
                                         char **out_error);

/**
 * Closes a clock. It lives on in the stores that were opened with it, and stands still there.
 *
 * @param clock In: the clock. NULL and a closed one are fine.
 * @return OK; INVALID_HANDLE (foreign).
 * @note Any thread, also a finalizer or inside a callback. Never blocks.
 */
taskhold_status taskhold_clock_close(taskhold_clock *clock);

/**
 * Opens a store. Managers, session stores and state providers that are opened over one store with the same
 * `name` share their records: they behave like nodes over one database.
 *
 * @param url       In, optional: where the records live. NULL or "memory:" is a new store in this process's
 *                  memory, which ends with its last handle and everything opened over it. "sqlite:PATH" is a file,
 *                  where the build has SQLite (taskhold_describe(), `backends`): PATH is taken as it stands,
 *                  absolute or relative to the working folder, and not decoded.
 *                  "postgresql://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=MODE" (also "postgres://") is a database
 *                  that the processes of any number of hosts share, where the build has PostgreSQL. It is read as libpq
 *                  does, percent-encoded; `sslmode` (default "prefer"), `sslrootcert` (a file, or "system", the default),
 *                  `connect_timeout`, `application_name`, `options`, `host`, `port`, `user`, `password` and `dbname` are
 *                  known. No error repeats a part of it.
 * @param options   In, optional: JSON object of options of the backend. Memory has none. SQLite: `durability`
 *                  "full" (default: a commit is on the disk) or "normal" (it survives the process, not a loss of
 *                  power), `busyTimeoutMs` 5000 (longest wait for other processes), `allowNetworkFileSystem` false.
 *                  PostgreSQL: `poolSize` 8 (1 to 1000; most connections of this store, beside one that listens while
 *                  somebody waits), `acquireTimeoutMs` 5000 (longest wait for one of them), `statementTimeoutMs` 5000,
 *                  `schema` "public" (where the tables are, made if it is missing; letters, digits, "_" and "-"),
 *                  `poolerSafe` false (true behind a pooler in transaction mode: nothing is left with a connection
 *                  between two transactions), `eventPollMs` 100 (how often changes by others are looked for while they
 *                  are not notified).
 * @param clock     In, optional: the store's time, for tests. NULL is the system's.
 * @param out_store Out, owned: the store. Close it with taskhold_store_close().
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_store_url, or malformed `options`); UNSUPPORTED (unsupported_backend,
 *         schema_too_new, unsupported_file_system); UNAVAILABLE (storage_unavailable); CORRUPT (corrupt_file).
 * @note Any thread. Memory does not block. On PostgreSQL the server's clock is the store's time.
 */
taskhold_status taskhold_store_open(const char *url,
                                    const char *options,
                                    taskhold_clock *clock,
                                    taskhold_store **out_store,
                                    char **out_error);

/**
 * Tells how a store is filled, for operators: `{"backend": "memory", "tasks": {"working": 0, ...},
 * "sessions": 0, "a2aTasks": 0, "expiredPending": 0, "bytes": 0, "waiters": 0, "eventQueues": 0, ...}`.
 * Members may be added.
 *
 * @param store     In: the store.
 * @param out_json  Out, owned: the JSON object. Free it with taskhold_string_free().
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK; UNAVAILABLE (storage_unavailable).
 * @note Any thread. May visit every record: not for a hot path.
 */
taskhold_status taskhold_store_stats(taskhold_store *store,
                                     char **out_json,
                                     char **out_error);

/**
 * Looks through a store, for operators: whether its storage is sound and which records cannot be read.
 * `{"backend": "sqlite", "ok": true, "schemaVersion": 1, "newestSchemaVersion": 1, "problems": [],
 * "records": 12, "unreadableCount": 0, "unreadable": []}`; an unreadable record is named as `{"kind": "task" |
 * "session" | "a2a", "name": "default", "id": "..."}`. `problems` and `unreadable` list the first 100. Members
 * may be added; memory has `ok`, `problems` and `unreadable` only. Nothing is repaired.
 *
 * @param store     In: the store.
 * @param out_json  Out, owned: the JSON object. Free it with taskhold_string_free().
 * @param out_error Out, owned, optional: why the call failed. What is wrong with the store is no failure.
 * @return OK; UNAVAILABLE (storage_unavailable).
 * @note Any thread. Reads every record: not for a hot path.
 */
taskhold_status taskhold_store_check(taskhold_store *store,
                                     char **out_json,
                                     char **out_error);

/**
 * Copies all records of a store into an empty one, which may be of another backend: MCP tasks in the order of their
 * creation, sessions, and A2A tasks with their logs and push notification configs, under all names. Ids, times,
 * revisions, leases, operation ids and payloads stay the same; pins are left behind, because they belong to open handles.
 * Then the two are compared, record by record. Nothing else may write to either meanwhile.
 *
 * Gives how much there is: `{"tasks": 12, "sessions": 3, "a2aTasks": 5, "events": 40}`. Records that have expired do not
 * count and are left behind. After a failure the copy is to be thrown away; `store` is never changed.
 *
 * @param store     In: the store to copy.
 * @param to        In: the empty store to copy to.
 * @param options   In, optional: JSON object. There are no options yet.
 * @param out_json  Out, owned: the JSON object. Free it with taskhold_string_free().
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (`to` is `store` itself, or malformed `options`); INVALID_STATE (store_not_empty);
 *         CONFLICT (store_changed); CORRUPT (corrupt_row: taskhold_store_check() names the records); UNAVAILABLE
 *         (storage_unavailable, outcome_unknown).
 * @note Any thread. Reads every record and writes it: it takes as long as that.
 */
taskhold_status taskhold_store_copy(taskhold_store *store,
                                    taskhold_store *to,
                                    const char *options,
                                    char **out_json,
                                    char **out_error);

/**
 * Closes a store. What was opened over it goes on working; the records of a store in memory end when the
 * last of that is closed too.
 *
 * @param store In: the store. NULL and a closed one are fine.
 * @return OK; INVALID_HANDLE (foreign).
 * @note Any thread, also a finalizer or inside a callback. Never blocks.
 */
taskhold_status taskhold_store_close(taskhold_store *store);

/**
 * Opens a task manager.
 *
 * Options, each of which may be absent or null for its default:
 *  - `name` (string, "default"): managers with the same name over one store share their tasks.
 *  - `maximumRetainedTasks` (1024): how many unexpired tasks may be there at once, exactly. On SQL stores 0
 *    is allowed, means no limit, and is the default.
 *  - `maximumRetainedTasksPerPartition` (0, no limit): the same for each authorization partition apart, over all
 *    endpoints; the anonymous one counts too. So one caller cannot use up what all share.
 *  - `taskTimeToLiveMs` (3600000): how long a task lives, from its creation on.
 *  - `pollIntervalMs` (1000): how often a client should ask.
 *  - `maximumPayloadBytes` (10485760): most bytes of one payload.
 *
 * Numbers are positive and whole; durations fit a signed 64-bit count of nanoseconds. A task keeps the time
 * to live and the poll interval that it was created with.
 *
 * @param store       In, optional: where the tasks live. NULL is a private store in memory.
 * @param options     In, optional: JSON object.
 * @param out_manager Out, owned: the manager. Close it with taskhold_manager_close().
 * @param out_error   Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (malformed `options`); UNAVAILABLE (storage_unavailable).
 * @note Any thread. A store in memory does not block. No thread is started.
 */
taskhold_status taskhold_manager_open(taskhold_store *store,
                                      const char *options,
                                      taskhold_manager **out_manager,
                                      char **out_error);

/**
 * Gives the options that a manager works with, defaults filled in.
 *
 * @param manager     In: the manager.
 * @param out_options Out, owned: JSON object. Free it with taskhold_string_free().
 * @param out_error   Out, owned, optional: why the call failed.
 * @return OK.
 * @note Any thread. Does not block.
 */
taskhold_status taskhold_manager_options(taskhold_manager *manager,
                                         char **out_options,
                                         char **out_error);

/**
 * Closes a manager. Calls that run on it finish, waits in it end with CLOSED. Its tasks stay in the store;
 * those of a private store end. Event queues and subscriptions are handles of their own and stay open, but
 * a subscription has nobody left who announces anything to it.
 *
 * @param manager In: the manager. NULL and a closed one are fine.
 * @return OK; INVALID_HANDLE (foreign).
 * @note Any thread, also a finalizer or inside a callback. Never blocks.
 */
taskhold_status taskhold_manager_close(taskhold_manager *manager);

/**
 * Creates a task: a random id (UUID version 4), status working, revision 1. Whoever may read it can read it
 * before this returns.
 *
 * Queued work. With `queue` (string of 1 to 256 bytes) workers may claim the task (taskhold_manager_claim_task());
 * a queue belongs to the managers of one name. With a queue may stand `delayMs` (0: not claimable before) and
 * `attempts` (`{"maximum": 1, "backoffMs": 1000, "maximumBackoffMs": 60000}`; at most 1000): how often the work may
 * be begun, and how long after the end of one attempt the next can be, doubled each time. One is the default,
 * because most tools must not run twice. `work` (any JSON value) is what a worker needs, trusted as `origin` is.
 *
 * With `lease` (`{"worker": "h1:77", "leaseMs": 30000}`) the task is created in its creator's hands: attempt 1 has
 * begun, and the answer's `lease` has the `token`. Without a queue nobody else can claim it: this is how a server
 * that works in its own process gets its dead work noticed. With `delayMs` it does not go together.
 *
 * With `operationId` (an identifier), with or without a queue, creating is idempotent: unique per manager name,
 * endpoint and partition while the task is there. The same operationId with the same `queue` and `work` gives the
 * record of the task that is there, ended or not, and makes no other: `created` in the answer says which it was, and
 * `false` says that the work is not the caller's. In the anonymous partition all callers share these ids: never
 * put a client's own key there as it is.
 *
 * @param manager    In: the manager.
 * @param creation   In: JSON object: `endpoint` (string; the endpoint that the task belongs to) and `origin`
 *                   (any JSON but null; what the task came from) are required; `authorizationPartition`
 *                   (string or null; null is the anonymous one), `metadata` (object; stands in the record as it
 *                   was given, and as `_meta` in every rendering unless it is empty) and
 *                   `declaredInputRequests` (array of "elicitation/form", "elicitation/url",
 *                   "sampling/createMessage", "roots/list", each at most once: what the task may ask; absent is
 *                   anything) may be absent. So may `taskTimeToLiveMs` (in the place of the manager's, for this
 *                   task) and the members about work above.
 * @param out_record Out, owned, optional: the record; see taskhold_manager.
 * @param out_error  Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (malformed `creation`); CAPACITY_EXHAUSTED (capacity_exhausted,
 *         partition_capacity_exhausted): a limit of unexpired tasks is reached, and none is evicted; CONFLICT
 *         (operation_mismatch); LIMIT_EXCEEDED (payload_too_large: `origin`, `metadata` or `work`;
 *         nesting_too_deep). A refused creation uses no capacity.
 * @note Any thread. Announces the task to subscribers on this thread.
 */
taskhold_status taskhold_manager_create_task(taskhold_manager *manager,
                                             const char *creation,
                                             char **out_record,
                                             char **out_error);

/**
 * Finds a task for trusted code: nobody's authorization is checked. A protocol request goes through
 * taskhold_manager_find_authorized_task() or one of the functions below it instead.
 *
 * @param manager    In: the manager.
 * @param task_id    In: the task's id.
 * @param out_record Out, owned, optional: the record, or NULL when there is no such task or it expired.
 * @param out_error  Out, owned, optional: why the call failed.
 * @return OK, also when nothing is found; INVALID_ARGUMENT (invalid_identifier).
 * @note Any thread. A store in memory does not block.
 */
taskhold_status taskhold_manager_find_task(taskhold_manager *manager,
                                           const char *task_id,
                                           char **out_record,
                                           char **out_error);

/**
 * Marks a task that is working or waits for input as working. Its outstanding input requests are superseded:
 * answers to them that come later are ignored. Accepted answers that were not taken yet stay.
 *
 * `options`, here and in the four transitions below: `{"expectedRevision": 3}` makes the call conditional on
 * the revision, `{"unlessCancelationRequested": true}` on no client having asked for cancelation; both are
 * decided in the same atomic step. Here also `{"withdrawInputRequests": ["key"]}`: only these requests are
 * superseded, and the task stays in its status while others are open; `[]` sets the message only.
 *
 * A task that was created with a queue or a lease is moved on by who holds it alone: there the transitions and
 * taskhold_manager_take_task_input_responses() also need `{"lease": 3}`, the token of the lease. Without it they are
 * refused (lease_required), and under any other than the current one too (lease_lost). A lease that has lapsed is
 * current until somebody claims the task, if it has attempts left. Marking as working, failing and cancelling take
 * `{"force": true}` instead, for operators; the holder's lease stays current while the task has not ended. With
 * `{"checkpoint": ...}` the worker notes in the same step what another one needs to go on.
 *
 * @param manager        In: the manager.
 * @param task_id        In: the task's id.
 * @param status_message In, optional: the new status message for people; NULL clears it.
 * @param options        In, optional: JSON object.
 * @param out_record     Out, owned, optional: the record after the change.
 * @param out_error      Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_identifier, malformed `options`); NOT_FOUND (task_not_found);
 *         INVALID_STATE (task_terminal, lease_required, cancelation_requested); CONFLICT (lease_lost,
 *         revision_mismatch); LIMIT_EXCEEDED (payload_too_large).
 * @note Any thread. Announces the change to subscribers on this thread.
 */
taskhold_status taskhold_manager_mark_task_working(taskhold_manager *manager,
                                                   const char *task_id,
                                                   const char *status_message,
                                                   const char *options,
                                                   char **out_record,
                                                   char **out_error);

/**
 * Asks the client for input: adds requests and puts the task into status input_required.
 *
 * A key is used once in a task's life. Repeating outstanding requests exactly changes nothing but the
 * message. Refusals are found in this order: no request, no task, terminal, untaken answers, keys.
 *
 * `{"lease": 3, "park": true}` also lets go of a task with a queue: parked, it is held by nobody, costs no worker
 * while a person thinks, and the last answer makes it claimable again. The next claim goes on with the same attempt.
 * Repeating outstanding requests exactly parks, too. Without `park` the worker keeps the lease and renews it.
 *
 * @param manager        In: the manager.
 * @param task_id        In: the task's id.
 * @param input_requests In: JSON object of at least one member: each value is an input request, `{"method":
 *                       "elicitation/create" | "sampling/createMessage" | "roots/list", "params": {...}}`.
 * @param status_message In, optional: the new status message for people; NULL clears it.
 * @param options        In, optional: JSON object, as for taskhold_manager_mark_task_working() but without
 *                       `withdrawInputRequests` and `force`; `park` as above.
 * @param out_record     Out, owned, optional: the record after the change.
 * @param out_error      Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_identifier, empty_input_requests, invalid_payload,
 *         input_request_key_reused, malformed JSON or `options`); NOT_FOUND (task_not_found); INVALID_STATE
 *         (task_terminal, lease_required, input_responses_untaken, cancelation_requested, not_queued); CONFLICT
 *         (lease_lost, revision_mismatch); LIMIT_EXCEEDED (payload_too_large, nesting_too_deep).
 * @note Any thread. Announces the change to subscribers on this thread.
 */
taskhold_status taskhold_manager_request_task_input(taskhold_manager *manager,
                                                    const char *task_id,
                                                    const char *input_requests,
                                                    const char *status_message,
                                                    const char *options,
                                                    char **out_record,
                                                    char **out_error);

/**
 * Completes a task: terminal and immutable from now on; outstanding requests and untaken answers are
 * cleared. Of any number of racing calls that end a task exactly one wins. A tool result whose `isError` is
 * true is still a completed task. Beyond its shape the result is not checked.
 *
 * @param manager        In: the manager.
 * @param task_id        In: the task's id.
 * @param result         In: JSON object, kept and given back byte for byte; its `resultType`, if there, is
 *                       "complete".
 * @param status_message In, optional: the last status message for people; NULL clears it.
 * @param options        In, optional: JSON object: `expectedRevision`, `unlessCancelationRequested` and `lease`, as
 *                       for taskhold_manager_mark_task_working().
 * @param out_record     Out, owned, optional: the record after the change.
 * @param out_error      Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_identifier, invalid_payload, malformed JSON or `options`); NOT_FOUND
 *         (task_not_found); INVALID_STATE (task_terminal, lease_required, cancelation_requested); CONFLICT
 *         (lease_lost, revision_mismatch); LIMIT_EXCEEDED (payload_too_large, nesting_too_deep).
 * @note Any thread. Announces the change to subscribers on this thread.
 */
taskhold_status taskhold_manager_complete_task(taskhold_manager *manager,
                                               const char *task_id,
                                               const char *result,
                                               const char *status_message,
                                               const char *options,
                                               char **out_record,
                                               char **out_error);

/**
 * Fails a task with an error that the client sees: terminal and immutable from now on. This is for JSON-RPC
 * errors; a tool that ran and reports an error has completed.
 *
 * @param manager        In: the manager.
 * @param task_id        In: the task's id.
 * @param failure        In: JSON-RPC error object: integer `code`, string `message`, optional `data`; kept
 *                       and given back byte for byte.
 * @param status_message In, optional: the last status message for people; NULL clears it.
 * @param options        In, optional: JSON object, as for taskhold_manager_complete_task(); `force` too.
 * @param out_record     Out, owned, optional: the record after the change.
 * @param out_error      Out, owned, optional: why the call failed.
 * @return As taskhold_manager_complete_task().
 * @note Any thread. Announces the change to subscribers on this thread.
 */
taskhold_status taskhold_manager_fail_task(taskhold_manager *manager,
                                           const char *task_id,
                                           const char *failure,
                                           const char *status_message,
                                           const char *options,
                                           char **out_record,
                                           char **out_error);

/**
 * Marks a task as cancelled: terminal and immutable from now on. This is the worker's decision; a client
 * only asks for it (taskhold_manager_request_task_cancelation()).
 *
 * @param manager        In: the manager.
 * @param task_id        In: the task's id.
 * @param status_message In, optional: the last status message for people; NULL clears it.
 * @param options        In, optional: JSON object, as for taskhold_manager_complete_task(); `force` too.
 * @param out_record     Out, owned, optional: the record after the change.
 * @param out_error      Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_identifier, malformed `options`); NOT_FOUND (task_not_found);
 *         INVALID_STATE (task_terminal, lease_required, cancelation_requested); CONFLICT (lease_lost,
 *         revision_mismatch); LIMIT_EXCEEDED (payload_too_large).
 * @note Any thread. Announces the change to subscribers on this thread.
 */
taskhold_status taskhold_manager_cancel_task(taskhold_manager *manager,
                                             const char *task_id,
                                             const char *status_message,
                                             const char *options,
                                             char **out_record,
                                             char **out_error);

/**
 * Takes the answers that the client gave: returns and clears them in one step, so that each is taken once.
 *
 * `{"peek": true}` shows them and clears nothing. A worker that may die between taking answers and using them peeks
 * first, and takes them together with the `checkpoint` that holds them.
 *
 * @param manager       In: the manager.
 * @param task_id       In: the task's id.
 * @param options       In, optional: JSON object: `expectedRevision`, `unlessCancelationRequested`, `lease` and
 *                      `checkpoint` (not with `peek`), as for the transitions, and `peek`.
 * @param out_responses Out, owned: JSON object, answers by the keys of their requests; `{}` when there are
 *                      none, also of a terminal task. Free it with taskhold_string_free().
 * @param out_error     Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_identifier, malformed `options`); NOT_FOUND (task_not_found);
 *         INVALID_STATE (lease_required, cancelation_requested); CONFLICT (lease_lost, revision_mismatch);
 *         LIMIT_EXCEEDED (payload_too_large, nesting_too_deep). A task that has ended gives `{}` without a lease.
 * @note Any thread. Does not wait for answers. Announces nothing.
 */
taskhold_status taskhold_manager_take_task_input_responses(taskhold_manager *manager,
                                                           const char *task_id,
                                                           const char *options,
                                                           char **out_responses,
                                                           char **out_error);

/**
 * Tells whether a client has asked for the cancelation of a task. The request changes the status of no task that
 * somebody works on, and stays visible after the task's end.
 *
 * @param manager       In: the manager.
 * @param task_id       In: the task's id.
 * @param out_requested Out: 1 if it was asked for, else 0.
 * @param out_error     Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_identifier); NOT_FOUND (task_not_found).
 * @note Any thread. A store in memory does not block.
 */
taskhold_status taskhold_manager_is_task_cancelation_requested(taskhold_manager *manager,
                                                               const char *task_id,
                                                               int32_t *out_requested,
                                                               char **out_error);

/**
 * Waits until a task's revision is greater than the one seen: a change of its state, or a client's first
 * request for cancelation. Returns at once if it is so already. Any number of threads may wait.
 *
 * @param manager       In: the manager.
 * @param task_id       In: the task's id.
 * @param seen_revision In: the revision seen last; 0 for any.
 * @param timeout_ms    In: longest wait in milliseconds of real time, never the manual clock's; 0 looks and
 *                      returns, TASKHOLD_WAIT_FOREVER waits without end.
 * @param out_record    Out, owned, optional: the record as it is now.
 * @param out_error     Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_identifier); NOT_FOUND (task_not_found): also when the task expires
 *         during the wait; TIMEOUT (timeout); CLOSED (closed_while_waiting): the manager was closed.
 * @note Any thread. Blocks the thread; a JVM's virtual thread stays pinned to its carrier.
 */
taskhold_status taskhold_manager_wait_task(taskhold_manager *manager,
                                           const char *task_id,
                                           uint64_t seen_revision,
                                           uint32_t timeout_ms,
                                           char **out_record,
                                           char **out_error);

/**
 * Lists tasks for operators, oldest first. Never for clients: nobody's authorization is checked. A full walk
 * meets every task that stays meanwhile, each once.
 *
 * `params`: `status`, `endpoint`, `authorizationPartition` (null: the anonymous one), `queue`, `worker` (who holds
 * the task) and `workState` as filters; `pageSize` 1 to 1000 (100); `pageToken`, from the page before ("": the
 * first); `includePayload` (false): whether records hold `result`, `error`, `inputRequests`, `work` and `checkpoint`.
 *
 * `workState` of a task that has a queue or a lease and has not ended: "leased" (held), "parked" (held by nobody while
 * requests are outstanding), "ready" (to be claimed) or "scheduled" (to be claimed, but not yet).
 *
 * @param manager   In: the manager.
 * @param params    In, optional: JSON object.
 * @param out_page  Out, owned: `{"records": [...], "corrupt": ["id"...], "nextPageToken": ""}`; `corrupt`
 *                  names the tasks that cannot be read; the token is "" on the last page. Free it with
 *                  taskhold_string_free().
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_page_token, malformed `params`).
 * @note Any thread.
 */
taskhold_status taskhold_manager_list_tasks(taskhold_manager *manager,
                                            const char *params,
                                            char **out_page,
                                            char **out_error);

/**
 * Claims a task that was created with a `queue`: of the first of these queues that has one, the task that became
 * available first. The worker then holds it under a lease, and each task is held by one worker. taskhold runs
 * nothing: it says who may work on what, and takes work over when a worker dies.
 *
 * Claimable is a task with a queue whose status is working, which nobody holds, for which no cancelation was
 * requested, and whose `availableAt` has come. A lease that has lapsed (now is at or after its `expiresAt`) holds
 * nothing: while attempts are left, the task can be claimed again from the lapse and its backoff on. A claim begins
 * the next attempt, unless the worker before parked the task or released it with `countsAsAttempt` false: then it
 * goes on with the same one. Outstanding requests, answers that were not taken and the checkpoint are still there.
 *
 * The answer is the record, and in it `lease.token`: a whole number, greater with every claim of that task. Every
 * transition of such a task needs it in its options, `{"lease": 3}`, so that a worker that was held up and lost its
 * lease can change nothing any more. A claim grows the revision and wakes taskhold_manager_wait_task(); it is not
 * announced, and the client sees a working task all the time.
 *
 * @param manager    In: the manager.
 * @param claim      In: JSON object, all of it required: `worker` (string of 1 to 256 bytes: who claims), `queues`
 *                   (array of 1 to 64 strings, in strict order of preference) and `leaseMs` (1 to 86400000: for how
 *                   long the worker holds the task unless it renews the lease).
 * @param timeout_ms In: longest wait for a task in milliseconds of real time, never the manual clock's, also for
 *                   what becomes due meanwhile or is made claimable in another process; 0 looks and returns,
 *                   TASKHOLD_WAIT_FOREVER waits without end.
 * @param out_record Out, owned: the record with the lease's token, or NULL when no task came. Free it with
 *                   taskhold_string_free().
 * @param out_error  Out, owned, optional: why the call failed.
 * @return OK, also when no task came; INVALID_ARGUMENT (missing_key, malformed `claim`); CLOSED
 *         (closed_while_waiting): the manager was closed.
 * @note Any thread. Blocks the thread; a JVM's virtual thread stays pinned to its carrier. Claimers line up: a task
 *       that becomes due wakes one of them.
 */
taskhold_status taskhold_manager_claim_task(taskhold_manager *manager,
                                            const char *claim,
                                            uint32_t timeout_ms,
                                            char **out_record,
                                            char **out_error);

/**
 * Renews leases: sets the end of each to `leaseMs` from now, also to an earlier time. Renew at a third of the lease.
 * Each task is one atomic step; a store in a file takes them into one transaction.
 *
 * @param manager     In: the manager.
 * @param renewals    In: JSON object: `leaseMs` (1 to 86400000) and `tasks`, an array of 1 to 1000 objects, none of
 *                    the same task: `taskId`, `lease` (the token) and, optional, `checkpoint` (any JSON value: what
 *                    another worker needs to go on; absent or null keeps the one that is there). Checkpoints together
 *                    have at most `maximumPayloadBytes`.
 * @param out_outcome Out, owned, optional: `{"renewed": ["id"...], "lost": ["id"...], "cancelationRequested":
 *                    ["id"...]}`. Lost are leases of tasks that are unknown, expired, ended or held under another
 *                    lease; they spoil nothing for the rest. The last are those of the renewed whose client asked
 *                    for cancelation. Free it with taskhold_string_free().
 * @param out_error   Out, owned, optional: why the call failed.
 * @return OK, whatever was lost; INVALID_ARGUMENT (missing_key, invalid_identifier, malformed `renewals`);
 *         LIMIT_EXCEEDED (payload_too_large: the checkpoints together; nesting_too_deep): nothing was renewed.
 * @note Any thread. Moves no revision, wakes nobody and announces nothing.
 */
taskhold_status taskhold_manager_renew_leases(taskhold_manager *manager,
                                              const char *renewals,
                                              char **out_outcome,
                                              char **out_error);

/**
 * Gives a held task back to its queue. After attempt n the next can begin `backoffMs` x 2^(n-1) later, at most
 * `maximumBackoffMs`. With no attempt left the task is failed with `failure`, or with `{"code": -32603, "message":
 * "The work on this task did not succeed."}`; where the client asked for cancelation it is cancelled. Released while
 * requests are outstanding, the task is parked: the last answer makes it claimable.
 *
 * @param manager    In: the manager.
 * @param task_id    In: the task's id.
 * @param options    In: JSON object: `lease` (the token, needed), `delayMs` (0: claimable after this and after the
 *                   backoff, whichever is longer), `countsAsAttempt` (true; false for an orderly shutdown: the next
 *                   claim goes on with the same attempt, and only the delay holds it up), `statusMessage` (absent
 *                   keeps the message, null clears it), `checkpoint` (any JSON value; absent or null keeps the one
 *                   that is there) and `failure` (JSON-RPC error object: becomes `lastFailure`).
 * @param out_record Out, owned, optional: the record after the change.
 * @param out_error  Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_identifier, invalid_payload: `failure`; malformed `options`); NOT_FOUND
 *         (task_not_found); INVALID_STATE (task_terminal, lease_required, not_queued); CONFLICT (lease_lost);
 *         LIMIT_EXCEEDED (payload_too_large, nesting_too_deep).
 * @note Any thread. Announced to subscribers on this thread where the status or the message changes.
 */
taskhold_status taskhold_manager_release_task(taskhold_manager *manager,
                                              const char *task_id,
                                              const char *options,
                                              char **out_record,
                                              char **out_error);

/**
 * Finds a task that the caller may see: its endpoint and its authorization partition must both match
 * exactly. Unknown, expired and foreign tasks give the same answer.
 *
 * @param manager    In: the manager.
 * @param endpoint   In: the endpoint that the request came to; at most 1024 bytes, may be "".
 * @param partition  In, optional: the authorization partition of the caller; NULL is the anonymous one, and
 *                   another than "".
 * @param task_id    In: the task's id.
 * @param out_record Out, owned, optional: the record, or NULL. Only its `task` may reach the client.
 * @param out_error  Out, owned, optional: why the call failed.
 * @return OK, also when nothing is found; INVALID_ARGUMENT (invalid_value, invalid_identifier).
 * @note Any thread. A store in memory does not block.
 */
taskhold_status taskhold_manager_find_authorized_task(taskhold_manager *manager,
                                                      const char *endpoint,
                                                      const char *partition,
                                                      const char *task_id,
                                                      char **out_record,
                                                      char **out_error);

/**
 * Accepts a client's answers to input requests (`tasks/update`). An answer counts when its key is
 * outstanding and its shape matches the request; every other one is ignored without a trace. In the answer to an
 * elicitation, `content` that is null, and a null among its members, count as absent. The last
 * outstanding answer makes the task working again and clears its message. A working or terminal task is
 * left alone: that is OK too.
 *
 * @param manager         In: the manager.
 * @param endpoint        In: the endpoint that the request came to.
 * @param partition       In, optional: the authorization partition of the caller; NULL is the anonymous one.
 * @param task_id         In: the task's id.
 * @param input_responses In: JSON object, answers by the keys of their requests.
 * @param options         In, optional: JSON object, as for taskhold_manager_request_task_input().
 * @param out_outcome     Out, owned, optional: for the host, not for the client: `{"accepted": ["key"...],
 *                        "ignored": ["key"...]}`.
 * @param out_error       Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_value, invalid_identifier, invalid_payload, malformed JSON or
 *         `options`); NOT_FOUND (task_not_found): unknown, expired or not the caller's; INVALID_STATE
 *         (cancelation_requested); CONFLICT (revision_mismatch); LIMIT_EXCEEDED (payload_too_large,
 *         nesting_too_deep).
 * @note Any thread. Announces accepted answers to subscribers on this thread.
 */
taskhold_status taskhold_manager_update_task(taskhold_manager *manager,
                                             const char *endpoint,
                                             const char *partition,
                                             const char *task_id,
                                             const char *input_responses,
                                             const char *options,
                                             char **out_outcome,
                                             char **out_error);

/**
 * Records that a client asks for the cancelation of a task (`tasks/cancel`). The status does not change: the
 * worker decides. Asking again, or for a terminal task, is OK and changes nothing. Work that was created with a
 * queue or a lease and that nobody holds has no worker to decide: the request ends it as cancelled.
 *
 * @param manager   In: the manager.
 * @param endpoint  In: the endpoint that the request came to.
 * @param partition In, optional: the authorization partition of the caller; NULL is the anonymous one.
 * @param task_id   In: the task's id.
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_value, invalid_identifier); NOT_FOUND (task_not_found): unknown,
 *         expired or not the caller's.
 * @note Any thread. Wakes taskhold_manager_wait_task() and event queues; subscribers are told only where the
 *       request ended the task.
 */
taskhold_status taskhold_manager_request_task_cancelation(taskhold_manager *manager,
                                                          const char *endpoint,
                                                          const char *partition,
                                                          const char *task_id,
                                                          char **out_error);

/**
 * Renders a task as a client gets it, with the revision that the text shows, both from one reading.
 *
 * @param manager      In: the manager.
 * @param endpoint     In: the endpoint of the client.
 * @param partition    In, optional: the authorization partition of the client; NULL is the anonymous one.
 * @param task_id      In: the task's id.
 * @param rendering    In: TASKHOLD_RENDER_CREATE_RESULT, _GET_RESULT or _NOTIFICATION.
 * @param options      In, optional: JSON object: `clientCapabilities` (object), checked, if given, as in a
 *                     request; `subscriptionId` (string or whole number, as a request's id is), which goes
 *                     into the notification's `_meta["io.modelcontextprotocol/subscriptionId"]`.
 * @param out_json     Out, owned: the JSON text, for the client. Free it with taskhold_string_free().
 * @param out_revision Out, optional: the revision that it shows.
 * @param out_error    Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_value: also an unknown `rendering`; invalid_identifier, malformed
 *         `options`); NOT_FOUND (task_not_found): unknown, expired or not the caller's; INVALID_STATE
 *         (undeliverable): the task asks for input that was not declared at its creation, or that the
 *         client has no capability for.
 * @note Any thread. A store in memory does not block. Never changes the task.
 */
taskhold_status taskhold_manager_render_task(taskhold_manager *manager,
                                             const char *endpoint,
                                             const char *partition,
                                             const char *task_id,
                                             int32_t rendering,
                                             const char *options,
                                             char **out_json,
                                             uint64_t *out_revision,
                                             char **out_error);

/**
 * Answers one JSON-RPC request of the extension: `tasks/get`, `tasks/update` or `tasks/cancel`. Whatever the
 * request is, the answer is a whole JSON-RPC response; the call fails only when the arguments around it are
 * malformed or the storage fails. A notification executes nothing and has no response.
 *
 * The response carries, in this order of checks: -32700 (the text is not acceptable JSON), -32600 (not one
 * request), -32601 (another method), -32021 with `data.requiredCapabilities` (the client does not declare
 * the extension), -32602 (bad params; also an unknown, foreign or expired task, with one message), -32603
 * (the task asks for input that it did not declare), -32021 (the client has no capability for an input
 * request that would be delivered), or the result. The request's id comes back byte for byte.
 *
 * @param manager             In: the manager.
 * @param endpoint            In: the endpoint that the request came to.
 * @param partition           In, optional: the authorization partition of the caller; NULL is the anonymous
 *                            one.
 * @param client_capabilities In, optional: JSON object, the capabilities that the client has declared. NULL
 *                            takes them from the request's
 *                            `_meta["io.modelcontextprotocol/clientCapabilities"]`.
 * @param request             In: the request as it came; need not even be UTF-8 (that is -32700).
 * @param out_response        Out, owned: the response, or NULL for a notification. Free it with
 *                            taskhold_string_free().
 * @param out_error           Out, owned, optional: why the call failed. When the storage failed it has a
 *                            member `response`: a -32603 response that is ready to be sent.
 * @return OK, also when the response is an error; INVALID_ARGUMENT (invalid_value, malformed
 *         `client_capabilities`); UNAVAILABLE (storage_unavailable, outcome_unknown); CORRUPT (corrupt_row).
 * @note Any thread. Announces accepted answers to subscribers on this thread.
 */
taskhold_status taskhold_manager_handle_request(taskhold_manager *manager,
                                                const char *endpoint,
                                                const char *partition,
                                                const char *client_capabilities,
                                                const char *request,
                                                char **out_response,
                                                char **out_error);

/**
 * Announces that a task changed, as the manager does by itself after each change: to subscribers of this
 * manager and to event queues. For hosts that learn of changes elsewhere. An announcement is a hint: the id
 * need not be that of a task that is there.
 *
 * @param manager   In: the manager.
 * @param task_id   In: the task's id.
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_identifier).
 * @note Any thread. Calls the subscribers on this thread, in order of subscription, before it returns.
 */
taskhold_status taskhold_manager_publish_task_changed(taskhold_manager *manager,
                                                      const char *task_id,
                                                      char **out_error);

/**
 * Subscribes to the changes that are made through this manager: after each successful change that a client
 * can observe, once the new state is readable and with no lock held, the function is called with the task's
 * id. Subscribers are called in order of subscription, on the thread that made the change. A call that
 * changes nothing, a request for cancelation and an expiry announce nothing.
 *
 * `on_task_changed` may call any function of this library, taskhold_subscription_close() on its own
 * subscription and taskhold_manager_close() included. It may run on several threads at once. No C++
 * exception, longjmp or thread exit may leave it.
 *
 * `user_data` passes to the library with this call, whatever becomes of it: `release(user_data)` is called
 * exactly once. That is before taskhold_subscription_close() returns when no call of `on_task_changed` runs,
 * else when the last one ends, and no call enters `on_task_changed` after it; and before this function returns when
 * it fails.
 *
 * @param manager          In: the manager.
 * @param on_task_changed  In: the function to call. `task_id` is borrowed for that call.
 * @param user_data        In, optional: what `on_task_changed` and `release` are called with.
 * @param release          In, optional: lets go of `user_data`; the same rules as for `on_task_changed`.
 * @param out_subscription Out, owned: the subscription. End it with taskhold_subscription_close().
 * @param out_error        Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (null_argument: `on_task_changed` too).
 * @note Any thread. Hosts with a garbage collector or green threads use taskhold_manager_open_events().
 */
taskhold_status taskhold_manager_subscribe(taskhold_manager *manager,
                                           void (*on_task_changed)(void *user_data,
                                                                   const char *task_id),
                                           void *user_data,
                                           void (*release)(void *user_data),
                                           taskhold_subscription **out_subscription,
                                           char **out_error);

/**
 * Opens a queue of the changes of all tasks under this manager's name, also of those that other handles and
 * other processes make over the same store. The queue is bounded: events of one task coalesce, and where
 * events had to be dropped an event says so. Expiry makes no event. A task that a lapsed lease ended is announced
 * while somebody waits, here in taskhold_events_next(), or for work or a task, and by calls that change tasks: a host
 * that only watches taskhold_events_fd() hears of it by the next of these.
 *
 * @param manager    In: the manager.
 * @param capacity   In: most events that wait in the queue, at least 1.
 * @param out_events Out, owned: the queue. Close it with taskhold_events_close(). It outlives the manager.
 * @param out_error  Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_value: `capacity` is 0).
 * @note Any thread.
 */
taskhold_status taskhold_manager_open_events(taskhold_manager *manager,
                                             uint32_t capacity,
                                             taskhold_events **out_events,
                                             char **out_error);

/**
 * Ends a subscription: a change that is announced after this returned is not told to its function. A call that
 * another thread was making at that moment goes on, and may even enter the function after this returned, because
 * this waits for nobody. `release` comes when the last such call is over: a host that must know that none is under
 * way waits for it; see taskhold_manager_subscribe().
 *
 * @param subscription In: the subscription. NULL and a closed one are fine.
 * @return OK; INVALID_HANDLE (foreign).
 * @note Any thread, also a finalizer or inside a callback, its own included. Never blocks.
 */
taskhold_status taskhold_subscription_close(taskhold_subscription *subscription);

/**
 * Takes the next event out of a queue, or waits for one.
 *
 * `{"event": "changed", "taskId": "..."}`: the task was created, its state changed, or answers were accepted.
 * `{"event": "cancelation_requested", "taskId": "..."}`: a client asked for the task's cancelation.
 * `{"event": "finalized", "taskId": "..."}`: the A2A task became final.
 * `{"event": "saved", "taskId": "..."}`: the A2A task was saved, where the provider has `announceSaves`.
 * `{"event": "lagged"}`: the queue was full and events were dropped here: look at everything again.
 * Ignore events that you do not know.
 *
 * @param events     In: the queue.
 * @param timeout_ms In: longest wait in milliseconds of real time; 0 looks and returns,
 *                   TASKHOLD_WAIT_FOREVER waits without end.
 * @param out_event  Out, owned: the event, JSON. Free it with taskhold_string_free().
 * @param out_error  Out, owned, optional: why the call failed.
 * @return OK; TIMEOUT (timeout): no event came; CLOSED (closed_while_waiting): the queue was closed.
 * @note Any thread; each event goes to one caller. Blocks the thread; a JVM's virtual thread stays pinned to
 *       its carrier.
 */
taskhold_status taskhold_events_next(taskhold_events *events,
                                     uint32_t timeout_ms,
                                     char **out_event,
                                     char **out_error);

/**
 * Gives a descriptor that is readable while events are in the queue, for the host's event loop. It is
 * borrowed, non-blocking, close-on-exec and level-triggered: the host neither reads nor closes it, and
 * unregisters it before it closes the queue.
 *
 * @param events    In: the queue.
 * @param out_fd    Out: the descriptor; the same one for each call.
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK; UNSUPPORTED (unsupported_platform): not Linux; INTERNAL (system_resource): the process has no
 *         descriptor left.
 * @note Any thread. Does not block.
 */
taskhold_status taskhold_events_fd(taskhold_events *events,
                                   int32_t *out_fd,
                                   char **out_error);

/**
 * Closes a queue. Calls that wait on it end with CLOSED.
 *
 * @param events In: the queue. NULL and a closed one are fine.
 * @return OK; INVALID_HANDLE (foreign).
 * @note Any thread, also a finalizer or inside a callback. Never blocks.
 */
taskhold_status taskhold_events_close(taskhold_events *events);

/**
 * Opens a session store.
 *
 * Options, each of which may be absent or null for its default:
 *  - `name` (string, "default"): session stores with the same name over one store share their sessions.
 *  - `idleTimeoutMs` (86400000; 0: never): a session that was idle for longer expires.
 *  - `concurrentSessionLimit` (8192; 0: none): how many sessions may be there, terminated ones not counted.
 *  - `concurrentSessionLimitPerPartition` (0: none): how many sessions that are not terminated each authorization
 *    partition may have, the anonymous one too, over all endpoints; exact, and checked before the limit of all.
 *  - `initializationTimeoutMs` (60000; 0: off): a session that is not initialized after this time expires,
 *    pinned or not. A terminated one stays for one idle timeout, as every terminated session does.
 *  - `keepExpired` (0): how many of the sessions that expired are kept for
 *    taskhold_session_store_take_expired().
 *
 * @param store        In, optional: where the sessions live. NULL is a private store in memory.
 * @param options      In, optional: JSON object.
 * @param out_sessions Out, owned: the session store. Close it with taskhold_session_store_close().
 * @param out_error    Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (malformed `options`); UNAVAILABLE (storage_unavailable).
 * @note Any thread. A store in memory does not block. No thread is started.
 */
taskhold_status taskhold_session_store_open(taskhold_store *store,
                                            const char *options,
                                            taskhold_session_store **out_sessions,
                                            char **out_error);

/**
 * Gives the options that a session store works with, defaults filled in.
 *
 * @param sessions    In: the session store.
 * @param out_options Out, owned: JSON object. Free it with taskhold_string_free().
 * @param out_error   Out, owned, optional: why the call failed.
 * @return OK.
 * @note Any thread. Does not block.
 */
taskhold_status taskhold_session_store_options(taskhold_session_store *sessions,
                                               char **out_options,
                                               char **out_error);

/**
 * Closes a session store. The pins that it took end with it; its sessions stay in the store.
 *
 * @param sessions In: the session store. NULL and a closed one are fine.
 * @return OK; INVALID_HANDLE (foreign).
 * @note Any thread, also a finalizer or inside a callback. Never blocks.
 */
taskhold_status taskhold_session_store_close(taskhold_session_store *sessions);

/**
 * Creates and admits a session: new, not initialized, not terminated, version 0. The limit is checked in the
 * same atomic step.
 *
 * @param sessions    In: the session store.
 * @param endpoint    In: the endpoint that the session belongs to; at most 1024 bytes.
 * @param creation    In, optional: JSON object: `sessionId` (1 to 1024 visible ASCII characters; else one
 *                    with at least 128 random bits is made), `authorizationPartition` (string or null: the
 *                    user that the session is bound to), `sessionContext` (object).
 * @param out_session Out, owned, optional: the session, JSON; NULL when it is declined because the limit is
 *                    reached.
 * @param out_error   Out, owned, optional: why the call failed.
 * @return OK, also when the session is declined; INVALID_ARGUMENT (invalid_value, invalid_identifier,
 *         invalid_payload: the context is no object; malformed `creation`); CONFLICT (session_id_in_use);
 *         LIMIT_EXCEEDED (payload_too_large, nesting_too_deep).
 * @note Any thread.
 */
taskhold_status taskhold_session_store_create(taskhold_session_store *sessions,
                                              const char *endpoint,
                                              const char *creation,
                                              char **out_session,
                                              char **out_error);

/**
 * Finds a session by its id.
 *
 * @param sessions    In: the session store.
 * @param session_id  In: the session's id.
 * @param out_session Out, owned, optional: the session, JSON, or NULL when there is none or it expired.
 * @param out_error   Out, owned, optional: why the call failed.
 * @return OK, also when nothing is found; INVALID_ARGUMENT (invalid_identifier).
 * @note Any thread. A store in memory does not block.
 */
taskhold_status taskhold_session_store_find_by_session_id(taskhold_session_store *sessions,
                                                          const char *session_id,
                                                          char **out_session,
                                                          char **out_error);

/**
 * Finds a session that the caller may use: its endpoint and its authorization partition must both match
 * exactly. Unknown, expired and foreign sessions give the same answer.
 *
 * @param sessions    In: the session store.
 * @param endpoint    In: the endpoint that the request came to.
 * @param partition   In, optional: the authorization partition of the caller; NULL is the anonymous one.
 * @param session_id  In: the session's id.
 * @param out_session Out, owned, optional: the session, JSON, or NULL.
 * @param out_error   Out, owned, optional: why the call failed.
 * @return OK, also when nothing is found; INVALID_ARGUMENT (invalid_value, invalid_identifier).
 * @note Any thread. A store in memory does not block.
 */
taskhold_status taskhold_session_store_find_authorized_session(taskhold_session_store *sessions,
                                                               const char *endpoint,
                                                               const char *partition,
                                                               const char *session_id,
                                                               char **out_session,
                                                               char **out_error);

/**
 * Lists sessions for operators, oldest first. Never for clients: nobody's authorization is checked. A full walk
 * meets every session that stays meanwhile, each once, whatever comes and goes. Sessions that expired are not shown,
 * terminated ones are. To be listed keeps no session alive.
 *
 * `params`: `endpoint` and `authorizationPartition` (null: the anonymous one) as filters; `pageSize` 1 to 1000 (100);
 * `pageToken`, from the page before ("": the first). A page may be short, or empty, before the last.
 *
 * @param sessions  In: the session store.
 * @param params    In, optional: JSON object.
 * @param out_page  Out, owned: `{"sessions": [...], "corrupt": ["id"...], "nextPageToken": ""}`: the sessions as
 *                  taskhold_session_store_find_by_session_id() gives them; `corrupt` names those that cannot be
 *                  read; the token is "" on the last page. Free it with taskhold_string_free().
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_page_token, malformed `params`).
 * @note Any thread. A store in memory does not block.
 */
taskhold_status taskhold_session_store_list_sessions(taskhold_session_store *sessions,
                                                     const char *params,
                                                     char **out_page,
                                                     char **out_error);

/**
 * Replaces a session by compare-and-set: only if it has not expired and is stored exactly as `expected` says
 * (member order aside). A lost race changes nothing.
 *
 * @param sessions     In: the session store.
 * @param expected     In: the session as it was given out.
 * @param updated      In: the session as it shall be: the same id, endpoint, partition and `createdAt`, a
 *                     strictly greater `version`, a `terminatedAt` that does not go back to null,
 *                     timestamps in the form given out. Its first `terminatedAt` frees its slot; it stays
 *                     findable for one idle timeout more.
 * @param out_replaced Out: 1 if it was replaced, 0 if it was not as expected or is gone.
 * @param out_error    Out, owned, optional: why the call failed.
 * @return OK, also when the race is lost; INVALID_ARGUMENT (invalid_replacement; missing_key, unknown_key,
 *         invalid_value, invalid_identifier, invalid_timestamp, embedded_nul: one of the two is no session;
 *         malformed JSON); LIMIT_EXCEEDED (payload_too_large, nesting_too_deep).
 * @note Any thread.
 */
taskhold_status taskhold_session_store_replace(taskhold_session_store *sessions,
                                               const char *expected,
                                               const char *updated,
                                               int32_t *out_replaced,
                                               char **out_error);

/**
 * Deletes a session. One that is not there is fine.
 *
 * @param sessions   In: the session store.
 * @param session_id In: the session's id.
 * @param out_error  Out, owned, optional: why the call failed.
 * @return OK, whether or not there was one; INVALID_ARGUMENT (invalid_identifier).
 * @note Any thread.
 */
taskhold_status taskhold_session_store_delete_by_session_id(taskhold_session_store *sessions,
                                                            const char *session_id,
                                                            char **out_error);

/**
 * Pins a session: it is in use by a stream and does not expire. Pins are counted; they belong to the handle
 * that took them and end with it.
 *
 * @param sessions   In: the session store.
 * @param session_id In: the session's id.
 * @param out_pinned Out: 1 if it is pinned, 0 if there is no such session or it expired.
 * @param out_error  Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_identifier).
 * @note Any thread.
 */
taskhold_status taskhold_session_store_pin(taskhold_session_store *sessions,
                                           const char *session_id,
                                           int32_t *out_pinned,
                                           char **out_error);

/**
 * Takes back one pin of this handle. The idle time of a session starts at its last unpin. Without a pin of
 * this handle nothing happens.
 *
 * @param sessions   In: the session store.
 * @param session_id In: the session's id.
 * @param out_error  Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_identifier).
 * @note Any thread.
 */
taskhold_status taskhold_session_store_unpin(taskhold_session_store *sessions,
                                             const char *session_id,
                                             char **out_error);

/**
 * Takes sessions that expired, each once, so that the host can let go of what it kept beside them: those that this
 * process removed, and, on SQLite, those that another process removed and that were created or pinned through this
 * handle. Only the last `keepExpired` ones are there. A process that stands still for ten minutes may miss some.
 *
 * @param sessions     In: the session store.
 * @param out_sessions Out, owned: JSON array of `{"reason": "idle" | "uninitialized", "sessionId": "...",
 *                     "endpoint": "..."}`, `[]` when there are none. Free it with taskhold_string_free().
 * @param out_error    Out, owned, optional: why the call failed.
 * @return OK; UNAVAILABLE (storage_unavailable).
 * @note Any thread.
 */
taskhold_status taskhold_session_store_take_expired(taskhold_session_store *sessions,
                                                    char **out_sessions,
                                                    char **out_error);

/**
 * Opens a state provider.
 *
 * Options, each of which may be absent or null for its default:
 *  - `name` (string, "default"): providers with the same name over one store share their tasks.
 *  - `gracePeriodMs` (15000; 0 allowed): how long a final task still counts as active.
 *  - `maximumRetainedTasks` (0: none): how many tasks may be there at once, exactly.
 *  - `finalizedRetentionMs` (0: for ever): how long a task is kept after it became final.
 *  - `activeRetentionMs` (0: for ever): how long a task that is not final is kept after its last save, so that
 *    abandoned tasks give their places back. Each task has the value of the provider that saved it last.
 *  - `maximumEventsPerTask`, `maximumEventBytesPerTask` (0: none): how many events a task's log keeps, and how many
 *    bytes of their texts. The oldest go, at most 64 with each save.
 *  - `announceSaves` (false): event queues also tell of every save, see taskhold_state_provider_open_events().
 *  - `maximumPayloadBytes` (10485760): most bytes of one task.
 *
 * @param store        In, optional: where the tasks live. NULL is a private store in memory.
 * @param options      In, optional: JSON object.
 * @param out_provider Out, owned: the provider. Close it with taskhold_state_provider_close().
 * @param out_error    Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (malformed `options`); UNAVAILABLE (storage_unavailable).
 * @note Any thread. A store in memory does not block. No thread is started.
 */
taskhold_status taskhold_state_provider_open(taskhold_store *store,
                                             const char *options,
                                             taskhold_state_provider **out_provider,
                                             char **out_error);

/**
 * Gives the options that a provider works with, defaults filled in.
 *
 * @param provider    In: the provider.
 * @param out_options Out, owned: JSON object. Free it with taskhold_string_free().
 * @param out_error   Out, owned, optional: why the call failed.
 * @return OK.
 * @note Any thread. Does not block.
 */
taskhold_status taskhold_state_provider_options(taskhold_state_provider *provider,
                                                char **out_options,
                                                char **out_error);

/**
 * Closes a provider. Its tasks stay in the store; those of a private store end. Calls that wait through it end
 * with CLOSED.
 *
 * @param provider In: the provider. NULL and a closed one are fine.
 * @return OK; INVALID_HANDLE (foreign).
 * @note Any thread, also a finalizer or inside a callback. Never blocks.
 */
taskhold_status taskhold_state_provider_close(taskhold_state_provider *provider);

/**
 * Saves a task: a new one, or in place of the stored one (the last write wins). When it first becomes final
 * (completed, canceled, failed or rejected, in either spelling) that time is kept, whatever is saved later. Any
 * other state is active, also one that this version does not know: a final state that is misspelt never ends.
 *
 * @param provider     In: the provider.
 * @param owner        In, optional: whose task it is; at most 1024 bytes; NULL is the anonymous owner, and
 *                     another than "".
 * @param task         In: an A2A Task object, kept and given back byte for byte; `id` and `status.state` are
 *                     required.
 * @param save_options In, optional: JSON object: `expectedRevision` makes the save conditional on the stored
 *                     revision (0: there must be none); `mustExist` (false) on there being the task;
 *                     `unlessFinal` (false) on its not being final yet; `event`, any JSON value but null, is
 *                     appended to the task's log in the same step, under the revision that the save makes;
 *                     `isReplicated` (false) says that another node saved it first, and announces no
 *                     finalization.
 * @param out_revision Out, optional: the revision that this save made.
 * @param out_error    Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_value, invalid_payload, invalid_identifier, invalid_timestamp,
 *         malformed JSON or `save_options`, `mustExist` with `expectedRevision` 0); NOT_FOUND
 *         (task_not_found): the id belongs to another owner, or `mustExist` was given and there is no task;
 *         CONFLICT (revision_mismatch); INVALID_STATE (task_final): the stored task is final, and this one is
 *         not, or `unlessFinal` was given; CAPACITY_EXHAUSTED (capacity_exhausted); LIMIT_EXCEEDED
 *         (payload_too_large: the task, or `event`, also when it alone has more than `maximumEventBytesPerTask`;
 *         nesting_too_deep). They are checked in this order.
 * @note Any thread.
 */
taskhold_status taskhold_state_provider_save_task(taskhold_state_provider *provider,
                                                  const char *owner,
                                                  const char *task,
                                                  const char *save_options,
                                                  uint64_t *out_revision,
                                                  char **out_error);

/**
 * Finds one of the owner's tasks. Unknown tasks and those of other owners give the same answer.
 *
 * @param provider     In: the provider.
 * @param owner        In, optional: whose task; NULL is the anonymous owner.
 * @param task_id      In: the task's id.
 * @param params       In, optional: JSON object: `historyLength` (absent: all; n: the last n messages; 0: no
 *                     `history`).
 * @param out_task     Out, owned, optional: the task, JSON, or NULL.
 * @param out_revision Out, optional: its revision; 0 when there is none.
 * @param out_error    Out, owned, optional: why the call failed.
 * @return OK, also when nothing is found; INVALID_ARGUMENT (invalid_value, invalid_identifier, malformed
 *         `params`).
 * @note Any thread. A store in memory does not block.
 */
taskhold_status taskhold_state_provider_get_task(taskhold_state_provider *provider,
                                                 const char *owner,
                                                 const char *task_id,
                                                 const char *params,
                                                 char **out_task,
                                                 uint64_t *out_revision,
                                                 char **out_error);

/**
 * Deletes one of the owner's tasks. One that is not there, or is another owner's, is left alone.
 *
 * @param provider  In: the provider.
 * @param owner     In, optional: whose task; NULL is the anonymous owner.
 * @param task_id   In: the task's id.
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK, whether or not there was one; INVALID_ARGUMENT (invalid_value, invalid_identifier).
 * @note Any thread.
 */
taskhold_status taskhold_state_provider_delete_task(taskhold_state_provider *provider,
                                                    const char *owner,
                                                    const char *task_id,
                                                    char **out_error);

/**
 * Lists the owner's tasks, as the A2A protocol's ListTasks: by status timestamp descending (absent last),
 * then by id ascending.
 *
 * `params`: `contextId`, `status`, `statusTimestampAfter` (at or after) as filters; `pageSize` 1 to 100 (50);
 * `pageToken`, from the page before ("": the first); `historyLength` (0: no `history`; n: the last n messages);
 * `includeArtifacts` (false); `includeRevisions` (false); `anyOwner` (false): the tasks of all owners, for operators and
 * never for clients. `owner` must be NULL then; each element of `tasks` is `{"owner": "...", "revision": 7, "task": {...}}`
 * (the anonymous owner is null), and the tasks of one owner stand together, the anonymous owner's first, then by
 * owner ascending.
 *
 * @param provider   In: the provider.
 * @param owner      In, optional: whose tasks; NULL is the anonymous owner.
 * @param params     In, optional: JSON object.
 * @param out_result Out, owned: `{"tasks": [...], "totalSize": 0, "pageSize": 0, "nextPageToken": ""}`:
 *                   `pageSize` is the number of tasks on this page; the token is "" on the last one.
 *                   `corrupt`, if there, names the tasks that cannot be read; `revisions`, if asked for, has
 *                   one for each task. Free it with taskhold_string_free().
 * @param out_error  Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_value, invalid_identifier, invalid_timestamp, invalid_page_token:
 *         also a token of other filters or of another owner; malformed `params`).
 * @note Any thread.
 */
taskhold_status taskhold_state_provider_list_tasks(taskhold_state_provider *provider,
                                                   const char *owner,
                                                   const char *params,
                                                   char **out_result,
                                                   char **out_error);

/**
 * Tells whether a task is active: not final, or final but within the grace period after it became so
 * (now < finalized at + grace period). For deciding whether events that arrive late are still processed.
 *
 * @param provider   In: the provider.
 * @param task_id    In: the task's id, whoever owns it.
 * @param out_active Out: 1 if it is active, else 0; 0 for an unknown task.
 * @param out_error  Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_identifier); UNAVAILABLE (storage_unavailable): a failed storage is
 *         never reported as "not active".
 * @note Any thread. A store in memory does not block.
 */
taskhold_status taskhold_state_provider_is_task_active(taskhold_state_provider *provider,
                                                       const char *task_id,
                                                       int32_t *out_active,
                                                       char **out_error);

/**
 * Tells whether a task is in a final state, whatever the grace period. For deciding whether a queue can be
 * closed and removed.
 *
 * @param provider      In: the provider.
 * @param task_id       In: the task's id, whoever owns it.
 * @param out_finalized Out: 1 if it is final, else 0; 0 for an unknown task.
 * @param out_error     Out, owned, optional: why the call failed.
 * @return As taskhold_state_provider_is_task_active().
 * @note Any thread. A store in memory does not block.
 */
taskhold_status taskhold_state_provider_is_task_finalized(taskhold_state_provider *provider,
                                                          const char *task_id,
                                                          int32_t *out_finalized,
                                                          char **out_error);

/**
 * Tells where a task stands: both answers above, and whether it is known at all, from one reading.
 *
 * @param provider     In: the provider.
 * @param task_id      In: the task's id, whoever owns it.
 * @param out_liveness Out: TASKHOLD_LIVENESS_ABSENT, _ACTIVE, _GRACE or _FINALIZED.
 * @param out_error    Out, owned, optional: why the call failed.
 * @return As taskhold_state_provider_is_task_active().
 * @note Any thread. A store in memory does not block.
 */
taskhold_status taskhold_state_provider_task_liveness(taskhold_state_provider *provider,
                                                      const char *task_id,
                                                      int32_t *out_liveness,
                                                      char **out_error);

/**
 * Reads a task's log: the events that saves appended to it (`save_options.event`), oldest first.
 *
 * To follow a task, pass as `afterRevision` the revision of the last event that you have or, when `events` came
 * back empty, `revision`; then wait with taskhold_state_provider_wait_task(). The log goes with its task.
 *
 * `params`: `afterRevision` (0), only events behind it; `limit` 1 to 1000 (100).
 *
 * @param provider   In: the provider.
 * @param task_id    In: the task's id, whoever owns it: for the trusted host, never for clients.
 * @param params     In, optional: JSON object.
 * @param out_events Out, owned: `{"events": [{"revision": 8, "event": {...}}], "revision": 9, "missing": false}`, from
 *                   one snapshot: the events byte for byte, each with the revision of the save that brought it;
 *                   the task's revision, 0 for an unknown task, whose log is empty. `missing` is true when events
 *                   behind `afterRevision` were dropped, or when that is above the task's revision: it was
 *                   deleted and made again. Free it with taskhold_string_free().
 * @param out_error  Out, owned, optional: why the call failed.
 * @return OK, also for an unknown task; INVALID_ARGUMENT (invalid_value, invalid_identifier, malformed `params`).
 * @note Any thread. A store in memory does not block.
 */
taskhold_status taskhold_state_provider_read_events(taskhold_state_provider *provider,
                                                    const char *task_id,
                                                    const char *params,
                                                    char **out_events,
                                                    char **out_error);

/**
 * Waits until a task's revision is not the one that was seen, and gives it: at once, or as soon as the task is saved
 * here or in another process. Any number of threads may wait for one task.
 *
 * @param provider      In: the provider.
 * @param task_id       In: the task's id, whoever owns it: for the trusted host, never for clients.
 * @param seen_revision In: the revision that the caller knows; 0 when none.
 * @param timeout_ms    In: longest wait in milliseconds of real time; 0 looks and returns, TASKHOLD_WAIT_FOREVER
 *                      waits without end.
 * @param out_revision  Out, optional: the task's revision.
 * @param out_error     Out, owned, optional: why the call failed.
 * @return OK; TIMEOUT (timeout): it is still the one that was seen; NOT_FOUND (task_not_found): the task is not
 *         there, or went; CLOSED (closed_while_waiting): the provider was closed; INVALID_ARGUMENT
 *         (invalid_identifier).
 * @note Any thread. Blocks the thread; a JVM's virtual thread stays pinned to its carrier.
 */
taskhold_status taskhold_state_provider_wait_task(taskhold_state_provider *provider,
                                                  const char *task_id,
                                                  uint64_t seen_revision,
                                                  uint32_t timeout_ms,
                                                  uint64_t *out_revision,
                                                  char **out_error);

/**
 * Opens a queue that tells when tasks become final: once for each, after the change is stored, and not for
 * replicated saves. With the provider's option `announceSaves` it also tells of every save, replicated ones too, so
 * that one queue serves any number of streams: on `saved`, read the task's events. It sees what other handles of
 * the same name and other processes save over one store.
 *
 * @param provider   In: the provider.
 * @param capacity   In: most events that wait in the queue, at least 1.
 * @param out_events Out, owned: the queue. Close it with taskhold_events_close(). It outlives the provider.
 * @param out_error  Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_value: `capacity` is 0).
 * @note Any thread.
 */
taskhold_status taskhold_state_provider_open_events(taskhold_state_provider *provider,
                                                    uint32_t capacity,
                                                    taskhold_events **out_events,
                                                    char **out_error);

/**
 * Keeps a push notification config for one of the owner's tasks, in the place of the one with the same id. It goes
 * with its task. A save of the task leaves it alone, and this moves no revision and announces nothing.
 *
 * A server often has the config before the task: while nothing is stored under `task_id`, the config waits in this
 * provider's memory, for at most 1024 tasks (the oldest are forgotten), and is stored with the first save of the
 * task by the same owner through this provider. A task of another owner ends the wait.
 *
 * @param provider  In: the provider.
 * @param owner     In, optional: whose task; NULL is the anonymous owner.
 * @param task_id   In: the task's id.
 * @param config_id In, optional: the config's id, 1 to 1024 bytes, unique for the task; NULL stands for `task_id`, as
 *                  the A2A SDKs have it.
 * @param config    In: the config: a JSON object, of at most `maximumPayloadBytes`, kept byte for byte. Nothing in it is
 *                  looked at: whether its URL may be called is the host's to decide.
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_value, invalid_identifier, invalid_payload, malformed JSON); NOT_FOUND
 *         (task_not_found): the task is another owner's; CAPACITY_EXHAUSTED (capacity_exhausted): the task has 100
 *         configs; LIMIT_EXCEEDED (payload_too_large, nesting_too_deep).
 * @note Any thread.
 */
taskhold_status taskhold_state_provider_set_push_config(taskhold_state_provider *provider,
                                                        const char *owner,
                                                        const char *task_id,
                                                        const char *config_id,
                                                        const char *config,
                                                        char **out_error);

/**
 * Lists the push notification configs of one of the owner's tasks.
 *
 * `params`: `anyOwner` (false): of the task whoever owns it. This is for sending notifications, never for clients;
 * `owner` must be NULL then.
 *
 * @param provider    In: the provider.
 * @param owner       In, optional: whose task; NULL is the anonymous owner.
 * @param task_id     In: the task's id.
 * @param params      In, optional: JSON object.
 * @param out_configs Out, owned: `{"configs": [{"id": "...", "config": {...}}]}`, the one that was set first coming
 *                    first; empty for an unknown task and for another owner's. Free it with taskhold_string_free().
 * @param out_error   Out, owned, optional: why the call failed.
 * @return OK; INVALID_ARGUMENT (invalid_value, invalid_identifier, malformed `params`).
 * @note Any thread. A store in memory does not block.
 */
taskhold_status taskhold_state_provider_list_push_configs(taskhold_state_provider *provider,
                                                          const char *owner,
                                                          const char *task_id,
                                                          const char *params,
                                                          char **out_configs,
                                                          char **out_error);

/**
 * Deletes a push notification config of one of the owner's tasks, or all of them. What is not there, or is another
 * owner's, is left alone.
 *
 * @param provider  In: the provider.
 * @param owner     In, optional: whose task; NULL is the anonymous owner.
 * @param task_id   In: the task's id.
 * @param config_id In, optional: the config's id; NULL deletes all of the task's.
 * @param out_error Out, owned, optional: why the call failed.
 * @return OK, whether or not there was one; INVALID_ARGUMENT (invalid_value, invalid_identifier).
 * @note Any thread.
 */
taskhold_status taskhold_state_provider_delete_push_config(taskhold_state_provider *provider,
                                                           const char *owner,
                                                           const char *task_id,
                                                           const char *config_id,
                                                           char **out_error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TASKHOLD_H */
