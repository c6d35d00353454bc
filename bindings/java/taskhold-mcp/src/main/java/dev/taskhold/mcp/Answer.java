package dev.taskhold.mcp;

import com.fasterxml.jackson.annotation.JsonAnyGetter;
import com.fasterxml.jackson.annotation.JsonIgnore;
import io.modelcontextprotocol.modern.McpSchema;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A result that the library wrote, which the SDK has no class for. */
final class Answer implements McpSchema.CallToolOutcome {
    private final Map<String, Object> members;

    Answer(Map<String, Object> members) {
        this.members = members;
    }

    /** Gives all members; the annotations are read by both generations of Jackson. */
    @JsonAnyGetter
    public Map<String, Object> members() {
        return members;
    }

    @Override
    @JsonIgnore
    public String resultType() {
        return (String) members.getOrDefault("resultType", "complete");
    }

    @Override
    @JsonIgnore
    public @Nullable Map<String, Object> meta() {
        return null;
    }
}
