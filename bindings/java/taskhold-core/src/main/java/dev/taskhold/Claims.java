package dev.taskhold;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;

/**
 * Claims that wait. The library waits on a platform thread of this package while the caller is parked. A claim that comes after
 * its caller has left is given back without using up an attempt.
 */
final class Claims {
    private Claims() {}

    static Optional<String> claim(TaskManager manager, String claim, Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + Background.nanos(timeout);
        Optional<String> now = manager.claim(claim, 0);
        while (now.isEmpty()) {
            long restMs = (deadline - System.nanoTime()) / 1_000_000;
            if (restMs <= 0) {
                return now;
            }
            now = slice(manager, claim, (int) Math.min(restMs, Background.SLICE_MS));
        }
        return now;
    }

    private static Optional<String> slice(TaskManager manager, String claim, int timeoutMs) throws InterruptedException {
        CompletableFuture<Optional<String>> answer = new CompletableFuture<>();
        Background.WAITING.execute(() -> {
            try {
                Optional<String> claimed = manager.claim(claim, timeoutMs);
                if (!answer.complete(claimed)) {
                    claimed.ifPresent(record -> giveBack(manager, record));
                }
            } catch (Throwable failure) {
                answer.completeExceptionally(failure);
            }
        });
        try {
            return answer.get();
        } catch (ExecutionException failure) {
            throw Background.causeOf(failure);
        } catch (InterruptedException interrupt) {
            if (answer.complete(Optional.empty())) {
                throw interrupt;
            }
            // The task is claimed: it goes to the caller, who finds the interrupt later.
            Thread.currentThread().interrupt();
            return answer.join();
        }
    }

    /** Claims without a thread of the caller's. A future that is cancelled takes no task along. */
    static CompletableFuture<Optional<String>> claimLater(
            TaskManager manager, String claim, Duration timeout, Executor completion) {
        CompletableFuture<Optional<String>> answer = new CompletableFuture<>();
        long deadline = System.nanoTime() + Background.nanos(timeout);
        Background.WAITING.execute(() -> {
            try {
                Optional<String> claimed = manager.claim(claim, 0);
                long restMs = (deadline - System.nanoTime()) / 1_000_000;
                while (claimed.isEmpty() && restMs > 0 && !answer.isDone()) {
                    claimed = manager.claim(claim, (int) Math.min(restMs, Background.SLICE_MS));
                    restMs = (deadline - System.nanoTime()) / 1_000_000;
                }
                Optional<String> outcome = claimed;
                Background.on(completion, () -> {
                    if (!answer.complete(outcome)) {
                        outcome.ifPresent(record -> giveBack(manager, record));
                    }
                });
            } catch (Throwable failure) {
                Background.on(completion, () -> answer.completeExceptionally(failure));
            }
        });
        return answer;
    }

    private static void giveBack(TaskManager manager, String json) {
        TaskRecord record = new TaskRecord(json);
        try {
            manager.releaseTask(
                    record.taskId().value(),
                    new JsonWriter()
                            .number("lease", record.lease().orElseThrow().token().orElseThrow())
                            .bool("countsAsAttempt", false)
                            .toString());
        } catch (TaskholdException gone) {
            // It has ended, or somebody else has it: there is nothing to give back. Else its lease lapses.
        }
    }
}
