package dev.taskhold.jackson;

import dev.taskhold.Work;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link dev.taskhold.Worker} does with each task, as objects; see {@link dev.taskhold.WorkHandler}.
 *
 * @param <I> what the tasks' work is
 */
@FunctionalInterface
public interface MappedHandler<I> {
    /**
     * Does the work of one task.
     *
     * @param input what is to be done
     * @param work the task; it is closed when this returns
     * @return the result, which is to be a JSON object; null when the handler has ended, parked or given back the work itself
     * @throws Exception the attempt did not succeed
     */
    @Nullable Object handle(I input, Work work) throws Exception;
}
