"""Times as Python says them: a timeout in seconds, a duration in milliseconds, and a timedelta for either."""

from __future__ import annotations

import math
import time
from datetime import timedelta
from typing import TypeAlias

from ._errors import InvalidArgumentError

Timeout: TypeAlias = float | timedelta | None

_MILLISECOND = timedelta(milliseconds=1)


def seconds(timeout: Timeout) -> float | None:
    """A timeout in seconds; None, as infinity, waits without end."""
    if isinstance(timeout, timedelta):
        return timeout.total_seconds()
    if timeout is None or timeout == math.inf:
        return None
    if timeout != timeout:
        raise InvalidArgumentError("a timeout must be a number", reason="invalid_value", key="timeout")
    return timeout


def milliseconds(duration: int | timedelta) -> int:
    """A duration in whole milliseconds; what is shorter than one counts as one."""
    return -(-duration // _MILLISECOND) if isinstance(duration, timedelta) else duration


class Deadline:
    """The end of a wait that is made of several calls."""

    def __init__(self, timeout: Timeout) -> None:
        left = seconds(timeout)
        self._at = None if left is None else time.monotonic() + left

    def passed(self) -> bool:
        """Whether the time is over."""
        return self._at is not None and time.monotonic() >= self._at

    def left_ms(self, longest: int) -> int:
        """How long to wait now, in milliseconds rounded up; ``longest`` when there is no end."""
        if self._at is None:
            return longest
        return math.ceil(min(max(0.0, (self._at - time.monotonic()) * 1000), longest))
