package dev.taskhold;

import java.util.List;

/** What a new task is made of: {@code TaskCreation.at("/mcp", origin).authorizationPartition("alice").toJson()}. */
public final class TaskCreation {
    private final JsonWriter creation = new JsonWriter();

    private TaskCreation() {}

    /**
     * Begins with what every task has.
     *
     * @param endpoint the endpoint that the task belongs to
     * @param origin what the task came from: any JSON but null
     * @return the creation
     */
    public static TaskCreation at(String endpoint, String origin) {
        TaskCreation made = new TaskCreation();
        made.creation.text("endpoint", endpoint).json("origin", origin);
        return made;
    }

    /**
     * Says who may see the task; the anonymous partition unless said.
     *
     * @param partition the partition
     * @return this creation
     */
    public TaskCreation authorizationPartition(String partition) {
        creation.text("authorizationPartition", partition);
        return this;
    }

    /**
     * Gives the task metadata, which becomes {@code _meta} in every rendering.
     *
     * @param metadata a JSON object
     * @return this creation
     */
    public TaskCreation metadata(String metadata) {
        creation.json("metadata", metadata);
        return this;
    }

    /**
     * Says what the task may ask the client for.
     *
     * @param kinds any of {@code "elicitation/form"}, {@code "elicitation/url"}, {@code "sampling/createMessage"} and
     *     {@code "roots/list"}
     * @return this creation
     */
    public TaskCreation declaredInputRequests(String... kinds) {
        creation.texts("declaredInputRequests", List.of(kinds));
        return this;
    }

    /**
     * Writes the creation.
     *
     * @return a JSON object
     */
    public String toJson() {
        return creation.toString();
    }
}
