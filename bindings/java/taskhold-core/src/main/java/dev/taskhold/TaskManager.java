package dev.taskhold;

import static dev.taskhold.Text.utf8;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A manager of MCP tasks (extension {@code io.modelcontextprotocol/tasks}, SEP-2663): it creates tasks, keeps their state
 * and answers the protocol's requests about them. The application does the work and tells the manager how it goes.
 *
 * <p>A record is a JSON object {@code {"task": {...}, "revision": 1, "endpoint": ..., ...}}; {@code task} is the extension's
 * {@code DetailedTask} and the only part that may reach a client. Methods with an endpoint and an authorization
 * partition are for protocol requests and check both; the others are for trusted workers. Unknown, expired and foreign
 * tasks give the same answer. Durations are milliseconds. Any thread may use it.
 */
public final class TaskManager implements AutoCloseable {
    private final Handle handle;
    private final Waits waits = new Waits();
    private final Leases leases = new Leases(this);

    private TaskManager(Handle handle) {
        this.handle = handle;
    }

    /**
     * Begins the options of a manager.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Opens a manager.
     *
     * @param store where the tasks live, or null for a private store in memory
     * @param options a JSON object as {@link Builder} writes it, or null
     * @return the manager
     * @throws TaskholdException.InvalidArgument malformed {@code options}
     */
    public static TaskManager open(@Nullable Store store, @Nullable String options) {
        byte[] optionsText = utf8(options);
        return new TaskManager(Handle.openOver(
                store == null ? null : store.handle,
                (over, out, error) -> Library.ABI.taskhold_manager_open(over, optionsText, out, error),
                Library.ABI::taskhold_manager_close));
    }

    /**
     * Gives the options that this manager works with, defaults filled in.
     *
     * @return a JSON object
     */
    public String options() {
        return handle.someText(Library.ABI::taskhold_manager_options);
    }

    /**
     * Gives the same calls as futures, for stores on disk. They complete on the common pool.
     *
     * @return the asynchronous twin
     */
    public AsyncTaskManager async() {
        return async(Background.COMMON);
    }

    /**
     * Gives the same calls as futures, which complete on an executor: there runs what depends on them.
     *
     * @param completion where the futures complete
     * @return the asynchronous twin
     */
    public AsyncTaskManager async(Executor completion) {
        return new AsyncTaskManager(this, completion);
    }

    // For workers.

    /**
     * Creates a task: a random id, status working, revision 1. Whoever may read it can read it before this returns.
     *
     * @param creation a JSON object as {@link TaskCreation} writes it
     * @return the record
     * @throws TaskholdException.InvalidArgument malformed {@code creation}
     * @throws TaskholdException.CapacityExhausted the limit of unexpired tasks is reached ({@code capacity_exhausted}), or that of
     *     the partition ({@code partition_capacity_exhausted}); none is evicted
     * @throws TaskholdException.Conflict {@code operation_mismatch}: the operation id is that of other work
     */
    public String createTask(String creation) {
        byte[] creationText = utf8(creation);
        return handle.someText(
                (self, out, error) -> Library.ABI.taskhold_manager_create_task(self, creationText, out, error));
    }

    /**
     * Finds a task for trusted code: nobody's authorization is checked.
     *
     * @param taskId the task's id
     * @return the record
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}
     */
    public Optional<String> findTask(String taskId) {
        byte[] id = utf8(taskId);
        return Optional.ofNullable(
                handle.text((self, out, error) -> Library.ABI.taskhold_manager_find_task(self, id, out, error)));
    }

    /**
     * Marks a task that is working or waits for input as working. Its outstanding input requests are superseded: answers
     * that come later are ignored. Accepted answers that were not taken yet stay.
     *
     * @param taskId the task's id
     * @param statusMessage the new message for people; null clears it
     * @param options a JSON object as {@link TransitionOptions} writes it, or null
     * @return the record after the change
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}, malformed {@code options}
     * @throws TaskholdException.NotFound {@code task_not_found}
     * @throws TaskholdException.InvalidState {@code task_terminal}, {@code cancelation_requested}
     * @throws TaskholdException.Conflict {@code revision_mismatch}
     */
    public String markTaskWorking(String taskId, @Nullable String statusMessage, @Nullable String options) {
        byte[] id = utf8(taskId);
        byte[] message = utf8(statusMessage);
        byte[] optionsText = utf8(options);
        return handle.someText((self, out, error) ->
                Library.ABI.taskhold_manager_mark_task_working(self, id, message, optionsText, out, error));
    }

