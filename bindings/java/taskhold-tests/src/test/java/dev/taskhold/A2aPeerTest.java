package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.a2a.jsonrpc.common.wrappers.ListTasksResult;
import io.a2a.server.tasks.InMemoryTaskStore;
import io.a2a.spec.ListTasksParams;
import io.a2a.spec.Message;
import io.a2a.spec.Task;
import io.a2a.spec.TaskState;
import io.a2a.spec.TaskStatus;
import io.a2a.spec.TextPart;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The store in memory of a2a-java, which is its {@code TaskStateProvider}, answers random sequences of calls as the one here
 * does. Where the two differ, and why the difference stays:
 *
 * <ul>
 *   <li>It has no grace period, although its interface describes one: compared with a grace period of zero here.
 *   <li>It lets a final task become active again; here that is {@code task_final}, so that a queue that was closed for good
 *       is not needed again. Such a save goes to neither in this test.
 *   <li>Its {@code statusTimestampAfter} is exclusive. The A2A specification says "greater than or equal", and that is how it
 *       is here.
 *   <li>Where history or artifacts are left out it gives empty lists, and here the members are absent: what is compared are
 *       their lengths.
 *   <li>Page tokens are each one's own.
 * </ul>
 */
class A2aPeerTest {
    private static final Instant START = Instant.parse("2026-01-31T12:00:00Z");
    private static final List<TaskState> STATES = List.of(TaskState.values()).stream()
            .filter(state -> state != TaskState.UNRECOGNIZED)
            .toList();

    /** What both are compared by. */
    private record Shown(String id, @Nullable String context, String state, int history, int artifacts) {}

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void bothAnswerTheSame(long seed) {
        Random random = new Random(seed);
        InMemoryTaskStore theirs = new InMemoryTaskStore();
        int saves = 0;
        try (StateProvider ours = StateProvider.builder().gracePeriod(Duration.ZERO).open()) {
            for (int call = 0; call < 1_500; call++) {
                String id = "task-" + random.nextInt(40);
                switch (random.nextInt(8)) {
                    case 0 -> {
                        ours.deleteTask(null, id);
                        theirs.delete(id);
                    }
                    case 1 -> compareLists(ours, theirs, random);
                    case 2 -> {
                        assertEquals(shown(theirs.get(id)), shownHere(ours, id));
                        assertEquals(theirs.isTaskActive(id), ours.isTaskActive(id));
                        assertEquals(theirs.isTaskFinalized(id), ours.isTaskFinalized(id));
                    }
                    default -> {
                        Task task = randomTask(random, id);
                        boolean backToLife = theirs.isTaskFinalized(id) && !task.status().state().isFinal();
                        if (backToLife) {
                            TaskholdException refusal = assertThrows(
                                    TaskholdException.InvalidState.class, () -> ours.saveTask(null, json(task), null));
                            assertEquals("task_final", refusal.reason());
                        } else {
                            ours.saveTask(null, json(task), null);
                            theirs.save(task, false);
                            saves++;
                        }
                    }
                }
            }
        }
        assertTrue(saves > 300, "only " + saves + " saves");
    }

    private static Task randomTask(Random random, String id) {
        List<Message> history = IntStream.range(0, random.nextInt(4))
                .mapToObj(at -> Message.builder()
                        .messageId("m" + at)
                        .role(Message.Role.values()[0])
                        .parts(List.of(new TextPart("text " + at)))
                        .build())
                .toList();
        TaskState state = STATES.get(random.nextInt(STATES.size()));
        Instant time = START.plusMillis(random.nextInt(20));
        return Task.builder()
                .id(id)
                .contextId("context-" + random.nextInt(3))
                .status(new TaskStatus(state, null, time.atOffset(ZoneOffset.UTC)))
                .history(history)
                .build();
    }

    private static String json(Task task) {
        List<Object> history = new ArrayList<>();
        for (Message message : task.history()) {
            history.add(Map.of("messageId", message.messageId(), "role", "user", "parts", List.of(Map.of("text", "t"))));
        }
        return JsonText.write(Backends.map(
                "id", task.id(),
                "contextId", task.contextId(),
                "status", Backends.map("state", task.status().state().name(), "timestamp", task.status().timestamp().toInstant().toString()),
                "history", history));
    }

    private static void compareLists(StateProvider ours, InMemoryTaskStore theirs, Random random) {
        String context = random.nextBoolean() ? "context-" + random.nextInt(3) : null;
        TaskState state = random.nextInt(3) == 0 ? STATES.get(random.nextInt(STATES.size())) : null;
        Instant after = random.nextInt(3) == 0 ? START.plusMillis(random.nextInt(20)) : null;
        int pageSize = 1 + random.nextInt(12);
        int history = random.nextInt(3);

        Map<String, Object> params = Backends.map("pageSize", pageSize, "historyLength", history);
        if (context != null) {
            params.put("contextId", context);
        }
        if (state != null) {
            params.put("status", state.name());
        }
        if (after != null) {
            params.put("statusTimestampAfter", after.toString());
        }
        String ourToken = "";
        String theirToken = null;
        do {
            params.put("pageToken", ourToken);
            Map<String, Object> ourPage = JsonText.object(JsonText.parse(ours.listTasks(null, JsonText.write(params))));
            ListTasksResult theirPage = theirs.list(new ListTasksParams(
                    context, state, pageSize, theirToken, history, after == null ? null : after.minusNanos(1), false, ""));
            assertEquals(
                    theirPage.tasks().stream().map(A2aPeerTest::shown).toList(),
                    JsonText.array(ourPage.get("tasks")).stream().map(A2aPeerTest::shownHere).toList());
            assertEquals(Integer.toString(theirPage.totalSize()), String.valueOf(ourPage.get("totalSize")));
            assertEquals(Integer.toString(theirPage.pageSize()), String.valueOf(ourPage.get("pageSize")));
            ourToken = (String) ourPage.get("nextPageToken");
            theirToken = theirPage.nextPageToken();
            assertEquals(theirToken == null || theirToken.isEmpty(), ourToken.isEmpty());
        } while (!ourToken.isEmpty());
    }

    private static @Nullable Shown shown(@Nullable Task task) {
        return task == null
                ? null
                : new Shown(
                        task.id(),
                        task.contextId(),
                        task.status().state().name(),
                        task.history().size(),
                        task.artifacts().size());
    }

    private static @Nullable Shown shownHere(StateProvider ours, String id) {
        return ours.getTask(null, id, null).map(task -> shownHere(JsonText.parse(task.json()))).orElse(null);
    }

    private static Shown shownHere(Object task) {
        Map<String, Object> members = JsonText.object(task);
        return new Shown(
                (String) members.get("id"),
                (String) members.get("contextId"),
                (String) JsonText.object(members.get("status")).get("state"),
                length(members.get("history")),
                length(members.get("artifacts")));
    }

    private static int length(@Nullable Object list) {
        return list == null ? 0 : JsonText.array(list).size();
    }
}
