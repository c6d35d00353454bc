package dev.taskhold.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.taskhold.Caller;
import dev.taskhold.Claim;
import dev.taskhold.StateProvider;
import dev.taskhold.Store;
import dev.taskhold.TaskCreation;
import dev.taskhold.Tasks;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.autoconfigure.metrics.MetricsAutoConfiguration;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.actuate.health.Status;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** The actuator shows the store's health and meters, where the application has it. */
class ActuatorTest {
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    TaskholdAutoConfiguration.class,
                    TaskholdHealthAutoConfiguration.class,
                    TaskholdMetricsAutoConfiguration.class,
                    MetricsAutoConfiguration.class));

    /** Stands until it is moved. */
    private static final class Standing implements Clock {
        private final AtomicLong nanos = new AtomicLong();

        @Override
        public long wallTime() {
            return TimeUnit.NANOSECONDS.toMillis(nanos.get());
        }

        @Override
        public long monotonicTime() {
            return nanos.get();
        }
    }

    @Test
    void aStoreThatAnswersIsUp() {
        runner.run(context -> {
            HealthIndicator health = context.getBean("taskholdHealthIndicator", HealthIndicator.class);
            assertThat(health.health().getStatus()).isEqualTo(Status.UP);
            context.getBean(StateProvider.class).close();
            assertThat(health.health().getStatus()).isEqualTo(Status.DOWN);
        });
    }

    @Test
    void healthCanBeSwitchedOff() {
        runner.withPropertyValues("management.health.taskhold.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean(HealthIndicator.class));
    }

    @Test
    void withoutTheActuatorAndMicrometerThereIsNeither() {
        runner.withClassLoader(new FilteredClassLoader(HealthIndicator.class, MeterBinder.class))
                .run(context -> assertThat(context)
                        .hasSingleBean(Store.class)
                        .doesNotHaveBean("taskholdHealthIndicator")
                        .doesNotHaveBean("taskholdMetrics"));
    }

    @Test
    void metersShowWhatIsKept() {
        Standing clock = new Standing();
        runner.withBean(MeterRegistry.class, () -> new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock))
                .withPropertyValues("taskhold.metrics.queues=orders,other", "taskhold.metrics.refresh=5s")
                .run(context -> {
                    MeterRegistry registry = context.getBean(MeterRegistry.class);
                    assertThat(tasks(registry, "working")).isZero();

                    Tasks tasks = context.getBean(Tasks.class);
                    tasks.create(TaskCreation.of(Caller.at("/mcp"), "{}"));
                    tasks.create(TaskCreation.of(Caller.at("/mcp"), "{}").queue("orders"));
                    tasks.create(TaskCreation.of(Caller.at("/mcp"), "{}").queue("orders"));
                    context.getBean(StateProvider.class)
                            .saveTask(null, "{\"id\":\"t\",\"status\":{\"state\":\"working\"}}", null);
                    tasks.claim(Claim.from("orders"), Duration.ZERO)
                            .orElseThrow()
                            .complete("{}");
                    assertThat(tasks(registry, "working")).as("until it is refreshed").isZero();

                    clock.nanos.addAndGet(TimeUnit.SECONDS.toNanos(5));
                    assertThat(tasks(registry, "working")).isEqualTo(2);
                    assertThat(tasks(registry, "completed")).isEqualTo(1);
                    assertThat(registry.get("taskhold.sessions").gauge().value()).isZero();
                    assertThat(registry.get("taskhold.a2a.tasks").gauge().value()).isEqualTo(1);
                    assertThat(registry.get("taskhold.bytes").gauge().value()).isPositive();
                    assertThat(queued(registry, "orders", "ready")).isEqualTo(1);
                    assertThat(queued(registry, "orders", "leased")).isZero();
                    assertThat(queued(registry, "other", "ready")).isZero();
                    assertThat(registry.get("taskhold.queue.oldest.ready")
                                    .tag("queue", "orders")
                                    .timeGauge()
                                    .value(TimeUnit.MILLISECONDS))
                            .isNotNegative();
                    assertThat(registry.get("taskhold.claims").functionCounter().count()).isEqualTo(1);

                    context.getBean(Store.class).close();
                    clock.nanos.addAndGet(TimeUnit.SECONDS.toNanos(5));
                    assertThat(tasks(registry, "working")).isNaN();
                    assertThat(queued(registry, "orders", "ready")).isNaN();
                    assertThat(registry.get("taskhold.claims").functionCounter().count()).isEqualTo(1);
                });
    }

    private static double tasks(MeterRegistry registry, String status) {
        return registry.get("taskhold.tasks").tag("status", status).gauge().value();
    }

    private static double queued(MeterRegistry registry, String queue, String state) {
        return registry.get("taskhold.queue.tasks")
                .tag("queue", queue)
                .tag("state", state)
                .gauge()
                .value();
    }
}