    /**
     * Asks the client for input: adds requests and puts the task into status input_required. A key is used once in a
     * task's life; repeating outstanding requests exactly changes nothing but the message.
     *
     * @param taskId the task's id
     * @param inputRequests a JSON object of at least one member: input requests by key
     * @param statusMessage the new message for people; null clears it
     * @param options a JSON object as {@link TransitionOptions} writes it, or null
     * @return the record after the change
     * @throws TaskholdException.InvalidArgument {@code empty_input_requests}, {@code invalid_payload},
     *     {@code input_request_key_reused}, malformed JSON
     * @throws TaskholdException.NotFound {@code task_not_found}
     * @throws TaskholdException.InvalidState {@code task_terminal}, {@code input_responses_untaken},
     *     {@code cancelation_requested}
     * @throws TaskholdException.Conflict {@code revision_mismatch}
     * @throws TaskholdException.LimitExceeded {@code payload_too_large}, {@code nesting_too_deep}
     */
    public String requestTaskInput(
            String taskId, String inputRequests, @Nullable String statusMessage, @Nullable String options) {
        byte[] id = utf8(taskId);
        byte[] requests = utf8(inputRequests);
        byte[] message = utf8(statusMessage);
        byte[] optionsText = utf8(options);
        return handle.someText((self, out, error) -> Library.ABI.taskhold_manager_request_task_input(
                self, id, requests, message, optionsText, out, error));
    }

    /**
     * Completes a task: terminal and immutable from now on. Of any number of racing calls that end a task exactly one
     * wins. A tool result whose {@code isError} is true is still a completed task. Beyond its shape the result is not checked.
     *
     * @param taskId the task's id
     * @param result a JSON object, kept byte for byte; its {@code resultType}, if there, is "complete"
     * @param statusMessage the last message for people; null clears it
     * @param options a JSON object as {@link TransitionOptions} writes it, or null
     * @return the record after the change
     * @throws TaskholdException.InvalidArgument {@code invalid_payload}, malformed JSON
     * @throws TaskholdException.NotFound {@code task_not_found}
     * @throws TaskholdException.InvalidState {@code task_terminal}, {@code cancelation_requested}
     * @throws TaskholdException.Conflict {@code revision_mismatch}
     * @throws TaskholdException.LimitExceeded {@code payload_too_large}, {@code nesting_too_deep}
     */
    public String completeTask(
            String taskId, String result, @Nullable String statusMessage, @Nullable String options) {
        byte[] id = utf8(taskId);
        byte[] resultText = utf8(result);
        byte[] message = utf8(statusMessage);
        byte[] optionsText = utf8(options);
        return handle.someText((self, out, error) -> Library.ABI.taskhold_manager_complete_task(
                self, id, resultText, message, optionsText, out, error));
    }

    /**
     * Fails a task with an error that the client sees: terminal and immutable from now on. This is for JSON-RPC errors; a
     * tool that ran and reports an error has completed.
     *
     * @param taskId the task's id
     * @param failure a JSON-RPC error object, kept byte for byte: integer {@code code}, string {@code message}, optional
     *     {@code data}
     * @param statusMessage the last message for people; null clears it
     * @param options a JSON object as {@link TransitionOptions} writes it, or null
     * @return the record after the change
     * @throws TaskholdException as {@link #completeTask}
     */
    public String failTask(String taskId, String failure, @Nullable String statusMessage, @Nullable String options) {
        byte[] id = utf8(taskId);
        byte[] failureText = utf8(failure);
        byte[] message = utf8(statusMessage);
        byte[] optionsText = utf8(options);
        return handle.someText((self, out, error) ->
                Library.ABI.taskhold_manager_fail_task(self, id, failureText, message, optionsText, out, error));
    }

