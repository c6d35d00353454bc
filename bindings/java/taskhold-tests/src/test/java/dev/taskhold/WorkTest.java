package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** Queued work: claimed, kept, given back, and done by workers. */
class WorkTest {
    private static final Caller ALICE = Caller.at("/mcp").withPartition("alice");
    private static final Duration LONG = Duration.ofMinutes(1);
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final Claim ANY = Claim.from("q");
    private static final String FORM = "{\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\"}}}";
    private static final InputRequests NAME = InputRequests.form("name", "Your name?", FORM);

    private static List<String> backends() {
        return Backends.available().stream().filter(WorkTest::hasQueues).toList();
    }

    private static boolean hasQueues(String backend) {
        try (Store store = Store.builder().url(Backends.url(backend)).open();
                Tasks tasks = Tasks.open(TaskManager.builder().store(store))) {
            create(tasks);
            return true;
        } catch (TaskholdException.Unsupported notYet) {
            return false;
        }
    }

    private static TaskCreation creation() {
        return TaskCreation.of(ALICE, "1").queue("q").work("{\"n\": 1.0}").attempts(3, Duration.ofMillis(1), Duration.ofMillis(1));
    }

    private static TaskId create(Tasks tasks) {
        return tasks.create(creation()).taskId();
    }

    private static Work claim(Tasks tasks) throws InterruptedException {
        return tasks.claim(ANY, LONG).orElseThrow();
    }

    private static void answer(Tasks tasks, TaskId id, String key) {
        tasks.update(ALICE, id, "{\"" + key + "\": {\"action\": \"accept\", \"content\": {\"name\": \"Luca\"}}}");
    }

    private static TaskRecord awaitStatus(Tasks tasks, TaskId id, TaskStatus status) throws InterruptedException {
        TaskRecord record = tasks.find(id).orElseThrow();
        while (record.status() != status) {
            record = tasks.await(record, LONG);
        }
        return record;
    }

    @Test
    void workIsClaimedDoneAndFenced() throws InterruptedException {
        try (Tasks tasks = Tasks.open()) {
            assertEquals(Optional.empty(), tasks.claim(ANY, Duration.ZERO));
            assertEquals(Optional.empty(), tasks.claim(ANY, Duration.ofMillis(5)));
            TaskId id = create(tasks);
            Work work = claim(tasks);
            assertEquals(id, work.taskId());
            assertEquals(1, work.attempt());
            assertEquals(Optional.of("{\"n\": 1.0}"), work.input());
            assertEquals(Worker.defaultName(), work.record().lease().orElseThrow().worker());
            work.checkpoint("{\"page\": 7}");
            assertEquals(Optional.of("{\"page\": 7}"), tasks.find(id).orElseThrow().checkpoint());
            assertEquals(Optional.of("half"), work.progress("half").task().statusMessage());
            assertThrows(
                    TaskholdException.InvalidState.class, () -> tasks.complete(id, "{}"));
            assertThrows(
                    TaskholdException.Conflict.class,
                    () -> tasks.complete(id, "{}", null, TransitionOptions.none().lease(work.token() + 1)));
            assertThrows(TaskholdException.InvalidArgument.class, () -> work.complete("[]"));
            assertFalse(work.isEnded());
            assertEquals(TaskStatus.COMPLETED, work.complete("{}").status());
            assertTrue(work.isEnded());
            work.close();
            assertThrows(TaskholdException.InvalidState.class, () -> work.fail(Failure.of(1, "late")));

            create(tasks);
            assertEquals(TaskStatus.FAILED, claim(tasks).fail(Failure.of(-1, "no")).status());
            create(tasks);
            assertEquals(TaskStatus.CANCELLED, claim(tasks).cancel("stopped").status());
        }
    }

