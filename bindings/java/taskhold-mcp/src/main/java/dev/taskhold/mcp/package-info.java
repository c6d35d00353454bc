/**
 * Tools that run as durable tasks, for servers on the official MCP SDK for Java ({@code mcp-core} 2.2):
 * {@link dev.taskhold.mcp.TaskholdTasks} is a feature of its {@code McpServer}.
 */
@NullMarked
package dev.taskhold.mcp;

import org.jspecify.annotations.NullMarked;
