package dev.taskhold.mcp;

import dev.taskhold.Failure;
import dev.taskhold.InputRequests;
import dev.taskhold.InputResponse;
import dev.taskhold.TaskId;
import dev.taskhold.TaskRecord;
import dev.taskhold.TaskholdException;
import dev.taskhold.TransitionOptions;
import dev.taskhold.Work;
import io.modelcontextprotocol.modern.McpException;
import io.modelcontextprotocol.modern.McpSchema;
import io.modelcontextprotocol.modern.server.McpAsyncNotifier;
import io.modelcontextprotocol.modern.server.McpRequestContext;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One call of a tool: in the foreground until it becomes a task, and in the background from then on. The client's call is
 * answered by {@link #outcome}: the result, or the handle of the task. What a task's run stores is the last word only if it comes
 * first: of racing ends one wins.
 */
final class Run implements Runnable {
    private static final System.Logger LOG = System.getLogger("dev.taskhold.mcp");

    /** Between attempts to store the end of a task while the storage fails, in milliseconds. */
    private static final long[] PAUSES = {100, 1_000, 5_000};

    /** Why a tool is to stop. */
    enum Stop {
        /** A client asked for cancelation. */
        CANCELATION,
        /** The task ended, expired or is in other hands. */
        GONE,
        /** The server stops. */
        STOPPING,
        /** The client of a call in the foreground went away. */
        CLIENT_LEFT
    }

    /** Answers the client's call. */
    final CompletableFuture<McpSchema.CallToolOutcome> outcome = new CompletableFuture<>();

    private final TaskholdTasks tasks;
    private final ToolEntry tool;
    private final McpRequestContext request;
    private final McpSchema.CallToolRequest call;
    private final @Nullable McpAsyncNotifier notifier;
    private final List<String> kinds;
    private final boolean knowsTasks;

    /** Questions come one after another: each call takes all answers that are there. */
    private final ReentrantLock asking = new ReentrantLock();

    private volatile @Nullable Work work;
    private volatile @Nullable String message;

    /** Guarded by this. */
    private @Nullable Stop stop;

    /** How far the tool said it was, in the foreground. Guarded by this. */
    private double progressed;

    /** The thread on which the tool runs, while it does. Guarded by this. */
    private @Nullable Thread thread;

    /** The end is being stored, or is there. Guarded by this. */
    private boolean settling;

    Run(
            TaskholdTasks tasks,
            ToolEntry tool,
            McpRequestContext request,
            McpSchema.CallToolRequest call,
            @Nullable McpAsyncNotifier notifier) {
        this.tasks = tasks;
        this.tool = tool;
        this.request = request;
        this.call = call;
        this.notifier = notifier;
        this.kinds = Wire.kinds(request);
        this.knowsTasks = Wire.declares(request);
    }

    McpRequestContext request() {
        return request;
    }

    Optional<TaskId> taskId() {
        return Optional.ofNullable(work).map(Work::taskId);
    }

    synchronized boolean isStopped() {
        return stop != null;
    }

    /** Tells the tool to stop; nothing if its end is being stored. */
    synchronized void stop(Stop reason) {
        if (stop == null && !settling) {
            stop = reason;
            if (thread != null) {
                thread.interrupt();
            }
        }
    }

    /** The client of the call went away; if the run is a task, it may come back for it. */
    void clientLeft() {
        if (work == null) {
            stop(Stop.CLIENT_LEFT);
        }
    }

    @Override
    public void run() {
        McpSchema.CallToolOutcome result = null;
        Throwable thrown = null;
        try {
            if (!tool.startsInForeground()) {
                detach();
            }
            result = attempts();
        } catch (Throwable failure) {
            thrown = failure;
        }
        Work held = work;
        try {
            if (held == null) {
                answer(result, thrown);
            } else {
                settle(held, result, thrown);
            }
        } finally {
            tasks.over(this);
        }
    }

    /** Makes the run a task, unless it is one or its client does not know tasks. */
    void detach() {
        Map<String, Object> handle;
        Work created;
        synchronized (this) {
            if (work != null || !knowsTasks) {
                return;
            }
            TaskRecord record = tasks.create(request, tool.definition().name(), kinds);
            handle = Wire.read(tasks.mapper(), record.task().json());
            created = tasks.hold(record);
            work = created;
        }
        handle.put("resultType", "task");
        outcome.complete(new Answer(handle));
        created.onCancelation(() -> stop(Stop.CANCELATION));
        created.onLoss(() -> stop(Stop.GONE));
    }

    /** Runs the tool; while the run is a task, a result that asks for input is asked through it. */
    private McpSchema.CallToolOutcome attempts() throws Exception {
        begin();
        try {
            Map<String, Object> arguments = call.arguments() == null ? Map.of() : call.arguments();
            Map<String, Object> given = call.inputResponses() == null ? Map.of() : call.inputResponses();
            String state = call.requestState();
            while (true) {
                McpSchema.CallToolOutcome result = tool.handler().call(new TaskContext(this, given, state), arguments);
                if (work == null || !(result instanceof McpSchema.InputRequiredResult asks)) {
                    return tool.checked(result, tasks.validator(), tasks.mapper());
                }
                Map<String, McpSchema.InputRequest> asked = new LinkedHashMap<>();
                if (asks.inputRequests() != null) {
                    asked.putAll(asks.inputRequests());
                }
                given = answers(asked);
                state = asks.requestState();
            }
        } finally {
            end();
        }
    }

    private Map<String, Object> answers(Map<String, McpSchema.InputRequest> asked) throws InterruptedException {
        Map<String, Object> given = new LinkedHashMap<>();
        if (!asked.isEmpty()) {
            List<InputResponse> answers = ask(List.copyOf(asked.values()));
            int at = 0;
            for (String key : asked.keySet()) {
                given.put(key, Wire.read(tasks.mapper(), answers.get(at).json()));
                at++;
            }
        }
        return given;
    }

    private synchronized void begin() {
        if (stop != null) {
            throw new CancellationException("the tool is to stop");
        }
        thread = Thread.currentThread();
    }

    private synchronized void end() {
        thread = null;
        // An interrupt that was for the tool must not meet what comes after it on this thread.
        Thread.interrupted();
    }

    // What the tool's context does.

    /** Tells how far the tool is; a message or a figure is there. */
    void progress(@Nullable Double progress, @Nullable Double total, @Nullable String text) {
        Work held = work;
        if (held == null) {
            notifyProgress(progress, total, text);
            return;
        }
        String figures = progress == null ? "" : total == null ? number(progress) : number(progress) + "/" + number(total);
        String said = text == null ? figures : text;
        message = said;
        String options = TransitionOptions.none().withdrawInputRequests().lease(held.token()).toJson();
        try {
            tasks.manager().markTaskWorking(held.taskId().value(), said, options);
        } catch (TaskholdException refusal) {
            if (!isGone(refusal)) {
                throw refusal;
            }
            stop(Stop.GONE);
        }
    }

    private synchronized void notifyProgress(
            @Nullable Double progress, @Nullable Double total, @Nullable String text) {
        if (notifier != null) {
            // The SDK drops what does not increase.
            double now = progress == null ? progressed + 1 : progress;
            progressed = Math.max(progressed, now);
            notifier.progress(now, total, text).subscribe();
        }
    }

    private static String number(double value) {
        return value == Math.rint(value) ? String.valueOf((long) value) : String.valueOf(value);
    }

    List<InputResponse> ask(List<? extends McpSchema.InputRequest> requests) throws InterruptedException {
        Work held = work;
        if (held == null) {
            throw Wire.missingExtension();
        }
        List<Map<String, Object>> asked = requests.stream().map(this::written).toList();
        asked.forEach(request -> Wire.checkKind(request, kinds));
        // Keys that nobody used before in the life of the task.
        List<String> keys = asked.stream().map(request -> UUID.randomUUID().toString()).toList();
        InputRequests all = InputRequests.of(keys.get(0), Wire.write(tasks.mapper(), asked.get(0)));
        for (int at = 1; at < keys.size(); at++) {
            all.and(keys.get(at), Wire.write(tasks.mapper(), asked.get(at)));
        }
        asking.lockInterruptibly();
        try {
            // Nobody continues the work after this process, so that no answer has to be kept for that.
            Map<String, InputResponse> answers = held.ask(all, message, taken -> "{}");
            return keys.stream().map(answers::get).toList();
        } finally {
            asking.unlock();
        }
    }

    /** The SDK's classes have no place for the method where they are written. */
    private Map<String, Object> written(McpSchema.InputRequest request) {
        Map<String, Object> members = new LinkedHashMap<>(Wire.members(tasks.mapper(), request));
        members.putIfAbsent("method", request.method());
        return members;
    }

    // The end.

    /** Answers a call that did not become a task. */
    private void answer(McpSchema.@Nullable CallToolOutcome result, @Nullable Throwable thrown) {
        if (result != null) {
            outcome.complete(result);
        } else {
            outcome.completeExceptionally(
                    thrown == null ? new IllegalStateException("the tool gave no result") : thrown);
        }
    }

    /** Stores what came of the tool, or why it was stopped; only a client makes a task cancelled. */
    private void settle(Work held, McpSchema.@Nullable CallToolOutcome result, @Nullable Throwable thrown) {
        Stop reason;
        synchronized (this) {
            settling = true;
            reason = stop;
        }
        try {
            if (result != null) {
                String json = Wire.write(tasks.mapper(), result);
                try {
                    store(() -> held.complete(json));
                    return;
                } catch (TaskholdException.InvalidArgument | TaskholdException.LimitExceeded refusal) {
                    // The tool gave what is no result, or more than a task holds.
                    store(() -> held.fail(failure(refusal)));
                    return;
                }
            }
            if (reason == Stop.CANCELATION || thrown instanceof CancellationException && held.isCancelationRequested()) {
                store(() -> held.cancel(null));
            } else if (reason == Stop.STOPPING) {
                store(() -> held.fail(Failure.of(Wire.INTERNAL_ERROR, "The server stopped before the work was done")));
            } else if (reason != Stop.GONE && !held.isLost()) {
                store(() -> held.fail(failure(thrown)));
            }
        } catch (RuntimeException failure) {
            LOG.log(System.Logger.Level.ERROR, "taskhold: the end of a task could not be stored", failure);
        } finally {
            close(held);
        }
    }

    /** Ends the task of a tool that does not stop. */
    void abandon() {
        Work held = work;
        if (held != null) {
            settle(held, null, null);
        }
    }

    private Failure failure(@Nullable Throwable thrown) {
        if (thrown instanceof McpException exception) {
            Failure failure = Failure.of(exception.error().code(), exception.error().message());
            Object data = exception.error().data();
            return data == null ? failure : failure.withData(Wire.write(tasks.mapper(), data));
        }
        LOG.log(System.Logger.Level.WARNING, "taskhold: the tool " + tool.definition().name() + " failed", thrown);
        return Failure.of(Wire.INTERNAL_ERROR, "Internal error");
    }

    /** Stores the end of the task, unless it has one. */
    private static void store(Runnable ending) {
        for (int attempt = 0; ; attempt++) {
            try {
                ending.run();
                return;
            } catch (TaskholdException.Unavailable failure) {
                if (attempt == PAUSES.length || !slept(PAUSES[attempt])) {
                    throw failure;
                }
            } catch (TaskholdException refusal) {
                if (isGone(refusal)) {
                    return;
                }
                throw refusal;
            }
        }
    }

    private static boolean slept(long ms) {
        try {
            Thread.sleep(ms);
            return true;
        } catch (InterruptedException hurry) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private static void close(Work held) {
        try {
            held.close();
        } catch (TaskholdException refusal) {
            LOG.log(System.Logger.Level.WARNING, "taskhold: work could not be given back", refusal);
        }
    }

    /** A task that ended, expired or is in other hands: there is nothing left to do for it here. */
    private static boolean isGone(TaskholdException refusal) {
        return refusal instanceof TaskholdException.NotFound
                || refusal instanceof TaskholdException.InvalidState
                || refusal instanceof TaskholdException.Conflict
                || refusal instanceof TaskholdException.InvalidHandle
                || refusal instanceof TaskholdException.Closed;
    }
}
