"""The state provider: A2A tasks, whether they are active or final, and the task store behind that.

Written by generate.py from _provider.py.
"""

from __future__ import annotations

from typing import Unpack, cast

from ._decode import loads
from ._provider import AsyncStateProviderCalls, StateProviderCalls
from ._times import Timeout
from .types import (
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
)


class StateProvider(StateProviderCalls):
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

    def options(self) -> JsonObject:
        """The options that the provider works with, defaults filled in, with the library's names.

        Source: ``taskhold_state_provider_options``.
        """
        return cast(JsonObject, loads(self.options_json()))

    async def options_async(self) -> JsonObject:
        """As :meth:`options`, on asyncio."""
        return await self._made(lambda: self.options())

    async def options_json_async(self) -> str:
        """As :meth:`options_json`, on asyncio."""
        return await self._made(lambda: self.options_json())

    async def save_task_async(self, owner: str | None, task: Payload, **options: Unpack[SaveOptions]) -> int:
        """As :meth:`save_task`, on asyncio."""
        return await self._made(lambda: self.save_task(owner, task, **options))

    def get_task(self, owner: str | None, task_id: str, **params: Unpack[GetOptions]) -> Revisioned[A2ATask] | None:
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
        found = self.get_task_json(owner, task_id, **params)
        return None if found is None else Revisioned(cast(A2ATask, loads(found.value)), found.revision)

    async def get_task_async(
        self, owner: str | None, task_id: str, **params: Unpack[GetOptions]
    ) -> Revisioned[A2ATask] | None:
        """As :meth:`get_task`, on asyncio."""
        return await self._made(lambda: self.get_task(owner, task_id, **params))

    async def get_task_json_async(
        self, owner: str | None, task_id: str, **params: Unpack[GetOptions]
    ) -> Revisioned[str] | None:
        """As :meth:`get_task_json`, on asyncio."""
        return await self._made(lambda: self.get_task_json(owner, task_id, **params))

    async def delete_task_async(self, owner: str | None, task_id: str) -> None:
        """As :meth:`delete_task`, on asyncio."""
        return await self._made(lambda: self.delete_task(owner, task_id))

    def list_tasks(self, owner: str | None, **params: Unpack[A2AListOptions]) -> A2ATaskPage:
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
        return cast(A2ATaskPage, loads(self.list_tasks_json(owner, **params)))

    async def list_tasks_async(self, owner: str | None, **params: Unpack[A2AListOptions]) -> A2ATaskPage:
        """As :meth:`list_tasks`, on asyncio."""
        return await self._made(lambda: self.list_tasks(owner, **params))

    async def list_tasks_json_async(self, owner: str | None, **params: Unpack[A2AListOptions]) -> str:
        """As :meth:`list_tasks_json`, on asyncio."""
        return await self._made(lambda: self.list_tasks_json(owner, **params))

    async def is_task_active_async(self, task_id: str) -> bool:
        """As :meth:`is_task_active`, on asyncio."""
        return await self._made(lambda: self.is_task_active(task_id))

    async def is_task_finalized_async(self, task_id: str) -> bool:
        """As :meth:`is_task_finalized`, on asyncio."""
        return await self._made(lambda: self.is_task_finalized(task_id))

    async def task_liveness_async(self, task_id: str) -> Liveness:
        """As :meth:`task_liveness`, on asyncio."""
        return await self._made(lambda: self.task_liveness(task_id))

    def read_events(self, task_id: str, **params: Unpack[ReadOptions]) -> EventLog:
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
        return cast(EventLog, loads(self.read_events_json(task_id, **params)))

    async def read_events_async(self, task_id: str, **params: Unpack[ReadOptions]) -> EventLog:
        """As :meth:`read_events`, on asyncio."""
        return await self._made(lambda: self.read_events(task_id, **params))

    async def read_events_json_async(self, task_id: str, **params: Unpack[ReadOptions]) -> str:
        """As :meth:`read_events_json`, on asyncio."""
        return await self._made(lambda: self.read_events_json(task_id, **params))

    async def set_push_config_async(
        self, owner: str | None, task_id: str, config_id: str | None, config: ObjectPayload
    ) -> None:
        """As :meth:`set_push_config`, on asyncio."""
        return await self._made(lambda: self.set_push_config(owner, task_id, config_id, config))

    def list_push_configs(
        self, owner: str | None, task_id: str, **params: Unpack[PushConfigListOptions]
    ) -> PushConfigs:
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
        return cast(PushConfigs, loads(self.list_push_configs_json(owner, task_id, **params)))

    async def list_push_configs_async(
        self, owner: str | None, task_id: str, **params: Unpack[PushConfigListOptions]
    ) -> PushConfigs:
        """As :meth:`list_push_configs`, on asyncio."""
        return await self._made(lambda: self.list_push_configs(owner, task_id, **params))

    async def list_push_configs_json_async(
        self, owner: str | None, task_id: str, **params: Unpack[PushConfigListOptions]
    ) -> str:
        """As :meth:`list_push_configs_json`, on asyncio."""
        return await self._made(lambda: self.list_push_configs_json(owner, task_id, **params))

    async def delete_push_config_async(self, owner: str | None, task_id: str, config_id: str | None = None) -> None:
        """As :meth:`delete_push_config`, on asyncio."""
        return await self._made(lambda: self.delete_push_config(owner, task_id, config_id))


