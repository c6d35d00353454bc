package dev.taskhold;

import java.util.List;
import org.jspecify.annotations.Nullable;

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
     * @throws TaskholdException.InvalidArgument {@code invalid_json}
     */
    public static TaskCreation at(String endpoint, String origin) {
        TaskCreation made = new TaskCreation();
        made.creation.text("endpoint", endpoint).json("origin", origin);
        return made;
    }

    /**
     * Begins with whose task it is.
     *
     * @param caller the endpoint that the task belongs to, and who may see it there
     * @param origin what the task came from: any JSON but null
     * @return the creation
     * @throws TaskholdException.InvalidArgument {@code invalid_json}
     */
    public static TaskCreation of(Caller caller, String origin) {
        return at(caller.endpoint().value(), origin).authorizationPartition(caller.partition().name());
    }

    /**
     * Says who may see the task; the anonymous partition unless said.
     *
     * @param partition the partition; null is the anonymous one
     * @return this creation
     */
    public TaskCreation authorizationPartition(@Nullable String partition) {
        creation.text("authorizationPartition", partition);
        return this;
    }

    /**
     * Gives the task metadata, which becomes {@code _meta} in every rendering.
     *
     * @param metadata a JSON object, or null for none
     * @return this creation
     * @throws TaskholdException.InvalidArgument {@code invalid_json}
     */
    public TaskCreation metadata(@Nullable String metadata) {
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
