package dev.taskhold;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Something as the library gave it out, with its text. The text is looked into when a member is first asked for, and never
 * changes. Payloads inside it are given as JSON texts, byte for byte as they came in. Any thread may use it.
 */
public abstract sealed class Snapshot permits A2aTask, InputResponse, Session, Task, TaskRecord {
    private final String json;

    /** Made at most once by each thread; whichever is seen is complete. */
    private @Nullable JsonObject members;

    Snapshot(String json) {
        this.json = json;
    }

    final JsonObject members() {
        JsonObject known = members;
        if (known == null) {
            known = JsonObject.of(json);
            members = known;
        }
        return known;
    }

    /**
     * Gives the text.
     *
     * @return a JSON object
     */
    public final String json() {
        return json;
    }

    /**
     * Reads one value out of the text; see {@link Json#get}.
     *
     * @param pointer an RFC 6901 pointer
     * @return the value: a string decoded, anything else as its text; empty when it is not there
     */
    public final Optional<String> get(String pointer) {
        return Json.get(json, pointer);
    }

    /**
     * Compares the texts.
     *
     * @param other another object
     * @return whether it is of the same class and has the same text
     */
    @Override
    public boolean equals(@Nullable Object other) {
        return other != null && other.getClass() == getClass() && ((Snapshot) other).json.equals(json);
    }

    @Override
    public int hashCode() {
        return json.hashCode();
    }

    /**
     * Names what this is. Payloads, ids and partitions stay out of it, so that it can be logged.
     *
     * @return a text for people
     */
    @Override
    public String toString() {
        return getClass().getSimpleName();
    }
}
