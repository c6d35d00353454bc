package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** The queue of events: taken one by one, and published. */
class EventsTest {
    private static final String CREATION = TaskCreation.at("/mcp", "{}").toJson();
    private static final Duration LONG = Duration.ofMinutes(1);

    private static String create(TaskManager tasks) {
        return Json.get(tasks.createTask(CREATION), "/task/taskId").orElseThrow();
    }

    /** Collects what is published and asks for as many as it is told to. */
    private static final class Collector implements Flow.Subscriber<TaskEvent> {
        final BlockingQueue<TaskEvent> events = new LinkedBlockingQueue<>();
        final CompletableFuture<Void> end = new CompletableFuture<>();
        final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();

        @Override
        public void onSubscribe(Flow.Subscription given) {
            subscription.complete(given);
        }

        @Override
        public void onNext(TaskEvent event) {
            events.add(event);
        }

        @Override
        public void onError(Throwable failure) {
            end.completeExceptionally(failure);
        }

        @Override
        public void onComplete() {
            end.complete(null);
        }
    }

    @Test
    void eventsAreTakenInOrder() throws InterruptedException {
        try (TaskManager tasks = TaskManager.builder().open();
                TaskEvents events = tasks.openEvents(16)) {
            assertEquals(Optional.empty(), events.next(Duration.ZERO));
            assertEquals(Optional.empty(), events.next(Duration.ofMillis(2)));
            String first = create(tasks);
            String second = create(tasks);
            tasks.requestTaskCancelation("/mcp", null, second);
            TaskEvent event = events.next(LONG).orElseThrow();
            assertEquals(TaskEvent.Kind.CHANGED, event.kind());
            assertEquals(Optional.of(first), event.taskId());
            assertEquals(Optional.of(second), events.next(Duration.ZERO).orElseThrow().taskId());
            assertEquals(TaskEvent.Kind.CANCELATION_REQUESTED, events.next(LONG).orElseThrow().kind());
            tasks.publishTaskChanged("elsewhere");
            assertEquals(Optional.of("elsewhere"), events.next(LONG).orElseThrow().taskId());
        }
    }

    @Test
    void overflowIsTold() throws InterruptedException {
        try (TaskManager tasks = TaskManager.builder().open();
                TaskEvents events = tasks.openEvents(1)) {
            create(tasks);
            create(tasks);
            assertEquals(TaskEvent.Kind.CHANGED, events.next(LONG).orElseThrow().kind());
            TaskEvent lagged = events.next(LONG).orElseThrow();
            assertEquals(TaskEvent.Kind.LAGGED, lagged.kind());
            assertEquals(Optional.empty(), lagged.taskId());
            assertEquals(TaskEvent.Kind.UNKNOWN, TaskEvent.of("{\"event\":\"younger\"}").kind());
        }
    }

    @Test
    void anInterruptedWaitLosesNothing() throws InterruptedException {
        try (TaskManager tasks = TaskManager.builder().open();
                TaskEvents events = tasks.openEvents(16)) {
            CompletableFuture<Throwable> outcome = new CompletableFuture<>();
            Thread thread = new Thread(() -> {
                try {
                    events.next(LONG);
                } catch (Throwable thrown) {
                    outcome.complete(thrown);
                }
            });
            thread.start();
            thread.interrupt();
            assertInstanceOf(InterruptedException.class, outcome.join());
            String id = create(tasks);
            assertEquals(Optional.of(id), events.next(LONG).orElseThrow().taskId());
        }
    }

