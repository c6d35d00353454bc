package dev.taskhold.spring;

import dev.taskhold.SessionStore;
import dev.taskhold.StateProvider;
import dev.taskhold.Store;
import dev.taskhold.TaskManager;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties {@code taskhold.*}. What is not set has the library's default, which the builders name.
 *
 * @param url where the records live: {@code memory:}, {@code sqlite:PATH} or {@code postgresql://...}; memory unless set
 * @param store options of the store
 * @param tasks options of the manager of MCP tasks
 * @param sessions options of the store of MCP sessions
 * @param a2a options of the provider of A2A tasks
 * @param metrics what is measured
 */
@ConfigurationProperties("taskhold")
public record TaskholdProperties(
        @Nullable String url,
        @DefaultValue StoreOptions store,
        @DefaultValue TaskOptions tasks,
        @DefaultValue SessionOptions sessions,
        @DefaultValue A2aOptions a2a,
        @DefaultValue MetricsOptions metrics) {

    /**
     * Options of the store; see {@link Store.Builder}.
     *
     * @param durability SQLite: what a commit waits for, full (the disk) or normal
     * @param busyTimeout SQLite: how long a call waits for another process that writes
     * @param poolSize PostgreSQL: how many connections calls may use
     * @param acquireTimeout PostgreSQL: how long a call waits for one of these connections
     * @param statementTimeout PostgreSQL: how long a statement may take
     * @param schema PostgreSQL: in which schema the tables are
     * @param poolerSafe PostgreSQL: whether there is a pooler in transaction mode before the server
     * @param eventPoll PostgreSQL: how often to look for what others changed where nothing tells of it
     */
    public record StoreOptions(
            @Nullable String durability,
            @Nullable Duration busyTimeout,
            @Nullable Integer poolSize,
            @Nullable Duration acquireTimeout,
            @Nullable Duration statementTimeout,
            @Nullable String schema,
            @Nullable Boolean poolerSafe,
            @Nullable Duration eventPoll) {

        Store.Builder applyTo(Store.Builder builder) {
            set(durability, builder::durability);
            set(busyTimeout, builder::busyTimeout);
            set(poolSize, builder::poolSize);
            set(acquireTimeout, builder::acquireTimeout);
            set(statementTimeout, builder::statementTimeout);
            set(schema, builder::schema);
            set(poolerSafe, builder::poolerSafe);
            set(eventPoll, builder::eventPoll);
            return builder;
        }
    }

    /**
     * Options of the manager of MCP tasks; see {@link TaskManager.Builder}.
     *
     * @param name under which name it shares its tasks with others over the same store
     * @param maximumRetainedTasks how many tasks it keeps at most
     * @param maximumRetainedTasksPerPartition how many tasks it keeps of one partition at most
     * @param timeToLive how long a task lives, from its creation on
     * @param pollInterval how often clients are to ask
     * @param maximumPayloadBytes how many bytes a payload has at most
     */
    public record TaskOptions(
            @Nullable String name,
            @Nullable Long maximumRetainedTasks,
            @Nullable Long maximumRetainedTasksPerPartition,
            @Nullable Duration timeToLive,
            @Nullable Duration pollInterval,
            @Nullable Long maximumPayloadBytes) {

        TaskManager.Builder applyTo(TaskManager.Builder builder) {
            set(name, builder::name);
            set(maximumRetainedTasks, builder::maximumRetainedTasks);
            set(maximumRetainedTasksPerPartition, builder::maximumRetainedTasksPerPartition);
            set(timeToLive, builder::taskTimeToLive);
            set(pollInterval, builder::pollInterval);
            set(maximumPayloadBytes, builder::maximumPayloadBytes);
            return builder;
        }
    }

    /**
     * Options of the store of MCP sessions; see {@link SessionStore.Builder}.
     *
     * @param name under which name it shares its sessions with others over the same store
     * @param idleTimeout after how long without activity a session ends
     * @param concurrentSessionLimit how many sessions there are at most
     * @param concurrentSessionLimitPerPartition how many sessions of one partition there are at most
     * @param initializationTimeout after how long without initialization a session ends
     * @param keepExpired how many expired sessions are kept until they are taken
     */
    public record SessionOptions(
            @Nullable String name,
            @Nullable Duration idleTimeout,
            @Nullable Long concurrentSessionLimit,
            @Nullable Long concurrentSessionLimitPerPartition,
            @Nullable Duration initializationTimeout,
            @Nullable Long keepExpired) {

        SessionStore.Builder applyTo(SessionStore.Builder builder) {
            set(name, builder::name);
            set(idleTimeout, builder::idleTimeout);
            set(concurrentSessionLimit, builder::concurrentSessionLimit);
            set(concurrentSessionLimitPerPartition, builder::concurrentSessionLimitPerPartition);
            set(initializationTimeout, builder::initializationTimeout);
            set(keepExpired, builder::keepExpired);
            return builder;
        }
    }

    /**
     * Options of the provider of A2A tasks; see {@link StateProvider.Builder}.
     *
     * @param name under which name it shares its tasks with others over the same store
     * @param gracePeriod how long a task stays active after it became final
     * @param maximumRetainedTasks how many tasks it keeps at most
     * @param finalizedRetention how long a task is kept after it became final
     * @param activeRetention how long a task that is not final is kept after its last save
     * @param maximumEventsPerTask how many events the log of a task keeps
     * @param maximumEventBytesPerTask how many bytes the events of a task have together
     * @param announceSaves whether event queues tell of every save
     * @param maximumPayloadBytes how many bytes a task has at most
     */
    public record A2aOptions(
            @Nullable String name,
            @Nullable Duration gracePeriod,
            @Nullable Long maximumRetainedTasks,
            @Nullable Duration finalizedRetention,
            @Nullable Duration activeRetention,
            @Nullable Long maximumEventsPerTask,
            @Nullable Long maximumEventBytesPerTask,
            @DefaultValue("false") boolean announceSaves,
            @Nullable Long maximumPayloadBytes) {

        StateProvider.Builder applyTo(StateProvider.Builder builder) {
            set(name, builder::name);
            set(gracePeriod, builder::gracePeriod);
            set(maximumRetainedTasks, builder::maximumRetainedTasks);
            set(finalizedRetention, builder::finalizedRetention);
            set(activeRetention, builder::activeRetention);
            set(maximumEventsPerTask, builder::maximumEventsPerTask);
            set(maximumEventBytesPerTask, builder::maximumEventBytesPerTask);
            set(maximumPayloadBytes, builder::maximumPayloadBytes);
            return announceSaves ? builder.announceSaves() : builder;
        }
    }

    /**
     * What is measured; see {@link TaskholdMetrics}.
     *
     * @param refresh how old what meters show may be: the store is asked no more often, since counting may visit every record
     * @param queues the queues of tasks that have meters
     */
    public record MetricsOptions(@DefaultValue("10s") Duration refresh, @DefaultValue List<String> queues) {}

    private static <T> void set(@Nullable T value, Consumer<T> setter) {
        if (value != null) {
            setter.accept(value);
        }
    }
}
