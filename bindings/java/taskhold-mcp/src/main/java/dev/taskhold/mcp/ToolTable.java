package dev.taskhold.mcp;

import io.modelcontextprotocol.modern.server.McpRequestContext;
import io.modelcontextprotocol.modern.server.feature.McpAsyncTool;
import io.modelcontextprotocol.modern.server.feature.McpAsyncToolRepository;
import io.modelcontextprotocol.modern.server.feature.ToolsPage;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The tools of a server in the order in which they were added, for the SDK's feature of them. */
final class ToolTable implements McpAsyncToolRepository {
    /** Guarded by this. */
    private final Map<String, McpAsyncTool> tools = new LinkedHashMap<>();

    synchronized void add(McpAsyncTool tool) {
        if (tools.putIfAbsent(tool.definition().name(), tool) != null) {
            throw new IllegalArgumentException("there is a tool " + tool.definition().name());
        }
    }

    @Override
    public synchronized Mono<ToolsPage> list(McpRequestContext context, @Nullable String cursor) {
        return Mono.just(ToolsPage.of(tools.values().stream().map(McpAsyncTool::definition).toList()));
    }

    @Override
    public synchronized Mono<McpAsyncTool> find(McpRequestContext context, String name) {
        return Mono.justOrEmpty(tools.get(name));
    }
}
