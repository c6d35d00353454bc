package dev.taskhold;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The waits for tasks of one manager. A wait registers here and is then a future; one platform thread takes the events
 * of the manager and looks at the tasks that somebody waits for. It is there, and its queue is open, only while
 * there are waits.
 *
 * <p>An expiry makes no event, and neither does a clock that is moved by hand, so that the thread looks at all waits four
 * times a second too.
 */
final class Waits {
    private static final int LOOK_AGAIN_MS = 250;
    private static final int CAPACITY = 1024;

    private final Map<String, Set<Wait>> byTask = new ConcurrentHashMap<>();

    /** The queue of the thread that runs, null when none does. Guarded by this. */
    private @Nullable Handle queue;

    /** Guarded by this. */
    private boolean closed;

    /** One wait. It keeps its manager reachable: a manager that is waited for is in use. */
    final class Wait {
        final CompletableFuture<String> result = new CompletableFuture<>();
        private final TaskManager manager;
        private final String taskId;
        private final long seenRevision;

        private Wait(TaskManager manager, String taskId, long seenRevision) {
            this.manager = manager;
            this.taskId = taskId;
            this.seenRevision = seenRevision;
        }

        /** Ends the wait if there is something to tell. */
        void look() {
            try {
                manager.look(taskId, seenRevision).ifPresent(result::complete);
            } catch (TaskholdException | Error refusal) {
                result.completeExceptionally(refusal);
            }
        }

        void forget() {
            byTask.computeIfPresent(taskId, (id, waits) -> {
                waits.remove(this);
                return waits.isEmpty() ? null : waits;
            });
        }
    }

    /** Begins a wait. Whoever does calls {@link Wait#forget} at the end. */
    Wait begin(TaskManager manager, String taskId, long seenRevision) {
        Wait wait = new Wait(manager, taskId, seenRevision);
        synchronized (this) {
            byTask.compute(taskId, (id, waits) -> {
                Set<Wait> all = waits == null ? ConcurrentHashMap.newKeySet() : waits;
                all.add(wait);
                return all;
            });
            if (closed) {
                wait.result.completeExceptionally(closedWhileWaiting());
            } else if (queue == null) {
                try {
                    Handle opened = manager.openQueue(CAPACITY);
                    Background.start("taskhold-waits", () -> run(opened));
                    queue = opened;
                } catch (TaskholdException | OutOfMemoryError refusal) {
                    // The error: the system has no more threads.
                    wait.result.completeExceptionally(refusal);
                }
            }
        }
        // The task may have changed before the queue was open.
        wait.look();
        return wait;
    }

    /** How many tasks are waited for. */
    int count() {
        return byTask.size();
    }

    /** Ends every wait: the manager is being closed. */
    void close() {
        Handle open;
        synchronized (this) {
            closed = true;
            open = queue;
        }
        if (open != null) {
            open.close();
        }
    }

    private static TaskholdException closedWhileWaiting() {
        return TaskholdException.made(Status.CLOSED, "closed_while_waiting", "the handle was closed while the call waited");
    }

    private void run(Handle events) {
        long lookedAt = System.nanoTime();
        do {
            Optional<TaskEvent> event;
            try {
                event = TaskEvents.take(events, LOOK_AGAIN_MS);
            } catch (TaskholdException.InvalidHandle closedBetweenWaits) {
                stop(closedWhileWaiting());
                return;
            } catch (TaskholdException | Error end) {
                stop(end);
                return;
            }
            Optional<String> changed = event.flatMap(TaskEvent::taskId);
            changed.map(id -> byTask.getOrDefault(id, Set.of())).ifPresent(waits -> waits.forEach(Wait::look));
            boolean due = System.nanoTime() - lookedAt >= LOOK_AGAIN_MS * 1_000_000L;
            if (due || (event.isPresent() && changed.isEmpty())) {
                byTask.values().forEach(waits -> waits.forEach(Wait::look));
                lookedAt = System.nanoTime();
            }
        } while (!stopIfIdle(events));
    }

    private synchronized boolean stopIfIdle(Handle events) {
        if (!byTask.isEmpty()) {
            return false;
        }
        queue = null;
        events.close();
        return true;
    }

    private void stop(Throwable end) {
        Collection<Set<Wait>> left;
        synchronized (this) {
            queue = null;
            left = List.copyOf(byTask.values());
        }
        left.forEach(waits -> waits.forEach(wait -> wait.result.completeExceptionally(end)));
    }
}
