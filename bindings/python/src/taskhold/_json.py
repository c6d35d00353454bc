"""JSON on its way in and out: payloads, options with Python's names, and results as dicts."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ._errors import InvalidArgumentError, LimitExceededError, TaskholdError
from ._native import call_text, lib, text
from ._times import milliseconds
from .types import Payload

# A pointer at nothing: the text is read to its end, and nothing is copied out of it.
_NOWHERE = b"/no/such/member/of/it"

# The library's limit; only what Python itself cannot write is refused by it here.
_DEPTH = 128


def dumps(value: Any) -> str:
    """Compact JSON text. What JSON does not have (NaN) is left to the library to refuse."""
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    except ValueError as error:
        # A value that contains itself, or an integer of more digits than Python writes.
        raise InvalidArgumentError("a value cannot be written as JSON", reason="invalid_json") from error
    except RecursionError:
        raise LimitExceededError("a value is nested too deep", reason="nesting_too_deep", limit=_DEPTH) from None


def payload(value: Payload) -> bytes:
    """The text of a payload: a str or bytes is JSON already and crosses as it is, anything else is dumped."""
    if isinstance(value, bytes):
        # Bytes that are no UTF-8 are the library's to refuse; only a NUL would not reach it.
        return text("\0") if b"\0" in value else value
    return text(value if isinstance(value, str) else dumps(value))


def optional_payload(value: Payload) -> bytes | None:
    """The same, with None for NULL."""
    return None if value is None else payload(value)


def untrusted(value: Payload) -> bytes:
    """A request as a client sent it: the library answers whatever it is, so nothing is refused here.

    A NUL or a lone surrogate makes a text that is no JSON; both cross as another character that does the same.
    """
    if not isinstance(value, str | bytes):
        try:
            value = dumps(value)
        except TaskholdError:
            return b"\1"
    raw = value.encode(errors="surrogatepass") if isinstance(value, str) else value
    return raw.replace(b"\0", b"\1")


@functools.cache
def camel(name: str) -> str:
    """The library's name of an option: ``task_time_to_live_ms`` is ``taskTimeToLiveMs``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def options(given: Mapping[str, Any]) -> bytes | None:
    """Options by keyword as the library's object; None for NULL when there are none."""
    return text(dumps({camel(name): option(value) for name, value in given.items()})) if given else None


def option(value: Any) -> Any:
    """The value of an option: a timedelta is milliseconds."""
    return milliseconds(value) if isinstance(value, timedelta) else value


def composed(members: Mapping[str, Any], payloads: frozenset[str]) -> bytes:
    """An object of options some of which are payloads, and cross as they are when they are texts."""
    parts = []
    for name, value in members.items():
        if name in payloads and isinstance(value, str | bytes):
            member = payload(value)
            # The library reads it as one value, so that no text can smuggle in a member beside itself. One that
            # is too deep to be read is too deep for every call, which names its own limit.
            with contextlib.suppress(LimitExceededError):
                call_text(lib.taskhold_json_get, member, _NOWHERE)
        else:
            member = text(dumps(value))
        parts.append(text(dumps(camel(name))) + b":" + member)
    return b"{" + b",".join(parts) + b"}"
