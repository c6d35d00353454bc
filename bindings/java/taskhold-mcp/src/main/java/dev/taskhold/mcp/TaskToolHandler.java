package dev.taskhold.mcp;

import io.modelcontextprotocol.modern.McpException;
import io.modelcontextprotocol.modern.McpSchema;
import java.util.Map;

/** What a tool does that may run as a task. It may block: it has a thread of {@link TaskholdTasks.Builder#executor}. */
@FunctionalInterface
public interface TaskToolHandler {
    /**
     * Runs the tool once. In a task the thread is interrupted when a client asks for cancelation, when the task is over without
     * it, and when the server stops.
     *
     * @param context what the tool has of its client
     * @param arguments the arguments, which fit the input schema
     * @return the result; one whose {@code isError} is true completes the task, too. A result that asks for input is asked through
     *     the task, and the handler is called again with the answers
     * @throws McpException the JSON-RPC error with which the task fails
     * @throws Exception the task is cancelled if a client asked for that; else it fails with "Internal error", and what was thrown
     *     is logged
     */
    McpSchema.CallToolOutcome call(TaskContext context, Map<String, Object> arguments) throws Exception;
}
