package dev.taskhold;

import java.util.Set;

/**
 * Input requests by key: {@code InputRequests.form("name", "Your name?", schema)}. A key is used once in a task's life.
 */
public final class InputRequests {
    private final JsonWriter requests = new JsonWriter();

    private InputRequests() {}

    /**
     * Begins with a form for the user.
     *
     * @param key the key of the request
     * @param message what the user reads
     * @param requestedSchema the schema of the form: a JSON object
     * @return the requests
     * @throws TaskholdException.InvalidArgument {@code invalid_json}
     */
    public static InputRequests form(String key, String message, String requestedSchema) {
        return new InputRequests().andForm(key, message, requestedSchema);
    }

    /**
     * Begins with any request.
     *
     * @param key the key of the request
     * @param request an input request: {@code {"method": "elicitation/create" | "sampling/createMessage" | "roots/list",
     *     "params": {...}}}
     * @return the requests
     * @throws TaskholdException.InvalidArgument {@code invalid_json}
     */
    public static InputRequests of(String key, String request) {
        return new InputRequests().and(key, request);
    }

    /**
     * Adds a form for the user.
     *
     * @param key the key of the request
     * @param message what the user reads
     * @param requestedSchema the schema of the form: a JSON object
     * @return these requests
     * @throws TaskholdException.InvalidArgument {@code invalid_json}
     */
    public InputRequests andForm(String key, String message, String requestedSchema) {
        String params = new JsonWriter().text("message", message).json("requestedSchema", requestedSchema).toString();
        return and(key, new JsonWriter().text("method", "elicitation/create").json("params", params).toString());
    }

    /**
     * Adds any request.
     *
     * @param key the key of the request
     * @param request an input request
     * @return these requests
     * @throws TaskholdException.InvalidArgument {@code invalid_json}
     */
    public InputRequests and(String key, String request) {
        requests.json(key, request);
        return this;
    }

    Set<String> keys() {
        return requests.names();
    }

    /**
     * Writes the requests.
     *
     * @return a JSON object
     */
    public String toJson() {
        return requests.toString();
    }
}
