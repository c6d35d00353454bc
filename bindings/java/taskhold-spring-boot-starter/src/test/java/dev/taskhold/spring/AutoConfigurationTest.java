package dev.taskhold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.taskhold.A2aTasks;
import dev.taskhold.Caller;
import dev.taskhold.Json;
import dev.taskhold.ManualClock;
import dev.taskhold.SessionStore;
import dev.taskhold.Sessions;
import dev.taskhold.StateProvider;
import dev.taskhold.Store;
import dev.taskhold.TaskCreation;
import dev.taskhold.TaskId;
import dev.taskhold.TaskManager;
import dev.taskhold.TaskholdException;
import dev.taskhold.Tasks;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.beans.factory.config.DestructionAwareBeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** A real application context has the beans, set by properties. */
class AutoConfigurationTest {
    private final ApplicationContextRunner runner =
            new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(TaskholdAutoConfiguration.class));

    @Test
    void springBootFindsTheConfigurations() {
        assertThat(ImportCandidates.load(AutoConfiguration.class, getClass().getClassLoader()).getCandidates())
                .contains(
                        TaskholdAutoConfiguration.class.getName(),
                        TaskholdHealthAutoConfiguration.class.getName(),
                        TaskholdMetricsAutoConfiguration.class.getName());
    }

    @Test
    void withoutPropertiesAllIsInMemory() {
        runner.run(context -> {
            assertThat(context).hasSingleBean(Sessions.class).hasSingleBean(A2aTasks.class);
            TaskId id = context.getBean(Tasks.class)
                    .create(TaskCreation.of(Caller.at("/mcp"), "{}"))
                    .taskId();
            assertThat(context.getBean(TaskManager.class).findTask(id.value())).isPresent();
            String stats = context.getBean(Store.class).stats();
            assertThat(Json.get(stats, "/backend")).contains("memory");
            assertThat(Json.get(stats, "/tasks/working")).contains("1");
        });
    }

    @Test
    void propertiesReachTheLibrary() {
        runner.withPropertyValues(
                        "taskhold.tasks.name=n1",
                        "taskhold.tasks.maximum-retained-tasks=11",
                        "taskhold.tasks.maximum-retained-tasks-per-partition=7",
                        "taskhold.tasks.time-to-live=2h",
                        "taskhold.tasks.poll-interval=250ms",
                        "taskhold.tasks.maximum-payload-bytes=1000",
                        "taskhold.sessions.name=n2",
                        "taskhold.sessions.idle-timeout=5m",
                        "taskhold.sessions.concurrent-session-limit=12",
                        "taskhold.sessions.concurrent-session-limit-per-partition=6",
                        "taskhold.sessions.initialization-timeout=9s",
                        "taskhold.sessions.keep-expired=3",
                        "taskhold.a2a.name=n3",
                        "taskhold.a2a.grace-period=4s",
                        "taskhold.a2a.maximum-retained-tasks=13",
                        "taskhold.a2a.finalized-retention=30d",
                        "taskhold.a2a.active-retention=60d",
                        "taskhold.a2a.maximum-events-per-task=14",
                        "taskhold.a2a.maximum-event-bytes-per-task=15000",
                        "taskhold.a2a.announce-saves=true",
                        "taskhold.a2a.maximum-payload-bytes=2000")
                .run(context -> {
                    assertOptions(
                            context.getBean(TaskManager.class).options(),
                            Map.of(
                                    "name", "n1",
                                    "maximumRetainedTasks", "11",
                                    "maximumRetainedTasksPerPartition", "7",
                                    "taskTimeToLiveMs", "7200000",
                                    "pollIntervalMs", "250",
                                    "maximumPayloadBytes", "1000"));
                    assertOptions(
                            context.getBean(SessionStore.class).options(),
                            Map.of(
                                    "name", "n2",
                                    "idleTimeoutMs", "300000",
                                    "concurrentSessionLimit", "12",
                                    "concurrentSessionLimitPerPartition", "6",
                                    "initializationTimeoutMs", "9000",
                                    "keepExpired", "3"));
                    assertOptions(
                            context.getBean(StateProvider.class).options(),
                            Map.of(
                                    "name", "n3",
                                    "gracePeriodMs", "4000",
                                    "maximumRetainedTasks", "13",
                                    "finalizedRetentionMs", "2592000000",
                                    "activeRetentionMs", "5184000000",
                                    "maximumEventsPerTask", "14",
                                    "maximumEventBytesPerTask", "15000",
                                    "announceSaves", "true",
                                    "maximumPayloadBytes", "2000"));
                });
    }

    private static void assertOptions(String options, Map<String, String> expected) {
        expected.forEach((name, value) ->
                assertThat(Json.get(options, "/" + name)).as(name).contains(value));
    }

    @Test
    void theUrlSaysWhere(@TempDir Path folder) {
        ApplicationContextRunner onFile = runner.withPropertyValues(
                "taskhold.url=sqlite:" + folder.resolve("agents.db"),
                "taskhold.store.durability=normal",
                "taskhold.store.busy-timeout=3s");
        List<TaskId> created = new ArrayList<>();
        onFile.run(context -> created.add(context.getBean(Tasks.class)
                .create(TaskCreation.of(Caller.at("/mcp"), "{}"))
                .taskId()));
        onFile.run(context -> assertThat(context.getBean(Tasks.class).find(created.get(0))).isPresent());
    }

    @Test
    void aWrongPropertyStopsTheStart() {
        runner.withPropertyValues("taskhold.tasks.maximum-retained-tasks=-1").run(context -> {
            assertThat(context).hasFailed();
            assertThat(context.getStartupFailure())
                    .rootCause()
                    .isInstanceOf(TaskholdException.InvalidArgument.class)
                    .hasMessageContaining("maximumRetainedTasks");
        });
        // Options of another backend, each of which the store names.
        for (String property : List.of(
                "durability=full",
                "pool-size=2",
                "acquire-timeout=1s",
                "statement-timeout=1s",
                "schema=agents",
                "pooler-safe=true",
                "event-poll=1s")) {
            runner.withPropertyValues("taskhold.store." + property)
                    .run(context -> assertThat(context.getStartupFailure())
                            .as(property)
                            .rootCause()
                            .isInstanceOf(TaskholdException.InvalidArgument.class));
        }
    }

    @Test
    void beansOfTheApplicationComeFirst() {
        Store own = Store.inMemory();
        runner.withBean("own", Store.class, () -> own).run(context -> {
            assertThat(context.getBean(Store.class)).isSameAs(own);
            context.getBean(Tasks.class).create(TaskCreation.of(Caller.at("/mcp"), "{}"));
            assertThat(Json.get(own.stats(), "/tasks/working")).contains("1");
        });
        assertThatThrownBy(own::stats).isInstanceOf(TaskholdException.InvalidHandle.class);
    }

    @Test
    void aClockOfTheApplicationIsTheStores() {
        runner.withBean(ManualClock.class, () -> ManualClock.open(Instant.EPOCH))
                .withPropertyValues("taskhold.tasks.time-to-live=1m")
                .run(context -> {
                    Tasks tasks = context.getBean(Tasks.class);
                    TaskId id = tasks.create(TaskCreation.of(Caller.at("/mcp"), "{}"))
                            .taskId();
                    context.getBean(ManualClock.class).advance(Duration.ofMinutes(1));
                    assertThat(tasks.find(id)).isEmpty();
                });
    }

    @Test
    void theStoreIsClosedLast() {
        List<Object> closed = new ArrayList<>();
        List<AutoCloseable> opened = new ArrayList<>();
        runner.withBean(DestructionAwareBeanPostProcessor.class, () -> (bean, name) -> closed.add(bean))
                .run(context -> {
                    for (Class<? extends AutoCloseable> type :
                            List.of(TaskManager.class, SessionStore.class, StateProvider.class, Store.class)) {
                        opened.add(context.getBean(type));
                    }
                });
        List<Object> order = closed.stream().filter(opened::contains).toList();
        assertThat(order).containsExactlyInAnyOrderElementsOf(opened);
        assertThat(order.get(3)).isInstanceOf(Store.class);
        assertThatThrownBy(() -> ((TaskManager) opened.get(0)).options())
                .isInstanceOf(TaskholdException.InvalidHandle.class);
        assertThatThrownBy(() -> ((Store) opened.get(3)).stats()).isInstanceOf(TaskholdException.InvalidHandle.class);
    }
}
