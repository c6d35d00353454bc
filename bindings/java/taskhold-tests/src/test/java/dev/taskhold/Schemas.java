package dev.taskhold;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Schemas of the tests' PostgreSQL server, one for each store. They are dropped some at a time, by {@code psql}. */
final class Schemas {
    /** The variable that has the URL of the tests' database. */
    static final String SERVER = "TASKHOLD_TEST_POSTGRES";

    private static final int AT_A_TIME = 50;
    private static final AtomicInteger COUNT = new AtomicInteger();
    private static final List<String> DONE = new ArrayList<>();

    private Schemas() {}

    static String next() {
        return "java_" + ProcessHandle.current().pid() + "_" + COUNT.incrementAndGet();
    }

    static synchronized void drop(String schema) {
        DONE.add(schema);
        if (DONE.size() < AT_A_TIME) {
            return;
        }
        List<String> command = new ArrayList<>(List.of("psql", "-X", "-q", System.getenv(SERVER)));
        for (String done : DONE) {
            command.addAll(List.of("-c", "DROP SCHEMA IF EXISTS \"" + done + "\" CASCADE"));
        }
        DONE.clear();
        try {
            new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start()
                    .waitFor();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        } catch (InterruptedException interruption) {
            Thread.currentThread().interrupt();
        }
    }
}
