package dev.taskhold;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * MCP tasks as objects: the calls of a {@link TaskManager} with {@link TaskRecord} in the place of texts, and values that
 * cannot be taken for one another in the place of strings. Payloads are JSON texts and stay byte for byte as they are.
 *
 * <pre>{@code
 * try (Tasks tasks = Tasks.open()) {
 *     Caller alice = Caller.at("/mcp").withPartition("alice");
 *     TaskRecord task = tasks.create(TaskCreation.of(alice, "{\"name\": \"hello\"}"));
 *     tasks.complete(task.taskId(), "{\"content\": []}");
 * }
 * }</pre>
 *
 * <p>Each method fails as that of {@link TaskManager} which it names. Any thread may use it. Asynchronously, take
 * {@link #manager} and read what comes: {@code tasks.manager().async().createTask(json).thenApply(TaskRecord::of)}.
 */
public final class Tasks implements AutoCloseable {
    private final TaskManager manager;

    private Tasks(TaskManager manager) {
        this.manager = manager;
    }

    /**
     * Opens a manager of tasks in this process's memory.
     *
     * @return the tasks
     */
    public static Tasks open() {
        return open(TaskManager.builder());
    }

    /**
     * Opens a manager of tasks.
     *
     * @param options where the tasks live, and more
     * @return the tasks
     * @throws TaskholdException.InvalidArgument {@code invalid_value}: {@link TaskholdException#key} names the option
     */
    public static Tasks open(TaskManager.Builder options) {
        return new Tasks(options.open());
    }

    /**
     * Gives the tasks of a manager that is open. Closing them closes it.
     *
     * @param manager the manager
     * @return the tasks
     */
    public static Tasks over(TaskManager manager) {
        return new Tasks(manager);
    }

    /**
     * Gives the manager: the same calls with texts, and as futures.
     *
     * @return the manager
     */
    public TaskManager manager() {
        return manager;
    }

    // For workers.

    /**
     * Creates a task; see {@link TaskManager#createTask}.
     *
     * @param creation what it is made of
     * @return the record
     */
    public TaskRecord create(TaskCreation creation) {
        return new TaskRecord(manager.createTask(creation.toJson()));
    }

    /**
     * Finds a task for trusted code; see {@link TaskManager#findTask}.
     *
     * @param id the task's id
     * @return the record
     */
    public Optional<TaskRecord> find(TaskId id) {
        return manager.findTask(id.value()).map(TaskRecord::new);
    }

    /**
     * Marks a task as working without a message; see {@link TaskManager#markTaskWorking}.
     *
     * @param id the task's id
     * @return the record after the change
     */
    public TaskRecord markWorking(TaskId id) {
        return markWorking(id, null, null);
    }

    /**
     * Marks a task as working; see {@link TaskManager#markTaskWorking}.
     *
     * @param id the task's id
     * @param statusMessage the new message for people; null clears it
     * @return the record after the change
     */
    public TaskRecord markWorking(TaskId id, @Nullable String statusMessage) {
        return markWorking(id, statusMessage, null);
    }

    /**
     * Marks a task as working; see {@link TaskManager#markTaskWorking}.
     *
     * @param id the task's id
     * @param statusMessage the new message for people; null clears it
     * @param options conditions, or null
     * @return the record after the change
     */
    public TaskRecord markWorking(TaskId id, @Nullable String statusMessage, @Nullable TransitionOptions options) {
        return new TaskRecord(manager.markTaskWorking(id.value(), statusMessage, json(options)));
    }

    /**
     * Asks the client for input; see {@link TaskManager#requestTaskInput}.
     *
     * @param id the task's id
     * @param requests the requests
     * @return the record after the change
     */
    public TaskRecord requestInput(TaskId id, InputRequests requests) {
        return requestInput(id, requests, null, null);
    }

    /**
     * Asks the client for input; see {@link TaskManager#requestTaskInput}.
     *
     * @param id the task's id
     * @param requests the requests
     * @param statusMessage the new message for people; null clears it
     * @param options conditions, or null
     * @return the record after the change
     */
    public TaskRecord requestInput(
            TaskId id, InputRequests requests, @Nullable String statusMessage, @Nullable TransitionOptions options) {
        return new TaskRecord(manager.requestTaskInput(id.value(), requests.toJson(), statusMessage, json(options)));
    }

    /**
     * Completes a task; see {@link TaskManager#completeTask}.
     *
     * @param id the task's id
     * @param result a JSON object, kept byte for byte
     * @return the record after the change
     */
    public TaskRecord complete(TaskId id, String result) {
        return complete(id, result, null, null);
    }

    /**
     * Completes a task; see {@link TaskManager#completeTask}.
     *
     * @param id the task's id
     * @param result a JSON object, kept byte for byte
     * @param statusMessage the last message for people; null clears it
     * @param options conditions, or null
     * @return the record after the change
     */
    public TaskRecord complete(
            TaskId id, String result, @Nullable String statusMessage, @Nullable TransitionOptions options) {
        return new TaskRecord(manager.completeTask(id.value(), result, statusMessage, json(options)));
    }

    /**
     * Fails a task; see {@link TaskManager#failTask}.
     *
     * @param id the task's id
     * @param failure what the client sees
     * @return the record after the change
     */
    public TaskRecord fail(TaskId id, Failure failure) {
        return fail(id, failure, null, null);
    }

    /**
     * Fails a task; see {@link TaskManager#failTask}.
     *
     * @param id the task's id
     * @param failure what the client sees
     * @param statusMessage the last message for people; null clears it
     * @param options conditions, or null
     * @return the record after the change
     */
    public TaskRecord fail(
            TaskId id, Failure failure, @Nullable String statusMessage, @Nullable TransitionOptions options) {
        return new TaskRecord(manager.failTask(id.value(), failure.toJson(), statusMessage, json(options)));
    }

    /**
     * Marks a task as cancelled without a message; see {@link TaskManager#cancelTask}.
     *
     * @param id the task's id
     * @return the record after the change
     */
    public TaskRecord cancel(TaskId id) {
        return cancel(id, null, null);
    }

    /**
     * Marks a task as cancelled; see {@link TaskManager#cancelTask}.
     *
     * @param id the task's id
     * @param statusMessage the last message for people; null clears it
     * @param options conditions, or null
     * @return the record after the change
     */
    public TaskRecord cancel(TaskId id, @Nullable String statusMessage, @Nullable TransitionOptions options) {
        return new TaskRecord(manager.cancelTask(id.value(), statusMessage, json(options)));
    }

    /**
     * Takes the answers that the client gave, each once; see {@link TaskManager#takeTaskInputResponses}.
     *
     * @param id the task's id
     * @return the answers by key; empty when there are none
     */
    public Map<String, InputResponse> takeInputResponses(TaskId id) {
        return takeInputResponses(id, null);
    }

    /**
     * Takes the answers that the client gave, each once; see {@link TaskManager#takeTaskInputResponses}.
     *
     * @param id the task's id
     * @param options conditions, or null
     * @return the answers by key; empty when there are none
     */
    public Map<String, InputResponse> takeInputResponses(TaskId id, @Nullable TransitionOptions options) {
        return InputResponse.all(manager.takeTaskInputResponses(id.value(), json(options)));
    }

    /**
     * Tells whether a client has asked for the cancelation of a task; see {@link TaskManager#isTaskCancelationRequested}.
     *
     * @param id the task's id
     * @return whether it was asked for
     */
    public boolean isCancelationRequested(TaskId id) {
        return manager.isTaskCancelationRequested(id.value());
    }

    /**
     * Waits until a task has changed since a record of it was read; see {@link TaskManager#waitTask}.
     *
     * @param seen the record
     * @param timeout the longest wait, real time; zero looks and returns
     * @return the record as it is now
     * @throws InterruptedException if this thread is interrupted while it waits
     */
    public TaskRecord await(TaskRecord seen, Duration timeout) throws InterruptedException {
        return new TaskRecord(manager.waitTask(seen.taskId().value(), seen.revision(), timeout));
    }

    /**
     * Waits until a task has ended.
     *
     * @param id the task's id
     * @param timeout the longest wait, real time; zero looks and returns
     * @return the record of the ended task
     * @throws InterruptedException if this thread is interrupted while it waits
     * @throws TaskholdException as {@link TaskManager#waitTask}
     */
    public TaskRecord awaitEnd(TaskId id, Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + Background.nanos(timeout);
        TaskRecord record = new TaskRecord(manager.waitTask(id.value(), 0, Duration.ZERO));
        while (!record.status().isTerminal()) {
            record = await(record, Duration.ofNanos(Math.max(0, deadline - System.nanoTime())));
        }
        return record;
    }

    // For workers that claim queued tasks.

    /**
     * Claims a task out of a queue; see {@link TaskManager#claimTask}. The lease is renewed until the work ends or is closed.
     *
     * @param claim which work is wanted
     * @param timeout the longest wait, real time; zero looks and returns
     * @return the work; empty when no task came
     * @throws InterruptedException if this thread is interrupted while it waits; it takes no task along
     */
    public Optional<Work> claim(Claim claim, Duration timeout) throws InterruptedException {
        return manager.claimTask(claim.toJson(), timeout)
                .map(record -> new Work(manager, new TaskRecord(record), claim.leaseMs()));
    }

    /**
     * Takes on a task that was created with a lease: this is how a server that works in its own process gets its dead work
     * noticed. The lease is renewed until the work ends or is closed.
     *
     * @param created the record that the creation gave
     * @param lease the length of the lease, as the creation had it
     * @return the work
     * @throws IllegalArgumentException if the record has no lease of this caller: it was not created with one, or by an earlier
     *     call with the same operation id
     */
    public Work work(TaskRecord created, Duration lease) {
        return new Work(manager, created, Background.millis(lease));
    }

    /**
     * Starts a worker: it claims tasks and hands them to a handler, on platform threads of its own.
     *
     * @param claim which work is wanted
     * @param concurrency the most handlers at once, 1 or more
     * @param handler does the work
     * @return the worker, which works until it is stopped
     */
    public Worker worker(Claim claim, int concurrency, WorkHandler handler) {
        return worker(claim, concurrency, Background.unbounded("taskhold-handler"), handler);
    }

    /**
     * Starts a worker on queues: it claims tasks under leases of 30 seconds and hands them to a handler, on platform threads of its
     * own.
     *
     * @param queues 1 to 64 queues, in strict order of preference
     * @param concurrency the most handlers at once, 1 or more
     * @param handler does the work
     * @return the worker, which works until it is stopped
     */
    public Worker worker(List<String> queues, int concurrency, WorkHandler handler) {
        return worker(Claim.from(queues), concurrency, handler);
    }

    /**
     * Starts a worker whose handlers run on an executor, on Java 21 and later for example
     * {@code Executors.newVirtualThreadPerTaskExecutor()}. Closing the executor stays its owner's.
     *
     * @param claim which work is wanted
     * @param concurrency the most handlers at once, 1 or more
     * @param handlers where they run
     * @param handler does the work
     * @return the worker, which works until it is stopped
     */
    public Worker worker(Claim claim, int concurrency, Executor handlers, WorkHandler handler) {
        return new Worker(manager, claim, concurrency, handlers, handler);
    }

    // For operators.

    /**
     * Lists tasks for operators, one page; see {@link TaskManager#listTasks}.
     *
     * @param query which ones
     * @return a page
     */
    public Page<TaskRecord> list(TaskQuery query) {
        return page(query.toJson());
    }

    /**
     * Walks over tasks for operators, page by page, as the stream is read. A task that stays meanwhile comes exactly once.
     * Records that cannot be read are left out; {@link #list} names them.
     *
     * @param query which ones
     * @return the records; a terminal operation fails as {@link TaskManager#listTasks} does
     */
    public Stream<TaskRecord> stream(TaskQuery query) {
        return PageWalk.stream(() -> page(query.toJson()), token -> page(query.toJson(token)));
    }

    private Page<TaskRecord> page(String params) {
        String json = manager.listTasks(params);
        JsonObject members = JsonObject.of(json);
        return Page.read(json, members, members.elements("records").stream().map(TaskRecord::new).toList());
    }

    // For protocol requests.

    /**
     * Finds a task that the caller may see; see {@link TaskManager#findAuthorizedTask}.
     *
     * @param caller who asks, and where
     * @param id the task's id
     * @return the record
     */
    public Optional<TaskRecord> findAuthorized(Caller caller, TaskId id) {
        return manager.findAuthorizedTask(caller.endpoint().value(), caller.partition().name(), id.value())
                .map(TaskRecord::new);
    }

    /**
     * Accepts a client's answers to input requests; see {@link TaskManager#updateTask}.
     *
     * @param caller who answers, and where
     * @param id the task's id
     * @param inputResponses a JSON object, answers by key
     * @return what became of them, for the host
     */
    public UpdateOutcome update(Caller caller, TaskId id, String inputResponses) {
        return UpdateOutcome.read(manager.updateTask(
                caller.endpoint().value(), caller.partition().name(), id.value(), inputResponses, null));
    }

    /**
     * Records that a client asks for the cancelation of a task; see {@link TaskManager#requestTaskCancelation}.
     *
     * @param caller who asks, and where
     * @param id the task's id
     */
    public void requestCancelation(Caller caller, TaskId id) {
        manager.requestTaskCancelation(caller.endpoint().value(), caller.partition().name(), id.value());
    }

    /**
     * Renders a task as a client gets it; see {@link TaskManager#renderTask}.
     *
     * @param caller who gets it, and where
     * @param id the task's id
     * @param rendering what the client gets
     * @return the text for the client, and the revision that it shows
     */
    public Revisioned render(Caller caller, TaskId id, Rendering rendering) {
        return manager.renderTask(caller.endpoint().value(), caller.partition().name(), id.value(), rendering, null);
    }

    /**
     * Answers one JSON-RPC request; see {@link TaskManager#handleRequest(String, String, String, byte[])}.
     *
     * @param caller who asks, and where
     * @param clientCapabilities a JSON object, what the client has declared; null takes it from the request's {@code _meta}
     * @param request the request as it came
     * @return the response; empty for a notification, which executes nothing
     */
    public Optional<String> handleRequest(Caller caller, @Nullable String clientCapabilities, byte[] request) {
        return manager.handleRequest(caller.endpoint().value(), caller.partition().name(), clientCapabilities, request);
    }

    /**
     * Answers one JSON-RPC request; see {@link TaskManager#handleRequest(String, String, String, String)}.
     *
     * @param caller who asks, and where
     * @param clientCapabilities a JSON object, what the client has declared; null takes it from the request's {@code _meta}
     * @param request the request as it came
     * @return the response; empty for a notification, which executes nothing
     */
    public Optional<String> handleRequest(Caller caller, @Nullable String clientCapabilities, String request) {
        return manager.handleRequest(caller.endpoint().value(), caller.partition().name(), clientCapabilities, request);
    }

    // Events.

    /**
     * Opens a queue of the changes of all tasks; see {@link TaskManager#openEvents}.
     *
     * @param capacity the most events that wait in it, at least 1
     * @return the queue
     */
    public TaskEvents openEvents(int capacity) {
        return manager.openEvents(capacity);
    }

    private static @Nullable String json(@Nullable TransitionOptions options) {
        return options == null ? null : options.toJson();
    }

    /** Closes the manager; see {@link TaskManager#close}. */
    @Override
    public void close() {
        manager.close();
    }
}
