package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

/** Opening, closing, forgetting to close, and doing it in the middle of calls. */
class LifeTest {
    private static final String CREATION = TaskCreation.at("/mcp", "{}").toJson();

    private static int liveHandles() {
        return Integer.parseInt(Json.get(Taskhold.describe(), "/liveHandles").orElseThrow());
    }

    /** Waits for what the garbage collector does, a minute at most. */
    private static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, what);
            System.gc();
            Thread.sleep(1);
        }
    }

    @Test
    void closedObjectsAreRefused() {
        Store store = Store.inMemory();
        TaskManager tasks = TaskManager.builder().store(store).open();
        TaskEvents events = tasks.openEvents(1);
        store.close();
        store.close();
        tasks.createTask(CREATION);
        tasks.close();
        tasks.close();
        assertEquals("closed", refusal(() -> tasks.createTask(CREATION)).reason());
        assertEquals("closed", refusal(() -> tasks.openEvents(1)).reason());
        assertEquals("closed", refusal(() -> TaskManager.builder().store(store).open()).reason());
        assertThrows(TaskholdException.InvalidHandle.class, () -> tasks.waitTask("t", 0, Duration.ofSeconds(1)));
        events.close();
        assertThrows(TaskholdException.InvalidHandle.class, () -> events.next(Duration.ofSeconds(1)));
        assertThrows(TaskholdException.InvalidHandle.class, () -> events.next(Duration.ZERO));
    }

    private static TaskholdException refusal(Runnable call) {
        return assertThrows(TaskholdException.InvalidHandle.class, call::run);
    }

    @Test
    void whatIsForgottenIsClosed() throws InterruptedException {
        await("other tests' handles are gone", () -> true);
        int before = liveHandles();
        for (int round = 0; round < 500; round++) {
            ManualClock clock = ManualClock.open(Instant.EPOCH);
            Store store = Store.builder().clock(clock).open();
            TaskManager.builder().store(store).open().openEvents(1);
            SessionStore.builder().store(store).open();
            StateProvider.builder().store(store).open();
        }
        await("forgotten handles are closed", () -> liveHandles() <= before);
    }

    @Test
    void collectingDuringCallsIsHarmless() throws InterruptedException {
        AtomicInteger completed = new AtomicInteger();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        List<Thread> workers = new ArrayList<>();
        for (int worker = 0; worker < 4; worker++) {
            Thread thread = new Thread(() -> {
                try {
                    for (int round = 0; round < 2_000; round++) {
                        // Nothing refers to the manager any more while its last call runs.
                        String record = TaskManager.builder().open().createTask(CREATION);
                        assertEquals("1", Json.get(record, "/revision").orElseThrow());
                        completed.incrementAndGet();
                    }
                } catch (Throwable thrown) {
                    failure.set(thrown);
                }
            });
            workers.add(thread);
            thread.start();
        }
        while (workers.stream().anyMatch(Thread::isAlive)) {
            System.gc();
            Thread.sleep(1);
        }
        assertEquals(Optional.empty(), Optional.ofNullable(failure.get()));
        assertEquals(8_000, completed.get());
    }

    @Test
    void closingDuringCallsRefusesOrServes() throws InterruptedException {
        for (int round = 0; round < 200; round++) {
            TaskManager tasks = TaskManager.builder().maximumRetainedTasks(100_000).open();
            CountDownLatch started = new CountDownLatch(2);
            AtomicReference<Throwable> failure = new AtomicReference<>();
            List<Thread> workers = new ArrayList<>();
            for (int worker = 0; worker < 2; worker++) {
                Thread thread = new Thread(() -> {
                    try {
                        started.countDown();
                        for (int call = 0; call < 1_000_000; call++) {
                            tasks.createTask(CREATION);
                        }
                    } catch (TaskholdException.InvalidHandle closed) {
                        // What closing is for.
                    } catch (Throwable thrown) {
                        failure.set(thrown);
                    }
                });
                workers.add(thread);
                thread.start();
            }
            started.await();
            tasks.close();
            for (Thread worker : workers) {
                worker.join();
            }
            assertEquals(Optional.empty(), Optional.ofNullable(failure.get()));
        }
    }

    @Test
    @SuppressWarnings({"removal", "deprecation"})
    void finalizersMayUseAndCloseThem() throws InterruptedException {
        AtomicInteger finalized = new AtomicInteger();
        class Owner {
            final TaskManager tasks = TaskManager.builder().open();

            @Override
            protected void finalize() {
                try {
                    tasks.createTask(CREATION);
                } catch (TaskholdException.InvalidHandle closed) {
                    // The cleaner was faster.
                }
                tasks.close();
                finalized.incrementAndGet();
            }
        }
        for (int round = 0; round < 200; round++) {
            new Owner();
        }
        await("finalizers run", () -> finalized.get() > 100);
    }
}
