package dev.taskhold.mcp;

import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.schema.JsonSchemaValidator;
import io.modelcontextprotocol.modern.McpSchema;
import java.util.List;

/** A tool that may run as a task. */
record ToolEntry(
        McpSchema.Tool definition, TaskSupport support, boolean startsInForeground, TaskToolHandler handler) {
    /** Does with a result what the SDK does with that of its own tools, which it sees of no task. */
    McpSchema.CallToolOutcome checked(
            McpSchema.CallToolOutcome given, JsonSchemaValidator validator, McpJsonMapper mapper) {
        if (!(given instanceof McpSchema.CallToolResult result) || Boolean.TRUE.equals(result.isError())) {
            return given;
        }
        Object content = result.structuredContent();
        if (definition.outputSchema() != null
                && (content == null || !validator.validate(definition.outputSchema(), content).valid())) {
            throw new IllegalStateException("the structured content does not fit the output schema");
        }
        if (content == null || !result.content().isEmpty()) {
            return result;
        }
        McpSchema.Content text = McpSchema.TextContent.builder(Wire.write(mapper, content)).build();
        return new McpSchema.CallToolResult(List.of(text), content, result.isError(), result.resultType(), result.meta());
    }
}
