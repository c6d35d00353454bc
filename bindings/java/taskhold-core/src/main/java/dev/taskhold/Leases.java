package dev.taskhold;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the leases of one manager's work. One platform thread renews those of one length in one call, a third of the length
 * after they were renewed last; another learns at once of requests for cancelation. Both are there only while there is work.
 */
final class Leases {
    /** The most tasks in one call. */
    private static final int MOST = 1_000;

    private static final int EVENTS = 1_024;

    /** After this time a renewal that the storage refused is tried again. */
    private static final long RETRY_NANOS = 500_000_000L;

    private final TaskManager manager;

    /** By the id of the task. Guarded by this. */
    private final Map<String, Work> held = new HashMap<>();

    /** When leases of a length, in milliseconds, are renewed next. Guarded by this. */
    private final Map<Long, Long> due = new HashMap<>();

    /** The queue of events; null when there is no work, or no queue could be opened. Guarded by this. */
    private @Nullable Handle events;

    /** Whether a thread renews. Guarded by this. */
    private boolean running;

    Leases(TaskManager manager) {
        this.manager = manager;
    }

    /** Keeps the lease of this work from now on. */
    synchronized void add(Work work) {
        held.put(work.taskId().value(), work);
        due.merge(work.leaseMs(), System.nanoTime() + third(work.leaseMs()), Math::min);
        if (!running) {
            Background.start("taskhold-leases", this::renew);
            running = true;
            listen();
        }
        notifyAll();
    }

    /** Lets go of this work. */
    synchronized void remove(Work work) {
        held.remove(work.taskId().value(), work);
        notifyAll();
    }

    private static long third(long leaseMs) {
        return leaseMs * 1_000_000L / 3;
    }

    /** Cancelation is told by renewals too, so that work goes on without a queue. */
    private void listen() {
        try {
            Handle opened = manager.openQueue(EVENTS);
            events = opened;
            Background.start("taskhold-leases-events", () -> listen(opened));
        } catch (TaskholdException | OutOfMemoryError refusal) {
            events = null;
        }
    }

    private void listen(Handle queue) {
        try {
            for (;;) {
                Optional<TaskEvent> event = TaskEvents.take(queue, -1);
                event.filter(one -> one.kind() == TaskEvent.Kind.CANCELATION_REQUESTED)
                        .flatMap(TaskEvent::taskId)
                        .map(this::find)
                        .ifPresent(Work::tellCancelation);
                if (event.isPresent() && event.get().kind() == TaskEvent.Kind.LAGGED) {
                    renewSoon();
                }
            }
        } catch (TaskholdException closed) {
            queue.close();
        }
    }

    private synchronized @Nullable Work find(String taskId) {
        return held.get(taskId);
    }

    private synchronized void renewSoon() {
        due.replaceAll((leaseMs, time) -> System.nanoTime());
        notifyAll();
    }

    private void renew() {
        try {
            for (List<Work> works = nextDue(); !works.isEmpty(); works = nextDue()) {
                for (int at = 0; at < works.size(); at += MOST) {
                    renew(works.subList(at, Math.min(works.size(), at + MOST)));
                }
            }
        } catch (InterruptedException nobodyDoes) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits until leases are due and gives all work with that length; none when there is no work any more. */
    private synchronized List<Work> nextDue() throws InterruptedException {
        while (!held.isEmpty()) {
            long now = System.nanoTime();
            long rest = Long.MAX_VALUE;
            due.keySet().retainAll(held.values().stream().map(Work::leaseMs).collect(Collectors.toSet()));
            for (Map.Entry<Long, Long> entry : due.entrySet()) {
                long length = entry.getKey();
                rest = Math.min(rest, entry.getValue() - now);
                if (entry.getValue() - now <= 0) {
                    entry.setValue(now + third(length));
                    return held.values().stream().filter(work -> work.leaseMs() == length).toList();
                }
            }
            wait(rest / 1_000_000, (int) (rest % 1_000_000));
        }
        running = false;
        due.clear();
        if (events != null) {
            events.close();
            events = null;
        }
        return List.of();
    }

    private void renew(List<Work> works) {
        long begin = System.nanoTime();
        long leaseMs = works.get(0).leaseMs();
        List<String> tasks = new ArrayList<>();
        for (Work work : works) {
            tasks.add(new JsonWriter()
                    .text("taskId", work.taskId().value())
                    .number("lease", work.token())
                    .toString());
        }
        String renewals = new JsonWriter()
                .number("leaseMs", leaseMs)
                .set("tasks", "[" + String.join(",", tasks) + "]")
                .toString();
        try {
            JsonObject outcome = JsonObject.of(manager.renewLeases(renewals));
            Set<String> lost = new HashSet<>(outcome.texts("lost"));
            Set<String> cancelationRequested = new HashSet<>(outcome.texts("cancelationRequested"));
            for (Work work : works) {
                String id = work.taskId().value();
                if (lost.contains(id)) {
                    work.tellLoss();
                } else {
                    work.renewedAt(begin);
                    if (cancelationRequested.contains(id)) {
                        work.tellCancelation();
                    }
                }
            }
        } catch (TaskholdException.InvalidHandle closed) {
            works.forEach(Work::tellLoss);
        } catch (RuntimeException | Error refusal) {
            // Whatever it is, the thread goes on: all work of the manager depends on it.
            retry(works, leaseMs);
        }
    }

    /** What could not be renewed for its whole length has lapsed, whatever the storage will say. */
    private void retry(List<Work> works, long leaseMs) {
        long now = System.nanoTime();
        works.stream().filter(work -> now - work.renewedAt() >= leaseMs * 1_000_000L).forEach(Work::tellLoss);
        synchronized (this) {
            due.computeIfPresent(leaseMs, (length, time) -> Math.min(time, now + RETRY_NANOS));
        }
    }
}
