"""What waits on asyncio share: one thing for each loop, made by the first that needs it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from .store import ManualClock, Waits

if TYPE_CHECKING:
    import asyncio

    from .events import Events


class Shared(Waits, Protocol):
    """What is shared on a loop."""

    def close(self) -> None:
        """Close it, and have everyone look."""


S = TypeVar("S", bound=Shared)


class PerLoop(Generic[S]):
    """Things by loop. Each goes with its loop."""

    def __init__(self, clock: ManualClock | None) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, S] = weakref.WeakKeyDictionary()

    async def on(
        self,
        loop: asyncio.AbstractEventLoop,
        make: Callable[[asyncio.AbstractEventLoop, Events], S],
        open_events: Callable[[], Awaitable[Events]],
    ) -> S:
        """The loop's, which is made over a queue of events if there is none."""
        with self._lock:
            shared = self._by_loop.get(loop)
        if shared is None:
            events = await open_events()
            with self._lock:
                # Another coroutine may have been faster.
                shared = self._by_loop.get(loop)
                if shared is None:
                    shared = self._by_loop[loop] = make(loop, events)
            if self._clock is not None:
                self._clock._tell(shared)
        return shared

    def all(self) -> list[S]:
        """Those of all loops."""
        with self._lock:
            return list(self._by_loop.values())

    def close(self) -> None:
        """Close all of them."""
        for shared in self.all():
            shared.close()
