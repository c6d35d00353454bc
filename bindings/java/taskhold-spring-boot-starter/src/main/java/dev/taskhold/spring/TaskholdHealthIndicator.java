package dev.taskhold.spring;

import dev.taskhold.StateProvider;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;

/**
 * Tells whether the store answers, by one reading of one record. A store that does not is down, with the exception, whose text holds
 * nothing of what is stored.
 */
public class TaskholdHealthIndicator extends AbstractHealthIndicator {
    private final StateProvider provider;

    /**
     * Makes the indicator of a store.
     *
     * @param provider one that is opened over it
     */
    public TaskholdHealthIndicator(StateProvider provider) {
        super("The taskhold store does not answer");
        this.provider = provider;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        // Whether there is a task of this name does not matter.
        provider.taskLiveness("health");
        builder.up();
    }
}
