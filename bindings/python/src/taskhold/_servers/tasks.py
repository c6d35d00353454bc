"""Tool calls as tasks of one manager, for one server: who may become a task, and what the protocol asks about them."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Any, Literal, TypeAlias

from mcp.server.context import HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from .._errors import CapacityExhaustedError, TaskholdError
from .._times import milliseconds
from ..manager import AsyncTaskManager
from ..store import Store
from ..types import Milliseconds, TaskRecord
from ..work import worker_name
from .runs import Body, Hold, Run, within_run
from .wire import Context, check_name, declared, partition, require_declared

logger = logging.getLogger("taskhold")

TaskSupport: TypeAlias = Literal["optional", "required"]
Detach: TypeAlias = Literal["start", "tool"]
Where: TypeAlias = AsyncTaskManager | Store | str | os.PathLike[str] | None


class Tasks:
    """The tasks of a server and what runs of them in this process."""

    def __init__(self, where: Where, endpoint: str, lease_ms: Milliseconds | None, options: dict[str, Any]) -> None:
        if isinstance(where, AsyncTaskManager):
            if options:
                raise TypeError("a manager that is open takes no options")
            self.manager = where
        else:
            self.manager = AsyncTaskManager(where, **options)
        self.endpoint = endpoint
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

    async def call(self, context: Context, tool: str, when: Detach, body: Body) -> HandlerResult | Run:
        """Run a tool that may become a task.

        Returns:
            The run, once it is a task that is stored and goes on by itself; else what the body returned.
        """
        run = Run(self, context, tool, body)
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

    async def create(self, context: Context, tool: str, kinds: list[str]) -> TaskRecord:
        """Create the task of a run, in the hands of this process."""
        try:
            return await self._create(context, tool, kinds, self._lease_ms)
        except CapacityExhaustedError as error:
            raise MCPError(INTERNAL_ERROR, "Too many tasks are retained") from error
        except TaskholdError as error:
            logger.exception("a task could not be created")
            raise MCPError(INTERNAL_ERROR, "Internal error") from error

    async def _create(self, context: Context, tool: str, kinds: list[str], lease_ms: int | None) -> TaskRecord:
        return await self.manager.create_task(
            self.endpoint,
            {"method": "tools/call", "name": tool},
            authorization_partition=partition(context),
            declared_input_requests=kinds,
            lease=None if lease_ms is None else {"worker": worker_name(), "lease_ms": lease_ms},
        )

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

    async def stop(self) -> None:
        """Stop all work: each task that is not done is failed, as one that the server stopped."""
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
