"""What the classes for asyncio have in common: each stands before a class whose calls it awaits."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar

from ._errors import closed
from ._times import Timeout
from .events import Events
from .store import StoreClient, StoreLike, opened
from .types import Event

C = TypeVar("C", bound=StoreClient)


class AsyncClient(Generic[C]):
    """Opened by ``async with``, which also closes it, or with its first call."""

    _opens: ClassVar[type[Any]]

    def _prepare(self, store: StoreLike, options: Mapping[str, Any]) -> None:
        self._store, self._options = store, options
        self._lock = threading.Lock()
        self._client: C | None = None
        self._closed = False

    def _open(self) -> C:
        with self._lock:
            if self._client is None:
                if self._closed:
                    raise closed()
                self._client = self._opens(self._store, **self._options)
            return self._client

    async def _opened(self) -> C:
        if self._client is not None:
            return self._client
        client: C = await opened(self._store, self._open)
        return client

    async def open(self) -> Self:
        """Open it now: what is wrong with the store or the options shows here."""
        await self._opened()
        return self

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it, from any thread; it does not block. Those who wait get :class:`ClosedError`."""
        with self._lock:
            self._closed = True
        if self._client is not None:
            self._client.close()

    async def aclose(self) -> None:
        """As :meth:`close`."""
        self.close()

    @property
    def closed(self) -> bool:
        """Whether this object was closed."""
        return self._closed

    def __repr__(self) -> str:
        return f"<taskhold.{type(self).__name__} {'closed' if self._closed else 'open'}>"


class AsyncEvents:
    """A queue of events on asyncio, from ``open_events()``: ``async for``, or :meth:`next`. No thread waits."""

    def __init__(self, events: Events) -> None:
        self._events = events

    async def next(self, timeout: Timeout = None) -> Event:
        """Take the next event, or wait for one. A cancelled await takes none.

        Args:
            timeout: longest wait, seconds or a timedelta; None waits without end, 0 looks and returns.

        Raises:
            TimeoutError: no event came.
            ClosedError: the queue is closed, or was while this waited.

        Source: ``taskhold_events_next``.
        """
        return await self._events.next_async(timeout)

    async def next_json(self, timeout: Timeout = None) -> str:
        """As :meth:`next`; gives the text."""
        return await self._events.next_json_async(timeout)

    def close(self) -> None:
        """Close the queue; those who wait get :class:`ClosedError`, iterations end. It does not block."""
        self._events.close()

    async def aclose(self) -> None:
        """As :meth:`close`."""
        self._events.close()

    @property
    def closed(self) -> bool:
        """Whether this queue was closed."""
        return self._events.closed

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._events.close()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events.__aiter__()

    def __repr__(self) -> str:
        return f"<taskhold.AsyncEvents {'closed' if self.closed else 'open'}>"
