package dev.taskhold.spring;

import dev.taskhold.Json;
import dev.taskhold.Store;
import dev.taskhold.TaskStatus;
import dev.taskhold.TaskholdException;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Meters of a store, out of {@link Store#stats}:
 *
 * <ul>
 *   <li>{@code taskhold.tasks}, by {@code status}; {@code taskhold.sessions}; {@code taskhold.a2a.tasks}: how many there are
 *   <li>{@code taskhold.bytes}: how much they take
 *   <li>{@code taskhold.queue.tasks}, by {@code queue} and {@code state} (scheduled, ready, leased, parked), and
 *       {@code taskhold.queue.oldest.ready}: how long the task that has been ready the longest has been waiting; for the
 *       queues that are named
 *   <li>{@code taskhold.claims}, {@code taskhold.leases.lapsed}, {@code taskhold.expired.unfinished}: counters
 * </ul>
 *
 * A store that does not answer has no gauges ({@code NaN}), and its counters stay where they were.
 */
public class TaskholdMetrics implements MeterBinder {
    private static final System.Logger LOG = System.getLogger("dev.taskhold");
    private static final List<String> STATES = List.of("scheduled", "ready", "leased", "parked");

    private final Store store;
    private final String manager;
    private final long refreshNanos;
    private final List<String> queues;
    private final Map<String, Double> counted = new ConcurrentHashMap<>();

    private boolean asked;
    private long askedAt;
    private @Nullable String stats;

    /**
     * Makes the meters of a store.
     *
     * @param store the store
     * @param manager the name of the manager whose queues are measured
     * @param options which queues have meters, and how often the store is asked
     */
    public TaskholdMetrics(Store store, String manager, TaskholdProperties.MetricsOptions options) {
        this.store = store;
        this.manager = manager;
        this.refreshNanos = options.refresh().toNanos();
        this.queues = options.queues();
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        Clock clock = registry.config().clock();
        for (TaskStatus status : TaskStatus.values()) {
            if (status == TaskStatus.UNKNOWN) {
                continue;
            }
            String name = status.name().toLowerCase(Locale.ROOT);
            Gauge.builder("taskhold.tasks", this, self -> self.number(clock, "/tasks/" + name))
                    .tag("status", name)
                    .description("MCP tasks that are kept")
                    .register(registry);
        }
        gauge(registry, "taskhold.sessions", "/sessions", "MCP sessions that are kept");
        gauge(registry, "taskhold.a2a.tasks", "/a2aTasks", "A2A tasks that are kept");
        Gauge.builder("taskhold.bytes", this, self -> self.number(clock, "/bytes"))
                .baseUnit("bytes")
                .description("What the records take")
                .register(registry);
        counter(registry, "taskhold.claims", "/claims", "Tasks that workers claimed");
        counter(registry, "taskhold.leases.lapsed", "/leasesLapsed", "Leases that ended without their worker's word");
        counter(registry, "taskhold.expired.unfinished", "/expiredUnfinished", "Tasks whose time ended before their work did");
        for (String queue : queues) {
            for (String state : STATES) {
                Gauge.builder("taskhold.queue.tasks", this, self -> self.ofQueue(clock, queue, state))
                        .tag("queue", queue)
                        .tag("state", state)
                        .description("Queued tasks")
                        .register(registry);
            }
            TimeGauge.builder(
                            "taskhold.queue.oldest.ready",
                            this,
                            TimeUnit.MILLISECONDS,
                            self -> self.ofQueue(clock, queue, "oldestReadyMs"))
                    .tag("queue", queue)
                    .description("How long a task has been ready at most")
                    .register(registry);
        }
    }

    private void gauge(MeterRegistry registry, String name, String pointer, String description) {
        Clock clock = registry.config().clock();
        Gauge.builder(name, this, self -> self.number(clock, pointer))
                .description(description)
                .register(registry);
    }

    private void counter(MeterRegistry registry, String name, String pointer, String description) {
        Clock clock = registry.config().clock();
        FunctionCounter.builder(name, this, self -> self.count(clock, pointer))
                .description(description)
                .register(registry);
    }

    private double number(Clock clock, String pointer) {
        String known = stats(clock);
        return known == null ? Double.NaN : number(known, pointer);
    }

    private double count(Clock clock, String pointer) {
        double now = number(clock, pointer);
        return Double.isNaN(now) ? counted.getOrDefault(pointer, 0.0) : counted.merge(pointer, now, Math::max);
    }

    /** A queue without any task is not among the statistics. */
    private double ofQueue(Clock clock, String queue, String member) {
        String known = stats(clock);
        if (known == null) {
            return Double.NaN;
        }
        for (int at = 0; ; at++) {
            String place = "/queues/" + at;
            Optional<String> name = Json.get(known, place + "/queue");
            if (name.isEmpty()) {
                return 0;
            }
            if (name.get().equals(queue) && Json.get(known, place + "/manager").orElseThrow().equals(manager)) {
                double found = number(known, place + "/" + member);
                return Double.isNaN(found) ? 0 : found;
            }
        }
    }

    private static double number(String json, String pointer) {
        return Json.get(json, pointer)
                .filter(text -> !text.equals("null"))
                .map(Double::valueOf)
                .orElse(Double.NaN);
    }

    private synchronized @Nullable String stats(Clock clock) {
        long now = clock.monotonicTime();
        if (!asked || now - askedAt >= refreshNanos) {
            asked = true;
            askedAt = now;
            try {
                stats = store.stats();
            } catch (TaskholdException refusal) {
                stats = null;
                LOG.log(System.Logger.Level.WARNING, "taskhold: the store cannot be measured", refusal);
            }
        }
        return stats;
    }
}
