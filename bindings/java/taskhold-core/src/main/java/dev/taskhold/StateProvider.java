package dev.taskhold;

import static dev.taskhold.Text.utf8;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A provider of the state of A2A tasks: it keeps the tasks and tells which are active and which are final. A task is final
 * when it is completed, canceled, failed or rejected; every other state is active. Where a method takes an owner, it sees
 * that owner's tasks only; null is the anonymous owner, and another than "". Durations are milliseconds. Any thread may
 * use it.
 */
public final class StateProvider implements AutoCloseable {
    private final Handle handle;

    private StateProvider(Handle handle) {
        this.handle = handle;
    }

    /**
     * Begins the options of a state provider.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Opens a state provider.
     *
     * @param store where the tasks live, or null for a private store in memory
     * @param options a JSON object as {@link Builder} writes it, or null
     * @return the state provider
     * @throws TaskholdException.InvalidArgument malformed {@code options}
     */
    public static StateProvider open(@Nullable Store store, @Nullable String options) {
        byte[] optionsText = utf8(options);
        return new StateProvider(Handle.openOver(
                store == null ? null : store.handle,
                (over, out, error) -> Library.ABI.taskhold_state_provider_open(over, optionsText, out, error),
                Library.ABI::taskhold_state_provider_close));
    }

    /**
     * Gives the options that this provider works with, defaults filled in.
     *
     * @return a JSON object
     */
    public String options() {
        return handle.someText(Library.ABI::taskhold_state_provider_options);
    }

    /**
     * Gives the same calls as futures, for stores on disk. They complete on the common pool.
     *
     * @return the asynchronous twin
     */
    public AsyncStateProvider async() {
        return async(Background.COMMON);
    }

    /**
     * Gives the same calls as futures, which complete on an executor: there runs what depends on them.
     *
     * @param completion where the futures complete
     * @return the asynchronous twin
     */
    public AsyncStateProvider async(Executor completion) {
        return new AsyncStateProvider(this, completion);
    }

    /**
     * Saves a task: a new one, or in place of the stored one. The time when it first becomes final is kept, whatever is
     * saved later.
     *
     * @param owner whose task it is, or null
     * @param task an A2A Task object, kept byte for byte; {@code id} and {@code status.state} are required
     * @param options a JSON object as {@link SaveOptions} writes it, or null
     * @return the revision that this save made
     * @throws TaskholdException.InvalidArgument {@code invalid_payload}, {@code invalid_identifier},
     *     {@code invalid_timestamp}, malformed JSON
     * @throws TaskholdException.NotFound the id belongs to another owner, or the task must exist and does not
     * @throws TaskholdException.InvalidState {@code task_final}: the stored task is final, and this one is not or may not be saved
     *     then
     * @throws TaskholdException.Conflict {@code revision_mismatch}
     * @throws TaskholdException.CapacityExhausted the limit of retained tasks is reached
     * @throws TaskholdException.LimitExceeded {@code payload_too_large}, {@code nesting_too_deep}
     */
    public long saveTask(@Nullable String owner, String task, @Nullable String options) {
        byte[] ownerText = utf8(owner);
        byte[] taskText = utf8(task);
        byte[] optionsText = utf8(options);
        return handle.wideNumber((self, revision, error) -> Library.ABI.taskhold_state_provider_save_task(
                self, ownerText, taskText, optionsText, revision, error));
    }

    /**
     * Finds one of the owner's tasks. Unknown tasks and those of other owners give the same answer.
     *
     * @param owner whose task, or null
     * @param taskId the task's id
     * @param params a JSON object or null: {@code historyLength} (absent: all; n: the last n messages; 0: no
     *     {@code history})
     * @return the task and its revision
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}, malformed {@code params}
     */
    public Optional<Revisioned> getTask(@Nullable String owner, String taskId, @Nullable String params) {
        byte[] ownerText = utf8(owner);
        byte[] id = utf8(taskId);
        byte[] paramsText = utf8(params);
        return Optional.ofNullable(handle.revisioned(
                (self, out, revision, error) -> Library.ABI.taskhold_state_provider_get_task(
                        self, ownerText, id, paramsText, out, revision, error)));
    }

