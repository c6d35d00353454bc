package dev.taskhold;

import dev.taskhold.Vectors.Arguments;
import dev.taskhold.Vectors.Output;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The calls of the shared cases, by the names that these have for them. */
final class VectorCalls {
    private VectorCalls() {}

    static Output make(String call, @Nullable AutoCloseable on, Arguments a) throws Exception {
        if (call.equals("close") || call.endsWith("_close")) {
            Objects.requireNonNull(on).close();
            return Output.nothing();
        } else if (call.startsWith("clock_")) {
            return clock(call, (ManualClock) on, a);
        } else if (call.startsWith("store_")) {
            return store(call, (Store) on, a);
        } else if (call.equals("manager_open")) {
            return Output.opened(TaskManager.open((Store) on, a.optional("options")));
        } else if (call.startsWith("manager_")) {
            return manager(call, (TaskManager) Objects.requireNonNull(on), a);
        } else if (call.startsWith("events_")) {
            return events(call, (TaskEvents) Objects.requireNonNull(on), a);
        } else if (call.equals("session_store_open")) {
            return Output.opened(SessionStore.open((Store) on, a.optional("options")));
        } else if (call.startsWith("session_store_")) {
            return sessions(call, (SessionStore) Objects.requireNonNull(on), a);
        } else if (call.equals("state_provider_open")) {
            return Output.opened(StateProvider.open((Store) on, a.optional("options")));
        } else if (call.startsWith("state_provider_")) {
            return provider(call, (StateProvider) Objects.requireNonNull(on), a);
        }
        return library(call, a);
    }

    private static Output library(String call, Arguments a) {
        return switch (call) {
            case "abi_version" -> Output.text(Integer.toString(Library.ABI.taskhold_abi_version()));
            case "version" -> Output.text(Taskhold.version());
            case "status_name" -> Output.text(
                    Library.ABI.text(Library.ABI.taskhold_status_name((int) a.number("status"))));
            case "describe" -> Output.text(Taskhold.describe());
            case "json_get" -> Output.text(Json.get(a.text("json"), a.text("pointer")));
            default -> throw unknown(call);
        };
    }

    private static Output clock(String call, @Nullable ManualClock clock, Arguments a) {
        if (call.equals("clock_open_manual")) {
            return Output.opened(ManualClock.open(a.number("epoch_ms")));
        }
        ManualClock moved = Objects.requireNonNull(clock);
        switch (call) {
            case "clock_advance" -> moved.advance(a.number("ms"));
            case "clock_step_wall" -> moved.stepWall(a.number("ms"));
            default -> throw unknown(call);
        }
        return Output.nothing();
    }

    private static Output store(String call, @Nullable Store store, Arguments a) {
        return switch (call) {
            case "store_open" -> Output.opened(
                    Store.open(a.optional("url"), a.optional("options"), (ManualClock) a.handle("clock")));
            case "store_check" -> Output.text(Objects.requireNonNull(store).check());
            case "store_copy" -> {
                if (a.optional("options") != null) {
                    // There are no options yet, so that no method takes any.
                    TaskholdException refusal = TaskholdException.made(Status.INVALID_ARGUMENT, "unknown_key", "unknown");
                    throw TaskholdException.about("quick", refusal);
                }
                yield Output.text(Objects.requireNonNull(store).copyTo((Store) Objects.requireNonNull(a.handle("to"))));
            }
            case "store_stats" -> Output.text(Objects.requireNonNull(store).stats());
            default -> throw unknown(call);
        };
    }

    private static Output manager(String call, TaskManager m, Arguments a) throws InterruptedException {
        return switch (call) {
            case "manager_options" -> Output.text(m.options());
            case "manager_create_task" -> Output.text(m.createTask(a.text("creation")));
            case "manager_find_task" -> Output.text(m.findTask(a.text("task_id")));
            case "manager_mark_task_working" -> Output.text(
                    m.markTaskWorking(a.text("task_id"), a.optional("status_message"), a.optional("options")));
            case "manager_request_task_input" -> Output.text(m.requestTaskInput(
                    a.text("task_id"), a.text("input_requests"), a.optional("status_message"), a.optional("options")));
            case "manager_complete_task" -> Output.text(m.completeTask(
                    a.text("task_id"), a.text("result"), a.optional("status_message"), a.optional("options")));
            case "manager_fail_task" -> Output.text(m.failTask(
                    a.text("task_id"), a.text("failure"), a.optional("status_message"), a.optional("options")));
            case "manager_cancel_task" -> Output.text(
                    m.cancelTask(a.text("task_id"), a.optional("status_message"), a.optional("options")));
            case "manager_take_task_input_responses" -> Output.text(
                    m.takeTaskInputResponses(a.text("task_id"), a.optional("options")));
            case "manager_is_task_cancelation_requested" -> Output.flag(m.isTaskCancelationRequested(a.text("task_id")));
            case "manager_wait_task" -> Output.text(m.waitTask(
                    a.text("task_id"), a.number("seen_revision"), Duration.ofMillis(a.number("timeout_ms"))));
            case "manager_list_tasks" -> Output.text(m.listTasks(a.optional("params")));
            case "manager_claim_task" -> Output.text(
                    m.claimTask(a.text("claim"), Duration.ofMillis(a.number("timeout_ms"))));
            case "manager_renew_leases" -> Output.text(m.renewLeases(a.text("renewals")));
            case "manager_release_task" -> Output.text(m.releaseTask(a.text("task_id"), a.optional("options")));
            case "manager_find_authorized_task" -> Output.text(
                    m.findAuthorizedTask(a.text("endpoint"), a.optional("partition"), a.text("task_id")));
            case "manager_update_task" -> Output.text(m.updateTask(
                    a.text("endpoint"),
                    a.optional("partition"),
                    a.text("task_id"),
                    a.text("input_responses"),
                    a.optional("options")));
            case "manager_request_task_cancelation" -> {
                m.requestTaskCancelation(a.text("endpoint"), a.optional("partition"), a.text("task_id"));
                yield Output.nothing();
            }
            case "manager_render_task" -> {
                Revisioned rendered = m.renderTask(
                        a.text("endpoint"),
                        a.optional("partition"),
                        a.text("task_id"),
                        (int) a.number("rendering"),
                        a.optional("options"));
                yield new Output(rendered.json(), rendered.revision(), null);
            }
            case "manager_handle_request" -> Output.text(m.handleRequest(
                    a.text("endpoint"), a.optional("partition"), a.optional("client_capabilities"), a.text("request")));
            case "manager_publish_task_changed" -> {
                m.publishTaskChanged(a.text("task_id"));
                yield Output.nothing();
            }
            case "manager_open_events" -> Output.opened(m.openEvents((int) a.number("capacity")));
            default -> throw unknown(call);
        };
    }

