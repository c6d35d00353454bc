package dev.taskhold.ffm;

import static dev.taskhold.ffm.Calls.bind;
import static dev.taskhold.ffm.Calls.call;
import static dev.taskhold.ffm.Calls.close;
import static dev.taskhold.ffm.Calls.texts;
import static dev.taskhold.ffm.Calls.unexpected;

import dev.taskhold.spi.Abi;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/**
 * The C functions by {@code java.lang.foreign}. The handles are static and final, so that the compiler can inline
 * the calls; the initialiser of this class binds them all, after {@link FfmBackend#load} has said to which file.
 */
final class FfmAbi implements Abi {

    private static final MethodHandle ABI_VERSION = bind("taskhold_abi_version");
    private static final MethodHandle VERSION = bind("taskhold_version");
    private static final MethodHandle STATUS_NAME = bind("taskhold_status_name");
    private static final MethodHandle DESCRIBE = bind("taskhold_describe");
    private static final MethodHandle JSON_GET = bind("taskhold_json_get");
    private static final MethodHandle STRING_FREE = bind("taskhold_string_free");
    private static final MethodHandle CLOCK_OPEN_MANUAL = bind("taskhold_clock_open_manual");
    private static final MethodHandle CLOCK_ADVANCE = bind("taskhold_clock_advance");
    private static final MethodHandle CLOCK_STEP_WALL = bind("taskhold_clock_step_wall");
    private static final MethodHandle CLOCK_CLOSE = bind("taskhold_clock_close");
    private static final MethodHandle STORE_OPEN = bind("taskhold_store_open");
    private static final MethodHandle STORE_STATS = bind("taskhold_store_stats");
    private static final MethodHandle STORE_CHECK = bind("taskhold_store_check");
    private static final MethodHandle STORE_COPY = bind("taskhold_store_copy");
    private static final MethodHandle STORE_CLOSE = bind("taskhold_store_close");
    private static final MethodHandle MANAGER_OPEN = bind("taskhold_manager_open");
    private static final MethodHandle MANAGER_OPTIONS = bind("taskhold_manager_options");
    private static final MethodHandle MANAGER_CLOSE = bind("taskhold_manager_close");
    private static final MethodHandle MANAGER_CREATE_TASK = bind("taskhold_manager_create_task");
    private static final MethodHandle MANAGER_FIND_TASK = bind("taskhold_manager_find_task");
    private static final MethodHandle MANAGER_MARK_TASK_WORKING = bind("taskhold_manager_mark_task_working");
    private static final MethodHandle MANAGER_REQUEST_TASK_INPUT = bind("taskhold_manager_request_task_input");
    private static final MethodHandle MANAGER_COMPLETE_TASK = bind("taskhold_manager_complete_task");
    private static final MethodHandle MANAGER_FAIL_TASK = bind("taskhold_manager_fail_task");
    private static final MethodHandle MANAGER_CANCEL_TASK = bind("taskhold_manager_cancel_task");
    private static final MethodHandle MANAGER_TAKE_TASK_INPUT_RESPONSES = bind("taskhold_manager_take_task_input_responses");
    private static final MethodHandle MANAGER_IS_TASK_CANCELATION_REQUESTED = bind("taskhold_manager_is_task_cancelation_requested");
    private static final MethodHandle MANAGER_WAIT_TASK = bind("taskhold_manager_wait_task");
    private static final MethodHandle MANAGER_LIST_TASKS = bind("taskhold_manager_list_tasks");
    private static final MethodHandle MANAGER_CLAIM_TASK = bind("taskhold_manager_claim_task");
    private static final MethodHandle MANAGER_RENEW_LEASES = bind("taskhold_manager_renew_leases");
    private static final MethodHandle MANAGER_RELEASE_TASK = bind("taskhold_manager_release_task");
    private static final MethodHandle MANAGER_FIND_AUTHORIZED_TASK = bind("taskhold_manager_find_authorized_task");
    private static final MethodHandle MANAGER_UPDATE_TASK = bind("taskhold_manager_update_task");
    private static final MethodHandle MANAGER_REQUEST_TASK_CANCELATION = bind("taskhold_manager_request_task_cancelation");
    private static final MethodHandle MANAGER_RENDER_TASK = bind("taskhold_manager_render_task");
    private static final MethodHandle MANAGER_HANDLE_REQUEST = bind("taskhold_manager_handle_request");
    private static final MethodHandle MANAGER_PUBLISH_TASK_CHANGED = bind("taskhold_manager_publish_task_changed");
    private static final MethodHandle MANAGER_OPEN_EVENTS = bind("taskhold_manager_open_events");
    private static final MethodHandle EVENTS_NEXT = bind("taskhold_events_next");
    private static final MethodHandle EVENTS_FD = bind("taskhold_events_fd");
    private static final MethodHandle EVENTS_CLOSE = bind("taskhold_events_close");
    private static final MethodHandle SESSION_STORE_OPEN = bind("taskhold_session_store_open");
    private static final MethodHandle SESSION_STORE_OPTIONS = bind("taskhold_session_store_options");
    private static final MethodHandle SESSION_STORE_CLOSE = bind("taskhold_session_store_close");
    private static final MethodHandle SESSION_STORE_CREATE = bind("taskhold_session_store_create");
    private static final MethodHandle SESSION_STORE_FIND_BY_SESSION_ID = bind("taskhold_session_store_find_by_session_id");
    private static final MethodHandle SESSION_STORE_FIND_AUTHORIZED_SESSION = bind("taskhold_session_store_find_authorized_session");
    private static final MethodHandle SESSION_STORE_REPLACE = bind("taskhold_session_store_replace");
    private static final MethodHandle SESSION_STORE_DELETE_BY_SESSION_ID = bind("taskhold_session_store_delete_by_session_id");
    private static final MethodHandle SESSION_STORE_PIN = bind("taskhold_session_store_pin");
    private static final MethodHandle SESSION_STORE_UNPIN = bind("taskhold_session_store_unpin");
    private static final MethodHandle SESSION_STORE_LIST_SESSIONS = bind("taskhold_session_store_list_sessions");
    private static final MethodHandle SESSION_STORE_TAKE_EXPIRED = bind("taskhold_session_store_take_expired");
    private static final MethodHandle STATE_PROVIDER_OPEN = bind("taskhold_state_provider_open");
    private static final MethodHandle STATE_PROVIDER_OPTIONS = bind("taskhold_state_provider_options");
    private static final MethodHandle STATE_PROVIDER_CLOSE = bind("taskhold_state_provider_close");
    private static final MethodHandle STATE_PROVIDER_SAVE_TASK = bind("taskhold_state_provider_save_task");
    private static final MethodHandle STATE_PROVIDER_GET_TASK = bind("taskhold_state_provider_get_task");
    private static final MethodHandle STATE_PROVIDER_DELETE_TASK = bind("taskhold_state_provider_delete_task");
    private static final MethodHandle STATE_PROVIDER_LIST_TASKS = bind("taskhold_state_provider_list_tasks");
    private static final MethodHandle STATE_PROVIDER_IS_TASK_ACTIVE = bind("taskhold_state_provider_is_task_active");
    private static final MethodHandle STATE_PROVIDER_IS_TASK_FINALIZED = bind("taskhold_state_provider_is_task_finalized");
    private static final MethodHandle STATE_PROVIDER_TASK_LIVENESS = bind("taskhold_state_provider_task_liveness");
    private static final MethodHandle STATE_PROVIDER_READ_EVENTS = bind("taskhold_state_provider_read_events");
    private static final MethodHandle STATE_PROVIDER_WAIT_TASK = bind("taskhold_state_provider_wait_task");
    private static final MethodHandle STATE_PROVIDER_OPEN_EVENTS = bind("taskhold_state_provider_open_events");
    private static final MethodHandle STATE_PROVIDER_SET_PUSH_CONFIG = bind("taskhold_state_provider_set_push_config");
    private static final MethodHandle STATE_PROVIDER_LIST_PUSH_CONFIGS = bind("taskhold_state_provider_list_push_configs");
    private static final MethodHandle STATE_PROVIDER_DELETE_PUSH_CONFIG = bind("taskhold_state_provider_delete_push_config");