    /**
     * Marks a task as cancelled: terminal and immutable from now on. This is the worker's decision; a client only asks
     * for it with {@link #requestTaskCancelation}.
     *
     * @param taskId the task's id
     * @param statusMessage the last message for people; null clears it
     * @param options a JSON object as {@link TransitionOptions} writes it, or null
     * @return the record after the change
     * @throws TaskholdException as {@link #completeTask}
     */
    public String cancelTask(String taskId, @Nullable String statusMessage, @Nullable String options) {
        byte[] id = utf8(taskId);
        byte[] message = utf8(statusMessage);
        byte[] optionsText = utf8(options);
        return handle.someText((self, out, error) ->
                Library.ABI.taskhold_manager_cancel_task(self, id, message, optionsText, out, error));
    }

    /**
     * Takes the answers that the client gave: returns and clears them in one step, so that each is taken once. It does not
     * wait for any.
     *
     * @param taskId the task's id
     * @param options a JSON object as {@link TransitionOptions} writes it, with an expected revision only, or null
     * @return a JSON object, answers by key; {@code {}} when there are none
     * @throws TaskholdException.NotFound {@code task_not_found}
     * @throws TaskholdException.Conflict {@code revision_mismatch}
     */
    public String takeTaskInputResponses(String taskId, @Nullable String options) {
        byte[] id = utf8(taskId);
        byte[] optionsText = utf8(options);
        return handle.someText((self, out, error) ->
                Library.ABI.taskhold_manager_take_task_input_responses(self, id, optionsText, out, error));
    }

    /**
     * Tells whether a client has asked for the cancelation of a task. The request never changes the status by itself, and
     * stays visible after the task's end.
     *
     * @param taskId the task's id
     * @return whether it was asked for
     * @throws TaskholdException.NotFound {@code task_not_found}
     */
    public boolean isTaskCancelationRequested(String taskId) {
        byte[] id = utf8(taskId);
        return handle.number((self, out, error) ->
                        Library.ABI.taskhold_manager_is_task_cancelation_requested(self, id, out, error))
                == 1;
    }

    /**
     * Waits until a task's revision is greater than the one seen: a change of its state, or a client's first request for
     * cancelation. Returns at once if it is so already. The thread is parked; a virtual thread holds no carrier. That the
     * task expires meanwhile is noticed within a quarter of a second.
     *
     * @param taskId the task's id
     * @param seenRevision the revision seen last, taken as unsigned; 0 for any
     * @param timeout the longest wait, real time; zero looks and returns
     * @return the record as it is now
     * @throws InterruptedException if this thread is interrupted while it waits
     * @throws TaskholdException.NotFound {@code task_not_found}, also when the task expires during the wait
     * @throws TaskholdException.Timeout {@code timeout}
     * @throws TaskholdException.Closed {@code closed_while_waiting}: the manager was closed
     */
    public String waitTask(String taskId, long seenRevision, Duration timeout) throws InterruptedException {
        if (timeout.isZero() || timeout.isNegative()) {
            return lastLook(taskId, seenRevision);
        }
        Optional<String> now = look(taskId, seenRevision);
        if (now.isPresent()) {
            return now.get();
        }
        Waits.Wait wait = waits.begin(this, taskId, seenRevision);
        try {
            return wait.result.get(Background.nanos(timeout), TimeUnit.NANOSECONDS);
        } catch (TimeoutException end) {
            return lastLook(taskId, seenRevision);
        } catch (ExecutionException failure) {
            throw Background.causeOf(failure);
        } finally {
            wait.forget();
        }
    }

    /**
     * Waits as {@link #waitTask} does, without a thread. Cancelling the future ends the wait. The future completes on the
     * common pool, or at once; {@link AsyncTaskManager#waitTask} completes on an executor of your choice.
     *
     * @param taskId the task's id
     * @param seenRevision the revision seen last, taken as unsigned; 0 for any
     * @param timeout the longest wait, real time
     * @return the record, or the exception that {@link #waitTask} throws
     */
    public CompletableFuture<String> waitTaskAsync(String taskId, long seenRevision, Duration timeout) {
        return waitTaskAsync(taskId, seenRevision, timeout, Background.COMMON);
    }

