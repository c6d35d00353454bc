package dev.taskhold.spi;

import org.jspecify.annotations.Nullable;

/**
 * The C functions of the library, one method for each under its C name, with primitive parameters only.
 * {@code include/taskhold.h} is the reference for what each does.
 *
 * <p>A handle is a {@code long}. A text that goes in is UTF-8 with a final NUL, or null for NULL. An output is the
 * first element of an array: a {@code long} for a handle, for the address of a string and for a
 * {@code uint64_t}, an {@code int} for an {@code int32_t}. Whoever calls takes care of the strings that come
 * out: {@link #text(long)} and {@link #taskhold_string_free(long)}. An {@code int} that is returned is a status. An
 * {@code int} parameter of C type {@code uint32_t} is taken as unsigned.
 *
 * <p>The two functions that take callbacks are left out on purpose: no C code calls into the JVM.
 * Implementations are safe for use by many threads.
 */
public interface Abi {

    /**
     * Copies the string at {@code address}, UTF-8 with a final NUL.
     *
     * @param address where the string begins; never 0
     * @return the string
     */
    String text(long address);

    /**
     * Gives the ABI version of the library that is loaded; see TASKHOLD_ABI_VERSION.
     */
    int taskhold_abi_version();

    /**
     * Gives the version of the library that is loaded, such as "0.1.0".
     */
    long taskhold_version();

    /**
     * Gives the name of a status.
     */
    long taskhold_status_name(int status);

    /**
     * Describes the library.
     */
    int taskhold_describe(long[] outJson, long[] outError);

    /**
     * Reads one value out of a JSON text, for hosts without a parser.
     */
    int taskhold_json_get(
            byte @Nullable [] json, byte @Nullable [] pointer, long[] outValue, long[] outError);

    /**
     * Frees a string that this library handed out through a {@code char **}.
     */
    void taskhold_string_free(long string);

    /**
     * Opens a clock that stands still until it is moved.
     */
    int taskhold_clock_open_manual(long epochMs, long[] outClock, long[] outError);

    /**
     * Moves a clock forward, wall time and monotonic time alike, and wakes everyone who waits in a
     * store that has it.
     */
    int taskhold_clock_advance(long clock, long ms, long[] outError);

    /**
     * Steps the wall time of a clock, as an operator or a time service does; its monotonic time
     * stays.
     */
    int taskhold_clock_step_wall(long clock, long ms, long[] outError);

    /**
     * Closes a clock.
     */
    int taskhold_clock_close(long clock);

    /**
     * Opens a store.
     */
    int taskhold_store_open(
            byte @Nullable [] url, byte @Nullable [] options, long clock, long[] outStore, long[] outError);

    /**
     * Tells how a store is filled, for operators.
     */
    int taskhold_store_stats(long store, long[] outJson, long[] outError);

    /**
     * Looks through a store, for operators.
     */
    int taskhold_store_check(long store, long[] outJson, long[] outError);

    /**
     * Copies all records of a store into an empty one.
     */
    int taskhold_store_copy(long store, long to, byte @Nullable [] options, long[] outJson, long[] outError);

    /**
     * Closes a store.
     */
    int taskhold_store_close(long store);

    /**
     * Opens a task manager.
     */
    int taskhold_manager_open(long store, byte @Nullable [] options, long[] outManager, long[] outError);

    /**
     * Gives the options that a manager works with, defaults filled in.
     */
    int taskhold_manager_options(long manager, long[] outOptions, long[] outError);

    /**
     * Closes a manager.
     */
    int taskhold_manager_close(long manager);

    /**
     * Creates a task.
     */
    int taskhold_manager_create_task(
            long manager, byte @Nullable [] creation, long[] outRecord, long[] outError);

    /**
     * Finds a task for trusted code.
     */
    int taskhold_manager_find_task(long manager, byte @Nullable [] taskId, long[] outRecord, long[] outError);

    /**
     * Marks a task that is working or waits for input as working.
     */
    int taskhold_manager_mark_task_working(
            long manager, byte @Nullable [] taskId, byte @Nullable [] statusMessage,
            byte @Nullable [] options, long[] outRecord, long[] outError);

    /**
     * Asks the client for input.
     */
    int taskhold_manager_request_task_input(
            long manager, byte @Nullable [] taskId, byte @Nullable [] inputRequests,
            byte @Nullable [] statusMessage, byte @Nullable [] options, long[] outRecord, long[] outError);

    /**
     * Completes a task.
     */
    int taskhold_manager_complete_task(
            long manager, byte @Nullable [] taskId, byte @Nullable [] result, byte @Nullable [] statusMessage,
            byte @Nullable [] options, long[] outRecord, long[] outError);

