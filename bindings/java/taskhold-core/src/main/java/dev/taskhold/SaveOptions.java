package dev.taskhold;

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
     * Writes the options.
     *
     * @return a JSON object
     */
    public String toJson() {
        return options.toString();
    }
}
