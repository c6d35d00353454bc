package dev.taskhold.mcp;

import dev.taskhold.InputResponse;
import dev.taskhold.TaskId;
import dev.taskhold.TaskholdException;
import io.modelcontextprotocol.modern.McpException;
import io.modelcontextprotocol.modern.McpSchema;
import io.modelcontextprotocol.modern.server.McpRequestContext;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/** What a tool has of its client while it runs. Any thread may use it until the tool has returned. */
public final class TaskContext {
    private final Run run;
    private final Map<String, Object> inputResponses;
    private final @Nullable String requestState;

    TaskContext(Run run, Map<String, Object> inputResponses, @Nullable String requestState) {
        this.run = run;
        this.inputResponses = inputResponses;
        this.requestState = requestState;
    }

    /**
     * Gives the request that called the tool.
     *
     * @return the SDK's context of it
     */
    public McpRequestContext request() {
        return run.request();
    }

    /**
     * Gives the id of the task that the call has become.
     *
     * @return the id; empty while the tool runs in the foreground
     */
    public Optional<TaskId> taskId() {
        return run.taskId();
    }

    /**
     * Tells whether the tool is to stop: a client asked for it, the task is over without it, or the server stops.
     *
     * @return whether it is
     */
    public boolean isStopped() {
        return run.isStopped();
    }

    /**
     * Leaves a tool that is to stop.
     *
     * @throws CancellationException if {@link #isStopped}
     */
    public void throwIfStopped() {
        if (run.isStopped()) {
            throw new CancellationException("the tool is to stop");
        }
    }

    /**
     * Tells the client how the work goes: the task's status message. In the foreground it is a progress notification, if the
     * client asked for those. Open questions stay.
     *
     * @param message the message for people
     */
    public void progress(String message) {
        run.progress(null, null, message);
    }

    /**
     * Tells the client how far the work is, as {@link #progress(String)} does.
     *
     * @param progress how far it is
     * @param total how far it will go; null if that is not known
     * @param message the message for people; null makes one of the numbers
     */
    public void progress(double progress, @Nullable Double total, @Nullable String message) {
        run.progress(progress, total, message);
    }

    /**
     * Asks the user with a form, through the task, and waits for the answer as long as it takes.
     *
     * @param form the form
     * @return the answer
     * @throws InterruptedException if the tool is to stop
     * @throws CancellationException if the tool is to stop
     * @throws McpException -32021: the client did not declare that it can answer, or does not know tasks; to ask such a client
     *     return an {@code InputRequiredResult}
     * @throws TaskholdException the storage failed, or the question is beyond a limit
     */
    public InputResponse elicit(McpSchema.ElicitFormRequest form) throws InterruptedException {
        return ask(List.of(McpSchema.InputRequest.elicit(form))).get(0);
    }

    /**
     * Asks several things at once, through the task, and waits for all answers as long as it takes. Calls of several threads come
     * one after another.
     *
     * @param requests what is asked, at least one request
     * @return the answers in the order of the requests
     * @throws InterruptedException if the tool is to stop
     * @throws CancellationException if the tool is to stop
     * @throws McpException as {@link #elicit}
     * @throws TaskholdException as {@link #elicit}
     */
    public List<InputResponse> ask(List<? extends McpSchema.InputRequest> requests) throws InterruptedException {
        return run.ask(requests);
    }

    /**
     * Gives what the client answered to an {@code InputRequiredResult} that this tool returned.
     *
     * @return the answers by key, each a JSON object; none in the first call
     */
    public Map<String, Object> inputResponses() {
        return inputResponses;
    }

    /**
     * Gives the state that stood in that {@code InputRequiredResult}.
     *
     * @return the state; empty if there was none
     */
    public Optional<String> requestState() {
        return Optional.ofNullable(requestState);
    }

    /**
     * Makes the call a task now: the client gets its handle, and the tool goes on in the background. Does nothing where the tool
     * already is a task, or runs for a client that does not know tasks.
     *
     * @throws McpException the task could not be created
     */
    public void detach() {
        run.detach();
    }
}
