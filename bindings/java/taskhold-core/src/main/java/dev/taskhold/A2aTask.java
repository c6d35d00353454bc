package dev.taskhold;

import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** An A2A task and the revision that it shows. */
public final class A2aTask extends Snapshot {
    private final long revision;

    A2aTask(String json, long revision) {
        super(json);
        this.revision = revision;
    }

    /**
     * Reads a task, from one of the calls that give texts.
     *
     * @param json an A2A Task object
     * @param revision the revision that it shows
     * @return the task
     */
    public static A2aTask of(String json, long revision) {
        return new A2aTask(json, revision);
    }

    /**
     * Gives the id.
     *
     * @return the id
     */
    public TaskId taskId() {
        return new TaskId(members().someText("id"));
    }

    /**
     * Gives the context that the task belongs to.
     *
     * @return the context's id, if there is one
     */
    public Optional<String> contextId() {
        return members().text("contextId");
    }

    /**
     * Gives the state.
     *
     * @return the state
     */
    public A2aState state() {
        return A2aState.of(status().someText("state"));
    }

    /**
     * Tells since when the task is in this state.
     *
     * @return the time, if the task says it
     */
    public Optional<Instant> timestamp() {
        return status().text("timestamp").map(time -> OffsetDateTime.parse(time).toInstant());
    }

    /**
     * Gives the revision, which grows with every save; a save can name it as the expected one.
     *
     * @return the revision
     */
    public long revision() {
        return revision;
    }

    private JsonObject status() {
        return JsonObject.of(members().json("status").orElseThrow());
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return super.equals(other) && ((A2aTask) other).revision == revision;
    }

    @Override
    public int hashCode() {
        return super.hashCode() + Long.hashCode(revision);
    }

    @Override
    public String toString() {
        return "A2aTask[" + state() + ", revision " + revision + "]";
    }
}
