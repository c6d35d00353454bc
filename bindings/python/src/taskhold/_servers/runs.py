"""One tool call: in the foreground until it becomes a task, and in the background from then on.

A run follows its task in the store. So it sees answers and cancelation requests that another process took, and stops
when the task has ended without it. What it stores is the last word only if it comes first: of racing ends one wins.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mcp.server.context import HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, ErrorData, InputRequiredResult
from mcp_types.methods import serialize_server_result
from pydantic import BaseModel

from .._errors import (
    ClosedError,
    ConflictError,
    InvalidArgumentError,
    InvalidStateError,
    LimitExceededError,
    NotFoundError,
    TaskholdError,
    UnavailableError,
)
from ..types import TaskRecord
from .channel import redirected
from .current import running
from .journal import Journal, key
from .wire import Context, kind, kinds, missing_capability

if TYPE_CHECKING:
    from .tasks import Tasks

logger = logging.getLogger("taskhold")

# Between attempts to store the end of a task while the storage fails, in seconds.
_PAUSES = (0.1, 1.0, 5.0)

# A task that ended, expired or is in other hands: there is nothing left to do for it here.
_GONE = (NotFoundError, InvalidStateError, ConflictError)


class Answered(NamedTuple):
    """What the client answered to a result that asked for input, as it came, and the state of that result."""

    responses: dict[str, Any]
    request_state: str | None


class Body(Protocol):
    """Runs the tool once: in this context, with these answers to what it returned before."""

    def __call__(self, run: Run, context: Context, answered: Answered | None, /) -> Awaitable[HandlerResult]: ...


class Hold:
    """The lease of a run, as what renews it wants to have it."""

    def __init__(self, run: Run, task_id: str, lease: int, lease_ms: int) -> None:
        self.task_id, self.lease, self.lease_ms = task_id, lease, lease_ms
        self._run = run
        self._loop = asyncio.get_running_loop()

    def interrupt(self, reason: str) -> None:
        """Have the run stop, from any thread: its lease is lost, or its client asks for cancelation."""
        # A loop that is closed runs nothing any more.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._run.interrupted, reason)


class Run:
    """A tool call that may become a task."""

    def __init__(
        self, tasks: Tasks, context: Context, tool: str, body: Body, attempts: int = 1, journal: Journal | None = None
    ) -> None:
        self.context = context
        # None where nobody runs the tool again.
        self.journal = Journal() if journal is None and attempts > 1 else journal
        self.task_id: str | None = None
        self.record: TaskRecord | None = None
        self.created = asyncio.Event()
        # Called once the run is a task, before its body goes on.
        self.on_created: Callable[[], None] = lambda: None
        self._tasks = tasks
        self._tool = tool
        self._body = body
        self._attempts_allowed = attempts
        self._kinds = kinds(context.session.client_capabilities)
        self._creating = asyncio.Lock()
        self._asking = asyncio.Lock()
        self._questions: dict[str, asyncio.Future[Any]] = {}
        self._message: str | None = None
        self._said: str | None = None
        self._saying = False
        self._work: asyncio.Task[HandlerResult] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._cancelation_requested = False
        self._hold: Hold | None = None
        self._begun = False
        self._stopping = False
        self._settling = False

    def start(self) -> asyncio.Task[HandlerResult]:
        """Run the tool's body in a task of the loop."""
        self._work = asyncio.create_task(self._drive(), name=f"taskhold:{self._tool}")
        if self._stopping:
            self.stop()
        return self._work

    async def create(self) -> None:
        """Make the run a task, unless it is one; the task is stored when this returns."""
        async with self._creating:
            if self.task_id is not None:
                return
            self.record = await self._tasks.create(self.context, self._tool, self._kinds, self._attempts_allowed)
            self.task_id = self.record["task"]["taskId"]
            self._hold = await self._tasks.hold(self, self.record)
            self.on_created()
            self._watching = asyncio.create_task(self._watch(self.task_id, self.record["revision"]))
            self._tasks.add(self)
            self.created.set()

    async def take_over(self, record: TaskRecord) -> None:
        """Go on as a task that was claimed, with the answers that nobody took; before the start."""
        self.record, self.task_id = record, record["task"]["taskId"]
        self._message = record["task"].get("statusMessage")
        self._hold = await self._tasks.hold(self, record)
        try:
            await self._take(self.task_id)
        except BaseException:
            self._tasks.discard(self, self._hold)
            raise
        self._watching = asyncio.create_task(self._watch(self.task_id, record["revision"]))
        self._tasks.add(self)

    @property
    def _lease(self) -> int | None:
        return None if self._hold is None else self._hold.lease

    def interrupted(self, reason: str) -> None:
        """Stop because the client asks for it, or because the task is in other hands."""
        if reason == "cancelation_requested":
            self._cancelation_requested = True
        self.stop()

    # What the body's session does

    async def ask(self, requests: list[dict[str, Any]]) -> list[Any]:
        """Put questions to the client, and wait for all answers."""
        assert self.task_id is not None
        for request in requests:
            needed, capability = kind(request)
            if needed not in self._kinds:
                raise missing_capability(capability)
        asked: dict[str, dict[str, Any]] = {}
        answers: list[asyncio.Future[Any]] = []
        for request in requests:
            answers.append(answer := asyncio.get_running_loop().create_future())
            name = None if self.journal is None else self.journal.name(request)
            if self.journal is not None and name in self.journal.answers:
                # An attempt before this one asked.
                answer.set_result(self.journal.answers[name])
            else:
                asked[unused := key(name)] = request
                self._questions[unused] = answer
        try:
            if asked:
                await self._request_input(self.task_id, asked)
            return await asyncio.gather(*answers)
        finally:
            waiting = {one: self._questions.pop(one) for one in asked}
            unanswered = [one for one, answer in waiting.items() if not answer.done() or answer.cancelled()]
            if unanswered and not self._hands_over():
                await self._withdraw(self.task_id, unanswered)

    async def _request_input(self, task_id: str, requests: dict[str, Any]) -> None:
        async with self._asking:
            while True:
                try:
                    await self._tasks.manager.request_task_input(task_id, requests, self._message, lease=self._lease)
                    return
                except InvalidStateError as error:
                    if error.reason != "input_responses_untaken":
                        raise
                # An earlier question was answered meanwhile: its answer has to be out of the way.
                await self._take(task_id)

    async def _withdraw(self, task_id: str, keys: list[str]) -> None:
        """Take back questions whose answers nobody waits for any more."""
        with contextlib.suppress(*_GONE, ClosedError):
            await self._tasks.manager.mark_task_working(
                task_id, self._message, withdraw_input_requests=keys, lease=self._lease
            )

    async def _take(self, task_id: str) -> None:
        # The last answer cleared the message.
        self._said = None
        for one, answer in (await self._taken(task_id)).items():
            if (waiting := self._questions.get(one)) is not None and not waiting.done():
                waiting.set_result(answer)

    async def _taken(self, task_id: str) -> dict[str, Any]:
        """Take the answers; where the tool may run again, they are taken and kept in one step."""
        manager, journal = self._tasks.manager, self.journal
        if journal is None:
            return await manager.take_task_input_responses(task_id, lease=self._lease)
        async with journal.lock:
            while (record := await manager.find_task(task_id)) is not None:
                held: Any = {"lease": self._lease, "expected_revision": record["revision"]}
                try:
                    taken = await manager.take_task_input_responses(task_id, peek=True, **held)
                    if taken:
                        stored = journal.with_answers(taken)
                        await manager.take_task_input_responses(task_id, checkpoint=stored, **held)
                        journal.add(stored)
                    return taken
                except ConflictError as error:
                    if error.reason != "revision_mismatch":
                        raise
        return {}

    async def set_checkpoint(self, value: Any) -> None:
        """Store a tool's checkpoint, if the tool may run again."""
        journal, hold = self.journal, self._hold
        if journal is None or hold is None:
            return
        stored = {"checkpoint": value, "answers": {}}
        async with journal.lock:
            outcome = await self._tasks.manager.renew_leases(
                [{"task_id": hold.task_id, "lease": hold.lease, "checkpoint": stored}], lease_ms=hold.lease_ms
            )
            if outcome["lost"]:
                self.interrupted("lease_lost")
                # The body is told here.
                await asyncio.sleep(0)
                return
            journal.begin(stored)

    async def say(self, message: str) -> None:
        """Set the status message. What is said while the store writes is written next, the latest only."""
        assert self.task_id is not None
        self._message = message
        if self._saying:
            return
        self._saying = True
        try:
            while self._message != self._said:
                said = self._message
                # No question is withdrawn by progress.
                await self._tasks.manager.mark_task_working(
                    self.task_id, said, withdraw_input_requests=[], lease=self._lease
                )
                self._said = said
        except _GONE:
            pass  # The watch tells the body.
        finally:
            self._saying = False

    # The task's life

    async def _watch(self, task_id: str, revision: int) -> None:
        """Follow the task, and tell the body what came: answers, a cancelation request, an end."""
        manager = self._tasks.manager
        while True:
            try:
                record = await manager.wait_task(task_id, revision)
                if self._questions:
                    await self._take(task_id)
                # Seen only now: a take that failed is made again.
                revision = record["revision"]
            except (*_GONE, ClosedError):
                return self.stop()
            except TaskholdError:
                logger.exception("a task cannot be followed")
                await asyncio.sleep(1)
                continue
            if record["cancelationRequested"]:
                self._cancelation_requested = True
                return self.stop()
            if record["task"]["status"] in ("completed", "failed", "cancelled"):
                return self.stop()

    def stop(self) -> None:
        """Stop the body, and store why; nothing if its end is being stored."""
        self._stopping = True
        if self._work is None or self._settling:
            return
        if self._begun:
            self._work.cancel()
        else:
            # asyncio would drop it without a step, and nothing would be stored.
            asyncio.get_running_loop().call_soon(self.stop)

    def _hands_over(self) -> bool:
        """Whether the run is stopped for another process to run the tool again."""
        return self._stopping and self.journal is not None and not self._cancelation_requested

    async def ended(self) -> None:
        """Wait until the body has ended and its end is stored."""
        if self._work is not None:
            await asyncio.wait([self._work])

    async def _drive(self) -> HandlerResult:
        running.set(self)
        self._begun = True
        try:
            result = await self._attempts()
        except asyncio.CancelledError:
            self._settling = True
            await self._stopped()
            raise
        except Exception as error:
            self._settling = True
            if self.task_id is None:
                raise
            await self._failed(error)
            return None
        else:
            self._settling = True
            if self.task_id is not None:
                await self._completed(self.task_id, result)
            return result
        finally:
            if self._watching is not None:
                self._watching.cancel()
            self._tasks.discard(self, self._hold)

    async def _attempts(self) -> HandlerResult:
        """Run the body; while the run is a task, a result that asks for input is asked through it."""
        context = redirected(self)
        answered: Answered | None = None
        while True:
            result = await self._body(self, context, answered)
            if self.task_id is None or not isinstance(result, InputRequiredResult):
                return result
            asked = result.input_requests or {}
            requests = [request.model_dump(by_alias=True, mode="json", exclude_none=True) for request in asked.values()]
            answers = await self.ask(requests) if requests else []
            answered = Answered(dict(zip(asked, answers, strict=True)), result.request_state)

    async def _completed(self, task_id: str, result: HandlerResult) -> None:
        try:
            # The SDK shapes the results that it sends; this one is sent inside the result of tasks/get.
            shaped = serialize_server_result("tools/call", self.context.protocol_version, _dumped(result))
            await self._store(lambda: self._tasks.manager.complete_task(task_id, shaped, lease=self._lease))
        except (InvalidArgumentError, LimitExceededError, ValueError, TypeError) as error:
            # The tool gave what is no result, or more than a task holds.
            await self._failed(error)

    async def _failed(self, error: Exception) -> None:
        if isinstance(error, MCPError):
            failure = error.error
        else:
            logger.error("tool %r failed", self._tool, exc_info=error)
            failure = ErrorData(code=INTERNAL_ERROR, message="Internal error")
        await self._fail(failure)

    async def _fail(self, failure: ErrorData) -> None:
        task_id, dumped = self.task_id, failure.model_dump(mode="json", exclude_none=True)
        if task_id is not None:
            await self._store(
                lambda: self._tasks.manager.fail_task(task_id, dumped, failure.message, lease=self._lease)
            )

    async def _stopped(self) -> None:
        """Store why the body was stopped, or give the task back; only a client makes a task cancelled."""
        task_id = self.task_id
        if task_id is None:
            return
        if self._cancelation_requested:
            await self._store(lambda: self._tasks.manager.cancel_task(task_id, lease=self._lease))
        elif self.journal is not None and (lease := self._lease) is not None:
            # The tool did nothing wrong: its attempt is gone on with.
            await self._store(lambda: self._tasks.manager.release_task(task_id, lease=lease, counts_as_attempt=False))
        else:
            await self._fail(ErrorData(code=INTERNAL_ERROR, message="The server stopped before the work was done"))

    async def _store(self, ending: Callable[[], Awaitable[Any]]) -> None:
        """Store the end of the task, unless it has one."""
        for pause in (*_PAUSES, None):
            try:
                await ending()
                return
            except (*_GONE, ClosedError):
                return
            except UnavailableError:
                if pause is None:
                    logger.exception("the end of a task could not be stored")
                    return
                await asyncio.sleep(pause)


def _dumped(result: HandlerResult) -> dict[str, Any]:
    if isinstance(result, BaseModel):
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dict(result or {})
