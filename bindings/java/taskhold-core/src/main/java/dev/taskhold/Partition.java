package dev.taskhold;

import org.jspecify.annotations.Nullable;

/**
 * The authorization partition of a caller: who may see what. The anonymous one has no name, and is another than that named
 * {@code ""}.
 *
 * @param name at most 1024 bytes of UTF-8; null for the anonymous one
 */
public record Partition(@Nullable String name) {
    /** The partition of those that nobody knows. */
    public static final Partition ANONYMOUS = new Partition(null);

    /**
     * Makes a partition.
     *
     * @param name at most 1024 bytes of UTF-8; null for the anonymous one
     * @return the partition
     */
    public static Partition of(@Nullable String name) {
        return new Partition(name);
    }

    /**
     * Tells whether this is the anonymous partition.
     *
     * @return whether it is
     */
    public boolean isAnonymous() {
        return name == null;
    }

    /** Writes the filter of a listing, to which the anonymous partition is another than any; null for any. */
    static @Nullable String filter(@Nullable Partition partition) {
        if (partition == null) {
            return null;
        }
        return partition.name == null ? "null" : Json.quote(partition.name);
    }
}
