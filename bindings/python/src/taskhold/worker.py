"""Workers: a function for each task of some queues, until they are told to stop."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ._errors import InvalidHandleError, TaskholdError, UnavailableError
from ._times import Timeout, milliseconds, seconds
from .types import Milliseconds
from .work import AsyncClaim, AsyncWork, Claim, Work, worker_name

if TYPE_CHECKING:
    import asyncio
    from types import FrameType

    from .manager import AsyncTaskManager, TaskManager

logger = logging.getLogger("taskhold")

# How long a thread that waits for a task does not notice that the worker stops.
_LOOK = 0.5

# After a storage failure.
_PAUSE = 1.0

# For work that was told to stop on a thread.
_LAST = 5.0


class WorkerBase:
    """What workers on threads and on asyncio have in common."""

    def __init__(
        self, queues: Sequence[str], concurrency: int, worker: str | None, lease_ms: Milliseconds, grace: Timeout
    ) -> None:
        self._queues = [queues] if isinstance(queues, str) else list(queues)
        self._concurrency = concurrency
        self._name = worker or worker_name()
        self._lease_ms = milliseconds(lease_ms)
        self._grace = seconds(grace)


class Worker(WorkerBase):
    """Runs a function for each task, in threads; from :meth:`taskhold.TaskManager.worker`."""

    def __init__(self, manager: TaskManager, *options: Any) -> None:
        super().__init__(*options)
        self._manager = manager
        self._stopping = threading.Event()
        self._running: set[Work] = set()
        self._failure: TaskholdError | None = None
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Take no more tasks, and end :meth:`run` once those that run are done; from any thread."""
        self._stopping.set()

    def run(self, function: Callable[[Work], Any]) -> None:
        """Claim tasks and call the function with each, until SIGTERM or :meth:`stop`.

        What it returns completes the task, unless it ended the task itself; None completes it with ``{}``. When it
        raises, the attempt has failed: the task is given back, or fails with its last attempt. On SIGTERM (noticed
        when this runs on the main thread) no more tasks are taken. Those that run have the grace time to end; then
        their methods raise :class:`WorkInterrupted`, and they are given back without using up the attempt.
        """
        threads = [threading.Thread(target=self._work, args=(function,), daemon=True) for _ in range(self._concurrency)]
        with self._on_sigterm():
            for number, thread in enumerate(threads):
                thread.name = f"taskhold-worker-{number}"
                thread.start()
            try:
                while not self._stopping.wait(_LOOK) and any(thread.is_alive() for thread in threads):
                    pass
                self.stop()
                _join(threads, self._grace)
            finally:
                # Also after Ctrl-C, which gives no grace.
                self.stop()
                self._interrupt()
                _join(threads, _LAST)
                self._release()
        if self._failure is not None:
            raise self._failure

    def _work(self, function: Callable[[Work], Any]) -> None:
        while not self._stopping.is_set():
            try:
                record = self._manager.claim_task(
                    self._queues, worker=self._name, lease_ms=self._lease_ms, timeout=_LOOK
                )
            except InvalidHandleError:
                return
            except UnavailableError:
                logger.exception("claiming failed")
                self._stopping.wait(_PAUSE)
                continue
            except TaskholdError as error:
                self._failure = error
                self.stop()
                return
            if record is not None:
                self._do(function, Claim(self._manager, self._lease_ms, record))

    def _do(self, function: Callable[[Work], Any], claim: Claim) -> None:
        try:
            with claim as work:
                with self._lock:
                    self._running.add(work)
                try:
                    result = function(work)
                    if work.outcome is None:
                        work.complete({} if result is None else result)
                finally:
                    with self._lock:
                        self._running.discard(work)
        except Exception as error:
            _report(error)

    def _interrupt(self) -> None:
        with self._lock:
            for work in self._running:
                work.interrupt("stopping")

    def _release(self) -> None:
        """Give back what threads go on with that do not stop: whatever they do to the task is refused."""
        with self._lock:
            running = list(self._running)
        for work in running:
            with contextlib.suppress(TaskholdError):
                work.release(counts_as_attempt=False)

    @contextlib.contextmanager
    def _on_sigterm(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, frame: FrameType | None) -> None:
            self.stop()

        before = signal.signal(signal.SIGTERM, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)


