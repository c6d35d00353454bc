package dev.taskhold.mcp;

import dev.taskhold.Caller;
import dev.taskhold.TaskCreation;
import dev.taskhold.TaskManager;
import dev.taskhold.TaskRecord;
import dev.taskhold.TaskholdException;
import dev.taskhold.Tasks;
import dev.taskhold.Work;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.schema.JsonSchemaValidator;
import io.modelcontextprotocol.modern.McpException;
import io.modelcontextprotocol.modern.McpSchema;
import io.modelcontextprotocol.modern.server.McpAsyncNotifier;
import io.modelcontextprotocol.modern.server.McpAsyncResponse;
import io.modelcontextprotocol.modern.server.McpFeature;
import io.modelcontextprotocol.modern.server.McpRequestContext;
import io.modelcontextprotocol.modern.server.feature.McpAsyncTool;
import io.modelcontextprotocol.modern.server.feature.McpChangePublisher;
import io.modelcontextprotocol.modern.server.feature.ToolsFeature;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * The extension {@code io.modelcontextprotocol/tasks} over a task manager, as a feature of the SDK's server: the tools of the
 * server, of which some run as tasks, and {@code tasks/get}, {@code tasks/update} and {@code tasks/cancel}.
 *
 * <pre>{@code
 * TaskholdTasks tasks = TaskholdTasks.over(manager);
 * tasks.tool("report").description("Write a report.").handler((context, arguments) -> {
 *     context.progress("reading");
 *     return McpSchema.CallToolResult.builder().addContent(McpSchema.TextContent.builder(report()).build()).build();
 * });
 * McpServer server = McpServer.builder().serverInfo(info).feature(tasks).subscriptions(tasks.changes()).build();
 * }</pre>
 *
 * <p>A call becomes a task when its client declared the extension; else the tool runs inline, or is refused. A task is in its
 * process's hands under a lease: when the process dies, the lease lapses and the task fails. Any thread may use it.
 */
public final class TaskholdTasks implements McpFeature, AutoCloseable {
    /**
     * The key under which the transport's context has who calls: a {@link java.security.Principal}, or its name. The transport's
     * context extractor puts it there.
     */
    public static final String PRINCIPAL = "dev.taskhold.mcp.principal";

    private static final System.Logger LOG = System.getLogger("dev.taskhold.mcp");

    private static final Set<String> TASK_METHODS = Set.of("tasks/get", "tasks/update", "tasks/cancel");

    /** For tools that were told to stop, before their tasks fail all the same. */
    private static final long LAST_MS = 5_000;

    private final TaskManager manager;
    private final String endpoint;
    private final Duration lease;
    private final Function<McpRequestContext, @Nullable String> owner;
    private final McpJsonMapper mapper;
    private final JsonSchemaValidator validator;
    private final Executor executor;
    private final @Nullable ExecutorService ownExecutor;
    private final ToolsFeature toolsFeature;

    private final ToolTable tools = new ToolTable();

    /** Guarded by itself. */
    private final Set<Run> runs = new LinkedHashSet<>();

    /** Guarded by {@link #runs}. */
    private boolean stopping;

    private TaskholdTasks(Builder options) {
        manager = options.manager;
        endpoint = options.endpoint;
        lease = options.lease;
        owner = options.owner;
        mapper = options.mapper == null ? McpJsonDefaults.getMapper() : options.mapper;
        validator = McpJsonDefaults.getSchemaValidator();
        ownExecutor = options.executor == null ? Executors.newCachedThreadPool(TaskholdTasks::thread) : null;
        executor = ownExecutor == null ? Objects.requireNonNull(options.executor) : ownExecutor;
        toolsFeature = ToolsFeature.ofAsync(tools, mapper, validator, 0, McpSchema.CacheScope.PRIVATE);
    }

    private static Thread thread(Runnable run) {
        Thread thread = new Thread(run, "taskhold-mcp");
        thread.setDaemon(true);
        return thread;
    }

    /**
     * Makes the feature with what it works with unless said.
     *
     * @param manager keeps the tasks; it stays open when the feature is closed
     * @return the feature
     */
    public static TaskholdTasks over(TaskManager manager) {
        return builder(manager).build();
    }

    /**
     * Begins the options of a feature.
     *
     * @param manager keeps the tasks; it stays open when the feature is closed
     * @return a builder
     */
    public static Builder builder(TaskManager manager) {
        return new Builder(manager);
    }

    /**
     * Begins a tool that may run as a task; {@link TaskTool#handler} adds it.
     *
     * @param name the tool's name
     * @return the tool
     */
    public TaskTool tool(String name) {
        return new TaskTool(this, Objects.requireNonNull(name));
    }

