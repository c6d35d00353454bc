package dev.taskhold;

import java.time.Duration;
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
     * Puts the task into a queue, for workers to claim.
     *
     * @param queue 1 to 256 bytes; a queue belongs to the name of its manager; null is none
     * @return this creation
     */
    public TaskCreation queue(@Nullable String queue) {
        creation.text("queue", queue);
        return this;
    }

    /**
     * Says what a worker needs; no client sees it.
     *
     * @param work any JSON; null is none
     * @return this creation
     * @throws TaskholdException.InvalidArgument {@code invalid_json}
     */
    public TaskCreation work(@Nullable String work) {
        creation.json("work", work);
        return this;
    }

    /**
     * Says that the task may not be claimed before some time has passed.
     *
     * @param delay the time, in whole milliseconds
     * @return this creation
     */
    public TaskCreation delay(Duration delay) {
        creation.number("delayMs", Background.millis(delay));
        return this;
    }

    /**
     * Says how often the work is tried. One attempt is the default, because most tools must not run twice.
     *
     * @param maximum 1 to 1000 attempts
     * @return this creation
     */
    public TaskCreation attempts(int maximum) {
        creation.set("attempts", new JsonWriter().number("maximum", maximum).toString());
        return this;
    }

    /**
     * Says how often the work is tried. After attempt n the next may start {@code backoff} times 2 to the n-1 later.
     *
     * @param maximum 1 to 1000 attempts
     * @param backoff the time after the first attempt, in whole milliseconds
     * @param maximumBackoff the longest time between two attempts, in whole milliseconds
     * @return this creation
     */
    public TaskCreation attempts(int maximum, Duration backoff, Duration maximumBackoff) {
        String attempts = new JsonWriter()
                .number("maximum", maximum)
                .number("backoffMs", Background.millis(backoff))
                .number("maximumBackoffMs", Background.millis(maximumBackoff))
                .toString();
        creation.set("attempts", attempts);
        return this;
    }

    /**
     * Creates the task in its creator's hands. {@link Tasks#work} keeps the lease; when this process dies, it lapses, and a task
     * without a queue fails then.
     *
     * @param worker 1 to 256 bytes, for operators
     * @param length 1 millisecond to 24 hours
     * @return this creation
     */
    public TaskCreation lease(String worker, Duration length) {
        creation.set(
                "lease",
                new JsonWriter().text("worker", worker).number("leaseMs", Background.millis(length)).toString());
        return this;
    }

    /**
     * Makes creating the task idempotent: the same id with the same queue and work gives the task that is there. In the anonymous
     * partition all callers share these ids; a client's own key never goes in raw.
     *
     * @param id unique for the manager's name, endpoint and partition while the task is retained; null is none
     * @return this creation
     */
    public TaskCreation operationId(@Nullable String id) {
        creation.text("operationId", id);
        return this;
    }

    /**
     * Says how long this task lives, in the place of what its manager says. Choose it above backlog and all attempts.
     *
     * @param time the time, in whole milliseconds
     * @return this creation
     */
    public TaskCreation timeToLive(Duration time) {
        creation.number("taskTimeToLiveMs", Background.millis(time));
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
