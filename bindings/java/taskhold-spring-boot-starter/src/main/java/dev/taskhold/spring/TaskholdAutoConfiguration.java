package dev.taskhold.spring;

import dev.taskhold.A2aTasks;
import dev.taskhold.ManualClock;
import dev.taskhold.SessionStore;
import dev.taskhold.Sessions;
import dev.taskhold.StateProvider;
import dev.taskhold.Store;
import dev.taskhold.TaskManager;
import dev.taskhold.Tasks;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/**
 * A store, and over it a manager of MCP tasks, a store of MCP sessions and a provider of A2A tasks, with their calls as texts and as
 * objects. A bean of the application takes the place of the one here. What is opened over the store is closed before it.
 */
@AutoConfiguration
@EnableConfigurationProperties(TaskholdProperties.class)
public class TaskholdAutoConfiguration {

    /** Makes the configuration. */
    public TaskholdAutoConfiguration() {}

    /**
     * Opens the store.
     *
     * @param properties where it is, and its options
     * @param clock the store's time, for tests, if the application has one
     * @return the store
     */
    @Bean
    @ConditionalOnMissingBean
    public Store taskholdStore(TaskholdProperties properties, ObjectProvider<ManualClock> clock) {
        return properties
                .store()
                .applyTo(Store.builder())
                .url(properties.url())
                .clock(clock.getIfAvailable())
                .open();
    }

    /**
     * Opens the manager of MCP tasks.
     *
     * @param properties its options
     * @param store where the tasks live
     * @return the manager
     */
    @Bean
    @ConditionalOnMissingBean
    public TaskManager taskholdTaskManager(TaskholdProperties properties, Store store) {
        return properties.tasks().applyTo(TaskManager.builder()).store(store).open();
    }

    /**
     * Opens the store of MCP sessions.
     *
     * @param properties its options
     * @param store where the sessions live
     * @return the store
     */
    @Bean
    @ConditionalOnMissingBean
    public SessionStore taskholdSessionStore(TaskholdProperties properties, Store store) {
        return properties.sessions().applyTo(SessionStore.builder()).store(store).open();
    }

    /**
     * Opens the provider of A2A tasks.
     *
     * @param properties its options
     * @param store where the tasks live
     * @return the provider
     */
    @Bean
    @ConditionalOnMissingBean
    public StateProvider taskholdStateProvider(TaskholdProperties properties, Store store) {
        return properties.a2a().applyTo(StateProvider.builder()).store(store).open();
    }

    // These close what they stand over, which is a bean of its own.

    /**
     * Gives MCP tasks as objects.
     *
     * @param manager their manager
     * @return the tasks
     */
    @Bean(destroyMethod = "")
    @ConditionalOnMissingBean
    public Tasks taskholdTasks(TaskManager manager) {
        return Tasks.over(manager);
    }

    /**
     * Gives MCP sessions as objects.
     *
     * @param sessions their store
     * @return the sessions
     */
    @Bean(destroyMethod = "")
    @ConditionalOnMissingBean
    public Sessions taskholdSessions(SessionStore sessions) {
        return Sessions.over(sessions);
    }

    /**
     * Gives A2A tasks as objects.
     *
     * @param provider their provider
     * @return the tasks
     */
    @Bean(destroyMethod = "")
    @ConditionalOnMissingBean
    public A2aTasks taskholdA2aTasks(StateProvider provider) {
        return A2aTasks.over(provider);
    }
}
