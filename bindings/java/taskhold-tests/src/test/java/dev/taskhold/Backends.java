package dev.taskhold;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The storage backends that the tests run on: those that this build of the library has and that need no server, and for
 * the vectors PostgreSQL beside the server of {@code scripts/postgres.sh}.
 */
final class Backends {
    private static final Path FOLDER = folder();
    private static final AtomicInteger COUNT = new AtomicInteger();

    private Backends() {}

    static List<String> available() {
        return List.of("memory", "sqlite").stream().filter(Backends::has).toList();
    }

    /** Those that the vectors are played on. */
    static List<String> ofVectors() {
        boolean server = System.getenv(Schemas.SERVER) != null && has("postgres");
        return Stream.concat(available().stream(), server ? Stream.of("postgres") : Stream.of()).toList();
    }

    private static boolean has(String backend) {
        try (Place place = place(backend)) {
            Store.open(place.url(), place.options(), null).close();
            return true;
        } catch (TaskholdException.Unsupported absent) {
            return false;
        }
    }

    /** Where one store is: a URL and options to open it with. What a server holds of it goes when this is closed. */
    record Place(String url, @Nullable String options, @Nullable String schema) implements AutoCloseable {
        @Override
        public void close() {
            if (schema != null) {
                Schemas.drop(schema);
            }
        }
    }

    /** A place for a new store of this backend. */
    static Place place(String backend) {
        if (!backend.equals("postgres")) {
            return new Place(url(backend), null, null);
        }
        String schema = Schemas.next();
        return new Place(System.getenv(Schemas.SERVER), "{\"schema\": \"" + schema + "\"}", schema);
    }

    /** A new store of this backend. */
    static String url(String backend) {
        return backend.equals("memory") ? "memory:" : "sqlite:" + FOLDER.resolve(COUNT.incrementAndGet() + ".db");
    }

    private static Path folder() {
        try {
            Path folder = Files.createTempDirectory("taskhold-java");
            Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(folder)));
            return folder;
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private static void delete(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
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
