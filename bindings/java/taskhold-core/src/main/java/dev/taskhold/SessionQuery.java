package dev.taskhold;

import org.jspecify.annotations.Nullable;

/** What an operator wants to see of the sessions: {@code SessionQuery.all().partition(alice)}. Oldest first. */
public final class SessionQuery {
    private final JsonWriter params = new JsonWriter();

    private SessionQuery() {}

    /**
     * Begins with all sessions, 100 on a page.
     *
     * @return the query
     */
    public static SessionQuery all() {
        return new SessionQuery();
    }

    /**
     * Wants those of an endpoint.
     *
     * @param endpoint the endpoint; null is any
     * @return this query
     */
    public SessionQuery endpoint(@Nullable Endpoint endpoint) {
        params.text("endpoint", endpoint == null ? null : endpoint.value());
        return this;
    }

    /**
     * Wants those of a partition.
     *
     * @param partition the partition, which may be the anonymous one; null is any
     * @return this query
     */
    public SessionQuery partition(@Nullable Partition partition) {
        params.set("authorizationPartition", Partition.filter(partition));
        return this;
    }

    /**
     * Says how many come at once.
     *
     * @param size 1 to 1000
     * @return this query
     */
    public SessionQuery pageSize(int size) {
        params.number("pageSize", size);
        return this;
    }

    /**
     * Begins at a page.
     *
     * @param token what the page before gave, for the same query; null is the first page
     * @return this query
     */
    public SessionQuery pageToken(@Nullable String token) {
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

    /** Writes the query for the page with this token. */
    String toJson(String pageToken) {
        return params.copy().text("pageToken", pageToken).toString();
    }
}
