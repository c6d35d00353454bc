package dev.taskhold;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Writes one JSON object, member by member. What is set again replaces what was set before, and null takes it away.
 */
final class JsonWriter {
    private final Map<String, String> members = new LinkedHashMap<>();

    JsonWriter text(String name, @Nullable String value) {
        return set(name, value == null ? null : Json.quote(value));
    }

    JsonWriter number(String name, long value) {
        return set(name, Long.toString(value));
    }

    JsonWriter bool(String name, boolean value) {
        return set(name, Boolean.toString(value));
    }

    JsonWriter texts(String name, Iterable<String> values) {
        StringBuilder list = new StringBuilder("[");
        for (String value : values) {
            list.append(list.length() > 1 ? "," : "").append(Json.quote(value));
        }
        return set(name, list.append(']').toString());
    }

    /**
     * Sets a member to a value that is JSON already. The library reads it as one value, so that no text can smuggle in a
     * member beside itself.
     *
     * @throws TaskholdException.InvalidArgument {@code invalid_json}
     */
    JsonWriter json(String name, @Nullable String value) {
        if (value != null) {
            Json.check(value, name);
        }
        return set(name, value);
    }

    private JsonWriter set(String name, @Nullable String value) {
        if (value == null) {
            members.remove(name);
        } else {
            members.put(name, value);
        }
        return this;
    }

    @Override
    public String toString() {
        StringBuilder object = new StringBuilder("{");
        members.forEach((name, value) -> object.append(object.length() > 1 ? "," : "")
                .append(Json.quote(name))
                .append(':')
                .append(value));
        return object.append('}').toString();
    }
}
