package dev.taskhold.jna;

import com.sun.jna.Pointer;
import dev.taskhold.spi.Abi;
import org.jspecify.annotations.Nullable;

/**
 * The C functions by JNA's direct mapping, with primitives and arrays of primitives only: no object that JNA's
 * cleaner has to look after comes to be in a call. A {@code long} stands for a pointer, so that only 64-bit
 * platforms are possible; {@link JnaBackend} checks that.
 */
final class JnaAbi implements Abi {

    @Override
    public String text(long address) {
        return new Pointer(address).getString(0, "UTF-8");
    }

    @Override
    public native int taskhold_abi_version();

    @Override
    public native long taskhold_version();

    @Override
    public native long taskhold_status_name(int status);

    @Override
    public native int taskhold_describe(long[] outJson, long[] outError);

    @Override
    public native int taskhold_json_get(
            byte @Nullable [] json, byte @Nullable [] pointer, long[] outValue, long[] outError);

    @Override
    public native void taskhold_string_free(long string);

    @Override
    public native int taskhold_clock_open_manual(long epochMs, long[] outClock, long[] outError);

    @Override
    public native int taskhold_clock_advance(long clock, long ms, long[] outError);

    @Override
    public native int taskhold_clock_step_wall(long clock, long ms, long[] outError);

    @Override
    public native int taskhold_clock_close(long clock);

    @Override
    public native int taskhold_store_open(
            byte @Nullable [] url, byte @Nullable [] options, long clock, long[] outStore, long[] outError);

    @Override
    public native int taskhold_store_stats(long store, long[] outJson, long[] outError);

    @Override
    public native int taskhold_store_check(long store, long[] outJson, long[] outError);

    @Override
    public native int taskhold_store_copy(
            long store, long to, byte @Nullable [] options, long[] outJson, long[] outError);

    @Override
    public native int taskhold_store_close(long store);

    @Override
    public native int taskhold_manager_open(
            long store, byte @Nullable [] options, long[] outManager, long[] outError);

    @Override
    public native int taskhold_manager_options(long manager, long[] outOptions, long[] outError);

    @Override
    public native int taskhold_manager_close(long manager);

    @Override
    public native int taskhold_manager_create_task(
            long manager, byte @Nullable [] creation, long[] outRecord, long[] outError);

    @Override
    public native int taskhold_manager_find_task(
            long manager, byte @Nullable [] taskId, long[] outRecord, long[] outError);

    @Override
    public native int taskhold_manager_mark_task_working(
            long manager, byte @Nullable [] taskId, byte @Nullable [] statusMessage,
            byte @Nullable [] options, long[] outRecord, long[] outError);

    @Override
    public native int taskhold_manager_request_task_input(
            long manager, byte @Nullable [] taskId, byte @Nullable [] inputRequests,
            byte @Nullable [] statusMessage, byte @Nullable [] options, long[] outRecord, long[] outError);

    @Override
    public native int taskhold_manager_complete_task(
            long manager, byte @Nullable [] taskId, byte @Nullable [] result, byte @Nullable [] statusMessage,
            byte @Nullable [] options, long[] outRecord, long[] outError);

    @Override
    public native int taskhold_manager_fail_task(
            long manager, byte @Nullable [] taskId, byte @Nullable [] failure,
            byte @Nullable [] statusMessage, byte @Nullable [] options, long[] outRecord, long[] outError);

    @Override
    public native int taskhold_manager_cancel_task(
            long manager, byte @Nullable [] taskId, byte @Nullable [] statusMessage,
            byte @Nullable [] options, long[] outRecord, long[] outError);

    @Override
    public native int taskhold_manager_take_task_input_responses(
            long manager, byte @Nullable [] taskId, byte @Nullable [] options, long[] outResponses,
            long[] outError);

    @Override
    public native int taskhold_manager_is_task_cancelation_requested(
            long manager, byte @Nullable [] taskId, int[] outRequested, long[] outError);

    @Override
    public native int taskhold_manager_wait_task(
            long manager, byte @Nullable [] taskId, long seenRevision, int timeoutMs, long[] outRecord,
            long[] outError);

    @Override
    public native int taskhold_manager_list_tasks(
            long manager, byte @Nullable [] params, long[] outPage, long[] outError);

    @Override
    public native int taskhold_manager_claim_task(
            long manager, byte @Nullable [] claim, int timeoutMs, long[] outRecord, long[] outError);

    @Override
    public native int taskhold_manager_renew_leases(
            long manager, byte @Nullable [] renewals, long[] outOutcome, long[] outError);

    @Override
    public native int taskhold_manager_release_task(
            long manager, byte @Nullable [] taskId, byte @Nullable [] options, long[] outRecord, long[] outError);

    @Override
    public native int taskhold_manager_find_authorized_task(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition, byte @Nullable [] taskId,
            long[] outRecord, long[] outError);

    @Override
    public native int taskhold_manager_update_task(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition, byte @Nullable [] taskId,
            byte @Nullable [] inputResponses, byte @Nullable [] options, long[] outOutcome, long[] outError);

