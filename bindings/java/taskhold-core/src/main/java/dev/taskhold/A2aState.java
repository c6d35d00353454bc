package dev.taskhold;

import java.util.Locale;

/** The state of an A2A task. Both spellings are read: {@code TASK_STATE_COMPLETED} and {@code completed}. */
public enum A2aState {
    /** The agent has the task. */
    SUBMITTED,
    /** The agent works on it. */
    WORKING,
    /** The agent waits for the user. */
    INPUT_REQUIRED,
    /** The agent waits for authentication. */
    AUTH_REQUIRED,
    /** The task is done. */
    COMPLETED,
    /** The task was canceled. */
    CANCELED,
    /** The task failed. */
    FAILED,
    /** The agent did not take the task. */
    REJECTED,
    /** Another state; it is active. */
    UNKNOWN;

    /**
     * Tells whether a task in this state never becomes active again.
     *
     * @return whether the state is completed, canceled, failed or rejected
     */
    public boolean isFinal() {
        return this == COMPLETED || this == CANCELED || this == FAILED || this == REJECTED;
    }

    static A2aState of(String written) {
        String name = written.toUpperCase(Locale.ROOT).replace('-', '_').replaceFirst("^TASK_STATE_", "");
        for (A2aState state : values()) {
            if (state.name().equals(name)) {
                return state;
            }
        }
        return name.equals("CANCELLED") ? CANCELED : UNKNOWN;
    }

    String written() {
        return "TASK_STATE_" + name();
    }
}
