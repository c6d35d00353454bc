package dev.taskhold.mcp;

import io.modelcontextprotocol.modern.McpSchema;
import java.util.AbstractMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A result that the library wrote, which the SDK has no class for. It is a map, so that every JSON library writes it without a look
 * into this module.
 */
final class Answer extends AbstractMap<String, Object> implements McpSchema.CallToolOutcome {
    private final Map<String, Object> members;

    Answer(Map<String, Object> members) {
        this.members = members;
    }

    @Override
    public Set<Map.Entry<String, Object>> entrySet() {
        return members.entrySet();
    }

    @Override
    public String resultType() {
        return (String) members.getOrDefault("resultType", "complete");
    }

    /** The SDK reads what stands there from the members. */
    @Override
    public @Nullable Map<String, Object> meta() {
        return null;
    }
}
