package dev.taskhold;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Which A2A tasks are wanted: {@code A2aQuery.all().state(A2aState.WORKING)}. By status timestamp descending, absent last, then
 * by id.
 */
public final class A2aQuery {
    private final JsonWriter params = new JsonWriter();

    private A2aQuery() {}

    /**
     * Begins with all tasks of the owner, 50 on a page, without history and artifacts.
     *
     * @return the query
     */
    public static A2aQuery all() {
        return new A2aQuery();
    }

    /**
     * Wants those of a context.
     *
     * @param contextId the context's id; null is any
     * @return this query
     */
    public A2aQuery contextId(@Nullable String contextId) {
        params.text("contextId", contextId);
        return this;
    }

    /**
     * Wants those in a state.
     *
     * @param state the state; null is any
     * @return this query
     */
    public A2aQuery state(@Nullable A2aState state) {
        params.text("status", state == null ? null : state.written());
        return this;
    }

    /**
     * Wants those whose status is as young.
     *
     * @param time the earliest status timestamp; null is any
     * @return this query
     */
    public A2aQuery statusTimestampAfter(@Nullable Instant time) {
        params.text("statusTimestampAfter", time == null ? null : time.toString());
        return this;
    }

    /**
     * Says how many messages of the history come along; none unless said.
     *
     * @param length the most messages, the last ones
     * @return this query
     */
    public A2aQuery historyLength(int length) {
        params.number("historyLength", length);
        return this;
    }

    /**
     * Wants artifacts too.
     *
     * @return this query
     */
    public A2aQuery includeArtifacts() {
        params.bool("includeArtifacts", true);
        return this;
    }

    /**
     * Says how many come at once.
     *
     * @param size 1 to 100
     * @return this query
     */
    public A2aQuery pageSize(int size) {
        params.number("pageSize", size);
        return this;
    }

    /**
     * Begins at a page.
     *
     * @param token what the page before gave, for the same query; null is the first page
     * @return this query
     */
    public A2aQuery pageToken(@Nullable String token) {
        params.text("pageToken", token);
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

    /** Writes the query with revisions, as objects have them. */
    String typed() {
        return params.copy().bool("includeRevisions", true).toString();
    }

    /** Writes the query for the tasks of all owners, whose revisions stand beside them. */
    String ofAllOwners() {
        return params.copy().bool("anyOwner", true).toString();
    }

    String ofAllOwners(String pageToken) {
        return params.copy().bool("anyOwner", true).text("pageToken", pageToken).toString();
    }

    String typed(String pageToken) {
        return params.copy().bool("includeRevisions", true).text("pageToken", pageToken).toString();
    }
}