    CompletableFuture<String> waitTaskAsync(String taskId, long seenRevision, Duration timeout, Executor completion) {
        CompletableFuture<String> answer = new CompletableFuture<>();
        try {
            Optional<String> now = look(taskId, seenRevision);
            if (now.isPresent()) {
                return CompletableFuture.completedFuture(now.get());
            }
        } catch (TaskholdException refusal) {
            return CompletableFuture.failedFuture(refusal);
        }
        Waits.Wait wait = waits.begin(this, taskId, seenRevision);
        wait.result.copy().orTimeout(Background.nanos(timeout), TimeUnit.NANOSECONDS).whenCompleteAsync(
                (record, failure) -> {
                    if (failure != null && unwrapped(failure) instanceof TimeoutException) {
                        Background.end(answer, () -> lastLook(taskId, seenRevision), completion);
                    } else if (failure != null) {
                        Background.on(completion, () -> answer.completeExceptionally(unwrapped(failure)));
                    } else {
                        Background.on(completion, () -> answer.complete(record));
                    }
                },
                Background.POOL);
        answer.whenComplete((record, failure) -> {
            wait.forget();
            wait.result.cancel(false);
        });
        return answer;
    }

    /** The leases that are kept. */
    Leases leases() {
        return leases;
    }

    /** The waits that go on. */
    Waits waits() {
        return waits;
    }

    /** The record if there is something to tell now. */
    Optional<String> look(String taskId, long seenRevision) {
        try {
            return Optional.of(lastLook(taskId, seenRevision));
        } catch (TaskholdException.Timeout nothing) {
            return Optional.empty();
        }
    }

    private String lastLook(String taskId, long seenRevision) {
        byte[] id = utf8(taskId);
        return handle.someText((self, out, error) ->
                Library.ABI.taskhold_manager_wait_task(self, id, seenRevision, 0, out, error));
    }

    private static Throwable unwrapped(Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null
                ? failure.getCause()
                : failure;
    }

    /**
     * Lists tasks for operators, oldest first. Never for clients: nobody's authorization is checked. A full walk meets
     * every task that stays meanwhile, each once.
     *
     * @param params a JSON object or null: {@code status}, {@code endpoint} and {@code authorizationPartition} as filters,
     *     {@code pageSize} 1 to 1000 (100), {@code pageToken}, {@code includePayload} (false)
     * @return {@code {"records": [...], "corrupt": [...], "nextPageToken": ""}}; the token is "" on the last page
     * @throws TaskholdException.InvalidArgument {@code invalid_page_token}, malformed {@code params}
     */
    public String listTasks(@Nullable String params) {
        byte[] paramsText = utf8(params);
        return handle.someText(
                (self, out, error) -> Library.ABI.taskhold_manager_list_tasks(self, paramsText, out, error));
    }

    // For workers that claim queued tasks.

    /**
     * Claims a task that was created with a queue: each goes to one claimer, who has a lease on it from then on. The thread is
     * parked while none is there; a virtual thread holds no carrier. One that is interrupted takes no task along.
     *
     * @param claim a JSON object as {@link Claim} writes it: {@code worker}, {@code queues} in strict order of preference,
     *     {@code leaseMs}
     * @param timeout the longest wait, real time; zero looks and returns
     * @return the record; its {@code lease} has the {@code token} that the worker's calls name; empty when no task came
     * @throws InterruptedException if this thread is interrupted while it waits
     * @throws TaskholdException.InvalidArgument malformed {@code claim}
     * @throws TaskholdException.Closed {@code closed_while_waiting}: the manager was closed
     */
    public Optional<String> claimTask(String claim, Duration timeout) throws InterruptedException {
        return Claims.claim(this, claim, timeout);
    }

    /** Claims on this very thread, which the library holds meanwhile. */
    Optional<String> claim(String claim, int timeoutMs) {
        byte[] claimText = utf8(claim);
        return Optional.ofNullable(handle.text((self, out, error) ->
                Library.ABI.taskhold_manager_claim_task(self, claimText, timeoutMs, out, error)));
    }

