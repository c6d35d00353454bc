package dev.taskhold;

import org.jspecify.annotations.Nullable;

/**
 * The owner of A2A tasks. The anonymous one has no name, and is another than that named {@code ""}.
 *
 * @param name at most 1024 bytes of UTF-8; null for the anonymous one
 */
public record Owner(@Nullable String name) {
    /** The owner of what nobody owns by name. */
    public static final Owner ANONYMOUS = new Owner(null);

    /**
     * Makes an owner.
     *
     * @param name at most 1024 bytes of UTF-8; null for the anonymous one
     * @return the owner
     */
    public static Owner of(@Nullable String name) {
        return new Owner(name);
    }
}
