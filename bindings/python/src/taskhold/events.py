"""Queues of events: iteration for threads, and the same for asyncio on the queue's descriptor."""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from . import _native
from ._async import Watch, descriptors
from ._errors import ClosedError, InvalidHandleError, TimeoutError, closed_while_waiting
from ._handles import Handle, parsed
from ._json import loads
from ._native import lib
from .types import Event

if TYPE_CHECKING:
    import asyncio


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
        self._hold(token, inline=True)
        self._lock = threading.Lock()
        self._watches: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Watch] = weakref.WeakKeyDictionary()

    def next_json(self, timeout: float | None = None) -> str:
        """Take the next event, or wait for one; Ctrl-C interrupts the wait.

        Args:
            timeout: longest wait in seconds; None waits without end, 0 looks and returns.

        Returns:
            The event: ``changed``, ``cancelation_requested`` or ``finalized`` with a ``taskId``, or ``lagged``.

        Raises:
            TimeoutError: no event came.
            ClosedError: the queue was closed meanwhile.
            InvalidHandleError: it was closed before, or belongs to the parent process.

        Source: ``taskhold_events_next``.
        """
        return self._wait(timeout, lib.taskhold_events_next)

    next = parsed(next_json, Event)

    def fd(self) -> int:
        """The descriptor that is readable while events are in the queue, for a loop of your own.

        It is borrowed: neither read nor close it, and unregister it before closing the queue. Linux only.

        Raises:
            UnsupportedError: not on Linux.

        Source: ``taskhold_events_fd``.
        """
        return _native.call_number(lib.taskhold_events_fd, self._token)

    async def next_json_async(self, timeout: float | None = None) -> str:
        """As :meth:`next_json`, on the running loop: no thread waits, and a cancelled await takes no event."""
        import asyncio

        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        # The others on the loop get their turn also while the queue never runs empty.
        await asyncio.sleep(0)
        with contextlib.suppress(TimeoutError):
            return self._take()
        watch = self._watch(loop)
        while True:
            try:
                with watch.waiter(loop) as woken:
                    # Look again now that the descriptor is watched: nothing can slip through between the two.
                    with contextlib.suppress(TimeoutError):
                        return self._take()
                    left = None if deadline is None else deadline - loop.time()
                    if left is None or left > 0:
                        await asyncio.wait([woken], timeout=left)
                    if deadline is not None and loop.time() >= deadline:
                        return self._take()
            except InvalidHandleError:
                if self.closed:
                    raise closed_while_waiting() from None
                raise

    async def next_async(self, timeout: float | None = None) -> Event:
        """As :meth:`next`, on the running loop: no thread waits, and a cancelled await takes no event."""
        event: Event = loads(await self.next_json_async(timeout))
        return event

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

    def _take(self) -> str:
        return self._text(lib.taskhold_events_next, 0)

    def _watch(self, loop: asyncio.AbstractEventLoop) -> Watch:
        with self._lock:
            watch = self._watches.get(loop)
            if watch is None:
                # By the token: a watch that held the queue would keep it from being collected.
                descriptor = functools.partial(_native.call_number, lib.taskhold_events_fd, self._token)
                watch = self._watches[loop] = Watch(loop, descriptor)
            return watch