    /**
     * Adds a tool of the SDK's, which is never a task.
     *
     * @param tool the tool
     * @return this feature
     * @throws IllegalArgumentException if there is a tool of this name
     */
    public TaskholdTasks add(McpAsyncTool tool) {
        tools.add(tool);
        return this;
    }

    TaskholdTasks add(
            McpSchema.Tool definition, TaskSupport support, boolean startsInForeground, TaskToolHandler handler) {
        ToolEntry entry = new ToolEntry(definition, support, startsInForeground, handler);
        return add(McpAsyncTool.of(definition, (context, call) -> called(entry, context, call)));
    }

    /**
     * Publishes the changes of tasks to clients that listen for them: for {@code subscriptions} of the server's builder, without
     * which the server does not serve {@code subscriptions/listen}. A client gets the state of each task that it named and may see,
     * now and after each change, the last one always. For other changes beside, publish the merged {@code changes()} of both.
     *
     * @return the publisher
     */
    public McpChangePublisher changes() {
        return new TaskChanges(this);
    }

    @Override
    public Set<String> methods() {
        Set<String> all = new LinkedHashSet<>(TASK_METHODS);
        all.addAll(toolsFeature.methods());
        return all;
    }

    @Override
    public void capabilities(McpSchema.ServerCapabilities.Builder builder) {
        toolsFeature.capabilities(builder);
        builder.extension(Wire.EXTENSION, Map.of());
    }

    @Override
    public Set<String> inputRequiredMethods() {
        return toolsFeature.inputRequiredMethods();
    }

    @Override
    public McpSchema.SubscriptionFilter honouredSubscriptions(
            McpRequestContext context, McpSchema.SubscriptionFilter requested) {
        return TaskChanges.honoured(this, context, requested);
    }

    @Override
    public Mono<? extends McpAsyncResponse<? extends McpSchema.Result>> handle(
            McpRequestContext context, Object params) {
        if (!TASK_METHODS.contains(context.method())) {
            return toolsFeature.handle(context, params);
        }
        Mono<McpAsyncResponse<McpSchema.Result>> answer =
                Mono.fromCallable(() -> McpAsyncResponse.result(answer(context, Wire.members(mapper, params))));
        // A store on disk takes its time, which only a thread that may block has.
        return context.isBlocking() ? answer : answer.subscribeOn(Schedulers.boundedElastic());
    }

    /** Answers {@code tasks/get}, {@code tasks/update} and {@code tasks/cancel}. */
    private McpSchema.Result answer(McpRequestContext context, Map<String, Object> params) {
        Wire.checkName(context, params);
        Map<String, Object> request = Map.of("jsonrpc", "2.0", "id", 0, "method", context.method(), "params", params);
        String response;
        try {
            response = manager.handleRequest(endpoint, owner.apply(context), null, Wire.write(mapper, request))
                    .orElseThrow();
        } catch (TaskholdException failure) {
            LOG.log(System.Logger.Level.ERROR, "taskhold: " + context.method() + " failed", failure);
            throw Wire.internalError();
        }
        Map<String, Object> members = Wire.read(mapper, response);
        if (members.get("error") instanceof Map<?, ?> error) {
            throw new McpException(
                    ((Number) error.get("code")).intValue(), (String) error.get("message"), error.get("data"));
        }
        return new Answer(Wire.members(mapper, members.get("result")));
    }

    private Mono<McpAsyncResponse<McpSchema.CallToolOutcome>> called(
            ToolEntry tool, McpRequestContext context, McpSchema.CallToolRequest call) {
        boolean knowsTasks = Wire.declares(context);
        if (!knowsTasks && tool.support() == TaskSupport.REQUIRED) {
            return Mono.error(Wire.missingExtension());
        }
        boolean inForeground = !knowsTasks || tool.startsInForeground();
        if (inForeground && context.progressToken() != null) {
            return Mono.just(McpAsyncResponse.streaming(notifier -> started(tool, context, call, notifier)));
        }
        return started(tool, context, call, null).map(McpAsyncResponse::result);
    }

    private Mono<McpSchema.CallToolOutcome> started(
            ToolEntry tool, McpRequestContext context, McpSchema.CallToolRequest call, @Nullable McpAsyncNotifier notifier) {
        return Mono.create(sink -> {
            Run run = new Run(this, tool, context, call, notifier);
            sink.onCancel(run::clientLeft);
            run.outcome.whenComplete((outcome, failure) -> {
                if (failure == null) {
                    sink.success(outcome);
                } else {
                    sink.error(failure);
                }
            });
            try {
                begin(run);
                executor.execute(run);
            } catch (RejectedExecutionException stopped) {
                over(run);
                sink.error(Wire.internalError());
            }
        });
    }

