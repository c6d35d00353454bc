package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** A million calls leave no native memory behind: a string that nobody frees would show. */
class MemoryTest {
    private static final int CALLS = 1_000_000;
    private static final int PAYLOAD = 2_000;

    /** What compilers and allocators may take; less than any one kind of string below would leave. */
    private static final long ALLOWED = 40_000_000;

    @Test
    void aMillionCallsDoNotGrowTheProcess() throws IOException, InterruptedException {
        try (TaskManager tasks = TaskManager.builder().open()) {
            String record = tasks.createTask(TaskCreation.at("/mcp", Json.quote("x".repeat(PAYLOAD))).toJson());
            String id = Json.get(record, "/task/taskId").orElseThrow();
            calls(tasks, id, CALLS / 4);
            long before = residentBytes();
            calls(tasks, id, CALLS);
            long growth = residentBytes() - before;
            assertTrue(growth < ALLOWED, "the process grew by " + growth + " bytes");
            assertEquals("1", Json.get(tasks.findTask(id).orElseThrow(), "/revision").orElseThrow());
        }
    }

    /** Of each ten calls four give a text, four fail with an error object, one finds nothing, one opens and closes. */
    private static void calls(TaskManager tasks, String id, int count) throws InterruptedException {
        for (int call = 0; call < count; call++) {
            switch (call % 10) {
                case 0, 1, 2, 3 -> assertThrows(
                        TaskholdException.NotFound.class, () -> tasks.cancelTask("none", null, null));
                case 4 -> tasks.openEvents(1).close();
                case 5 -> tasks.findAuthorizedTask("/mcp", "other", id);
                case 6 -> tasks.waitTask(id, 0, Duration.ZERO);
                case 7 -> tasks.renderTask("/mcp", null, id, Rendering.GET_RESULT, null);
                default -> tasks.findTask(id);
            }
        }
    }

    private static long residentBytes() throws IOException {
        System.gc();
        // The second number counts pages.
        return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]) * 4096;
    }
}