    /**
     * Deletes one of the owner's tasks. One that is not there, or is another owner's, is left alone.
     *
     * @param owner whose task, or null
     * @param taskId the task's id
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}
     */
    public void deleteTask(@Nullable String owner, String taskId) {
        byte[] ownerText = utf8(owner);
        byte[] id = utf8(taskId);
        handle.run((self, error) -> Library.ABI.taskhold_state_provider_delete_task(self, ownerText, id, error));
    }

    /**
     * Lists the owner's tasks, as the A2A protocol's ListTasks: by status timestamp descending (absent last), then by id
     * ascending.
     *
     * @param owner whose tasks, or null
     * @param params a JSON object or null: {@code contextId}, {@code status} and {@code statusTimestampAfter} as filters,
     *     {@code pageSize} 1 to 100 (50), {@code pageToken}, {@code historyLength} (0), {@code includeArtifacts} (false),
     *     {@code includeRevisions} (false), {@code anyOwner} (false): the tasks of all owners, for operators, never for clients,
     *     and without an owner; each is {@code {"owner": "...", "revision": 7, "task": {...}}} then
     * @return {@code {"tasks": [...], "totalSize": 0, "pageSize": 0, "nextPageToken": ""}}
     * @throws TaskholdException.InvalidArgument {@code invalid_page_token}, malformed {@code params}
     */
    public String listTasks(@Nullable String owner, @Nullable String params) {
        byte[] ownerText = utf8(owner);
        byte[] paramsText = utf8(params);
        return handle.someText((self, out, error) ->
                Library.ABI.taskhold_state_provider_list_tasks(self, ownerText, paramsText, out, error));
    }

    /**
     * Tells whether a task is active: not final, or final but within the grace period after it became so. For deciding
     * whether events that arrive late are still processed.
     *
     * @param taskId the task's id, whoever owns it
     * @return whether it is active; false for an unknown task
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}
     * @throws TaskholdException.Unavailable a failed storage is never reported as "not active"
     */
    public boolean isTaskActive(String taskId) {
        byte[] id = utf8(taskId);
        return handle.number((self, out, error) ->
                        Library.ABI.taskhold_state_provider_is_task_active(self, id, out, error))
                == 1;
    }

    /**
     * Tells whether a task is in a final state, whatever the grace period. For deciding whether a queue can be closed.
     *
     * @param taskId the task's id, whoever owns it
     * @return whether it is final; false for an unknown task
     * @throws TaskholdException as {@link #isTaskActive}
     */
    public boolean isTaskFinalized(String taskId) {
        byte[] id = utf8(taskId);
        return handle.number((self, out, error) ->
                        Library.ABI.taskhold_state_provider_is_task_finalized(self, id, out, error))
                == 1;
    }

    /**
     * Tells where a task stands: both answers above, and whether it is known at all, from one reading.
     *
     * @param taskId the task's id, whoever owns it
     * @return where it stands
     * @throws TaskholdException as {@link #isTaskActive}
     */
    public Liveness taskLiveness(String taskId) {
        byte[] id = utf8(taskId);
        return Liveness.of(handle.number((self, out, error) ->
                Library.ABI.taskhold_state_provider_task_liveness(self, id, out, error)));
    }

    /**
     * Reads a task's log: the events that saves appended to it, oldest first. For the trusted host, never for clients. To follow a
     * task, continue after the revision of the last event or, when none came, after {@code revision}, and wait with
     * {@link #waitTask} in between.
     *
     * @param taskId the task's id, whoever owns it
     * @param params a JSON object or null: {@code afterRevision} (0), {@code limit} 1 to 1000 (100)
     * @return {@code {"events": [{"revision": 8, "event": {...}}], "revision": 9, "missing": false}} from one reading;
     *     {@code missing} is true when events were dropped, or the task was deleted and made again; the log of an unknown task is
     *     empty, its revision 0
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}, malformed {@code params}
     */
    public String readEvents(String taskId, @Nullable String params) {
        byte[] id = utf8(taskId);
        byte[] paramsText = utf8(params);
        return handle.someText((self, out, error) ->
                Library.ABI.taskhold_state_provider_read_events(self, id, paramsText, out, error));
    }

