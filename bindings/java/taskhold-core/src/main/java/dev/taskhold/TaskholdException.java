package dev.taskhold;

import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * A call that failed. The subclass says by which status; {@link #reason()} says more exactly why. Messages are fixed
 * texts for people; they hold no id, key, partition or payload, and can be logged.
 *
 * <p>A status that this class does not know is an exception of this class itself.
 */
public class TaskholdException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final Status status;
    private final String reason;
    private final String errorJson;

    TaskholdException(Status status, String reason, String message, String errorJson) {
        super(shown(reason, message, errorJson));
        this.status = status;
        this.reason = reason;
        this.errorJson = errorJson;
    }

    /**
     * Gives the status.
     *
     * @return the status
     */
    public final Status status() {
        return status;
    }

    /**
     * Gives the reason, out of a closed list: {@code "task_terminal"}, {@code "revision_mismatch"} and so on.
     *
     * @return the reason
     */
    public final String reason() {
        return reason;
    }

    /**
     * Gives the whole error object: {@code {"status": "...", "reason": "...", "message": "..."}} and perhaps more. When the
     * storage failed during {@link TaskManager#handleRequest}, {@code response} is a JSON-RPC error that may be sent.
     *
     * @return a JSON object
     */
    public final String errorJson() {
        return errorJson;
    }

    /**
     * Gives the option, member or parameter at fault.
     *
     * @return its name, if there is one
     */
    public final Optional<String> key() {
        return JsonObject.of(errorJson).text("key");
    }

    /**
     * Gives the bound that was broken.
     *
     * @return the bound, if there is one
     */
    public final OptionalLong limit() {
        return JsonObject.of(errorJson).someNumber("limit");
    }

    /** The text for people and logs: reason, message and the key at fault, which may be what somebody sent. */
    private static String shown(String reason, String message, String errorJson) {
        String key = JsonObject.of(errorJson).find("key");
        return reason + ": " + message + (key == null ? "" : " (" + key.substring(1, key.length() - 1) + ")");
    }

    /** An argument is malformed; the call cannot succeed as it stands. */
    public static final class InvalidArgument extends TaskholdException {
        private static final long serialVersionUID = 1L;

        InvalidArgument(String reason, String message, String errorJson) {
            super(Status.INVALID_ARGUMENT, reason, message, errorJson);
        }
    }

    /** The object is closed, or belongs to the process that this one was forked from. */
    public static final class InvalidHandle extends TaskholdException {
        private static final long serialVersionUID = 1L;

        InvalidHandle(String reason, String message, String errorJson) {
            super(Status.INVALID_HANDLE, reason, message, errorJson);
        }
    }

    /** The task is absent, expired, or not visible to the caller. */
    public static final class NotFound extends TaskholdException {
        private static final long serialVersionUID = 1L;

        NotFound(String reason, String message, String errorJson) {
            super(Status.NOT_FOUND, reason, message, errorJson);
        }
    }

    /** A rule of the state machine refuses the call. */
    public static final class InvalidState extends TaskholdException {
        private static final long serialVersionUID = 1L;

        InvalidState(String reason, String message, String errorJson) {
            super(Status.INVALID_STATE, reason, message, errorJson);
        }
    }

    /** The store is full; an unexpired record is never evicted. */
    public static final class CapacityExhausted extends TaskholdException {
        private static final long serialVersionUID = 1L;

        CapacityExhausted(String reason, String message, String errorJson) {
            super(Status.CAPACITY_EXHAUSTED, reason, message, errorJson);
        }
    }

    /** An argument is larger or deeper than a limit. */
    public static final class LimitExceeded extends TaskholdException {
        private static final long serialVersionUID = 1L;

        LimitExceeded(String reason, String message, String errorJson) {
            super(Status.LIMIT_EXCEEDED, reason, message, errorJson);
        }
    }

    /** An expected revision did not match, or an id is taken. */
    public static final class Conflict extends TaskholdException {
        private static final long serialVersionUID = 1L;

        Conflict(String reason, String message, String errorJson) {
            super(Status.CONFLICT, reason, message, errorJson);
        }
    }

    /** Nothing happened within the time given. */
    public static final class Timeout extends TaskholdException {
        private static final long serialVersionUID = 1L;

        Timeout(String reason, String message, String errorJson) {
            super(Status.TIMEOUT, reason, message, errorJson);
        }
    }

    /** The object was closed while the call waited. */
    public static final class Closed extends TaskholdException {
        private static final long serialVersionUID = 1L;

        Closed(String reason, String message, String errorJson) {
            super(Status.CLOSED, reason, message, errorJson);
        }
    }

    /** The storage failed; a retry may help, unless the reason is {@code outcome_unknown}. */
    public static final class Unavailable extends TaskholdException {
        private static final long serialVersionUID = 1L;

        Unavailable(String reason, String message, String errorJson) {
            super(Status.UNAVAILABLE, reason, message, errorJson);
        }
    }

    /** A stored row cannot be read. */
    public static final class Corrupt extends TaskholdException {
        private static final long serialVersionUID = 1L;

        Corrupt(String reason, String message, String errorJson) {
            super(Status.CORRUPT, reason, message, errorJson);
        }
    }

    /** This build or platform cannot do it. */
    public static final class Unsupported extends TaskholdException {
        private static final long serialVersionUID = 1L;

        Unsupported(String reason, String message, String errorJson) {
            super(Status.UNSUPPORTED, reason, message, errorJson);
        }
    }

    /** A defect of the library, or a resource that the system refused; state is as before the call. */
    public static final class Internal extends TaskholdException {
        private static final long serialVersionUID = 1L;

        Internal(String reason, String message, String errorJson) {
            super(Status.INTERNAL, reason, message, errorJson);
        }
    }

    /** Makes the exception for a call that failed in the library. */
    static TaskholdException of(int code, @Nullable String errorJson) {
        String json = errorJson == null ? "{}" : errorJson;
        JsonObject error = JsonObject.of(json);
        String reason = error.text("reason").orElse("unknown");
        String message = error.text("message").orElse("the call failed with status " + code);
        return of(Status.of(code), reason, message, json);
    }

    /** Makes the exception for a call that never reached the library. */
    static TaskholdException made(Status status, String reason, String message) {
        String json = new JsonWriter()
                .text("status", status.name().toLowerCase(Locale.ROOT))
                .text("reason", reason)
                .text("message", message)
                .toString();
        return of(status, reason, message, json);
    }

    /** Says of a refusal which member it is about. */
    static TaskholdException about(String key, TaskholdException refusal) {
        JsonObject error = JsonObject.of(refusal.errorJson);
        String message = error.text("message").orElse("");
        String json = new JsonWriter()
                .text("status", refusal.status.name().toLowerCase(Locale.ROOT))
                .text("reason", refusal.reason)
                .text("message", message)
                .text("key", key)
                .toString();
        return of(refusal.status, refusal.reason, message, json);
    }

    private static TaskholdException of(Status status, String reason, String message, String json) {
        return switch (status) {
            case INVALID_ARGUMENT -> new InvalidArgument(reason, message, json);
            case INVALID_HANDLE -> new InvalidHandle(reason, message, json);
            case NOT_FOUND -> new NotFound(reason, message, json);
            case INVALID_STATE -> new InvalidState(reason, message, json);
            case CAPACITY_EXHAUSTED -> new CapacityExhausted(reason, message, json);
            case LIMIT_EXCEEDED -> new LimitExceeded(reason, message, json);
            case CONFLICT -> new Conflict(reason, message, json);
            case TIMEOUT -> new Timeout(reason, message, json);
            case CLOSED -> new Closed(reason, message, json);
            case UNAVAILABLE -> new Unavailable(reason, message, json);
            case CORRUPT -> new Corrupt(reason, message, json);
            case UNSUPPORTED -> new Unsupported(reason, message, json);
            case INTERNAL -> new Internal(reason, message, json);
            case OK, UNKNOWN -> new TaskholdException(Status.UNKNOWN, reason, message, json);
        };
    }
}