    private void begin(Run run) {
        synchronized (runs) {
            if (stopping) {
                throw new RejectedExecutionException("the server stops");
            }
            runs.add(run);
        }
    }

    void over(Run run) {
        synchronized (runs) {
            runs.remove(run);
            runs.notifyAll();
        }
    }

    TaskRecord create(McpRequestContext context, String tool, List<String> kinds) {
        String origin = Wire.write(mapper, Map.of("method", "tools/call", "name", tool));
        try {
            TaskCreation creation = TaskCreation.at(endpoint, origin)
                    .authorizationPartition(owner.apply(context))
                    .declaredInputRequests(kinds.toArray(String[]::new))
                    .lease(workerName(), lease);
            return Tasks.over(manager).create(creation);
        } catch (TaskholdException.CapacityExhausted full) {
            throw new McpException(Wire.INTERNAL_ERROR, "Too many tasks are retained");
        } catch (TaskholdException failure) {
            LOG.log(System.Logger.Level.ERROR, "taskhold: a task could not be created", failure);
            throw Wire.internalError();
        }
    }

    /** For operators. */
    private static String workerName() {
        return "mcp:" + ProcessHandle.current().pid();
    }

    Work hold(TaskRecord created) {
        return Tasks.over(manager).work(created, lease);
    }

    /** Gives who calls, and where. */
    Caller caller(McpRequestContext context) {
        return Caller.at(endpoint).withPartition(owner.apply(context));
    }

    TaskManager manager() {
        return manager;
    }

    McpJsonMapper mapper() {
        return mapper;
    }

    JsonSchemaValidator validator() {
        return validator;
    }

    /**
     * Stops the work of this process: tools are told to stop, and what is not done within five seconds fails as stopped. For the
     * end of a server, before its manager is closed.
     */
    @Override
    public void close() {
        List<Run> left;
        synchronized (runs) {
            stopping = true;
            left = List.copyOf(runs);
        }
        left.forEach(run -> run.stop(Run.Stop.STOPPING));
        synchronized (runs) {
            long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LAST_MS);
            try {
                for (long rest = LAST_MS; !runs.isEmpty() && rest > 0; ) {
                    runs.wait(rest);
                    rest = TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime());
                }
            } catch (InterruptedException hurry) {
                Thread.currentThread().interrupt();
            }
            left = List.copyOf(runs);
        }
        left.forEach(Run::abandon);
        if (ownExecutor != null) {
            ownExecutor.shutdown();
        }
    }

    /** Options of a feature. */
    public static final class Builder {
        private final TaskManager manager;
        private String endpoint = "/mcp";
        private Duration lease = Duration.ofSeconds(30);
        private Function<McpRequestContext, @Nullable String> owner = Wire::principal;
        private @Nullable McpJsonMapper mapper;
        private @Nullable Executor executor;

        private Builder(TaskManager manager) {
            this.manager = Objects.requireNonNull(manager);
        }

        /**
         * Tells the tasks of several servers over one store apart; {@code "/mcp"} unless said.
         *
         * @param name the endpoint
         * @return this builder
         */
        public Builder endpoint(String name) {
            endpoint = Objects.requireNonNull(name);
            return this;
        }

        /**
         * Says how long after the death of this process its tasks fail as abandoned; 30 seconds unless said. The leases are
         * renewed while the process lives.
         *
         * @param length 1 millisecond to 24 hours
         * @return this builder
         */
        public Builder lease(Duration length) {
            lease = Objects.requireNonNull(length);
            return this;
        }

        /**
         * Says whose tasks a caller may see; that of {@link TaskholdTasks#PRINCIPAL} unless said. Callers for whom it is null share
         * the anonymous partition, where only the random id protects a task.
         *
         * @param partition gives the authorization partition of a request
         * @return this builder
         */
        public Builder owner(Function<McpRequestContext, @Nullable String> partition) {
            owner = Objects.requireNonNull(partition);
            return this;
        }

        /**
         * Says how JSON is read and written; the SDK's default unless said.
         *
         * @param json the mapper
         * @return this builder
         */
        public Builder jsonMapper(McpJsonMapper json) {
            mapper = Objects.requireNonNull(json);
            return this;
        }

        /**
         * Says where tools run: each has a thread as long as it runs, and may block it. Daemon threads unless said; on Java 21 and
         * later, {@code Executors.newVirtualThreadPerTaskExecutor()} is a good choice.
         *
         * @param threads the executor; it stays open when the feature is closed
         * @return this builder
         */
        public Builder executor(Executor threads) {
            executor = Objects.requireNonNull(threads);
            return this;
        }

        /**
         * Makes the feature.
         *
         * @return the feature
         */
        public TaskholdTasks build() {
            return new TaskholdTasks(this);
        }
    }
}
