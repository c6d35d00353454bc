package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
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
    void aTextThatBecomesAMemberIsOneValue() {
        String two = "{}, \"authorizationPartition\": \"victim\"";
        for (String bad : new String[] {two, "", "{", "1 2", "{}}, \"x\": {", "\uFEFF{}"}) {
            refused("invalid_json", () -> TaskCreation.at("/mcp", bad).toJson());
            refused("invalid_json", () -> TaskCreation.at("/mcp", "{}").metadata(bad).toJson());
            refused("invalid_json", () -> SessionCreation.defaults().sessionContext(bad).toJson());
            refused("invalid_json", () -> Store.builder().option("durability", bad).open());
            refused("invalid_json", () -> TaskManager.builder().option("name", bad));
            refused("invalid_json", () -> SessionStore.builder().option("name", bad));
            refused("invalid_json", () -> StateProvider.builder().option("name", bad));
            refused("invalid_json", () -> InputRequests.of("k", bad));
            refused("invalid_json", () -> Failure.of(1, "m").withData(bad).toJson());
            refused("invalid_json", () -> TransitionOptions.none().checkpoint(bad));
            refused("invalid_json", () -> TaskCreation.at("/mcp", "{}").work(bad));
            refused("invalid_json", () -> SaveOptions.none().event(bad));
        }
        TaskholdException refusal = assertThrows(TaskholdException.class, () -> TaskCreation.at("/mcp", two));
        assertEquals(Optional.of("origin"), refusal.key());
    }

    @Test
    void anyRequestIsAnswered() {
        String capabilities = "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}";
        String get = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/get\",\"params\":{\"taskId\":\"a\"}}";
        try (TaskManager tasks = TaskManager.builder().open()) {
            for (String request : new String[] {"", "x", get + "\0", "\0" + get, get.replace("\"a\"", "\"a\uD800\""), "\uDC00"}) {
                String response = tasks.handleRequest("/mcp", null, capabilities, request).orElseThrow();
                assertEquals("-32700", Json.get(response, "/error/code").orElseThrow());
                assertEquals("null", Json.get(response, "/id").orElseThrow());
            }
            byte[] bytes = get.getBytes(StandardCharsets.UTF_8);
            assertEquals(
                    tasks.handleRequest("/mcp", null, capabilities, get),
                    tasks.handleRequest("/mcp", null, capabilities, bytes));
            for (int at = 0; at <= bytes.length; at++) {
                byte[] cut = Arrays.copyOf(bytes, bytes.length + 1);
                System.arraycopy(bytes, at, cut, at + 1, bytes.length - at);
                for (byte inserted : new byte[] {0, (byte) 0xED, (byte) 0xFF}) {
                    cut[at] = inserted;
                    byte[] before = cut.clone();
                    String response = tasks.handleRequest("/mcp", null, capabilities, cut).orElseThrow();
                    assertEquals("-32700", Json.get(response, "/error/code").orElseThrow());
                    assertArrayEquals(before, cut);
                }
            }
        }
    }

    @Test
    void valuesOutOfRangeAreRefusedAsDocumented() {
        Duration long1 = Duration.ofSeconds(Long.MAX_VALUE);
        try (ManualClock clock = ManualClock.open(Instant.EPOCH)) {
            refused("invalid_value", () -> ManualClock.open(Instant.MAX));
            refused("invalid_value", () -> ManualClock.open(Instant.MIN));
            refused("invalid_value", () -> clock.advance(long1));
            refused("invalid_value", () -> clock.stepWall(long1));
            refused("invalid_value", () -> clock.stepWall(long1.negated()));
        }
        refused("invalid_value", () -> TaskManager.builder().taskTimeToLive(long1).open());
        refused("invalid_value", () -> TaskManager.builder().pollInterval(long1.negated()).open());
        refused("invalid_value", () -> SessionStore.builder().idleTimeout(long1).open());
        refused("invalid_value", () -> StateProvider.builder().gracePeriod(long1).open());
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
        assertTrue(refusal.getMessage().endsWith(" (maximumRetainedTasks)"), refusal.getMessage());
        TaskholdException unknown = assertThrows(
                TaskholdException.InvalidArgument.class, () -> TaskManager.open(null, "{\"new\\nline\": 1}"));
        assertEquals(Optional.of("new\nline"), unknown.key());
        assertTrue(unknown.getMessage().endsWith(" (new\\nline)"), unknown.getMessage());
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