    @Test
    void givingBackUsesUpAnAttemptOnlyWhenItFailed() throws InterruptedException {
        try (Tasks tasks = Tasks.open()) {
            TaskId id = create(tasks);
            try (Work work = claim(tasks)) {
                work.checkpoint("1");
            }
            try (Work work = claim(tasks)) {
                assertEquals(1, work.attempt());
                assertEquals(Optional.of("1"), work.checkpoint());
                assertEquals(0, work.retry(Failure.of(5, "not yet")).lease().stream().count());
                assertThrows(TaskholdException.Conflict.class, () -> work.complete("{}"));
            }
            Work second = claim(tasks);
            assertEquals(2, second.attempt());
            assertEquals(Optional.of(Failure.of(5, "not yet")), second.record().lastFailure());
            second.retry(null);
            assertEquals(TaskStatus.FAILED, claim(tasks).retry(Failure.of(6, "never")).status());
            assertEquals(Optional.of(Failure.of(6, "never")), tasks.find(id).orElseThrow().task().error());
        }
    }

    @Test
    void leasesAreKeptUntilTheWorkEnds() throws InterruptedException {
        for (String backend : backends()) {
            try (Store store = Store.builder().url(Backends.url(backend)).open();
                    Tasks tasks = Tasks.open(TaskManager.builder().store(store))) {
                List<Work> works = new ArrayList<>();
                for (int at = 0; at < 5; at++) {
                    create(tasks);
                    works.add(tasks.claim(Claim.from("q").lease(at < 3 ? SHORT : Duration.ofMillis(450)), LONG).orElseThrow());
                }
                for (Work work : works) {
                    Lease first = work.record().lease().orElseThrow();
                    long end = System.nanoTime() + LONG.toNanos();
                    // Two renewals later it would have lapsed without them.
                    while (tasks.find(work.taskId()).orElseThrow().lease().orElseThrow().expiresAt()
                            .isBefore(first.expiresAt().plus(SHORT))) {
                        assertTrue(System.nanoTime() < end, "the lease is not renewed");
                        Thread.onSpinWait();
                    }
                    assertFalse(work.isLost());
                    assertEquals(Optional.empty(), tasks.claim(ANY, Duration.ZERO));
                }
                for (Work work : works) {
                    work.complete("{}");
                }
            }
        }
    }

    @Test
    void cancelationAndLossAreTold() throws Exception {
        try (Tasks tasks = Tasks.open()) {
            TaskId id = create(tasks);
            Work work = claim(tasks);
            CompletableFuture<String> told = new CompletableFuture<>();
            work.onCancelation(() -> told.complete(Thread.currentThread().getName()));
            tasks.requestCancelation(ALICE, id);
            // A lease of 30 seconds is not renewed before that: it is the event that tells.
            assertFalse(told.get(8, TimeUnit.SECONDS).startsWith("taskhold"));
            assertTrue(work.isCancelationRequested());
            CompletableFuture<Void> again = new CompletableFuture<>();
            work.onCancelation(() -> again.complete(null));
            again.get(1, TimeUnit.MINUTES);
            work.cancel(null);

            TaskId forced = create(tasks);
            Work lost = tasks.claim(Claim.from("q").lease(SHORT), LONG).orElseThrow();
            CompletableFuture<String> loss = new CompletableFuture<>();
            lost.onLoss(() -> loss.complete(Thread.currentThread().getName()));
            tasks.fail(forced, Failure.of(1, "an operator"), null, TransitionOptions.none().force());
            assertFalse(loss.get(1, TimeUnit.MINUTES).startsWith("taskhold"));
            assertTrue(lost.isLost());
            lost.close();
            assertEquals(TaskStatus.FAILED, tasks.find(forced).orElseThrow().status());

        }
        CompletableFuture<Void> end = new CompletableFuture<>();
        try (Tasks tasks = Tasks.open()) {
            create(tasks);
            tasks.claim(Claim.from("q").lease(SHORT), LONG).orElseThrow().onLoss(() -> end.complete(null));
        }
        end.get(1, TimeUnit.MINUTES);
    }

    @Test
    void answersAreNotedInTheStepThatTakesThem() throws Exception {
        try (Tasks tasks = Tasks.open()) {
            TaskId id = create(tasks);
            Work work = claim(tasks);
            work.checkpoint("{\"page\": 7}");
            CompletableFuture<Map<String, InputResponse>> asked = later(() -> work.ask(NAME));
            awaitStatus(tasks, id, TaskStatus.INPUT_REQUIRED);
            answer(tasks, id, "name");
            assertEquals(Optional.of("Luca"), asked.get(1, TimeUnit.MINUTES).get("name").field("name"));
            String noted = tasks.find(id).orElseThrow().checkpoint().orElseThrow();
            assertEquals(Optional.of("7"), Json.get(noted, "/page"));
            assertEquals(Optional.of("Luca"), Json.get(noted, "/answers/name/content/name"));
            assertEquals(Optional.of(noted), work.checkpoint());
            // The worker dies here. The next one asks the same, and the client is not asked.
            work.close();
            Work second = claim(tasks);
            assertEquals(Optional.of("Luca"), second.ask(NAME).get("name").field("name"));
            assertEquals(Set.of("name"), second.ask(NAME).keySet());
            assertEquals(TaskStatus.WORKING, tasks.find(id).orElseThrow().status());
            second.complete("{}");
        }
    }