    @Override
    public native int taskhold_manager_request_task_cancelation(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition, byte @Nullable [] taskId,
            long[] outError);

    @Override
    public native int taskhold_manager_render_task(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition, byte @Nullable [] taskId,
            int rendering, byte @Nullable [] options, long[] outJson, long[] outRevision, long[] outError);

    @Override
    public native int taskhold_manager_handle_request(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition,
            byte @Nullable [] clientCapabilities, byte @Nullable [] request, long[] outResponse,
            long[] outError);

    @Override
    public native int taskhold_manager_publish_task_changed(
            long manager, byte @Nullable [] taskId, long[] outError);

    @Override
    public native int taskhold_manager_open_events(
            long manager, int capacity, long[] outEvents, long[] outError);

    @Override
    public native int taskhold_events_next(long events, int timeoutMs, long[] outEvent, long[] outError);

    @Override
    public native int taskhold_events_fd(long events, int[] outFd, long[] outError);

    @Override
    public native int taskhold_events_close(long events);

    @Override
    public native int taskhold_session_store_open(
            long store, byte @Nullable [] options, long[] outSessions, long[] outError);

    @Override
    public native int taskhold_session_store_options(long sessions, long[] outOptions, long[] outError);

    @Override
    public native int taskhold_session_store_close(long sessions);

    @Override
    public native int taskhold_session_store_create(
            long sessions, byte @Nullable [] endpoint, byte @Nullable [] creation, long[] outSession,
            long[] outError);

    @Override
    public native int taskhold_session_store_find_by_session_id(
            long sessions, byte @Nullable [] sessionId, long[] outSession, long[] outError);

    @Override
    public native int taskhold_session_store_find_authorized_session(
            long sessions, byte @Nullable [] endpoint, byte @Nullable [] partition,
            byte @Nullable [] sessionId, long[] outSession, long[] outError);

    @Override
    public native int taskhold_session_store_replace(
            long sessions, byte @Nullable [] expected, byte @Nullable [] updated, int[] outReplaced,
            long[] outError);

    @Override
    public native int taskhold_session_store_delete_by_session_id(
            long sessions, byte @Nullable [] sessionId, long[] outError);

    @Override
    public native int taskhold_session_store_pin(
            long sessions, byte @Nullable [] sessionId, int[] outPinned, long[] outError);

    @Override
    public native int taskhold_session_store_unpin(
            long sessions, byte @Nullable [] sessionId, long[] outError);

    @Override
    public native int taskhold_session_store_list_sessions(
            long sessions, byte @Nullable [] params, long[] outPage, long[] outError);

    @Override
    public native int taskhold_session_store_take_expired(long sessions, long[] outSessions, long[] outError);

    @Override
    public native int taskhold_state_provider_open(
            long store, byte @Nullable [] options, long[] outProvider, long[] outError);

    @Override
    public native int taskhold_state_provider_options(long provider, long[] outOptions, long[] outError);

    @Override
    public native int taskhold_state_provider_close(long provider);

    @Override
    public native int taskhold_state_provider_save_task(
            long provider, byte @Nullable [] owner, byte @Nullable [] task, byte @Nullable [] saveOptions,
            long[] outRevision, long[] outError);

    @Override
    public native int taskhold_state_provider_get_task(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, byte @Nullable [] params,
            long[] outTask, long[] outRevision, long[] outError);

    @Override
    public native int taskhold_state_provider_delete_task(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, long[] outError);

    @Override
    public native int taskhold_state_provider_list_tasks(
            long provider, byte @Nullable [] owner, byte @Nullable [] params, long[] outResult,
            long[] outError);

    @Override
    public native int taskhold_state_provider_is_task_active(
            long provider, byte @Nullable [] taskId, int[] outActive, long[] outError);

    @Override
    public native int taskhold_state_provider_is_task_finalized(
            long provider, byte @Nullable [] taskId, int[] outFinalized, long[] outError);

    @Override
    public native int taskhold_state_provider_task_liveness(
            long provider, byte @Nullable [] taskId, int[] outLiveness, long[] outError);

    @Override
    public native int taskhold_state_provider_read_events(
            long provider, byte @Nullable [] taskId, byte @Nullable [] params, long[] outEvents, long[] outError);

    @Override
    public native int taskhold_state_provider_wait_task(
            long provider, byte @Nullable [] taskId, long seenRevision, int timeoutMs, long[] outRevision,
            long[] outError);

    @Override
    public native int taskhold_state_provider_open_events(
            long provider, int capacity, long[] outEvents, long[] outError);

    @Override
    public native int taskhold_state_provider_set_push_config(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, byte @Nullable [] configId,
            byte @Nullable [] config, long[] outError);

    @Override
    public native int taskhold_state_provider_list_push_configs(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, byte @Nullable [] params,
            long[] outConfigs, long[] outError);

    @Override
    public native int taskhold_state_provider_delete_push_config(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, byte @Nullable [] configId,
            long[] outError);
}
