package dev.taskhold;

/** What a new session is made of, beside its endpoint. */
public final class SessionCreation {
    private final JsonWriter creation = new JsonWriter();

    private SessionCreation() {}

    /**
     * Begins with an id that the library makes, the anonymous partition and an empty context.
     *
     * @return the creation
     */
    public static SessionCreation defaults() {
        return new SessionCreation();
    }

    /**
     * Gives the session an id of the host's own making.
     *
     * @param sessionId 1 to 1024 visible ASCII characters
     * @return this creation
     */
    public SessionCreation sessionId(String sessionId) {
        creation.text("sessionId", sessionId);
        return this;
    }

    /**
     * Binds the session to its user.
     *
     * @param partition the partition
     * @return this creation
     */
    public SessionCreation authorizationPartition(String partition) {
        creation.text("authorizationPartition", partition);
        return this;
    }

    /**
     * Gives the session a context.
     *
     * @param context a JSON object
     * @return this creation
     */
    public SessionCreation sessionContext(String context) {
        creation.json("sessionContext", context);
        return this;
    }

    /**
     * Writes the creation.
     *
     * @return a JSON object
     */
    public String toJson() {
        return creation.toString();
    }
}
