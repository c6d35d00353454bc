"""A FastMCP server whose slow tools are durable tasks: Streamable HTTP, tasks in an SQLite file.

pip install 'taskhold[fastmcp]'
python fastmcp_server.py [--port 8000] [--store sqlite:tasks.db] [--queue NAME] [--json] [--without-tasks]
"""

from __future__ import annotations

import argparse
import asyncio

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.tasks import TaskConfig
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from pydantic import BaseModel

from taskhold.fastmcp import TaskholdTasks, attempts, current, detach, detaching

REQUIRED = TaskConfig(mode="required")


class Name(BaseModel):
    """Somebody's name."""

    name: str


def serve(store: str | None, with_tasks: bool = True, lease_ms: int = 30_000, queue: str | None = None) -> FastMCP:
    """Make the server.

    With a queue, another process of the server goes on with what one that died has begun.
    """
    mcp = FastMCP("taskhold-example", version="1")

    @mcp.tool
    async def greet(name: str) -> str:
        """Greet at once."""
        return f"Hello, {name}!"

    if not with_tasks:
        return mcp
    mcp.add_extension(TaskholdTasks(store, lease_ms=lease_ms, queue=queue, poll_interval_ms=200))

    @mcp.tool(task=True)
    @attempts(3 if queue else 1)
    async def slow_compute(ctx: Context, seconds: float = 1, label: str = "work") -> str:
        """Compute for a while, and tell how far it is."""
        steps, task = max(1, round(seconds)), current()
        for step in range(task.checkpoint or 0, steps):
            await ctx.report_progress(step, steps, f"{label}: step {step + 1} of {steps}")
            await asyncio.sleep(seconds / steps)
            await task.set_checkpoint(step + 1)
        return f"{label} took {seconds:g} seconds"

    @mcp.tool(task=REQUIRED)
    async def failing_job() -> str:
        """Fail after a second: the task completes, with a result that is an error."""
        await asyncio.sleep(1)
        raise ToolError("the job did not succeed")

    @mcp.tool(task=True)
    async def protocol_error_job() -> str:
        """End with a JSON-RPC error: the task fails."""
        await asyncio.sleep(0.1)
        raise MCPError(-32603, "the job broke the protocol")

    @mcp.tool(task=REQUIRED)
    async def confirm_delete(filename: str, ctx: Context) -> str:
        """Ask before deleting a file; nothing is deleted, this is an example."""
        answer = await ctx.elicit(f"Delete {filename}?", bool)
        return f"Deleted {filename}" if answer.action == "accept" else f"Kept {filename}"

    @mcp.tool(task=REQUIRED)
    async def multi_input(ctx: Context) -> str:
        """Ask two questions at once."""
        name, going_on = await asyncio.gather(
            ctx.elicit("What is your name?", Name), ctx.elicit("Shall I go on?", bool)
        )
        return f"name: {name.action}, going on: {going_on.action}"

    @mcp.tool(task=REQUIRED)
    @detaching
    async def test_tool_with_task(ctx: Context) -> str | InputRequiredResult:
        """Ask for a name in the foreground, then go on as a task."""
        answer = (ctx.input_responses or {}).get("user_name")
        if not isinstance(answer, ElicitResult):
            question = ElicitRequestFormParams(message="What is your name?", requested_schema=Name.model_json_schema())
            return InputRequiredResult(input_requests={"user_name": ElicitRequest(params=question)})
        await detach()
        await asyncio.sleep(0.2)
        return f"Hello, {(answer.content or {}).get('name', 'whoever you are')}!"

    return mcp


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A FastMCP server whose slow tools run as tasks.")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--store", default="sqlite:tasks.db", help="where tasks are kept")
    parser.add_argument("--lease-ms", type=int, default=30_000, help="after a kill, when tasks fail as abandoned")
    parser.add_argument("--queue", help="a name, the same in each process that takes over the work of others")
    parser.add_argument("--json", action="store_true", help="answer with JSON instead of event streams")
    parser.add_argument("--without-tasks", action="store_true", help="do not offer the extension")
    arguments = parser.parse_args()
    serve(arguments.store, not arguments.without_tasks, arguments.lease_ms, arguments.queue).run(
        transport="http",
        host="127.0.0.1",
        port=arguments.port,
        path="/mcp",
        json_response=arguments.json,
        show_banner=False,
    )