    /**
     * Renews leases: each ends {@code leaseMs} from now. Each task is one atomic step; one that is lost spoils nothing for the
     * rest. {@link Work} does it by itself.
     *
     * @param renewals a JSON object: {@code {"leaseMs": 30000, "tasks": [{"taskId": "...", "lease": 3, "checkpoint": {...}}]}},
     *     1 to 1000 tasks, none twice; {@code checkpoint} may be absent
     * @return {@code {"renewed": [...], "lost": [...], "cancelationRequested": [...]}}, ids of tasks; the last are a part of the
     *     first
     * @throws TaskholdException.InvalidArgument malformed {@code renewals}
     * @throws TaskholdException.LimitExceeded {@code payload_too_large}: the checkpoints together; nothing was renewed
     */
    public String renewLeases(String renewals) {
        byte[] renewalsText = utf8(renewals);
        return handle.someText(
                (self, out, error) -> Library.ABI.taskhold_manager_renew_leases(self, renewalsText, out, error));
    }

    /**
     * Gives a claimed task back to its queue. It can be claimed again after the larger of delay and backoff; with no attempt
     * left it is failed, and where the client has asked for cancelation it is cancelled.
     *
     * @param taskId the task's id
     * @param options a JSON object: {@code lease}, the token, which is needed; {@code delayMs} (0), {@code countsAsAttempt}
     *     (true; false for an orderly shutdown), {@code statusMessage} (null clears it), {@code checkpoint}, {@code failure}, a
     *     JSON-RPC error
     * @return the record after the change
     * @throws TaskholdException.NotFound {@code task_not_found}
     * @throws TaskholdException.InvalidState {@code task_terminal}, {@code lease_required}, {@code not_queued}
     * @throws TaskholdException.Conflict {@code lease_lost}
     * @throws TaskholdException.InvalidArgument {@code invalid_payload}, malformed {@code options}
     * @throws TaskholdException.LimitExceeded {@code payload_too_large}, {@code nesting_too_deep}
     */
    public String releaseTask(String taskId, @Nullable String options) {
        byte[] id = utf8(taskId);
        byte[] optionsText = utf8(options);
        return handle.someText((self, out, error) ->
                Library.ABI.taskhold_manager_release_task(self, id, optionsText, out, error));
    }

    // For protocol requests.

    /**
     * Finds a task that the caller may see.
     *
     * @param endpoint the endpoint that the request came to
     * @param partition the caller's authorization partition; null is the anonymous one, and another than ""
     * @param taskId the task's id
     * @return the record
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}, {@code invalid_value}
     */
    public Optional<String> findAuthorizedTask(String endpoint, @Nullable String partition, String taskId) {
        byte[] endpointText = utf8(endpoint);
        byte[] partitionText = utf8(partition);
        byte[] id = utf8(taskId);
        return Optional.ofNullable(handle.text((self, out, error) -> Library.ABI.taskhold_manager_find_authorized_task(
                self, endpointText, partitionText, id, out, error)));
    }

    /**
     * Accepts a client's answers to input requests ({@code tasks/update}). An answer counts when its key is outstanding and
     * its shape matches the request; every other one is ignored without a trace. The last outstanding answer makes the
     * task working again.
     *
     * @param endpoint the endpoint that the request came to
     * @param partition the caller's authorization partition, or null
     * @param taskId the task's id
     * @param inputResponses a JSON object, answers by key
     * @param options a JSON object as {@link TransitionOptions} writes it, or null
     * @return for the host, not for the client: {@code {"accepted": [...], "ignored": [...]}}
     * @throws TaskholdException.InvalidArgument {@code invalid_payload}, malformed JSON
     * @throws TaskholdException.NotFound {@code task_not_found}
     * @throws TaskholdException.Conflict {@code revision_mismatch}
     * @throws TaskholdException.LimitExceeded {@code payload_too_large}, {@code nesting_too_deep}
     */
    public String updateTask(
            String endpoint, @Nullable String partition, String taskId, String inputResponses, @Nullable String options) {
        byte[] endpointText = utf8(endpoint);
        byte[] partitionText = utf8(partition);
        byte[] id = utf8(taskId);
        byte[] responses = utf8(inputResponses);
        byte[] optionsText = utf8(options);
        return handle.someText((self, out, error) -> Library.ABI.taskhold_manager_update_task(
                self, endpointText, partitionText, id, responses, optionsText, out, error));
    }