class AsyncStateProvider(AsyncStateProviderCalls):
    """A provider of the state of A2A tasks for asyncio: :class:`StateProvider` with the same methods, to be awaited.

    >>> import asyncio
    >>> async def main():
    ...     async with AsyncStateProvider() as provider:
    ...         await provider.save_task("alice", {"id": "t-1", "status": {"state": "working"}})
    ...         return await provider.task_liveness("t-1")
    >>> asyncio.run(main())
    <Liveness.ACTIVE: 1>
    """

    _opens = StateProvider

    async def options(self) -> JsonObject:
        """The options that the provider works with, defaults filled in, with the library's names.

        Source: ``taskhold_state_provider_options``.
        """
        client = self._client or await self._opened()
        return await client.options_async()

    async def options_json(self) -> str:
        """As :meth:`options`; gives the text."""
        client = self._client or await self._opened()
        return await client.options_json_async()

    async def save_task(self, owner: str | None, task: Payload, **options: Unpack[SaveOptions]) -> int:
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
        client = self._client or await self._opened()
        return await client.save_task_async(owner, task, **options)

    async def get_task(
        self, owner: str | None, task_id: str, **params: Unpack[GetOptions]
    ) -> Revisioned[A2ATask] | None:
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
        client = self._client or await self._opened()
        return await client.get_task_async(owner, task_id, **params)

    async def get_task_json(
        self, owner: str | None, task_id: str, **params: Unpack[GetOptions]
    ) -> Revisioned[str] | None:
        """As :meth:`get_task`; gives the text."""
        client = self._client or await self._opened()
        return await client.get_task_json_async(owner, task_id, **params)

    async def delete_task(self, owner: str | None, task_id: str) -> None:
        """Delete one of the owner's tasks. One that is not there, or is another owner's, is left alone.

        Raises:
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_state_provider_delete_task``.
        """
        client = self._client or await self._opened()
        return await client.delete_task_async(owner, task_id)

    async def list_tasks(self, owner: str | None, **params: Unpack[A2AListOptions]) -> A2ATaskPage:
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
        client = self._client or await self._opened()
        return await client.list_tasks_async(owner, **params)

    async def list_tasks_json(self, owner: str | None, **params: Unpack[A2AListOptions]) -> str:
        """As :meth:`list_tasks`; gives the text."""
        client = self._client or await self._opened()
        return await client.list_tasks_json_async(owner, **params)

    async def is_task_active(self, task_id: str) -> bool:
        """Tell whether a task is active: not final, or final but within its grace period.

        For deciding whether events that arrive late are still processed.

        Raises:
            UnavailableError: the storage failed, which is never reported as "not active".
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_state_provider_is_task_active``.
        """
        client = self._client or await self._opened()
        return await client.is_task_active_async(task_id)

    async def is_task_finalized(self, task_id: str) -> bool:
        """Tell whether a task is in a final state, whatever the grace period.

        For deciding whether a queue can be closed and removed.

        Raises:
            UnavailableError: the storage failed.
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_state_provider_is_task_finalized``.
        """
        client = self._client or await self._opened()
        return await client.is_task_finalized_async(task_id)

    async def task_liveness(self, task_id: str) -> Liveness:
        """Tell where a task stands: both answers above, and whether it is known at all, from one reading.

        Raises:
            UnavailableError: the storage failed.
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_state_provider_task_liveness``.
        """
        client = self._client or await self._opened()
        return await client.task_liveness_async(task_id)

    async def read_events(self, task_id: str, **params: Unpack[ReadOptions]) -> EventLog:
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
        client = self._client or await self._opened()
        return await client.read_events_async(task_id, **params)

    async def read_events_json(self, task_id: str, **params: Unpack[ReadOptions]) -> str:
        """As :meth:`read_events`; gives the text."""
        client = self._client or await self._opened()
        return await client.read_events_json_async(task_id, **params)

    async def wait_task(self, task_id: str, seen_revision: int = 0, timeout: Timeout = None) -> int:
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
        client = self._client or await self._opened()
        return await client.wait_task_async(task_id, seen_revision, timeout)

    async def set_push_config(
        self, owner: str | None, task_id: str, config_id: str | None, config: ObjectPayload
    ) -> None:
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
        client = self._client or await self._opened()
        return await client.set_push_config_async(owner, task_id, config_id, config)

    async def list_push_configs(
        self, owner: str | None, task_id: str, **params: Unpack[PushConfigListOptions]
    ) -> PushConfigs:
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
        client = self._client or await self._opened()
        return await client.list_push_configs_async(owner, task_id, **params)

    async def list_push_configs_json(
        self, owner: str | None, task_id: str, **params: Unpack[PushConfigListOptions]
    ) -> str:
        """As :meth:`list_push_configs`; gives the text."""
        client = self._client or await self._opened()
        return await client.list_push_configs_json_async(owner, task_id, **params)

    async def delete_push_config(self, owner: str | None, task_id: str, config_id: str | None = None) -> None:
        """Delete a push notification config of one of the owner's tasks, or all. What is not there is left alone.

        Args:
            owner: whose task; None is the anonymous owner.
            task_id: the task's id.
            config_id: the config's id; None deletes all of the task's.

        Raises:
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_state_provider_delete_push_config``.
        """
        client = self._client or await self._opened()
        return await client.delete_push_config_async(owner, task_id, config_id)
