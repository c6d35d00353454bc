"""Durable tasks for agents on the official A2A SDK (``a2a-sdk`` 1.x): the stores that its request handler asks for.

    from a2a.server.request_handlers import DefaultRequestHandler
    from taskhold.a2a import PushNotificationConfigStore, TaskEventStream, VersionedTaskStore

    tasks = VersionedTaskStore("sqlite:agent.db")
    handler = DefaultRequestHandler(
        agent_executor=…,
        agent_card=…,
        task_store=tasks,
        event_stream=TaskEventStream(tasks),
        push_config_store=PushNotificationConfigStore(tasks),
    )

Needs the extra ``taskhold[a2a]``. Several processes may serve the same file, and a client streams from any of them what
another one does. :class:`TaskStore` is for one process. The provider below all of this is
:class:`taskhold.StateProvider`, which needs no SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .provider import AsyncStateProvider, StateProvider

if TYPE_CHECKING:
    from ._a2a.push import PushNotificationConfigStore
    from ._a2a.stores import TaskStore, VersionedTaskStore
    from ._a2a.stream import TaskEventStream

__all__ = [
    "AsyncStateProvider",
    "PushNotificationConfigStore",
    "StateProvider",
    "TaskEventStream",
    "TaskStore",
    "VersionedTaskStore",
]

_MODULES = {
    "PushNotificationConfigStore": "push",
    "TaskEventStream": "stream",
    "TaskStore": "stores",
    "VersionedTaskStore": "stores",
}


def __getattr__(name: str) -> Any:
    """Import what stands on the SDK only when it is asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"._a2a.{_MODULES[name]}", __package__)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(__package__):
            raise
        raise ImportError(
            f"{__name__}.{name} needs the A2A SDK: pip install 'taskhold[a2a]'", name=error.name
        ) from error
    found = getattr(module, name)
    globals()[name] = found
    return found
