"""Waiting for tasks on asyncio: one event queue for each manager and loop, shared by all who wait there."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from . import _native
from ._async import Watch
from ._decode import loads
from ._errors import InvalidHandleError, TimeoutError, closed_while_waiting
from ._handles import Handle
from ._native import lib
from ._times import Timeout, seconds
from .events import Events
from .library import json_get

if TYPE_CHECKING:
    from ._manager import ManagerCalls
    from ._provider import StateProviderCalls

T = TypeVar("T")

# Tasks that change between two turns of a loop; if more do, everyone looks.
CAPACITY = 1024

# Longest time without a look, should the wall clock be stepped while somebody waits for an expiry.
_LONGEST_PAUSE = 60.0

# Between looks at a task that should have expired by the wall clock and has not.
_SHORTEST_PAUSE = 1.0


class TaskWaits:
    """Those who wait for tasks of one manager on one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, events: Events) -> None:
        self._events = events
        descriptor = functools.partial(_native.call_number, lib.taskhold_events_fd, events._token)
        self._watch = Watch(loop, descriptor, self._drain)
        # Weak, as in the watch: a future would keep its loop, and the loop's waits with it.
        self._by_task: dict[str, weakref.WeakSet[asyncio.Future[None]]] = {}

    @contextlib.contextmanager
    def waiter(self, loop: asyncio.AbstractEventLoop, task_id: str) -> Iterator[asyncio.Future[None]]:
        """Wait in line for a task; the future is done when it may have changed."""
        with self._watch.waiter(loop) as woken:
            waiters = self._by_task.setdefault(task_id, weakref.WeakSet())
            waiters.add(woken)
            try:
                yield woken
            finally:
                waiters.discard(woken)
                if not waiters:
                    self._by_task.pop(task_id, None)

    def wake_soon(self, task_id: str) -> None:
        """Have those who wait for a task look, from any thread."""
        self._watch.soon(lambda: self._wake(task_id))

    def _wake(self, task_id: str | None) -> None:
        for woken in self._by_task.get(task_id or "", ()):
            if not woken.done():
                woken.set_result(None)

    def wake_all_soon(self) -> None:
        """Have everyone look, from any thread."""
        self._watch.wake_all_soon()

    def close(self) -> None:
        """Close the queue, and have everyone look."""
        self._events.close()
        self.wake_all_soon()

    def _drain(self) -> None:
        """Hand the queue's events to those whom they concern."""
        for _ in range(CAPACITY):
            try:
                event = loads(self._events._take())
            except TimeoutError:
                return
            except InvalidHandleError:
                self._watch.wake_all()
                return
            if "taskId" not in event:
                self._watch.wake_all()
            self._wake(event.get("taskId"))


async def wait_for_change(manager: ManagerCalls, task_id: str, seen: int, timeout: Timeout) -> str:
    """The record of an MCP task, as JSON text, as soon as its revision is greater than ``seen``."""
    loop = asyncio.get_running_loop()
    waits = await manager._waits.on(loop, TaskWaits, lambda: manager._made(lambda: manager.open_events(CAPACITY)))

    return await _wait(
        manager,
        waits,
        task_id,
        lambda: manager._look_async(task_id, seen),
        timeout,
        lambda: _next_look(manager, task_id, loop),
    )


async def wait_for_save(provider: StateProviderCalls, task_id: str, seen: int, timeout: Timeout) -> int:
    """The revision of an A2A task as soon as it is not ``seen``."""
    loop = asyncio.get_running_loop()
    waits = await provider._waits.on(loop, TaskWaits, lambda: provider._made(lambda: provider._open_saves(CAPACITY)))

    async def expires() -> float | None:
        # Nothing tells of a task that another process deletes, or that is not retained any more.
        return loop.time()

    return await _wait(provider, waits, task_id, lambda: provider._look_async(task_id, seen), timeout, expires)


async def _wait(
    handle: Handle,
    waits: TaskWaits,
    task_id: str,
    look: Callable[[], Awaitable[T]],
    timeout: Timeout,
    expires: Callable[[], Awaitable[float | None]],
) -> T:
    """What ``look`` gives as soon as it does not end in a timeout."""
    loop = asyncio.get_running_loop()
    limit = seconds(timeout)
    deadline = None if limit is None else loop.time() + limit
    waited = False
    expiry: float | None = None
    while True:
        try:
            # In line before the look, so that no change is missed.
            with waits.waiter(loop, task_id) as woken:
                try:
                    return await look()
                except TimeoutError:
                    if deadline is not None and loop.time() >= deadline:
                        raise
                if not waited:
                    expiry = await expires()
                waited = True
                await asyncio.wait([woken], timeout=_pause(loop.time(), deadline, expiry))
        except InvalidHandleError:
            if waited and handle.closed:
                raise closed_while_waiting() from None
            raise


async def _next_look(manager: ManagerCalls, task_id: str, loop: asyncio.AbstractEventLoop) -> float | None:
    """When, in the loop's time, a look is due though nothing tells of it."""
    record = await manager._made(lambda: manager.find_task_json(task_id))
    if record is None:
        return loop.time()
    if json_get(record, "/attempts") is not None:
        # Claims, releases and lapses of work move its revision, and are no events.
        return loop.time()
    if manager._clock is not None:
        # It wakes those who wait.
        return None
    # Only these two are read: what a client put into the record is nothing to parse here.
    created, time_to_live = json_get(record, "/task/createdAt"), json_get(record, "/task/ttlMs")
    if created is None or time_to_live in (None, "null"):
        return None
    lifetime = datetime.fromisoformat(created).timestamp() + float(time_to_live) / 1000 - time.time()
    return loop.time() + lifetime + 0.005


def _pause(now: float, deadline: float | None, expires: float | None) -> float:
    """How long to sleep until the next look, in seconds."""
    pause = _LONGEST_PAUSE
    if expires is not None:
        pause = min(pause, expires - now if expires > now else _SHORTEST_PAUSE)
    if deadline is not None:
        pause = min(pause, max(0.0, deadline - now))
    return pause
