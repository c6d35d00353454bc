"""What everything that is opened has in common, and the twins of a method: parsed, and for asyncio.

A handle of the library is a token that is never followed as an address, so an object needs no lock and no check
of its own: after ``close()``, after a fork and while another thread closes it, the library refuses the call.
"""

from __future__ import annotations

import functools
import threading
import types
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Concatenate, NoReturn, ParamSpec, Self, TypeVar, cast

from . import _native
from ._async import Pool
from ._decode import loads
from ._errors import InvalidHandleError, TimeoutError, closed_while_waiting
from ._times import Deadline, Timeout
from .types import Revisioned

P = ParamSpec("P")
H = TypeVar("H", bound="Handle")
R = TypeVar("R")
T = TypeVar("T")

# Longest single wait of the main thread in the library: so long Ctrl-C can go unnoticed.
_SLICE_MS = 100


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

    def _do(self, function: Any, *arguments: Any) -> None:
        _native.call(function, self._token, *arguments)

    def _wait(self, timeout: Timeout, call: Callable[..., bytes | None], *arguments: Any) -> bytes | None:
        """Make a call that waits; ``call`` takes the arguments and how many milliseconds to wait at most.

        On the main thread it is made in slices, so that a signal's handler gets its turn.
        """
        deadline = Deadline(timeout)
        longest = _SLICE_MS if on_main_thread() else _native.WAIT_FOREVER
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


def parsed(method: Callable[Concatenate[H, P], str], shape: type[T]) -> Callable[Concatenate[H, P], T]:
    """The twin of a ``…_json`` method that gives Python values."""

    def twin(self: H, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return cast(T, loads(method(self, *args, **kwargs)))

    return _described(twin, method, method.__name__.removesuffix("_json"), shape)


def parsed_or_none(
    method: Callable[Concatenate[H, P], str | None], shape: type[T]
) -> Callable[Concatenate[H, P], T | None]:
    """The same for a method that may find nothing."""

    def twin(self: H, /, *args: P.args, **kwargs: P.kwargs) -> T | None:
        text = method(self, *args, **kwargs)
        return None if text is None else cast(T, loads(text))

    return _described(twin, method, method.__name__.removesuffix("_json"), shape, "{} | None")


def parsed_revisioned(
    method: Callable[Concatenate[H, P], Revisioned[str]], shape: type[T]
) -> Callable[Concatenate[H, P], Revisioned[T]]:
    """The same for a method that gives a text with its revision."""

    def twin(self: H, /, *args: P.args, **kwargs: P.kwargs) -> Revisioned[T]:
        text, revision = method(self, *args, **kwargs)
        return Revisioned(cast(T, loads(text)), revision)

    return _described(twin, method, method.__name__.removesuffix("_json"), shape, "Revisioned[{}]")


def parsed_revisioned_or_none(
    method: Callable[Concatenate[H, P], Revisioned[str] | None], shape: type[T]
) -> Callable[Concatenate[H, P], Revisioned[T] | None]:
    """The same for a method that gives a text with its revision, or may find nothing."""

    def twin(self: H, /, *args: P.args, **kwargs: P.kwargs) -> Revisioned[T] | None:
        found = method(self, *args, **kwargs)
        return None if found is None else Revisioned(cast(T, loads(found.value)), found.revision)

    return _described(twin, method, method.__name__.removesuffix("_json"), shape, "Revisioned[{}] | None")


def asynchronous(
    method: Callable[Concatenate[H, P], R],
) -> Callable[Concatenate[H, P], Coroutine[Any, Any, R]]:
    """The twin of a method for asyncio: made in place on memory, in a thread of the store's pool on a durable one.

    A cancelled await does not undo the call: once it was awaited it is made.
    """

    async def twin(self: H, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if self._pool is None:
            return method(self, *args, **kwargs)
        return await self._pool.run(functools.partial(method, self, *args, **kwargs))

    return _described(twin, method, method.__name__ + "_async")


def _described(twin: Callable[P, R], method: Any, name: str, shape: Any = None, returns: str = "{}") -> Callable[P, R]:
    """Give a twin the name, documentation and signature that ``help()`` shows."""
    original = getattr(method, "__wrapped__", method)
    shown = types.FunctionType(
        original.__code__, original.__globals__, name, original.__defaults__, original.__closure__
    )
    shown.__kwdefaults__ = original.__kwdefaults__
    shown.__annotations__ = dict(original.__annotations__)
    if shape is not None:
        shape_name = shape.__name__ if isinstance(shape, type) and not hasattr(shape, "__args__") else str(shape)
        shown.__annotations__["return"] = returns.format(shape_name)
    twin.__name__ = name
    twin.__qualname__ = method.__qualname__.rpartition(".")[0] + "." + name
    twin.__module__ = method.__module__
    twin.__doc__ = method.__doc__
    twin.__wrapped__ = shown  # type: ignore[attr-defined]
    return twin