    /**
     * Waits until a task's revision is not the one seen: it was saved here or in another process. The thread is parked, while a
     * platform thread waits for it in the library; for very many tasks at once take {@link Builder#announceSaves} and one queue.
     *
     * @param taskId the task's id, whoever owns it
     * @param seenRevision the revision seen last; 0 for none
     * @param timeout the longest wait, real time; zero looks and returns
     * @return the task's revision
     * @throws InterruptedException if this thread is interrupted while it waits
     * @throws TaskholdException.NotFound {@code task_not_found}: the task is not there, or goes
     * @throws TaskholdException.Timeout {@code timeout}
     * @throws TaskholdException.Closed {@code closed_while_waiting}: the provider was closed
     */
    public long waitTask(String taskId, long seenRevision, Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + Background.nanos(timeout);
        try {
            return revisionAfter(taskId, seenRevision, 0);
        } catch (TaskholdException.Timeout nothingYet) {
            if (deadline - System.nanoTime() <= 0) {
                throw nothingYet;
            }
        }
        AtomicBoolean left = new AtomicBoolean();
        try {
            return Background.parked(() -> waitHere(taskId, seenRevision, deadline, left::get));
        } finally {
            left.set(true);
        }
    }

    /** Waits on this very thread, which the library holds meanwhile; ends some time after nobody wants to know any more. */
    long waitHere(String taskId, long seenRevision, long deadline, BooleanSupplier left) {
        for (;;) {
            long restMs = (deadline - System.nanoTime()) / 1_000_000 + 1;
            try {
                return revisionAfter(taskId, seenRevision, (int) Math.max(0, Math.min(Background.SLICE_MS, restMs)));
            } catch (TaskholdException.Timeout nothingYet) {
                if (left.getAsBoolean() || deadline - System.nanoTime() <= 0) {
                    throw nothingYet;
                }
            }
        }
    }

    private long revisionAfter(String taskId, long seenRevision, int timeoutMs) {
        byte[] id = utf8(taskId);
        return handle.wideNumber((self, revision, error) -> Library.ABI.taskhold_state_provider_wait_task(
                self, id, seenRevision, timeoutMs, revision, error));
    }

    /**
     * Keeps a push notification config for one of the owner's tasks, in the place of the one with the same id. It goes with its
     * task. While there is no task under the id, the config waits in this provider's memory for the owner's first save.
     *
     * @param owner whose task, or null
     * @param taskId the task's id
     * @param configId the config's id, 1 to 1024 bytes, unique for the task; null stands for {@code taskId}, as in the A2A SDKs
     * @param config a JSON object, kept byte for byte; nothing in it is looked at: whether its URL may be called is the host's to
     *     decide
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}, {@code invalid_payload}, malformed JSON
     * @throws TaskholdException.NotFound {@code task_not_found}: the task is another owner's
     * @throws TaskholdException.CapacityExhausted the task has 100 configs
     * @throws TaskholdException.LimitExceeded {@code payload_too_large}, {@code nesting_too_deep}
     */
    public void setPushConfig(@Nullable String owner, String taskId, @Nullable String configId, String config) {
        byte[] ownerText = utf8(owner);
        byte[] id = utf8(taskId);
        byte[] configIdText = utf8(configId);
        byte[] configText = utf8(config);
        handle.run((self, error) -> Library.ABI.taskhold_state_provider_set_push_config(
                self, ownerText, id, configIdText, configText, error));
    }

    /**
     * Lists the push notification configs of one of the owner's tasks, the one that was set first coming first.
     *
     * @param owner whose task, or null
     * @param taskId the task's id
     * @param params a JSON object or null: {@code anyOwner} (false), of the task whoever owns it: for sending notifications, never
     *     for clients, and without an owner
     * @return {@code {"configs": [{"id": "...", "config": {...}}]}}; none for an unknown task and for another owner's
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}, malformed {@code params}
     */
    public String listPushConfigs(@Nullable String owner, String taskId, @Nullable String params) {
        byte[] ownerText = utf8(owner);
        byte[] id = utf8(taskId);
        byte[] paramsText = utf8(params);
        return handle.someText((self, out, error) -> Library.ABI.taskhold_state_provider_list_push_configs(
                self, ownerText, id, paramsText, out, error));
    }

