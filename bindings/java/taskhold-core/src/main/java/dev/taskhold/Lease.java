package dev.taskhold;

import java.time.Instant;
import java.util.OptionalLong;

/**
 * Who works on a task, and until when.
 *
 * @param worker what the worker calls itself
 * @param expiresAt when the lease lapses unless it is renewed, by the store's clock
 * @param token the number that the worker's calls name; only in the answers to a claim and to a creation
 * @param json the lease as the library gave it
 */
public record Lease(String worker, Instant expiresAt, OptionalLong token, String json) {
    static Lease read(String json) {
        JsonObject members = JsonObject.of(json);
        return new Lease(
                members.someText("worker"),
                members.time("expiresAt").orElseThrow(),
                members.someNumber("token"),
                json);
    }
}
