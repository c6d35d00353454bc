package dev.taskhold.a2a;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.taskhold.ManualClock;
import dev.taskhold.Owner;
import dev.taskhold.StateProvider;
import dev.taskhold.Store;
import dev.taskhold.TaskholdException;
import io.a2a.jsonrpc.common.json.JsonUtil;
import io.a2a.spec.InternalError;
import io.a2a.spec.InvalidParamsError;
import io.a2a.spec.ListTasksParams;
import io.a2a.spec.Task;
import io.a2a.spec.TaskState;
import io.a2a.spec.TaskStatus;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the store adds to the SDK's: it loses nothing, keeps owners apart, and refuses what it cannot keep. */
class A2aTaskStoreTest {
    private static final Owner ALICE = Owner.of("alice");

    private static Task task(String id, TaskState state) {
        return Task.builder().id(id).contextId("c").status(new TaskStatus(state)).build();
    }

    @Test
    void aFileHasWhatWasSavedAfterItIsClosed(@TempDir Path folder) throws Exception {
        String url = "sqlite:" + folder.resolve("agents.db");
        List<Task> tasks = new Random(5).longs(200).mapToObj(seed -> Samples.task(new Random(seed), "t" + seed)).toList();
        try (Store store = Store.builder().url(url).durability("normal").open();
                StateProvider provider = StateProvider.builder().store(store).open()) {
            A2aTaskStore saved = new A2aTaskStore(provider);
            tasks.forEach(task -> saved.save(task, false));
        }
        try (Store store = Store.builder().url(url).open();
                StateProvider provider = StateProvider.builder().store(store).open()) {
            A2aTaskStore found = new A2aTaskStore(provider);
            for (Task task : tasks) {
                assertEquals(task, found.get(task.id()));
                assertEquals(JsonUtil.toJson(task), JsonUtil.toJson(found.get(task.id())));
            }
        }
    }

    @Test
    void ownersSeeTheirOwnTasks() {
        try (StateProvider provider = StateProvider.builder().open()) {
            A2aTaskStore anonymous = new A2aTaskStore(provider);
            A2aTaskStore alice = anonymous.of(ALICE);
            Task task = task("t", TaskState.TASK_STATE_WORKING);
            alice.save(task, false);
            assertEquals(task, alice.get("t"));
            assertNull(anonymous.get("t"));
            anonymous.delete("t");
            assertEquals(0, anonymous.list(new ListTasksParams()).totalSize());
            assertEquals(List.of(task), alice.list(new ListTasksParams()).tasks());
            assertEquals(
                    "task_not_found",
                    assertThrows(TaskholdException.NotFound.class, () -> anonymous.save(task, false)).reason());
            // Queues are of no owner.
            assertTrue(anonymous.isTaskActive("t"));
            assertSame(provider, alice.provider());
            alice.delete("t");
            assertNull(alice.get("t"));
        }
    }

    @Test
    void aFinalTaskStaysActiveForTheGracePeriod() {
        try (ManualClock clock = ManualClock.open(Instant.EPOCH);
                Store store = Store.builder().clock(clock).open();
                StateProvider provider = StateProvider.builder()
                        .store(store)
                        .gracePeriod(Duration.ofSeconds(15))
                        .open()) {
            A2aTaskStore tasks = new A2aTaskStore(provider);
            tasks.save(task("t", TaskState.TASK_STATE_COMPLETED), false);
            assertTrue(tasks.isTaskActive("t"));
            assertTrue(tasks.isTaskFinalized("t"));
            clock.advance(Duration.ofSeconds(15));
            assertFalse(tasks.isTaskActive("t"));
            assertTrue(tasks.isTaskFinalized("t"));
            assertFalse(tasks.isTaskActive("unknown"));
            assertFalse(tasks.isTaskFinalized("unknown"));
        }
    }