    /**
     * Records that a client asks for the cancelation of a task ({@code tasks/cancel}). The status does not change: the
     * worker decides. Asking again, or for a terminal task, changes nothing.
     *
     * @param endpoint the endpoint that the request came to
     * @param partition the caller's authorization partition, or null
     * @param taskId the task's id
     * @throws TaskholdException.NotFound {@code task_not_found}
     */
    public void requestTaskCancelation(String endpoint, @Nullable String partition, String taskId) {
        byte[] endpointText = utf8(endpoint);
        byte[] partitionText = utf8(partition);
        byte[] id = utf8(taskId);
        handle.run((self, error) ->
                Library.ABI.taskhold_manager_request_task_cancelation(self, endpointText, partitionText, id, error));
    }

    /**
     * Renders a task as a client gets it.
     *
     * @param endpoint the endpoint of the client
     * @param partition the client's authorization partition, or null
     * @param taskId the task's id
     * @param rendering what the client gets
     * @param options a JSON object or null: {@code clientCapabilities}, checked if given; {@code subscriptionId}, a string
     *     or a whole number, for the notification
     * @return the text for the client, and the revision that it shows
     * @throws TaskholdException.NotFound {@code task_not_found}
     * @throws TaskholdException.InvalidState {@code undeliverable}: the task asks for input that it did not declare, or that
     *     the client has no capability for
     */
    public Revisioned renderTask(
            String endpoint, @Nullable String partition, String taskId, Rendering rendering, @Nullable String options) {
        return renderTask(endpoint, partition, taskId, rendering.code(), options);
    }

    Revisioned renderTask(
            String endpoint, @Nullable String partition, String taskId, int rendering, @Nullable String options) {
        byte[] endpointText = utf8(endpoint);
        byte[] partitionText = utf8(partition);
        byte[] id = utf8(taskId);
        byte[] optionsText = utf8(options);
        return Objects.requireNonNull(handle.revisioned((self, out, revision, error) ->
                Library.ABI.taskhold_manager_render_task(
                        self, endpointText, partitionText, id, rendering, optionsText, out, revision, error)));
    }

    /**
     * Answers one JSON-RPC request of the extension: {@code tasks/get}, {@code tasks/update} or {@code tasks/cancel}.
     * Whatever the request is, the answer is a whole JSON-RPC response, an error too; the call fails only when the arguments
     * around it are malformed or the storage fails.
     *
     * @param endpoint the endpoint that the request came to
     * @param partition the caller's authorization partition, or null
     * @param clientCapabilities a JSON object, what the client has declared; null takes it from the request's {@code _meta}
     * @param request the request as it came; what is not JSON is answered with the error -32700
     * @return the response; empty for a notification, which executes nothing
     * @throws TaskholdException.InvalidArgument malformed {@code clientCapabilities}
     * @throws TaskholdException.Unavailable the storage failed; {@link TaskholdException#errorJson} has a member
     *     {@code response} that may be sent
     */
    public Optional<String> handleRequest(
            String endpoint, @Nullable String partition, @Nullable String clientCapabilities, String request) {
        return handle(endpoint, partition, clientCapabilities, Text.request(request));
    }

    /**
     * Answers one JSON-RPC request as {@link #handleRequest(String, String, String, String)} does, from the bytes that came:
     * the body of an HTTP request, whatever is in it.
     *
     * @param endpoint the endpoint that the request came to
     * @param partition the caller's authorization partition, or null
     * @param clientCapabilities a JSON object, what the client has declared; null takes it from the request's {@code _meta}
     * @param request the request as it came; what is not JSON in UTF-8 is answered with the error -32700
     * @return the response; empty for a notification, which executes nothing
     * @throws TaskholdException as {@link #handleRequest(String, String, String, String)}
     */
    public Optional<String> handleRequest(
            String endpoint, @Nullable String partition, @Nullable String clientCapabilities, byte[] request) {
        return handle(endpoint, partition, clientCapabilities, Text.request(request));
    }

    private Optional<String> handle(
            String endpoint, @Nullable String partition, @Nullable String clientCapabilities, byte[] request) {
        byte[] endpointText = utf8(endpoint);
        byte[] partitionText = utf8(partition);
        byte[] capabilities = utf8(clientCapabilities);
        return Optional.ofNullable(handle.text((self, out, error) -> Library.ABI.taskhold_manager_handle_request(
                self, endpointText, partitionText, capabilities, request, out, error)));
    }

