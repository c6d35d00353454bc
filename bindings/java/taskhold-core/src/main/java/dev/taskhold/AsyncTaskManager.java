package dev.taskhold;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a {@link TaskManager} as futures. On disk a write takes as long as the disk does, and a native call holds the
 * carrier of a virtual thread: these run on platform threads, 16 at once in the process
 * ({@code -Dtaskhold.asyncThreads}). Each method is as the one of the same name; the future fails with what that one throws,
 * the exception itself. Futures complete on the executor that {@link TaskManager#async(Executor)} was given, else on the common
 * pool, so that what depends on them may wait for others of them. One whose executor is shut down completes on the common pool.
 */
public final class AsyncTaskManager {
    private final TaskManager manager;
    private final Executor completion;

    AsyncTaskManager(TaskManager manager, Executor completion) {
        this.manager = manager;
        this.completion = completion;
    }

    /**
     * See {@link TaskManager#createTask}.
     *
     * @param creation what the task is made of
     * @return the record
     */
    public CompletableFuture<String> createTask(String creation) {
        return Background.later(() -> manager.createTask(creation), completion);
    }

    /**
     * See {@link TaskManager#findTask}.
     *
     * @param taskId the task's id
     * @return the record
     */
    public CompletableFuture<Optional<String>> findTask(String taskId) {
        return Background.later(() -> manager.findTask(taskId), completion);
    }

    /**
     * See {@link TaskManager#markTaskWorking}.
     *
     * @param taskId the task's id
     * @param statusMessage the new message, or null
     * @param options conditions, or null
     * @return the record after the change
     */
    public CompletableFuture<String> markTaskWorking(
            String taskId, @Nullable String statusMessage, @Nullable String options) {
        return Background.later(() -> manager.markTaskWorking(taskId, statusMessage, options), completion);
    }

    /**
     * See {@link TaskManager#requestTaskInput}.
     *
     * @param taskId the task's id
     * @param inputRequests input requests by key
     * @param statusMessage the new message, or null
     * @param options conditions, or null
     * @return the record after the change
     */
    public CompletableFuture<String> requestTaskInput(
            String taskId, String inputRequests, @Nullable String statusMessage, @Nullable String options) {
        return Background.later(() -> manager.requestTaskInput(taskId, inputRequests, statusMessage, options), completion);
    }

    /**
     * See {@link TaskManager#completeTask}.
     *
     * @param taskId the task's id
     * @param result the result
     * @param statusMessage the last message, or null
     * @param options conditions, or null
     * @return the record after the change
     */
    public CompletableFuture<String> completeTask(
            String taskId, String result, @Nullable String statusMessage, @Nullable String options) {
        return Background.later(() -> manager.completeTask(taskId, result, statusMessage, options), completion);
    }

    /**
     * See {@link TaskManager#failTask}.
     *
     * @param taskId the task's id
     * @param failure the JSON-RPC error
     * @param statusMessage the last message, or null
     * @param options conditions, or null
     * @return the record after the change
     */
    public CompletableFuture<String> failTask(
            String taskId, String failure, @Nullable String statusMessage, @Nullable String options) {
        return Background.later(() -> manager.failTask(taskId, failure, statusMessage, options), completion);
    }

    /**
     * See {@link TaskManager#cancelTask}.
     *
     * @param taskId the task's id
     * @param statusMessage the last message, or null
     * @param options conditions, or null
     * @return the record after the change
     */
    public CompletableFuture<String> cancelTask(
            String taskId, @Nullable String statusMessage, @Nullable String options) {
        return Background.later(() -> manager.cancelTask(taskId, statusMessage, options), completion);
    }

    /**
     * See {@link TaskManager#takeTaskInputResponses}.
     *
     * @param taskId the task's id
     * @param options conditions, or null
     * @return answers by key
     */
    public CompletableFuture<String> takeTaskInputResponses(String taskId, @Nullable String options) {
        return Background.later(() -> manager.takeTaskInputResponses(taskId, options), completion);
    }

    /**
     * See {@link TaskManager#updateTask}.
     *
     * @param endpoint the endpoint that the request came to
     * @param partition the caller's authorization partition, or null
     * @param taskId the task's id
     * @param inputResponses answers by key
     * @param options conditions, or null
     * @return the accepted and the ignored keys
     */
    public CompletableFuture<String> updateTask(
            String endpoint, @Nullable String partition, String taskId, String inputResponses, @Nullable String options) {
        return Background.later(() -> manager.updateTask(endpoint, partition, taskId, inputResponses, options), completion);
    }

    /**
     * See {@link TaskManager#requestTaskCancelation}.
     *
     * @param endpoint the endpoint that the request came to
     * @param partition the caller's authorization partition, or null
     * @param taskId the task's id
     * @return the end of the call
     */
    public CompletableFuture<Void> requestTaskCancelation(String endpoint, @Nullable String partition, String taskId) {
        return Background.laterRun(() -> manager.requestTaskCancelation(endpoint, partition, taskId), completion);
    }

    /**
     * See {@link TaskManager#handleRequest}.
     *
     * @param endpoint the endpoint that the request came to
     * @param partition the caller's authorization partition, or null
     * @param clientCapabilities what the client has declared, or null
     * @param request the request as it came
     * @return the response; empty for a notification
     */
    public CompletableFuture<Optional<String>> handleRequest(
            String endpoint, @Nullable String partition, @Nullable String clientCapabilities, String request) {
        return Background.later(() -> manager.handleRequest(endpoint, partition, clientCapabilities, request), completion);
    }

    /**
     * See {@link TaskManager#handleRequest(String, String, String, byte[])}.
     *
     * @param endpoint the endpoint that the request came to
     * @param partition the caller's authorization partition, or null
     * @param clientCapabilities what the client has declared, or null
     * @param request the request as it came
     * @return the response; empty for a notification
     */
    public CompletableFuture<Optional<String>> handleRequest(
            String endpoint, @Nullable String partition, @Nullable String clientCapabilities, byte[] request) {
        byte[] copy = request.clone();
        return Background.later(() -> manager.handleRequest(endpoint, partition, clientCapabilities, copy), completion);
    }

    /**
     * See {@link TaskManager#isTaskCancelationRequested}.
     *
     * @param taskId the task's id
     * @return whether it was asked for
     */
    public CompletableFuture<Boolean> isTaskCancelationRequested(String taskId) {
        return Background.later(() -> manager.isTaskCancelationRequested(taskId), completion);
    }

    /**
     * See {@link TaskManager#waitTaskAsync}: no thread waits.
     *
     * @param taskId the task's id
     * @param seenRevision the revision seen last; 0 for any
     * @param timeout the longest wait, real time
     * @return the record
     */
    public CompletableFuture<String> waitTask(String taskId, long seenRevision, Duration timeout) {
        return manager.waitTaskAsync(taskId, seenRevision, timeout, completion);
    }

    /**
     * See {@link TaskManager#claimTask}: a platform thread waits. A future that is cancelled takes no task along; the wait ends
     * within a second.
     *
     * @param claim which work is wanted
     * @param timeout the longest wait, real time; zero looks and returns
     * @return the record; empty when no task came
     */
    public CompletableFuture<Optional<String>> claimTask(String claim, Duration timeout) {
        return Claims.claimLater(manager, claim, timeout, completion);
    }

    /**
     * See {@link TaskManager#renewLeases}.
     *
     * @param renewals the tasks whose leases are renewed
     * @return what became of them
     */
    public CompletableFuture<String> renewLeases(String renewals) {
        return Background.later(() -> manager.renewLeases(renewals), completion);
    }

    /**
     * See {@link TaskManager#releaseTask}.
     *
     * @param taskId the task's id
     * @param options the lease, and how the task is given back
     * @return the record after the change
     */
    public CompletableFuture<String> releaseTask(String taskId, @Nullable String options) {
        return Background.later(() -> manager.releaseTask(taskId, options), completion);
    }

    /**
     * See {@link TaskManager#listTasks}.
     *
     * @param params parameters, or null
     * @return one page
     */
    public CompletableFuture<String> listTasks(@Nullable String params) {
        return Background.later(() -> manager.listTasks(params), completion);
    }

    /**
     * See {@link TaskManager#findAuthorizedTask}.
     *
     * @param endpoint the endpoint that the request came to
     * @param partition the caller's authorization partition, or null
     * @param taskId the task's id
     * @return the record
     */
    public CompletableFuture<Optional<String>> findAuthorizedTask(
            String endpoint, @Nullable String partition, String taskId) {
        return Background.later(() -> manager.findAuthorizedTask(endpoint, partition, taskId), completion);
    }

    /**
     * See {@link TaskManager#renderTask}.
     *
     * @param endpoint the endpoint of the client
     * @param partition the client's authorization partition, or null
     * @param taskId the task's id
     * @param rendering what the client gets
     * @param options a JSON object, or null
     * @return the text for the client, and the revision that it shows
     */
    public CompletableFuture<Revisioned> renderTask(
            String endpoint, @Nullable String partition, String taskId, Rendering rendering, @Nullable String options) {
        return Background.later(
                () -> manager.renderTask(endpoint, partition, taskId, rendering, options), completion);
    }

    /**
     * See {@link TaskManager#publishTaskChanged}.
     *
     * @param taskId the task's id
     * @return the end of the call
     */
    public CompletableFuture<Void> publishTaskChanged(String taskId) {
        return Background.laterRun(() -> manager.publishTaskChanged(taskId), completion);
    }
}
