"""Calls the C functions with bytes and tokens, in the order of the header's parameters."""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass
from typing import Any

from header import FUNCTIONS, STATUSES
from taskhold import _native
from vectors.matching import parse
from vectors.values import c_text

_NAMES = {number: name for name, number in STATUSES.items()}
_OUTPUTS: dict[str, Any] = {"char **": ctypes.c_char_p, "int32_t *": ctypes.c_int32, "uint64_t *": ctypes.c_uint64}
_free = _native.lib.taskhold_string_free


@dataclass
class Outcome:
    """What a call gave. The main output is there as a text, as a value, or as both."""

    status: str = "ok"
    text: str | None = None
    value: Any = None
    revision: int | None = None
    opened: Any = None


def take(cell: ctypes.c_char_p) -> str | None:
    """Copy a text and free it."""
    try:
        return None if cell.value is None else cell.value.decode()
    finally:
        _free(cell)


def call(name: str, receiver: int | None, arguments: dict[str, Any], handles: dict[str, int | None]) -> Outcome:
    """Make the call; the arguments are expanded, and handles among them are given by token."""
    function = FUNCTIONS["taskhold_" + name]
    native = getattr(_native.lib, "taskhold_" + name)
    cells: dict[str, Any] = {}
    given: list[Any] = []
    for at, (kind, parameter) in enumerate(function.parameters):
        if parameter.startswith("out_"):
            cells[parameter] = cell = _OUTPUTS.get(kind, ctypes.c_void_p)()
            if not isinstance(cell, ctypes.c_char_p):
                # Nonsense, so that a call that fails to clear it shows.
                cell.value = 77
            given.append(ctypes.byref(cell))
        elif kind.startswith("taskhold_"):
            given.append(receiver if at == 0 else handles[parameter])
        elif kind == "const char *":
            given.append(c_text(arguments.get(parameter)))
        else:
            given.append(int(arguments[parameter]))
    result = native(*given)

    if function.returns != "taskhold_status":
        text = result.decode() if isinstance(result, bytes) else str(result)
        return Outcome(text=text, value=text if isinstance(result, bytes) else result)
    status = _NAMES[result]
    error = take(cells.pop("out_error")) if "out_error" in cells else None
    outcome = Outcome(status)
    for parameter, cell in cells.items():
        if isinstance(cell, ctypes.c_char_p):
            outcome.text = take(cell)
            outcome.value = None if outcome.text is None else readable(outcome.text)
        elif isinstance(cell, ctypes.c_uint64):
            outcome.revision = cell.value
        elif isinstance(cell, ctypes.c_int32):
            outcome.value, outcome.text = cell.value, str(cell.value)
        else:
            outcome.opened = cell.value
        assert status == "ok" or not cell.value, f"{parameter} was not cleared"
    if status != "ok" and not name.endswith("_close"):
        assert error is not None, "a failed call says why"
        outcome.text, outcome.value = error, json.loads(error)
        assert outcome.value["status"] == status
    else:
        assert error is None, f"a call that succeeds leaves no error: {error}"
    return outcome


def readable(text: str) -> Any:
    """The value of a main output: JSON, or the text itself where it is none (json_get)."""
    try:
        return parse(text)
    except ValueError:
        return text