    /**
     * Fails a task with an error that the client sees.
     */
    int taskhold_manager_fail_task(
            long manager, byte @Nullable [] taskId, byte @Nullable [] failure,
            byte @Nullable [] statusMessage, byte @Nullable [] options, long[] outRecord, long[] outError);

    /**
     * Marks a task as cancelled.
     */
    int taskhold_manager_cancel_task(
            long manager, byte @Nullable [] taskId, byte @Nullable [] statusMessage,
            byte @Nullable [] options, long[] outRecord, long[] outError);

    /**
     * Takes the answers that the client gave.
     */
    int taskhold_manager_take_task_input_responses(
            long manager, byte @Nullable [] taskId, byte @Nullable [] options, long[] outResponses,
            long[] outError);

    /**
     * Tells whether a client has asked for the cancelation of a task.
     */
    int taskhold_manager_is_task_cancelation_requested(
            long manager, byte @Nullable [] taskId, int[] outRequested, long[] outError);

    /**
     * Waits until a task's revision is greater than the one seen.
     */
    int taskhold_manager_wait_task(
            long manager, byte @Nullable [] taskId, long seenRevision, int timeoutMs, long[] outRecord,
            long[] outError);

    /**
     * Lists tasks for operators, oldest first.
     */
    int taskhold_manager_list_tasks(long manager, byte @Nullable [] params, long[] outPage, long[] outError);

    /**
     * Claims a task that was created with a {@code queue}: of the first of these queues that has one, the task
     * that became available first.
     */
    int taskhold_manager_claim_task(
            long manager, byte @Nullable [] claim, int timeoutMs, long[] outRecord, long[] outError);

    /**
     * Renews leases: sets the end of each to {@code leaseMs} from now, also to an earlier time.
     */
    int taskhold_manager_renew_leases(long manager, byte @Nullable [] renewals, long[] outOutcome, long[] outError);

    /**
     * Gives a held task back to its queue.
     */
    int taskhold_manager_release_task(
            long manager, byte @Nullable [] taskId, byte @Nullable [] options, long[] outRecord, long[] outError);

    /**
     * Finds a task that the caller may see.
     */
    int taskhold_manager_find_authorized_task(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition, byte @Nullable [] taskId,
            long[] outRecord, long[] outError);

    /**
     * Accepts a client's answers to input requests ({@code tasks/update}).
     */
    int taskhold_manager_update_task(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition, byte @Nullable [] taskId,
            byte @Nullable [] inputResponses, byte @Nullable [] options, long[] outOutcome, long[] outError);

    /**
     * Records that a client asks for the cancelation of a task ({@code tasks/cancel}).
     */
    int taskhold_manager_request_task_cancelation(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition, byte @Nullable [] taskId,
            long[] outError);

    /**
     * Renders a task as a client gets it, with the revision that the text shows, both from one
     * reading.
     */
    int taskhold_manager_render_task(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition, byte @Nullable [] taskId,
            int rendering, byte @Nullable [] options, long[] outJson, long[] outRevision, long[] outError);

    /**
     * Answers one JSON-RPC request of the extension.
     */
    int taskhold_manager_handle_request(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition,
            byte @Nullable [] clientCapabilities, byte @Nullable [] request, long[] outResponse,
            long[] outError);

    /**
     * Announces that a task changed, as the manager does by itself after each change.
     */
    int taskhold_manager_publish_task_changed(long manager, byte @Nullable [] taskId, long[] outError);

    /**
     * Opens a queue of the changes of all tasks under this manager's name, also of those that other
     * handles and other processes make over the same store.
     */
    int taskhold_manager_open_events(long manager, int capacity, long[] outEvents, long[] outError);

    /**
     * Takes the next event out of a queue, or waits for one.
     */
    int taskhold_events_next(long events, int timeoutMs, long[] outEvent, long[] outError);

    /**
     * Gives a descriptor that is readable while events are in the queue, for the host's event loop.
     */
    int taskhold_events_fd(long events, int[] outFd, long[] outError);

    /**
     * Closes a queue.
     */
    int taskhold_events_close(long events);

    /**
     * Opens a session store.
     */
    int taskhold_session_store_open(
            long store, byte @Nullable [] options, long[] outSessions, long[] outError);

    /**
     * Gives the options that a session store works with, defaults filled in.
     */
    int taskhold_session_store_options(long sessions, long[] outOptions, long[] outError);

    /**
     * Closes a session store.
     */
    int taskhold_session_store_close(long sessions);

    /**
     * Creates and admits a session.
     */
    int taskhold_session_store_create(
            long sessions, byte @Nullable [] endpoint, byte @Nullable [] creation, long[] outSession,
            long[] outError);

