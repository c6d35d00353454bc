package dev.taskhold;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.Objects;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * An open handle of the library and the calls on it. Its value is a token: a call on a closed one is refused by the
 * library itself, so that nothing here has to be locked or remembered, and closing may race with anything.
 */
final class Handle {
    private static final Cleaner CLEANER = Cleaner.create();

    private final long value;
    private final Cleaner.Cleanable closing;

    /** Must not refer to the handle's owner: it would never become unreachable. */
    private Handle(long value, LongUnaryOperator close) {
        this.value = value;
        this.closing = CLEANER.register(this, () -> close.applyAsLong(value));
    }

    /** Opens a handle. */
    static Handle open(Opening opening, LongUnaryOperator close) {
        long[] out = new long[1];
        long[] error = new long[1];
        Outcome.check(opening.call(out, error), error);
        return new Handle(out[0], close);
    }

    /** Opens a handle over another one, of which null is a legal value. */
    static Handle openOver(@Nullable Handle parent, TextCall opening, LongUnaryOperator close) {
        try {
            return open((out, error) -> opening.call(parent == null ? 0 : parent.value, out, error), close);
        } finally {
            Reference.reachabilityFence(parent);
        }
    }

    /** Gives the token, for a thread that must not keep this object reachable. */
    long value() {
        return value;
    }

    /** Closes the handle, once. */
    void close() {
        closing.clean();
    }

    /** Makes a call with an optional text as its output. */
    @Nullable String text(TextCall call) {
        long[] out = new long[1];
        long[] error = new long[1];
        try {
            return Outcome.text(call.call(value, out, error), out, error);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Makes a call whose output is always there. */
    String someText(TextCall call) {
        return Objects.requireNonNull(text(call));
    }

    /** Makes a call with a text and its revision as outputs. */
    @Nullable Revisioned revisioned(RevisionedCall call) {
        long[] out = new long[1];
        long[] revision = new long[1];
        long[] error = new long[1];
        try {
            String text = Outcome.text(call.call(value, out, revision, error), out, error);
            return text == null ? null : new Revisioned(text, revision[0]);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Makes a call with a number of 32 bits as its output. */
    int number(NumberCall call) {
        int[] out = new int[1];
        long[] error = new long[1];
        try {
            Outcome.check(call.call(value, out, error), error);
            return out[0];
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Makes a call with a number of 64 bits as its output. */
    long wideNumber(TextCall call) {
        long[] out = new long[1];
        long[] error = new long[1];
        try {
            Outcome.check(call.call(value, out, error), error);
            return out[0];
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Makes a call without an output. */
    void run(PlainCall call) {
        long[] error = new long[1];
        try {
            Outcome.check(call.call(value, error), error);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Opens something. */
    interface Opening {
        int call(long[] out, long[] error);
    }

    /** Has an output of 64 bits: a string, a handle or a number. */
    interface TextCall {
        int call(long handle, long[] out, long[] error);
    }

    /** Has a string and a revision as outputs. */
    interface RevisionedCall {
        int call(long handle, long[] out, long[] revision, long[] error);
    }

    /** Has an output of 32 bits. */
    interface NumberCall {
        int call(long handle, int[] out, long[] error);
    }

    /** Has no output but the error. */
    interface PlainCall {
        int call(long handle, long[] error);
    }
}
