package dev.taskhold.mcp;

import dev.taskhold.Caller;
import dev.taskhold.Rendering;
import dev.taskhold.Revisioned;
import dev.taskhold.TaskManager;
import dev.taskhold.TaskRecord;
import dev.taskhold.TaskholdException;
import io.modelcontextprotocol.modern.McpException;
import io.modelcontextprotocol.modern.McpSchema;
import io.modelcontextprotocol.modern.server.McpRequestContext;
import io.modelcontextprotocol.modern.server.feature.McpChangePublisher;
import io.modelcontextprotocol.modern.server.feature.ServerChange;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.FluxSink;

/**
 * {@code notifications/tasks} on {@code subscriptions/listen}. The SDK asks one publisher for the changes of all subscriptions and
 * tells it of none: each subscription begins with a change that nobody gets, by which it learns which tasks are meant.
 */
final class TaskChanges implements McpChangePublisher {
    private static final String TASK_IDS = "taskIds";

    /** Tasks of one subscription. */
    private static final int MOST_TASKS = 1000;

    private static final Set<Object> ENDED = Set.of("completed", "failed", "cancelled");

    private static final Duration LONG = Duration.ofDays(1);

    private final TaskholdTasks tasks;

    TaskChanges(TaskholdTasks tasks) {
        this.tasks = tasks;
    }

    /** Gives those of the requested tasks that the caller may see; the others are left out, as unknown ones are. */
    static McpSchema.SubscriptionFilter honoured(
            TaskholdTasks tasks, McpRequestContext context, McpSchema.SubscriptionFilter requested) {
        Object wanted = requested.get(TASK_IDS);
        if (wanted == null) {
            return McpSchema.SubscriptionFilter.EMPTY;
        }
        if (!Wire.declares(context)) {
            throw Wire.missingExtension();
        }
        if (!(wanted instanceof Collection<?> ids) || !ids.stream().allMatch(String.class::isInstance)) {
            throw McpException.invalidParams("taskIds must be an array of strings");
        }
        if (ids.size() > MOST_TASKS) {
            throw McpException.invalidParams("taskIds must not name more than " + MOST_TASKS + " tasks");
        }
        Caller caller = tasks.caller(context);
        Set<String> seen = new LinkedHashSet<>();
        for (Object id : ids) {
            if (visible(tasks.manager(), caller, (String) id)) {
                seen.add((String) id);
            }
        }
        return McpSchema.SubscriptionFilter.of(Map.of(TASK_IDS, List.copyOf(seen)));
    }

    private static boolean visible(TaskManager manager, Caller caller, String id) {
        try {
            return manager.findAuthorizedTask(caller.endpoint().value(), caller.partition().name(), id).isPresent();
        } catch (TaskholdException.InvalidArgument noId) {
            return false;
        } catch (TaskholdException failure) {
            throw Wire.internalError();
        }
    }

    @Override
    public Flux<ServerChange> changes() {
        return Flux.create(sink -> {
            Subscription subscription = new Subscription(sink);
            sink.onDispose(subscription::end);
            sink.next(subscription);
        });
    }

    /** The tasks of one stream, each followed until it ends. */
    private final class Subscription implements ServerChange {
        private final FluxSink<ServerChange> sink;
        private final Map<String, CompletableFuture<String>> waits = new ConcurrentHashMap<>();

        Subscription(FluxSink<ServerChange> sink) {
            this.sink = sink;
        }

        @Override
        public String method() {
            return "notifications/tasks";
        }

        /** Is asked once, and takes what it is asked about. */
        @Override
        public boolean isHonouredBy(McpSchema.SubscriptionFilter honoured) {
            if (honoured.get(TASK_IDS) instanceof Collection<?> ids) {
                ids.forEach(id -> follow((String) id, 0));
            }
            return false;
        }

        void end() {
            waits.values().forEach(wait -> wait.cancel(false));
        }

        private void follow(String id, long seen) {
            if (sink.isCancelled()) {
                return;
            }
            CompletableFuture<String> wait = tasks.manager().waitTaskAsync(id, seen, LONG);
            waits.put(id, wait);
            wait.whenCompleteAsync((json, failure) -> changed(id, seen, json, failure));
            if (sink.isCancelled()) {
                wait.cancel(false);
            }
        }

        private void changed(String id, long seen, @Nullable String json, @Nullable Throwable failure) {
            if (json == null) {
                if (failure instanceof TaskholdException.Timeout) {
                    follow(id, seen);
                }
                // It expired, or the manager was closed.
                return;
            }
            TaskRecord record = TaskRecord.of(json);
            long shown = record.revision();
            boolean ended = record.status().isTerminal();
            try {
                Caller owner = record.caller();
                // Text and revision are of one moment, so the change that comes after it is the next one sent.
                Revisioned text = tasks.manager().renderTask(
                        owner.endpoint().value(), owner.partition().name(), id, Rendering.NOTIFICATION, null);
                shown = text.revision();
                Object params = Wire.read(tasks.mapper(), text.json()).get("params");
                Change change = new Change(Wire.members(tasks.mapper(), params));
                ended = ENDED.contains(change.params().get("status"));
                sink.next(change);
            } catch (TaskholdException.InvalidState unanswerable) {
                // It asks for what no client was declared to answer: the next change may be to show.
            } catch (TaskholdException gone) {
                return;
            }
            if (!ended) {
                follow(id, shown);
            }
        }
    }

    /** The state of a task, for the subscription that it was read for. */
    private record Change(Map<String, Object> params) implements ServerChange {
        @Override
        public String method() {
            return "notifications/tasks";
        }

        @Override
        public boolean isHonouredBy(McpSchema.SubscriptionFilter honoured) {
            return true;
        }
    }
}
