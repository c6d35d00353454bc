"""Stores, where records live, and the manual clock that tests give them."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeVar, Unpack, cast

from . import _native
from ._async import Pool
from ._decode import loads
from ._handles import Handle
from ._json import Default, optional_payload, payload
from ._json import options as options_text
from ._native import lib
from ._times import milliseconds
from .types import Payload, StoreCheck, StoreCopied, StoreOptions, StoreStats

if TYPE_CHECKING:
    from concurrent.futures import Executor

T = TypeVar("T")


class Waits(Protocol):
    """Those who wait, and look again when a manual clock is moved."""

    def wake_all_soon(self) -> None:
        """Have everyone look, from any thread."""


class ManualClock(Handle):
    """A clock that stands still until it is moved. For tests: give it to a store.

    >>> clock = ManualClock(1_764_498_600_000)
    >>> manager = TaskManager(Store(clock=clock), task_time_to_live_ms=1000)
    >>> task_id = manager.create_task("/mcp", {})["task"]["taskId"]
    >>> clock.advance(1000)
    >>> manager.find_task(task_id) is None
    True
    """

    _close = lib.taskhold_clock_close

    def __init__(self, epoch_ms: int = 0) -> None:
        """Open a clock.

        Args:
            epoch_ms: its wall time in milliseconds since 1970-01-01T00:00:00Z.

        Raises:
            InvalidArgumentError: the time is out of the years 0001 to 9999.

        Source: ``taskhold_clock_open_manual``.
        """
        token = _native.call_handle(lib.taskhold_clock_open_manual, _native.int64(epoch_ms, "epoch_ms"))
        self._hold(token)
        self._lock = threading.Lock()
        self._waits: weakref.WeakSet[Waits] = weakref.WeakSet()

    def advance(self, ms: int | timedelta) -> None:
        """Move it forward, wall time and monotonic time alike, and wake everyone who waits in its stores.

        Args:
            ms: by how many milliseconds, or a timedelta; 0 or more.

        Raises:
            InvalidArgumentError: ``ms`` is negative, or leads out of the years 0001 to 9999.

        Source: ``taskhold_clock_advance``.
        """
        self._do(lib.taskhold_clock_advance, _whole(ms))
        # Waits in the library are woken there; those on asyncio wait here.
        with self._lock:
            waits = list(self._waits)
        for wait in waits:
            wait.wake_all_soon()

    def step_wall(self, ms: int | timedelta) -> None:
        """Step its wall time, as an operator or a time service does; nothing expires by that.

        Args:
            ms: by how many milliseconds, or a timedelta; may be negative.

        Raises:
            InvalidArgumentError: ``ms`` leads out of the years 0001 to 9999.

        Source: ``taskhold_clock_step_wall``.
        """
        self._do(lib.taskhold_clock_step_wall, _whole(ms))

    def _tell(self, waits: Waits) -> None:
        with self._lock:
            self._waits.add(waits)


class Store(Handle):
    """Where records live. Managers, session stores and state providers over one store share it.

    Those with the same ``name`` share their records too: they behave like nodes over one database. Closing a
    store leaves alone what was opened over it.

    >>> with Store() as store:
    ...     manager, sessions = TaskManager(store), SessionStore(store)
    >>> store.closed, manager.closed
    (True, False)
    """

    _close = lib.taskhold_store_close

    def __init__(
        self,
        url: str | os.PathLike[str] | None = None,
        *,
        clock: ManualClock | None = None,
        executor: Executor | None = None,
        **options: Unpack[StoreOptions],
    ) -> None:
        """Open a store.

        Args:
            url: None or ``memory:`` is a new store in this process's memory; a path, or ``sqlite:PATH``, is a file
                (:func:`taskhold.describe` tells what this build has).
            clock: the store's time, for tests; None is the system's.
            executor: where blocking calls on asyncio are made; None makes them in up to eight threads of this store.
            **options: those of the backend; see :class:`taskhold.types.StoreOptions`.

        Raises:
            InvalidArgumentError: the URL is of no known form, or an option is malformed or unknown.
            UnsupportedError: this build has no such backend.
            UnavailableError: the storage failed.

        Source: ``taskhold_store_open``.
        """
        if isinstance(url, os.PathLike):
            url = f"sqlite:{os.path.abspath(url)}"
        token = _native.call_handle(
            lib.taskhold_store_open,
            # The bytes of a path that the locale has no characters for are in it as lone surrogates.
            None if url is None else _native.text(url, "surrogateescape"),
            options_text(options),
            None if clock is None else clock._token,
        )
        # Memory answers within microseconds; everything else may wait for a disk or a network.
        in_place = url is None or url.startswith("memory:")
        self._hold(token, None if in_place else Pool(executor))
        self._clock = clock

    @classmethod
    async def open_async(
        cls,
        url: str | os.PathLike[str] | None = None,
        *,
        clock: ManualClock | None = None,
        executor: Executor | None = None,
        **options: Unpack[StoreOptions],
    ) -> Self:
        """Open a store without blocking the loop; arguments as for the class."""
        return await Pool(executor).run(lambda: cls(url, clock=clock, executor=executor, **options))

    def stats_json(self) -> str:
        """Tell how the store is filled, for operators. It may visit every record: not for a hot path.

        Raises:
            UnavailableError: the storage failed.

        Source: ``taskhold_store_stats``.
        """
        return self._text(lib.taskhold_store_stats)

    def stats(self) -> StoreStats:
        """Tell how the store is filled, for operators. It may visit every record: not for a hot path.

        Raises:
            UnavailableError: the storage failed.

        Source: ``taskhold_store_stats``.
        """
        return cast(StoreStats, loads(self.stats_json()))

    async def stats_async(self) -> StoreStats:
        """As :meth:`stats`, on asyncio."""
        return await self._made(self.stats)

    async def stats_json_async(self) -> str:
        """As :meth:`stats_json`, on asyncio."""
        return await self._made(self.stats_json)

    def check_json(self) -> str:
        """Look through the store, for operators: whether it is sound, and which records cannot be read.

        It reads every record and repairs nothing; what is wrong with the store is in the result.

        Raises:
            UnavailableError: the storage failed.

        Source: ``taskhold_store_check``.
        """
        return self._text(lib.taskhold_store_check)

    def check(self) -> StoreCheck:
        """Look through the store, for operators: whether it is sound, and which records cannot be read.

        It reads every record and repairs nothing; what is wrong with the store is in the result.

        Raises:
            UnavailableError: the storage failed.

        Source: ``taskhold_store_check``.
        """
        return cast(StoreCheck, loads(self.check_json()))

    async def check_async(self) -> StoreCheck:
        """As :meth:`check`, on asyncio."""
        return await self._made(self.check)

    async def check_json_async(self) -> str:
        """As :meth:`check_json`, on asyncio."""
        return await self._made(self.check_json)

    def copy_to_json(self, to: Store) -> str:
        """Copy all records to an empty store, as :meth:`copy_to`, and give the result as a text."""
        return self._text(lib.taskhold_store_copy, to._token, None)

    def copy_to(self, to: Store) -> StoreCopied:
        """Copy all records to an empty store, which may be of another backend, and compare the two.

        Ids, times, revisions, leases, operation ids and payloads stay the same; pins are left behind. Nothing else may
        write to either store meanwhile. After a failure the copy is to be thrown away.

        >>> with Store() as store, Store() as copy:
        ...     _ = TaskManager(store).create_task("/mcp", {})
        ...     store.copy_to(copy)["tasks"]
        1

        Args:
            to: the empty store.

        Raises:
            InvalidArgumentError: ``to`` is this store itself.
            InvalidStateError: ``store_not_empty``.
            ConflictError: ``store_changed``: somebody wrote meanwhile.
            CorruptError: a record cannot be read; :meth:`check` names it.
            UnavailableError: the storage failed.

        Source: ``taskhold_store_copy``.
        """
        return cast(StoreCopied, loads(self.copy_to_json(to)))

    async def copy_to_async(self, to: Store) -> StoreCopied:
        """As :meth:`copy_to`, on asyncio."""
        return await self._made(lambda: self.copy_to(to))

    async def copy_to_json_async(self, to: Store) -> str:
        """As :meth:`copy_to_json`, on asyncio."""
        return await self._made(lambda: self.copy_to_json(to))


StoreLike: TypeAlias = Store | str | os.PathLike[str] | None


class StoreClient(Handle):
    """What is opened over a store: it remembers where calls are made, and whose time it is."""

    def _open_over(self, store: StoreLike, function: Any, options: Any, default: Default) -> None:
        own = Store(store) if isinstance(store, str | os.PathLike) else None
        over = own or store
        assert not isinstance(over, str | os.PathLike)
        token = _native.call_handle(function, None if over is None else over._token, options_text(options))
        self._default = default
        self._hold(token, None if over is None else over._pool)
        self._clock = None if over is None else over._clock
        if own is not None:
            # What is opened over a store keeps it.
            own.close()

    def _payload(self, value: Payload) -> bytes:
        return payload(value, self._default)

    def _optional_payload(self, value: Payload) -> bytes | None:
        return optional_payload(value, self._default)

    def _options(self, given: Mapping[str, Any], payloads: Collection[str] = ()) -> bytes | None:
        return options_text(given, self._default, payloads)


async def opened(store: StoreLike, opening: Callable[[], T]) -> T:
    """Open something over a store without blocking the loop: in the store's own threads if it is open."""
    if store is None or (isinstance(store, Store) and store._pool is None):
        return opening()
    return await ((store._pool if isinstance(store, Store) else None) or Pool()).run(opening)


def _whole(ms: int | timedelta) -> int:
    return _native.int64(milliseconds(ms), "ms")
