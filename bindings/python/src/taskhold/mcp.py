"""Durable tasks for servers on the official MCP SDK (``mcp`` 2.x): tools that run as tasks of a task manager.

>>> from mcp.server import MCPServer
>>> from taskhold.mcp import TasksExtension
>>> tasks = TasksExtension("memory:")
>>> @tasks.tool()
... async def slow(seconds: float) -> str:
...     await asyncio.sleep(seconds)
...     return "done"
>>> server = MCPServer("example", extensions=[tasks], middleware=[tasks.listen], lifespan=tasks.lifespan)

Needs the extra ``taskhold[mcp]``. A call becomes a task when the client declared the extension
``io.modelcontextprotocol/tasks``, which exists since version 2026-07-28 of the protocol; else it runs inline. In a task
``ctx.elicit()`` and its like ask the client through the task, ``ctx.report_progress()`` sets its status message, and a
cancelation request raises :class:`asyncio.CancelledError`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar, Unpack

from mcp.server.context import CallNext, HandlerResult
from mcp.server.extension import Extension, MethodBinding, ToolBinding
from mcp_types import CallToolRequestParams, InputResponses
from pydantic import TypeAdapter

from ._servers import listen
from ._servers.calls import StoredCall
from ._servers.current import TaskContext, current, detach
from ._servers.runs import Answered, Body, Run
from ._servers.tasks import Detach, Policy, Repeated, Tasks, TaskSupport, Where, checked_attempts, created
from ._servers.wire import EXTENSION, METHODS, VERSIONS, Context, TaskParams
from .types import ManagerOptions, Milliseconds

_responses: TypeAdapter[InputResponses] = TypeAdapter(InputResponses)

F = TypeVar("F", bound=Callable[..., Any])


class TasksExtension(Extension):
    """The extension ``io.modelcontextprotocol/tasks`` over a task manager: ``MCPServer(extensions=[tasks])``.

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
            queue: a name, the same in each process of the server: tools with ``attempts`` run again in another process
                when theirs ends. Needs :meth:`lifespan` or :meth:`work`.
            concurrency: how many such tasks of others run in this process at once.
            **options: those of :class:`taskhold.TaskManager`, unless ``where`` is one.
        """
        self._tasks = Tasks(where, endpoint, lease_ms, dict(options), queue, concurrency)
        self._policies: dict[str, Policy] = {}
        self._tools: list[ToolBinding] = []
        self._taken = False

    def tool(
        self,
        name: str | None = None,
        *,
        task_support: TaskSupport = "optional",
        detach: Detach = "start",
        attempts: int = 1,
        meta: dict[str, Any] | None = None,
        **options: Any,
    ) -> Callable[[F], F]:
        """Decorate a tool of the server that may run as a task. Before the server is made.

        Args:
            name: the tool's name; the function's unless given.
            task_support: ``required`` refuses clients that did not declare tasks, with -32021; ``optional`` serves
                them inline.
            detach: ``start`` makes a task before the tool runs. With ``tool`` it runs in the foreground, where it
                may ask by returning an ``InputRequiredResult``, until it awaits :meth:`detach`.
            attempts: how often the tool may be begun for one call, 1 to 1000. With more than one, which needs
                ``queue``, another process runs it again when this one dies: from its start, with the same arguments.
            meta: the tool's ``_meta``.
            **options: those of the SDK's ``MCPServer.add_tool``.
        """

        def register(function: F) -> F:
            if self._taken:
                raise RuntimeError("the server is made: declare its tools before, or opt them in by opt_in()")
            tool_name = name or function.__name__
            self._tools.append(ToolBinding(function, meta, {"name": tool_name, **options}))
            self.opt_in(tool_name, task_support=task_support, detach=detach, attempts=attempts)
            return function

        return register

    def opt_in(
        self, name: str, *, task_support: TaskSupport = "optional", detach: Detach = "start", attempts: int = 1
    ) -> None:
        """Let a tool that was declared elsewhere, as by ``@server.tool()``, run as a task; arguments as for tool()."""
        if task_support not in ("optional", "required"):
            raise ValueError("task_support must be 'optional' or 'required'")
        if detach not in ("start", "tool"):
            raise ValueError("detach must be 'start' or 'tool'")
        if checked_attempts(attempts) > 1 and self._tasks.queue is None:
            raise ValueError("attempts needs the extension's queue")
        self._policies[name] = Policy(task_support, detach, attempts)

    async def detach(self) -> None:
        """Become a task now: the client gets its handle, and the tool goes on in the background.

        Does nothing where the tool runs inline or already is a task.
        """
        await detach()

    def current(self) -> TaskContext:
        """The task of the tool that calls this: its id, attempt and checkpoint."""
        return current()

    async def listen(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Middleware that sends ``notifications/tasks``: ``MCPServer(…, middleware=[tasks.listen])``."""
        return await listen.listen(self._tasks, ctx, call_next)

    @asynccontextmanager
    async def lifespan(self, server: Any) -> AsyncIterator[dict[str, Any]]:
        """The lifespan of a server that has none of its own: ``MCPServer(…, lifespan=tasks.lifespan)``.

        With :meth:`work`, so that what is not done when the server ends is given back, or fails as stopped.
        """
        state: dict[str, Any] = {}
        async with self.work(server, state):
            yield state

    @asynccontextmanager
    async def work(self, server: Any, lifespan_context: Any = None) -> AsyncIterator[None]:
        """Take over tasks of the queue whose process ended, until the block ends; then :meth:`stop`.

        For a lifespan of yours: ``async with tasks.work(server, state): yield state``.

        Args:
            server: the ``MCPServer``, as its lifespan gets it.
            lifespan_context: what the lifespan yields, for tools that read it.
        """

        async def again(call: StoredCall) -> Repeated | None:
            params = CallToolRequestParams.model_validate(call["params"])
            if params.name not in self._policies:
                return None
            # The SDK has no public way to make a call without a client.
            entry = server._lowlevel_server.get_request_handler("tools/call")
            return Repeated(_body(params, lambda context: entry.handler(context, params)), lifespan_context)

        async with self._tasks.working(again):
            yield

    async def stop(self) -> None:
        """Stop the work of this process, at the end of a lifespan: what is not done is given back, or fails as stopped.

        A task whose tool may run again goes back to the queue, and its attempt does not count.
        """
        await self._tasks.stop()

    # What the SDK asks of an extension

    def tools(self) -> Sequence[ToolBinding]:
        """Tools that were declared by :meth:`tool`."""
        self._taken = True
        return self._tools

    def methods(self) -> Sequence[MethodBinding]:
        """``tasks/get``, ``tasks/update`` and ``tasks/cancel``."""
        return [MethodBinding(method, TaskParams, self._handler(method), VERSIONS) for method in METHODS]

    def _handler(self, method: str) -> Callable[[Context, Any], Any]:
        async def handle(context: Context, params: TaskParams) -> HandlerResult:
            return await self._tasks.handle(method, context)

        return handle

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: Context, call_next: CallNext
    ) -> HandlerResult:
        """Run a tool that opted in as a task, any other inline."""
        policy = self._policies.get(params.name)
        if policy is None or self._tasks.inline(ctx, policy.support):
            return await call_next(ctx)
        outcome = await self._tasks.call(ctx, params.name, policy.detach, _body(params, call_next), policy.attempts)
        return created(outcome) if isinstance(outcome, Run) else outcome


def _body(params: CallToolRequestParams, call_next: CallNext) -> Body:
    async def body(run: Run, context: Context, answered: Answered | None) -> HandlerResult:
        if answered is not None:
            # The tool is called with these same params each time: they are all that reaches it.
            params.input_responses = _responses.validate_python(answered.responses)
            params.request_state = answered.request_state
        return await call_next(context)

    return body


__all__ = ["TaskContext", "TasksExtension", "current", "detach"]