    @Test
    void askingGoesOnWhereAnEarlierAttemptStopped() throws Exception {
        try (Tasks tasks = Tasks.open()) {
            InputRequests both = InputRequests.form("a", "A?", FORM).andForm("b", "B?", FORM);
            // It asked and died: with no answer, with one, with both.
            for (int answers = 0; answers <= 2; answers++) {
                TaskId id = create(tasks);
                Work first = claim(tasks);
                Thread asking = new Thread(() -> assertThrows(InterruptedException.class, () -> first.ask(both)));
                asking.start();
                awaitStatus(tasks, id, TaskStatus.INPUT_REQUIRED);
                if (answers > 0) {
                    answer(tasks, id, "a");
                }
                asking.interrupt();
                asking.join();
                // Who has no lease any more has nothing to give back: as after a crash, but without waiting for the lapse.
                Work second = first;
                if (answers == 2) {
                    answer(tasks, id, "b");
                    first.close();
                    second = claim(tasks);
                }
                Work asker = second;
                CompletableFuture<Map<String, InputResponse>> asked = later(() -> asker.ask(both));
                if (answers == 0) {
                    answer(tasks, id, "a");
                }
                if (answers < 2) {
                    answer(tasks, id, "b");
                }
                assertEquals(Set.of("a", "b"), asked.get(1, TimeUnit.MINUTES).keySet());
                asker.complete("{}");
            }
        }
    }

    @Test
    void askingEndsWithCancelationAndParkingGivesTheTaskUp() throws Exception {
        try (Tasks tasks = Tasks.open()) {
            TaskId id = create(tasks);
            Work work = claim(tasks);
            CompletableFuture<Map<String, InputResponse>> asked = later(() -> work.ask(NAME));
            awaitStatus(tasks, id, TaskStatus.INPUT_REQUIRED);
            tasks.requestCancelation(ALICE, id);
            Object failure = asked.handle((value, thrown) -> (Object) thrown).get(1, TimeUnit.MINUTES);
            assertInstanceOf(CancellationException.class, failure);
            work.cancel(null);

            TaskId parked = create(tasks);
            Work first = claim(tasks);
            first.park(NAME, "Waiting for you");
            assertTrue(first.isEnded());
            assertEquals(Optional.empty(), tasks.claim(ANY, Duration.ZERO));
            assertEquals(1, tasks.stream(TaskQuery.all().queue("q").workState(WorkState.PARKED)).count());
            answer(tasks, parked, "name");
            Work second = claim(tasks);
            assertEquals(1, second.attempt());
            assertEquals(Optional.of("Luca"), second.ask(NAME).get("name").field("name"));
            second.complete("{}");
        }
    }

    @Test
    void aTaskThatIsCreatedWithALeaseIsWorkToo() {
        try (Tasks tasks = Tasks.open()) {
            TaskRecord made = tasks.create(TaskCreation.of(ALICE, "1").lease("me", LONG).operationId("once"));
            assertEquals(Optional.of(true), made.created());
            assertEquals(Optional.of("once"), made.operationId());
            Work work = tasks.work(made, LONG);
            TaskRecord same = tasks.create(TaskCreation.of(ALICE, "1").lease("other", LONG).operationId("once"));
            assertEquals(Optional.of(false), same.created());
            assertThrows(IllegalArgumentException.class, () -> tasks.work(same, LONG));
            work.complete("{}");
            Work unqueued = tasks.work(tasks.create(TaskCreation.of(ALICE, "1").lease("me", LONG)), LONG);
            // It cannot be given back, and lapses.
            unqueued.close();
            assertTrue(unqueued.isEnded());
            TaskRecord ofMinutes = tasks.create(TaskCreation.of(ALICE, "1").timeToLive(Duration.ofMinutes(7)));
            assertEquals(Duration.ofMinutes(7), ofMinutes.task().timeToLive());
        }
    }