    // Events.

    /**
     * Announces that a task changed, as the manager does by itself after each change. For hosts that learn of changes
     * elsewhere.
     *
     * @param taskId the task's id; it need not be that of a task that is there
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}
     */
    public void publishTaskChanged(String taskId) {
        byte[] id = utf8(taskId);
        handle.run((self, error) -> Library.ABI.taskhold_manager_publish_task_changed(self, id, error));
    }

    /**
     * Opens a queue of the changes of all tasks under this manager's name, also of those that other managers and other
     * processes make over the same store. It outlives the manager.
     *
     * @param capacity the most events that wait in it, at least 1
     * @return the queue
     * @throws TaskholdException.InvalidArgument {@code invalid_value}: {@code capacity} is 0 or negative
     */
    public TaskEvents openEvents(int capacity) {
        return new TaskEvents(openQueue(capacity));
    }

    Handle openQueue(int capacity) {
        return Handle.openOver(
                handle,
                (self, out, error) -> Library.ABI.taskhold_manager_open_events(self, Math.max(0, capacity), out, error),
                Library.ABI::taskhold_events_close);
    }

    /** Closes the manager. Waits in it end with {@link TaskholdException.Closed}. Its tasks stay in the store. */
    @Override
    public void close() {
        waits.close();
        handle.close();
    }

    /** Options of a manager. Numbers are positive; durations are whole milliseconds. */
    public static final class Builder {
        private final JsonWriter options = new JsonWriter();
        private @Nullable Store store;

        private Builder() {}

        /**
         * Says where the tasks live; in a private store in memory unless said.
         *
         * @param store the store; null is a private one in memory
         * @return this builder
         */
        public Builder store(@Nullable Store store) {
            this.store = store;
            return this;
        }

        /**
         * Names the manager, {@code "default"} unless said: managers with the same name over one store share their tasks.
         *
         * @param name the name; null is {@code "default"}
         * @return this builder
         */
        public Builder name(@Nullable String name) {
            options.text("name", name);
            return this;
        }

        /**
         * Limits how many unexpired tasks may be there at once, 1024 in memory unless said.
         *
         * @param limit the limit; 0 is none, on disk only
         * @return this builder
         */
        public Builder maximumRetainedTasks(long limit) {
            options.number("maximumRetainedTasks", limit);
            return this;
        }

        /**
         * Limits how many unexpired tasks each authorization partition may have at once, so that one caller cannot use up what
         * all share; there is no such limit unless said. The anonymous partition is one.
         *
         * @param limit the limit; 0 is none
         * @return this builder
         */
        public Builder maximumRetainedTasksPerPartition(long limit) {
            options.number("maximumRetainedTasksPerPartition", limit);
            return this;
        }

        /**
         * Says how long a task lives, from its creation on; 1 hour unless said.
         *
         * @param time the time
         * @return this builder
         */
        public Builder taskTimeToLive(Duration time) {
            options.number("taskTimeToLiveMs", Background.millis(time));
            return this;
        }

        /**
         * Says how often a client should ask; every second unless said.
         *
         * @param interval the interval
         * @return this builder
         */
        public Builder pollInterval(Duration interval) {
            options.number("pollIntervalMs", Background.millis(interval));
            return this;
        }

        /**
         * Limits the bytes of one payload, 10 MiB unless said.
         *
         * @param limit the limit
         * @return this builder
         */
        public Builder maximumPayloadBytes(long limit) {
            options.number("maximumPayloadBytes", limit);
            return this;
        }

        /**
         * Sets any option, by the name that the C interface has for it.
         *
         * @param name its name
         * @param json its value, JSON; null is the default
         * @return this builder
         * @throws TaskholdException.InvalidArgument {@code invalid_json}
         */
        public Builder option(String name, @Nullable String json) {
            options.json(name, json);
            return this;
        }

        /**
         * Opens the manager.
         *
         * @return the manager
         * @throws TaskholdException.InvalidArgument {@code invalid_value}: {@link TaskholdException#key} names the option
         */
        public TaskManager open() {
            return TaskManager.open(store, options.toString());
        }
    }
}
