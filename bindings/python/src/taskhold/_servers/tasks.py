"""Tool calls as tasks of one manager, for one server: who may become a task, and what the protocol asks about them."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from mcp.server.context import HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from .._errors import CapacityExhaustedError, TaskholdError
from .._times import milliseconds
from ..manager import AsyncTaskManager
from ..store import Store
from ..types import CreationOptions, Milliseconds, TaskRecord
from ..work import AsyncWork, to_the_end, worker_name
from ..worker import AsyncWorker
from .calls import StoredCall, calling, restored, stored
from .current import within_run
from .journal import Journal
from .runs import Body, Hold, Run
from .wire import Context, check_name, declared, partition, require_declared

logger = logging.getLogger("taskhold")

TaskSupport: TypeAlias = Literal["optional", "required"]
Detach: TypeAlias = Literal["start", "tool"]
Where: TypeAlias = AsyncTaskManager | Store | str | os.PathLike[str] | None


# How a server runs a stored call again: the body, and what the server's lifespan gave; None for a tool that it does not
# have.
Again: TypeAlias = Callable[[StoredCall], Awaitable["Repeated | None"]]


class Repeated(NamedTuple):
    """What runs a stored call again."""

    body: Body
    lifespan_context: Any


class Policy(NamedTuple):
    """What a tool says about the tasks of its calls."""

    support: TaskSupport
    detach: Detach
    attempts: int = 1


def checked_attempts(number: int) -> int:
    """A number of attempts, as a tool says it: refused where the tool is declared, not at its first call."""
    if not 1 <= number <= 1000:
        raise ValueError("attempts must be between 1 and 1000")
    return number


class _ServerWorker(AsyncWorker):
    """A worker within a server, whose signals are the server's own."""

    _heeds_sigterm = False


