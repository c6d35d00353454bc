package dev.taskhold.a2a;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.taskhold.StateProvider;
import dev.taskhold.TaskholdException;
import io.a2a.jsonrpc.common.wrappers.ListTasksResult;
import io.a2a.server.tasks.InMemoryTaskStore;
import io.a2a.spec.ListTasksParams;
import io.a2a.spec.Task;
import io.a2a.spec.TaskState;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The store answers random sequences of calls as the SDK's store in memory does, task for task: what they hold, their order, the
 * totals and where a listing ends. What differs on purpose: the SDK's takes a final task back to life, has no grace period, reads
 * {@code statusTimestampAfter} as exclusive, and with what is below milliseconds, and takes a state that it does not know for
 * final.
 */
class SamePagesTest {

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void bothAnswerTheSame(long seed) {
        Random random = new Random(seed);
        InMemoryTaskStore theirs = new InMemoryTaskStore();
        int saves = 0;
        try (StateProvider provider =
                StateProvider.builder().gracePeriod(Duration.ZERO).open()) {
            A2aTaskStore ours = new A2aTaskStore(provider);
            for (int call = 0; call < 600; call++) {
                String id = "task-" + random.nextInt(40);
                switch (random.nextInt(8)) {
                    case 0 -> {
                        ours.delete(id);
                        theirs.delete(id);
                    }
                    case 1 -> compareLists(ours, theirs, random);
                    case 2 -> {
                        assertEquals(theirs.get(id), ours.get(id));
                        assertEquals(theirs.isTaskActive(id), ours.isTaskActive(id));
                        assertEquals(theirs.isTaskFinalized(id), ours.isTaskFinalized(id));
                    }
                    default -> {
                        Task task = Samples.task(random, id);
                        if (theirs.isTaskFinalized(id) && !task.status().state().isFinal()) {
                            TaskholdException refusal =
                                    assertThrows(TaskholdException.InvalidState.class, () -> ours.save(task, false));
                            assertEquals("task_final", refusal.reason());
                        } else {
                            ours.save(task, random.nextBoolean());
                            theirs.save(task, false);
                            saves++;
                        }
                    }
                }
            }
        }
        assertTrue(saves > 100, "only " + saves + " saves");
    }

    private static void compareLists(A2aTaskStore ours, InMemoryTaskStore theirs, Random random) {
        String context = random.nextBoolean() ? "context-" + random.nextInt(3) : null;
        TaskState state = random.nextInt(3) == 0 ? Samples.state(random) : null;
        Instant after = random.nextInt(3) == 0 ? Samples.time(random).truncatedTo(ChronoUnit.MILLIS) : null;
        Integer pageSize = random.nextInt(4) == 0 ? null : 1 + random.nextInt(12);
        Integer history = random.nextInt(3) == 0 ? null : random.nextInt(4);
        Boolean artifacts = random.nextInt(3) == 0 ? null : random.nextBoolean();
        String ourToken = null;
        String theirToken = null;
        do {
            ListTasksResult ourPage = ours.list(
                    new ListTasksParams(context, state, pageSize, ourToken, history, after, artifacts, ""));
            ListTasksResult theirPage = theirs.list(new ListTasksParams(
                    context,
                    state,
                    pageSize,
                    theirToken,
                    history,
                    after == null ? null : after.minusNanos(1),
                    artifacts,
                    ""));
            assertEquals(theirPage.tasks(), ourPage.tasks());
            assertEquals(theirPage.totalSize(), ourPage.totalSize());
            assertEquals(theirPage.pageSize(), ourPage.pageSize());
            assertEquals(theirPage.hasMoreResults(), ourPage.hasMoreResults());
            ourToken = ourPage.nextPageToken();
            theirToken = theirPage.nextPageToken();
        } while (theirToken != null);
        assertEquals(null, ourToken);
    }
}
