package dev.taskhold.spring;

import dev.taskhold.Store;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/** The meters of the store, for applications that have Micrometer. */
@AutoConfiguration(after = TaskholdAutoConfiguration.class)
@ConditionalOnClass(MeterBinder.class)
public class TaskholdMetricsAutoConfiguration {

    /** Makes the configuration. */
    public TaskholdMetricsAutoConfiguration() {}

    /**
     * Makes the meters.
     *
     * @param store what they show
     * @param properties which queues have meters, and how often the store is asked
     * @return the meters
     */
    @Bean
    @ConditionalOnSingleCandidate(Store.class)
    @ConditionalOnMissingBean
    public TaskholdMetrics taskholdMetrics(Store store, TaskholdProperties properties) {
        String name = properties.tasks().name();
        return new TaskholdMetrics(store, name == null ? "default" : name, properties.metrics());
    }
}
