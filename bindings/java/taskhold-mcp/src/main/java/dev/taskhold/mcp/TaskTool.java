package dev.taskhold.mcp;

import io.modelcontextprotocol.modern.McpSchema;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A tool that may run as a task, while it is described: {@link #handler} adds it to its {@link TaskholdTasks}. */
public final class TaskTool {
    /** What a tool takes that says nothing: an object. */
    private static final Map<String, Object> ANYTHING = Map.of("type", "object");

    private final TaskholdTasks tasks;
    private final String name;
    private @Nullable String title;
    private @Nullable String description;
    private Map<String, Object> inputSchema = ANYTHING;
    private @Nullable Map<String, Object> outputSchema;
    private McpSchema.@Nullable ToolAnnotations annotations;
    private TaskSupport taskSupport = TaskSupport.OPTIONAL;
    private boolean startsInForeground;

    TaskTool(TaskholdTasks tasks, String name) {
        this.tasks = tasks;
        this.name = name;
    }

    /**
     * Gives the tool a name for people.
     *
     * @param text the name; null for none
     * @return this tool
     */
    public TaskTool title(@Nullable String text) {
        title = text;
        return this;
    }

    /**
     * Says what the tool does.
     *
     * @param text the description; null for none
     * @return this tool
     */
    public TaskTool description(@Nullable String text) {
        description = text;
        return this;
    }

    /**
     * Says what the tool takes; any object unless said. The SDK refuses arguments that do not fit.
     *
     * @param schema a JSON Schema of type object
     * @return this tool
     */
    public TaskTool inputSchema(Map<String, Object> schema) {
        inputSchema = Objects.requireNonNull(schema);
        return this;
    }

    /**
     * Says what the tool takes, as text.
     *
     * @param json a JSON Schema of type object
     * @return this tool
     * @throws java.io.UncheckedIOException if the text is no JSON object
     */
    public TaskTool inputSchema(String json) {
        return inputSchema(Wire.read(tasks.mapper(), json));
    }

    /**
     * Says what the structured content of a result is like. One that does not fit fails, as one of the SDK's own tools does.
     *
     * @param schema a JSON Schema; null for none
     * @return this tool
     */
    public TaskTool outputSchema(@Nullable Map<String, Object> schema) {
        outputSchema = schema;
        return this;
    }

    /**
     * Adds hints for clients.
     *
     * @param hints the hints; null for none
     * @return this tool
     */
    public TaskTool annotations(McpSchema.@Nullable ToolAnnotations hints) {
        annotations = hints;
        return this;
    }

    /**
     * Says whether the tool needs a client that knows tasks; {@link TaskSupport#OPTIONAL} unless said.
     *
     * @param support the choice
     * @return this tool
     */
    public TaskTool taskSupport(TaskSupport support) {
        taskSupport = Objects.requireNonNull(support);
        return this;
    }

    /**
     * Lets the tool begin in the foreground, where it may ask by returning an {@code InputRequiredResult}; it becomes a task when
     * it calls {@link TaskContext#detach}. Unless said, a call is a task before the tool runs.
     *
     * @return this tool
     */
    public TaskTool startsInForeground() {
        startsInForeground = true;
        return this;
    }

    /**
     * Says what the tool does, and adds it.
     *
     * @param handler runs it, any number of times at once
     * @return the tasks that the tool belongs to
     * @throws IllegalArgumentException if there is a tool of this name
     */
    public TaskholdTasks handler(TaskToolHandler handler) {
        McpSchema.Tool definition = McpSchema.Tool.builder(name, inputSchema)
                .title(title)
                .description(description)
                .outputSchema(outputSchema)
                .annotations(annotations)
                .build();
        return tasks.add(definition, taskSupport, startsInForeground, Objects.requireNonNull(handler));
    }
}
