package dev.taskhold;

import java.util.Locale;

/** The status of an MCP task, as the Tasks extension names it. */
public enum TaskStatus {
    /** Somebody works on it, or will. */
    WORKING,
    /** It waits for answers of the client. */
    INPUT_REQUIRED,
    /** It has a result. */
    COMPLETED,
    /** It has an error. */
    FAILED,
    /** Its worker ended it without either. */
    CANCELLED,
    /** A status that is younger than this class. */
    UNKNOWN;

    /**
     * Tells whether a task with this status never changes again.
     *
     * @return whether the status is completed, failed or cancelled
     */
    public boolean isTerminal() {
        return this == COMPLETED || this == FAILED || this == CANCELLED;
    }

    /** The name on the wire. */
    String wireName() {
        return name().toLowerCase(Locale.ROOT);
    }

    static TaskStatus of(String wireName) {
        for (TaskStatus status : values()) {
            if (status.wireName().equals(wireName)) {
                return status;
            }
        }
        return UNKNOWN;
    }
}