    @Test
    void anInterruptedClaimTakesNoTaskAlong() throws Exception {
        try (Tasks tasks = Tasks.open()) {
            for (int round = 0; round < 200; round++) {
                CompletableFuture<Optional<Work>> outcome = new CompletableFuture<>();
                Thread thread = new Thread(() -> {
                    try {
                        outcome.complete(tasks.claim(ANY, LONG));
                    } catch (InterruptedException interrupt) {
                        outcome.complete(Optional.empty());
                    } catch (Throwable failure) {
                        outcome.completeExceptionally(failure);
                    }
                });
                thread.start();
                CountDownLatch together = new CountDownLatch(1);
                Thread interrupting = new Thread(() -> {
                    await(together);
                    thread.interrupt();
                });
                interrupting.start();
                together.countDown();
                TaskId id = create(tasks);
                Optional<Work> first = outcome.get(1, TimeUnit.MINUTES);
                Work work = first.isPresent() ? first.get() : claim(tasks);
                assertEquals(id, work.taskId());
                assertEquals(1, work.attempt());
                work.complete("{}");
                interrupting.join();
                thread.join();
            }
        }
    }

    @Test
    void aCancelledFutureTakesNoTaskAlong() throws Exception {
        try (Tasks tasks = Tasks.open()) {
            AsyncTaskManager async = tasks.manager().async();
            assertEquals(Optional.empty(), async.claimTask(ANY.toJson(), Duration.ofMillis(5)).get(1, TimeUnit.MINUTES));
            for (int round = 0; round < 100; round++) {
                CompletableFuture<Optional<String>> claim = async.claimTask(ANY.toJson(), LONG);
                CountDownLatch together = new CountDownLatch(1);
                Thread cancelling = new Thread(() -> {
                    await(together);
                    claim.cancel(true);
                });
                cancelling.start();
                together.countDown();
                TaskId id = create(tasks);
                cancelling.join();
                // Whoever won, nobody waits for the answer of a future that is cancelled.
                TaskRecord record = claim.isCancelled() ? claim(tasks).record() : TaskRecord.of(claim.get().orElseThrow());
                assertEquals(id, record.taskId());
                assertEquals(1, record.attempt());
                long token = record.lease().orElseThrow().token().orElseThrow();
                tasks.complete(id, "{}", null, TransitionOptions.none().lease(token));
            }
        }
    }

    @Test
    void aWorkerThatCanNeverClaimIsRefused() {
        try (Tasks tasks = Tasks.open()) {
            assertThrows(TaskholdException.InvalidArgument.class, () -> tasks.worker(List.of(), 1, work -> null));
            assertThrows(
                    TaskholdException.InvalidArgument.class,
                    () -> tasks.worker(Claim.from("q").lease(Duration.ZERO), 1, work -> null));
            assertThrows(IllegalArgumentException.class, () -> tasks.worker(ANY, 0, work -> null));
        }
    }

    @Test
    void workersDoTheWorkOfAllQueues() throws Exception {
        // What failed is logged, forty times.
        Logger logger = Logger.getLogger("dev.taskhold");
        logger.setLevel(Level.OFF);
        for (String backend : backends()) {
            ExecutorService threads = WaitsTest.manyThreads();
            try (Store store = Store.builder().url(Backends.url(backend)).open();
                    Tasks tasks = Tasks.open(TaskManager.builder().store(store))) {
                Set<TaskId> made = ConcurrentHashMap.newKeySet();
                AtomicInteger most = new AtomicInteger();
                AtomicInteger now = new AtomicInteger();
                CountDownLatch done = new CountDownLatch(40);
                WorkHandler handler = work -> {
                    most.accumulateAndGet(now.incrementAndGet(), Math::max);
                    try {
                        // Each fails once.
                        if (work.attempt() == 1) {
                            throw new IllegalStateException("the first attempt");
                        }
                        return "{\"by\": " + work.attempt() + "}";
                    } finally {
                        now.decrementAndGet();
                        if (work.attempt() == 2) {
                            done.countDown();
                        }
                    }
                };
                try (Worker own = tasks.worker(List.of("q", "other"), 2, handler);
                        Worker virtual = tasks.worker(ANY, 2, threads, handler)) {
                    for (int at = 0; at < 40; at++) {
                        made.add(tasks.create(at % 2 == 0 ? creation() : creation().queue("other").queue("q")).taskId());
                    }
                    assertTrue(done.await(1, TimeUnit.MINUTES));
                    for (TaskId id : made) {
                        assertEquals(Optional.of("{\"by\": 2}"), tasks.awaitEnd(id, LONG).task().result());
                    }
                    assertTrue(own.stop(LONG));
                    assertTrue(virtual.stop(LONG));
                    assertEquals(0, own.active());
                }
                assertTrue(most.get() <= 4, most + " handlers at once");
            } finally {
                threads.shutdown();
            }
        }
    }

