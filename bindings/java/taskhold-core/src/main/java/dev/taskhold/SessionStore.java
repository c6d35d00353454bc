package dev.taskhold;

import static dev.taskhold.Text.utf8;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * A store of MCP sessions: it admits and finds sessions, and replaces them by compare-and-set. A session is a JSON object
 * with {@code sessionId}, {@code endpoint}, {@code version}, {@code terminatedAt} and nine more members. An expired session
 * is absent to every call. Durations are milliseconds. Any thread may use it.
 */
public final class SessionStore implements AutoCloseable {
    private final Handle handle;

    private SessionStore(Handle handle) {
        this.handle = handle;
    }

    /**
     * Begins the options of a session store.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Opens a session store.
     *
     * @param store where the sessions live, or null for a private store in memory
     * @param options a JSON object as {@link Builder} writes it, or null
     * @return the session store
     * @throws TaskholdException.InvalidArgument malformed {@code options}
     */
    public static SessionStore open(@Nullable Store store, @Nullable String options) {
        byte[] optionsText = utf8(options);
        return new SessionStore(Handle.openOver(
                store == null ? null : store.handle,
                (over, out, error) -> Library.ABI.taskhold_session_store_open(over, optionsText, out, error),
                Library.ABI::taskhold_session_store_close));
    }

    /**
     * Gives the options that this session store works with, defaults filled in.
     *
     * @return a JSON object
     */
    public String options() {
        return handle.someText(Library.ABI::taskhold_session_store_options);
    }

    /**
     * Gives the same calls as futures, for stores on disk. They complete on the common pool.
     *
     * @return the asynchronous twin
     */
    public AsyncSessionStore async() {
        return async(Background.COMMON);
    }

    /**
     * Gives the same calls as futures, which complete on an executor: there runs what depends on them.
     *
     * @param completion where the futures complete
     * @return the asynchronous twin
     */
    public AsyncSessionStore async(Executor completion) {
        return new AsyncSessionStore(this, completion);
    }

    /**
     * Creates and admits a session: new, not initialized, not terminated, version 0. The limit is checked in the same step.
     *
     * @param endpoint the endpoint that the session belongs to
     * @param creation a JSON object as {@link SessionCreation} writes it, or null
     * @return the session; empty when it is declined because the limit is reached
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}, malformed {@code creation}
     * @throws TaskholdException.Conflict {@code session_id_in_use}
     */
    public Optional<String> create(String endpoint, @Nullable String creation) {
        byte[] endpointText = utf8(endpoint);
        byte[] creationText = utf8(creation);
        return Optional.ofNullable(handle.text((self, out, error) ->
                Library.ABI.taskhold_session_store_create(self, endpointText, creationText, out, error)));
    }

    /**
     * Finds a session by its id.
     *
     * @param sessionId the session's id
     * @return the session, if there is one and it has not expired
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}
     */
    public Optional<String> findBySessionId(String sessionId) {
        byte[] id = utf8(sessionId);
        return Optional.ofNullable(handle.text(
                (self, out, error) -> Library.ABI.taskhold_session_store_find_by_session_id(self, id, out, error)));
    }

    /**
     * Finds a session that the caller may use: endpoint and partition must both match exactly. Unknown, expired and foreign
     * sessions give the same answer.
     *
     * @param endpoint the endpoint that the request came to
     * @param partition the caller's authorization partition; null is the anonymous one, and another than ""
     * @param sessionId the session's id
     * @return the session
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}, {@code invalid_value}
     */
    public Optional<String> findAuthorizedSession(String endpoint, @Nullable String partition, String sessionId) {
        byte[] endpointText = utf8(endpoint);
        byte[] partitionText = utf8(partition);
        byte[] id = utf8(sessionId);
        return Optional.ofNullable(handle.text(
                (self, out, error) -> Library.ABI.taskhold_session_store_find_authorized_session(
                        self, endpointText, partitionText, id, out, error)));
    }

    /**
     * Lists sessions for operators, oldest first, and never for clients: nobody's authorization is checked. A full walk
     * meets every session that stays meanwhile, each once. Expired sessions are not shown, terminated ones are. To be listed
     * keeps no session alive.
     *
     * @param params a JSON object as {@link SessionQuery} writes it, or null
     * @return a JSON object: {@code sessions}, {@code corrupt}, {@code nextPageToken}, which is empty on the last page
     * @throws TaskholdException.InvalidArgument {@code invalid_page_token}, malformed {@code params}
     */
    public String listSessions(@Nullable String params) {
        byte[] paramsText = utf8(params);
        return handle.someText((self, out, error) ->
                Library.ABI.taskhold_session_store_list_sessions(self, paramsText, out, error));
    }