    private static Output events(String call, TaskEvents events, Arguments a) throws InterruptedException {
        return switch (call) {
            case "events_next" -> {
                Optional<TaskEvent> event = events.next(Duration.ofMillis(a.number("timeout_ms")));
                // No event is an empty result here, where C has a status.
                yield Output.text(event.map(TaskEvent::json)
                        .orElseThrow(() -> TaskholdException.made(Status.TIMEOUT, "timeout", "no event came")));
            }
            case "events_fd" -> Output.text(Integer.toString(
                    events.handle.number((queue, fd, error) -> Library.ABI.taskhold_events_fd(queue, fd, error))));
            default -> throw unknown(call);
        };
    }

    private static Output sessions(String call, SessionStore s, Arguments a) {
        return switch (call) {
            case "session_store_options" -> Output.text(s.options());
            case "session_store_create" -> Output.text(s.create(a.text("endpoint"), a.optional("creation")));
            case "session_store_find_by_session_id" -> Output.text(s.findBySessionId(a.text("session_id")));
            case "session_store_find_authorized_session" -> Output.text(
                    s.findAuthorizedSession(a.text("endpoint"), a.optional("partition"), a.text("session_id")));
            case "session_store_replace" -> Output.flag(s.replace(a.text("expected"), a.text("updated")));
            case "session_store_delete_by_session_id" -> {
                s.deleteBySessionId(a.text("session_id"));
                yield Output.nothing();
            }
            case "session_store_pin" -> Output.flag(s.pin(a.text("session_id")));
            case "session_store_unpin" -> {
                s.unpin(a.text("session_id"));
                yield Output.nothing();
            }
            case "session_store_list_sessions" -> Output.text(s.listSessions(a.optional("params")));
            case "session_store_take_expired" -> Output.text(s.takeExpired());
            default -> throw unknown(call);
        };
    }

    private static Output provider(String call, StateProvider p, Arguments a) throws InterruptedException {
        return switch (call) {
            case "state_provider_options" -> Output.text(p.options());
            case "state_provider_save_task" -> new Output(
                    null, p.saveTask(a.optional("owner"), a.text("task"), a.optional("save_options")), null);
            case "state_provider_get_task" -> p.getTask(a.optional("owner"), a.text("task_id"), a.optional("params"))
                    .map(task -> new Output(task.json(), task.revision(), null))
                    .orElse(new Output(null, 0L, null));
            case "state_provider_delete_task" -> {
                p.deleteTask(a.optional("owner"), a.text("task_id"));
                yield Output.nothing();
            }
            case "state_provider_list_tasks" -> Output.text(p.listTasks(a.optional("owner"), a.optional("params")));
            case "state_provider_is_task_active" -> Output.flag(p.isTaskActive(a.text("task_id")));
            case "state_provider_is_task_finalized" -> Output.flag(p.isTaskFinalized(a.text("task_id")));
            case "state_provider_task_liveness" -> Output.text(
                    Integer.toString(p.taskLiveness(a.text("task_id")).code()));
            case "state_provider_read_events" -> Output.text(p.readEvents(a.text("task_id"), a.optional("params")));
            case "state_provider_wait_task" -> new Output(
                    null,
                    p.waitTask(a.text("task_id"), a.number("seen_revision"), Duration.ofMillis(a.number("timeout_ms"))),
                    null);
            case "state_provider_set_push_config" -> {
                p.setPushConfig(a.optional("owner"), a.text("task_id"), a.optional("config_id"), a.text("config"));
                yield Output.nothing();
            }
            case "state_provider_list_push_configs" -> Output.text(
                    p.listPushConfigs(a.optional("owner"), a.text("task_id"), a.optional("params")));
            case "state_provider_delete_push_config" -> {
                p.deletePushConfig(a.optional("owner"), a.text("task_id"), a.optional("config_id"));
                yield Output.nothing();
            }
            case "state_provider_open_events" -> Output.opened(p.openEvents((int) a.number("capacity")));
            default -> throw unknown(call);
        };
    }

    private static IllegalArgumentException unknown(String call) {
        return new IllegalArgumentException("unknown function " + call);
    }
}
