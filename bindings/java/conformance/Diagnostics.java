import io.modelcontextprotocol.modern.McpException;
import io.modelcontextprotocol.modern.McpSchema;
import io.modelcontextprotocol.modern.server.McpAsyncResponse;
import io.modelcontextprotocol.modern.server.McpRequestContext;
import io.modelcontextprotocol.modern.server.feature.McpAsyncPrompt;
import io.modelcontextprotocol.modern.server.feature.McpAsyncPromptRepository;
import io.modelcontextprotocol.modern.server.feature.McpAsyncTool;
import io.modelcontextprotocol.modern.server.feature.McpChangeFeed;
import io.modelcontextprotocol.modern.server.feature.PromptsFeature;
import io.modelcontextprotocol.modern.server.feature.PromptsPage;
import io.modelcontextprotocol.modern.server.feature.ServerChange;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import reactor.core.publisher.Mono;

/**
 * The server of examples/java/server with the tools by which the suite's scenario server-stateless looks into a server. It takes
 * the same options.
 */
public final class Diagnostics {
    private Diagnostics() {}

    public static void main(String[] arguments) throws Exception {
        AtomicReference<McpChangeFeed> feed = new AtomicReference<>();
        List<McpAsyncTool> tools = List.of(
                Tools.greet(),
                tool("test_trigger_tool_change", () -> feed.get().broadcast(new ServerChange.ToolsListChanged())),
                tool("test_trigger_prompt_change", () -> feed.get().broadcast(new ServerChange.PromptsListChanged())),
                // It needs sampling from a client that does not declare it.
                tool("test_missing_capability", () -> {
                    Map<String, Object> needed = Map.of("requiredCapabilities", Map.of("sampling", Map.of()));
                    throw new McpException(-32021, "Missing required client capability", needed);
                }),
                // With no request of its own on the stream, and with nothing to log since the client did not ask for it.
                streaming("test_streaming_elicitation"),
                streaming("test_logging_tool"));
        Server.serve(List.of(arguments), tools, (server, changes) -> {
            feed.set(changes);
            server.feature(PromptsFeature.ofAsync(new NoPrompts()));
        });
    }

    private static McpSchema.Tool definition(String name) {
        return McpSchema.Tool.builder(name, Map.of("type", "object")).build();
    }

    private static McpAsyncTool tool(String name, Runnable action) {
        return McpAsyncTool.of(definition(name), (context, call) -> Mono.fromCallable(() -> {
            action.run();
            return McpAsyncResponse.result(Tools.text("done"));
        }));
    }

    private static McpAsyncTool streaming(String name) {
        return McpAsyncTool.of(definition(name), (context, call) ->
                Mono.just(McpAsyncResponse.streaming(notifier -> Mono.just(Tools.text("done")))));
    }

    private record NoPrompts() implements McpAsyncPromptRepository {
        @Override
        public Mono<PromptsPage> list(McpRequestContext context, String cursor) {
            return Mono.just(PromptsPage.of(List.of()));
        }

        @Override
        public Mono<McpAsyncPrompt> find(McpRequestContext context, String name) {
            return Mono.empty();
        }
    }
}
