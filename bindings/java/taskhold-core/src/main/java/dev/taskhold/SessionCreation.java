package dev.taskhold;

import org.jspecify.annotations.Nullable;

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
     * @param sessionId 1 to 1024 visible ASCII characters; null lets the library make one
     * @return this creation
     */
    public SessionCreation sessionId(@Nullable String sessionId) {
        creation.text("sessionId", sessionId);
        return this;
    }

    /**
     * Binds the session to its user.
     *
     * @param partition the partition; null is the anonymous one
     * @return this creation
     */
    public SessionCreation authorizationPartition(@Nullable String partition) {
        creation.text("authorizationPartition", partition);
        return this;
    }

    /**
     * Gives the session a context.
     *
     * @param context a JSON object; null is {@code {}}
     * @return this creation
     * @throws TaskholdException.InvalidArgument {@code invalid_json}
     */
    public SessionCreation sessionContext(@Nullable String context) {
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
