package dev.taskhold.jackson;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A named module uses the mapping of one Jackson, compiled and run where the other is not there. */
class ConsumerTest {

    @ParameterizedTest
    @CsvSource({
        "Jackson2,com.fasterxml.jackson.databind,tools/jackson/core",
        "Jackson3,tools.jackson.databind,com/fasterxml/jackson/core/jackson-databind"
    })
    void oneJacksonIsEnough(String mapping, String module, String other, @TempDir Path folder) throws Exception {
        Files.writeString(
                folder.resolve("module-info.java"),
                "module consumer { requires dev.taskhold.jackson; requires " + module + "; }");
        Files.writeString(folder.resolve("Consumer.java"), """
                package consumer;

                public class Consumer {
                    public static void main(String[] arguments) {
                        System.out.print(new dev.taskhold.jackson.%s(new %s.ObjectMapper()).write(java.util.Map.of("pages", 3)));
                    }
                }
                """.formatted(mapping, module));
        String path = modules(other);
        StringWriter output = new StringWriter();
        int status = ToolProvider.findFirst("javac").orElseThrow().run(
                new PrintWriter(output),
                new PrintWriter(output),
                "-p", path, "-d", folder.resolve("compiled").toString(),
                folder.resolve("module-info.java").toString(), folder.resolve("Consumer.java").toString());
        assertEquals(0, status, output.toString());
        Process run = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-p", path + File.pathSeparator + folder.resolve("compiled"), "-m", "consumer/consumer.Consumer")
                .redirectErrorStream(true)
                .start();
        String printed = new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, run.waitFor(), printed);
        assertEquals("{\"pages\":3}", printed);
    }

    /** What this test runs with, but the other Jackson and the tests. */
    private static String modules(String other) {
        return Stream.of(System.getProperty("jdk.module.path"), System.getProperty("java.class.path"))
                .filter(Objects::nonNull)
                .flatMap(path -> Stream.of(path.split(File.pathSeparator)))
                .filter(entry -> entry.contains("taskhold-") || entry.contains("jackson"))
                .filter(entry -> !entry.contains("test-classes") && !entry.contains("taskhold-jna"))
                .filter(entry -> !entry.replace(File.separatorChar, '/').contains("/" + other + "/"))
                .collect(Collectors.joining(File.pathSeparator));
    }
}
