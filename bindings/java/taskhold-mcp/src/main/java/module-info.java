/** Tools that run as durable tasks, for servers on the MCP SDK for Java. */
module dev.taskhold.mcp {
    requires transitive dev.taskhold;
    requires transitive io.modelcontextprotocol.sdk.mcp.core;
    requires transitive reactor.core;
    requires org.reactivestreams;
    requires static org.jspecify;

    exports dev.taskhold.mcp;
}
