package dev.taskhold;

import java.nio.file.Path;
import java.util.Objects;

/** What there is to know about the library of this process. Its first use loads the library. */
public final class Taskhold {
    private Taskhold() {}

    /**
     * Gives the version of the native library, such as {@code "0.1.0"}.
     *
     * @return the version
     */
    public static String version() {
        return Library.ABI.text(Library.ABI.taskhold_version());
    }

    /**
     * Describes the native library: {@code version}, {@code abiVersion}, {@code backends} of stores, {@code limits},
     * {@code defaults} and {@code liveHandles}, how many handles this process has open.
     *
     * @return a JSON object; members may be added
     */
    public static String describe() {
        long[] json = new long[1];
        long[] error = new long[1];
        return Objects.requireNonNull(Outcome.text(Library.ABI.taskhold_describe(json, error), json, error));
    }

    /**
     * Tells how the library is called.
     *
     * @return {@code "ffm"} or {@code "jna"}
     */
    public static String backend() {
        return Library.BACKEND;
    }

    /**
     * Tells which file the library is.
     *
     * @return the absolute path
     */
    public static Path library() {
        return Library.FILE;
    }
}
