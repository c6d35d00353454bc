package dev.taskhold;

import java.util.List;

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
     * Writes the options.
     *
     * @return a JSON object
     */
    public String toJson() {
        return options.toString();
    }
}
