package dev.taskhold;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Objects;
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
     * @param timeout the longest wait, real time; zero looks and returns
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
            for (;;) {
                long rest = deadline - System.nanoTime();
                if (pending == null && rest <= 0) {
                    return take(handle, 0);
                }
                if (pending == null) {
                    pending = begin(Duration.ofNanos(rest));
                }
                // It may be the wait of a thread that left, and shorter than this one.
                Optional<TaskEvent> event = pending.get(untilAfter(deadline), TimeUnit.NANOSECONDS);
                pending = null;
                if (event.isPresent()) {
                    return event;
                }
            }
        } catch (TimeoutException stillWaiting) {
            return Optional.empty();
        } catch (ExecutionException failure) {
            pending = null;
            throw Background.causeOf(failure);
        } finally {
            turn.unlock();
        }
    }

    /** The token alone goes to the other thread: a queue that is forgotten is closed, which ends its wait. */
    private Future<Optional<TaskEvent>> begin(Duration timeout) {
        long token = handle.value();
        int timeoutMs = Background.timeoutMs(timeout);
        return waiting.submit(() -> take(token, timeoutMs));
    }

    /** The native wait ends at the deadline by itself; the grace lets its answer come in first. */
    private static long untilAfter(long deadline) {
        long rest = deadline - System.nanoTime();
        long grace = TimeUnit.MILLISECONDS.toNanos(20);
        return rest > Long.MAX_VALUE - grace ? Long.MAX_VALUE : Math.max(0, rest) + grace;
    }

    static Optional<TaskEvent> take(Handle handle, int timeoutMs) {
        try {
            return take(handle.value(), timeoutMs);
        } finally {
            Reference.reachabilityFence(handle);
        }
    }

    private static Optional<TaskEvent> take(long token, int timeoutMs) {
        long[] out = new long[1];
        long[] error = new long[1];
        try {
            int status = Library.ABI.taskhold_events_next(token, timeoutMs, out, error);
            return Optional.of(TaskEvent.of(Objects.requireNonNull(Outcome.text(status, out, error))));
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
            if (publisher != null) {
                publisher.subscribe(subscriber);
                return;
            }
            SubmissionPublisher<TaskEvent> sink = new SubmissionPublisher<>();
            // Before the first event is published: it would go to nobody.
            sink.subscribe(subscriber);
            publisher = sink;
            Future<Optional<TaskEvent>> left = pending;
            pending = null;
            waiting.execute(() -> publish(handle, left, sink));
        } finally {
            turn.unlock();
        }
    }

    /** A wait that was left over has run on this thread before, and what it took comes first. */
    private static void publish(
            Handle handle, @Nullable Future<Optional<TaskEvent>> left, SubmissionPublisher<TaskEvent> sink) {
        try {
            if (left != null) {
                left.get().ifPresent(sink::submit);
            }
            for (;;) {
                take(handle, FOREVER).ifPresent(sink::submit);
            }
        } catch (TaskholdException.Closed | TaskholdException.InvalidHandle end) {
            sink.close();
        } catch (ExecutionException failure) {
            if (failure.getCause() instanceof TaskholdException.Closed) {
                sink.close();
            } else {
                sink.closeExceptionally(failure.getCause());
            }
        } catch (InterruptedException | RuntimeException | Error failure) {
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
