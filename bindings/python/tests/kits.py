"""The same server on each SDK, and a client that speaks to it over HTTP, for tests of the plugs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, Protocol

import fastmcp
import httpx2
import uvicorn
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier
from fastmcp.utilities.tasks import TaskConfig
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from pydantic import AnyHttpUrl, BaseModel
from starlette.types import ASGIApp

import taskhold.fastmcp
import taskhold.mcp
from taskhold._servers.tasks import Tasks
from taskhold.mcp import current

TASKS = "io.modelcontextprotocol/tasks"
VERSION = "2026-07-28"
ENDED = ("completed", "failed", "cancelled")
USERS = ("alice", "bob")


class Name(BaseModel):
    name: str


class Bench:
    """What the tools of one server and its test share."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.log: list[str] = []


class Kit(NamedTuple):
    """A server with its tasks, and the application that serves it."""

    app: ASGIApp
    tasks: Tasks
    bench: Bench


class Build(Protocol):
    def __call__(
        self, where: Any = None, *, users: bool = False, json_response: bool = True, **options: Any
    ) -> Kit: ...


def tools(bench: Bench, context: Any, detach: Callable[[], Any]) -> dict[str, Callable[..., Any]]:
    """The tools, for contexts of a type: both SDKs find by its annotation the parameter to give it to."""

    async def hold(ctx: Any) -> str:
        bench.log.append("started")
        try:
            await bench.go.wait()
        except asyncio.CancelledError:
            bench.log.append("cancelled")
            raise
        return "held"

    async def ask(ctx: Any) -> str:
        answer = await ctx.elicit("Your name?", Name)
        return str(answer.data.name if answer.action == "accept" else answer.action)

    async def ask_twice(ctx: Any) -> str:
        first = await ctx.elicit("Your name?", Name)
        second = await ctx.elicit("Your name again?", Name)
        return f"{first.data.name}, {second.data.name}"

    async def ask_both(ctx: Any) -> str:
        one, two = await asyncio.gather(ctx.elicit("One?", Name), ctx.elicit("Two?", Name))
        return f"{one.data.name}, {two.data.name}"

    async def report(ctx: Any) -> str:
        asking = asyncio.create_task(ctx.elicit("Your name?", Name))
        await bench.go.wait()
        await ctx.report_progress(1, 3, "one of three")
        return str((await asking).data.name)

    async def give_up(ctx: Any) -> str:
        try:
            async with asyncio.timeout(0.05):
                await ctx.elicit("Your name?", Name)
        except TimeoutError:
            await bench.go.wait()
            return "gave up"
        return "answered"

    async def fail() -> str:
        raise RuntimeError("broken")

    async def break_protocol() -> str:
        raise MCPError(-32099, "no more", {"why": "test"})

    async def negotiate(ctx: Any) -> str | InputRequiredResult:
        answer = (ctx.input_responses or {}).get("who")
        if answer is None:
            question = ElicitRequestFormParams(message="Who?", requested_schema=Name.model_json_schema())
            return InputRequiredResult(input_requests={"who": ElicitRequest(params=question)}, request_state="1")
        await detach()
        await bench.go.wait()
        return f"{answer.content['name']} {ctx.request_state}"

    async def ask_by_result(ctx: Any) -> str | InputRequiredResult:
        answer = (ctx.input_responses or {}).get("who")
        if answer is None:
            question = ElicitRequestFormParams(message="Who?", requested_schema=Name.model_json_schema())
            return InputRequiredResult(input_requests={"who": ElicitRequest(params=question)}, request_state="1")
        return f"{answer.content['name']} {ctx.request_state}"

    async def resume(pages: int, secret: str, ctx: Any) -> str:
        task = current()
        begun = task.checkpoint["page"] if task.checkpoint else 0
        for page in range(begun, pages):
            if task.attempt == 1 and page == 2:
                await ctx.report_progress(page, pages, "stopped")
                await bench.go.wait()
            await task.set_checkpoint({"page": page + 1, "secret": secret})
        token = get_access_token()
        caller = "anonymous" if token is None else token.subject or token.client_id
        return f"{caller}: {begun} to {pages}, {secret}"

    async def ask_then_stop(ctx: Any) -> str:
        name = (await ctx.elicit("Your name?", Name)).data.name
        if current().attempt == 1:
            await ctx.report_progress(1, 2, "stopped")
            await bench.go.wait()
        again = (await ctx.elicit("Your name?", Name)).data.name
        return f"{name}, {again}"

    async def say_much() -> str:
        return "much " * 1000

    async def stay() -> str:
        return "never detached"

    found = {name: one for name, one in locals().items() if asyncio.iscoroutinefunction(one)}
    for one in found.values():
        if "ctx" in one.__annotations__:
            one.__annotations__["ctx"] = context
        for name, annotation in one.__annotations__.items():
            if isinstance(annotation, str):
                one.__annotations__[name] = eval(annotation)  # the SDKs look in the module, not in here
    return found


