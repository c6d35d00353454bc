package dev.taskhold;

import java.time.Instant;
import java.time.format.DateTimeFormatterBuilder;
import java.time.format.DateTimeFormatter;
import org.jspecify.annotations.Nullable;

/** A session as it shall be: {@code session.update().initialized(true).protocolVersion("...")}. Its version is the next one. */
public final class SessionUpdate {
    /** The form that the library gives out and takes here: always three digits of a second. */
    private static final DateTimeFormatter MILLISECONDS = new DateTimeFormatterBuilder().appendInstant(3).toFormatter();

    private final JsonWriter session = new JsonWriter();

    SessionUpdate(Session before) {
        before.members().members().forEach(session::set);
        session.number("version", before.version() + 1);
    }

    /**
     * Says when the session was used last.
     *
     * @param time the time; what is below a millisecond is cut off
     * @return this update
     */
    public SessionUpdate lastActivityAt(Instant time) {
        session.text("lastActivityAt", MILLISECONDS.format(time));
        return this;
    }

    /**
     * Says whether the session is initialized.
     *
     * @param initialized whether it is
     * @return this update
     */
    public SessionUpdate initialized(boolean initialized) {
        session.bool("initialized", initialized);
        return this;
    }

    /**
     * Says whether the client has sent {@code notifications/initialized}.
     *
     * @param received whether it has
     * @return this update
     */
    public SessionUpdate initializedNotificationReceived(boolean received) {
        session.bool("initializedNotificationReceived", received);
        return this;
    }

    /**
     * Says which protocol version was agreed on.
     *
     * @param version the version
     * @return this update
     */
    public SessionUpdate protocolVersion(@Nullable String version) {
        return put("protocolVersion", version == null ? null : Json.quote(version));
    }

    /**
     * Says what the client declared.
     *
     * @param capabilities a JSON object
     * @return this update
     */
    public SessionUpdate clientCapabilities(@Nullable String capabilities) {
        return put("clientCapabilities", capabilities);
    }

    /**
     * Says what was agreed on.
     *
     * @param capabilities a JSON object
     * @return this update
     */
    public SessionUpdate negotiatedCapabilities(@Nullable String capabilities) {
        return put("negotiatedCapabilities", capabilities);
    }

    /**
     * Says what the host keeps with the session.
     *
     * @param context a JSON object
     * @return this update
     */
    public SessionUpdate sessionContext(String context) {
        return put("sessionContext", context);
    }

    /**
     * Terminates the session, for good.
     *
     * @param time when; what is below a millisecond is cut off
     * @return this update
     */
    public SessionUpdate terminatedAt(Instant time) {
        session.text("terminatedAt", MILLISECONDS.format(time));
        return this;
    }

    private SessionUpdate put(String name, @Nullable String json) {
        session.json(name, json == null ? "null" : json);
        return this;
    }

    /**
     * Writes the session.
     *
     * @return a JSON object
     */
    public String toJson() {
        return session.toString();
    }
}
