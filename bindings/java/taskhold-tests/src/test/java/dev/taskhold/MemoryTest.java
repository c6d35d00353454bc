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
    /** Bytes of each string that goes in and comes out: one in fifty that is not freed is found. */
    private static final int PAYLOAD = 500;

    @Test
    void aMillionCallsDoNotGrowTheProcess() throws IOException, InterruptedException {
        try (TaskManager tasks = TaskManager.builder().open()) {
            String record = tasks.createTask(TaskCreation.at("/mcp", Json.quote("x".repeat(PAYLOAD))).toJson());
            String id = Json.get(record, "/task/taskId").orElseThrow();
            calls(tasks, id, CALLS / 10);
            long before = residentBytes();
            calls(tasks, id, CALLS);
            long growth = residentBytes() - before;
            assertTrue(growth < (long) CALLS * PAYLOAD / 50, "the process grew by " + growth + " bytes");
            assertEquals("1", Json.get(tasks.findTask(id).orElseThrow(), "/revision").orElseThrow());
        }
    }

    /** Of each ten calls six give a record, two find nothing, one fails with an error object, and one opens and closes. */
    private static void calls(TaskManager tasks, String id, int count) throws InterruptedException {
        for (int call = 0; call < count; call++) {
            switch (call % 10) {
                case 0 -> assertThrows(TaskholdException.NotFound.class, () -> tasks.cancelTask("none", null, null));
                case 1 -> tasks.openEvents(1).close();
                case 2 -> tasks.findAuthorizedTask("/mcp", "other", id);
                case 3 -> tasks.findTask("none");
                case 4 -> tasks.waitTask(id, 0, Duration.ZERO);
                case 5 -> tasks.renderTask("/mcp", null, id, Rendering.GET_RESULT, null);
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
