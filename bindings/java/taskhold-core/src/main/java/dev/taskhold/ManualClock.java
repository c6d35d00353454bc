package dev.taskhold;

import java.time.Duration;
import java.time.Instant;

/**
 * A clock that only moves when it is told to. For tests: give it to a store, and time to live, grace periods and idle
 * timeouts follow it. Timeouts of waits are real time. Any thread may use it.
 */
public final class ManualClock implements AutoCloseable {
    final Handle handle;

    private ManualClock(Handle handle) {
        this.handle = handle;
    }

    /**
     * Opens a clock that stands still until it is moved.
     *
     * @param start its wall time, in the years 0001 to 9999; milliseconds count. Its monotonic time starts at 0
     * @return the clock
     * @throws TaskholdException.InvalidArgument if {@code start} is out of range ({@code invalid_value})
     */
    public static ManualClock open(Instant start) {
        return open(Background.millis(Duration.ofSeconds(start.getEpochSecond(), start.getNano())));
    }

    static ManualClock open(long epochMs) {
        return new ManualClock(Handle.open(
                (out, error) -> Library.ABI.taskhold_clock_open_manual(epochMs, out, error),
                Library.ABI::taskhold_clock_close));
    }

    /**
     * Moves the clock forward, wall time and monotonic time alike.
     *
     * @param time how far, 0 or more, in whole milliseconds
     * @throws TaskholdException.InvalidArgument if {@code time} is negative or leads out of the years 0001 to 9999
     *     ({@code invalid_value})
     */
    public void advance(Duration time) {
        advance(Background.millis(time));
    }

    void advance(long ms) {
        handle.run((clock, error) -> Library.ABI.taskhold_clock_advance(clock, ms, error));
    }

    /**
     * Steps the wall time, as an operator or a time service does; the monotonic time stays, and in memory nothing
     * expires by it.
     *
     * @param time how far, in whole milliseconds; may be negative
     * @throws TaskholdException.InvalidArgument if {@code time} leads out of the years 0001 to 9999 ({@code invalid_value})
     */
    public void stepWall(Duration time) {
        stepWall(Background.millis(time));
    }

    void stepWall(long ms) {
        handle.run((clock, error) -> Library.ABI.taskhold_clock_step_wall(clock, ms, error));
    }

    /** Closes the clock. It lives on in the stores that were opened with it, and stands still there. */
    @Override
    public void close() {
        handle.close();
    }
}
