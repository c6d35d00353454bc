package dev.taskhold.spring;

import dev.taskhold.StateProvider;
import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/** The health of the store, for applications that have the actuator; off with {@code management.health.taskhold.enabled=false}. */
@AutoConfiguration(after = TaskholdAutoConfiguration.class)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnEnabledHealthIndicator("taskhold")
public class TaskholdHealthAutoConfiguration {

    /** Makes the configuration. */
    public TaskholdHealthAutoConfiguration() {}

    /**
     * Makes the indicator.
     *
     * @param provider what it asks
     * @return the indicator
     */
    @Bean
    @ConditionalOnSingleCandidate(StateProvider.class)
    @ConditionalOnMissingBean(name = "taskholdHealthIndicator")
    public TaskholdHealthIndicator taskholdHealthIndicator(StateProvider provider) {
        return new TaskholdHealthIndicator(provider);
    }
}
