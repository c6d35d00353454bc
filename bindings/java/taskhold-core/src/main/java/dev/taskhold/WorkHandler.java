package dev.taskhold;

import org.jspecify.annotations.Nullable;

/** What a {@link Worker} does with each task. */
@FunctionalInterface
public interface WorkHandler {
    /**
     * Does the work of one task. The thread is interrupted when a client asks for cancelation, when the lease is lost, and when
     * the worker is stopped and its patience is over.
     *
     * @param work the task; it is closed when this returns
     * @return the result, a JSON object, with which the task is completed; null when the handler has ended, parked or given back
     *     the work itself; null without that is an attempt that did not succeed
     * @throws Exception the attempt did not succeed: the task is cancelled if a client has asked for that, given back without
     *     using up the attempt if the worker is being stopped, else given back to be tried again or to fail
     */
    @Nullable String handle(Work work) throws Exception;
}
