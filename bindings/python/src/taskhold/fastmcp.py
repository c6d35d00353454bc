"""Durable tasks for FastMCP servers: every ``@mcp.tool(task=True)`` is a task of a task manager.

    from fastmcp import Context, FastMCP
    from taskhold.fastmcp import TaskholdTasks

    mcp = FastMCP("example")
    mcp.add_extension(TaskholdTasks("sqlite:tasks.db"))

    @mcp.tool(task=True)
    async def slow(seconds: float, ctx: Context) -> str:
        ...

Needs the extra ``taskhold[fastmcp]``. A call becomes a task when the client declared the extension
``io.modelcontextprotocol/tasks``; else it runs inline. In a task ``ctx.elicit()`` asks the client through the task, as
does returning an ``InputRequiredResult``; ``ctx.report_progress()`` sets its status message, and a cancelation request
raises :class:`asyncio.CancelledError`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, TypeVar, Unpack, cast

from fastmcp import Context as ToolContext
from fastmcp.exceptions import FastMCPError
from fastmcp.exceptions import NotFoundError as ToolNotFoundError
from fastmcp.server.dependencies import bind_request_context
from fastmcp.server.extensions import MethodBinding, ServerExtension, ToolCallContinuation, ToolCallOutcome
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from fastmcp.utilities.versions import VersionSpec
from mcp.server.context import HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, CallToolResult, RequestParamsMeta, TextContent
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import BaseModel, ConfigDict

from ._servers.calls import StoredCall
from ._servers.current import TaskContext, current, detach
from ._servers.runs import Answered, Run
from ._servers.tasks import Detach, Repeated, Tasks, TaskSupport, Where, checked_attempts, created
from ._servers.wire import EXTENSION, METHODS, VERSIONS, Context, TaskParams
from .types import ManagerOptions, Milliseconds

F = TypeVar("F", bound=Callable[..., Any])

_DETACHES = "__taskhold_detaches__"
_ATTEMPTS = "__taskhold_attempts__"

logger = logging.getLogger("taskhold")

# FastMCP reports progress only to a client that sent a token; a task has its message for it.
_PROGRESS_TOKEN = "task"  # noqa: S105 - tells reports apart, and opens nothing


def detaching(function: F) -> F:
    """Mark a tool's function that becomes a task only when it awaits :func:`detach`; below ``@mcp.tool(task=True)``.

    Until then it runs in the foreground, where it may ask by returning an ``InputRequiredResult``.
    """
    setattr(function, _DETACHES, True)
    return function


def attempts(number: int) -> Callable[[F], F]:
    """Mark a tool's function that may be begun so often for one call; below ``@mcp.tool(task=True)``.

    With more than one, and with the ``queue`` of :class:`TaskholdTasks`, another process runs it again when this one
    dies: from its start, with the same arguments. Without a queue there is one attempt.

    Args:
        number: 1 to 1000.
    """
    checked = checked_attempts(number)

    def mark(function: F) -> F:
        setattr(function, _ATTEMPTS, checked)
        return function

    return mark


class _CreatedTask(BaseModel):
    model_config = ConfigDict(extra="allow")


class TaskholdTasks(ServerExtension):
    """The extension ``io.modelcontextprotocol/tasks`` over a task manager: ``mcp.add_extension(TaskholdTasks(…))``.

    Tasks belong to the endpoint and to the authenticated principal (client, issuer and subject of the access token;
    callers without one share the anonymous partition, where only the random id protects a task).
    """

    identifier = EXTENSION

    def __init__(
        self,
        where: Where = None,
        *,
        endpoint: str = "/mcp",
        lease_ms: Milliseconds | None = 30_000,
        queue: str | None = None,
        concurrency: int = 8,
        **options: Unpack[ManagerOptions],
    ) -> None:
        """Prepare the extension; the store is opened by the first call that needs it.

        Args:
            where: where the tasks live: an :class:`taskhold.AsyncTaskManager`, a :class:`taskhold.Store`, the URL or
                path of one, or None for memory.
            endpoint: tells the tasks of several servers over one store apart.
            lease_ms: how long after the death of this process its tasks fail as abandoned; renewed at a third of it
                while the process lives. None leaves them as they are until they expire.
            queue: a name, the same in each process of the server: tools below :func:`attempts` run again in another
                process when theirs ends.
            concurrency: how many such tasks of others run in this process at once.
            **options: those of :class:`taskhold.TaskManager`, unless ``where`` is one.
        """
        self._tasks = Tasks(where, endpoint, lease_ms, dict(options), queue, concurrency)

    def methods(self) -> Sequence[MethodBinding]:
        """``tasks/get``, ``tasks/update`` and ``tasks/cancel``."""
        return [MethodBinding(method, TaskParams, self._handler(method), VERSIONS) for method in METHODS]

    def _handler(self, method: str) -> Callable[[Context, Any], Any]:
        async def handle(context: Context, params: TaskParams) -> dict[str, Any]:
            return await self._tasks.handle(method, context)

        return handle

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """Take over tasks of the queue; when the server ends, what is not done is given back, or fails as stopped."""
        return self._tasks.working(self._again)

    async def _again(self, call: StoredCall) -> Repeated | None:
        params = CallToolRequestParams.model_validate(call["params"])
        server, version = self.server, _version(call["params"])
        try:
            tool = await server.get_tool(params.name, version)
        except ToolNotFoundError:
            tool = None
        if tool is None or not tool.task_config.supports_tasks():
            return None

        async def body(run: Run, context: Context, answered: Answered | None) -> HandlerResult:
            return await _call(
                run, context, answered, lambda: server.call_tool(params.name, params.arguments, version=version)
            )

        # A tool finds the server's own where a request has none.
        return Repeated(body, {})

    async def intercept_tool_call(
        self, params: CallToolRequestParams, context: ToolContext, call_next: ToolCallContinuation
    ) -> ToolCallOutcome:
        """Run a tool with ``task=True`` as a task, any other inline."""
        request = context.request_context
        try:
            tool = await context.fastmcp.get_tool(params.name)
        except ToolNotFoundError:
            tool = None
        if request is None or tool is None or not tool.task_config.supports_tasks():
            return await call_next()
        support: TaskSupport = "required" if tool.task_config.mode == "required" else "optional"
        if self._tasks.inline(request._srctx, support):
            return await call_next()
        when: Detach = "tool" if getattr(getattr(tool, "fn", None), _DETACHES, False) else "start"

        async def body(run: Run, context: Context, answered: Answered | None) -> HandlerResult:
            return await _call(run, context, answered, call_next)

        allowed = self._attempts(params.name, getattr(tool, "fn", None))
        outcome = await self._tasks.call(request._srctx, params.name, when, body, allowed)
        return _CreatedTask.model_validate(created(outcome)) if isinstance(outcome, Run) else cast(BaseModel, outcome)

    def _attempts(self, name: str, function: Any) -> int:
        """How often a call of a tool may be begun."""
        number: int = getattr(function, _ATTEMPTS, 1)
        if number > 1 and self._tasks.queue is None:
            logger.warning("tool %r has one attempt, as its extension has no queue", name)
            return 1
        return number


def _version(params: Mapping[str, Any]) -> VersionSpec | None:
    """The version of the tool that a client asked for."""
    wanted = (params.get("_meta") or {}).get("fastmcp")
    version = wanted.get("version") if isinstance(wanted, Mapping) else None
    return VersionSpec(eq=version) if isinstance(version, str) else None


async def _call(
    run: Run, context: Context, answered: Answered | None, call_next: ToolCallContinuation
) -> HandlerResult:
    """Run the tool in a context that leads to its task; what a task stores is the SDK's result."""
    params = dict(context.params or {})
    if answered is not None:
        params.update(inputResponses=answered.responses, requestState=answered.request_state)
    meta = cast(RequestParamsMeta, {**(context.meta or {}), "progress_token": _PROGRESS_TOKEN})
    with bind_request_context(replace(context, params=params, meta=meta)) as request:

        def became_task() -> None:
            # FastMCP refuses ctx.elicit() on versions where a server cannot ask its client. A task can.
            request.protocol_version = LATEST_HANDSHAKE_VERSION

        if run.task_id is None:
            run.on_created = became_task
        else:
            became_task()
        try:
            result = await call_next()
        except FastMCPError as error:
            if run.task_id is None:
                raise
            if isinstance(error.__cause__, MCPError):
                # FastMCP makes it a result, so that the model sees it. A task has a status for it.
                raise error.__cause__ from None
            return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)
    if run.task_id is None or not isinstance(result, ToolResult):
        return result
    if isinstance(result, InputRequiredToolResult):
        return result.input_required
    shaped = result.to_mcp_result()
    if isinstance(shaped, CallToolResult):
        return shaped
    content, structured = shaped if isinstance(shaped, tuple) else (shaped, None)
    return CallToolResult(content=content, structured_content=structured)


__all__ = ["TaskContext", "TaskholdTasks", "attempts", "current", "detach", "detaching"]
