package dev.taskhold;

import static dev.taskhold.Text.utf8;

import java.lang.ref.Reference;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Where records live. Managers, session stores and state providers that are opened over one store under the same name
 * share their records: they behave like nodes over one database. Any thread may use it.
 */
public final class Store implements AutoCloseable {
    final Handle handle;

    private Store(Handle handle) {
        this.handle = handle;
    }

    /**
     * Opens a store in this process's memory. It ends with its last handle and everything that was opened over it.
     *
     * @return the store
     */
    public static Store inMemory() {
        return open(null, null, null);
    }

    /**
     * Begins the options of a store.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Opens a store.
     *
     * @param url where the records live: null or {@code "memory:"}, and {@code "sqlite:PATH"} or {@code "postgresql://..."}
     *     where {@link Taskhold#describe} names the backend
     * @param options a JSON object of the backend's options, or null
     * @param clock the store's time, for tests, or null for the system's
     * @return the store
     * @throws TaskholdException.InvalidArgument {@code invalid_store_url}, or malformed {@code options}
     * @throws TaskholdException.Unsupported {@code unsupported_backend}, {@code schema_too_new},
     *     {@code unsupported_file_system}
     * @throws TaskholdException.Unavailable {@code storage_unavailable}
     * @throws TaskholdException.Corrupt {@code corrupt_file}
     */
    public static Store open(@Nullable String url, @Nullable String options, @Nullable ManualClock clock) {
        byte[] urlText = utf8(url);
        byte[] optionsText = utf8(options);
        try {
            return new Store(Handle.open(
                    (out, error) -> Library.ABI.taskhold_store_open(
                            urlText, optionsText, clock == null ? 0 : clock.handle.value(), out, error),
                    Library.ABI::taskhold_store_close));
        } finally {
            Reference.reachabilityFence(clock);
        }
    }

    /**
     * Tells how the store is filled, for operators. It may visit every record: not for a hot path.
     *
     * @return a JSON object: {@code backend}, {@code tasks} by status, {@code sessions}, {@code a2aTasks}, {@code bytes} and
     *     more; members may be added
     */
    public String stats() {
        return handle.someText(Library.ABI::taskhold_store_stats);
    }

    /**
     * Looks through the store, for operators: whether its storage is sound and which records cannot be read. Nothing is
     * repaired. It reads every record: not for a hot path.
     *
     * @return a JSON object: {@code ok}, {@code problems}, {@code unreadable} and more; members may be added
     */
    public String check() {
        return handle.someText(Library.ABI::taskhold_store_check);
    }

    /**
     * Copies all records to an empty store, which may be of another backend, and compares the two. Ids, times, revisions,
     * leases, operation ids and payloads stay the same; pins are left behind. Nothing else may write to either store
     * meanwhile. After a failure the copy is to be thrown away.
     *
     * @param to the empty store
     * @return a JSON object of how many there are: {@code tasks}, {@code sessions}, {@code a2aTasks}, {@code events}
     * @throws TaskholdException.InvalidArgument {@code to} is this store itself
     * @throws TaskholdException.InvalidState {@code store_not_empty}
     * @throws TaskholdException.Conflict {@code store_changed}: somebody wrote meanwhile
     * @throws TaskholdException.Corrupt a record cannot be read; {@link #check} names it
     * @throws TaskholdException.Unavailable {@code storage_unavailable}, {@code outcome_unknown}
     */
    public String copyTo(Store to) {
        try {
            return handle.someText((self, out, error) ->
                    Library.ABI.taskhold_store_copy(self, to.handle.value(), null, out, error));
        } finally {
            Reference.reachabilityFence(to);
        }
    }

    /** Closes the store. What was opened over it goes on working. */
    @Override
    public void close() {
        handle.close();
    }

    /** Options of a store. */
    public static final class Builder {
        private final JsonWriter options = new JsonWriter();
        private @Nullable String url;
        private @Nullable ManualClock clock;

        private Builder() {}

        /**
         * Says where the records live; memory unless said.
         *
         * @param url {@code "memory:"}, {@code "sqlite:PATH"} or {@code "postgresql://..."}; null is memory
         * @return this builder
         */
        public Builder url(@Nullable String url) {
            this.url = url;
            return this;
        }

        /**
         * Gives the store a clock of its own, for tests.
         *
         * @param clock the clock; null is the system's
         * @return this builder
         */
        public Builder clock(@Nullable ManualClock clock) {
            this.clock = clock;
            return this;
        }

        /**
         * SQLite: says what a commit waits for, {@code "full"} (the disk) unless said.
         *
         * @param durability {@code "full"} or {@code "normal"}; null is the default
         * @return this builder
         */
        public Builder durability(@Nullable String durability) {
            options.text("durability", durability);
            return this;
        }

        /**
         * SQLite: says how long a call waits for another process that writes, 5 seconds unless said.
         *
         * @param timeout the time, in whole milliseconds
         * @return this builder
         */
        public Builder busyTimeout(Duration timeout) {
            options.number("busyTimeoutMs", Background.millis(timeout));
            return this;
        }

        /**
         * PostgreSQL: says how many connections calls may use, 8 unless said.
         *
         * @param connections how many, at most
         * @return this builder
         */
        public Builder poolSize(int connections) {
            options.number("poolSize", (long) connections);
            return this;
        }

        /**
         * PostgreSQL: says how long a call waits for one of these connections, 5 seconds unless said.
         *
         * @param timeout the time, in whole milliseconds
         * @return this builder
         */
        public Builder acquireTimeout(Duration timeout) {
            options.number("acquireTimeoutMs", Background.millis(timeout));
            return this;
        }

        /**
         * PostgreSQL: says how long a statement may take, 5 seconds unless said.
         *
         * @param timeout the time, in whole milliseconds
         * @return this builder
         */
        public Builder statementTimeout(Duration timeout) {
            options.number("statementTimeoutMs", Background.millis(timeout));
            return this;
        }

        /**
         * PostgreSQL: says in which schema the tables are, {@code "public"} unless said.
         *
         * @param schema its name; null is the default
         * @return this builder
         */
        public Builder schema(@Nullable String schema) {
            options.text("schema", schema);
            return this;
        }

        /**
         * PostgreSQL: says whether there is a pooler in transaction mode before the server, which there is not unless said.
         *
         * @param safe whether there is
         * @return this builder
         */
        public Builder poolerSafe(boolean safe) {
            options.bool("poolerSafe", safe);
            return this;
        }

        /**
         * PostgreSQL: says how often to look for what others changed where nothing tells of it, every 100 milliseconds
         * unless said.
         *
         * @param period the time between, in whole milliseconds
         * @return this builder
         */
        public Builder eventPoll(Duration period) {
            options.number("eventPollMs", Background.millis(period));
            return this;
        }

        /**
         * Sets any option of the backend.
         *
         * @param name its name
         * @param json its value, JSON; null is the default
         * @return this builder
         * @throws TaskholdException.InvalidArgument {@code invalid_json}
         */
        public Builder option(String name, @Nullable String json) {
            options.json(name, json);
            return this;
        }

        /**
         * Opens the store.
         *
         * @return the store
         * @see Store#open
         */
        public Store open() {
            return Store.open(url, options.toString(), clock);
        }
    }
}
