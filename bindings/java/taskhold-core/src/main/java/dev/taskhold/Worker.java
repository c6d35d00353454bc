package dev.taskhold;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Claims tasks out of queues and hands them to a {@link WorkHandler}, so many at once. It works from the beginning on until it
 * is stopped. Handlers run on an executor of the user's, for example one with a virtual thread for each task, or on platform
 * threads of the worker. One platform thread claims, only while a handler is free. The worker's threads are
 * daemons: they keep no process alive. Any thread may use it.
 */
public final class Worker implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("dev.taskhold");

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration LAST_PATIENCE = Duration.ofSeconds(5);

    private final TaskManager manager;
    private final Claim claim;
    private final int concurrency;
    private final Executor handlers;
    private final WorkHandler handler;
    private final Semaphore free;
    private final CountDownLatch stopping = new CountDownLatch(1);
    private final CountDownLatch stopped = new CountDownLatch(1);

    /** The threads of the handlers that run. Guarded by itself. */
    private final Map<Work, Thread> active = new HashMap<>();

    private volatile boolean impatient;

    Worker(TaskManager manager, Claim claim, int concurrency, Executor handlers, WorkHandler handler) {
        if (concurrency < 1) {
            throw new IllegalArgumentException("a worker does at least one task at once");
        }
        this.manager = manager;
        this.claim = claim;
        this.concurrency = concurrency;
        this.handlers = handlers;
        this.handler = handler;
        this.free = new Semaphore(concurrency);
        // A claim that can never succeed fails here, where somebody sees it.
        Optional<String> first = manager.claim(claim.toJson(), 0);
        Background.start("taskhold-worker", () -> claimAll(first));
    }

    /** A name for operators: the host, if the environment tells it, and the process. */
    static String defaultName() {
        String host = System.getenv("HOSTNAME");
        String name = host == null || host.isEmpty() ? "java" : host;
        return name.substring(0, Math.min(name.length(), 60)) + ":" + ProcessHandle.current().pid();
    }

    /**
     * Tells how many handlers run.
     *
     * @return the number
     */
    public int active() {
        synchronized (active) {
            return active.size();
        }
    }

    /**
     * Stops in good order: no task is claimed any more, and the handlers that run may end. Those that do not within the time are
     * interrupted; after another five seconds the tasks of those that still run are given back. Tasks that are given back use up
     * no attempt.
     *
     * @param patience how long handlers may go on, real time
     * @return whether all handlers ended by themselves
     * @throws InterruptedException if this thread is interrupted while it waits; the worker goes on stopping
     */
    public boolean stop(Duration patience) throws InterruptedException {
        stopping.countDown();
        if (free.tryAcquire(concurrency, Background.nanos(patience), TimeUnit.NANOSECONDS)) {
            free.release(concurrency);
            stopped.await();
            return true;
        }
        impatient = true;
        interruptAll();
        if (free.tryAcquire(concurrency, LAST_PATIENCE.toNanos(), TimeUnit.NANOSECONDS)) {
            free.release(concurrency);
        } else {
            Work[] left;
            synchronized (active) {
                left = active.keySet().toArray(Work[]::new);
            }
            for (Work work : left) {
                close(work);
            }
        }
        return false;
    }

    /** Stops as {@link #stop} does, with a patience of 30 seconds, or with none when this thread is interrupted. */
    @Override
    public void close() {
        try {
            stop(PATIENCE);
        } catch (InterruptedException hurry) {
            impatient = true;
            interruptAll();
            Thread.currentThread().interrupt();
        }
    }

    private void interruptAll() {
        synchronized (active) {
            active.values().forEach(Thread::interrupt);
        }
    }

    private void claimAll(Optional<String> first) {
        try {
            Optional<String> claimed = first;
            while (stopping.getCount() > 0 || claimed.isPresent()) {
                free.acquire();
                boolean begun = false;
                try {
                    if (claimed.isEmpty()) {
                        claimed = manager.claim(claim.toJson(), Background.SLICE_MS);
                    }
                    begun = claimed.isPresent() && begin(new TaskRecord(claimed.get()));
                    claimed = Optional.empty();
                } catch (TaskholdException.InvalidHandle | TaskholdException.Closed end) {
                    return;
                } catch (TaskholdException refusal) {
                    LOG.log(System.Logger.Level.WARNING, "taskhold: claiming failed; trying again", refusal);
                    stopping.await(Background.SLICE_MS, TimeUnit.MILLISECONDS);
                } finally {
                    if (!begun) {
                        free.release();
                    }
                }
            }
        } catch (InterruptedException nobodyDoes) {
            Thread.currentThread().interrupt();
        } finally {
            stopped.countDown();
        }
    }

    /** Hands a task to a handler, which lets go of the place; gives it back when the worker is being stopped. */
    private boolean begin(TaskRecord record) {
        Work work = new Work(manager, record, claim.leaseMs());
        if (stopping.getCount() == 0) {
            close(work);
            return false;
        }
        try {
            handlers.execute(() -> {
                try {
                    handle(work);
                } finally {
                    free.release();
                }
            });
            return true;
        } catch (RejectedExecutionException shutDown) {
            close(work);
            stopping.countDown();
            return false;
        }
    }

    private void handle(Work work) {
        Thread self = Thread.currentThread();
        synchronized (active) {
            active.put(work, self);
        }
        try {
            work.watch(() -> interrupt(work));
            String result = impatient ? null : handler.handle(work);
            if (result != null && !work.isEnded()) {
                work.complete(result);
            } else if (!work.isEnded() && !work.isLost() && !impatient) {
                // Given back without using up the attempt, it would come again at once, without end.
                throw new IllegalStateException("the handler gave no result and did not end the work");
            }
        } catch (Throwable failure) {
            failed(work, failure);
        } finally {
            close(work);
            synchronized (active) {
                active.remove(work);
                // An interrupt that was for this work must not meet the next one on this thread.
                Thread.interrupted();
            }
        }
    }

    private void failed(Work work, Throwable failure) {
        if (work.isLost() || impatient) {
            return;
        }
        try {
            if (work.isCancelationRequested() && !work.isEnded()) {
                work.cancel(null);
                return;
            }
            LOG.log(System.Logger.Level.WARNING, "taskhold: a handler failed", failure);
            if (!work.isEnded()) {
                work.retry(null);
            }
        } catch (TaskholdException refusal) {
            LOG.log(System.Logger.Level.WARNING, "taskhold: the failure of a handler could not be stored", refusal);
        }
    }

    private static void close(Work work) {
        try {
            work.close();
        } catch (TaskholdException refusal) {
            LOG.log(System.Logger.Level.WARNING, "taskhold: work could not be given back", refusal);
        }
    }

    private void interrupt(Work work) {
        synchronized (active) {
            Thread thread = active.get(work);
            if (thread != null) {
                thread.interrupt();
            }
        }
    }
}
