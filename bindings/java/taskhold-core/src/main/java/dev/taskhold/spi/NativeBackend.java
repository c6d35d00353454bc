package dev.taskhold.spi;

import java.nio.file.Path;

/**
 * A way to call C functions from Java. {@code taskhold-ffm} and {@code taskhold-jna} each provide one; it is found by
 * {@link java.util.ServiceLoader}. Of those that can be loaded, the one with the highest preference is used.
 */
public interface NativeBackend {

    /**
     * Gives the name by which {@code -Dtaskhold.backend} chooses this backend.
     *
     * @return {@code "ffm"} or {@code "jna"}
     */
    String name();

    /**
     * Gives its rank among the backends; the highest is tried first.
     *
     * @return the rank
     */
    int preference();

    /**
     * Loads the library and binds its functions. It is called at most once.
     *
     * @param library the file, absolute
     * @return the functions
     * @throws UnsatisfiedLinkError if the file or one of its functions cannot be bound
     */
    Abi load(Path library);
}
