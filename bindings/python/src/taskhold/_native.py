"""The C library: its signature table, finding, loading and checking it, and making a call.

Nothing here knows JSON. A call passes bytes and integers, copies the text that the library gives out and frees
it, and turns a status other than OK into an exception. Cells for outputs are made per call, so calls need no lock.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Final

from ._errors import InvalidArgumentError, TaskholdError, from_native

ABI_VERSION: Final = 1
WAIT_FOREVER: Final = 0xFFFF_FFFF

# A text that comes out goes through a c_char_p cell: `.value` copies it, and the cell keeps the pointer to free.
_OUT_TEXT = POINTER(c_char_p)
_OUT_HANDLE = POINTER(c_void_p)
_OUT_FLAG = POINTER(c_int32)
_OUT_REVISION = POINTER(c_uint64)
_HANDLE = c_void_p
_TEXT = c_char_p

_OPEN = (_HANDLE, _TEXT, _OUT_HANDLE, _OUT_TEXT)
_ASK = (_HANDLE, _OUT_TEXT, _OUT_TEXT)
_FLAG_OF_ID = (_HANDLE, _TEXT, _OUT_FLAG, _OUT_TEXT)
_OPEN_EVENTS = (_HANDLE, c_uint32, _OUT_HANDLE, _OUT_TEXT)

# Result and parameters of each function, as include/taskhold.h declares them. A test compares the two.
SIGNATURES: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "taskhold_abi_version": (c_uint32, ()),
    "taskhold_version": (c_char_p, ()),
    "taskhold_status_name": (c_char_p, (c_int32,)),
    "taskhold_describe": (c_int32, (_OUT_TEXT, _OUT_TEXT)),
    "taskhold_json_get": (c_int32, (_TEXT, _TEXT, _OUT_TEXT, _OUT_TEXT)),
    # An owned text is a c_void_p here: as c_char_p, ctypes would hand over a copy of it.
    "taskhold_string_free": (None, (c_void_p,)),
    # Time
    "taskhold_clock_open_manual": (c_int32, (c_int64, _OUT_HANDLE, _OUT_TEXT)),
    "taskhold_clock_advance": (c_int32, (_HANDLE, c_int64, _OUT_TEXT)),
    "taskhold_clock_step_wall": (c_int32, (_HANDLE, c_int64, _OUT_TEXT)),
    "taskhold_clock_close": (c_int32, (_HANDLE,)),
    # Stores
    "taskhold_store_open": (c_int32, (_TEXT, _TEXT, _HANDLE, _OUT_HANDLE, _OUT_TEXT)),
    "taskhold_store_stats": (c_int32, _ASK),
    "taskhold_store_check": (c_int32, _ASK),
    "taskhold_store_copy": (c_int32, (_HANDLE, _HANDLE, _TEXT, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_store_close": (c_int32, (_HANDLE,)),
    # MCP tasks
    "taskhold_manager_open": (c_int32, _OPEN),
    "taskhold_manager_options": (c_int32, _ASK),
    "taskhold_manager_close": (c_int32, (_HANDLE,)),
    "taskhold_manager_create_task": (c_int32, (_HANDLE, _TEXT, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_find_task": (c_int32, (_HANDLE, _TEXT, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_mark_task_working": (c_int32, (_HANDLE, *[_TEXT] * 3, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_request_task_input": (c_int32, (_HANDLE, *[_TEXT] * 4, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_complete_task": (c_int32, (_HANDLE, *[_TEXT] * 4, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_fail_task": (c_int32, (_HANDLE, *[_TEXT] * 4, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_cancel_task": (c_int32, (_HANDLE, *[_TEXT] * 3, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_take_task_input_responses": (c_int32, (_HANDLE, *[_TEXT] * 2, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_is_task_cancelation_requested": (c_int32, _FLAG_OF_ID),
    "taskhold_manager_wait_task": (c_int32, (_HANDLE, _TEXT, c_uint64, c_uint32, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_list_tasks": (c_int32, (_HANDLE, _TEXT, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_claim_task": (c_int32, (_HANDLE, _TEXT, c_uint32, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_renew_leases": (c_int32, (_HANDLE, _TEXT, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_release_task": (c_int32, (_HANDLE, *[_TEXT] * 2, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_find_authorized_task": (c_int32, (_HANDLE, *[_TEXT] * 3, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_update_task": (c_int32, (_HANDLE, *[_TEXT] * 5, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_request_task_cancelation": (c_int32, (_HANDLE, *[_TEXT] * 3, _OUT_TEXT)),
    "taskhold_manager_render_task": (
        c_int32,
        (_HANDLE, *[_TEXT] * 3, c_int32, _TEXT, _OUT_TEXT, _OUT_REVISION, _OUT_TEXT),
    ),
    "taskhold_manager_handle_request": (c_int32, (_HANDLE, *[_TEXT] * 4, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_manager_publish_task_changed": (c_int32, (_HANDLE, _TEXT, _OUT_TEXT)),
    "taskhold_manager_open_events": (c_int32, _OPEN_EVENTS),
    # Events
    "taskhold_events_next": (c_int32, (_HANDLE, c_uint32, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_events_fd": (c_int32, (_HANDLE, _OUT_FLAG, _OUT_TEXT)),
    "taskhold_events_close": (c_int32, (_HANDLE,)),
    # MCP sessions
    "taskhold_session_store_open": (c_int32, _OPEN),
    "taskhold_session_store_options": (c_int32, _ASK),
    "taskhold_session_store_close": (c_int32, (_HANDLE,)),
    "taskhold_session_store_create": (c_int32, (_HANDLE, *[_TEXT] * 2, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_session_store_find_by_session_id": (c_int32, (_HANDLE, _TEXT, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_session_store_find_authorized_session": (
        c_int32,
        (_HANDLE, *[_TEXT] * 3, _OUT_TEXT, _OUT_TEXT),
    ),
    "taskhold_session_store_list_sessions": (c_int32, (_HANDLE, _TEXT, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_session_store_replace": (c_int32, (_HANDLE, *[_TEXT] * 2, _OUT_FLAG, _OUT_TEXT)),
    "taskhold_session_store_delete_by_session_id": (c_int32, (_HANDLE, _TEXT, _OUT_TEXT)),
    "taskhold_session_store_pin": (c_int32, _FLAG_OF_ID),
    "taskhold_session_store_unpin": (c_int32, (_HANDLE, _TEXT, _OUT_TEXT)),
    "taskhold_session_store_take_expired": (c_int32, _ASK),
    # A2A tasks
    "taskhold_state_provider_open": (c_int32, _OPEN),
    "taskhold_state_provider_options": (c_int32, _ASK),
    "taskhold_state_provider_close": (c_int32, (_HANDLE,)),
    "taskhold_state_provider_save_task": (c_int32, (_HANDLE, *[_TEXT] * 3, _OUT_REVISION, _OUT_TEXT)),
    "taskhold_state_provider_get_task": (
        c_int32,
        (_HANDLE, *[_TEXT] * 3, _OUT_TEXT, _OUT_REVISION, _OUT_TEXT),
    ),
    "taskhold_state_provider_delete_task": (c_int32, (_HANDLE, *[_TEXT] * 2, _OUT_TEXT)),
    "taskhold_state_provider_list_tasks": (c_int32, (_HANDLE, *[_TEXT] * 2, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_state_provider_is_task_active": (c_int32, _FLAG_OF_ID),
    "taskhold_state_provider_is_task_finalized": (c_int32, _FLAG_OF_ID),
    "taskhold_state_provider_task_liveness": (c_int32, _FLAG_OF_ID),
    "taskhold_state_provider_open_events": (c_int32, _OPEN_EVENTS),
    "taskhold_state_provider_read_events": (c_int32, (_HANDLE, *[_TEXT] * 2, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_state_provider_wait_task": (c_int32, (_HANDLE, _TEXT, c_uint64, c_uint32, _OUT_REVISION, _OUT_TEXT)),
    "taskhold_state_provider_set_push_config": (c_int32, (_HANDLE, *[_TEXT] * 4, _OUT_TEXT)),
    "taskhold_state_provider_list_push_configs": (c_int32, (_HANDLE, *[_TEXT] * 3, _OUT_TEXT, _OUT_TEXT)),
    "taskhold_state_provider_delete_push_config": (c_int32, (_HANDLE, *[_TEXT] * 3, _OUT_TEXT)),
}

# Callbacks stay outside: a thread of another language would have to enter Python, also while it shuts down.
# Event queues give the same.
NOT_BOUND: Final = frozenset({"taskhold_manager_subscribe", "taskhold_subscription_close"})


def _path() -> str:
    if chosen := os.environ.get("TASKHOLD_LIBRARY"):
        return os.path.abspath(chosen)
    name = {"darwin": "libtaskhold.dylib", "win32": "taskhold.dll"}.get(sys.platform, "libtaskhold.so")
    beside = Path(__file__).with_name(name)
    if beside.is_file():
        return str(beside)
    raise ImportError(
        f"taskhold: the native library {beside} is missing; install the package (pip install ./bindings/python), "
        "or name a library in TASKHOLD_LIBRARY"
    )


def load(path: str) -> ctypes.CDLL:
    """Load and check a library. The result is an own instance: its signatures are shared with nobody."""
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"taskhold: cannot load {path}: {error}") from error
    try:
        library.taskhold_abi_version.restype = c_uint32
        if (found := library.taskhold_abi_version()) != ABI_VERSION:
            raise ImportError(f"taskhold: {path} has ABI version {found}, this package needs {ABI_VERSION}")
        for name, (result, parameters) in SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, parameters
    except AttributeError as error:
        raise ImportError(f"taskhold: {path} is not the library that this package needs: {error}") from None
    return library


path: Final = _path()
lib: Final = load(path)

# It never blocks and never calls Python, so the interpreter's lock is kept: one hand-over fewer in each call.
_free = ctypes.PyDLL(path).taskhold_string_free
_free.restype, _free.argtypes = None, (c_void_p,)


def _taken(cell: c_char_p) -> bytes | None:
    try:
        return cell.value
    finally:
        _free(cell)


def _failure(status: int, error: c_char_p) -> TaskholdError:
    return from_native(status, _taken(error))


def call(function: Any, *arguments: Any) -> None:
    """Make a call that gives nothing out."""
    error = c_char_p()
    if status := function(*arguments, byref(error)):
        raise _failure(status, error)


def call_text(function: Any, *arguments: Any) -> bytes | None:
    """Make a call that gives a text out, or NULL."""
    out, error = c_char_p(), c_char_p()
    if status := function(*arguments, byref(out), byref(error)):
        raise _failure(status, error)
    # As _taken, without a call: this is the hot path.
    try:
        return out.value
    finally:
        _free(out)


def call_taking(function: Any, keep: Callable[[bytes], None], *arguments: Any) -> bytes | None:
    """As :func:`call_text` for what is taken out of a queue.

    A signal's handler may raise as soon as the call returns: what was taken by then goes to ``keep``.
    """
    out, error, taken = c_char_p(), c_char_p(), None
    try:
        try:
            status = function(*arguments, byref(out), byref(error))
        finally:
            taken = out.value
            _free(out)
        if status:
            raise _failure(status, error)
        return taken
    except BaseException:
        if taken is not None:
            keep(taken)
        raise


def call_revised_text(function: Any, *arguments: Any) -> tuple[bytes | None, int]:
    """Make a call that gives a text out, or NULL, and a revision."""
    out, revision, error = c_char_p(), c_uint64(), c_char_p()
    if status := function(*arguments, byref(out), byref(revision), byref(error)):
        raise _failure(status, error)
    return _taken(out), revision.value


def call_number(function: Any, *arguments: Any) -> int:
    """Make a call that gives an int32_t out."""
    out, error = c_int32(), c_char_p()
    if status := function(*arguments, byref(out), byref(error)):
        raise _failure(status, error)
    return out.value


def call_revision(function: Any, *arguments: Any) -> int:
    """Make a call that gives a revision out."""
    out, error = c_uint64(), c_char_p()
    if status := function(*arguments, byref(out), byref(error)):
        raise _failure(status, error)
    return out.value


def call_handle(function: Any, *arguments: Any) -> int:
    """Make a call that opens a handle."""
    out, error = c_void_p(), c_char_p()
    if status := function(*arguments, byref(out), byref(error)):
        raise _failure(status, error)
    return out.value or 0


def text(value: str, errors: str = "strict") -> bytes:
    """UTF-8 for a C string. What C would cut or cannot hold is refused."""
    try:
        encoded = value.encode(errors=errors)
    except UnicodeEncodeError:
        raise InvalidArgumentError("a string has a lone surrogate", reason="lone_surrogate") from None
    except AttributeError:
        raise TypeError(f"a str is expected, not {type(value).__name__}") from None
    if b"\0" in encoded:
        raise InvalidArgumentError("a string has a NUL character", reason="embedded_nul")
    return encoded


def optional_text(value: str | None) -> bytes | None:
    """The same, with None for NULL."""
    return None if value is None else text(value)


def integer(value: int, name: str, lowest: int, highest: int) -> int:
    """Refuse an integer that its C type cannot hold: ctypes would cut it without a word."""
    if not lowest <= value <= highest:
        limit = lowest if value < lowest else highest
        raise InvalidArgumentError("an integer is out of range", reason="invalid_value", key=name, limit=limit)
    return value


def int32(value: int, name: str) -> int:
    """An integer for an int32_t."""
    return integer(value, name, -(2**31), 2**31 - 1)


def int64(value: int, name: str) -> int:
    """An integer for an int64_t."""
    return integer(value, name, -(2**63), 2**63 - 1)


def uint32(value: int, name: str) -> int:
    """An integer for a uint32_t."""
    return integer(value, name, 0, 2**32 - 1)


def uint64(value: int, name: str) -> int:
    """An integer for a uint64_t."""
    return integer(value, name, 0, 2**64 - 1)