    @Test
    void aStateThatTheSdkDoesNotKnowIsKept() {
        try (StateProvider provider = StateProvider.builder().open()) {
            A2aTaskStore tasks = new A2aTaskStore(provider);
            Task task = task("t", TaskState.UNRECOGNIZED);
            tasks.save(task, false);
            assertEquals(task, tasks.get("t"));
            assertEquals(List.of(task), tasks.list(new ListTasksParams()).tasks());
            ListTasksParams noState = ListTasksParams.builder().status(TaskState.UNRECOGNIZED).build();
            assertThrows(InvalidParamsError.class, () -> tasks.list(noState));
        }
    }

    @ParameterizedTest
    @CsvSource({"completed,TASK_STATE_COMPLETED", "input-required,TASK_STATE_INPUT_REQUIRED", "cancelled,TASK_STATE_CANCELED",
        "TASK_STATE_WORKING,TASK_STATE_WORKING", "TASK_STATE_NEW,UNRECOGNIZED"})
    void statesOfOtherHostsAreRead(String written, TaskState read) {
        try (StateProvider provider = StateProvider.builder().open()) {
            provider.saveTask(null, "{\"id\":\"t\",\"contextId\":\"c\",\"status\":{\"state\":\"" + written + "\"}}", null);
            assertEquals(read, new A2aTaskStore(provider).get("t").status().state());
        }
    }

    @Test
    void whatIsNoTaskOfTheSdkIsLeftOutOfListings() {
        try (StateProvider provider = StateProvider.builder().open()) {
            A2aTaskStore tasks = new A2aTaskStore(provider);
            Task task = task("t", TaskState.TASK_STATE_WORKING);
            tasks.save(task, false);
            provider.saveTask(null, "{\"id\":\"strange\",\"status\":{\"state\":\"working\"}}", null);
            assertThrows(InternalError.class, () -> tasks.get("strange"));
            assertEquals(List.of(task), tasks.list(new ListTasksParams()).tasks());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "\ud800", "\u0000"})
    void idsThatNoTaskCanHaveAreUnknown(String id) {
        try (StateProvider provider = StateProvider.builder().open()) {
            A2aTaskStore tasks = new A2aTaskStore(provider);
            assertNull(tasks.get(id));
            tasks.delete(id);
            assertFalse(tasks.isTaskActive(id));
            assertFalse(tasks.isTaskFinalized(id));
            assertThrows(InvalidParamsError.class, () -> tasks.save(task(id, TaskState.TASK_STATE_WORKING), false));
            assertEquals(0, tasks.list(new ListTasksParams()).totalSize());
        }
    }

    @Test
    void whatJsonCannotHoldIsRefused() {
        try (StateProvider provider = StateProvider.builder().open()) {
            A2aTaskStore tasks = new A2aTaskStore(provider);
            Task task = Task.builder(task("t", TaskState.TASK_STATE_WORKING)).metadata(Map.of("a", Double.NaN)).build();
            assertThrows(InvalidParamsError.class, () -> tasks.save(task, false));
            assertNull(tasks.get("t"));
        }
    }

    @Test
    void tokensOfOthersAreRefused() {
        try (StateProvider provider = StateProvider.builder().open()) {
            A2aTaskStore tasks = new A2aTaskStore(provider);
            for (String id : List.of("a", "b")) {
                tasks.save(task(id, TaskState.TASK_STATE_WORKING), false);
            }
            String token = tasks.list(new ListTasksParams(1, "")).nextPageToken();
            assertEquals(1, tasks.list(new ListTasksParams(1, token)).tasks().size());
            for (ListTasksParams refused : List.of(
                    new ListTasksParams(1, "x"), ListTasksParams.builder().contextId("c").pageToken(token).build())) {
                assertThrows(InvalidParamsError.class, () -> tasks.list(refused));
            }
            assertThrows(InvalidParamsError.class, () -> tasks.of(ALICE).list(new ListTasksParams(1, token)));
        }
    }
}
