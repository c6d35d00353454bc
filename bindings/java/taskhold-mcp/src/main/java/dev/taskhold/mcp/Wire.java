package dev.taskhold.mcp;

import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.modern.McpException;
import io.modelcontextprotocol.modern.McpSchema;
import io.modelcontextprotocol.modern.server.McpHeader;
import io.modelcontextprotocol.modern.server.McpHeaders;
import io.modelcontextprotocol.modern.server.McpRequestContext;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.Principal;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What stands in a request: who calls, what the client declared, and which task the header names. */
final class Wire {
    static final String EXTENSION = "io.modelcontextprotocol/tasks";

    static final int INTERNAL_ERROR = -32603;
    private static final int MISSING_CAPABILITY = -32021;
    private static final int HEADER_MISMATCH = -32020;

    /** The library's limit of a partition, in bytes. */
    private static final int LONGEST_PARTITION = 1024;

    private static final TypeRef<Map<String, Object>> MEMBERS = new TypeRef<>() {};

    private Wire() {}

    /** Tells whether the client said that it knows tasks. */
    static boolean declares(McpRequestContext context) {
        Map<String, Map<String, Object>> extensions = context.clientCapabilities().extensions();
        return extensions != null && extensions.containsKey(EXTENSION);
    }

    /** Gives the kinds of input requests that a client can answer. */
    static List<String> kinds(McpRequestContext context) {
        McpSchema.ClientCapabilities declared = context.clientCapabilities();
        List<String> kinds = new ArrayList<>();
        if (declared.supportsElicitationForm()) {
            kinds.add("elicitation/form");
        }
        if (declared.supportsElicitationUrl()) {
            kinds.add("elicitation/url");
        }
        if (declared.supportsSampling()) {
            kinds.add("sampling/createMessage");
        }
        if (declared.supportsRoots()) {
            kinds.add("roots/list");
        }
        return kinds;
    }

    /** Refuses an input request of a kind that the client cannot answer. */
    static void checkKind(Map<String, Object> request, List<String> kinds) {
        String method = (String) request.get("method");
        String kind = method;
        Map<String, Object> capability = Map.of(method.substring(0, method.indexOf('/')), Map.of());
        if (method.equals("elicitation/create")) {
            Object mode = request.get("params") instanceof Map<?, ?> params ? params.get("mode") : null;
            String name = mode instanceof String given ? given : "form";
            kind = "elicitation/" + name;
            capability = Map.of("elicitation", Map.of(name, Map.of()));
        }
        if (!kinds.contains(kind)) {
            throw missing(capability);
        }
    }

    /** Makes the error for a client that does not know tasks. */
    static McpException missingExtension() {
        return missing(Map.of("extensions", Map.of(EXTENSION, Map.of())));
    }

    private static McpException missing(Map<String, Object> capabilities) {
        return new McpException(
                MISSING_CAPABILITY, "Missing required client capability", Map.of("requiredCapabilities", capabilities));
    }

    static McpException internalError() {
        return new McpException(INTERNAL_ERROR, "Internal error");
    }

    /** Gives whose tasks the caller may see: the principal that the transport's context has, null without one. */
    static @Nullable String principal(McpRequestContext context) {
        Object found = context.transportContext().get(TaskholdTasks.PRINCIPAL);
        if (found == null) {
            return null;
        }
        String name = found instanceof Principal principal ? principal.getName() : found.toString();
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        if (bytes.length <= LONGEST_PARTITION) {
            return name;
        }
        try {
            return "sha256:" + HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException never) {
            throw new IllegalStateException("every Java has SHA-256", never);
        }
    }

    /** Refuses a request over HTTP whose Mcp-Name header is missing or names another task than its body. */
    static void checkName(McpRequestContext context, Map<String, Object> params) {
        Object headers = context.transportContext().get(McpHeaders.TRANSPORT_CONTEXT_KEY);
        if (!(headers instanceof McpHeaders given)
                || given == McpHeaders.NOT_MIRRORED
                || !(params.get("taskId") instanceof String taskId)) {
            return;
        }
        McpHeader name = given.get("Mcp-Name");
        if (name == null || !taskId.equals(name.value())) {
            throw new McpException(
                    HEADER_MISMATCH, "The Mcp-Name header is missing or does not match the parameter 'taskId'");
        }
    }

    static Map<String, Object> read(McpJsonMapper mapper, String json) {
        try {
            return mapper.readValue(json, MEMBERS);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    static String write(McpJsonMapper mapper, Object value) {
        try {
            return mapper.writeValueAsString(value);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    static Map<String, Object> members(McpJsonMapper mapper, Object value) {
        return mapper.convertValue(value, MEMBERS);
    }
}
