"""The exceptions: one for each status, each also the builtin that Python code expects in its place."""

from __future__ import annotations

import builtins
from typing import Any

from ._decode import loads


class TaskholdError(Exception):
    """A call was refused or failed. Nothing was changed, except for the reason ``outcome_unknown``.

    Attributes:
        status: the name of the status, such as ``"invalid_state"``.
        code: its number in the C interface.
        reason: why, out of the closed list in docs/errors.md, such as ``"task_terminal"``.
        key: the option, member or parameter at fault, if there is one.
        limit: the bound that was broken, if there is one.
        response: of a failed ``handle_request``, the JSON-RPC response that can be sent all the same.
    """

    status: str = "unknown"
    code: int = -1

    def __init__(
        self,
        message: str,
        *,
        reason: str = "unknown",
        key: str | None = None,
        limit: int | None = None,
        response: Any = None,
        code: int | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.key = key
        self.limit = limit
        self.response = response
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        key = "" if self.key is None else f": {self.key}"
        reason = "" if self.reason == "unknown" else f" ({self.reason})"
        return f"{self.args[0]}{key}{reason}"

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword-only arguments would be lost on the way to another process.
        return _rebuilt, (type(self), self.args[0], dict(vars(self)))


def _rebuilt(cls: type[TaskholdError], message: str, state: dict[str, Any]) -> TaskholdError:
    error = cls(message)
    vars(error).update(state)
    return error


class InvalidArgumentError(TaskholdError, ValueError):
    """An argument is malformed; the call cannot succeed as it stands."""

    status, code = "invalid_argument", 1


class InvalidHandleError(TaskholdError, ValueError):
    """The object cannot be used: it is closed (:class:`ClosedError`), or was made before a fork."""

    status, code = "invalid_handle", 2


class NotFoundError(TaskholdError, LookupError):
    """The task is absent, expired, or not visible to the caller."""

    status, code = "not_found", 3


class InvalidStateError(TaskholdError, RuntimeError):
    """A rule of the state machine refuses the call."""

    status, code = "invalid_state", 4


class CapacityExhaustedError(TaskholdError, RuntimeError):
    """The store is full; an unexpired record is never evicted."""

    status, code = "capacity_exhausted", 5


class LimitExceededError(TaskholdError, ValueError):
    """An argument is larger or deeper than a limit."""

    status, code = "limit_exceeded", 6


class ConflictError(TaskholdError, RuntimeError):
    """An expected revision did not match, or an id is taken."""

    status, code = "conflict", 7


class TimeoutError(TaskholdError, builtins.TimeoutError):
    """Nothing happened within the time given."""

    status, code = "timeout", 8


class ClosedError(InvalidHandleError, RuntimeError):
    """The object is closed: it was when the call came (reason ``closed``), or while it waited."""

    status, code = "closed", 9


class UnavailableError(TaskholdError, ConnectionError):
    """The storage failed; a retry may help."""

    status, code = "unavailable", 10


class CorruptError(TaskholdError, RuntimeError):
    """A stored row cannot be read."""

    status, code = "corrupt", 11


class UnsupportedError(TaskholdError, NotImplementedError):
    """This build or platform cannot do it."""

    status, code = "unsupported", 12


class InternalError(TaskholdError, RuntimeError):
    """A defect of the library; state is as before the call."""

    status, code = "internal", 99


BY_CODE: dict[int, type[TaskholdError]] = {
    error.code: error
    for error in (
        InvalidArgumentError,
        InvalidHandleError,
        NotFoundError,
        InvalidStateError,
        CapacityExhaustedError,
        LimitExceededError,
        ConflictError,
        TimeoutError,
        ClosedError,
        UnavailableError,
        CorruptError,
        UnsupportedError,
        InternalError,
    )
}

for _error in (TaskholdError, *BY_CODE.values()):
    # Where users find them, and what a traceback shows.
    _error.__module__ = "taskhold"


def closed() -> ClosedError:
    """What the library says of a closed handle, of an object that never had one."""
    error = ClosedError("the handle is closed", reason="closed", code=InvalidHandleError.code)
    error.status = InvalidHandleError.status
    return error


def closed_while_waiting() -> ClosedError:
    """What a wait that is made of several calls ends with, as a single call would."""
    return ClosedError("the handle was closed while the call waited", reason="closed_while_waiting")


def from_native(code: int, text: bytes | None) -> TaskholdError:
    """The exception for a status and the library's error object. A newer library's status is the base class."""
    error = loads(text) if text else {}
    reason = error.get("reason", "unknown")
    cls = ClosedError if reason == "closed" else BY_CODE.get(code, TaskholdError)
    made = cls(
        error.get("message", f"status {code}"),
        reason=reason,
        key=error.get("key"),
        limit=error.get("limit"),
        response=error.get("response"),
        code=code,
    )
    if cls is ClosedError:
        made.status = error.get("status", cls.status)
    return made
