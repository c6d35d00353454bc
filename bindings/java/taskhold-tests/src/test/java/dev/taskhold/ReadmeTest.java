package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What README.md shows is what runs. */
class ReadmeTest {

    @Test
    void theQuickStartIsTheExampleAndRuns() throws IOException, InterruptedException {
        Path root = Path.of(System.getProperty("taskhold.root"));
        Path example = root.resolve(Path.of("examples", "java", "QuickStart.java"));
        String readme = Files.readString(root.resolve("README.md"));
        int begin = readme.indexOf("\n```java\n") + "\n```java\n".length();
        assertEquals(Files.readString(example), readme.substring(begin, readme.indexOf("```\n", begin)));

        LoaderTest.Run run = run(example);
        String response = run.last();
        assertEquals("7", Json.get(response, "/id").orElseThrow(), run.output());
        assertEquals("completed", Json.get(response, "/result/status").orElseThrow());
        assertEquals("Hello, Luca!", Json.get(response, "/result/result/content/0/text").orElseThrow());
    }

    @Test
    void theWorkerOfTheExampleAsksOnce() throws IOException, InterruptedException {
        Path root = Path.of(System.getProperty("taskhold.root"));
        String result = run(root.resolve(Path.of("examples", "java", "Reports.java"))).last();
        assertEquals("{\"about\":\"tides\",\"pages\":2,\"attempt\":2}", result);
    }

    private static LoaderTest.Run run(Path example) throws IOException, InterruptedException {
        LoaderTest.Run run = LoaderTest.java(
                Map.of(),
                "--enable-native-access=ALL-UNNAMED",
                "-Dtaskhold.backend=" + Taskhold.backend(),
                "-cp",
                System.getProperty("java.class.path"),
                example.toString());
        assertEquals(0, run.status(), run.output());
        return run;
    }
}
