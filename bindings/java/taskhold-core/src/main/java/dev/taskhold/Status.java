package dev.taskhold;

import java.util.Arrays;

/** What came of a call, as the library counts it. The numbers never change; new ones may come. */
public enum Status {
    /** The call did what it says. */
    OK(0),
    /** An argument is malformed; the call cannot succeed as it stands. */
    INVALID_ARGUMENT(1),
    /** The object is closed. */
    INVALID_HANDLE(2),
    /** The task is absent, expired, or not visible to the caller. */
    NOT_FOUND(3),
    /** A rule of the state machine refuses the call. */
    INVALID_STATE(4),
    /** The store is full; an unexpired record is never evicted. */
    CAPACITY_EXHAUSTED(5),
    /** An argument is larger or deeper than a limit. */
    LIMIT_EXCEEDED(6),
    /** An expected revision did not match, or an id is taken. */
    CONFLICT(7),
    /** Nothing happened within the time given. */
    TIMEOUT(8),
    /** The object was closed while the call waited. */
    CLOSED(9),
    /** The storage failed; a retry may help. */
    UNAVAILABLE(10),
    /** A stored row cannot be read. */
    CORRUPT(11),
    /** This build or platform cannot do it. */
    UNSUPPORTED(12),
    /** A defect of the library; state is as before the call. */
    INTERNAL(99),
    /** A status that is younger than this class. */
    UNKNOWN(-1);

    private final int code;

    Status(int code) {
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

    static Status of(int code) {
        return Arrays.stream(values()).filter(status -> status.code == code).findFirst().orElse(UNKNOWN);
    }
}
