"""A client on the official SDK and the server beside it, killed and started again over its file.

pip install 'taskhold[mcp]'
python story.py
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import httpx2
from mcp import MCPError
from mcp.client import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.session import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, Request, Result
from pydantic import ConfigDict

SERVER = Path(__file__).with_name("server.py")


class Created(Result):
    """The result of a call that became a task."""

    result_type: Literal["task"] = "task"
    task_id: str


class Task(Result):
    """A task as tasks/get shows it."""

    model_config = ConfigDict(extra="allow")
    status: str
    status_message: str | None = None
    poll_interval_ms: int = 1000
    input_requests: dict[str, Any] | None = None
    result: dict[str, Any] | None = None


class GetTask(Request[dict[str, Any], Literal["tasks/get"]]):
    """Asks how a task is."""

    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/get"] = "tasks/get"


class UpdateTask(Request[dict[str, Any], Literal["tasks/update"]]):
    """Answers questions of a task."""

    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/update"] = "tasks/update"


class CancelTask(Request[dict[str, Any], Literal["tasks/cancel"]]):
    """Asks for the end of a task."""

    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/cancel"] = "tasks/cancel"


class Tasks(ClientExtension):
    """Lets ``client.call_tool()`` wait for tasks, and answer what they ask."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """A result of type "task" is finished here."""
        return [ResultClaim(result_type="task", model=Created, resolve=self.finish)]

    async def finish(self, created: Created, context: ClaimContext) -> CallToolResult:
        """Poll until the task has ended."""
        session, told = context.session, None
        while True:
            task = await session.send_request(GetTask(params={"taskId": created.task_id}), Task)
            if (now := (task.status, task.status_message)) != told:
                say(f"{context.tool_name} is {task.status}", task.status_message)
                told = now
            if task.status == "completed":
                return CallToolResult.model_validate(task.result)
            if task.status == "input_required":
                answers = {key: {"action": "accept", "content": {"confirm": True}} for key in task.input_requests or {}}
                for request in (task.input_requests or {}).values():
                    say(f"the server asks: {request['params']['message']}", "yes")
                params = {"taskId": created.task_id, "inputResponses": answers}
                await session.send_request(UpdateTask(params=params), Result)
            elif task.status != "working":
                raise RuntimeError(f"the task is {task.status}")
            await asyncio.sleep(task.poll_interval_ms / 1000)


def say(what: str, more: str | None = None) -> None:
    """Tell the story."""
    print(what if more is None else f"{what}: {more}", flush=True)


async def never(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    """Declares that this client can be asked; tasks are answered above."""
    return ElicitResult(action="cancel")


@contextlib.asynccontextmanager
async def connected(port: int, user: str) -> AsyncIterator[Client]:
    """A user's client."""
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {user}"}, timeout=30) as http:
        transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
        async with Client(transport, mode="2026-07-28", extensions=[Tasks()], elicitation_callback=never) as client:
            yield client


@contextlib.asynccontextmanager
async def running(store: str) -> AsyncIterator[tuple[subprocess.Popen[bytes], int]]:
    """The server in a process of its own, on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(SERVER), "--port", str(port), "--store", store, "--users", "alice,bob"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - itself
    try:
        while server.poll() is None:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            await asyncio.sleep(0.05)
        say("the server is up")
        yield server, port
    finally:
        server.kill()
        server.wait()


async def state(client: Client, task_id: str) -> Task:
    """How a task is."""
    return await client.session.send_request(GetTask(params={"taskId": task_id}), Task)


async def story(store: str) -> None:
    """Play it."""
    async with running(store) as (server, port), connected(port, "alice") as alice:
        result = await alice.call_tool("slow_compute", {"seconds": 3, "label": "a report"})
        say("result", result.content[0].text)  # type: ignore[union-attr]
        result = await alice.call_tool("confirm_delete", {"filename": "draft.txt"})
        say("result", result.content[0].text)  # type: ignore[union-attr]

        call = {"name": "slow_compute", "arguments": {"seconds": 60, "label": "too much"}}
        created = await alice.session.call_tool(**call, allow_claimed=True)  # type: ignore[call-overload]
        await alice.session.send_request(CancelTask(params={"taskId": created.task_id}), Result)
        while (task := await state(alice, created.task_id)).status == "working":
            await asyncio.sleep(0.05)
        say("alice cancels a call, which is", task.status)

        created = await alice.session.call_tool("slow_compute", {"seconds": 0}, allow_claimed=True)
        while (task := await state(alice, created.task_id)).status == "working":  # type: ignore[attr-defined]
            await asyncio.sleep(0.05)
        say("alice starts a call and goes away; the server is killed")
        server.kill()
        server.wait()

    async with running(store) as (_, port), connected(port, "alice") as alice, connected(port, "bob") as bob:
        task = await state(alice, created.task_id)  # type: ignore[attr-defined]
        say("alice comes back for it", (task.result or {})["content"][0]["text"])
        try:
            await state(bob, created.task_id)  # type: ignore[attr-defined]
        except MCPError as error:
            say("bob asks for it", error.error.message)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(story(f"sqlite:{folder}/tasks.db"))
