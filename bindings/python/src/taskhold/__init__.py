"""taskhold keeps the state of AI-agent servers: MCP tasks, MCP sessions and A2A tasks.

:class:`TaskManager`, :class:`SessionStore` and :class:`StateProvider` are opened over a :class:`Store`, or alone
over a private one in memory. Their methods are the functions of the C interface, with options as keywords.

- A payload that is a ``str`` or ``bytes`` is JSON text and crosses byte for byte; anything else is dumped.
- Results are dicts; each method that gives one has a ``…_json`` twin that gives the text itself, in which also
  decimals keep their spelling.
- Each call has an ``…_async`` twin for asyncio.
- A find that finds nothing gives None. A refused call raises a :class:`TaskholdError` with a ``reason``, and has
  changed nothing. Times whose name ends in ``_ms`` are milliseconds, timeouts are seconds.
"""

from __future__ import annotations

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
from .a2a import StateProvider
from .events import Events
from .library import abi_version, describe, describe_json, json_get, status_name, version
from .manager import TaskManager
from .sessions import SessionStore
from .store import ManualClock, Store
from .types import Liveness, Rendering, Revisioned

__version__ = version()

__all__ = [
    "CapacityExhaustedError",
    "ClosedError",
    "ConflictError",
    "CorruptError",
    "Events",
    "InternalError",
    "InvalidArgumentError",
    "InvalidHandleError",
    "InvalidStateError",
    "LimitExceededError",
    "Liveness",
    "ManualClock",
    "NotFoundError",
    "Rendering",
    "Revisioned",
    "SessionStore",
    "StateProvider",
    "Store",
    "TaskManager",
    "TaskholdError",
    "UnavailableError",
    "UnsupportedError",
    "abi_version",
    "describe",
    "describe_json",
    "json_get",
    "status_name",
    "version",
]
