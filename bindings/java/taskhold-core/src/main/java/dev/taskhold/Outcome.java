package dev.taskhold;

import org.jspecify.annotations.Nullable;

/** Turns what a C function left behind into a value or an exception, and frees its strings. */
final class Outcome {
    private Outcome() {}

    /** Gives the text that came out, null for NULL. */
    static @Nullable String text(int status, long[] out, long[] error) {
        check(status, error);
        return take(out[0]);
    }

    /** Throws if the call failed. */
    static void check(int status, long[] error) {
        if (status != 0) {
            throw TaskholdException.of(status, take(error[0]));
        }
    }

    private static @Nullable String take(long address) {
        if (address == 0) {
            return null;
        }
        try {
            return Library.ABI.text(address);
        } finally {
            Library.ABI.taskhold_string_free(address);
        }
    }
}
