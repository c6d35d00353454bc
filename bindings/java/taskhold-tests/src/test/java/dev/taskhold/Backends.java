package dev.taskhold;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The storage backends that the tests run on: those that this build of the library has and that need no server. */
final class Backends {
    private Backends() {}

    static List<String> available() {
        return List.of("memory", "sqlite").stream().filter(Backends::has).toList();
    }

    private static boolean has(String backend) {
        Object described = ((Map<?, ?>) JsonText.parse(Taskhold.describe())).get("backends");
        return described instanceof List<?> backends && backends.contains(backend);
    }

    /** A new store of this backend. */
    static String url(String backend) {
        if (backend.equals("memory")) {
            return "memory:";
        }
        try {
            Path folder = Files.createTempDirectory("taskhold-java");
            folder.toFile().deleteOnExit();
            return "sqlite:" + folder.resolve("store.db");
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    static Map<String, Object> map(Object... entries) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int at = 0; at < entries.length; at += 2) {
            map.put((String) entries[at], entries[at + 1]);
        }
        return map;
    }
}
