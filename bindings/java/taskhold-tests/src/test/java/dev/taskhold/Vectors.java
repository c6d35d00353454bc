package dev.taskhold;

import static dev.taskhold.JsonText.NULL;
import static dev.taskhold.JsonText.array;
import static dev.taskhold.JsonText.object;

import dev.taskhold.JsonText.Num;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The cases that all languages share, as {@code tests/vectors/README.md} describes them: reads them and plays one through
 * the public classes.
 */
final class Vectors {
    private static final long DEFAULT_EPOCH_MS = 1_764_498_600_000L;
    private static final Set<String> STEP = Set.of("call", "on", "args", "as", "expect", "save", "times", "open", "options",
            "close", "advance_ms", "step_wall_ms");

    private final Map<String, AutoCloseable> handles = new HashMap<>();
    private final Map<String, Object> variables = new HashMap<>();

    /** One case of a file. */
    record Case(String file, String name, boolean raw, @Nullable List<Object> backends, long epochMs, List<Object> steps) {
        String title() {
            return file + ": " + name;
        }

        boolean isFor(String backend) {
            return backends == null || backends.contains(backend);
        }
    }

    /** What a call gave: its main output, its revision, and what it opened. */
    record Output(@Nullable String main, @Nullable Long revision, @Nullable AutoCloseable opened) {
        static Output text(@Nullable String text) {
            return new Output(text, null, null);
        }

        static Output text(Optional<String> text) {
            return text(text.orElse(null));
        }

        static Output flag(boolean flag) {
            return text(flag ? "1" : "0");
        }

        static Output opened(AutoCloseable opened) {
            return new Output(null, null, opened);
        }

        static Output nothing() {
            return text((String) null);
        }
    }

