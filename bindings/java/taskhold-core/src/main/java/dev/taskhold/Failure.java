package dev.taskhold;

import java.util.Objects;
import java.util.Optional;

/**
 * Why a task failed: a JSON-RPC error, which its client sees.
 *
 * @param code the code; JSON-RPC keeps -32768 to -32000 for itself, of which -32603 says "internal error"
 * @param message the message
 * @param data more about it, JSON
 */
public record Failure(long code, String message, Optional<String> data) {
    /** Checks that all is there. */
    public Failure {
        Objects.requireNonNull(message, "message");
        Objects.requireNonNull(data, "data");
    }

    /**
     * Makes a failure without data.
     *
     * @param code the code
     * @param message the message
     * @return the failure
     */
    public static Failure of(long code, String message) {
        return new Failure(code, message, Optional.empty());
    }

    /**
     * Adds data.
     *
     * @param json any JSON
     * @return a failure with the same code and message
     */
    public Failure withData(String json) {
        return new Failure(code, message, Optional.of(json));
    }

    /**
     * Writes the failure.
     *
     * @return a JSON-RPC error object
     * @throws TaskholdException.InvalidArgument {@code invalid_json}: the data is not one JSON value
     */
    public String toJson() {
        return new JsonWriter().number("code", code).text("message", message).json("data", data.orElse(null)).toString();
    }

    static Failure read(String json) {
        JsonObject members = JsonObject.of(json);
        return new Failure(members.number("code"), members.someText("message"), members.json("data"));
    }
}