def _report(error: Exception) -> None:
    if getattr(error, "reason", None) == "lease_lost":
        logger.warning("a task was lost to another worker")
    else:
        logger.error("the work on a task failed", exc_info=error)


def _join(threads: list[threading.Thread], timeout: float | None) -> None:
    deadline = None if timeout is None else time.monotonic() + timeout
    for thread in threads:
        thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))


class AsyncWorker(WorkerBase):
    """Runs a coroutine function for each task; from :meth:`taskhold.AsyncTaskManager.worker`."""

    _heeds_sigterm = True

    def __init__(self, manager: AsyncTaskManager, *options: Any) -> None:
        super().__init__(*options)
        self._manager = manager
        self._stopped = False
        self._stop: Callable[[], None] = lambda: None

    def stop(self) -> None:
        """Take no more tasks, and end :meth:`run` once those that run are done; on the loop's thread."""
        self._stopped = True
        self._stop()

    async def run(self, function: Callable[[AsyncWork], Awaitable[Any]]) -> None:
        """Claim tasks and await the function with each, until SIGTERM or :meth:`stop`.

        What it returns completes the task, unless it ended the task itself; None completes it with ``{}``. When it
        raises, the attempt has failed: the task is given back, or fails with its last attempt. On SIGTERM (noticed
        when the loop runs on the main thread) no more tasks are taken. Those that run have the grace time to end;
        then :class:`asyncio.CancelledError` is raised in them, and they are given back without using up the attempt.
        So they are at once when this is cancelled itself, as by Ctrl-C.
        """
        import asyncio

        manager = await self._manager._opened()
        loop = asyncio.get_running_loop()
        stopping = asyncio.Event()
        self._stop = stopping.set
        if self._stopped:
            stopping.set()
        running: dict[asyncio.Task[None], AsyncWork | None] = {}

        async def work() -> None:
            this = asyncio.current_task()
            assert this is not None
            while not stopping.is_set():
                running[this] = None
                try:
                    record = await manager.claim_task_async(self._queues, worker=self._name, lease_ms=self._lease_ms)
                except InvalidHandleError:
                    return
                except UnavailableError:
                    logger.exception("claiming failed")
                    await asyncio.sleep(_PAUSE)
                    continue
                try:
                    async with AsyncClaim(self._manager, self._lease_ms, record) as one:
                        running[this] = one
                        result = await function(one)
                        if one.outcome is None:
                            await one.complete({} if result is None else result)
                except Exception as error:
                    _report(error)

        with self._on_sigterm(loop) if self._heeds_sigterm else contextlib.nullcontext():
            tasks = {asyncio.create_task(work()) for _ in range(self._concurrency)}
            for task in tasks:
                # By itself one ends only when the manager is closed or a claim is refused.
                task.add_done_callback(lambda _: self.stop())
            try:
                await stopping.wait()
                for task in tasks:
                    if running.get(task) is None:
                        task.cancel()
                await asyncio.wait(tasks, timeout=self._grace)
            finally:
                self.stop()
                for task in tasks:
                    one = running.get(task)
                    if one is not None:
                        one._interrupt("stopping")
                    elif not task.done():
                        task.cancel()
                await asyncio.wait(tasks)
            for task in tasks:
                if not task.cancelled():
                    task.result()

    @contextlib.contextmanager
    def _on_sigterm(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        try:
            loop.add_signal_handler(signal.SIGTERM, self.stop)
        except (NotImplementedError, RuntimeError, ValueError):
            # Not on the main thread, or not on this platform.
            yield
            return
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGTERM)


__all__ = ["AsyncWorker", "Worker"]