    /**
     * Replaces a session by compare-and-set: only if it has not expired and is stored exactly as {@code expected} says,
     * member order aside.
     *
     * @param expected the session as it was given out
     * @param updated the session as it shall be: the same id, endpoint, partition and {@code createdAt}, a greater
     *     {@code version}, a {@code terminatedAt} that does not go back to null
     * @return whether it was replaced; a lost race changes nothing
     * @throws TaskholdException.InvalidArgument {@code invalid_replacement}, {@code invalid_timestamp}, malformed JSON
     * @throws TaskholdException.LimitExceeded {@code payload_too_large}, {@code nesting_too_deep}
     */
    public boolean replace(String expected, String updated) {
        byte[] expectedText = utf8(expected);
        byte[] updatedText = utf8(updated);
        return handle.number((self, out, error) ->
                        Library.ABI.taskhold_session_store_replace(self, expectedText, updatedText, out, error))
                == 1;
    }

    /**
     * Deletes a session. One that is not there is fine.
     *
     * @param sessionId the session's id
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}
     */
    public void deleteBySessionId(String sessionId) {
        byte[] id = utf8(sessionId);
        handle.run((self, error) -> Library.ABI.taskhold_session_store_delete_by_session_id(self, id, error));
    }

    /**
     * Pins a session: it is in use by a stream and does not expire. Pins are counted; they belong to this object and end
     * with it.
     *
     * @param sessionId the session's id
     * @return whether it is pinned; false if there is no such session
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}
     */
    public boolean pin(String sessionId) {
        byte[] id = utf8(sessionId);
        return handle.number((self, out, error) -> Library.ABI.taskhold_session_store_pin(self, id, out, error)) == 1;
    }

    /**
     * Takes back one pin. The idle time of a session starts at its last unpin. Without a pin nothing happens.
     *
     * @param sessionId the session's id
     * @throws TaskholdException.InvalidArgument {@code invalid_identifier}
     */
    public void unpin(String sessionId) {
        byte[] id = utf8(sessionId);
        handle.run((self, error) -> Library.ABI.taskhold_session_store_unpin(self, id, error));
    }

    /**
     * Takes the sessions that expired, each once, so that the host can let go of what it kept beside them: those that this
     * process removed and, in a file, those that another one removed and that were created or pinned through this store.
     * Only the last {@link Builder#keepExpired} ones are there.
     *
     * @return a JSON array of {@code {"reason": "idle" | "uninitialized", "sessionId": "...", "endpoint": "..."}}
     */
    public String takeExpired() {
        return handle.someText(Library.ABI::taskhold_session_store_take_expired);
    }

    /** Closes the session store. The pins that it took end with it; its sessions stay in the store. */
    @Override
    public void close() {
        handle.close();
    }

    /** Options of a session store. Durations are whole milliseconds. */
    public static final class Builder {
        private final JsonWriter options = new JsonWriter();
        private @Nullable Store store;

        private Builder() {}

        /**
         * Says where the sessions live; in a private store in memory unless said.
         *
         * @param store the store; null is a private one in memory
         * @return this builder
         */
        public Builder store(@Nullable Store store) {
            this.store = store;
            return this;
        }

        /**
         * Names the session store, {@code "default"} unless said: those with the same name over one store share their
         * sessions.
         *
         * @param name the name; null is {@code "default"}
         * @return this builder
         */
        public Builder name(@Nullable String name) {
            options.text("name", name);
            return this;
        }

        /**
         * Says after which idle time a session expires; 24 hours unless said.
         *
         * @param timeout the time; zero is never
         * @return this builder
         */
        public Builder idleTimeout(Duration timeout) {
            options.number("idleTimeoutMs", Background.millis(timeout));
            return this;
        }

        /**
         * Limits how many sessions may be there, terminated ones not counted; 8192 unless said.
         *
         * @param limit the limit; 0 is none
         * @return this builder
         */
        public Builder concurrentSessionLimit(long limit) {
            options.number("concurrentSessionLimit", limit);
            return this;
        }

        /**
         * Limits how many sessions each authorization partition may have, terminated ones not counted, so that one user cannot use
         * up what all share; there is no such limit unless said. The anonymous partition is one.
         *
         * @param limit the limit; 0 is none
         * @return this builder
         */
        public Builder concurrentSessionLimitPerPartition(long limit) {
            options.number("concurrentSessionLimitPerPartition", limit);
            return this;
        }

        /**
         * Says after which time a session that is not initialized expires; 60 seconds unless said.
         *
         * @param timeout the time; zero is never
         * @return this builder
         */
        public Builder initializationTimeout(Duration timeout) {
            options.number("initializationTimeoutMs", Background.millis(timeout));
            return this;
        }

        /**
         * Says how many of the sessions that expired are kept for {@link SessionStore#takeExpired}; none unless said.
         *
         * @param count how many
         * @return this builder
         */
        public Builder keepExpired(long count) {
            options.number("keepExpired", count);
            return this;
        }

        /**
         * Sets any option, by the name that the C interface has for it.
         *
         * @param name its name
         * @param json its value, JSON; null is the default
         * @return this builder
         * @throws TaskholdException.InvalidArgument {@code invalid_json}
         */
        public Builder option(String name, @Nullable String json) {
            options.json(name, json);
            return this;
        }

        /**
         * Opens the session store.
         *
         * @return the session store
         * @throws TaskholdException.InvalidArgument {@code invalid_value}: {@link TaskholdException#key} names the option
         */
        public SessionStore open() {
            return SessionStore.open(store, options.toString());
        }
    }
}
