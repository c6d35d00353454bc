package dev.taskhold;

import java.time.Instant;
import java.util.Optional;

/** An MCP session. */
public final class Session extends Snapshot {
    Session(String json) {
        super(json);
    }

    /**
     * Reads a session.
     *
     * @param json a session as the library gives it out
     * @return the session
     */
    public static Session of(String json) {
        return new Session(json);
    }

    /**
     * Gives the id.
     *
     * @return 1 to 1024 visible ASCII characters
     */
    public String sessionId() {
        return members().someText("sessionId");
    }

    /**
     * Gives who may use the session, and where.
     *
     * @return endpoint and authorization partition
     */
    public Caller caller() {
        return new Caller(
                Endpoint.of(members().someText("endpoint")),
                Partition.of(members().text("authorizationPartition").orElse(null)));
    }

    /**
     * Tells when the session was created.
     *
     * @return the time, to the millisecond
     */
    public Instant createdAt() {
        return members().time("createdAt").orElseThrow();
    }

    /**
     * Tells when the session was used last.
     *
     * @return the time, to the millisecond
     */
    public Instant lastActivityAt() {
        return members().time("lastActivityAt").orElseThrow();
    }

    /**
     * Tells whether the session is initialized.
     *
     * @return whether it is
     */
    public boolean isInitialized() {
        return members().flag("initialized");
    }

    /**
     * Tells whether the client has sent {@code notifications/initialized}.
     *
     * @return whether it has
     */
    public boolean isInitializedNotificationReceived() {
        return members().flag("initializedNotificationReceived");
    }

    /**
     * Gives the protocol version that was agreed on.
     *
     * @return the version, once there is one
     */
    public Optional<String> protocolVersion() {
        return members().text("protocolVersion");
    }

    /**
     * Gives what the client declared.
     *
     * @return a JSON object, once there is one
     */
    public Optional<String> clientCapabilities() {
        return members().json("clientCapabilities");
    }

    /**
     * Gives what was agreed on.
     *
     * @return a JSON object, once there is one
     */
    public Optional<String> negotiatedCapabilities() {
        return members().json("negotiatedCapabilities");
    }

    /**
     * Gives what the host keeps with the session.
     *
     * @return a JSON object
     */
    public Optional<String> sessionContext() {
        return members().json("sessionContext");
    }

    /**
     * Tells when the session was terminated.
     *
     * @return the time, if it was
     */
    public Optional<Instant> terminatedAt() {
        return members().time("terminatedAt");
    }

    /**
     * Gives the version, which grows with every replacement.
     *
     * @return the version, 0 at first
     */
    public long version() {
        return members().number("version");
    }

    /**
     * Begins the session that shall take the place of this one, with the next version.
     *
     * @return an update that changes nothing yet
     */
    public SessionUpdate update() {
        return new SessionUpdate(this);
    }

    @Override
    public String toString() {
        return "Session[version " + version() + "]";
    }
}
