package dev.taskhold;

/** What a client gets to see of a task. */
public enum Rendering {
    /** The flat {@code CreateTaskResult}, {@code resultType} "task". */
    CREATE_RESULT(1),
    /** The result of {@code tasks/get}, {@code resultType} "complete". */
    GET_RESULT(2),
    /** The whole {@code notifications/tasks} message. */
    NOTIFICATION(3);

    private final int code;

    Rendering(int code) {
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
}
