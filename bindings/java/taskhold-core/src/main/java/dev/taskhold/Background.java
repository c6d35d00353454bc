package dev.taskhold;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The platform threads of this package. Native calls that take long run on them, so that none holds the carrier of a
 * virtual thread. They are daemons and end when they have nothing to do. No code of a user runs on them: it could wait for a
 * call that waits for its thread.
 */
final class Background {
    private static final int WORKERS = Integer.getInteger("taskhold.asyncThreads", 16);
    private static final long IDLE_SECONDS = 5;

    /** Runs the asynchronous twins: so many at once, the others wait for their turn. */
    static final ExecutorService POOL = pool("taskhold-async", WORKERS);

    /** Has a thread for each call that waits in the library. */
    static final ExecutorService WAITING = unbounded("taskhold-waiting");

    /** So long, in milliseconds, a call goes on at most that somebody waited for who has left. */
    static final int SLICE_MS = 1_000;

    /** Where futures complete unless their user says: where {@link CompletableFuture} itself runs what is asynchronous. */
    static final Executor COMMON = new CompletableFuture<Void>().defaultExecutor();

    private Background() {}

    /** Makes a call on the pool; the future completes on {@code completion}, where what depends on it may take its time. */
    static <T> CompletableFuture<T> later(Supplier<T> call, Executor completion) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        POOL.execute(() -> end(answer, call, completion));
        return answer;
    }

    static CompletableFuture<Void> laterRun(Runnable call, Executor completion) {
        return later(
                () -> {
                    call.run();
                    return null;
                },
                completion);
    }

    /** Makes a call here and now and completes a future with its outcome on {@code completion}. */
    static <T> void end(CompletableFuture<T> answer, Supplier<T> call, Executor completion) {
        try {
            T value = call.get();
            on(completion, () -> answer.complete(value));
        } catch (Throwable failure) {
            on(completion, () -> answer.completeExceptionally(failure));
        }
    }

    /** Runs what may lead to code of the user, never on the thread that is here. */
    static void on(Executor completion, Runnable end) {
        try {
            completion.execute(end);
        } catch (RejectedExecutionException shutDown) {
            COMMON.execute(end);
        }
    }

    /** Gives what a call on another thread threw, to be thrown here. */
    static RuntimeException causeOf(ExecutionException failure) {
        Throwable cause = failure.getCause();
        if (cause instanceof Error error) {
            throw error;
        }
        return cause instanceof RuntimeException exception ? exception : new IllegalStateException(cause);
    }

    /**
     * Makes a call that waits in the library, on a thread of this package, while the thread that is here is parked. One that is
     * interrupted leaves the call behind.
     */
    static <T> T parked(Supplier<T> call) throws InterruptedException {
        try {
            return CompletableFuture.supplyAsync(call, WAITING).get();
        } catch (ExecutionException failure) {
            throw causeOf(failure);
        }
    }

    /** Makes an executor of at most {@code size} threads. */
    static ExecutorService pool(String name, int size) {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                size, size, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), threads(name));
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }

    /** Makes an executor that has a thread for each task at once. */
    static ExecutorService unbounded(String name) {
        return new ThreadPoolExecutor(
                0, Integer.MAX_VALUE, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(), threads(name));
    }

    /** Starts a thread that waits for events. */
    static void start(String name, Runnable loop) {
        threads(name).newThread(loop).start();
    }

    private static ThreadFactory threads(String name) {
        return task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        };
    }

    /** Converts a timeout to what C functions take: milliseconds, unsigned; the highest value is for ever. */
    static int timeoutMs(Duration timeout) {
        if (timeout.isNegative()) {
            return 0;
        }
        long most = 0xFFFF_FFFFL;
        if (timeout.getSeconds() >= most / 1000) {
            return (int) most;
        }
        // A part of a millisecond is a whole one: a short wait must not become a look.
        return (int) timeout.plusNanos(999_999).toMillis();
    }

    /** Converts a duration to milliseconds; one that is out of range becomes one that the library refuses. */
    static long millis(Duration duration) {
        try {
            return duration.toMillis();
        } catch (ArithmeticException tooLong) {
            return duration.isNegative() ? Long.MIN_VALUE : Long.MAX_VALUE;
        }
    }

    /** Converts a timeout to nanoseconds, at most 292 years. */
    static long nanos(Duration timeout) {
        return timeout.getSeconds() >= Long.MAX_VALUE / 1_000_000_000L ? Long.MAX_VALUE : timeout.toNanos();
    }
}