    @Override
    public String text(long address) {
        return MemorySegment.ofAddress(address).reinterpret(Long.MAX_VALUE).getString(0);
    }

    @Override
    public int taskhold_abi_version() {
        try {
            return (int) ABI_VERSION.invokeExact();
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    @Override
    public long taskhold_version() {
        try {
            return (long) VERSION.invokeExact();
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    @Override
    public long taskhold_status_name(int status) {
        try {
            return (long) STATUS_NAME.invokeExact(status);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    @Override
    public int taskhold_describe(long[] outJson, long[] outError) {
        try (Frame frame = new Frame()) {
            int status = (int) DESCRIBE.invokeExact(frame.out(outJson), frame.out(outError));
            return frame.returned(status);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    @Override
    public int taskhold_json_get(
            byte @Nullable [] json, byte @Nullable [] pointer, long[] outValue, long[] outError) {
        try (Frame frame = new Frame()) {
            int status = (int) JSON_GET.invokeExact(
                    frame.in(json), frame.in(pointer), frame.out(outValue), frame.out(outError));
            return frame.returned(status);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    @Override
    public void taskhold_string_free(long string) {
        try {
            STRING_FREE.invokeExact(string);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    @Override
    public int taskhold_clock_open_manual(long epochMs, long[] outClock, long[] outError) {
        return call(CLOCK_OPEN_MANUAL, epochMs, texts(), outClock, outError);
    }

    @Override
    public int taskhold_clock_advance(long clock, long ms, long[] outError) {
        try (Frame frame = new Frame()) {
            int status = (int) CLOCK_ADVANCE.invokeExact(clock, ms, frame.out(outError));
            return frame.returned(status);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    @Override
    public int taskhold_clock_step_wall(long clock, long ms, long[] outError) {
        try (Frame frame = new Frame()) {
            int status = (int) CLOCK_STEP_WALL.invokeExact(clock, ms, frame.out(outError));
            return frame.returned(status);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    @Override
    public int taskhold_clock_close(long clock) {
        return close(CLOCK_CLOSE, clock);
    }

    @Override
    public int taskhold_store_open(
            byte @Nullable [] url, byte @Nullable [] options, long clock, long[] outStore, long[] outError) {
        try (Frame frame = new Frame()) {
            int status = (int) STORE_OPEN.invokeExact(
                    frame.in(url), frame.in(options), clock, frame.out(outStore), frame.out(outError));
            return frame.returned(status);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    @Override
    public int taskhold_store_stats(long store, long[] outJson, long[] outError) {
        return call(STORE_STATS, store, texts(), outJson, outError);
    }

    @Override
    public int taskhold_store_check(long store, long[] outJson, long[] outError) {
        return call(STORE_CHECK, store, texts(), outJson, outError);
    }

    @Override
    public int taskhold_store_copy(
            long store, long to, byte @Nullable [] options, long[] outJson, long[] outError) {
        try (Frame frame = new Frame()) {
            int status = (int) STORE_COPY.invokeExact(
                    store, to, frame.in(options), frame.out(outJson), frame.out(outError));
            return frame.returned(status);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    @Override
    public int taskhold_store_close(long store) {
        return close(STORE_CLOSE, store);
    }

    @Override
    public int taskhold_manager_open(
            long store, byte @Nullable [] options, long[] outManager, long[] outError) {
        return call(MANAGER_OPEN, store, texts(options), outManager, outError);
    }

    @Override
    public int taskhold_manager_options(long manager, long[] outOptions, long[] outError) {
        return call(MANAGER_OPTIONS, manager, texts(), outOptions, outError);
    }

    @Override
    public int taskhold_manager_close(long manager) {
        return close(MANAGER_CLOSE, manager);
    }

    @Override
    public int taskhold_manager_create_task(
            long manager, byte @Nullable [] creation, long[] outRecord, long[] outError) {
        return call(MANAGER_CREATE_TASK, manager, texts(creation), outRecord, outError);
    }

    @Override
    public int taskhold_manager_find_task(
            long manager, byte @Nullable [] taskId, long[] outRecord, long[] outError) {
        return call(MANAGER_FIND_TASK, manager, texts(taskId), outRecord, outError);
    }

    @Override
    public int taskhold_manager_mark_task_working(
            long manager, byte @Nullable [] taskId, byte @Nullable [] statusMessage,
            byte @Nullable [] options, long[] outRecord, long[] outError) {
        return call(
                MANAGER_MARK_TASK_WORKING, manager, texts(taskId, statusMessage, options), outRecord, outError);
    }

    @Override
    public int taskhold_manager_request_task_input(
            long manager, byte @Nullable [] taskId, byte @Nullable [] inputRequests,
            byte @Nullable [] statusMessage, byte @Nullable [] options, long[] outRecord, long[] outError) {
        return call(
                MANAGER_REQUEST_TASK_INPUT, manager, texts(taskId, inputRequests, statusMessage, options), outRecord, outError);
    }

    @Override
    public int taskhold_manager_complete_task(
            long manager, byte @Nullable [] taskId, byte @Nullable [] result, byte @Nullable [] statusMessage,
            byte @Nullable [] options, long[] outRecord, long[] outError) {
        return call(
                MANAGER_COMPLETE_TASK, manager, texts(taskId, result, statusMessage, options), outRecord, outError);
    }

    @Override
    public int taskhold_manager_fail_task(
            long manager, byte @Nullable [] taskId, byte @Nullable [] failure,
            byte @Nullable [] statusMessage, byte @Nullable [] options, long[] outRecord, long[] outError) {
        return call(
                MANAGER_FAIL_TASK, manager, texts(taskId, failure, statusMessage, options), outRecord, outError);
    }

    @Override
    public int taskhold_manager_cancel_task(
            long manager, byte @Nullable [] taskId, byte @Nullable [] statusMessage,
            byte @Nullable [] options, long[] outRecord, long[] outError) {
        return call(MANAGER_CANCEL_TASK, manager, texts(taskId, statusMessage, options), outRecord, outError);
    }

    @Override
    public int taskhold_manager_take_task_input_responses(
            long manager, byte @Nullable [] taskId, byte @Nullable [] options, long[] outResponses,
            long[] outError) {
        return call(
                MANAGER_TAKE_TASK_INPUT_RESPONSES, manager, texts(taskId, options), outResponses, outError);
    }

    @Override
    public int taskhold_manager_is_task_cancelation_requested(
            long manager, byte @Nullable [] taskId, int[] outRequested, long[] outError) {
        return call(MANAGER_IS_TASK_CANCELATION_REQUESTED, manager, texts(taskId), outRequested, outError);
    }

    @Override
    public int taskhold_manager_wait_task(
            long manager, byte @Nullable [] taskId, long seenRevision, int timeoutMs, long[] outRecord,
            long[] outError) {
        try (Frame frame = new Frame()) {
            int status = (int) MANAGER_WAIT_TASK.invokeExact(
                    manager, frame.in(taskId), seenRevision, timeoutMs, frame.out(outRecord), frame.out(outError));
            return frame.returned(status);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    @Override
    public int taskhold_manager_list_tasks(
            long manager, byte @Nullable [] params, long[] outPage, long[] outError) {
        return call(MANAGER_LIST_TASKS, manager, texts(params), outPage, outError);
    }

    @Override
    public int taskhold_manager_claim_task(
            long manager, byte @Nullable [] claim, int timeoutMs, long[] outRecord, long[] outError) {
        try (Frame frame = new Frame()) {
            int status = (int) MANAGER_CLAIM_TASK.invokeExact(
                    manager, frame.in(claim), timeoutMs, frame.out(outRecord), frame.out(outError));
            return frame.returned(status);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    @Override
    public int taskhold_manager_renew_leases(
            long manager, byte @Nullable [] renewals, long[] outOutcome, long[] outError) {
        return call(MANAGER_RENEW_LEASES, manager, texts(renewals), outOutcome, outError);
    }

    @Override
    public int taskhold_manager_release_task(
            long manager, byte @Nullable [] taskId, byte @Nullable [] options, long[] outRecord, long[] outError) {
        return call(MANAGER_RELEASE_TASK, manager, texts(taskId, options), outRecord, outError);
    }

    @Override
    public int taskhold_manager_find_authorized_task(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition, byte @Nullable [] taskId,
            long[] outRecord, long[] outError) {
        return call(
                MANAGER_FIND_AUTHORIZED_TASK, manager, texts(endpoint, partition, taskId), outRecord, outError);
    }

    @Override
    public int taskhold_manager_update_task(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition, byte @Nullable [] taskId,
            byte @Nullable [] inputResponses, byte @Nullable [] options, long[] outOutcome, long[] outError) {
        return call(
                MANAGER_UPDATE_TASK, manager, texts(endpoint, partition, taskId, inputResponses, options), outOutcome, outError);
    }

    @Override
    public int taskhold_manager_request_task_cancelation(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition, byte @Nullable [] taskId,
            long[] outError) {
        return call(MANAGER_REQUEST_TASK_CANCELATION, manager, texts(endpoint, partition, taskId), outError);
    }

    @Override
    public int taskhold_manager_render_task(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition, byte @Nullable [] taskId,
            int rendering, byte @Nullable [] options, long[] outJson, long[] outRevision, long[] outError) {
        try (Frame frame = new Frame()) {
            int status = (int) MANAGER_RENDER_TASK.invokeExact(
                    manager, frame.in(endpoint), frame.in(partition), frame.in(taskId), rendering,
                    frame.in(options), frame.out(outJson), frame.out(outRevision), frame.out(outError));
            return frame.returned(status);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    @Override
    public int taskhold_manager_handle_request(
            long manager, byte @Nullable [] endpoint, byte @Nullable [] partition,
            byte @Nullable [] clientCapabilities, byte @Nullable [] request, long[] outResponse,
            long[] outError) {
        return call(
                MANAGER_HANDLE_REQUEST, manager, texts(endpoint, partition, clientCapabilities, request), outResponse, outError);
    }

    @Override
    public int taskhold_manager_publish_task_changed(
            long manager, byte @Nullable [] taskId, long[] outError) {
        return call(MANAGER_PUBLISH_TASK_CHANGED, manager, texts(taskId), outError);
    }

    @Override
    public int taskhold_manager_open_events(long manager, int capacity, long[] outEvents, long[] outError) {
        return call(MANAGER_OPEN_EVENTS, manager, capacity, outEvents, outError);
    }

    @Override
    public int taskhold_events_next(long events, int timeoutMs, long[] outEvent, long[] outError) {
        return call(EVENTS_NEXT, events, timeoutMs, outEvent, outError);
    }

    @Override
    public int taskhold_events_fd(long events, int[] outFd, long[] outError) {
        return call(EVENTS_FD, events, texts(), outFd, outError);
    }

    @Override
    public int taskhold_events_close(long events) {
        return close(EVENTS_CLOSE, events);
    }

    @Override
    public int taskhold_session_store_open(
            long store, byte @Nullable [] options, long[] outSessions, long[] outError) {
        return call(SESSION_STORE_OPEN, store, texts(options), outSessions, outError);
    }

    @Override
    public int taskhold_session_store_options(long sessions, long[] outOptions, long[] outError) {
        return call(SESSION_STORE_OPTIONS, sessions, texts(), outOptions, outError);
    }

    @Override
    public int taskhold_session_store_close(long sessions) {
        return close(SESSION_STORE_CLOSE, sessions);
    }

    @Override
    public int taskhold_session_store_create(
            long sessions, byte @Nullable [] endpoint, byte @Nullable [] creation, long[] outSession,
            long[] outError) {
        return call(SESSION_STORE_CREATE, sessions, texts(endpoint, creation), outSession, outError);
    }

    @Override
    public int taskhold_session_store_find_by_session_id(
            long sessions, byte @Nullable [] sessionId, long[] outSession, long[] outError) {
        return call(SESSION_STORE_FIND_BY_SESSION_ID, sessions, texts(sessionId), outSession, outError);
    }

    @Override
    public int taskhold_session_store_find_authorized_session(
            long sessions, byte @Nullable [] endpoint, byte @Nullable [] partition,
            byte @Nullable [] sessionId, long[] outSession, long[] outError) {
        return call(
                SESSION_STORE_FIND_AUTHORIZED_SESSION, sessions, texts(endpoint, partition, sessionId), outSession, outError);
    }

    @Override
    public int taskhold_session_store_replace(
            long sessions, byte @Nullable [] expected, byte @Nullable [] updated, int[] outReplaced,
            long[] outError) {
        return call(SESSION_STORE_REPLACE, sessions, texts(expected, updated), outReplaced, outError);
    }

    @Override
    public int taskhold_session_store_delete_by_session_id(
            long sessions, byte @Nullable [] sessionId, long[] outError) {
        return call(SESSION_STORE_DELETE_BY_SESSION_ID, sessions, texts(sessionId), outError);
    }

    @Override
    public int taskhold_session_store_pin(
            long sessions, byte @Nullable [] sessionId, int[] outPinned, long[] outError) {
        return call(SESSION_STORE_PIN, sessions, texts(sessionId), outPinned, outError);
    }

    @Override
    public int taskhold_session_store_unpin(long sessions, byte @Nullable [] sessionId, long[] outError) {
        return call(SESSION_STORE_UNPIN, sessions, texts(sessionId), outError);
    }

    @Override
    public int taskhold_session_store_list_sessions(
            long sessions, byte @Nullable [] params, long[] outPage, long[] outError) {
        return call(SESSION_STORE_LIST_SESSIONS, sessions, texts(params), outPage, outError);
    }

    @Override
    public int taskhold_session_store_take_expired(long sessions, long[] outSessions, long[] outError) {
        return call(SESSION_STORE_TAKE_EXPIRED, sessions, texts(), outSessions, outError);
    }

    @Override
    public int taskhold_state_provider_open(
            long store, byte @Nullable [] options, long[] outProvider, long[] outError) {
        return call(STATE_PROVIDER_OPEN, store, texts(options), outProvider, outError);
    }

    @Override
    public int taskhold_state_provider_options(long provider, long[] outOptions, long[] outError) {
        return call(STATE_PROVIDER_OPTIONS, provider, texts(), outOptions, outError);
    }

    @Override
    public int taskhold_state_provider_close(long provider) {
        return close(STATE_PROVIDER_CLOSE, provider);
    }

    @Override
    public int taskhold_state_provider_save_task(
            long provider, byte @Nullable [] owner, byte @Nullable [] task, byte @Nullable [] saveOptions,
            long[] outRevision, long[] outError) {
        return call(
                STATE_PROVIDER_SAVE_TASK, provider, texts(owner, task, saveOptions), outRevision, outError);
    }

    @Override
    public int taskhold_state_provider_get_task(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, byte @Nullable [] params,
            long[] outTask, long[] outRevision, long[] outError) {
        return call(
                STATE_PROVIDER_GET_TASK, provider, texts(owner, taskId, params), outTask, outRevision, outError);
    }

    @Override
    public int taskhold_state_provider_delete_task(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, long[] outError) {
        return call(STATE_PROVIDER_DELETE_TASK, provider, texts(owner, taskId), outError);
    }

    @Override
    public int taskhold_state_provider_list_tasks(
            long provider, byte @Nullable [] owner, byte @Nullable [] params, long[] outResult,
            long[] outError) {
        return call(STATE_PROVIDER_LIST_TASKS, provider, texts(owner, params), outResult, outError);
    }

    @Override
    public int taskhold_state_provider_is_task_active(
            long provider, byte @Nullable [] taskId, int[] outActive, long[] outError) {
        return call(STATE_PROVIDER_IS_TASK_ACTIVE, provider, texts(taskId), outActive, outError);
    }

    @Override
    public int taskhold_state_provider_is_task_finalized(
            long provider, byte @Nullable [] taskId, int[] outFinalized, long[] outError) {
        return call(STATE_PROVIDER_IS_TASK_FINALIZED, provider, texts(taskId), outFinalized, outError);
    }

    @Override
    public int taskhold_state_provider_task_liveness(
            long provider, byte @Nullable [] taskId, int[] outLiveness, long[] outError) {
        return call(STATE_PROVIDER_TASK_LIVENESS, provider, texts(taskId), outLiveness, outError);
    }

    @Override
    public int taskhold_state_provider_read_events(
            long provider, byte @Nullable [] taskId, byte @Nullable [] params, long[] outEvents, long[] outError) {
        return call(STATE_PROVIDER_READ_EVENTS, provider, texts(taskId, params), outEvents, outError);
    }

    @Override
    public int taskhold_state_provider_wait_task(
            long provider, byte @Nullable [] taskId, long seenRevision, int timeoutMs, long[] outRevision,
            long[] outError) {
        try (Frame frame = new Frame()) {
            int status = (int) STATE_PROVIDER_WAIT_TASK.invokeExact(
                    provider, frame.in(taskId), seenRevision, timeoutMs, frame.out(outRevision), frame.out(outError));
            return frame.returned(status);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    @Override
    public int taskhold_state_provider_open_events(
            long provider, int capacity, long[] outEvents, long[] outError) {
        return call(STATE_PROVIDER_OPEN_EVENTS, provider, capacity, outEvents, outError);
    }

    @Override
    public int taskhold_state_provider_set_push_config(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, byte @Nullable [] configId,
            byte @Nullable [] config, long[] outError) {
        return call(STATE_PROVIDER_SET_PUSH_CONFIG, provider, texts(owner, taskId, configId, config), outError);
    }

    @Override
    public int taskhold_state_provider_list_push_configs(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, byte @Nullable [] params,
            long[] outConfigs, long[] outError) {
        return call(STATE_PROVIDER_LIST_PUSH_CONFIGS, provider, texts(owner, taskId, params), outConfigs, outError);
    }

    @Override
    public int taskhold_state_provider_delete_push_config(
            long provider, byte @Nullable [] owner, byte @Nullable [] taskId, byte @Nullable [] configId,
            long[] outError) {
        return call(STATE_PROVIDER_DELETE_PUSH_CONFIG, provider, texts(owner, taskId, configId), outError);
    }
}
