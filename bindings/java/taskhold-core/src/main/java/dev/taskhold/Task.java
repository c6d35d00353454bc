package dev.taskhold;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;

/** A task as a client may see it: the {@code DetailedTask} of the Tasks extension. */
public final class Task extends Snapshot {
    Task(String json) {
        super(json);
    }

    /**
     * Reads a task.
     *
     * @param json a {@code DetailedTask} as the library gives it out
     * @return the task
     */
    public static Task of(String json) {
        return new Task(json);
    }

    /**
     * Gives the id.
     *
     * @return the id
     */
    public TaskId taskId() {
        return new TaskId(members().someText("taskId"));
    }

    /**
     * Gives the status.
     *
     * @return the status
     */
    public TaskStatus status() {
        return TaskStatus.of(members().someText("status"));
    }

    /**
     * Gives the message for people.
     *
     * @return the message, if there is one
     */
    public Optional<String> statusMessage() {
        return members().text("statusMessage");
    }

    /**
     * Tells when the task was created.
     *
     * @return the time, to the millisecond
     */
    public Instant createdAt() {
        return members().time("createdAt").orElseThrow();
    }

    /**
     * Tells when the task changed last; it never goes back.
     *
     * @return the time, to the millisecond
     */
    public Instant lastUpdatedAt() {
        return members().time("lastUpdatedAt").orElseThrow();
    }

    /**
     * Tells how long the task lives, from its creation on.
     *
     * @return the time to live
     */
    public Duration timeToLive() {
        return Duration.ofMillis(members().number("ttlMs"));
    }

    /**
     * Tells how often a client should ask.
     *
     * @return the interval
     */
    public Duration pollInterval() {
        return Duration.ofMillis(members().number("pollIntervalMs"));
    }

    /**
     * Gives the outstanding input requests.
     *
     * @return a JSON object for each key, in their order; empty unless the task is {@link TaskStatus#INPUT_REQUIRED}, and in
     *     listings without payloads
     */
    public Map<String, String> inputRequests() {
        return members().json("inputRequests").map(requests -> JsonObject.of(requests).members()).orElse(Map.of());
    }

    /**
     * Gives the result of a completed task.
     *
     * @return a JSON object, byte for byte as it was given
     */
    public Optional<String> result() {
        return members().json("result");
    }

    /**
     * Gives the error of a failed task.
     *
     * @return the error
     */
    public Optional<Failure> error() {
        return members().json("error").map(Failure::read);
    }

    @Override
    public String toString() {
        return "Task[" + status() + "]";
    }
}
