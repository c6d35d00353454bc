"""The SDK's two kinds of task stores."""

from __future__ import annotations

from typing import Any, Unpack

from a2a.server import cluster
from a2a.server import tasks as sdk
from a2a.server.cluster import ConcurrentTaskModificationError, StoredTask, TaskVersion
from a2a.server.context import ServerCallContext
from a2a.server.owner_resolver import OwnerResolver
from a2a.types.a2a_pb2 import ListTasksRequest, ListTasksResponse, Task, TaskState
from a2a.utils.errors import InvalidParamsError

from .._errors import ConflictError, InvalidArgumentError, InvalidStateError, NotFoundError
from ..types import SaveOptions, StateProviderOptions
from .messages import Event, event_value, task_text
from .tasks import Tasks, Where


class TaskStore(Tasks, sdk.TaskStore):
    """The SDK's ``TaskStore``: tasks of the agent behind one server process; the last write wins.

    For servers that run in several processes, or stream what another process does, there is
    :class:`VersionedTaskStore`; both may be used over the same tasks.
    """

    def __init__(
        self,
        where: Where = None,
        owner_resolver: OwnerResolver | None = None,
        **options: Unpack[StateProviderOptions],
    ) -> None:
        """Prepare the store; it is opened by :meth:`initialize`, or by the first call.

        Args:
            where: where the tasks live: the URL or path of a store, a :class:`taskhold.Store`, None for memory; or
                another of these task stores or a :class:`taskhold.AsyncStateProvider`, which is then shared.
            owner_resolver: gives the owner of a call; by default the name of its user, as in the SDK.
            **options: those of :class:`taskhold.StateProvider`, unless ``where`` is open.
        """
        super().__init__(where, owner_resolver, dict(options))

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Save a task for the caller.

        Raises:
            ConcurrentTaskModificationError: the stored task is final, and this one is not.
            taskhold.NotFoundError: the id belongs to another owner.
            InvalidParamsError: its id or context id is empty, blank, longer than 1024 bytes, or has a line break.
            taskhold.TaskholdError: the task is too large, the store is full, or the storage failed.
        """
        await _save(self, task, context)

    async def get(self, task_id: str, context: ServerCallContext) -> Task | None:
        """One of the caller's tasks; None for what is unknown or another owner's."""
        found = await self._read(task_id, context)
        return None if found is None else found[0]

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """A page of the caller's tasks, in the SDK's order.

        Raises:
            InvalidParamsError: the token is none, or one of another owner or of other filters.
        """
        return await self._page(params, context)

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Delete one of the caller's tasks, with its events and push configs; what is not there is left alone."""
        await self._remove(task_id, context)


class VersionedTaskStore(Tasks, cluster.VersionedTaskStore):
    """The SDK's ``VersionedTaskStore``: saves that lose no other writer's, for servers in several processes.

    The version of a task is its revision. The event that led to a save is stored with it in one step;
    :class:`TaskEventStream` gives it to subscribers in every process.
    """

    def __init__(
        self,
        where: Where = None,
        owner_resolver: OwnerResolver | None = None,
        **options: Unpack[StateProviderOptions],
    ) -> None:
        """Prepare the store; arguments as for :class:`TaskStore`.

        Events are kept as long as their task: ``finalized_retention_ms``, ``maximum_events_per_task`` and
        ``maximum_event_bytes_per_task`` among the options bound that.
        """
        super().__init__(where, owner_resolver, dict(options))

    async def save(
        self,
        task: Task,
        *,
        event: Event | None = None,
        prev: Task | None = None,
        prev_version: TaskVersion,
        context: ServerCallContext,
    ) -> TaskVersion:
        """Save a task for the caller if it still is at ``prev_version``; a canceled one unless it is final.

        Args:
            task: the task.
            event: what led to this state; appended to the task's log in the same step.
            prev: not looked at.
            prev_version: what :meth:`get` or a save gave; ``TaskVersion.MISSING`` for a task that is new.
            context: the call, for the owner.

        Returns:
            The version that this save made.

        Raises:
            ConcurrentTaskModificationError: the task is at another version, is final already, is not there, or its
                id belongs to another owner.
            InvalidParamsError: its id or context id is empty, blank, longer than 1024 bytes, or has a line break.
            taskhold.TaskholdError: the task is too large, the store is full, or the storage failed.
        """
        options: SaveOptions
        if task.status.state == TaskState.TASK_STATE_CANCELED:
            options = {"must_exist": True, "unless_final": True}
        else:
            options = {"expected_revision": revision(prev_version)}
        if event is not None:
            options["event"] = event_value(event)
        try:
            return TaskVersion(await _save(self, task, context, options))
        except (ConflictError, NotFoundError) as error:
            raise ConcurrentTaskModificationError(task.id) from error

    async def get(self, task_id: str, context: ServerCallContext) -> StoredTask | None:
        """One of the caller's tasks with its version; None for what is unknown or another owner's."""
        found = await self._read(task_id, context)
        return None if found is None else StoredTask(found[0], TaskVersion(found[1]))

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """A page of the caller's tasks, in the SDK's order.

        Raises:
            InvalidParamsError: the token is none, or one of another owner or of other filters.
        """
        return await self._page(params, context)

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Delete one of the caller's tasks, with its events and push configs; what is not there is left alone."""
        await self._remove(task_id, context)


def revision(version: TaskVersion) -> int:
    """The revision of a version: the SDK keeps it to itself, its own stores look at it as well."""
    value: Any = version._value
    if not isinstance(value, int):
        raise TypeError(f"versions of this store are integers, not {type(value).__name__}")
    return value


async def _save(tasks: Tasks, task: Task, context: ServerCallContext, options: SaveOptions | None = None) -> int:
    # Its text is taken before anything is awaited: the SDK goes on to change the task.
    text, task_id = task_text(task), task.id
    try:
        return await tasks.provider.save_task(tasks._owner(context), text, **(options or {}))
    except InvalidStateError as error:
        # The SDK then looks again, finds the task final, and ends its work on it.
        raise ConcurrentTaskModificationError(task_id) from error
    except InvalidArgumentError as error:
        raise InvalidParamsError(str(error)) from error
