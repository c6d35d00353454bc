package dev.taskhold;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes one JSON object, member by member. What is set again replaces what was set before. */
final class JsonWriter {
    private final Map<String, String> members = new LinkedHashMap<>();

    JsonWriter text(String name, @Nullable String value) {
        return json(name, value == null ? "null" : Json.quote(value));
    }

    JsonWriter number(String name, long value) {
        return json(name, Long.toString(value));
    }

    JsonWriter bool(String name, boolean value) {
        return json(name, Boolean.toString(value));
    }

    JsonWriter texts(String name, Iterable<String> values) {
        StringBuilder list = new StringBuilder("[");
        for (String value : values) {
            list.append(list.length() > 1 ? "," : "").append(Json.quote(value));
        }
        return json(name, list.append(']').toString());
    }

    /** Sets a member to a value that is JSON already. */
    JsonWriter json(String name, String value) {
        members.put(name, value);
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