    /**
     * Deletes a push notification config of one of the owner's tasks, or all of them. What is not there, or is another owner's, is
     * left alone.
     *
     * @param owner whose task, or null
     * @param taskId the task's id
     * @param configId the config's id; null deletes all of the task's
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}
     */
    public void deletePushConfig(@Nullable String owner, String taskId, @Nullable String configId) {
        byte[] ownerText = utf8(owner);
        byte[] id = utf8(taskId);
        byte[] configIdText = utf8(configId);
        handle.run((self, error) -> Library.ABI.taskhold_state_provider_delete_push_config(
                self, ownerText, id, configIdText, error));
    }

    /**
     * Opens a queue that tells when tasks become final: once for each, after the change is stored, and not for replicated
     * saves. With {@link Builder#announceSaves} it tells of every save too. It outlives the provider.
     *
     * @param capacity the most events that wait in it, at least 1
     * @return the queue
     * @throws TaskholdException.InvalidArgument {@code invalid_value}: {@code capacity} is 0 or negative
     */
    public TaskEvents openEvents(int capacity) {
        return new TaskEvents(Handle.openOver(
                handle,
                (self, out, error) -> Library.ABI.taskhold_state_provider_open_events(self, Math.max(0, capacity), out, error),
                Library.ABI::taskhold_events_close));
    }

    /** Closes the provider. Its tasks stay in the store. */
    @Override
    public void close() {
        handle.close();
    }

    /** Options of a state provider. Durations are whole milliseconds. */
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
         * Names the provider, {@code "default"} unless said: those with the same name over one store share their tasks.
         *
         * @param name the name; null is {@code "default"}
         * @return this builder
         */
        public Builder name(@Nullable String name) {
            options.text("name", name);
            return this;
        }

        /**
         * Says how long a final task still counts as active; 15 seconds unless said.
         *
         * @param period the time, zero allowed
         * @return this builder
         */
        public Builder gracePeriod(Duration period) {
            options.number("gracePeriodMs", Background.millis(period));
            return this;
        }

        /**
         * Limits how many tasks may be there at once; there is no limit unless said.
         *
         * @param limit the limit; 0 is none
         * @return this builder
         */
        public Builder maximumRetainedTasks(long limit) {
            options.number("maximumRetainedTasks", limit);
            return this;
        }

        /**
         * Says how long a task is kept after it became final; for ever unless said.
         *
         * @param retention the time; zero is for ever
         * @return this builder
         */
        public Builder finalizedRetention(Duration retention) {
            options.number("finalizedRetentionMs", Background.millis(retention));
            return this;
        }

        /**
         * Says how long a task that is not final is kept after its last save, so that abandoned ones give their places back; for
         * ever unless said. Each task has the time of the provider that saved it last.
         *
         * @param retention the time; zero is for ever
         * @return this builder
         */
        public Builder activeRetention(Duration retention) {
            options.number("activeRetentionMs", Background.millis(retention));
            return this;
        }

        /**
         * Limits how many events the log of one task keeps; the oldest go. There is no limit unless said.
         *
         * @param limit the limit; 0 is none
         * @return this builder
         */
        public Builder maximumEventsPerTask(long limit) {
            options.number("maximumEventsPerTask", limit);
            return this;
        }

        /**
         * Limits how many bytes the events of one task have together; the oldest go. There is no limit unless said.
         *
         * @param limit the limit; 0 is none
         * @return this builder
         */
        public Builder maximumEventBytesPerTask(long limit) {
            options.number("maximumEventBytesPerTask", limit);
            return this;
        }

        /**
         * Says that event queues tell of every save ({@link TaskEvent.Kind#SAVED}), so that one queue serves any number of streams.
         *
         * @return this builder
         */
        public Builder announceSaves() {
            options.bool("announceSaves", true);
            return this;
        }

        /**
         * Limits the bytes of one task, 10 MiB unless said.
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
         * Opens the provider.
         *
         * @return the provider
         * @throws TaskholdException.InvalidArgument {@code invalid_value}: {@link TaskholdException#key} names the option
         */
        public StateProvider open() {
            return StateProvider.open(store, options.toString());
        }
    }
}
