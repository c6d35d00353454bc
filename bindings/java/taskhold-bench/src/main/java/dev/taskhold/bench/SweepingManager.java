package dev.taskhold.bench;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** The simplest manager that keeps to the rules: one lock, a hash map, and before each call a look at every task's age. */
final class SweepingManager {
    private static final long TIME_TO_LIVE = Duration.ofHours(1).toNanos();

    private final Map<String, Task> tasks = new HashMap<>();

    private record Task(String record, long revision, long createdAt) {}

    synchronized String fill(String record) {
        String id = UUID.randomUUID().toString();
        tasks.put(id, new Task(record, 1, System.nanoTime()));
        return id;
    }

    synchronized Optional<String> findTask(String id) {
        sweep();
        return Optional.ofNullable(tasks.get(id)).map(Task::record);
    }

    synchronized String markTaskWorking(String id) {
        sweep();
        Task changed = tasks.computeIfPresent(
                id, (key, task) -> new Task(task.record(), task.revision() + 1, task.createdAt()));
        return Optional.ofNullable(changed).orElseThrow().record();
    }

    private void sweep() {
        long now = System.nanoTime();
        tasks.values().removeIf(task -> now - task.createdAt() >= TIME_TO_LIVE);
    }
}
