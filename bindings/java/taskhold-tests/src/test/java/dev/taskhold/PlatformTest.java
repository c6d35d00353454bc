package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** Runs first: the other tests are worth nothing if they run on another Java or through another backend. */
@Order(1)
class PlatformTest {

    @Test
    void theseTestsRunWhereTheyShould() {
        int java = Runtime.version().feature();
        String wanted = System.getProperty("taskhold.backend", "ffm");
        assertEquals(wanted, Taskhold.backend());
        String range = System.getProperty("taskhold.expected.java", "");
        if (range.equals("[17,22)")) {
            assertTrue(java >= 17 && java < 22, "this is Java " + java);
        } else if (range.equals("[22,)")) {
            assertTrue(java >= 22, "this is Java " + java);
        }
        System.out.println("Java " + java + ", backend " + Taskhold.backend() + ", library " + Taskhold.version());
    }

    @Test
    void describesTheLibrary() {
        assertEquals(Taskhold.version(), Json.get(Taskhold.describe(), "/version").orElseThrow());
        assertEquals("1", Json.get(Taskhold.describe(), "/abiVersion").orElseThrow());
        assertTrue(Files.isRegularFile(Taskhold.library()));
        assertFalse(Backends.available().isEmpty());
    }
}
