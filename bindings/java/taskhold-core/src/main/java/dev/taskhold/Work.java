package dev.taskhold;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A task in this process's hands: claimed out of a queue, or created with a lease. The lease is renewed in the background, at a
 * third of its length and together with that of all other work, until the work ends or is closed; closing it before its end gives
 * the task back without using up an attempt.
 *
 * <pre>{@code
 * try (Work work = tasks.claim(Claim.from("reports"), Duration.ofMinutes(1)).orElseThrow()) {
 *     work.complete(report(work.input().orElseThrow()));
 * }
 * }</pre>
 *
 * <p>Each change names the lease, so that one that was lost meanwhile changes nothing: it is
 * {@link TaskholdException.Conflict} ({@code lease_lost}). A client's request for cancelation and the loss of the lease are
 * noticed in the background: {@link #isCancelationRequested}, {@link #isLost}, {@link #onCancelation}, {@link #onLoss}; the
 * first at once, the second with the next renewal. Any thread may use it. The rules are those of
 * {@code taskhold_manager_claim_task} and the functions after it in {@code include/taskhold.h}.
 */
public final class Work implements AutoCloseable {
    private final TaskManager manager;
    private final TaskRecord record;
    private final TaskId taskId;
    private final long token;
    private final long leaseMs;
    private final Asking asking;

    private volatile @Nullable String checkpoint;
    private volatile boolean cancelationRequested;
    private volatile boolean lost;
    private volatile boolean ended;
    private volatile long renewedAt = System.nanoTime();

    /** A change that ends the work is under way: the library's answer to a renewal says nothing then. Guarded by this. */
    private boolean ending;

    /** What the worker does in either case, on the thread that learns of it. */
    private volatile @Nullable Runnable watcher;

    /** Guarded by this. */
    private @Nullable Runnable whenCancelled;

    /** Guarded by this. */
    private @Nullable Runnable whenLost;

    /** Takes on the task of an answer to a claim, or to a creation with a lease. */
    Work(TaskManager manager, TaskRecord record, long leaseMs) {
        this.manager = manager;
        this.record = record;
        this.taskId = record.taskId();
        this.token = record.lease()
                .flatMap(lease -> lease.token().stream().boxed().findFirst())
                .orElseThrow(() -> new IllegalArgumentException("the record has no lease of this caller"));
        this.leaseMs = leaseMs;
        this.asking = new Asking(this, manager);
        this.checkpoint = record.checkpoint().orElse(null);
        this.cancelationRequested = record.isCancelationRequested();
        manager.leases().add(this);
    }

    /**
     * Gives the record as it was when the work began.
     *
     * @return the record
     */
    public TaskRecord record() {
        return record;
    }

    /**
     * Gives the task's id.
     *
     * @return the id
     */
    public TaskId taskId() {
        return taskId;
    }

    /**
     * Gives what the worker needs: the creation's {@code work}.
     *
     * @return JSON, byte for byte as it was given; empty if there was none
     */
    public Optional<String> input() {
        return record.work();
    }

    /**
     * Tells which attempt this is.
     *
     * @return 1 or more
     */
    public long attempt() {
        return record.attempt();
    }

    /**
     * Gives the number of the lease, for calls of {@link TaskManager}.
     *
     * @return the token
     */
    public long token() {
        return token;
    }

    /**
     * Gives what was noted last, here or by an earlier worker.
     *
     * @return JSON, byte for byte as it was given; empty if there is none
     */
    public Optional<String> checkpoint() {
        return Optional.ofNullable(checkpoint);
    }

    /**
     * Notes how far the work is, for whoever continues it after this process. It is stored when this returns.
     *
     * @param json any JSON but null, at most {@code maximumPayloadBytes} of the manager
     * @throws TaskholdException.Conflict {@code lease_lost}
     * @throws TaskholdException.InvalidArgument {@code invalid_json}
     * @throws TaskholdException.LimitExceeded {@code payload_too_large}, {@code nesting_too_deep}
     */
    public void checkpoint(String json) {
        String renewal = new JsonWriter()
                .text("taskId", taskId.value())
                .number("lease", token)
                .json("checkpoint", Objects.requireNonNull(json))
                .toString();
        long begin = System.nanoTime();
        String outcome = manager.renewLeases(
                new JsonWriter().number("leaseMs", leaseMs).set("tasks", "[" + renewal + "]").toString());
        if (!JsonObject.of(outcome).texts("renewed").contains(taskId.value())) {
            tellLoss();
            throw leaseLost();
        }
        renewedAt(begin);
        checkpoint = json;
    }

    /**
     * Tells whether a client has asked for cancelation. The worker decides: {@link #cancel}, or whatever the work comes to.
     *
     * @return whether one has
     */
    public boolean isCancelationRequested() {
        return cancelationRequested;
    }

    /**
     * Tells whether the lease is lost: the task has ended or expired, or another worker has it. What is done now is in vain.
     *
     * @return whether it is
     */
    public boolean isLost() {
        return lost;
    }

    /**
     * Tells whether this work is over: it was completed, failed, cancelled, parked, given back or closed.
     *
     * @return whether it is
     */
    public boolean isEnded() {
        return ended;
    }

    /**
     * Says what to do when a client asks for cancelation: it runs once, on the common pool, also if a client has asked already.
     *
     * @param action what to do, in the place of what was said before
     */
    public void onCancelation(Runnable action) {
        synchronized (this) {
            whenCancelled = action;
        }
        if (cancelationRequested) {
            run(takeWhenCancelled());
        }
    }

    /**
     * Says what to do when the lease is lost: it runs once, on the common pool, also if it is lost already.
     *
     * @param action what to do, in the place of what was said before
     */
    public void onLoss(Runnable action) {
        synchronized (this) {
            whenLost = action;
        }
        if (lost) {
            run(takeWhenLost());
        }
    }

    /**
     * Tells the client how the work goes.
     *
     * @param statusMessage the new message for people; null clears it
     * @return the record after the change
     * @throws TaskholdException as {@link TaskManager#markTaskWorking}, and Conflict {@code lease_lost}
     */
    public TaskRecord progress(@Nullable String statusMessage) {
        return new TaskRecord(manager.markTaskWorking(taskId.value(), statusMessage, options().toString()));
    }

    /**
     * Asks the client and waits for all answers, as long as it takes; the lease is kept meanwhile. The answers are noted in the
     * member {@code answers} of the checkpoint in the step that takes them, so that they are there for whoever continues the
     * work: who asks the same again gets them at once, and the client is not asked twice. The checkpoint must be a JSON object,
     * or none.
     *
     * @param requests the requests; a key is used once in a task's life
     * @return the answers to these requests by key
     * @throws InterruptedException if this thread is interrupted while it waits; nothing is taken by that
     * @throws CancellationException if a client asks for cancelation meanwhile
     * @throws IllegalStateException if the checkpoint is no object
     * @throws TaskholdException as {@link TaskManager#requestTaskInput}, and Conflict {@code lease_lost}
     */
    public Map<String, InputResponse> ask(InputRequests requests) throws InterruptedException {
        Map<String, InputResponse> noted = Asking.noted(checkpoint);
        if (!noted.keySet().containsAll(requests.keys())) {
            noted = ask(requests, null, answers -> Asking.withAnswers(checkpoint, answers));
        }
        Map<String, InputResponse> asked = new LinkedHashMap<>(noted);
        asked.keySet().retainAll(requests.keys());
        return asked;
    }

    /**
     * Asks the client and waits for all answers, as {@link #ask(InputRequests)} does, with a checkpoint of the caller's making.
     *
     * @param requests the requests; a key is used once in a task's life
     * @param statusMessage the new message for people; null clears it
     * @param checkpoint makes the checkpoint that holds the answers, JSON; it is stored in the step that takes them
     * @return all answers that were not taken before, by key
     * @throws InterruptedException if this thread is interrupted while it waits; nothing is taken by that
     * @throws CancellationException if a client asks for cancelation meanwhile
     * @throws TaskholdException as {@link TaskManager#requestTaskInput}, and Conflict {@code lease_lost}
     */
    public Map<String, InputResponse> ask(
            InputRequests requests, @Nullable String statusMessage, Function<Map<String, InputResponse>, String> checkpoint)
            throws InterruptedException {
        Map<String, InputResponse> answers = asking.answers(requests, statusMessage);
        String noted = checkpoint.apply(answers);
        manager.takeTaskInputResponses(taskId.value(), options().json("checkpoint", noted).toString());
        this.checkpoint = noted;
        return answers;
    }

    /**
     * Asks the client and gives the task up until all answers are there: it can be claimed again then, with them, and whoever
     * claims it continues this attempt. This work is over.
     *
     * @param requests the requests; a key is used once in a task's life
     * @param statusMessage the new message for people; null clears it
     * @return the record after the change
     * @throws TaskholdException as {@link TaskManager#requestTaskInput}; Conflict {@code lease_lost}; InvalidState
     *     {@code not_queued}: the task has no queue
     */
    public TaskRecord park(InputRequests requests, @Nullable String statusMessage) {
        String options = options().bool("park", true).toString();
        return end(() -> manager.requestTaskInput(taskId.value(), requests.toJson(), statusMessage, options));
    }

    /**
     * Takes the answers that the client gave, after this task was parked; see {@link TaskManager#takeTaskInputResponses}.
     * {@link #ask} does that by itself.
     *
     * @param checkpoint what is noted in the same step, JSON that holds the answers; null keeps what was noted
     * @return the answers by key
     * @throws TaskholdException.Conflict {@code lease_lost}
     */
    public Map<String, InputResponse> takeInputResponses(@Nullable String checkpoint) {
        String options = options().json("checkpoint", checkpoint).toString();
        Map<String, InputResponse> answers = InputResponse.all(manager.takeTaskInputResponses(taskId.value(), options));
        if (checkpoint != null) {
            this.checkpoint = checkpoint;
        }
        return answers;
    }

    /**
     * Completes the task.
     *
     * @param result a JSON object, kept byte for byte
     * @return the record after the change
     * @throws TaskholdException as {@link TaskManager#completeTask}, and Conflict {@code lease_lost}
     */
    public TaskRecord complete(String result) {
        return end(() -> manager.completeTask(taskId.value(), result, null, options().toString()));
    }

    /**
     * Fails the task, whatever attempts are left.
     *
     * @param failure what the client sees
     * @return the record after the change
     * @throws TaskholdException as {@link TaskManager#failTask}, and Conflict {@code lease_lost}
     */
    public TaskRecord fail(Failure failure) {
        String json = failure.toJson();
        return end(() -> manager.failTask(taskId.value(), json, null, options().toString()));
    }

    /**
     * Marks the task as cancelled.
     *
     * @param statusMessage the last message for people; null clears it
     * @return the record after the change
     * @throws TaskholdException as {@link TaskManager#cancelTask}, and Conflict {@code lease_lost}
     */
    public TaskRecord cancel(@Nullable String statusMessage) {
        return end(() -> manager.cancelTask(taskId.value(), statusMessage, options().toString()));
    }

    /**
     * Gives the task back because this attempt did not succeed. With an attempt left it can be claimed after its backoff, else it
     * fails.
     *
     * @param failure why, which the client sees if no attempt is left; null says nothing about it
     * @return the record after the change
     * @throws TaskholdException.Conflict {@code lease_lost}
     * @throws TaskholdException.InvalidState {@code not_queued}: the task has no queue; {@code task_terminal}
     */
    public TaskRecord retry(@Nullable Failure failure) {
        return retry(failure, Duration.ZERO);
    }

    /**
     * Gives the task back because this attempt did not succeed, not to be claimed for a while.
     *
     * @param failure why, which the client sees if no attempt is left; null says nothing about it
     * @param delay the shortest time until the next attempt; its backoff counts if it is longer
     * @return the record after the change
     * @throws TaskholdException as {@link #retry(Failure)}
     */
    public TaskRecord retry(@Nullable Failure failure, Duration delay) {
        String options = options()
                .number("delayMs", Background.millis(delay))
                .json("failure", failure == null ? null : failure.toJson())
                .toString();
        return end(() -> manager.releaseTask(taskId.value(), options));
    }

    /**
     * Gives the task back without using up this attempt, unless the work is over or lost already. What cannot be given back, a
     * task without a queue for example, lapses with its lease. Does nothing when it is called again.
     *
     * @throws TaskholdException.Unavailable the storage failed; the lease is not renewed any more and lapses
     */
    @Override
    public void close() {
        if (!ended && !lost) {
            try {
                end(() -> manager.releaseTask(taskId.value(), options().bool("countsAsAttempt", false).toString()));
            } catch (TaskholdException.NotFound
                    | TaskholdException.Conflict
                    | TaskholdException.InvalidState
                    | TaskholdException.InvalidHandle nothingToGiveBack) {
                // Somebody else has it, or it has no queue, or its manager is closed.
            } finally {
                ended = true;
                manager.leases().remove(this);
            }
        }
    }

    JsonWriter options() {
        return new JsonWriter().number("lease", token);
    }

    private TaskRecord end(Supplier<String> change) {
        synchronized (this) {
            ending = true;
        }
        try {
            TaskRecord after = new TaskRecord(change.get());
            ended = true;
            manager.leases().remove(this);
            return after;
        } finally {
            synchronized (this) {
                ending = false;
            }
        }
    }

    static TaskholdException leaseLost() {
        return TaskholdException.made(Status.CONFLICT, "lease_lost", "the lease of this work is not the current one");
    }

    long leaseMs() {
        return leaseMs;
    }

    long renewedAt() {
        return renewedAt;
    }

    void renewedAt(long time) {
        renewedAt = time;
    }

    void tellCancelation() {
        if (!cancelationRequested && !ended) {
            cancelationRequested = true;
            told(takeWhenCancelled());
        }
    }

    /** Lets a worker know of a request for cancelation and of a loss, also of one that is there already. */
    void watch(Runnable action) {
        watcher = action;
        if (cancelationRequested || lost) {
            action.run();
        }
    }

    private void told(@Nullable Runnable usersAction) {
        Runnable watching = watcher;
        if (watching != null) {
            watching.run();
        }
        run(usersAction);
    }

    /** The lease is not renewed any more. */
    void tellLoss() {
        synchronized (this) {
            // If the change fails, the next renewal tells it again.
            if (ending || ended || lost) {
                return;
            }
            lost = true;
        }
        manager.leases().remove(this);
        told(takeWhenLost());
    }

    private synchronized @Nullable Runnable takeWhenCancelled() {
        Runnable action = whenCancelled;
        whenCancelled = null;
        return action;
    }

    private synchronized @Nullable Runnable takeWhenLost() {
        Runnable action = whenLost;
        whenLost = null;
        return action;
    }

    private static void run(@Nullable Runnable action) {
        if (action != null) {
            Background.COMMON.execute(action);
        }
    }
}
