package dev.taskhold;

import java.util.Objects;

/**
 * The endpoint that a task or a session belongs to: where the server is reached, such as {@code /mcp}.
 *
 * @param value at most 1024 bytes of UTF-8; may be empty
 */
public record Endpoint(String value) {
    /** Checks that it is there; the library checks the rest. */
    public Endpoint {
        Objects.requireNonNull(value, "value");
    }

    /**
     * Makes an endpoint.
     *
     * @param value at most 1024 bytes of UTF-8; may be empty
     * @return the endpoint
     */
    public static Endpoint of(String value) {
        return new Endpoint(value);
    }
}
