"""The SDK's stream of a task's events, out of the log that saves append to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator

from a2a.server import cluster
from a2a.server.cluster import TaskVersion, VersionedEvent
from a2a.utils.errors import InternalError

from .._errors import InvalidArgumentError, InvalidHandleError, NotFoundError, UnavailableError
from ..provider import AsyncStateProvider
from .messages import read_event
from .stores import revision
from .tasks import Tasks

logger = logging.getLogger("taskhold")

# Between looks while the storage fails, in seconds.
_PAUSE = 0.5


class TaskEventStream(cluster.TaskEventStream):
    """The SDK's ``TaskEventStream``: what any process saved with :class:`VersionedTaskStore`, in order.

    Subscribers wait without a thread or a query each: one queue of events wakes all of a process.
    """

    def __init__(self, tasks: Tasks | AsyncStateProvider) -> None:
        """Stream the events of a store's tasks.

        Args:
            tasks: the :class:`VersionedTaskStore`, or the provider that it was made over.
        """
        self._provider = tasks.provider if isinstance(tasks, Tasks) else tasks

    async def publish(self, task_id: str, event: VersionedEvent) -> None:
        """Do nothing: the save that made the version appended its event."""

    async def subscribe(self, task_id: str, *, after: TaskVersion) -> AsyncGenerator[VersionedEvent, None]:
        """Give the events of a task that came with later versions, and those to come.

        It ends when the task goes, or the store is closed; for a task that is not there, at once. While the storage
        fails it goes on trying.

        Raises:
            InternalError: events after that version are not in the log any more, by one of the store's limits or
                because the task was deleted and made again. A new subscription begins with the task as it is.
        """
        seen = revision(after)
        while True:
            try:
                log = await self._provider.read_events(task_id, after_revision=seen)
                if not log["events"] and not log["missing"]:
                    seen = log["revision"]
                    await self._provider.wait_task(task_id, seen)
                    continue
            except UnavailableError:
                logger.exception("the events of an A2A task cannot be read")
                await asyncio.sleep(_PAUSE)
                continue
            except (NotFoundError, InvalidHandleError, InvalidArgumentError):
                # It is gone, or closed; no task has an id that is refused.
                return
            if log["missing"]:
                raise InternalError("Events of the task are missing: subscribe again")
            for entry in log["events"]:
                seen = entry["revision"]
                if (event := read_event(entry["event"])) is not None:
                    yield VersionedEvent(event, TaskVersion(seen))

    async def destroy(self, task_id: str) -> None:
        """Do nothing: the log goes with its task, and a subscriber with its connection."""
