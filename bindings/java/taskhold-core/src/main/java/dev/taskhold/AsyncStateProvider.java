package dev.taskhold;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a {@link StateProvider} as futures, for stores on disk; see {@link AsyncTaskManager} for the threads. Each
 * method is as the one of the same name; the future fails with what that one throws.
 */
public final class AsyncStateProvider {
    private final StateProvider provider;
    private final Executor completion;

    AsyncStateProvider(StateProvider provider, Executor completion) {
        this.provider = provider;
        this.completion = completion;
    }

    /**
     * See {@link StateProvider#saveTask}.
     *
     * @param owner whose task it is, or null
     * @param task the task
     * @param options conditions, or null
     * @return the revision that this save made
     */
    public CompletableFuture<Long> saveTask(@Nullable String owner, String task, @Nullable String options) {
        return Background.later(() -> provider.saveTask(owner, task, options), completion);
    }

    /**
     * See {@link StateProvider#getTask}.
     *
     * @param owner whose task, or null
     * @param taskId the task's id
     * @param params parameters, or null
     * @return the task and its revision
     */
    public CompletableFuture<Optional<Revisioned>> getTask(
            @Nullable String owner, String taskId, @Nullable String params) {
        return Background.later(() -> provider.getTask(owner, taskId, params), completion);
    }

    /**
     * See {@link StateProvider#deleteTask}.
     *
     * @param owner whose task, or null
     * @param taskId the task's id
     * @return the end of the call
     */
    public CompletableFuture<Void> deleteTask(@Nullable String owner, String taskId) {
        return Background.laterRun(() -> provider.deleteTask(owner, taskId), completion);
    }

    /**
     * See {@link StateProvider#listTasks}.
     *
     * @param owner whose tasks, or null
     * @param params parameters, or null
     * @return one page
     */
    public CompletableFuture<String> listTasks(@Nullable String owner, @Nullable String params) {
        return Background.later(() -> provider.listTasks(owner, params), completion);
    }

    /**
     * See {@link StateProvider#isTaskActive}.
     *
     * @param taskId the task's id
     * @return whether it is active
     */
    public CompletableFuture<Boolean> isTaskActive(String taskId) {
        return Background.later(() -> provider.isTaskActive(taskId), completion);
    }

    /**
     * See {@link StateProvider#isTaskFinalized}.
     *
     * @param taskId the task's id
     * @return whether it is final
     */
    public CompletableFuture<Boolean> isTaskFinalized(String taskId) {
        return Background.later(() -> provider.isTaskFinalized(taskId), completion);
    }

    /**
     * See {@link StateProvider#taskLiveness}.
     *
     * @param taskId the task's id
     * @return where it stands
     */
    public CompletableFuture<Liveness> taskLiveness(String taskId) {
        return Background.later(() -> provider.taskLiveness(taskId), completion);
    }

    /**
     * See {@link StateProvider#readEvents}.
     *
     * @param taskId the task's id
     * @param params parameters, or null
     * @return a part of the log
     */
    public CompletableFuture<String> readEvents(String taskId, @Nullable String params) {
        return Background.later(() -> provider.readEvents(taskId, params), completion);
    }

    /**
     * See {@link StateProvider#waitTask}: a platform thread waits. Cancelling the future ends the wait, within a second.
     *
     * @param taskId the task's id
     * @param seenRevision the revision seen last; 0 for none
     * @param timeout the longest wait, real time
     * @return the task's revision
     */
    public CompletableFuture<Long> waitTask(String taskId, long seenRevision, Duration timeout) {
        CompletableFuture<Long> answer = new CompletableFuture<>();
        Background.WAITING.execute(() -> {
            long deadline = System.nanoTime() + Background.nanos(timeout);
            Background.end(answer, () -> provider.waitHere(taskId, seenRevision, deadline, answer::isDone), completion);
        });
        return answer;
    }

    /**
     * See {@link StateProvider#setPushConfig}.
     *
     * @param owner whose task, or null
     * @param taskId the task's id
     * @param configId the config's id, or null
     * @param config the config
     * @return the end of the call
     */
    public CompletableFuture<Void> setPushConfig(
            @Nullable String owner, String taskId, @Nullable String configId, String config) {
        return Background.laterRun(() -> provider.setPushConfig(owner, taskId, configId, config), completion);
    }

    /**
     * See {@link StateProvider#listPushConfigs}.
     *
     * @param owner whose task, or null
     * @param taskId the task's id
     * @param params parameters, or null
     * @return the configs
     */
    public CompletableFuture<String> listPushConfigs(@Nullable String owner, String taskId, @Nullable String params) {
        return Background.later(() -> provider.listPushConfigs(owner, taskId, params), completion);
    }

    /**
     * See {@link StateProvider#deletePushConfig}.
     *
     * @param owner whose task, or null
     * @param taskId the task's id
     * @param configId the config's id, or null for all
     * @return the end of the call
     */
    public CompletableFuture<Void> deletePushConfig(@Nullable String owner, String taskId, @Nullable String configId) {
        return Background.laterRun(() -> provider.deletePushConfig(owner, taskId, configId), completion);
    }
}
