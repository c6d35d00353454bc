import dev.taskhold.InputResponse;
import dev.taskhold.mcp.TaskSupport;
import dev.taskhold.mcp.TaskholdTasks;
import io.modelcontextprotocol.modern.McpException;
import io.modelcontextprotocol.modern.McpSchema;
import io.modelcontextprotocol.modern.server.McpAsyncResponse;
import io.modelcontextprotocol.modern.server.feature.McpAsyncTool;
import java.util.List;
import java.util.Map;
import reactor.core.publisher.Mono;

/** The tools of the example server. */
public final class Tools {
    private static final Map<String, Object> NAME = schema("name", "string");
    private static final Map<String, Object> CONFIRMATION = schema("confirm", "boolean");

    private Tools() {}

    /** Adds the tools that may run as tasks. */
    public static void addTo(TaskholdTasks tasks) {
        tasks.tool("slow_compute")
                .description("Compute for a while, and tell how far it is.")
                .inputSchema(Map.of(
                        "type", "object",
                        "properties", Map.of("seconds", Map.of("type", "number"), "label", Map.of("type", "string"))))
                .handler((context, arguments) -> {
                    double seconds = arguments.get("seconds") instanceof Number given ? given.doubleValue() : 1;
                    String label = arguments.get("label") instanceof String given ? given : "work";
                    int steps = (int) Math.max(1, Math.round(seconds));
                    for (int step = 1; step <= steps; step++) {
                        context.progress(label + ": step " + step + " of " + steps);
                        Thread.sleep(Math.round(seconds * 1000 / steps));
                    }
                    return text(label + " took " + seconds + " seconds");
                });

        // It fails after a second: the task completes, with a result that is an error.
        tasks.tool("failing_job").taskSupport(TaskSupport.REQUIRED).handler((context, arguments) -> {
            Thread.sleep(1000);
            McpSchema.Content said = McpSchema.TextContent.builder("the job did not succeed").build();
            return McpSchema.CallToolResult.builder().addContent(said).isError(true).build();
        });

        // It ends with a JSON-RPC error: the task fails.
        tasks.tool("protocol_error_job").handler((context, arguments) -> {
            Thread.sleep(100);
            throw new McpException(-32603, "the job broke the protocol");
        });

        // It asks before deleting a file; nothing is deleted, this is an example.
        tasks.tool("confirm_delete")
                .taskSupport(TaskSupport.REQUIRED)
                .inputSchema(schema("filename", "string"))
                .handler((context, arguments) -> {
                    String filename = (String) arguments.get("filename");
                    InputResponse answer = context.elicit(form("Delete " + filename + "?", CONFIRMATION));
                    boolean deleted = answer.isAccepted() && answer.field("confirm").filter("true"::equals).isPresent();
                    return text((deleted ? "Deleted " : "Kept ") + filename);
                });

        // It asks two questions at once.
        tasks.tool("multi_input").taskSupport(TaskSupport.REQUIRED).handler((context, arguments) -> {
            List<InputResponse> answers = context.ask(List.of(
                    McpSchema.InputRequest.elicit(form("What is your name?", NAME)),
                    McpSchema.InputRequest.elicit(form("Shall I go on?", CONFIRMATION))));
            return text("name: " + answers.get(0).isAccepted() + ", confirmation: " + answers.get(1).isAccepted());
        });

        // It asks for a name in the foreground, then goes on as a task.
        tasks.tool("test_tool_with_task")
                .taskSupport(TaskSupport.REQUIRED)
                .startsInForeground()
                .handler((context, arguments) -> {
                    if (!(context.inputResponses().get("user_name") instanceof Map<?, ?> answer)) {
                        McpSchema.ElicitFormRequest question = form("What is your name?", NAME);
                        return McpSchema.InputRequiredResult.builder().elicit("user_name", question).build();
                    }
                    context.detach();
                    Thread.sleep(200);
                    Object name = answer.get("content") instanceof Map<?, ?> content ? content.get("name") : null;
                    return text("Hello, " + name + "!");
                });
    }

    /** A tool that is never a task. */
    public static McpAsyncTool greet() {
        McpSchema.Tool tool = McpSchema.Tool.builder("greet", NAME).description("Greet at once.").build();
        return McpAsyncTool.of(tool, (context, call) ->
                Mono.just(McpAsyncResponse.result(text("Hello, " + call.arguments().get("name") + "!"))));
    }

    /** A result that is a text. */
    public static McpSchema.CallToolResult text(String said) {
        return McpSchema.CallToolResult.builder().addContent(McpSchema.TextContent.builder(said).build()).build();
    }

    /** A question in a form with one field. */
    private static McpSchema.ElicitFormRequest form(String message, Map<String, Object> schema) {
        return McpSchema.ElicitFormRequest.builder(message, schema).build();
    }

    /** An object with one member that has to be there. */
    private static Map<String, Object> schema(String name, String type) {
        return Map.of("type", "object", "properties", Map.of(name, Map.of("type", type)), "required", List.of(name));
    }
}
