package dev.taskhold;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * All that is known of a task, for trusted code. Of it only {@link #task} may reach a client. The members about queued work
 * are there for tasks that were created with a queue, a lease or an operation id.
 */
public final class TaskRecord extends Snapshot {
    TaskRecord(String json) {
        super(json);
    }

    /**
     * Reads a record, from one of the calls that give texts.
     *
     * @param json a record as the library gives it out
     * @return the record
     */
    public static TaskRecord of(String json) {
        return new TaskRecord(json);
    }

    /**
     * Gives what a client may see.
     *
     * @return the task
     */
    public Task task() {
        return new Task(members().json("task").orElseThrow());
    }

    /**
     * Gives the id.
     *
     * @return the id
     */
    public TaskId taskId() {
        return task().taskId();
    }

    /**
     * Gives the status.
     *
     * @return the status
     */
    public TaskStatus status() {
        return task().status();
    }

    /**
     * Gives the revision: 1 at first, greater with every change of the record.
     *
     * @return the revision
     */
    public long revision() {
        return members().number("revision");
    }

    /**
     * Gives who may see the task, and where.
     *
     * @return endpoint and authorization partition
     */
    public Caller caller() {
        JsonObject members = members();
        return new Caller(
                Endpoint.of(members.someText("endpoint")),
                Partition.of(members.text("authorizationPartition").orElse(null)));
    }

    /**
     * Gives what the task came from.
     *
     * @return JSON, byte for byte as it was given
     */
    public Optional<String> origin() {
        return members().json("origin");
    }

    /**
     * Gives the metadata.
     *
     * @return a JSON object, byte for byte as it was given
     */
    public Optional<String> metadata() {
        return members().json("metadata");
    }

    /**
     * Gives what the task may ask the client for.
     *
     * @return kinds of input requests; empty if nothing was declared
     */
    public Optional<List<String>> declaredInputRequests() {
        JsonObject members = members();
        return members.json("declaredInputRequests").map(there -> members.texts("declaredInputRequests"));
    }

    /**
     * Tells whether a client has asked for cancelation.
     *
     * @return whether it has
     */
    public boolean isCancelationRequested() {
        return members().flag("cancelationRequested");
    }

    /**
     * Gives the queue in which workers may claim the task.
     *
     * @return the queue, if it has one
     */
    public Optional<String> queue() {
        return members().text("queue");
    }

    /**
     * Gives what a worker needs.
     *
     * @return JSON, byte for byte as it was given; empty in listings without payloads
     */
    public Optional<String> work() {
        return members().json("work");
    }

    /**
     * Gives what the worker noted last.
     *
     * @return JSON, byte for byte as it was given; empty in listings without payloads
     */
    public Optional<String> checkpoint() {
        return members().json("checkpoint");
    }

    /**
     * Tells how many attempts have begun.
     *
     * @return the number, 0 before the first claim
     */
    public long attempt() {
        return members().someNumber("attempt").orElse(0);
    }

    /**
     * Tells from when on the task may be claimed.
     *
     * @return the time, where there is one
     */
    public Optional<Instant> availableAt() {
        return members().time("availableAt");
    }

    /**
     * Tells who works on the task.
     *
     * @return the lease, also one that has lapsed and that nobody took over
     */
    public Optional<Lease> lease() {
        return members().json("lease").map(Lease::read);
    }

    /**
     * Tells why the last attempt that was given back failed.
     *
     * @return the failure, where one was told
     */
    public Optional<Failure> lastFailure() {
        return members().json("lastFailure").map(Failure::read);
    }

    /**
     * Gives the id under which creating the task is idempotent.
     *
     * @return the id, if it has one
     */
    public Optional<String> operationId() {
        return members().text("operationId");
    }

    /**
     * Tells of a creation with an operation id whether it made the task; if not, the work is not the caller's.
     *
     * @return whether it did; empty in every other answer
     */
    public Optional<Boolean> created() {
        return members().json("created").map(Boolean::valueOf);
    }

    @Override
    public String toString() {
        return "TaskRecord[" + status() + ", revision " + revision() + "]";
    }
}
