package dev.taskhold;

import java.util.List;

/**
 * What became of a client's answers. For the host, never for the client.
 *
 * @param accepted the keys of the answers that count
 * @param ignored the keys of the others: not outstanding, or of another shape than asked for
 * @param json the outcome as the library gave it
 */
public record UpdateOutcome(List<String> accepted, List<String> ignored, String json) {
    /** Keeps copies of the lists. */
    public UpdateOutcome {
        accepted = List.copyOf(accepted);
        ignored = List.copyOf(ignored);
    }

    static UpdateOutcome read(String json) {
        JsonObject members = JsonObject.of(json);
        return new UpdateOutcome(members.texts("accepted"), members.texts("ignored"), json);
    }
}
