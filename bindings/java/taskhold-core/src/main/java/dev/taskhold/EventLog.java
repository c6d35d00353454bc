package dev.taskhold;

import java.util.List;

/**
 * A part of the log of an A2A task.
 *
 * @param events the events, oldest first
 * @param revision the task's revision; 0 for an unknown task
 * @param missing whether events before these were dropped, or the task was deleted and made again
 * @param json the part as the library gave it
 */
public record EventLog(List<Event> events, long revision, boolean missing, String json) {
    /** Keeps a copy of the list. */
    public EventLog {
        events = List.copyOf(events);
    }

    /**
     * One event.
     *
     * @param revision the revision of the save that brought it
     * @param json the event, byte for byte as it was given
     */
    public record Event(long revision, String json) {}

    /**
     * Tells where to continue.
     *
     * @return the revision of the last event, or the task's where no event came
     */
    public long next() {
        return events.isEmpty() ? revision : events.get(events.size() - 1).revision();
    }

    static EventLog read(String json) {
        JsonObject log = JsonObject.of(json);
        List<Event> events = log.elements("events").stream()
                .map(JsonObject::of)
                .map(event -> new Event(event.number("revision"), event.literal("event")))
                .toList();
        return new EventLog(events, log.number("revision"), log.flag("missing"), json);
    }
}
