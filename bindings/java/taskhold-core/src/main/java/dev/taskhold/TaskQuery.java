package dev.taskhold;

import org.jspecify.annotations.Nullable;

/** What an operator wants to see of the tasks: {@code TaskQuery.all().status(TaskStatus.WORKING)}. Oldest first. */
public final class TaskQuery {
    private final JsonWriter params = new JsonWriter();

    private TaskQuery() {}

    /**
     * Begins with all tasks, 100 on a page, without payloads.
     *
     * @return the query
     */
    public static TaskQuery all() {
        return new TaskQuery();
    }

    /**
     * Wants those with a status.
     *
     * @param status the status; null is any
     * @return this query
     */
    public TaskQuery status(@Nullable TaskStatus status) {
        params.text("status", status == null ? null : status.wireName());
        return this;
    }

    /**
     * Wants those of an endpoint.
     *
     * @param endpoint the endpoint; null is any
     * @return this query
     */
    public TaskQuery endpoint(@Nullable Endpoint endpoint) {
        params.text("endpoint", endpoint == null ? null : endpoint.value());
        return this;
    }

    /**
     * Wants those of a partition.
     *
     * @param partition the partition, which may be the anonymous one; null is any
     * @return this query
     */
    public TaskQuery partition(@Nullable Partition partition) {
        params.set("authorizationPartition", Partition.filter(partition));
        return this;
    }

    /**
     * Wants those in a queue.
     *
     * @param queue the queue; null is any, and none
     * @return this query
     */
    public TaskQuery queue(@Nullable String queue) {
        params.text("queue", queue);
        return this;
    }

    /**
     * Wants those that a worker holds.
     *
     * @param worker what it calls itself; null is any, and none
     * @return this query
     */
    public TaskQuery worker(@Nullable String worker) {
        params.text("worker", worker);
        return this;
    }

    /**
     * Wants those whose work stands somewhere.
     *
     * @param state where; null is anywhere
     * @return this query
     */
    public TaskQuery workState(@Nullable WorkState state) {
        params.text("workState", state == null ? null : state.wireName());
        return this;
    }

    /**
     * Says how many come at once.
     *
     * @param size 1 to 1000
     * @return this query
     */
    public TaskQuery pageSize(int size) {
        params.number("pageSize", size);
        return this;
    }

    /**
     * Begins at a page.
     *
     * @param token what the page before gave, for the same query; null is the first page
     * @return this query
     */
    public TaskQuery pageToken(@Nullable String token) {
        params.text("pageToken", token);
        return this;
    }

    /**
     * Wants results, errors and input requests too.
     *
     * @return this query
     */
    public TaskQuery includePayload() {
        params.bool("includePayload", true);
        return this;
    }

    /**
     * Writes the query.
     *
     * @return a JSON object
     */
    public String toJson() {
        return params.toString();
    }

    /** Writes the query for the page with this token. */
    String toJson(String pageToken) {
        return params.copy().text("pageToken", pageToken).toString();
    }
}
