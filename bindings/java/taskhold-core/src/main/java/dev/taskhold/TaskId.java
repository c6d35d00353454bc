package dev.taskhold;

import java.util.Objects;

/**
 * The id of a task. Ids are opaque and compared byte by byte.
 *
 * @param value the id as it goes to clients: 1 to 1024 bytes of UTF-8
 */
public record TaskId(String value) {
    /** Checks that it is there; the library checks the rest. */
    public TaskId {
        Objects.requireNonNull(value, "value");
    }

    /**
     * Makes an id out of what a client sent.
     *
     * @param value the id
     * @return the id
     */
    public static TaskId of(String value) {
        return new TaskId(value);
    }

    /**
     * Gives the id as it goes to clients.
     *
     * @return {@link #value}
     */
    @Override
    public String toString() {
        return value;
    }
}
