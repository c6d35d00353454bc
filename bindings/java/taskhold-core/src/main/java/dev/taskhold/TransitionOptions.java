package dev.taskhold;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Conditions of a change of a task, decided in the same atomic step as the change: {@code
 * TransitionOptions.none().expectedRevision(3).toJson()}.
 */
public final class TransitionOptions {
    private final JsonWriter options = new JsonWriter();

    private TransitionOptions() {}

    /**
     * Begins without any condition.
     *
     * @return the options
     */
    public static TransitionOptions none() {
        return new TransitionOptions();
    }

    /**
     * Makes the change conditional on the revision; another one is {@link TaskholdException.Conflict}
     * ({@code revision_mismatch}).
     *
     * @param revision the revision that was seen
     * @return these options
     */
    public TransitionOptions expectedRevision(long revision) {
        options.number("expectedRevision", revision);
        return this;
    }

    /**
     * Makes the change conditional on no client having asked for cancelation; else it is
     * {@link TaskholdException.InvalidState} ({@code cancelation_requested}).
     *
     * @return these options
     */
    public TransitionOptions unlessCancelationRequested() {
        options.bool("unlessCancelationRequested", true);
        return this;
    }

    /**
     * Only for {@link TaskManager#markTaskWorking}: supersedes only these input requests. The task keeps its status while
     * others are open; without any key only the message changes.
     *
     * @param keys the keys of the requests
     * @return these options
     */
    public TransitionOptions withdrawInputRequests(String... keys) {
        options.texts("withdrawInputRequests", List.of(keys));
        return this;
    }

    /**
     * Names the lease under which a worker acts. A task that was created with a queue or a lease needs it: without it the change
     * is {@link TaskholdException.InvalidState} ({@code lease_required}), with another than the current one
     * {@link TaskholdException.Conflict} ({@code lease_lost}).
     *
     * @param token the token that the claim gave
     * @return these options
     */
    public TransitionOptions lease(long token) {
        options.number("lease", token);
        return this;
    }

    /**
     * For operators, in the place of a lease: makes the change whoever holds the task. Marking as working, failing and
     * cancelling take it.
     *
     * @return these options
     */
    public TransitionOptions force() {
        options.bool("force", true);
        return this;
    }

    /**
     * Only for {@link TaskManager#requestTaskInput}: gives the lease up until all answers are there.
     *
     * @return these options
     */
    public TransitionOptions park() {
        options.bool("park", true);
        return this;
    }

    /**
     * Only for {@link TaskManager#takeTaskInputResponses}: gives the answers and leaves them there.
     *
     * @return these options
     */
    public TransitionOptions peek() {
        options.bool("peek", true);
        return this;
    }

    /**
     * Notes, in the same step, how far the work is: for marking as working, requesting input and taking answers under a lease.
     *
     * @param json any JSON; null keeps what was noted
     * @return these options
     * @throws TaskholdException.InvalidArgument {@code invalid_json}
     */
    public TransitionOptions checkpoint(@Nullable String json) {
        options.json("checkpoint", json);
        return this;
    }

    /**
     * Writes the options.
     *
     * @return a JSON object
     */
    public String toJson() {
        return options.toString();
    }
}