    /** Leaves a wait in the queue whose thread has gone. */
    private static void interruptedWait(TaskEvents events, Duration timeout) throws InterruptedException {
        CompletableFuture<Throwable> outcome = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                events.next(timeout);
            } catch (Throwable thrown) {
                outcome.complete(thrown);
            }
        });
        thread.start();
        while (thread.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        thread.interrupt();
        assertInstanceOf(InterruptedException.class, outcome.join());
        thread.join();
    }

    @Test
    void aWaitAfterAnInterruptedOneHasItsWholeTime() throws Exception {
        try (TaskManager tasks = TaskManager.builder().open();
                TaskEvents events = tasks.openEvents(16)) {
            interruptedWait(events, Duration.ofMillis(200));
            CompletableFuture<Optional<TaskEvent>> next = CompletableFuture.supplyAsync(() -> {
                try {
                    return events.next(LONG);
                } catch (InterruptedException unexpected) {
                    throw new IllegalStateException(unexpected);
                }
            });
            // Longer than the wait before had.
            assertThrows(TimeoutException.class, () -> next.get(600, TimeUnit.MILLISECONDS));
            String id = create(tasks);
            assertEquals(Optional.of(id), next.get(1, TimeUnit.MINUTES).orElseThrow().taskId());
        }
    }

    @Test
    void subscribersGetWhatAnInterruptedWaitTakes() throws Exception {
        for (boolean eventComesFirst : new boolean[] {true, false}) {
            try (TaskManager tasks = TaskManager.builder().open();
                    TaskEvents events = tasks.openEvents(16)) {
                interruptedWait(events, LONG);
                List<String> ids = new ArrayList<>();
                if (eventComesFirst) {
                    ids.add(create(tasks));
                }
                Collector collector = new Collector();
                events.subscribe(collector);
                collector.subscription.get().request(Long.MAX_VALUE);
                ids.add(create(tasks));
                for (String id : ids) {
                    TaskEvent event = collector.events.poll(1, TimeUnit.MINUTES);
                    assertEquals(Optional.of(id), event == null ? Optional.empty() : event.taskId());
                }
            }
        }
    }

    @Test
    void aNegativeCapacityIsRefused() {
        try (TaskManager tasks = TaskManager.builder().open();
                StateProvider provider = StateProvider.builder().open()) {
            assertThrows(TaskholdException.InvalidArgument.class, () -> tasks.openEvents(-1));
            assertThrows(TaskholdException.InvalidArgument.class, () -> provider.openEvents(-1));
        }
    }

    @Test
    void closingEndsTheWait() throws InterruptedException {
        try (TaskManager tasks = TaskManager.builder().open()) {
            TaskEvents events = tasks.openEvents(16);
            CountDownLatch begun = new CountDownLatch(1);
            CompletableFuture<Throwable> outcome = new CompletableFuture<>();
            new Thread(() -> {
                        begun.countDown();
                        try {
                            events.next(LONG);
                        } catch (Throwable thrown) {
                            outcome.complete(thrown);
                        }
                    })
                    .start();
            begun.await();
            events.close();
            // Closed before the wait began, or during it.
            assertInstanceOf(TaskholdException.class, outcome.join());
        }
    }

    @Test
    void subscribersGetEverything() throws Exception {
        try (TaskManager tasks = TaskManager.builder().open()) {
            TaskEvents events = tasks.openEvents(1024);
            Collector one = new Collector();
            Collector two = new Collector();
            events.subscribe(one);
            events.subscribe(two);
            one.subscription.get().request(Long.MAX_VALUE);
            two.subscription.get().request(Long.MAX_VALUE);
            assertThrows(IllegalStateException.class, () -> events.next(Duration.ZERO));
            List<String> ids = new ArrayList<>();
            for (int at = 0; at < 50; at++) {
                ids.add(create(tasks));
            }
            for (Collector collector : List.of(one, two)) {
                List<String> seen = new ArrayList<>();
                for (int at = 0; at < 50; at++) {
                    TaskEvent event = collector.events.poll(1, TimeUnit.MINUTES);
                    assertTrue(event != null, "an event is missing");
                    seen.add(event.taskId().orElseThrow());
                }
                assertEquals(ids, seen);
            }
            events.close();
            one.end.get(1, TimeUnit.MINUTES);
            two.end.get(1, TimeUnit.MINUTES);
        }
    }

    @Test
    void finalTasksAreAnnounced() throws InterruptedException {
        try (StateProvider provider = StateProvider.builder().open();
                TaskEvents events = provider.openEvents(4)) {
            provider.saveTask(null, "{\"id\":\"a\",\"status\":{\"state\":\"completed\"}}", null);
            provider.saveTask(null, "{\"id\":\"b\",\"status\":{\"state\":\"failed\"}}", SaveOptions.none().replicated().toJson());
            TaskEvent event = events.next(LONG).orElseThrow();
            assertEquals(TaskEvent.Kind.FINALIZED, event.kind());
            assertEquals(Optional.of("a"), event.taskId());
            assertEquals(Optional.empty(), events.next(Duration.ZERO));
        }
    }
}