    static List<Case> all() throws IOException {
        List<Case> cases = new ArrayList<>();
        Path folder = Path.of(System.getProperty("taskhold.root"), "tests", "vectors");
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.filter(path -> path.toString().endsWith(".json")).sorted().toList()) {
                Map<String, Object> content = object(JsonText.parse(Files.readString(file)));
                checkMembers(content, Set.of("description", "cases"));
                for (Object element : array(content.get("cases"))) {
                    Map<String, Object> one = object(element);
                    checkMembers(one, Set.of("name", "about", "backends", "epoch_ms", "raw", "steps"));
                    Object epoch = one.getOrDefault("epoch_ms", new Num(Long.toString(DEFAULT_EPOCH_MS)));
                    cases.add(new Case(
                            file.getFileName().toString(),
                            (String) one.get("name"),
                            Boolean.TRUE.equals(one.get("raw")),
                            one.containsKey("backends") ? array(one.get("backends")) : null,
                            Long.parseLong(epoch.toString()),
                            array(one.get("steps"))));
                }
            }
        }
        return cases;
    }

    static void play(Case one, String backend) throws Exception {
        try (Backends.Place place = Backends.place(backend)) {
            play(one, backend, place);
        }
    }

    private static void play(Case one, String backend, Backends.Place place) throws Exception {
        Vectors vectors = new Vectors();
        ManualClock clock = ManualClock.open(one.epochMs());
        vectors.handles.put("clock", clock);
        Object options = Objects.requireNonNullElse(place.options(), NULL);
        vectors.variables.putAll(Map.of("url", place.url(), "options", options, "backend", backend));
        try {
            vectors.handles.put("store", Store.open(place.url(), place.options(), clock));
            int number = 0;
            for (Object step : one.steps()) {
                number++;
                try {
                    vectors.step(object(step));
                } catch (AssertionError | RuntimeException failure) {
                    throw new AssertionError("step " + number + ", " + step + ": " + failure.getMessage(), failure);
                }
            }
        } finally {
            for (AutoCloseable handle : vectors.handles.values()) {
                handle.close();
                handle.close();
            }
        }
    }

    private void step(Map<String, Object> step) throws Exception {
        checkMembers(step, STEP);
        int times = Integer.parseInt(step.getOrDefault("times", 1).toString());
        for (int n = 1; n <= times; n++) {
            variables.put("n", new Num(Integer.toString(n)));
            playOnce(longForm(step));
        }
        variables.put("n", new Num("1"));
    }

    /** The call that a short form stands for. */
    private static Map<String, Object> longForm(Map<String, Object> step) {
        Map<String, Object> call = new HashMap<>(step);
        if (step.containsKey("open")) {
            call.put("call", step.get("open") + "_open");
            call.putIfAbsent("on", "store");
            if (step.containsKey("options")) {
                call.put("args", Backends.map("options", step.get("options")));
            }
        } else if (step.containsKey("close")) {
            call.put("call", "close");
            call.put("on", step.get("close"));
        } else if (step.containsKey("advance_ms")) {
            call.putAll(Map.of("call", "clock_advance", "on", "clock", "args", Map.of("ms", step.get("advance_ms"))));
        } else if (step.containsKey("step_wall_ms")) {
            call.putAll(Map.of("call", "clock_step_wall", "on", "clock", "args", Map.of("ms", step.get("step_wall_ms"))));
        }
        return call;
    }

    private void playOnce(Map<String, Object> step) throws Exception {
        Object on = step.get("on");
        AutoCloseable receiver = on instanceof String name ? handle(name) : null;
        Map<String, Object> arguments = step.containsKey("args") ? object(step.get("args")) : Map.of();
        Map<String, Object> expect = step.containsKey("expect") ? object(step.get("expect")) : Map.of();
        checkMembers(expect, Set.of("status", "reason", "key", "limit", "revision", "out"));

        String status = "ok";
        String main;
        Output output = Output.nothing();
        try {
            output = VectorCalls.make((String) step.get("call"), receiver, new Arguments(arguments));
            main = output.main();
        } catch (TaskholdException refusal) {
            status = refusal.status().name().toLowerCase(Locale.ROOT);
            main = refusal.errorJson();
            Matching.same("status", status, JsonText.at(main, "/status").orElse(""));
            Matching.same("reason", refusal.reason(), JsonText.at(main, "/reason").orElse(""));
        }
        if (!status.equals(expect.getOrDefault("status", "ok"))) {
            throw new AssertionError("the status should be " + expect.getOrDefault("status", "ok") + ", is " + status + ": " + main);
        }
        for (String member : List.of("reason", "key", "limit")) {
            if (expect.containsKey(member)) {
                Matching.same(member, expect.get(member).toString(), JsonText.at(main, "/" + member).orElse("absent"));
            }
        }
        if (expect.containsKey("revision")) {
            Matching.same("revision", expand(expect.get("revision")).toString(), String.valueOf(output.revision()));
        }
        if (expect.containsKey("out")) {
            Matching.check(object(expand(expect.get("out"))), main);
        }
        if (step.containsKey("as") && status.equals("ok")) {
            AutoCloseable previous = handles.put((String) step.get("as"), Objects.requireNonNull(output.opened()));
            if (previous != null) {
                previous.close();
            }
        }
        if (step.containsKey("save")) {
            for (Map.Entry<String, Object> save : object(step.get("save")).entrySet()) {
                variables.put(save.getKey(), saved(Objects.requireNonNull(main), (String) save.getValue()));
            }
        }
    }

    private static Object saved(String main, String pointer) {
        if (pointer.isEmpty()) {
            return main;
        }
        Object value = JsonText.parse(main);
        for (String token : pointer.substring(1).split("/", -1)) {
            String name = token.replace("~1", "/").replace("~0", "~");
            value = value instanceof List<?> elements
                    ? elements.get(Integer.parseInt(name))
                    : Objects.requireNonNull(object(value).get(name), () -> "nothing at " + pointer);
        }
        return value;
    }

    private AutoCloseable handle(String name) {
        return Objects.requireNonNull(handles.get(name), () -> name + " was not opened");
    }

    /** The arguments of one call. */
    final class Arguments {
        private final Map<String, Object> values;

        Arguments(Map<String, Object> values) {
            this.values = values;
        }

        /** A text that may be absent; the nullness is the caller's: a text that is required may be missing on purpose. */
        @Nullable String optional(String name) {
            Object value = values.get(name);
            if (value == null) {
                return null;
            }
            Object expanded = expand(value);
            return expanded == NULL ? null : expanded instanceof String text ? text : JsonText.write(expanded);
        }

        String text(String name) {
            return Objects.requireNonNull(optional(name), () -> name + " is missing");
        }

        long number(String name) {
            String digits = expand(Objects.requireNonNull(values.get(name), name)).toString();
            return digits.startsWith("-") ? Long.parseLong(digits) : Long.parseUnsignedLong(digits);
        }

        @Nullable AutoCloseable handle(String name) {
            return values.get(name) instanceof String handle ? Vectors.this.handle(handle) : null;
        }
    }

    private Object expand(Object value) {
        if (value instanceof String text) {
            return expandText(text);
        } else if (value instanceof List<?> elements) {
            return elements.stream().map(this::expand).toList();
        } else if (value instanceof Map<?, ?> members) {
            if (members.size() == 1 && members.get("$text") instanceof List<?> pieces) {
                StringBuilder joined = new StringBuilder();
                pieces.forEach(piece -> joined.append(piece(piece)));
                return joined.toString();
            }
            Map<String, Object> expanded = Backends.map();
            members.forEach((name, member) -> expanded.put((String) expandText((String) name), expand(member)));
            return expanded;
        }
        return value;
    }

    private String piece(Object piece) {
        if (piece instanceof String text) {
            Object value = expandText(text);
            return value instanceof String whole ? whole : JsonText.write(value);
        }
        Map<String, Object> repeated = object(piece);
        checkMembers(repeated, Set.of("repeat", "times"));
        return ((String) repeated.get("repeat")).repeat(Integer.parseInt(repeated.get("times").toString()));
    }

    private Object expandText(String text) {
        if (text.startsWith("${") && text.indexOf('}') == text.length() - 1) {
            return variable(text.substring(2, text.length() - 1));
        }
        StringBuilder expanded = new StringBuilder();
        int from = 0;
        for (int open = text.indexOf("${"); open >= 0; open = text.indexOf("${", from)) {
            int close = text.indexOf('}', open);
            Object value = variable(text.substring(open + 2, close));
            expanded.append(text, from, open).append(value instanceof String whole ? whole : JsonText.write(value));
            from = close + 1;
        }
        return expanded.append(text.substring(from)).toString();
    }

    private Object variable(String name) {
        return Objects.requireNonNull(variables.get(name), () -> "there is no variable " + name);
    }

    static void checkMembers(Map<String, Object> object, Set<String> known) {
        for (String name : object.keySet()) {
            if (!known.contains(name)) {
                throw new IllegalArgumentException("unknown member " + name);
            }
        }
    }
}