class Tasks:
    """The tasks of a server and what runs of them in this process."""

    def __init__(
        self,
        where: Where,
        endpoint: str,
        lease_ms: Milliseconds | None,
        options: dict[str, Any],
        queue: str | None = None,
        concurrency: int = 8,
    ) -> None:
        if queue is not None and lease_ms is None:
            raise ValueError("queue needs lease_ms: without a lease nobody notices that work has stopped")
        if concurrency < 1:
            raise ValueError("concurrency must be at least 1")
        if isinstance(where, AsyncTaskManager):
            if options:
                raise TypeError("a manager that is open takes no options")
            self.manager = where
        else:
            self.manager = AsyncTaskManager(where, **options)
        self.endpoint = endpoint
        self.queue = queue
        self._concurrency = concurrency
        self._lease_ms = None if lease_ms is None else milliseconds(lease_ms)
        self._runs: set[Run] = set()

    # What the protocol asks

    async def handle(self, method: str, context: Context) -> dict[str, Any]:
        """Answer ``tasks/get``, ``tasks/update`` or ``tasks/cancel``."""
        check_name(context)
        request = {"jsonrpc": "2.0", "id": 0, "method": method, "params": dict(context.params or {})}
        try:
            response = await self.manager.handle_request(self.endpoint, partition(context), request)
        except TaskholdError as error:
            logger.exception("%s failed", method)
            raise MCPError(INTERNAL_ERROR, "Internal error") from error
        assert response is not None
        if (refusal := response.get("error")) is not None:
            raise MCPError(refusal["code"], refusal["message"], refusal.get("data"))
        result: dict[str, Any] = response["result"]
        return result

    # Tool calls

    async def call(
        self, context: Context, tool: str, when: Detach, body: Body, attempts: int = 1
    ) -> HandlerResult | Run:
        """Run a tool that may become a task.

        Returns:
            The run, once it is a task that is stored and goes on by itself; else what the body returned.
        """
        run = Run(self, context, tool, body, attempts)
        if when == "start":
            await run.create()
        work = run.start()
        if run.task_id is None:
            created = asyncio.ensure_future(run.created.wait())
            try:
                await asyncio.wait({work, created}, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                # The client went away; if it already is a task, it may come back for it.
                if run.task_id is None:
                    work.cancel()
                raise
            finally:
                created.cancel()
            if run.task_id is None:
                return await work
        work.add_done_callback(_retrieve)
        return run

    def inline(self, context: Context, support: TaskSupport) -> bool:
        """Whether a tool has to run without a task; refuses, with -32021, one that requires a task then."""
        if within_run():
            # The tool of a run called this one: its client is that tool.
            return True
        if declared(context):
            return False
        if support == "required":
            require_declared(context)
        return True

    async def create(self, context: Context, tool: str, kinds: list[str], attempts: int) -> TaskRecord:
        """Create the task of a run, in the hands of this process; others may claim it if it has more attempts."""
        queued: CreationOptions = {}
        if attempts > 1:
            queued = {"queue": self.queue, "work": stored(context), "attempts": {"maximum": attempts}}
        try:
            return await self._create(context, tool, kinds, self._lease_ms, queued)
        except CapacityExhaustedError as error:
            raise MCPError(INTERNAL_ERROR, "Too many tasks are retained") from error
        except TaskholdError as error:
            logger.exception("a task could not be created")
            raise MCPError(INTERNAL_ERROR, "Internal error") from error

    async def _create(
        self, context: Context, tool: str, kinds: list[str], lease_ms: int | None, queued: CreationOptions
    ) -> TaskRecord:
        options: CreationOptions = {
            "authorization_partition": partition(context),
            "declared_input_requests": kinds,
            "lease": None if lease_ms is None else {"worker": worker_name(), "lease_ms": lease_ms},
            **queued,
        }
        return await self.manager.create_task(self.endpoint, {"method": "tools/call", "name": tool}, **options)

    async def hold(self, run: Run, record: TaskRecord) -> Hold | None:
        """Keep the lease under which a task was created, with those of all other work of this process."""
        lease = record.get("lease")
        if lease is None or self._lease_ms is None:
            return None
        hold = Hold(run, record["task"]["taskId"], lease["token"], self._lease_ms)
        (await self.manager._opened())._renewer.add(hold)
        return hold

    def add(self, run: Run) -> None:
        """Keep a run that is a task, which nobody else holds."""
        self._runs.add(run)

    def discard(self, run: Run, hold: Hold | None) -> None:
        """Let go of a run that is over."""
        self._runs.discard(run)
        if hold is not None and self.manager._client is not None:
            self.manager._client._renewer.remove(hold)

    # Work of processes that ended

    @asynccontextmanager
    async def working(self, again: Again) -> AsyncIterator[None]:
        """Take over tasks of the queue, if there is one, until the end of the block; then stop all work."""
        if self.queue is None:
            try:
                yield
            finally:
                await self.stop()
            return
        assert self._lease_ms is not None
        worker = _ServerWorker(self.manager, [self.queue], self._concurrency, None, self._lease_ms, 0)
        taking_over = asyncio.create_task(self._take_over(worker, again), name="taskhold-takes-over")
        try:
            yield
        finally:
            worker.stop()
            await self.stop()
            await taking_over

    async def _take_over(self, worker: AsyncWorker, again: Again) -> None:
        try:
            await worker.run(lambda work: self._run_again(work, again))
        except TaskholdError:
            logger.exception("this process takes over no tasks")

    async def _run_again(self, work: AsyncWork, again: Again) -> None:
        """Run the tool of a claimed task; the run ends the task, or gives it back."""
        if work.record["endpoint"] == self.endpoint and isinstance(work.work, dict):
            call = cast(StoredCall, work.work)
            with calling(call):
                repeated = await again(call)
                if repeated is not None:
                    await self._repeat(work, call, repeated)
                    return
        # Another version of the server may have the tool.
        logger.warning("a queued task is of a tool or an endpoint that this process does not have")
        await work.release(counts_as_attempt=False, delay_ms=self._lease_ms)

    async def _repeat(self, work: AsyncWork, call: StoredCall, repeated: Repeated) -> None:
        context = restored(call, repeated.lifespan_context)
        run = Run(self, context, call["params"]["name"], repeated.body, journal=Journal(work.checkpoint))
        await run.take_over(work.record)
        # From here on the run holds the task in the place of the worker.
        work.outcome = "lost"
        body = run.start()
        body.add_done_callback(_retrieve)
        try:
            await asyncio.wait([body])
        except asyncio.CancelledError:
            run.interrupted(work.interrupted or "stopping")
            await to_the_end(run.ended())
            raise

    async def stop(self) -> None:
        """Stop all work: what is not done is given back to the queue, or fails as stopped by the server."""
        runs = list(self._runs)
        for run in runs:
            run.stop()
        await asyncio.gather(*(run.ended() for run in runs))


def created(run: Run) -> dict[str, Any]:
    """The result of a call that became a task, as it was when it was created."""
    assert run.record is not None
    return {"resultType": "task", **run.record["task"]}


def _retrieve(work: asyncio.Task[HandlerResult]) -> None:
    # What became of the body is in the store; asyncio would complain about an error that nobody asked for.
    if not work.cancelled():
        work.exception()
