package dev.taskhold;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A queue of events. Take them one by one with {@link #next}, or {@link #subscribe}; not both. The queue is bounded:
 * events of one task coalesce, and where events had to be dropped there is one {@link TaskEvent.Kind#LAGGED}. Expiry
 * makes no event.
 *
 * <p>Any thread may use it. One platform thread of this queue waits for events, from the first wait on; the threads that
 * call {@link #next} are parked meanwhile.
 */
public final class TaskEvents implements AutoCloseable, Flow.Publisher<TaskEvent> {
    /** A timeout that does not end. */
    private static final int FOREVER = -1;

    final Handle handle;
    private final ExecutorService waiting = Background.pool("taskhold-events", 1);

    /** Held by the thread whose turn it is to take an event. */
    private final ReentrantLock turn = new ReentrantLock();

    /** A wait that goes on after the thread that wanted its event has left. Guarded by {@link #turn}. */
    private @Nullable Future<Optional<TaskEvent>> pending;

    private @Nullable SubmissionPublisher<TaskEvent> publisher;

    TaskEvents(Handle handle) {
        this.handle = handle;
    }

    /**
     * Takes the next event, or waits for one. Each event goes to one caller.
     *
     * @param timeout the longest wait, in milliseconds of real time; zero looks and returns
     * @return the event; empty when none came
     * @throws InterruptedException if this thread is interrupted while it waits; no event is lost by that
     * @throws TaskholdException.Closed {@code closed_while_waiting}: the queue was closed
     * @throws IllegalStateException if the queue has subscribers
     */
    public Optional<TaskEvent> next(Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + Background.nanos(timeout);
        if (!turn.tryLock(Background.nanos(timeout), TimeUnit.NANOSECONDS)) {
            return Optional.empty();
        }
        try {
            if (publisher != null) {
                throw new IllegalStateException("the events of this queue go to its subscribers");
            }
            if (pending == null && (timeout.isZero() || timeout.isNegative())) {
                return take(handle, 0);
            }
            if (pending == null) {
                Duration rest = Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
                pending = waiting.submit(() -> take(handle, Background.timeoutMs(rest)));
            }
            Optional<TaskEvent> event = pending.get(untilAfter(deadline), TimeUnit.NANOSECONDS);
            pending = null;
            return event;
        } catch (TimeoutException stillWaiting) {
            return Optional.empty();
        } catch (ExecutionException failure) {
            pending = null;
            throw failure.getCause() instanceof TaskholdException refusal
                    ? refusal
                    : new IllegalStateException(failure.getCause());
        } finally {
            turn.unlock();
        }
    }

    /** The native wait ends at the deadline by itself; the grace lets its answer come in first. */
    private static long untilAfter(long deadline) {
        long rest = deadline - System.nanoTime();
        long grace = TimeUnit.MILLISECONDS.toNanos(20);
        return rest > Long.MAX_VALUE - grace ? Long.MAX_VALUE : Math.max(0, rest) + grace;
    }

    static Optional<TaskEvent> take(Handle handle, int timeoutMs) {
        try {
            return Optional.of(TaskEvent.of(handle.someText(
                    (queue, out, error) -> Library.ABI.taskhold_events_next(queue, timeoutMs, out, error))));
        } catch (TaskholdException.Timeout nothing) {
            return Optional.empty();
        }
    }

    /**
     * Sends all events from now on to a subscriber, on the common pool. While the slowest subscriber has no room for more,
     * events stay in the queue and coalesce there. The subscription completes when the queue is closed, and fails when the
     * storage does.
     *
     * @param subscriber the subscriber
     */
    @Override
    public void subscribe(Flow.Subscriber<? super TaskEvent> subscriber) {
        turn.lock();
        try {
            SubmissionPublisher<TaskEvent> events = publisher;
            if (events == null) {
                events = new SubmissionPublisher<>();
                publisher = events;
                SubmissionPublisher<TaskEvent> sink = events;
                waiting.execute(() -> publish(handle, sink));
            }
            events.subscribe(subscriber);
        } finally {
            turn.unlock();
        }
    }

    private static void publish(Handle handle, SubmissionPublisher<TaskEvent> sink) {
        try {
            for (;;) {
                take(handle, FOREVER).ifPresent(sink::submit);
            }
        } catch (TaskholdException.Closed | TaskholdException.InvalidHandle end) {
            sink.close();
        } catch (TaskholdException failure) {
            sink.closeExceptionally(failure);
        }
    }

    /**
     * Closes the queue. Threads that wait in {@link #next} get {@link TaskholdException.Closed}, and subscriptions complete.
     */
    @Override
    public void close() {
        handle.close();
    }
}
