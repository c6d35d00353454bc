"""Work on queued tasks: a task that is held while a ``with`` block runs."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ._errors import TaskholdError, TimeoutError
from ._times import Timeout, milliseconds, seconds
from ._work import Call, HeldTask, Parked, Steps, WorkInterrupted
from .types import JsonObject, Milliseconds, ObjectPayload, TaskRecord

if TYPE_CHECKING:
    import asyncio

    from .manager import AsyncTaskManager, TaskManager

R = TypeVar("R")

logger = logging.getLogger("taskhold")

# How long a wait on a thread can go on after the work is to stop.
_LOOK = 0.5


def worker_name() -> str:
    """Who claims, unless it is said: host and process."""
    return f"{socket.gethostname()[:200]}:{os.getpid()}"


class Work(HeldTask):
    """A task that is held while the block of ``with tasks.claim(…) as work`` runs, on a thread.

    Its lease is renewed meanwhile. When the client asks for cancelation, the lease is lost or the worker stops, the
    methods raise :class:`WorkInterrupted`, and so does :meth:`check`, which a long step calls now and then. At the end
    of the block a task that was not ended is given back; with no attempt left it fails. It is cancelled where the
    client asked for that.
    """

    def __init__(self, manager: TaskManager, record: TaskRecord, lease_ms: int) -> None:
        super().__init__(manager, record, lease_ms)
        self._stop = threading.Event()

    def interrupt(self, reason: str) -> None:
        """Have the work stop, from any thread: its next call raises :class:`WorkInterrupted` with this reason."""
        if not self._ending and self.interrupted is None:
            self.interrupted = reason
            self._stop.set()

    def check(self) -> None:
        """Raise :class:`WorkInterrupted` if the work is to stop."""
        if self.interrupted is not None:
            raise WorkInterrupted(self.interrupted)

    def sleep(self, timeout: Timeout) -> None:
        """Sleep, seconds or a timedelta; raises :class:`WorkInterrupted` as soon as the work is to stop."""
        self._stop.wait(seconds(timeout))
        self.check()

    def progress(self, status_message: str | None = None, *, checkpoint: Any = None) -> TaskRecord:
        """Set the message for people; store what another worker needs to go on, if it is given."""
        return self._run(self._goes_on(self._progress(status_message, checkpoint)))

    def ask(
        self,
        requests: Mapping[str, Any],
        status_message: str | None = None,
        *,
        park: bool = False,
        timeout: Timeout = None,
    ) -> JsonObject:
        """Ask the client, and wait for all answers. They are kept in the checkpoint, beneath ``answers``.

        A later attempt that asks the same gets them without asking again.

        Args:
            requests: input requests by keys that are used once in the task's life.
            status_message: the message for people meanwhile.
            park: hold the task no longer while the client thinks: raises :class:`Parked`, which the block swallows.
            timeout: longest wait for a change, seconds or a timedelta; None waits without end.

        Returns:
            The answers by their keys.

        Raises:
            TimeoutError: nothing came; the questions stay open.
        """
        return self._run(self._goes_on(self._ask(requests, status_message, park, timeout)))

    def complete(self, result: ObjectPayload, status_message: str | None = None) -> TaskRecord:
        """Complete the task; as :meth:`taskhold.TaskManager.complete_task`."""
        return self._run(self._complete(result, status_message))

    def fail(self, failure: ObjectPayload, status_message: str | None = None) -> TaskRecord:
        """Fail the task for good, whatever attempts are left; as :meth:`taskhold.TaskManager.fail_task`."""
        return self._run(self._fail(failure, status_message))

    def cancel(self, status_message: str | None = None) -> TaskRecord:
        """Cancel the task; as :meth:`taskhold.TaskManager.cancel_task`."""
        return self._make(self._cancel(status_message))

    def release(self, **options: Any) -> TaskRecord:
        """Give the task back; options as for :meth:`taskhold.TaskManager.release_task`, but for the lease."""
        return self._make(self._release(**options))

    def _run(self, steps: Steps[R]) -> R:
        self.check()
        return self._make(steps)

    def _make(self, steps: Steps[R]) -> R:
        try:
            call = next(steps)
            while True:
                try:
                    answer = self._waited(call) if call.name == "wait_task" else self._call(call)
                except BaseException as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(answer)
        except StopIteration as end:
            result: R = end.value
            return result

    def _call(self, call: Call) -> Any:
        return getattr(self._manager, call.name)(*call.arguments, **call.options)

    def _waited(self, call: Call) -> Any:
        """Wait in slices, as nothing wakes the thread when the work is to stop."""
        task_id, seen, timeout = call.arguments
        limit = seconds(timeout)
        deadline = None if limit is None else time.monotonic() + limit
        while True:
            self.check()
            left = _LOOK if deadline is None else min(_LOOK, max(0.0, deadline - time.monotonic()))
            try:
                return self._manager.wait_task(task_id, seen, left)
            except TimeoutError:
                if deadline is not None and time.monotonic() >= deadline:
                    raise


class Claim:
    """What ``with`` enters: it claims, or takes what is held, and settles it at the end of the block."""

    def __init__(
        self,
        manager: TaskManager,
        lease_ms: Milliseconds,
        record: TaskRecord | None = None,
        claim: Mapping[str, Any] | None = None,
    ) -> None:
        self._manager, self._lease_ms = manager, milliseconds(lease_ms)
        self._record, self._claim = record, claim

    def __enter__(self) -> Work:
        record = self._record
        if self._claim is not None:
            record = self._manager.claim_task(**self._claim)
        if record is None:
            raise nothing_came()
        self._work = Work(self._manager, record, self._lease_ms)
        self._manager._renewer.add(self._work)
        return self._work

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        work = self._work
        interruption = isinstance(error, WorkInterrupted)
        try:
            work._make(work._settle(error, interruption))
        except TaskholdError:
            if error is None:
                raise
            # What the block was left by tells more. The lease lapses.
            logger.exception("a task could not be given back")
        finally:
            self._manager._renewer.remove(work)
        return interruption or isinstance(error, Parked)


class AsyncWork(HeldTask):
    """A task that is held while the block of ``async with tasks.claim(…) as work`` runs, on asyncio.

    Its lease is renewed meanwhile. When the client asks for cancelation, the lease is lost or the worker stops,
    :class:`asyncio.CancelledError` is raised in the block, once; ``interrupted`` tells why, and the program goes on
    behind the block. At its end a task that was not ended is given back; with no attempt left it fails. It is
    cancelled where the client asked for that.
    """

    def __init__(self, manager: TaskManager, record: TaskRecord, lease_ms: int) -> None:
        import asyncio

        super().__init__(manager, record, lease_ms)
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        self._task: asyncio.Task[Any] = task
        self._cancelling = task.cancelling()
        self._left = False
        self._cancelled = False

    def interrupt(self, reason: str) -> None:
        """Have the work stop, from any thread."""
        import contextlib

        # A loop that is closed has nobody who works.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._interrupt, reason)

    def _interrupt(self, reason: str) -> None:
        if not self._left and not self._ending and self.interrupted is None:
            self.interrupted = reason
            self._cancelled = True
            self._task.cancel(reason)

    async def progress(self, status_message: str | None = None, *, checkpoint: Any = None) -> TaskRecord:
        """Set the message for people; store what another worker needs to go on, if it is given."""
        return await self._go_on(self._progress(status_message, checkpoint))

    async def ask(
        self,
        requests: Mapping[str, Any],
        status_message: str | None = None,
        *,
        park: bool = False,
        timeout: Timeout = None,
    ) -> JsonObject:
        """Ask the client, and wait for all answers. They are kept in the checkpoint, beneath ``answers``.

        A later attempt that asks the same gets them without asking again.

        Args:
            requests: input requests by keys that are used once in the task's life.
            status_message: the message for people meanwhile.
            park: hold the task no longer while the client thinks: raises :class:`Parked`, which the block swallows.
            timeout: longest wait for a change, seconds or a timedelta; None waits without end.

        Returns:
            The answers by their keys.

        Raises:
            TimeoutError: nothing came; the questions stay open.
        """
        return await self._go_on(self._ask(requests, status_message, park, timeout))

    async def complete(self, result: ObjectPayload, status_message: str | None = None) -> TaskRecord:
        """Complete the task; as :meth:`taskhold.TaskManager.complete_task`."""
        return await self._make(self._complete(result, status_message))

    async def fail(self, failure: ObjectPayload, status_message: str | None = None) -> TaskRecord:
        """Fail the task for good, whatever attempts are left; as :meth:`taskhold.TaskManager.fail_task`."""
        return await self._make(self._fail(failure, status_message))

    async def cancel(self, status_message: str | None = None) -> TaskRecord:
        """Cancel the task; as :meth:`taskhold.TaskManager.cancel_task`."""
        return await self._make(self._cancel(status_message))

    async def release(self, **options: Any) -> TaskRecord:
        """Give the task back; options as for :meth:`taskhold.TaskManager.release_task`, but for the lease."""
        return await self._make(self._release(**options))

    async def _go_on(self, steps: Steps[R]) -> R:
        import asyncio

        try:
            return await self._make(self._goes_on(steps))
        except WorkInterrupted as interruption:
            # The block is told as it is of every interruption.
            if not self._cancelled:
                self._cancelled = True
                self._task.cancel(interruption.reason)
            if asyncio.current_task() is self._task:
                await asyncio.sleep(0)
            raise

    async def _make(self, steps: Steps[R]) -> R:
        try:
            call = next(steps)
            while True:
                try:
                    answer = await getattr(self._manager, f"{call.name}_async")(*call.arguments, **call.options)
                except BaseException as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(answer)
        except StopIteration as end:
            result: R = end.value
            return result


class AsyncClaim:
    """What ``async with`` enters: it claims, or takes what is held, and settles it at the end of the block."""

    def __init__(
        self,
        manager: AsyncTaskManager,
        lease_ms: Milliseconds,
        record: TaskRecord | None = None,
        claim: Mapping[str, Any] | None = None,
    ) -> None:
        self._opened, self._lease_ms = manager, milliseconds(lease_ms)
        self._record, self._claim = record, claim

    async def __aenter__(self) -> AsyncWork:
        manager = await self._opened._opened()
        record = self._record
        if self._claim is not None:
            record = await manager.claim_task_async(**self._claim)
        if record is None:
            raise nothing_came()
        # No await from here on: a cancelled one would leave the task held.
        self._work = AsyncWork(manager, record, self._lease_ms)
        manager._renewer.add(self._work)
        return self._work

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        import asyncio

        work = self._work
        work._left = True
        ours = work._cancelled
        delivered = ours and isinstance(error, asyncio.CancelledError)
        interruption = delivered or isinstance(error, WorkInterrupted)
        cancelled = None
        try:
            cancelled = await to_the_end(work._make(work._settle(error, interruption)))
        except TaskholdError:
            if error is None:
                raise
            # What the block was left by tells more. The lease lapses.
            logger.exception("a task could not be given back")
        finally:
            work._manager._renewer.remove(work)
        # Whoever else cancelled this, besides the interruption, still finds it cancelled.
        others = work._task.uncancel() > work._cancelling if ours else False
        if cancelled is not None and (others or not ours or delivered):
            raise cancelled
        return (interruption and not others) or isinstance(error, Parked)


async def to_the_end(coroutine: Coroutine[Any, Any, None]) -> asyncio.CancelledError | None:
    """Await a coroutine to its end, also when this is cancelled meanwhile; gives that cancelation."""
    import asyncio

    settling = asyncio.ensure_future(coroutine)
    cancelled = None
    while not settling.done():
        try:
            await asyncio.wait([settling])
        except asyncio.CancelledError as error:
            cancelled = error
    settling.result()
    return cancelled


def nothing_came() -> TimeoutError:
    """What a claim ends with that has waited long enough."""
    return TimeoutError("no task came within the time given", reason="timeout")


def claiming(queues: Sequence[str], worker: str | None, lease_ms: Milliseconds, timeout: Timeout) -> dict[str, Any]:
    """The arguments of a claim."""
    return {"queues": queues, "worker": worker or worker_name(), "lease_ms": lease_ms, "timeout": timeout}


__all__ = ["AsyncWork", "Parked", "Work", "WorkInterrupted"]
