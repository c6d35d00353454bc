package dev.taskhold;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The platform threads of this package. Native calls that take long run on them, so that none holds the carrier of a
 * virtual thread. They are daemons and end when they have nothing to do.
 */
final class Background {
    private static final int WORKERS = Integer.getInteger("taskhold.asyncThreads", 16);
    private static final long IDLE_SECONDS = 5;

    /** Runs the asynchronous twins: so many at once, the others wait for their turn. */
    static final ExecutorService POOL = pool("taskhold-async", WORKERS);

    private Background() {}

    static <T> CompletableFuture<T> later(Supplier<T> call) {
        return CompletableFuture.supplyAsync(call, POOL);
    }

    static CompletableFuture<Void> laterRun(Runnable call) {
        return CompletableFuture.runAsync(call, POOL);
    }

    /** Makes an executor of at most {@code size} threads. */
    static ExecutorService pool(String name, int size) {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                size, size, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), threads(name));
        pool.allowCoreThreadTimeOut(true);
        return pool;
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

    /** Converts a timeout to nanoseconds, at most 292 years. */
    static long nanos(Duration timeout) {
        return timeout.getSeconds() >= Long.MAX_VALUE / 1_000_000_000L ? Long.MAX_VALUE : timeout.toNanos();
    }
}