REQUIRED = ("ask_both",)
DETACHING = ("negotiate", "stay")
# Where there is a queue.
ATTEMPTS = {"hold": 3, "ask": 3, "negotiate": 3, "resume": 3, "ask_then_stop": 3}


class Users:
    """Each user's token is the name."""

    async def verify_token(self, token: str) -> AccessToken | None:
        if token not in USERS:
            return None
        return AccessToken(token=token, client_id="client", scopes=[], subject=token)


def official(where: Any = None, *, users: bool = False, json_response: bool = True, **options: Any) -> Kit:
    """The server on the official SDK."""
    extension = taskhold.mcp.TasksExtension(where, **options)
    bench = Bench()
    for name, function in tools(bench, Context, extension.detach).items():
        extension.tool(
            task_support="required" if name in REQUIRED else "optional",
            detach="tool" if name in DETACHING else "start",
            attempts=ATTEMPTS.get(name, 1) if options.get("queue") else 1,
        )(function)
    auth: dict[str, Any] = {}
    if users:
        url = AnyHttpUrl("http://127.0.0.1/")
        auth = {"auth": AuthSettings(issuer_url=url, resource_server_url=None), "token_verifier": Users()}
    lifespan = extension.lifespan if options.get("queue") else None
    server = MCPServer(
        "test", version="1", extensions=[extension], middleware=[extension.listen], lifespan=lifespan, **auth
    )

    @server.tool()
    def plain() -> str:
        return "plain"

    app = server.streamable_http_app(json_response=json_response, stateless_http=True)
    return Kit(app, extension._tasks, bench)


def on_fastmcp(where: Any = None, *, users: bool = False, json_response: bool = True, **options: Any) -> Kit:
    """The server on FastMCP."""
    extension = taskhold.fastmcp.TaskholdTasks(where, **options)
    bench = Bench()
    tokens = {user: {"client_id": user, "scopes": []} for user in USERS}
    server = fastmcp.FastMCP("test", version="1", auth=StaticTokenVerifier(tokens) if users else None)
    server.add_extension(extension)
    for name, function in tools(bench, fastmcp.Context, taskhold.fastmcp.detach).items():
        if name in DETACHING:
            taskhold.fastmcp.detaching(function)
        if options.get("queue"):
            taskhold.fastmcp.attempts(ATTEMPTS.get(name, 1))(function)
        server.tool(task=TaskConfig(mode="required" if name in REQUIRED else "optional"))(function)

    @server.tool
    def plain() -> str:
        return "plain"

    return Kit(server.http_app(path="/mcp", json_response=json_response), extension._tasks, bench)


