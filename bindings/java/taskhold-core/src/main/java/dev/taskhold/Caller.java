package dev.taskhold;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Who asks, and where: both are checked exactly before anything is shown. {@code Caller.at("/mcp").withPartition("alice")}.
 *
 * @param endpoint the endpoint that the request came to
 * @param partition the caller's authorization partition
 */
public record Caller(Endpoint endpoint, Partition partition) {
    /** Checks that both are there. */
    public Caller {
        Objects.requireNonNull(endpoint, "endpoint");
        Objects.requireNonNull(partition, "partition");
    }

    /**
     * Begins with the endpoint; the caller is anonymous.
     *
     * @param endpoint at most 1024 bytes of UTF-8
     * @return the caller
     */
    public static Caller at(String endpoint) {
        return new Caller(Endpoint.of(endpoint), Partition.ANONYMOUS);
    }

    /**
     * Says who calls.
     *
     * @param partition the authorization partition, at most 1024 bytes of UTF-8; null for the anonymous one
     * @return the caller at the same endpoint
     */
    public Caller withPartition(@Nullable String partition) {
        return new Caller(endpoint, Partition.of(partition));
    }
}
