package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Texts cross unchanged, or they do not cross. */
class TextTest {

    @Test
    void everyCharacterComesBack() {
        try (StateProvider provider = StateProvider.builder().open()) {
            for (int block = 0; block < 0x11; block++) {
                StringBuilder all = new StringBuilder();
                for (int point = block << 16; point < (block + 1) << 16; point++) {
                    if (point != 0 && !(point >= 0xD800 && point <= 0xDFFF)) {
                        all.appendCodePoint(point);
                    }
                }
                String task = "{\"id\":\"t" + block + "\",\"status\":{\"state\":\"working\"},\"name\":" + Json.quote(all.toString())
                        + "}";
                provider.saveTask(null, task, null);
                String back = provider.getTask(null, "t" + block, null).orElseThrow().json();
                assertEquals(task, back);
                assertEquals(all.toString(), Json.get(back, "/name").orElseThrow());
            }
        }
    }

    @Test
    void identifiersOfAnyLanguageAreFound() {
        try (StateProvider provider = StateProvider.builder().open()) {
            for (String id : new String[] {"é", "日本語", "😀", "a\u0301", "\uFEFFb", "\u0001"}) {
                String owner = id + "!";
                provider.saveTask(
                        owner, "{\"id\":" + Json.quote(id) + ",\"status\":{\"state\":\"working\"}}", null);
                assertTrue(provider.isTaskActive(id));
                assertTrue(provider.getTask(owner, id, null).isPresent());
                assertEquals(Optional.empty(), provider.getTask(id, id, null));
            }
        }
    }

    @Test
    void whatWouldNotSurviveIsRefused() {
        try (TaskManager tasks = TaskManager.builder().open()) {
            refused("embedded_nul", () -> tasks.findTask("a\0b"));
            refused("embedded_nul", () -> tasks.findTask("\0"));
            refused("lone_surrogate", () -> tasks.findTask("a\uD800"));
            refused("lone_surrogate", () -> tasks.findTask("\uDC00a"));
            refused("lone_surrogate", () -> tasks.findTask("\uD800\uD800\uDC00"));
            refused("lone_surrogate", () -> tasks.completeTask("a", "{\"k\":\"\uD83D\"}", null, null));
            refused("embedded_nul", () -> TaskManager.open(null, "{\"name\":\"\0\"}"));
        }
    }

    private static void refused(String reason, Runnable call) {
        TaskholdException refusal = assertThrows(TaskholdException.InvalidArgument.class, call::run);
        assertEquals(reason, refusal.reason());
        assertEquals(reason, Json.get(refusal.errorJson(), "/reason").orElseThrow());
        assertEquals("invalid_argument", Json.get(refusal.errorJson(), "/status").orElseThrow());
    }

    @Test
    void errorsSayWhatIsWrong() {
        TaskholdException refusal = assertThrows(
                TaskholdException.InvalidArgument.class,
                () -> TaskManager.builder().maximumRetainedTasks(-1).open());
        assertEquals("invalid_value", refusal.reason());
        assertEquals(Optional.of("maximumRetainedTasks"), refusal.key());
        assertTrue(refusal.limit().isPresent());
        assertEquals(Status.INVALID_ARGUMENT, refusal.status());
        assertTrue(refusal.getMessage().startsWith("invalid_value: "));
    }

    @Test
    void buildersWriteWhatTheLibraryReads() {
        try (TaskManager tasks = TaskManager.builder().name("n\"ame").pollInterval(Duration.ofSeconds(2)).open()) {
            assertEquals("n\"ame", Json.get(tasks.options(), "/name").orElseThrow());
            assertEquals("2000", Json.get(tasks.options(), "/pollIntervalMs").orElseThrow());
            String record = tasks.createTask(TaskCreation.at("/mcp", "{\"tool\": \"t\"}")
                    .authorizationPartition("alice")
                    .metadata("{\"k\": 1.0}")
                    .declaredInputRequests("roots/list", "elicitation/form")
                    .toJson());
            assertEquals("alice", Json.get(record, "/authorizationPartition").orElseThrow());
            assertEquals("{\"k\": 1.0}", Json.get(record, "/metadata").orElseThrow());
            assertEquals("elicitation/form", Json.get(record, "/declaredInputRequests/1").orElseThrow());
            String id = Json.get(record, "/task/taskId").orElseThrow();
            String once = TransitionOptions.none().expectedRevision(1).unlessCancelationRequested().toJson();
            tasks.markTaskWorking(id, "half", once);
            assertEquals(
                    "revision_mismatch",
                    assertThrows(TaskholdException.Conflict.class, () -> tasks.cancelTask(id, null, once)).reason());
        }
        try (SessionStore sessions = SessionStore.builder().concurrentSessionLimit(1).open()) {
            String made = sessions.create(
                            "/mcp",
                            SessionCreation.defaults()
                                    .sessionId("mine")
                                    .authorizationPartition("alice")
                                    .sessionContext("{\"a\": []}")
                                    .toJson())
                    .orElseThrow();
            assertEquals("{\"a\": []}", Json.get(made, "/sessionContext").orElseThrow());
            assertEquals(Optional.empty(), sessions.create("/mcp", null));
            assertEquals(Optional.of(made), sessions.findAuthorizedSession("/mcp", "alice", "mine"));
        }
    }
}