class Answer(NamedTuple):
    """An HTTP status and the JSON-RPC response in it."""

    status: int
    response: dict[str, Any]

    @property
    def result(self) -> dict[str, Any]:
        assert "result" in self.response, self.response
        result: dict[str, Any] = self.response["result"]
        return result

    @property
    def code(self) -> int | None:
        """The error's code."""
        code: int | None = self.response.get("error", {}).get("code")
        return code


class Client:
    """A client over HTTP that sends what it is told to."""

    def __init__(self, http: httpx2.AsyncClient, url: str, declares: bool = True, user: str | None = None) -> None:
        self.http, self.url = http, url
        self.capabilities: dict[str, Any] = {"elicitation": {}}
        if declares:
            self.capabilities["extensions"] = {TASKS: {}}
        self.user = user

    def message(self, method: str, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """A request, and the headers that belong to it."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }
        headers = {
            "Accept": "application/json, text/event-stream",
            "Mcp-Protocol-Version": VERSION,
            "Mcp-Method": method,
        }
        if (name := params.get("taskId", params.get("name"))) is not None:
            headers["Mcp-Name"] = name
        if self.user is not None:
            headers["Authorization"] = f"Bearer {self.user}"
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}, headers

    async def send(self, method: str, params: dict[str, Any], **changed: str | None) -> Answer:
        """Send a request; headers by name are changed, or left out for None."""
        message, headers = self.message(method, params)
        for name, value in changed.items():
            headers.pop(name.replace("_", "-"), None)
            if value is not None:
                headers[name.replace("_", "-")] = value
        got = await self.http.post(self.url, json=message, headers=headers)
        return Answer(got.status_code, got.json())

    async def call(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool."""
        return await self.send("tools/call", {"name": tool, "arguments": arguments})

    async def task(self, tool: str, **arguments: Any) -> str:
        """Call a tool that becomes a task; gives its id."""
        result = (await self.call(tool, **arguments)).result
        assert result["resultType"] == "task", result
        task_id: str = result["taskId"]
        return task_id

    async def get(self, task_id: str) -> dict[str, Any]:
        """The task as its client sees it."""
        return (await self.send("tasks/get", {"taskId": task_id})).result

    async def until(self, task_id: str, *statuses: str) -> dict[str, Any]:
        """Poll until the task has one of some statuses; any end, unless given."""
        async with asyncio.timeout(20):
            while True:
                task = await self.get(task_id)
                if task["status"] in (statuses or ENDED):
                    return task
                await asyncio.sleep(0.01)

    async def answer(self, task_id: str, answers: dict[str, Any]) -> Answer:
        """Answer questions of a task."""
        return await self.send("tasks/update", {"taskId": task_id, "inputResponses": answers})

    async def listen(self, *task_ids: str) -> AsyncIterator[dict[str, Any]]:
        """Subscribe to tasks; gives each message that comes."""
        message, headers = self.message("subscriptions/listen", {"notifications": {"taskIds": list(task_ids)}})
        async with self.http.stream("POST", self.url, json=message, headers=headers) as response:
            if response.headers["content-type"].startswith("application/json"):
                yield json.loads(await response.aread())
                return
            async for line in response.aiter_lines():
                if line.startswith("data:"):
                    yield json.loads(line[5:])


def accept(name: str) -> dict[str, Any]:
    """An answer to a question for a name."""
    return {"action": "accept", "content": {"name": name}}


@asynccontextmanager
async def serving(app: ASGIApp, orderly: bool = False) -> AsyncIterator[Callable[..., Client]]:
    """Serve an application on a free port of loopback; gives what makes clients of it.

    An orderly end has the application's lifespan end too.
    """
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none"))
    running = asyncio.create_task(server.serve())
    while not server.started:
        assert not running.done()
        await asyncio.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        async with httpx2.AsyncClient(timeout=30, limits=httpx2.Limits(max_connections=300)) as http:
            yield lambda **options: Client(http, f"http://127.0.0.1:{port}/mcp", **options)
    finally:
        server.should_exit = True
        server.force_exit = not orderly
        await running
