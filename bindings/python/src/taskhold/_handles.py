"""What everything that is opened has in common.

A handle of the library is a token that is never followed as an address, so an object needs no lock and no check
of its own: after ``close()``, after a fork and while another thread closes it, the library refuses the call.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, Self, TypeVar, cast

from . import _native
from ._async import Pool
from ._errors import InvalidHandleError, TimeoutError, closed_while_waiting
from ._times import Deadline, Timeout

F = TypeVar("F", bound=Callable[..., object])
R = TypeVar("R")

# Longest single wait of the main thread in the library: so long Ctrl-C can go unnoticed.
SLICE_MS = 100


class Handle:
    """Something that was opened: a context manager that closes itself.

    It may be used from any number of threads. ``close()`` may be called from any of them and never blocks; calls
    that wait end with :class:`ClosedError`. An object that is dropped is closed by the garbage collector.
    """

    _close: ClassVar[Any]

    def _hold(self, token: int, pool: Pool | None = None) -> None:
        self._token = token
        # Where calls on asyncio are made; None makes them in place.
        self._pool = pool
        self._closing = weakref.finalize(self, type(self)._close, token)
        # At the interpreter's end daemon threads may still be calling: nothing is closed under their feet.
        self._closing.atexit = False

    def close(self) -> None:
        """Close it. Closing again is fine."""
        self._closing()

    @property
    def closed(self) -> bool:
        """Whether this object was closed."""
        return not self._closing.alive

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<taskhold.{type(self).__name__} {'closed' if self.closed else 'open'}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"taskhold.{type(self).__name__} belongs to its process and cannot be pickled or copied")

    def _text(self, function: Any, *arguments: Any) -> str:
        return cast(bytes, _native.call_text(function, self._token, *arguments)).decode()

    def _text_or_none(self, function: Any, *arguments: Any) -> str | None:
        text = _native.call_text(function, self._token, *arguments)
        return None if text is None else text.decode()

    def _flag(self, function: Any, *arguments: Any) -> bool:
        return _native.call_number(function, self._token, *arguments) != 0

    async def _made(self, call: Callable[[], R]) -> R:
        """Make a call on asyncio: in place on memory, in a thread of the store's on a durable one.

        A cancelled await does not undo the call: once it was awaited it is made.
        """
        return call() if self._pool is None else await self._pool.run(call)

    def _do(self, function: Any, *arguments: Any) -> None:
        _native.call(function, self._token, *arguments)

    def _wait(self, timeout: Timeout, call: Callable[..., R], *arguments: Any) -> R:
        """Make a call that waits; ``call`` takes the arguments and how many milliseconds to wait at most.

        On the main thread it is made in slices, so that a signal's handler gets its turn.
        """
        deadline = Deadline(timeout)
        longest = SLICE_MS if on_main_thread() else _native.WAIT_FOREVER
        waited = False
        while True:
            try:
                return call(*arguments, deadline.left_ms(longest))
            except TimeoutError:
                if deadline.passed():
                    raise
                waited = True
            except InvalidHandleError as error:
                # Closed between two slices: to the caller it is one call, which was waiting.
                if waited and error.reason == "closed":
                    raise closed_while_waiting() from None
                raise


def on_main_thread() -> bool:
    """Whether this thread is the one that runs the handlers of signals."""
    return threading.get_ident() == threading.main_thread().ident


def gives(shape: object) -> Callable[[F], F]:
    """Mark a ``…_json`` method with what its text holds; ``generate.py`` writes the method that gives that."""

    def marked(method: F) -> F:
        return method

    return marked
