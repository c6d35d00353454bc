"""The state provider: A2A tasks, whether they are active or final, and the task store behind that."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Self, Unpack

from . import _native
from ._clients import AsyncClient, AsyncEvents
from ._handles import gives
from ._json import Default
from ._native import lib, optional_text, text
from ._pages import pages, pages_async
from .events import Events
from .store import StoreClient, StoreLike, opened
from .types import (
    A2AFilters,
    A2AListOptions,
    A2ATask,
    A2ATaskPage,
    GetOptions,
    JsonObject,
    Liveness,
    Payload,
    Revisioned,
    SaveOptions,
    StateProviderOptions,
)

if TYPE_CHECKING:
    from .a2a import StateProvider  # noqa: F401 - of the class below


class StateProviderCalls(StoreClient):
    """A provider of the state of A2A tasks: it keeps them and tells which are active and which are final.

    Methods with an ``owner`` see that owner's tasks only; None is the anonymous owner.

    >>> provider = StateProvider()
    >>> provider.save_task("alice", {"id": "t-1", "status": {"state": "working"}})
    1
    >>> task, revision = provider.get_task("alice", "t-1")
    >>> task["status"]["state"], revision
    ('working', 1)
    >>> provider.get_task("bob", "t-1") is None
    True
    >>> provider.task_liveness("t-1")
    <Liveness.ACTIVE: 1>
    """

    _close = lib.taskhold_state_provider_close

    def __init__(
        self, store: StoreLike = None, *, default: Default = None, **options: Unpack[StateProviderOptions]
    ) -> None:
        """Open a state provider.

        Args:
            store: where the tasks live: a :class:`Store`, its URL or path, or None for a private one in memory.
            default: what is asked for a value that JSON does not have, as by :func:`json.dumps`.
            **options: ``name`` ("default"; providers with one name over one store share their tasks),
                ``grace_period_ms`` (15000), ``maximum_retained_tasks`` (0: no limit),
                ``finalized_retention_ms`` (0: for ever).

        Raises:
            InvalidArgumentError: an option is malformed or unknown, or the URL is of no known form.
            UnsupportedError: this build has no such backend.
            UnavailableError: the storage failed.

        Source: ``taskhold_state_provider_open``.
        """
        self._open_over(store, lib.taskhold_state_provider_open, options, default)

    @classmethod
    async def open_async(
        cls, store: StoreLike = None, *, default: Default = None, **options: Unpack[StateProviderOptions]
    ) -> Self:
        """Open a provider without blocking the loop; arguments as for the class."""
        return await opened(store, lambda: cls(store, default=default, **options))

    @gives(JsonObject)
    def options_json(self) -> str:
        """The options that the provider works with, defaults filled in, with the library's names.

        Source: ``taskhold_state_provider_options``.
        """
        return self._text(lib.taskhold_state_provider_options)

    def save_task(self, owner: str | None, task: Payload, **options: Unpack[SaveOptions]) -> int:
        """Save a task: a new one, or in place of the stored one (the last write wins).

        Args:
            owner: whose task it is, at most 1024 bytes; None is the anonymous owner, and another than "".
            task: an A2A Task object, kept byte for byte; ``id`` and ``status.state`` are required.
            **options: ``expected_revision`` (0: there must be none), ``is_replicated`` (another node saved it first:
                nothing is announced).

        Returns:
            The revision that this save made.

        Raises:
            NotFoundError: the id belongs to another owner.
            InvalidStateError: ``task_final``: the stored task is final and this one is not.
            ConflictError: the revision is another.
            CapacityExhaustedError: the limit of retained tasks is reached.
            InvalidArgumentError: an argument is malformed.
            LimitExceededError: the task is too large or too deep.

        Source: ``taskhold_state_provider_save_task``.
        """
        return _native.call_revision(
            lib.taskhold_state_provider_save_task,
            self._token,
            optional_text(owner),
            self._payload(task),
            self._options(options),
        )

    @gives(A2ATask)
    def get_task_json(self, owner: str | None, task_id: str, **params: Unpack[GetOptions]) -> Revisioned[str] | None:
        """Find one of the owner's tasks. Unknown tasks and those of other owners give the same answer.

        Args:
            owner: whose task; None is the anonymous owner.
            task_id: the task's id.
            **params: ``history_length`` (absent: all; n: the last n messages; 0: no ``history``).

        Returns:
            The task with its revision, or None.

        Raises:
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_state_provider_get_task``.
        """
        task, revision = _native.call_revised_text(
            lib.taskhold_state_provider_get_task,
            self._token,
            optional_text(owner),
            text(task_id),
            self._options(params),
        )
        return None if task is None else Revisioned(task.decode(), revision)

    def delete_task(self, owner: str | None, task_id: str) -> None:
        """Delete one of the owner's tasks. One that is not there, or is another owner's, is left alone.

        Raises:
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_state_provider_delete_task``.
        """
        self._do(lib.taskhold_state_provider_delete_task, optional_text(owner), text(task_id))

    @gives(A2ATaskPage)
    def list_tasks_json(self, owner: str | None, **params: Unpack[A2AListOptions]) -> str:
        """List the owner's tasks: by status timestamp descending (absent last), then by id ascending.

        Args:
            owner: whose tasks; None is the anonymous owner.
            **params: ``context_id``, ``status``, ``status_timestamp_after`` (at or after) as filters; ``page_size``
                1 to 100 (50), ``page_token`` from the page before; ``history_length`` (0: no ``history``),
                ``include_artifacts`` (False), ``include_revisions`` (False).

        Returns:
            A page, as the A2A protocol's ListTasks.

        Raises:
            InvalidArgumentError: ``invalid_page_token``, also of other filters or of another owner; or a
                parameter is malformed or unknown.

        Source: ``taskhold_state_provider_list_tasks``.
        """
        return self._text(lib.taskhold_state_provider_list_tasks, optional_text(owner), self._options(params))

    def iter_tasks(self, owner: str | None, **params: Unpack[A2AFilters]) -> Iterator[A2ATask]:
        """Go through the owner's tasks, page by page, in the order of :meth:`list_tasks`.

        Args:
            owner: whose tasks; None is the anonymous owner.
            **params: the filters of :meth:`list_tasks`, ``history_length`` and ``include_artifacts``. Tasks that
                cannot be read are left out; a page of :meth:`list_tasks` names them.
        """
        for page in pages(functools.partial(self.list_tasks_json, owner), params):
            yield from page["tasks"]

    def is_task_active(self, task_id: str) -> bool:
        """Tell whether a task is active: not final, or final but within its grace period.

        For deciding whether events that arrive late are still processed.

        Raises:
            UnavailableError: the storage failed, which is never reported as "not active".
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_state_provider_is_task_active``.
        """
        return self._flag(lib.taskhold_state_provider_is_task_active, text(task_id))

    def is_task_finalized(self, task_id: str) -> bool:
        """Tell whether a task is in a final state, whatever the grace period.

        For deciding whether a queue can be closed and removed.

        Raises:
            UnavailableError: the storage failed.
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_state_provider_is_task_finalized``.
        """
        return self._flag(lib.taskhold_state_provider_is_task_finalized, text(task_id))

    def task_liveness(self, task_id: str) -> Liveness:
        """Tell where a task stands: both answers above, and whether it is known at all, from one reading.

        Raises:
            UnavailableError: the storage failed.
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_state_provider_task_liveness``.
        """
        return Liveness(_native.call_number(lib.taskhold_state_provider_task_liveness, self._token, text(task_id)))

    def open_events(self, capacity: int = 1024) -> Events:
        """Open a queue that tells when tasks become final: once for each, and not for replicated saves.

        Args:
            capacity: most events that wait in the queue, at least 1.

        Raises:
            InvalidArgumentError: ``capacity`` is out of range.

        Source: ``taskhold_state_provider_open_events``.
        """
        size = _native.uint32(capacity, "capacity")
        return Events(_native.call_handle(lib.taskhold_state_provider_open_events, self._token, size))

    async def open_events_async(self, capacity: int = 1024) -> Events:
        """As :meth:`open_events`, on asyncio; ``async for`` takes from the queue too."""
        return await self._made(lambda: self.open_events(capacity))


class AsyncStateProviderCalls(AsyncClient["StateProvider"]):
    """A provider of the state of A2A tasks for asyncio: :class:`StateProvider` with the same methods, to be awaited.

    >>> import asyncio
    >>> async def main():
    ...     async with AsyncStateProvider() as provider:
    ...         await provider.save_task("alice", {"id": "t-1", "status": {"state": "working"}})
    ...         return await provider.task_liveness("t-1")
    >>> asyncio.run(main())
    <Liveness.ACTIVE: 1>
    """

    def __init__(
        self, store: StoreLike = None, *, default: Default = None, **options: Unpack[StateProviderOptions]
    ) -> None:
        """Open a state provider with the first call, or by ``async with``.

        Args:
            store: where the tasks live: a :class:`Store`, its URL or path, or None for a private one in memory.
            default: what is asked for a value that JSON does not have, as by :func:`json.dumps`.
            **options: as for :class:`StateProvider`; what is wrong with them shows when it is opened.
        """
        self._prepare(store, {"default": default, **options})

    async def iter_tasks(self, owner: str | None, **params: Unpack[A2AFilters]) -> AsyncIterator[A2ATask]:
        """Go through the owner's tasks, page by page, in the order of :meth:`list_tasks`.

        Args:
            owner: whose tasks; None is the anonymous owner.
            **params: the filters of :meth:`list_tasks`, ``history_length`` and ``include_artifacts``. Tasks that
                cannot be read are left out; a page of :meth:`list_tasks` names them.
        """
        listing = (await self._opened()).list_tasks_async
        async for page in pages_async(functools.partial(listing, owner), params):
            for task in page["tasks"]:
                yield task

    async def open_events(self, capacity: int = 1024) -> AsyncEvents:
        """Open a queue that tells when tasks become final: once for each, and not for replicated saves.

        Args:
            capacity: most events that wait in the queue, at least 1.

        Raises:
            InvalidArgumentError: ``capacity`` is out of range.

        Source: ``taskhold_state_provider_open_events``.
        """
        return AsyncEvents(await (await self._opened()).open_events_async(capacity))