    /**
     * Finds a session by its id.
     */
    int taskhold_session_store_find_by_session_id(
            long sessions, byte @Nullable [] sessionId, long[] outSession, long[] outError);

    /**
     * Finds a session that the caller may use.
     */
    int taskhold_session_store_find_authorized_session(
            long sessions, byte @Nullable [] endpoint, byte @Nullable [] partition,
            byte @Nullable [] sessionId, long[] outSession, long[] outError);

    /**
     * Replaces a session by compare-and-set.
     */
    int taskhold_session_store_replace(
            long sessions, byte @Nullable [] expected, byte @Nullable [] updated, int[] outReplaced,
            long[] outError);

    /**
     * Deletes a session.
     */
    int taskhold_session_store_delete_by_session_id(
            long sessions, byte @Nullable [] sessionId, long[] outError);

    /**
     * Pins a session.
     */
    int taskhold_session_store_pin(
            long sessions, byte @Nullable [] sessionId, int[] outPinned, long[] outError);

    /**
     * Takes back one pin of this handle.
     */
    int taskhold_session_store_unpin(long sessions, byte @Nullable [] sessionId, long[] outError);

    /**
     * Lists sessions for operators, oldest first.
     */
    int taskhold_session_store_list_sessions(
            long sessions, byte @Nullable [] params, long[] outPage, long[] outError);

    /**
     * Takes the sessions that this process removed because they expired, each once, so that the
     * host can let go of what it kept beside them.
     */
    int taskhold_session_store_take_expired(long sessions, long[] outSessions, long[] outError);

    /**
     * Opens a state provider.
     */
    int taskhold_state_provider_open(
            long store, byte @Nullable [] options, long[] outProvider, long[] outError);

    /**
     * Gives the options that a provider works with, defaults filled in.
     */
    int taskhold_state_provider_options(long provider, long[] outOptions, long[] outError);

    /**
     * Closes a provider.
     */
    int taskhold_state_provider_close(long provider);

    /**
     * Saves a task.
     */
    int taskhold_state_provider_save_task(
            long provider, byte @Nullable [] owner, byte @Nullable [] task, byte @Nullable [] saveOptions,
            long[] outRevision, long[] outError);

    /**
     * Finds one of the owner's tasks.
     */
    int taskhold_state_provider_get_task(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, byte @Nullable [] params,
            long[] outTask, long[] outRevision, long[] outError);

    /**
     * Deletes one of the owner's tasks.
     */
    int taskhold_state_provider_delete_task(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, long[] outError);

    /**
     * Lists the owner's tasks, as the A2A protocol's ListTasks.
     */
    int taskhold_state_provider_list_tasks(
            long provider, byte @Nullable [] owner, byte @Nullable [] params, long[] outResult,
            long[] outError);

    /**
     * Tells whether a task is active.
     */
    int taskhold_state_provider_is_task_active(
            long provider, byte @Nullable [] taskId, int[] outActive, long[] outError);

    /**
     * Tells whether a task is in a final state, whatever the grace period.
     */
    int taskhold_state_provider_is_task_finalized(
            long provider, byte @Nullable [] taskId, int[] outFinalized, long[] outError);

    /**
     * Tells where a task stands.
     */
    int taskhold_state_provider_task_liveness(
            long provider, byte @Nullable [] taskId, int[] outLiveness, long[] outError);

    /**
     * Reads a task's log: the events that saves appended to it ({@code save_options.event}), oldest first.
     */
    int taskhold_state_provider_read_events(
            long provider, byte @Nullable [] taskId, byte @Nullable [] params, long[] outEvents, long[] outError);

    /**
     * Waits until a task's revision is not the one that was seen, and gives it: at once, or as soon as the task
     * is saved here or in another process.
     */
    int taskhold_state_provider_wait_task(
            long provider, byte @Nullable [] taskId, long seenRevision, int timeoutMs, long[] outRevision,
            long[] outError);

    /**
     * Opens a queue that tells when tasks become final.
     */
    int taskhold_state_provider_open_events(long provider, int capacity, long[] outEvents, long[] outError);

    /**
     * Keeps a push notification config for one of the owner's tasks, in the place of the one with the same id.
     */
    int taskhold_state_provider_set_push_config(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, byte @Nullable [] configId,
            byte @Nullable [] config, long[] outError);

    /**
     * Lists the push notification configs of one of the owner's tasks.
     */
    int taskhold_state_provider_list_push_configs(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, byte @Nullable [] params,
            long[] outConfigs, long[] outError);

    /**
     * Deletes a push notification config of one of the owner's tasks, or all of them.
     */
    int taskhold_state_provider_delete_push_config(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, byte @Nullable [] configId,
            long[] outError);
}
