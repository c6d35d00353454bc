package dev.taskhold;

import java.util.Optional;

/**
 * Something that happened to a task. An event is a hint to look at the task, not its state.
 *
 * @param kind what happened
 * @param taskId the task's id; empty for {@link Kind#LAGGED}
 * @param json the event as the library gave it
 */
public record TaskEvent(Kind kind, Optional<String> taskId, String json) {

    static TaskEvent of(String json) {
        JsonObject event = JsonObject.of(json);
        Kind kind = switch (event.text("event").orElse("")) {
            case "changed" -> Kind.CHANGED;
            case "cancelation_requested" -> Kind.CANCELATION_REQUESTED;
            case "finalized" -> Kind.FINALIZED;
            case "saved" -> Kind.SAVED;
            case "lagged" -> Kind.LAGGED;
            default -> Kind.UNKNOWN;
        };
        return new TaskEvent(kind, event.text("taskId"), json);
    }

    /** What can happen. */
    public enum Kind {
        /** The task was created, its state changed, or answers were accepted. */
        CHANGED,
        /** A client asked for the task's cancelation. */
        CANCELATION_REQUESTED,
        /** The A2A task became final. */
        FINALIZED,
        /** The A2A task was saved; only where {@link StateProvider.Builder#announceSaves} was asked for. */
        SAVED,
        /** The queue was full and events were dropped here: look at everything again. */
        LAGGED,
        /** An event that is younger than this class: ignore it. */
        UNKNOWN
    }
}
