"""asyncio without a thread that waits: calls on durable stores in a small pool, and readiness of event queues.

asyncio is imported when it is first needed: it is most of what importing this package would cost.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Executor

T = TypeVar("T")

# Enough for the group commit of a durable store; more threads would only wait for its lock.
_POOL_THREADS = 8

# Held while a queue's descriptor is asked for and duplicated, and while a queue is closed: in between the number could
# come to mean another file. The garbage collector may close a queue at any point, also while its thread is in here.
_descriptors = threading.RLock()


def descriptors() -> threading.RLock:
    """The lock to hold while a queue is closed, or its descriptor is duplicated."""
    return _descriptors


class Pool:
    """The threads in which the blocking calls of one store are made. They start when they are first needed.

    Each store has its own, so that one whose file is locked holds up nobody else's calls. The threads end with it.
    """

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor = executor
        self._lock = threading.Lock()
        _pools.add(self)

    async def run(self, work: Callable[[], T], undelivered: Callable[[T], None] | None = None) -> T:
        """Do blocking work. It is done also when the await is cancelled or its loop ends.

        ``undelivered`` takes back, in the pool too, what the work gave to an await that is not there any more.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[T] = loop.create_future()

        def take_back(value: T) -> None:
            if undelivered is not None:
                self._threads().submit(undelivered, value)

        def deliver(value: T) -> None:
            if outcome.done():
                take_back(value)
            else:
                outcome.set_result(value)

        def fail(error: BaseException) -> None:
            if not outcome.done():
                outcome.set_exception(error)

        def run() -> None:
            try:
                value = work()
            except BaseException as error:
                failure = error
                # The loop may be closed by now, and then nobody waits.
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(fail, failure)
                return
            try:
                loop.call_soon_threadsafe(deliver, value)
            except RuntimeError:
                take_back(value)

        self._threads().submit(run)
        try:
            return await outcome
        except asyncio.CancelledError:
            # Cancelled after the outcome was there and before the await went on.
            if outcome.done() and not outcome.cancelled() and outcome.exception() is None:
                take_back(outcome.result())
            raise

    def _threads(self) -> Executor:
        with self._lock:
            if self._executor is None:
                from concurrent.futures import ThreadPoolExecutor

                self._executor = ThreadPoolExecutor(_POOL_THREADS, thread_name_prefix="taskhold")
            return self._executor

    def _forget(self) -> None:
        self._executor, self._lock = None, threading.Lock()


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _forget_threads() -> None:
    global _descriptors
    _descriptors = threading.RLock()
    for pool in list(_pools):
        pool._forget()


if hasattr(os, "register_at_fork"):
    # The threads of the parent are not in the child.
    os.register_at_fork(after_in_child=_forget_threads)


class Watch:
    """Those who wait for one queue on one loop. The loop watches the queue's descriptor while there are any.

    It gets a duplicate of the descriptor, so that the queue can be closed at any time and from any thread without
    leaving a number in the loop that soon means another file. Loop and waiters are known weakly: a watch is kept by
    its loop in a dictionary that lets go of loops that are gone, and a future would keep its loop.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        descriptor: Callable[[], int],
        ready: Callable[[], None] | None = None,
    ) -> None:
        self._loop = weakref.ref(loop)
        self._descriptor = descriptor
        self._ready = ready or self._wake_one
        self._watched = -1
        self._waiters: dict[weakref.ref[asyncio.Future[None]], None] = {}

    @contextlib.contextmanager
    def waiter(self, loop: asyncio.AbstractEventLoop) -> Iterator[asyncio.Future[None]]:
        """Wait in line; the future is done when it is time to look. On the loop's thread only."""
        if not self._waiters:
            self._start(loop)
        future: asyncio.Future[None] = loop.create_future()
        place = weakref.ref(future)
        self._waiters[place] = None
        try:
            yield future
        finally:
            del self._waiters[place]
            if not self._waiters:
                # Not of a loop that was closed while somebody waited there.
                with contextlib.suppress(RuntimeError):
                    loop.remove_reader(self._watched)
                os.close(self._watched)

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        with _descriptors:
            self._watched = os.dup(self._descriptor())
        try:
            loop.add_reader(self._watched, self._ready)
        except BaseException:
            os.close(self._watched)
            raise

    def _waiting(self) -> Iterator[asyncio.Future[None]]:
        for place in self._waiters:
            if (future := place()) is not None and not future.done():
                yield future

    def _wake_one(self) -> None:
        # The descriptor stays readable while there are events, so each further one wakes a further waiter.
        for future in self._waiting():
            future.set_result(None)
            return

    def wake_all(self) -> None:
        """Have everyone look. On the loop's thread only."""
        for future in self._waiting():
            future.set_result(None)

    def wake_all_soon(self) -> None:
        """Have everyone look, from any thread."""
        self.soon(self.wake_all)

    def soon(self, call: Callable[[], None]) -> None:
        """Make a call on the loop's thread."""
        if (loop := self._loop()) is not None:
            # A closed loop has nobody who waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(call)
