"""Queues of events: iteration for threads, and the same for asyncio on the queue's descriptor."""

from __future__ import annotations

import contextlib
import functools
import os
import select
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, TypeVar, cast

from . import _native
from ._async import Watch, descriptors
from ._decode import loads
from ._errors import ClosedError, InvalidHandleError, TimeoutError, UnsupportedError, closed_while_waiting
from ._handles import Handle, on_main_thread
from ._native import lib
from ._times import Deadline, Timeout, seconds
from .types import Event

if TYPE_CHECKING:
    import asyncio

R = TypeVar("R")

# Longest single look at the descriptor on the main thread: so long a signal that comes just before it goes unnoticed.
_SLICE_MS = 1000


class Events(Handle):
    """A queue of events, from :meth:`TaskManager.open_events` or :meth:`StateProvider.open_events`.

    It is bounded: events of one task coalesce, and where events had to be dropped stands ``{"event": "lagged"}``.
    Iterating waits for each next event and ends when the queue is closed; so does ``async for``, which needs no
    thread. Each event goes to one of those who wait.

    >>> manager = TaskManager()
    >>> with manager.open_events() as events:
    ...     task_id = manager.create_task("/mcp", {})["task"]["taskId"]
    ...     event = events.next(timeout=5)
    >>> event == {"event": "changed", "taskId": task_id}
    True
    """

    _close = lib.taskhold_events_close

    def __init__(self, token: int) -> None:
        # Queues are opened by managers and providers; they live in this process's memory whatever the store.
        self._hold(token)
        self._lock = threading.Lock()
        self._watches: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Watch] = weakref.WeakKeyDictionary()
        # Taken by a call that a signal's handler ended before it could give them to its caller.
        self._kept: deque[bytes] = deque()

    def next_json(self, timeout: Timeout = None) -> str:
        """Take the next event, or wait for one; Ctrl-C interrupts the wait.

        Args:
            timeout: longest wait, seconds or a timedelta; None waits without end, 0 looks and returns.

        Returns:
            The event: ``changed``, ``cancelation_requested`` or ``finalized`` with a ``taskId``, or ``lagged``.

        Raises:
            TimeoutError: no event came.
            ClosedError: the queue was closed meanwhile.
            InvalidHandleError: it was closed before, or belongs to the parent process.

        Source: ``taskhold_events_next``.
        """
        return self._next(timeout, bytes.decode)

    def next(self, timeout: Timeout = None) -> Event:
        """Take the next event, or wait for one; Ctrl-C interrupts the wait.

        Args:
            timeout: longest wait, seconds or a timedelta; None waits without end, 0 looks and returns.

        Returns:
            The event: ``changed``, ``cancelation_requested`` or ``finalized`` with a ``taskId``, or ``lagged``.

        Raises:
            TimeoutError: no event came.
            ClosedError: the queue was closed meanwhile.
            InvalidHandleError: it was closed before, or belongs to the parent process.

        Source: ``taskhold_events_next``.
        """
        return self._next(timeout, _event)

    def fd(self) -> int:
        """The descriptor that is readable while events are in the queue, for a loop of your own.

        It is borrowed: neither read nor close it, and unregister it before closing the queue. Linux only.

        Raises:
            UnsupportedError: not on Linux.

        Source: ``taskhold_events_fd``.
        """
        return _native.call_number(lib.taskhold_events_fd, self._token)

    async def next_json_async(self, timeout: Timeout = None) -> str:
        """As :meth:`next_json`, on the running loop: no thread waits, and a cancelled await takes no event."""
        return await self._next_async(timeout, bytes.decode)

    async def next_async(self, timeout: Timeout = None) -> Event:
        """As :meth:`next`, on the running loop: no thread waits, and a cancelled await takes no event."""
        return await self._next_async(timeout, _event)

    async def _next_async(self, timeout: Timeout, read: Callable[[bytes], R]) -> R:
        import asyncio

        loop = asyncio.get_running_loop()
        limit = seconds(timeout)
        deadline = None if limit is None else loop.time() + limit
        # The others on the loop get their turn also while the queue never runs empty.
        await asyncio.sleep(0)
        with contextlib.suppress(TimeoutError):
            return self._given(self._take(), read)
        watch = self._watch(loop)
        while True:
            try:
                with watch.waiter(loop) as woken:
                    # Look again now that the descriptor is watched: nothing can slip through between the two.
                    with contextlib.suppress(TimeoutError):
                        return self._given(self._take(), read)
                    left = None if deadline is None else deadline - loop.time()
                    if left is None or left > 0:
                        await asyncio.wait([woken], timeout=left)
                    if deadline is not None and loop.time() >= deadline:
                        return self._given(self._take(), read)
            except InvalidHandleError:
                if self.closed:
                    raise closed_while_waiting() from None
                raise

    def close(self) -> None:
        """Close the queue; those who wait get :class:`ClosedError`, iterations end. Closing again is fine."""
        with descriptors():
            super().close()
        with self._lock:
            watches = list(self._watches.values())
        for watch in watches:
            watch.wake_all_soon()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        try:
            return self.next()
        except (ClosedError, InvalidHandleError):
            if self.closed:
                raise StopIteration from None
            raise

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        try:
            return await self.next_async()
        except (ClosedError, InvalidHandleError):
            if self.closed:
                raise StopAsyncIteration from None
            raise

    def _next(self, timeout: Timeout, read: Callable[[bytes], R]) -> R:
        with contextlib.suppress(TimeoutError):
            return self._given(self._take(), read)
        if on_main_thread():
            with contextlib.suppress(UnsupportedError):
                return self._poll(Deadline(timeout), read)
        taking = functools.partial(_native.call_taking, lib.taskhold_events_next, self._kept.append, self._token)
        return self._given(cast(bytes, self._wait(timeout, taking)), read)

    def _poll(self, deadline: Deadline, read: Callable[[bytes], R]) -> R:
        """Wait on the descriptor, so that a signal's handler has its turn while nothing is taken."""
        try:
            with descriptors():
                # A duplicate: another thread may close the queue meanwhile.
                watched = os.dup(self.fd())
            try:
                poller = select.poll()
                poller.register(watched, select.POLLIN)
                while True:
                    try:
                        return self._given(self._take(), read)
                    except TimeoutError:
                        if deadline.passed():
                            raise
                    poller.poll(deadline.left_ms(_SLICE_MS))
            finally:
                os.close(watched)
        except InvalidHandleError as error:
            if error.reason == "closed":
                raise closed_while_waiting() from None
            raise

    def _take(self) -> bytes:
        if self._kept:
            with contextlib.suppress(IndexError):
                return self._kept.popleft()
        taking = _native.call_taking(lib.taskhold_events_next, self._kept.append, self._token, 0)
        return cast(bytes, taking)

    def _given(self, taken: bytes, read: Callable[[bytes], R]) -> R:
        """What the caller gets of an event that was taken; it is kept when a signal's handler raises meanwhile."""
        try:
            return read(taken)
        except BaseException:
            self._kept.append(taken)
            raise

    def _watch(self, loop: asyncio.AbstractEventLoop) -> Watch:
        with self._lock:
            watch = self._watches.get(loop)
            if watch is None:
                # By the token: a watch that held the queue would keep it from being collected.
                descriptor = functools.partial(_native.call_number, lib.taskhold_events_fd, self._token)
                watch = self._watches[loop] = Watch(loop, descriptor)
            return watch


def _event(text: bytes) -> Event:
    event: Event = loads(text)
    return event
