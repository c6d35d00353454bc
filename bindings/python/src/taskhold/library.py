"""What the library says about itself, and reading one value out of a JSON text."""

from __future__ import annotations

from typing import cast

from . import _native
from ._decode import loads
from ._json import payload
from ._native import lib, text
from .types import Description


def version() -> str:
    """The version of the library that is loaded, such as ``"0.1.0"``.

    Source: ``taskhold_version``.
    """
    return str(lib.taskhold_version(), "ascii")


def abi_version() -> int:
    """The version of the C interface that the library has.

    Source: ``taskhold_abi_version``.
    """
    return int(lib.taskhold_abi_version())


def status_name(status: int) -> str:
    """The name of a status: ``"ok"``, ``"invalid_argument"``, …; ``"unknown"`` for a number that is none.

    Source: ``taskhold_status_name``.
    """
    return str(lib.taskhold_status_name(_native.int32(status, "status")), "ascii")


def describe_json() -> str:
    """Describe the library: version, backends, limits, defaults, and how many handles are open.

    Source: ``taskhold_describe``.
    """
    return (_native.call_text(lib.taskhold_describe) or b"").decode()


def describe() -> Description:
    """Describe the library: version, backends, limits, defaults, and how many handles are open.

    Source: ``taskhold_describe``.
    """
    return cast(Description, loads(describe_json()))


def json_get(json: str | bytes, pointer: str) -> str | None:
    """Read one value out of a JSON text without parsing it into Python.

    >>> json_get('{"price": 1.10, "name": "a"}', "/price"), json_get('{"name": "a"}', "/name")
    ('1.10', 'a')

    Args:
        json: a JSON text.
        pointer: an RFC 6901 pointer; "" is the whole text.

    Returns:
        A string decoded, anything else as its text; None when there is nothing.

    Raises:
        InvalidArgumentError: the text or the pointer is malformed, or the string holds U+0000.
        LimitExceededError: the text is nested too deep.

    Source: ``taskhold_json_get``.
    """
    value = _native.call_text(lib.taskhold_json_get, payload(json), text(pointer))
    return None if value is None else value.decode()
