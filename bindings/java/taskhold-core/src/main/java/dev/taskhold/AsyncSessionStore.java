package dev.taskhold;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a {@link SessionStore} as futures, for stores on disk; see {@link AsyncTaskManager} for the threads. Each
 * method is as the one of the same name; the future fails with what that one throws.
 */
public final class AsyncSessionStore {
    private final SessionStore sessions;
    private final Executor completion;

    AsyncSessionStore(SessionStore sessions, Executor completion) {
        this.sessions = sessions;
        this.completion = completion;
    }

    /**
     * See {@link SessionStore#create}.
     *
     * @param endpoint the endpoint that the session belongs to
     * @param creation what the session is made of, or null
     * @return the session; empty when it is declined
     */
    public CompletableFuture<Optional<String>> create(String endpoint, @Nullable String creation) {
        return Background.later(() -> sessions.create(endpoint, creation), completion);
    }

    /**
     * See {@link SessionStore#findBySessionId}.
     *
     * @param sessionId the session's id
     * @return the session
     */
    public CompletableFuture<Optional<String>> findBySessionId(String sessionId) {
        return Background.later(() -> sessions.findBySessionId(sessionId), completion);
    }

    /**
     * See {@link SessionStore#replace}.
     *
     * @param expected the session as it was given out
     * @param updated the session as it shall be
     * @return whether it was replaced
     */
    public CompletableFuture<Boolean> replace(String expected, String updated) {
        return Background.later(() -> sessions.replace(expected, updated), completion);
    }

    /**
     * See {@link SessionStore#deleteBySessionId}.
     *
     * @param sessionId the session's id
     * @return the end of the call
     */
    public CompletableFuture<Void> deleteBySessionId(String sessionId) {
        return Background.laterRun(() -> sessions.deleteBySessionId(sessionId), completion);
    }

    /**
     * See {@link SessionStore#pin}.
     *
     * @param sessionId the session's id
     * @return whether it is pinned
     */
    public CompletableFuture<Boolean> pin(String sessionId) {
        return Background.later(() -> sessions.pin(sessionId), completion);
    }

    /**
     * See {@link SessionStore#unpin}.
     *
     * @param sessionId the session's id
     * @return the end of the call
     */
    public CompletableFuture<Void> unpin(String sessionId) {
        return Background.laterRun(() -> sessions.unpin(sessionId), completion);
    }

    /**
     * See {@link SessionStore#findAuthorizedSession}.
     *
     * @param endpoint the endpoint that the request came to
     * @param partition the caller's authorization partition, or null
     * @param sessionId the session's id
     * @return the session
     */
    public CompletableFuture<Optional<String>> findAuthorizedSession(
            String endpoint, @Nullable String partition, String sessionId) {
        return Background.later(() -> sessions.findAuthorizedSession(endpoint, partition, sessionId), completion);
    }

    /**
     * See {@link SessionStore#listSessions}.
     *
     * @param params a JSON object, or null
     * @return the page
     */
    public CompletableFuture<String> listSessions(@Nullable String params) {
        return Background.later(() -> sessions.listSessions(params), completion);
    }

    /**
     * See {@link SessionStore#takeExpired}.
     *
     * @return the sessions that expired
     */
    public CompletableFuture<String> takeExpired() {
        return Background.later(sessions::takeExpired, completion);
    }
}
