package dev.taskhold;

import static dev.taskhold.JsonText.array;
import static dev.taskhold.JsonText.object;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Compares an output with a matcher. */
final class Matching {
    private static final Map<String, Pattern> FORMS = Map.of(
            "$timestamp", Pattern.compile("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z"),
            "$uuid4", Pattern.compile("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
            "$session_id", Pattern.compile("[!-~]{22,1024}"),
            "$string", Pattern.compile("(?s).*"));

    private Matching() {}

    static void same(String what, Object wanted, Object found) {
        if (!wanted.equals(found)) {
            throw new AssertionError("the " + what + " should be " + wanted + ", is " + found);
        }
    }

    static void check(Map<String, Object> matcher, @Nullable String output) {
        if (output == null) {
            same("output", Map.of("null", true), matcher);
            return;
        }
        matcher.forEach((kind, wanted) -> {
            switch (kind) {
                case "exact" -> compare(wanted, JsonText.parse(output), true, "");
                case "subset" -> compare(wanted, JsonText.parse(output), false, "");
                case "bytes" -> same("text", wanted, output);
                case "text" -> object(wanted).forEach((pointer, text) ->
                        same("text at " + pointer, Optional.of(textOf(text)), JsonText.at(output, pointer)));
                case "absent" -> array(wanted).forEach(pointer ->
                        same("value at " + pointer, Optional.empty(), JsonText.at(output, (String) pointer)));
                case "differs" -> object(wanted).forEach((pointer, text) -> {
                    if (JsonText.at(output, pointer).orElseThrow().equals(textOf(text))) {
                        throw new AssertionError(pointer + " should differ from " + text);
                    }
                });
                case "contains" -> array(wanted).forEach(part -> {
                    if (!output.contains((String) part)) {
                        throw new AssertionError("the output should contain " + part);
                    }
                });
                case "null" -> throw new AssertionError("the output should be null, is " + output);
                default -> throw new IllegalArgumentException("unknown matcher " + kind);
            }
        });
    }

    private static String textOf(Object value) {
        return value instanceof String text ? text : JsonText.write(value);
    }

    private static void compare(Object wanted, Object found, boolean exact, String path) {
        if (wanted instanceof Map<?, ?> members && found instanceof Map<?, ?> others) {
            members.forEach((name, member) -> {
                if (!others.containsKey(name)) {
                    throw new AssertionError(path + "/" + name + " is absent");
                }
                compare(member, others.get(name), exact, path + "/" + name);
            });
            if (exact) {
                same("members of " + path, members.keySet(), others.keySet());
            }
        } else if (wanted instanceof List<?> elements && found instanceof List<?> others) {
            same("length of " + path, elements.size(), others.size());
            for (int at = 0; at < elements.size(); at++) {
                compare(elements.get(at), others.get(at), exact, path + "/" + at);
            }
        } else if (wanted instanceof String placeholder && placeholder.startsWith("$")) {
            if (!standsFor(placeholder, found)) {
                throw new AssertionError(path + " should be " + placeholder + ", is " + found);
            }
        } else {
            same("value at " + path, wanted, found);
        }
    }

    private static boolean standsFor(String placeholder, Object found) {
        return switch (placeholder) {
            case "$any" -> true;
            case "$integer" -> found instanceof JsonText.Num number && number.digits().matches("-?\\d+");
            default -> {
                Pattern form = FORMS.get(placeholder);
                if (form == null) {
                    throw new IllegalArgumentException("unknown placeholder " + placeholder);
                }
                yield found instanceof String text && form.matcher(text).matches();
            }
        };
    }
}