    @Test
    void handlersAreInterruptedForCancelationAndForAStop() throws Exception {
        try (Tasks tasks = Tasks.open()) {
            CompletableFuture<TaskId> begun = new CompletableFuture<>();
            CountDownLatch stuck = new CountDownLatch(1);
            CountDownLatch never = new CountDownLatch(1);
            AtomicInteger calls = new AtomicInteger();
            WorkHandler handler = work -> {
                if (calls.getAndIncrement() == 0) {
                    begun.complete(work.taskId());
                } else {
                    stuck.countDown();
                }
                never.await();
                return "{}";
            };
            Worker worker = tasks.worker(ANY, 1, handler);
            TaskId cancelled = create(tasks);
            assertEquals(cancelled, begun.get(1, TimeUnit.MINUTES));
            tasks.requestCancelation(ALICE, cancelled);
            assertEquals(TaskStatus.CANCELLED, tasks.awaitEnd(cancelled, LONG).status());

            TaskId given = create(tasks);
            stuck.await();
            assertFalse(worker.stop(Duration.ofMillis(5)));
            Work again = claim(tasks);
            assertEquals(given, again.taskId());
            assertEquals(1, again.attempt());
            again.complete("{}");
            create(tasks);
            assertTrue(worker.stop(Duration.ZERO));
            worker.close();
            claim(tasks).complete("{}");
        }
    }

    @Test
    void aHandlerThatIgnoresInterruptsLosesItsTask() throws Exception {
        try (Tasks tasks = Tasks.open()) {
            CountDownLatch begun = new CountDownLatch(1);
            CountDownLatch end = new CountDownLatch(1);
            CompletableFuture<Object> late = new CompletableFuture<>();
            Worker worker = tasks.worker(ANY, 1, work -> {
                begun.countDown();
                await(end);
                try {
                    late.complete(work.complete("{}"));
                } catch (TaskholdException refusal) {
                    late.complete(refusal.reason());
                }
                return null;
            });
            create(tasks);
            begun.await();
            assertFalse(worker.stop(Duration.ZERO));
            Work again = claim(tasks);
            end.countDown();
            assertEquals("lease_lost", late.get(1, TimeUnit.MINUTES));
            again.complete("{}");
        }
    }

    @Test
    void aHandlerThatDoesNothingUsesUpItsAttempts() throws Exception {
        Logger logger = Logger.getLogger("dev.taskhold");
        logger.setLevel(Level.OFF);
        try (Tasks tasks = Tasks.open();
                Worker worker = tasks.worker(ANY, 1, work -> null)) {
            assertEquals(TaskStatus.FAILED, tasks.awaitEnd(create(tasks), LONG).status());
            assertTrue(worker.stop(LONG));
        }
    }

    private interface Call<T> {
        T call() throws Exception;
    }

    private static <T> CompletableFuture<T> later(Call<T> call) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        new Thread(() -> {
                    try {
                        answer.complete(call.call());
                    } catch (Throwable failure) {
                        answer.completeExceptionally(failure);
                    }
                })
                .start();
        return answer;
    }

    /** Waits whatever interrupts come. */
    private static void await(CountDownLatch latch) {
        for (;;) {
            try {
                latch.await();
                return;
            } catch (InterruptedException ignored) {
                // What a handler should not do.
            }
        }
    }
}
