package dev.taskhold;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Writes one JSON object, member by member, for programs that have no JSON library: {@code Json.writer().text("name",
 * "Luca").number("age", 7).toString()}. What is set again replaces what was set before, and null takes it away. For one thread
 * at a time.
 */
public final class JsonWriter {
    private final Map<String, String> members = new LinkedHashMap<>();

    JsonWriter() {}

    /**
     * Sets a member to a string.
     *
     * @param name the member's name
     * @param value its value; null takes the member away
     * @return this writer
     */
    public JsonWriter text(String name, @Nullable String value) {
        return set(name, value == null ? null : Json.quote(value));
    }

    /**
     * Sets a member to a whole number.
     *
     * @param name the member's name
     * @param value its value
     * @return this writer
     */
    public JsonWriter number(String name, long value) {
        return set(name, Long.toString(value));
    }

    /**
     * Sets a member to true or false.
     *
     * @param name the member's name
     * @param value its value
     * @return this writer
     */
    public JsonWriter bool(String name, boolean value) {
        return set(name, Boolean.toString(value));
    }

    /**
     * Sets a member to an array of strings.
     *
     * @param name the member's name
     * @param values its elements
     * @return this writer
     */
    public JsonWriter texts(String name, Iterable<String> values) {
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
     * @param name the member's name
     * @param value its value, JSON; null takes the member away
     * @return this writer
     * @throws TaskholdException.InvalidArgument {@code invalid_json}
     */
    public JsonWriter json(String name, @Nullable String value) {
        if (value != null) {
            Json.check(value, name);
        }
        return set(name, value);
    }

    /** Sets a member to JSON that the library or this package wrote. */
    JsonWriter set(String name, @Nullable String value) {
        if (value == null) {
            members.remove(name);
        } else {
            members.put(name, value);
        }
        return this;
    }

    Set<String> names() {
        return members.keySet();
    }

    JsonWriter copy() {
        JsonWriter copy = new JsonWriter();
        copy.members.putAll(members);
        return copy;
    }

    /**
     * Writes the object.
     *
     * @return a JSON object
     */
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
