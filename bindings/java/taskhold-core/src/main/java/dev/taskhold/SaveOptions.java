package dev.taskhold;

import org.jspecify.annotations.Nullable;

/** Conditions of a save of an A2A task. */
public final class SaveOptions {
    private final JsonWriter options = new JsonWriter();

    private SaveOptions() {}

    /**
     * Begins without any condition.
     *
     * @return the options
     */
    public static SaveOptions none() {
        return new SaveOptions();
    }

    /**
     * Makes the save conditional on the stored revision; another one is {@link TaskholdException.Conflict}
     * ({@code revision_mismatch}).
     *
     * @param revision the revision that a get or a save gave; 0: there must be no such task
     * @return these options
     */
    public SaveOptions expectedRevision(long revision) {
        options.number("expectedRevision", revision);
        return this;
    }

    /**
     * Says that another node saved the task first: nothing is announced.
     *
     * @return these options
     */
    public SaveOptions replicated() {
        options.bool("isReplicated", true);
        return this;
    }

    /**
     * Makes the save conditional on the task being there; an absent one is {@link TaskholdException.NotFound}
     * ({@code task_not_found}), and nothing is created.
     *
     * @return these options
     */
    public SaveOptions mustExist() {
        options.bool("mustExist", true);
        return this;
    }

    /**
     * Makes the save conditional on the stored task not being final yet; else it is {@link TaskholdException.InvalidState}
     * ({@code task_final}).
     *
     * @return these options
     */
    public SaveOptions unlessFinal() {
        options.bool("unlessFinal", true);
        return this;
    }

    /**
     * Appends an event to the task's log in the same step, under the revision that the save makes.
     *
     * @param json any JSON but null: what led to this state, kept byte for byte; null is none
     * @return these options
     * @throws TaskholdException.InvalidArgument {@code invalid_json}
     */
    public SaveOptions event(@Nullable String json) {
        options.json("event", json);
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
