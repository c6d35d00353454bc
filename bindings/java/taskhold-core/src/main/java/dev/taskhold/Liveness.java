package dev.taskhold;

/** Where an A2A task stands. */
public enum Liveness {
    /** The task is unknown, was deleted, or is not retained any more. */
    ABSENT(0),
    /** The task is not final. */
    ACTIVE(1),
    /** The task is final, and counts as active for the rest of its grace period. */
    GRACE(2),
    /** The task is final and its grace period is over. */
    FINALIZED(3);

    private final int code;

    Liveness(int code) {
        this.code = code;
    }

    /**
     * Gives the number that the C interface uses.
     *
     * @return the number
     */
    public int code() {
        return code;
    }

    static Liveness of(int code) {
        return values()[code];
    }
}
