"""taskhold keeps the state of AI-agent servers: MCP tasks, MCP sessions and A2A tasks.

:class:`TaskManager`, :class:`SessionStore` and :class:`StateProvider` are opened over a :class:`Store`, or alone
over a private one in memory. Their methods are the functions of the C interface, with options as keywords.

- :class:`AsyncTaskManager`, :class:`AsyncSessionStore` and :class:`AsyncStateProvider` have the same methods for
  asyncio, and are opened by ``async with``. The others' ``…_async`` methods do the same on one object.
- Payloads are dumped. ``Json(text)`` is JSON text, which crosses byte for byte; so does a ``str`` or ``bytes`` where an
  object is taken, and as a task's origin.
- Results are dicts; each method that gives one has a ``…_json`` twin that gives the text itself, in which also
  decimals keep their spelling.
- A find that finds nothing gives None. A refused call raises a :class:`TaskholdError` with a ``reason``, and has
  changed nothing. Times whose name ends in ``_ms`` are milliseconds, timeouts are seconds; a timedelta is either.
"""

from __future__ import annotations

from ._clients import AsyncEvents
from ._errors import (
    CapacityExhaustedError,
    ClosedError,
    ConflictError,
    CorruptError,
    InternalError,
    InvalidArgumentError,
    InvalidHandleError,
    InvalidStateError,
    LimitExceededError,
    NotFoundError,
    TaskholdError,
    UnavailableError,
    UnsupportedError,
)

# Not in __all__: `import *` shall not replace the builtin, which catches it too.
from ._errors import TimeoutError as TimeoutError
from .events import Events
from .library import abi_version, describe, describe_json, json_get, status_name, version
from .manager import AsyncTaskManager, TaskManager
from .provider import AsyncStateProvider, StateProvider
from .sessions import AsyncSessionStore, SessionStore
from .store import ManualClock, Store
from .types import Json, Liveness, Rendering, Revisioned
from .work import AsyncWork, Parked, Work, WorkInterrupted
from .worker import AsyncWorker, Worker

__version__ = version()

__all__ = [
    "AsyncEvents",
    "AsyncSessionStore",
    "AsyncStateProvider",
    "AsyncTaskManager",
    "AsyncWork",
    "AsyncWorker",
    "CapacityExhaustedError",
    "ClosedError",
    "ConflictError",
    "CorruptError",
    "Events",
    "InternalError",
    "InvalidArgumentError",
    "InvalidHandleError",
    "InvalidStateError",
    "Json",
    "LimitExceededError",
    "Liveness",
    "ManualClock",
    "NotFoundError",
    "Parked",
    "Rendering",
    "Revisioned",
    "SessionStore",
    "StateProvider",
    "Store",
    "TaskManager",
    "TaskholdError",
    "UnavailableError",
    "UnsupportedError",
    "Work",
    "WorkInterrupted",
    "Worker",
    "abi_version",
    "describe",
    "describe_json",
    "json_get",
    "status_name",
    "version",
]
