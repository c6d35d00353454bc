"""The servers of examples/python with the tools by which the suite's scenario server-stateless looks into a server.

python diagnostics.py official|fastmcp PORT STORE [--json] [--without-tasks]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples/python"))


async def test_missing_capability() -> str:
    """Need sampling from a client that does not declare it."""
    raise MCPError(-32021, "Missing required client capability", {"requiredCapabilities": {"sampling": {}}})


async def test_streaming_elicitation() -> str:
    """Answer with no request of its own on the stream."""
    return "done"


async def test_logging_tool() -> str:
    """Log nothing, since the client did not ask for it."""
    return "done"


def official(store: str, with_tasks: bool, json_response: bool) -> Any:
    """The application on the official SDK."""
    import server as example

    server = example.serve(store, with_tasks)

    @server.tool()
    async def test_trigger_tool_change(ctx: Context) -> str:
        """Tell subscribers that the tools changed."""
        await ctx.notify_tools_changed()
        return "done"

    @server.tool()
    async def test_trigger_prompt_change(ctx: Context) -> str:
        """Tell subscribers that the prompts changed."""
        await ctx.notify_prompts_changed()
        return "done"

    for tool in (test_missing_capability, test_streaming_elicitation, test_logging_tool):
        server.tool()(tool)
    return server.streamable_http_app(json_response=json_response)


def fastmcp(store: str, with_tasks: bool, json_response: bool) -> Any:
    """The application on FastMCP, which does not serve subscriptions/listen."""
    import fastmcp_server as example

    server = example.serve(store, with_tasks)
    for tool in (test_missing_capability, test_streaming_elicitation, test_logging_tool):
        server.tool(tool)
    return server.http_app(path="/mcp", json_response=json_response)


if __name__ == "__main__":
    kind, port, store, *options = sys.argv[1:]
    make = {"official": official, "fastmcp": fastmcp}[kind]
    app = make(store, "--without-tasks" not in options, "--json" in options)
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error")
