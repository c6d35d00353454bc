import dev.taskhold.Store;
import dev.taskhold.TaskManager;
import dev.taskhold.mcp.TaskholdTasks;
import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.modern.McpSchema;
import io.modelcontextprotocol.modern.server.McpRequestContext;
import io.modelcontextprotocol.modern.server.McpServer;
import io.modelcontextprotocol.modern.server.feature.McpAsyncTool;
import io.modelcontextprotocol.modern.server.feature.McpAsyncToolRepository;
import io.modelcontextprotocol.modern.server.feature.McpChangeFeed;
import io.modelcontextprotocol.modern.server.feature.ToolsFeature;
import io.modelcontextprotocol.modern.server.feature.ToolsPage;
import io.modelcontextprotocol.modern.server.transport.HttpServletMcpTransport;
import jakarta.servlet.http.HttpServletRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.apache.catalina.Context;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.Wrapper;
import org.apache.catalina.startup.Tomcat;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * An MCP server on the official SDK whose slow tools are durable tasks: Streamable HTTP, tasks in an SQLite file.
 *
 * <pre>java Server [--port 8000] [--store sqlite:tasks.db] [--users ann,bob] [--lease-ms 30000] [--without-tasks]</pre>
 */
public final class Server {
    private Server() {}

    /** Serves until the process is told to end. */
    public static void main(String[] arguments) throws LifecycleException {
        serve(List.of(arguments), List.of(Tools.greet()), (server, feed) -> {});
    }

    /** Serves with these plain tools, and with what is added to the server. */
    public static void serve(
            List<String> arguments, List<McpAsyncTool> plain, BiConsumer<McpServer.Builder, McpChangeFeed> more)
            throws LifecycleException {
        McpServer.Builder server = McpServer.builder()
                .serverInfo(new McpSchema.Implementation("taskhold-example", null, "1", null, null, null));
        McpChangeFeed feed = new McpChangeFeed();
        List<AutoCloseable> open = new ArrayList<>();
        if (arguments.contains("--without-tasks")) {
            server.feature(ToolsFeature.ofAsync(new Plain(plain))).subscriptions(feed);
        } else {
            Store store = Store.builder().url(option(arguments, "--store", "sqlite:tasks.db")).open();
            TaskManager manager = TaskManager.builder().store(store).pollInterval(Duration.ofMillis(200)).open();
            Duration lease = Duration.ofMillis(Long.parseLong(option(arguments, "--lease-ms", "30000")));
            TaskholdTasks tasks = TaskholdTasks.builder(manager).lease(lease).build();
            Tools.addTo(tasks);
            plain.forEach(tasks::add);
            server.feature(tasks).subscriptions(() -> Flux.merge(feed.changes(), tasks.changes().changes()));
            open.addAll(List.of(tasks, manager, store));
        }
        more.accept(server, feed);
        List<String> users = Arrays.stream(option(arguments, "--users", "").split(",")).filter(user -> !user.isEmpty()).toList();
        HttpServletMcpTransport transport = HttpServletMcpTransport.builder(server.build())
                .contextExtractor(request -> McpTransportContext.create(
                        users.isEmpty() ? Map.of() : Map.of(TaskholdTasks.PRINCIPAL, user(request))))
                .build();
        run(Integer.parseInt(option(arguments, "--port", "8000")), transport, users, open);
    }

    private static void run(int port, HttpServletMcpTransport transport, List<String> users, List<AutoCloseable> open)
            throws LifecycleException {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(Path.of(System.getProperty("java.io.tmpdir"), "taskhold-example-" + port).toString());
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(port);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        Context context = tomcat.addContext("", null);
        Wrapper wrapper = Tomcat.addServlet(context, "mcp", transport);
        wrapper.setAsyncSupported(true);
        wrapper.addMapping("/mcp");
        if (!users.isEmpty()) {
            context.getPipeline().addValve(new Tokens(users));
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            transport.closeGracefully();
            open.forEach(Server::close);
        }));
        tomcat.start();
        System.out.println("http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/mcp");
        tomcat.getServer().await();
    }

    private static void close(AutoCloseable one) {
        try {
            one.close();
        } catch (Exception failure) {
            System.err.println(failure);
        }
    }

    private static String option(List<String> arguments, String name, String otherwise) {
        int at = arguments.indexOf(name);
        return at < 0 ? otherwise : arguments.get(at + 1);
    }

    /** Each user's token is the name: a real server checks what an authorization server issued. */
    static String user(HttpServletRequest request) {
        String header = request.getHeader("Authorization");
        return header != null && header.startsWith("Bearer ") ? header.substring("Bearer ".length()) : "";
    }

    /** The tools of a server without tasks. */
    private record Plain(List<McpAsyncTool> tools) implements McpAsyncToolRepository {
        @Override
        public Mono<ToolsPage> list(McpRequestContext context, String cursor) {
            return Mono.just(ToolsPage.of(tools.stream().map(McpAsyncTool::definition).toList()));
        }

        @Override
        public Mono<McpAsyncTool> find(McpRequestContext context, String name) {
            return Mono.justOrEmpty(tools.stream().filter(tool -> tool.definition().name().equals(name)).findFirst());
        }
    }
}
