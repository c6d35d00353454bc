"""JSON on its way in: payloads, and options with Python's names."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from typing import Any, TypeAlias

from ._errors import InvalidArgumentError, LimitExceededError, TaskholdError
from ._native import call_text, lib, text
from ._times import milliseconds
from .types import Json, Payload

# What is asked for values that JSON does not have, as by json.dumps.
Default: TypeAlias = Callable[[Any], Any] | None

# A pointer at nothing: the text is read to its end, and nothing is copied out of it.
_NOWHERE = b"/no/such/member/of/it"

# The library's limit; only what Python itself cannot write is refused by it here.
_DEPTH = 128

# Options that are objects of options themselves.
_NESTED = frozenset({"attempts", "lease"})


def dumps(value: Any, default: Default = None) -> str:
    """Compact JSON text. What JSON does not have (NaN) is left to the library to refuse."""
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=default)
    except ValueError as error:
        # A value that contains itself, or an integer of more digits than Python writes.
        raise InvalidArgumentError("a value cannot be written as JSON", reason="invalid_json") from error
    except RecursionError:
        raise LimitExceededError("a value is nested too deep", reason="nesting_too_deep", limit=_DEPTH) from None


def payload(value: Payload, default: Default = None) -> bytes:
    """The text of a payload: a Json, str or bytes is JSON already and crosses as it is, anything else is dumped."""
    if isinstance(value, Json):
        value = value.text
    if isinstance(value, bytes):
        # Bytes that are no UTF-8 are the library's to refuse; only a NUL would not reach it.
        return text("\0") if b"\0" in value else value
    return text(value if isinstance(value, str) else dumps(value, default))


def optional_payload(value: Payload, default: Default = None) -> bytes | None:
    """The same, with None for NULL."""
    return None if value is None else payload(value, default)


def untrusted(value: Payload, default: Default = None) -> bytes:
    """A request as a client sent it: the library answers whatever it is, so nothing is refused here.

    A NUL or a lone surrogate makes a text that is no JSON; both cross as another character that does the same.
    """
    if isinstance(value, Json):
        value = value.text
    if not isinstance(value, str | bytes):
        try:
            value = dumps(value, default)
        except TaskholdError:
            return b"\1"
    raw = value.encode(errors="surrogatepass") if isinstance(value, str) else value
    return raw.replace(b"\0", b"\1")


@functools.cache
def camel(name: str) -> str:
    """The library's name of an option: ``task_time_to_live_ms`` is ``taskTimeToLiveMs``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def options(given: Mapping[str, Any], default: Default = None, payloads: Collection[str] = ()) -> bytes | None:
    """Options by keyword as the library's object; None for NULL when there are none."""
    return composed(given, default, payloads) if given else None


def composed(given: Mapping[str, Any], default: Default = None, payloads: Collection[str] = ()) -> bytes:
    """An object of options. A Json or bytes is a member's text, and in ``payloads`` a str is; the rest is dumped."""
    if not isinstance(given, Mapping):
        raise TypeError(f"a dict of members is needed, not {type(given).__name__}")
    dumped, texts = {}, []
    for name, value in given.items():
        if isinstance(value, Json | bytes) or (name in payloads and isinstance(value, str)):
            member = payload(value)
            # The library reads it as one value, so that no text can smuggle in a member beside itself. One that
            # is too deep to be read is too deep for every call, which names its own limit.
            with contextlib.suppress(LimitExceededError):
                call_text(lib.taskhold_json_get, member, _NOWHERE)
            texts.append(text(dumps(camel(name))) + b":" + member)
        else:
            dumped[camel(name)] = _option(name, value)
    whole = text(dumps(dumped, default))
    if not texts:
        return whole
    members = [whole[1:-1], *texts] if dumped else texts
    return b"{" + b",".join(members) + b"}"


def _option(name: str, value: Any) -> Any:
    """The value of an option: a timedelta where milliseconds are taken, and the options of a nested object."""
    if isinstance(value, timedelta) and name.endswith(("_ms", "Ms")):
        return milliseconds(value)
    if name in _NESTED and isinstance(value, Mapping):
        return {camel(inner): _option(inner, member) for inner, member in value.items()}
    return value
