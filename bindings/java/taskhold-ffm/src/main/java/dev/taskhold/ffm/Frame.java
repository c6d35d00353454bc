package dev.taskhold.ffm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The memory of one call: copies of the texts that go in and a cell for each output. It ends with the call. An
 * arena of its own is right on virtual threads too, where a buffer for each thread would be one for each of very many.
 */
final class Frame implements AutoCloseable {
    /** No function has more. */
    private static final int OUTPUTS = 3;

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment[] cells = new MemorySegment[OUTPUTS];
    private final Object[] outputs = new Object[OUTPUTS];
    private int count;

    /** Gives the address of a copy of {@code text}, 0 for null. */
    long in(byte @Nullable [] text) {
        if (text == null) {
            return 0;
        }
        MemorySegment copy = arena.allocate(text.length);
        MemorySegment.copy(text, 0, copy, JAVA_BYTE, 0, text.length);
        return copy.address();
    }

    /** Gives the address of a cell for {@code output}: an array of {@code long} or {@code int}. */
    long out(Object output) {
        MemorySegment cell = arena.allocate(JAVA_LONG);
        cells[count] = cell;
        outputs[count++] = output;
        return cell.address();
    }

    /** Copies what the call left in the cells, and hands {@code status} on. */
    int returned(int status) {
        for (int at = 0; at < count; at++) {
            if (outputs[at] instanceof long[] wide) {
                wide[0] = cells[at].get(JAVA_LONG, 0);
            } else if (outputs[at] instanceof int[] narrow) {
                narrow[0] = cells[at].get(JAVA_INT, 0);
            }
        }
        return status;
    }

    @Override
    public void close() {
        arena.close();
    }
}
