package dev.taskhold.a2a;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.taskhold.Owner;
import dev.taskhold.StateProvider;
import io.a2a.server.tasks.InMemoryPushNotificationConfigStore;
import io.a2a.server.tasks.PushNotificationConfigStore;
import io.a2a.spec.AuthenticationInfo;
import io.a2a.spec.InvalidParamsError;
import io.a2a.spec.ListTaskPushNotificationConfigParams;
import io.a2a.spec.ListTaskPushNotificationConfigResult;
import io.a2a.spec.PushNotificationConfig;
import io.a2a.spec.Task;
import io.a2a.spec.TaskNotFoundError;
import io.a2a.spec.TaskState;
import io.a2a.spec.TaskStatus;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Push notification configs are kept as the SDK's store in memory keeps them, with their task. */
class A2aPushConfigStoreTest {
    private static final Task TASK =
            Task.builder().id("t").contextId("c").status(new TaskStatus(TaskState.TASK_STATE_WORKING)).build();

    private static PushNotificationConfig config(String id, String token) {
        return new PushNotificationConfig("https://client.example/" + token, token, new AuthenticationInfo("Bearer", "s"), id);
    }

    private static ListTaskPushNotificationConfigResult page(PushNotificationConfigStore store, int size, String token) {
        return store.getInfo(new ListTaskPushNotificationConfigParams("t", size, token, "tenant"));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 5, 6})
    void bothAnswerTheSame(int size) {
        PushNotificationConfigStore theirs = new InMemoryPushNotificationConfigStore();
        try (StateProvider provider = StateProvider.builder().open()) {
            A2aTaskStore tasks = new A2aTaskStore(provider);
            PushNotificationConfigStore ours = new A2aPushConfigStore(tasks);
            tasks.save(TASK, false);
            for (PushNotificationConfig config : List.of(
                    config("a", "1"), config("", "2"), config("b", "3"), config("", "4"), config("c", "5"), config("d", "6"))) {
                assertEquals(theirs.setInfo("t", config), ours.setInfo("t", config));
            }
            // What is set again stands at the end there, and in its place here.
            theirs.deleteInfo("t", null);
            ours.deleteInfo("t", null);
            theirs.deleteInfo("t", "unknown");
            ours.deleteInfo("t", "unknown");
            String token = "";
            do {
                ListTaskPushNotificationConfigResult page = page(theirs, size, token);
                assertEquals(page, page(ours, size, token));
                token = page.nextPageToken();
            } while (token != null);
        }
    }

    @Test
    void aConfigIsReplacedAndGoesWithItsTask() {
        try (StateProvider provider = StateProvider.builder().open()) {
            A2aTaskStore tasks = new A2aTaskStore(provider);
            A2aPushConfigStore configs = new A2aPushConfigStore(tasks);
            // It waits for the task.
            configs.setInfo("t", config("a", "1"));
            tasks.save(TASK, false);
            configs.setInfo("t", config("a", "2"));
            assertEquals(config("a", "2"), page(configs, 0, "").configs().get(0).config());
            assertEquals(1, page(configs, 0, "").configs().size());
            tasks.delete("t");
            assertEquals(List.of(), page(configs, 0, "").configs());
        }
    }

    @Test
    void anotherOwnersTaskHasNone() {
        try (StateProvider provider = StateProvider.builder().open()) {
            A2aTaskStore tasks = new A2aTaskStore(provider);
            tasks.save(TASK, false);
            new A2aPushConfigStore(tasks).setInfo("t", config("a", "1"));
            A2aPushConfigStore others = new A2aPushConfigStore(tasks.of(Owner.of("alice")));
            assertEquals(List.of(), page(others, 0, "").configs());
            others.deleteInfo("t", "a");
            assertThrows(TaskNotFoundError.class, () -> others.setInfo("t", config("b", "2")));
            assertEquals(1, page(new A2aPushConfigStore(tasks), 0, "").configs().size());
        }
    }

    @Test
    void tokensAndIdsThatAreNoneAreRefused() {
        try (StateProvider provider = StateProvider.builder().open()) {
            A2aTaskStore tasks = new A2aTaskStore(provider);
            A2aPushConfigStore configs = new A2aPushConfigStore(tasks);
            tasks.save(TASK, false);
            assertThrows(InvalidParamsError.class, () -> page(configs, 1, "x"));
            assertThrows(InvalidParamsError.class, () -> configs.setInfo("", config("a", "1")));
            assertThrows(InvalidParamsError.class, () -> configs.setInfo("t", config("\u0000", "1")));
            configs.deleteInfo("", "a");
            assertEquals(
                    List.of(),
                    configs.getInfo(new ListTaskPushNotificationConfigParams("\ud800")).configs());
        }
    }
}
