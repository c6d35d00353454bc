package dev.taskhold.mcp;

import dev.taskhold.TaskManager;
import dev.taskhold.TaskRecord;
import dev.taskhold.TaskStatus;
import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.modern.JsonRpc;
import io.modelcontextprotocol.modern.McpSchema;
import io.modelcontextprotocol.modern.server.McpHeaders;
import io.modelcontextprotocol.modern.server.McpServer;
import io.modelcontextprotocol.modern.server.McpTransportResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;

/** A client that speaks to the SDK's server in one process, in JSON as it would on the wire. */
final class Peer {
    static final Duration LONG = Duration.ofMinutes(1);

    private static final Map<String, Object> TASKS = Map.of(Wire.EXTENSION, Map.of());

    private final McpServer server;
    private final Map<String, Object> capabilities = new HashMap<>();
    private final Map<String, Object> meta = new HashMap<>();
    private final Map<String, Object> context = new HashMap<>();

    /** A client that declares tasks and forms. */
    Peer(TaskholdTasks tasks) {
        server = McpServer.builder()
                .serverInfo(new McpSchema.Implementation("test", null, "1", null, null, null))
                .feature(tasks)
                .subscriptions(tasks.changes())
                .build();
        capabilities.put("extensions", TASKS);
        capabilities.put("elicitation", Map.of("form", Map.of()));
        context.put(McpHeaders.TRANSPORT_CONTEXT_KEY, McpHeaders.NOT_MIRRORED);
    }

    Peer declaring(Map<String, Object> declared) {
        capabilities.clear();
        capabilities.putAll(declared);
        return this;
    }

    Peer as(String user) {
        context.put(TaskholdTasks.PRINCIPAL, user);
        return this;
    }

    Peer withHeader(@Nullable String name) {
        McpHeaders.Builder headers = McpHeaders.builder();
        context.put(
                McpHeaders.TRANSPORT_CONTEXT_KEY,
                name == null ? headers.build() : headers.header("Mcp-Name", name).build());
        return this;
    }

    Peer withProgress(String token) {
        meta.put("progressToken", token);
        return this;
    }

    Map<String, Object> call(String tool, Map<String, Object> arguments) {
        return result("tools/call", Map.of("name", tool, "arguments", arguments));
    }

    /** Starts a task; gives its id. */
    String start(String tool) {
        Map<String, Object> task = call(tool, Map.of());
        if (!task.get("resultType").equals("task")) {
            throw new AssertionError(task);
        }
        return (String) task.get("taskId");
    }

    Map<String, Object> get(String taskId) {
        return result("tasks/get", Map.of("taskId", taskId));
    }

    Map<String, Object> result(String method, Map<String, Object> params) {
        Map<String, Object> response = send(method, params);
        if (!response.containsKey("result")) {
            throw new AssertionError(response);
        }
        return members(response.get("result"));
    }

    Map<String, Object> error(String method, Map<String, Object> params) {
        Map<String, Object> response = send(method, params);
        if (!response.containsKey("error")) {
            throw new AssertionError(response);
        }
        return members(response.get("error"));
    }

    /** Sends a request; gives the last message of the answer. */
    private Map<String, Object> send(String method, Map<String, Object> params) {
        List<Map<String, Object>> all = messages(method, params).collectList().block(LONG);
        return all.get(all.size() - 1);
    }

    /** Sends a request; gives all messages of the answer. */
    Flux<Map<String, Object>> messages(String method, Map<String, Object> params) {
        Map<String, Object> whole = new LinkedHashMap<>(params);
        Map<String, Object> declared = new HashMap<>(meta);
        declared.put("io.modelcontextprotocol/protocolVersion", "2026-07-28");
        declared.put("io.modelcontextprotocol/clientCapabilities", capabilities);
        whole.put("_meta", declared);
        McpTransportResponse response = server.handle(
                        McpTransportContext.create(context), new JsonRpc.JSONRPCRequest(method, 7, whole))
                .block(LONG);
        if (response instanceof McpTransportResponse.Streaming stream) {
            return stream.messages().map(Peer::members);
        }
        if (response instanceof McpTransportResponse.Error error) {
            return Flux.just(members(error.response()));
        }
        return Flux.just(members(((McpTransportResponse.Result) Objects.requireNonNull(response)).response()));
    }

    static Map<String, Object> members(@Nullable Object value) {
        return Wire.read(McpJsonDefaults.getMapper(), Wire.write(McpJsonDefaults.getMapper(), value));
    }

    /** The text of a result, also of one that stands in a task. */
    static String text(Map<String, Object> result) {
        Map<String, Object> inner = result.containsKey("result") ? members(result.get("result")) : result;
        return (String) members(((List<?>) inner.get("content")).get(0)).get("text");
    }

    /** The keys of the open questions of a task. */
    static List<String> questions(Map<String, Object> task) {
        return new ArrayList<>(members(task.get("inputRequests")).keySet());
    }

    static void awaitStatus(TaskManager manager, String taskId, TaskStatus status) throws InterruptedException {
        TaskRecord record = TaskRecord.of(manager.findTask(taskId).orElseThrow());
        while (record.status() != status) {
            record = TaskRecord.of(manager.waitTask(taskId, record.revision(), LONG));
        }
    }

    static McpSchema.CallToolResult said(String text) {
        return McpSchema.CallToolResult.builder().addContent(McpSchema.TextContent.builder(text).build()).build();
    }
}
