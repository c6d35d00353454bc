package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Waiting for tasks: nothing is missed, and nobody is held up. */
class WaitsTest {
    private static final String CREATION = TaskCreation.at("/mcp", "{}").toJson();
    private static final Duration LONG = Duration.ofMinutes(1);

    private static String create(TaskManager tasks) {
        return Json.get(tasks.createTask(CREATION), "/task/taskId").orElseThrow();
    }

    /** Virtual threads where there are any, else platform threads. */
    static ExecutorService manyThreads() throws ReflectiveOperationException {
        return Runtime.version().feature() < 21
                ? Executors.newCachedThreadPool()
                : (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    }

    @Test
    void aHundredWaitWhileOthersWork() throws Exception {
        ExecutorService threads = manyThreads();
        try (TaskManager tasks = TaskManager.builder().open()) {
            List<String> ids = new ArrayList<>();
            List<Future<String>> waits = new ArrayList<>();
            CountDownLatch waiting = new CountDownLatch(100);
            for (int at = 0; at < 100; at++) {
                String id = create(tasks);
                ids.add(id);
                waits.add(threads.submit(() -> {
                    waiting.countDown();
                    return tasks.waitTask(id, 1, LONG);
                }));
            }
            waiting.await();
            // More of them than there are carriers, and still others get on.
            long begin = System.nanoTime();
            List<Future<String>> work = new ArrayList<>();
            for (int at = 0; at < 100; at++) {
                work.add(threads.submit(() -> create(tasks)));
            }
            for (Future<String> one : work) {
                assertFalse(one.get().isEmpty());
            }
            assertTrue(System.nanoTime() - begin < Duration.ofSeconds(30).toNanos(), "workers were held up");
            assertFalse(waits.stream().anyMatch(Future::isDone));
            for (String id : ids) {
                threads.submit(() -> tasks.completeTask(id, "{}", null, null));
            }
            for (Future<String> wait : waits) {
                assertEquals("completed", Json.get(wait.get(), "/task/status").orElseThrow());
            }
        } finally {
            threads.shutdown();
            assertTrue(threads.awaitTermination(1, TimeUnit.MINUTES));
        }
    }

    @Test
    void everyKindOfEndIsReported() throws Exception {
        try (ManualClock clock = ManualClock.open(Instant.EPOCH);
                Store store = Store.builder().clock(clock).open();
                TaskManager tasks = TaskManager.builder().store(store).taskTimeToLive(Duration.ofSeconds(5)).open()) {
            String id = create(tasks);
            assertEquals("1", Json.get(tasks.waitTask(id, 0, LONG), "/revision").orElseThrow());
            assertThrows(TaskholdException.Timeout.class, () -> tasks.waitTask(id, 1, Duration.ZERO));
            assertThrows(TaskholdException.Timeout.class, () -> tasks.waitTask(id, 1, Duration.ofMillis(5)));
            assertThrows(TaskholdException.NotFound.class, () -> tasks.waitTask("none", 0, LONG));
            assertThrows(TaskholdException.InvalidArgument.class, () -> tasks.waitTask("", 0, LONG));

            CompletableFuture<String> cancelation = tasks.waitTaskAsync(id, 1, LONG);
            tasks.requestTaskCancelation("/mcp", null, id);
            assertEquals("true", Json.get(cancelation.get(), "/cancelationRequested").orElseThrow());

            CompletableFuture<String> expiry = tasks.waitTaskAsync(id, 2, LONG);
            clock.advance(Duration.ofSeconds(5));
            assertInstanceOf(TaskholdException.NotFound.class, failureOf(expiry));
        }
    }

    @Test
    void futuresTimeOutAndCanBeCancelled() {
        try (TaskManager tasks = TaskManager.builder().open()) {
            String id = create(tasks);
            assertInstanceOf(TaskholdException.Timeout.class, failureOf(tasks.waitTaskAsync(id, 1, Duration.ofMillis(5))));
            assertInstanceOf(TaskholdException.Timeout.class, failureOf(tasks.waitTaskAsync(id, 1, Duration.ZERO)));
            assertInstanceOf(TaskholdException.NotFound.class, failureOf(tasks.waitTaskAsync("none", 1, LONG)));
            CompletableFuture<String> wait = tasks.waitTaskAsync(id, 1, LONG);
            assertTrue(wait.cancel(true));
            assertEquals(0, tasks.waits().count());
        }
    }

    @Test
    void whatDependsOnAFutureMayWaitForOthers() throws Exception {
        try (TaskManager tasks = TaskManager.builder().open()) {
            List<String> ids = new ArrayList<>();
            List<CompletableFuture<?>> ends = new ArrayList<>();
            // More than twice as many as there are threads for asynchronous calls.
            for (int at = 0; at < 40; at++) {
                String id = create(tasks);
                ids.add(id);
                ends.add(tasks.waitTaskAsync(id, 1, LONG)
                        .thenAccept(record -> tasks.async().completeTask(id, "{}", null, null).join()));
                ends.add(tasks.async()
                        .findTask(id)
                        .thenAccept(record -> tasks.async().findTask(id).join()));
                ends.add(tasks.waitTaskAsync(create(tasks), 1, Duration.ofMillis(5))
                        .exceptionally(timeout -> tasks.async().findTask(id).join().orElseThrow())
                        .thenAccept(record -> assertFalse(record.isEmpty())));
            }
            for (String id : ids) {
                tasks.markTaskWorking(id, "seen", null);
            }
            CompletableFuture.allOf(ends.toArray(CompletableFuture[]::new)).get(1, TimeUnit.MINUTES);
            for (String id : ids) {
                assertEquals("completed", Json.get(tasks.findTask(id).orElseThrow(), "/task/status").orElseThrow());
            }
        }
    }

    @Test
    void futuresCompleteWhereTheirUserSays() throws Exception {
        ExecutorService mine = Executors.newSingleThreadExecutor(task -> new Thread(task, "mine"));
        try (TaskManager tasks = TaskManager.builder().open();
                SessionStore sessions = SessionStore.builder().open();
                StateProvider provider = StateProvider.builder().open()) {
            String id = create(tasks);
            // It is busy until the calls have been made, so that none completes before something depends on it.
            CountDownLatch made = new CountDownLatch(1);
            mine.execute(() -> {
                try {
                    made.await();
                } catch (InterruptedException unexpected) {
                    throw new IllegalStateException(unexpected);
                }
            });
            List<CompletableFuture<String>> names = new ArrayList<>();
            for (CompletableFuture<?> future : List.of(
                    tasks.async(mine).findTask(id),
                    tasks.async(mine).markTaskWorking("none", null, null),
                    tasks.async(mine).waitTask(id, 1, Duration.ofMillis(5)),
                    tasks.async(mine).waitTask(id, 1, LONG),
                    sessions.async(mine).create("/mcp", null),
                    provider.async(mine).getTask(null, "a", null))) {
                names.add(future.handle((value, failure) -> Thread.currentThread().getName()));
            }
            tasks.markTaskWorking(id, null, null);
            made.countDown();
            for (CompletableFuture<String> name : names) {
                assertEquals("mine", name.get(1, TimeUnit.MINUTES));
            }
            mine.shutdown();
            // An executor that takes nothing any more loses no answer.
            assertEquals(id, Json.get(tasks.async(mine).findTask(id).get(1, TimeUnit.MINUTES).orElseThrow(), "/task/taskId")
                    .orElseThrow());
        } finally {
            mine.shutdown();
        }
    }

    @Test
    void futuresFailWithTheExceptionItselfHoweverTheyFail() throws Exception {
        TaskManager tasks = TaskManager.builder().open();
        String id = create(tasks);
        List<CompletableFuture<?>> failures = new ArrayList<>(List.of(
                tasks.waitTaskAsync("none", 1, LONG),
                tasks.waitTaskAsync("", 1, LONG),
                tasks.waitTaskAsync("a\0b", 1, LONG),
                tasks.waitTaskAsync(id, 1, Duration.ofMillis(5)),
                tasks.waitTaskAsync(id, 1, Duration.ZERO),
                tasks.async().markTaskWorking("none", null, null),
                tasks.async().requestTaskCancelation("/mcp", null, "none")));
        CompletableFuture<String> closed = tasks.waitTaskAsync(id, 1, LONG);
        for (CompletableFuture<?> failure : failures) {
            Object outcome = failure.handle((value, thrown) -> (Object) thrown).get(1, TimeUnit.MINUTES);
            assertInstanceOf(TaskholdException.class, outcome);
        }
        tasks.close();
        Object outcome = closed.handle((value, thrown) -> (Object) thrown).get(1, TimeUnit.MINUTES);
        assertInstanceOf(TaskholdException.Closed.class, outcome);
    }

    @Test
    void closingEndsWaits() throws Exception {
        TaskManager tasks = TaskManager.builder().open();
        String id = create(tasks);
        CompletableFuture<String> wait = tasks.waitTaskAsync(id, 1, LONG);
        tasks.close();
        assertInstanceOf(TaskholdException.Closed.class, failureOf(wait));
        assertEquals("closed_while_waiting", ((TaskholdException) failureOf(wait)).reason());
    }

    @Test
    void aWaitKeepsItsManager() throws Exception {
        Store store = Store.inMemory();
        CompletableFuture<String> wait = forgottenManager(store);
        for (int round = 0; round < 20; round++) {
            System.gc();
            Thread.sleep(1);
        }
        assertFalse(wait.isDone());
        try (TaskManager other = TaskManager.builder().store(store).open()) {
            String id = Json.get(other.listTasks(null), "/records/0/task/taskId").orElseThrow();
            other.completeTask(id, "{}", null, null);
            assertEquals("completed", Json.get(wait.get(1, TimeUnit.MINUTES), "/task/status").orElseThrow());
        }
    }

    private static CompletableFuture<String> forgottenManager(Store store) {
        TaskManager tasks = TaskManager.builder().store(store).open();
        return tasks.waitTaskAsync(create(tasks), 1, LONG);
    }

    @Test
    void anInterruptEndsTheWait() throws InterruptedException {
        try (TaskManager tasks = TaskManager.builder().open()) {
            String id = create(tasks);
            CompletableFuture<Throwable> outcome = new CompletableFuture<>();
            Thread thread = new Thread(() -> {
                try {
                    tasks.waitTask(id, 1, LONG);
                } catch (Throwable thrown) {
                    outcome.complete(thrown);
                }
            });
            thread.start();
            thread.interrupt();
            assertInstanceOf(InterruptedException.class, outcome.join());
            thread.join();
            assertEquals(0, tasks.waits().count());
        }
    }

    @Test
    void twinsGiveTheSame() throws Exception {
        try (TaskManager tasks = TaskManager.builder().open();
                SessionStore sessions = SessionStore.builder().open();
                StateProvider provider = StateProvider.builder().open()) {
            String record = tasks.async().createTask(CREATION).get();
            String id = Json.get(record, "/task/taskId").orElseThrow();
            assertEquals(record, tasks.async().findTask(id).get().orElseThrow());
            tasks.async().requestTaskInput(id, "{\"r\":{\"method\":\"roots/list\"}}", null, null).get();
            assertEquals(
                    "{\"accepted\":[\"r\"],\"ignored\":[]}",
                    tasks.async().updateTask("/mcp", null, id, "{\"r\":{\"roots\":[]}}", null).get().replace(" ", ""));
            assertEquals("{\"r\":{\"roots\":[]}}", tasks.async().takeTaskInputResponses(id, null).get());
            tasks.async().requestTaskCancelation("/mcp", null, id).get();
            tasks.async().cancelTask(id, "ended", null).get();
            assertInstanceOf(TaskholdException.InvalidState.class, failureOf(tasks.async().completeTask(id, "{}", null, null)));

            String session = sessions.async().create("/mcp", null).get().orElseThrow();
            String sessionId = Json.get(session, "/sessionId").orElseThrow();
            assertTrue(sessions.async().pin(sessionId).get());
            sessions.async().unpin(sessionId).get();
            String updated = session.replace("\"version\":0", "\"version\":1");
            assertTrue(sessions.async().replace(session, updated).get());
            assertFalse(sessions.async().replace(session, updated).get());
            sessions.async().deleteBySessionId(sessionId).get();
            assertTrue(sessions.async().findBySessionId(sessionId).get().isEmpty());

            String task = "{\"id\":\"a\",\"status\":{\"state\":\"working\"}}";
            assertEquals(1, provider.async().saveTask(null, task, null).get());
            assertEquals(new Revisioned(task, 1), provider.async().getTask(null, "a", null).get().orElseThrow());
            provider.async().deleteTask(null, "a").get();
            assertEquals("0", Json.get(provider.async().listTasks(null, null).get(), "/totalSize").orElseThrow());
        }
    }

    private static Throwable failureOf(CompletableFuture<?> future) {
        return assertThrows(ExecutionException.class, () -> future.get(1, TimeUnit.MINUTES)).getCause();
    }
}
