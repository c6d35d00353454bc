package dev.taskhold;

import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * MCP sessions as objects: the calls of a {@link SessionStore} with {@link Session} in the place of texts. Each method fails as
 * that of {@link SessionStore} which it names. Any thread may use it.
 */
public final class Sessions implements AutoCloseable {
    private final SessionStore store;

    private Sessions(SessionStore store) {
        this.store = store;
    }

    /**
     * Opens a store of sessions in this process's memory.
     *
     * @return the sessions
     */
    public static Sessions open() {
        return open(SessionStore.builder());
    }

    /**
     * Opens a store of sessions.
     *
     * @param options where the sessions live, and more
     * @return the sessions
     * @throws TaskholdException.InvalidArgument {@code invalid_value}: {@link TaskholdException#key} names the option
     */
    public static Sessions open(SessionStore.Builder options) {
        return new Sessions(options.open());
    }

    /**
     * Gives the sessions of a store that is open. Closing them closes it.
     *
     * @param store the session store
     * @return the sessions
     */
    public static Sessions over(SessionStore store) {
        return new Sessions(store);
    }

    /**
     * Gives the session store: the same calls with texts, and as futures.
     *
     * @return the session store
     */
    public SessionStore store() {
        return store;
    }

    /**
     * Creates and admits a session in the anonymous partition; see {@link SessionStore#create}.
     *
     * @param endpoint the endpoint that the session belongs to
     * @return the session; empty when it is declined because a limit is reached
     */
    public Optional<Session> create(Endpoint endpoint) {
        return create(endpoint, null);
    }

    /**
     * Creates and admits a session; see {@link SessionStore#create}.
     *
     * @param endpoint the endpoint that the session belongs to
     * @param creation what it is made of; null is {@link SessionCreation#defaults}
     * @return the session; empty when it is declined because a limit is reached
     */
    public Optional<Session> create(Endpoint endpoint, @Nullable SessionCreation creation) {
        return store.create(endpoint.value(), creation == null ? null : creation.toJson()).map(Session::new);
    }

    /**
     * Finds a session for trusted code; see {@link SessionStore#findBySessionId}.
     *
     * @param sessionId the session's id
     * @return the session
     */
    public Optional<Session> find(String sessionId) {
        return store.findBySessionId(sessionId).map(Session::new);
    }

    /**
     * Finds a session that the caller may use; see {@link SessionStore#findAuthorizedSession}.
     *
     * @param caller who asks, and where
     * @param sessionId the session's id
     * @return the session
     */
    public Optional<Session> findAuthorized(Caller caller, String sessionId) {
        return store.findAuthorizedSession(caller.endpoint().value(), caller.partition().name(), sessionId)
                .map(Session::new);
    }

    /**
     * Lists sessions for operators, one page, and never for clients; see {@link SessionStore#listSessions}.
     *
     * @param query which ones
     * @return a page
     */
    public Page<Session> list(SessionQuery query) {
        return page(query.toJson());
    }

    /**
     * Walks over sessions for operators, page by page, as the stream is read. A session that stays meanwhile comes exactly
     * once. Sessions that cannot be read are left out; {@link #list} names them.
     *
     * @param query which ones
     * @return the sessions; a terminal operation fails as {@link SessionStore#listSessions} does
     */
    public Stream<Session> stream(SessionQuery query) {
        return PageWalk.stream(() -> page(query.toJson()), token -> page(query.toJson(token)));
    }

    private Page<Session> page(String params) {
        String json = store.listSessions(params);
        JsonObject members = JsonObject.of(json);
        return Page.read(json, members, members.elements("sessions").stream().map(Session::new).toList());
    }

    /**
     * Replaces a session by compare-and-set; see {@link SessionStore#replace}.
     *
     * @param expected the session as it was given out
     * @param updated the session as it shall be, made with {@link Session#update}
     * @return whether it was replaced; a lost race changes nothing
     */
    public boolean replace(Session expected, SessionUpdate updated) {
        return store.replace(expected.json(), updated.toJson());
    }

    /**
     * Deletes a session; see {@link SessionStore#deleteBySessionId}.
     *
     * @param sessionId the session's id
     */
    public void delete(String sessionId) {
        store.deleteBySessionId(sessionId);
    }

    /**
     * Pins a session; see {@link SessionStore#pin}.
     *
     * @param sessionId the session's id
     * @return whether it is pinned; false if there is no such session
     */
    public boolean pin(String sessionId) {
        return store.pin(sessionId);
    }

    /**
     * Takes back one pin; see {@link SessionStore#unpin}.
     *
     * @param sessionId the session's id
     */
    public void unpin(String sessionId) {
        store.unpin(sessionId);
    }

    /** Closes the session store; see {@link SessionStore#close}. */
    @Override
    public void close() {
        store.close();
    }
}
