"""The state provider: A2A tasks, whether they are active or final, and the task store behind that."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Self, Unpack

from . import _native
from ._clients import AsyncClient, AsyncEvents
from ._handles import gives
from ._json import Default
from ._loops import PerLoop
from ._native import lib, optional_text, text
from ._pages import pages, pages_async
from ._times import Timeout
from .events import Events
from .store import Store, StoreClient, StoreLike, opened
from .types import (
    A2AFilters,
    A2AListOptions,
    A2ATask,
    A2ATaskPage,
    EventLog,
    GetOptions,
    JsonObject,
    Liveness,
    ObjectPayload,
    Payload,
    PushConfigListOptions,
    PushConfigs,
    ReadOptions,
    Revisioned,
    SaveOptions,
    StateProviderOptions,
)

if TYPE_CHECKING:
    from ._waits import TaskWaits
    from .provider import StateProvider  # noqa: F401 - of the class below


class _Listener(StoreClient):
    """A provider of the same tasks whose queues tell of every save."""

    _close = lib.taskhold_state_provider_close

    def __init__(self, store: Store, options: StateProviderOptions) -> None:
        self._open_over(store, lib.taskhold_state_provider_open, {**options, "announce_saves": True}, None)


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
                ``finalized_retention_ms`` and ``active_retention_ms`` (0: for ever), ``maximum_events_per_task`` and
                ``maximum_event_bytes_per_task`` (0: no limit; the oldest events of a task's log go),
                ``announce_saves`` (False: whether event queues tell of every save), ``maximum_payload_bytes``.

        Raises:
            InvalidArgumentError: an option is malformed or unknown, or the URL is of no known form.
            UnsupportedError: this build has no such backend.
            UnavailableError: the storage failed.

        Source: ``taskhold_state_provider_open``.
        """
        over = store if isinstance(store, Store) else Store(store)
        self._open_over(over, lib.taskhold_state_provider_open, options, default)
        # Waits on asyncio need to hear of saves, whatever the queues of the user are told.
        self._saves = self if options.get("announce_saves") else _Listener(over, options)
        self._waits: PerLoop[TaskWaits] = PerLoop(self._clock)
        if over is not store:
            # What is opened over a store keeps it.
            over.close()

    @classmethod
    async def open_async(
        cls, store: StoreLike = None, *, default: Default = None, **options: Unpack[StateProviderOptions]
    ) -> Self:
        """Open a provider without blocking the loop; arguments as for the class."""
        return await opened(store, lambda: cls(store, default=default, **options))

    def close(self) -> None:
        """Close the provider; its tasks stay in the store. Those who wait get :class:`ClosedError`."""
        super().close()
        if self._saves is not self:
            self._saves.close()
        self._waits.close()

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
            **options: ``expected_revision`` (0: there must be none), ``must_exist``, ``unless_final`` (a task that is
                final already is left alone), ``event`` (any JSON but null that led to this state: appended to the
                task's log in the same step), ``is_replicated`` (another node saved it first: nothing is announced).

        Returns:
            The revision that this save made.

        Raises:
            NotFoundError: the id belongs to another owner, or there is none and ``must_exist`` was given.
            InvalidStateError: ``task_final``: the stored task is final, and this one is not or ``unless_final`` was
                given.
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
        # No event tells of it.
        for waits in self._waits.all():
            waits.wake_soon(task_id)

    @gives(A2ATaskPage)
    def list_tasks_json(self, owner: str | None, **params: Unpack[A2AListOptions]) -> str:
        """List the owner's tasks: by status timestamp descending (absent last), then by id ascending.

        Args:
            owner: whose tasks; None is the anonymous owner.
            **params: ``context_id``, ``status``, ``status_timestamp_after`` (at or after) as filters; ``page_size``
                1 to 100 (50), ``page_token`` from the page before; ``history_length`` (0: no ``history``),
                ``include_artifacts`` (False), ``include_revisions`` (False); ``any_owner`` (False): for operators and
                never for clients, the tasks of all owners, each as ``{"owner", "revision", "task"}``, with None as
                the owner.

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

    @gives(EventLog)
    def read_events_json(self, task_id: str, **params: Unpack[ReadOptions]) -> str:
        """Read a task's log: the events that saves appended to it, oldest first. For the trusted host, by id.

        Follow a task by passing the revision of the last event that you have or, when none came, the log's
        ``revision``; then wait with :meth:`wait_task`.

        Args:
            task_id: the task's id, whoever owns it.
            **params: ``after_revision`` (0), ``limit`` 1 to 1000 (100).

        Returns:
            The events with the revisions that they came with, the task's revision (0 for an unknown task), and whether
            events behind ``after_revision`` are ``missing``.

        Raises:
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_state_provider_read_events``.
        """
        return self._text(lib.taskhold_state_provider_read_events, text(task_id), self._options(params))

    def wait_task(self, task_id: str, seen_revision: int = 0, timeout: Timeout = None) -> int:
        """Wait until a task's revision is not the one seen; Ctrl-C interrupts the wait. For the trusted host, by id.

        Args:
            task_id: the task's id, whoever owns it.
            seen_revision: the revision seen last; 0 for any.
            timeout: longest wait in real time, seconds or a timedelta; None waits without end, 0 looks and returns.

        Returns:
            The task's revision.

        Raises:
            TimeoutError: the revision is still the one seen.
            NotFoundError: the task is not there, or goes.
            ClosedError: the provider was closed meanwhile.
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_state_provider_wait_task``.
        """
        seen = _native.uint64(seen_revision, "seen_revision")
        call = functools.partial(_native.call_revision, lib.taskhold_state_provider_wait_task, self._token)
        return self._wait(timeout, call, text(task_id), seen)

    async def wait_task_async(self, task_id: str, seen_revision: int = 0, timeout: Timeout = None) -> int:
        """As :meth:`wait_task`, on asyncio: no thread waits, and cancelling ends it at once."""
        from ._waits import wait_for_save

        return await wait_for_save(self, task_id, seen_revision, timeout)

    async def _look_async(self, task_id: str, seen_revision: int) -> int:
        return await self._made(lambda: self.wait_task(task_id, seen_revision, 0))

    def _open_saves(self, capacity: int) -> Events:
        return Events(_native.call_handle(lib.taskhold_state_provider_open_events, self._saves._token, capacity))

    # Push notification configs

    def set_push_config(self, owner: str | None, task_id: str, config_id: str | None, config: ObjectPayload) -> None:
        """Keep a push notification config for one of the owner's tasks, in the place of the one with the same id.

        It goes with its task. It may come before the task: it then waits in this provider's memory for the task's
        first save by the same owner through this provider.

        Args:
            owner: whose task; None is the anonymous owner.
            task_id: the task's id.
            config_id: the config's id, unique for the task; None stands for the task's.
            config: an object, kept byte for byte; whether its URL may be called is yours to decide.

        Raises:
            NotFoundError: the task is another owner's.
            CapacityExhaustedError: the task has 100 configs.
            InvalidArgumentError: an argument is malformed.
            LimitExceededError: the config is too large or too deep.

        Source: ``taskhold_state_provider_set_push_config``.
        """
        self._do(
            lib.taskhold_state_provider_set_push_config,
            optional_text(owner),
            text(task_id),
            optional_text(config_id),
            self._payload(config),
        )

    @gives(PushConfigs)
    def list_push_configs_json(self, owner: str | None, task_id: str, **params: Unpack[PushConfigListOptions]) -> str:
        """List the push notification configs of one of the owner's tasks.

        Args:
            owner: whose task; None is the anonymous owner.
            task_id: the task's id.
            **params: ``any_owner`` (False): of the task whoever owns it, with None as the owner. For sending
                notifications, never for clients.

        Returns:
            The configs with their ids, the one that was set first coming first.

        Raises:
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_state_provider_list_push_configs``.
        """
        return self._text(
            lib.taskhold_state_provider_list_push_configs, optional_text(owner), text(task_id), self._options(params)
        )

    def delete_push_config(self, owner: str | None, task_id: str, config_id: str | None = None) -> None:
        """Delete a push notification config of one of the owner's tasks, or all. What is not there is left alone.

        Args:
            owner: whose task; None is the anonymous owner.
            task_id: the task's id.
            config_id: the config's id; None deletes all of the task's.

        Raises:
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_state_provider_delete_push_config``.
        """
        self._do(
            lib.taskhold_state_provider_delete_push_config,
            optional_text(owner),
            text(task_id),
            optional_text(config_id),
        )

    def open_events(self, capacity: int = 1024) -> Events:
        """Open a queue that tells when tasks become final: once for each, and not for replicated saves.

        With the provider's option ``announce_saves`` it tells of every save, too.

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

        With the provider's option ``announce_saves`` it tells of every save, too.

        Args:
            capacity: most events that wait in the queue, at least 1.

        Raises:
            InvalidArgumentError: ``capacity`` is out of range.

        Source: ``taskhold_state_provider_open_events``.
        """
        return AsyncEvents(await (await self._opened()).open_events_async(capacity))
