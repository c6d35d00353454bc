"""Claiming on asyncio without a thread: those who wait on one loop, by the queues that they wait for."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import _native
from ._async import Watch
from ._decode import loads
from ._errors import InvalidHandleError, TimeoutError, closed_while_waiting
from ._native import lib
from ._times import Timeout, seconds
from .events import Events

if TYPE_CHECKING:
    from ._manager import ManagerCalls

# Tasks that change between two turns of a loop; if more do, everyone looks.
_CAPACITY = 1024

# Between looks at what becomes claimable without an event: by its time, by a lapse, by a release. One waiter for each
# list of queues looks.
_PAUSE = 0.25

Place = weakref.ref["asyncio.Future[None]"]


class Claimers:
    """Those who wait for a task of one manager on one loop, in line for each list of queues."""

    def __init__(self, loop: asyncio.AbstractEventLoop, events: Events) -> None:
        self._events = events
        descriptor = functools.partial(_native.call_number, lib.taskhold_events_fd, events._token)
        self._watch = Watch(loop, descriptor, self._drain)
        self._lines: dict[tuple[str, ...], dict[Place, None]] = {}

    @contextlib.contextmanager
    def waiter(self, loop: asyncio.AbstractEventLoop, queues: tuple[str, ...]) -> Iterator[asyncio.Future[None]]:
        """Wait in line; the future is done when it is time to look."""
        with self._watch.waiter(loop) as woken:
            place = weakref.ref(woken)
            self._lines.setdefault(queues, {})[place] = None
            try:
                yield woken
            finally:
                line = self._lines[queues]
                del line[place]
                if not line:
                    del self._lines[queues]

    def is_first(self, queues: tuple[str, ...], woken: asyncio.Future[None]) -> bool:
        """Whether this waiter is the one that looks without being told."""
        return next(iter(self._lines[queues]))() is woken

    def wake_next(self, queues: tuple[str, ...], but: asyncio.Future[None] | None = None) -> None:
        """Have the next in a line look."""
        for place in self._lines.get(queues, ()):
            if (woken := place()) is not None and woken is not but and not woken.done():
                woken.set_result(None)
                return

    def wake_all_soon(self) -> None:
        """Have everyone look, from any thread."""
        self._watch.wake_all_soon()

    def close(self) -> None:
        """Close the queue of events, and have everyone look."""
        self._events.close()
        self.wake_all_soon()

    def _drain(self) -> None:
        changed = False
        for _ in range(_CAPACITY):
            try:
                event = loads(self._events._take())
            except TimeoutError:
                break
            except InvalidHandleError:
                self._watch.wake_all()
                return
            changed |= event["event"] != "cancelation_requested"
        if changed:
            # Which queue it was is not known. Whoever finds a task has the next one look, so one for each is enough.
            for queues in list(self._lines):
                self.wake_next(queues)


async def claim(manager: ManagerCalls, queues: tuple[str, ...], text: bytes, timeout: Timeout) -> str | None:
    """The record of a task that was claimed, or None when none came. A cancelled await holds no task."""
    loop = asyncio.get_running_loop()
    limit = seconds(timeout)
    deadline = None if limit is None else loop.time() + limit
    record = await _look(manager, text)
    if record is not None or (deadline is not None and loop.time() >= deadline):
        return record
    claimers = await manager._claimers.on(loop, Claimers, lambda: manager._made(lambda: manager.open_events(_CAPACITY)))
    try:
        while True:
            # In line before the look, so that no task is missed.
            with claimers.waiter(loop, queues) as woken:
                goes_on = False
                try:
                    record = await _look(manager, text)
                    if record is not None or (deadline is not None and loop.time() >= deadline):
                        return record
                    await _sleep(claimers, queues, woken, deadline)
                    goes_on = True
                finally:
                    if not goes_on:
                        # What this one was woken for may be another's, and there may be more behind what it found.
                        claimers.wake_next(queues, but=woken)
    except InvalidHandleError:
        if manager.closed:
            raise closed_while_waiting() from None
        raise


async def _sleep(
    claimers: Claimers, queues: tuple[str, ...], woken: asyncio.Future[None], deadline: float | None
) -> None:
    while not woken.done():
        pause = _PAUSE
        if deadline is not None:
            pause = min(pause, max(0.0, deadline - asyncio.get_running_loop().time()))
        await asyncio.wait([woken], timeout=pause)
        if claimers.is_first(queues, woken) or pause < _PAUSE:
            return


async def _look(manager: ManagerCalls, text: bytes) -> str | None:
    """Claim without waiting."""
    if manager._pool is None:
        return manager._claim(text, 0)

    def undelivered(record: str | None) -> None:
        if record is not None:
            manager._unclaim(record)

    return await manager._pool.run(lambda: manager._claim(text, 0), undelivered)
