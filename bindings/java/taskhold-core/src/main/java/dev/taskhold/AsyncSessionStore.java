package dev.taskhold;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a {@link SessionStore} as futures, for stores on disk; see {@link AsyncTaskManager} for the threads. Each
 * method is as the one of the same name; the future fails with what that one throws.
 */
public final class AsyncSessionStore {
    private final SessionStore sessions;

    AsyncSessionStore(SessionStore sessions) {
        this.sessions = sessions;
    }

    /**
     * See {@link SessionStore#create}.
     *
     * @param endpoint the endpoint that the session belongs to
     * @param creation what the session is made of, or null
     * @return the session; empty when it is declined
     */
    public CompletableFuture<Optional<String>> create(String endpoint, @Nullable String creation) {
        return Background.later(() -> sessions.create(endpoint, creation));
    }

    /**
     * See {@link SessionStore#findBySessionId}.
     *
     * @param sessionId the session's id
     * @return the session
     */
    public CompletableFuture<Optional<String>> findBySessionId(String sessionId) {
        return Background.later(() -> sessions.findBySessionId(sessionId));
    }

    /**
     * See {@link SessionStore#replace}.
     *
     * @param expected the session as it was given out
     * @param updated the session as it shall be
     * @return whether it was replaced
     */
    public CompletableFuture<Boolean> replace(String expected, String updated) {
        return Background.later(() -> sessions.replace(expected, updated));
    }

    /**
     * See {@link SessionStore#deleteBySessionId}.
     *
     * @param sessionId the session's id
     * @return the end of the call
     */
    public CompletableFuture<Void> deleteBySessionId(String sessionId) {
        return Background.laterRun(() -> sessions.deleteBySessionId(sessionId));
    }

    /**
     * See {@link SessionStore#pin}.
     *
     * @param sessionId the session's id
     * @return whether it is pinned
     */
    public CompletableFuture<Boolean> pin(String sessionId) {
        return Background.later(() -> sessions.pin(sessionId));
    }

    /**
     * See {@link SessionStore#unpin}.
     *
     * @param sessionId the session's id
     * @return the end of the call
     */
    public CompletableFuture<Void> unpin(String sessionId) {
        return Background.laterRun(() -> sessions.unpin(sessionId));
    }
}
