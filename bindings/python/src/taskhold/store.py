"""Stores, where records live, and the manual clock that tests give them."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, Self, Unpack

from . import _native
from ._async import offload
from ._handles import Handle, asynchronous, parsed
from ._json import options as options_text
from ._native import lib
from .types import StoreCheck, StoreOptions, StoreStats

if TYPE_CHECKING:
    from ._waits import TaskWaits


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
        self._hold(token, inline=True)
        self._lock = threading.Lock()
        self._waits: weakref.WeakSet[TaskWaits] = weakref.WeakSet()

    def advance(self, ms: int) -> None:
        """Move it forward, wall time and monotonic time alike, and wake everyone who waits in its stores.

        Args:
            ms: by how many milliseconds; 0 or more.

        Raises:
            InvalidArgumentError: ``ms`` is negative, or leads out of the years 0001 to 9999.

        Source: ``taskhold_clock_advance``.
        """
        self._do(lib.taskhold_clock_advance, _native.int64(ms, "ms"))
        # Waits in the library are woken there; those on asyncio wait here.
        with self._lock:
            waits = list(self._waits)
        for wait in waits:
            wait.wake_all_soon()

    def step_wall(self, ms: int) -> None:
        """Step its wall time, as an operator or a time service does; nothing expires by that.

        Args:
            ms: by how many milliseconds; may be negative.

        Raises:
            InvalidArgumentError: ``ms`` leads out of the years 0001 to 9999.

        Source: ``taskhold_clock_step_wall``.
        """
        self._do(lib.taskhold_clock_step_wall, _native.int64(ms, "ms"))

    def _tell(self, waits: TaskWaits) -> None:
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
        self, url: str | None = None, *, clock: ManualClock | None = None, **options: Unpack[StoreOptions]
    ) -> None:
        """Open a store.

        Args:
            url: None or ``memory:`` is a new store in this process's memory; ``sqlite:PATH`` and
                ``postgresql://…`` are durable, where the build has them (:func:`taskhold.describe`).
            clock: the store's time, for tests; None is the system's.
            **options: those of the backend; see :class:`taskhold.types.StoreOptions`.

        Raises:
            InvalidArgumentError: the URL is of no known form, or an option is malformed or unknown.
            UnsupportedError: this build has no such backend.
            UnavailableError: the storage failed.

        Source: ``taskhold_store_open``.
        """
        token = _native.call_handle(
            lib.taskhold_store_open,
            _native.optional_text(url),
            options_text(options),
            None if clock is None else clock._token,
        )
        # Memory answers within microseconds; everything else may wait for a disk or a network.
        self._hold(token, inline=url is None or url.startswith("memory:"))
        self._clock = clock

    @classmethod
    async def open_async(
        cls, url: str | None = None, *, clock: ManualClock | None = None, **options: Unpack[StoreOptions]
    ) -> Self:
        """Open a store without blocking the loop; arguments as for the class."""
        return await offload(lambda: cls(url, clock=clock, **options))

    def stats_json(self) -> str:
        """Tell how the store is filled, for operators. It may visit every record: not for a hot path.

        Raises:
            UnavailableError: the storage failed.

        Source: ``taskhold_store_stats``.
        """
        return self._text(lib.taskhold_store_stats)

    stats = parsed(stats_json, StoreStats)
    stats_async = asynchronous(stats)
    stats_json_async = asynchronous(stats_json)

    def check_json(self) -> str:
        """Look through the store, for operators: whether it is sound, and which records cannot be read.

        It reads every record and repairs nothing; what is wrong with the store is in the result.

        Raises:
            UnavailableError: the storage failed.

        Source: ``taskhold_store_check``.
        """
        return self._text(lib.taskhold_store_check)

    check = parsed(check_json, StoreCheck)
    check_async = asynchronous(check)
    check_json_async = asynchronous(check_json)


class StoreClient(Handle):
    """What is opened over a store: it remembers whether calls may block, and whose time it is."""

    def _open_over(self, store: Store | str | None, function: Any, options: Any) -> None:
        own = Store(store) if isinstance(store, str) else None
        over = own or store
        assert not isinstance(over, str)
        token = _native.call_handle(function, None if over is None else over._token, options_text(options))
        self._hold(token, inline=over is None or over._inline)
        self._clock = None if over is None else over._clock
        if own is not None:
            # What is opened over a store keeps it.
            own.close()
