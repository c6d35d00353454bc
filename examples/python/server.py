"""An MCP server on the official SDK whose slow tools are durable tasks: Streamable HTTP, tasks in an SQLite file.

pip install 'taskhold[mcp]'
python server.py [--port 8000] [--store sqlite:tasks.db] [--queue NAME] [--json] [--without-tasks]
"""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from pydantic import AnyHttpUrl, BaseModel

from taskhold.mcp import TasksExtension, current


class Confirmation(BaseModel):
    """Whether to go on."""

    confirm: bool


class Name(BaseModel):
    """Somebody's name."""

    name: str


class Users:
    """Each user's token is the name: a real server checks what an authorization server issued."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    async def verify_token(self, token: str) -> AccessToken | None:
        """Tell who has a token."""
        if token not in self.names:
            return None
        return AccessToken(token=token, client_id="example", scopes=[], subject=token)


def serve(
    store: str | None,
    with_tasks: bool = True,
    users: list[str] | None = None,
    lease_ms: int = 30_000,
    queue: str | None = None,
) -> MCPServer:
    """Make the server; with users, each sees only the tasks of their own.

    With a queue, another process of the server goes on with what one that died has begun.
    """
    auth: dict[str, Any] = {}
    if users:
        url = AnyHttpUrl("http://127.0.0.1/")
        auth = {"auth": AuthSettings(issuer_url=url, resource_server_url=None), "token_verifier": Users(users)}
    tasks = TasksExtension(store, lease_ms=lease_ms, queue=queue, poll_interval_ms=200)

    @tasks.tool(attempts=3 if queue else 1)
    async def slow_compute(ctx: Context, seconds: float = 1, label: str = "work") -> str:
        """Compute for a while, and tell how far it is."""
        steps, task = max(1, round(seconds)), current()
        for step in range(task.checkpoint or 0, steps):
            await ctx.report_progress(step, steps, f"{label}: step {step + 1} of {steps}")
            await asyncio.sleep(seconds / steps)
            await task.set_checkpoint(step + 1)
        return f"{label} took {seconds:g} seconds"

    @tasks.tool(task_support="required")
    async def failing_job() -> str:
        """Fail after a second: the task completes, with a result that is an error."""
        await asyncio.sleep(1)
        raise RuntimeError("the job did not succeed")

    @tasks.tool()
    async def protocol_error_job() -> str:
        """End with a JSON-RPC error: the task fails."""
        await asyncio.sleep(0.1)
        raise MCPError(-32603, "the job broke the protocol")

    @tasks.tool(task_support="required")
    async def confirm_delete(filename: str, ctx: Context) -> str:
        """Ask before deleting a file; nothing is deleted, this is an example."""
        answer = await ctx.elicit(f"Delete {filename}?", Confirmation)
        if answer.action == "accept" and answer.data.confirm:
            return f"Deleted {filename}"
        return f"Kept {filename}"

    @tasks.tool(task_support="required")
    async def multi_input(ctx: Context) -> str:
        """Ask two questions at once."""
        name, confirmation = await asyncio.gather(
            ctx.elicit("What is your name?", Name), ctx.elicit("Shall I go on?", Confirmation)
        )
        return f"name: {name.action}, confirmation: {confirmation.action}"

    @tasks.tool(task_support="required", detach="tool")
    async def test_tool_with_task(ctx: Context) -> str | InputRequiredResult:
        """Ask for a name in the foreground, then go on as a task."""
        answer = (ctx.input_responses or {}).get("user_name")
        if not isinstance(answer, ElicitResult):
            question = ElicitRequestFormParams(message="What is your name?", requested_schema=Name.model_json_schema())
            return InputRequiredResult(input_requests={"user_name": ElicitRequest(params=question)})
        await tasks.detach()
        await asyncio.sleep(0.2)
        return f"Hello, {(answer.content or {}).get('name', 'whoever you are')}!"

    if with_tasks:
        server = MCPServer(
            "taskhold-example",
            version="1",
            extensions=[tasks],
            middleware=[tasks.listen],
            lifespan=tasks.lifespan,
            **auth,
        )
    else:
        server = MCPServer("taskhold-example", version="1", **auth)

    @server.tool()
    async def greet(name: str) -> str:
        """Greet at once."""
        return f"Hello, {name}!"

    return server


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="An MCP server whose slow tools run as tasks.")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("--store", default="sqlite:tasks.db", help="where tasks are kept")
    parser.add_argument("--users", help="names, separated by commas: each is the token of its user")
    parser.add_argument("--lease-ms", type=int, default=30_000, help="after a kill, when tasks fail as abandoned")
    parser.add_argument("--queue", help="a name, the same in each process that takes over the work of others")
    parser.add_argument("--json", action="store_true", help="answer with JSON instead of event streams")
    parser.add_argument("--without-tasks", action="store_true", help="do not offer the extension")
    arguments = parser.parse_args()
    users = arguments.users.split(",") if arguments.users else None
    server = serve(arguments.store, not arguments.without_tasks, users, arguments.lease_ms, arguments.queue)
    app = server.streamable_http_app(json_response=arguments.json)
    uvicorn.run(app, host="127.0.0.1", port=arguments.port)
