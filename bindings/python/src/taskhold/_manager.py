"""The task manager: MCP tasks after the Tasks extension (``io.modelcontextprotocol/tasks``, SEP-2663)."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from . import _native
from ._clients import AsyncEvents
from ._handles import gives
from ._json import Default
from ._loops import PerLoop
from ._native import lib, optional_text, text
from ._pages import pages, pages_async
from ._protocol import ProtocolCalls
from ._queue import AsyncQueueCalls, QueueCalls
from ._times import Timeout
from .events import Events
from .store import StoreLike, opened
from .types import (
    CreationOptions,
    ForcibleOptions,
    InputOptions,
    JsonObject,
    ManagerOptions,
    Payload,
    TakeOptions,
    TaskFilters,
    TaskListOptions,
    TaskPage,
    TaskRecord,
    TransitionOptions,
    WorkingOptions,
)

if TYPE_CHECKING:
    from ._waits import TaskWaits

_CREATION_PAYLOADS = frozenset({"origin", "metadata"})


class ManagerCalls(QueueCalls, ProtocolCalls):
    """A manager of MCP tasks: it creates them, keeps their state, and answers the protocol's requests about them.

    Your program does the work and tells the manager how it goes. The worker's methods are trusted; those of the
    protocol take the endpoint and the authorization partition of the caller (None: anonymous) and check both.

    >>> tasks = TaskManager()
    >>> record = tasks.create_task("/mcp", {"name": "hello"}, authorization_partition="alice")
    >>> task_id = record["task"]["taskId"]
    >>> record = tasks.complete_task(task_id, {"content": []})
    >>> record["task"]["status"], record["revision"]
    ('completed', 2)
    >>> tasks.find_authorized_task("/mcp", "bob", task_id) is None
    True
    """

    _close = lib.taskhold_manager_close

    def __init__(self, store: StoreLike = None, *, default: Default = None, **options: Unpack[ManagerOptions]) -> None:
        """Open a manager.

        Args:
            store: where the tasks live: a :class:`Store`, its URL or path, or None for a private one in memory.
            default: what is asked for a value that JSON does not have, as by :func:`json.dumps`.
            **options: ``name`` ("default"; managers with one name over one store share their tasks),
                ``maximum_retained_tasks`` (1024; on SQL stores 0: no limit),
                ``maximum_retained_tasks_per_partition`` (0: none), ``task_time_to_live_ms`` (3600000),
                ``poll_interval_ms`` (1000), ``maximum_payload_bytes`` (10485760).

        Raises:
            InvalidArgumentError: an option is malformed or unknown, or the URL is of no known form.
            UnsupportedError: this build has no such backend.
            UnavailableError: the storage failed.

        Source: ``taskhold_manager_open``.
        """
        self._open_over(store, lib.taskhold_manager_open, options, default)
        self._prepare_claims()
        self._waits: PerLoop[TaskWaits] = PerLoop(self._clock)

    @classmethod
    async def open_async(
        cls, store: StoreLike = None, *, default: Default = None, **options: Unpack[ManagerOptions]
    ) -> Self:
        """Open a manager without blocking the loop; arguments as for the class."""
        return await opened(store, lambda: cls(store, default=default, **options))

    def close(self) -> None:
        """Close the manager; its tasks stay in the store. Those who wait get :class:`ClosedError`."""
        super().close()
        self._waits.close()
        self._claimers.close()

    @gives(JsonObject)
    def options_json(self) -> str:
        """The options that the manager works with, defaults filled in, with the library's names.

        Source: ``taskhold_manager_options``.
        """
        return self._text(lib.taskhold_manager_options)

    # The worker's side: trusted

    @gives(TaskRecord)
    def create_task_json(self, endpoint: str, origin: Payload, **options: Unpack[CreationOptions]) -> str:
        """Create a task: a random id, status working, revision 1.

        Args:
            endpoint: the endpoint that the task belongs to, at most 1024 bytes.
            origin: what it came from, any JSON but null; kept byte for byte.
            **options: ``authorization_partition`` (None: the anonymous one), ``metadata`` (an object; ``_meta`` in
                every rendering), ``declared_input_requests`` (what the task may ask: ``elicitation/form``,
                ``elicitation/url``, ``sampling/createMessage``, ``roots/list``), ``task_time_to_live_ms`` (in the
                place of the manager's). For queued work: ``queue`` (workers may claim the task), ``work`` (any JSON:
                what a worker needs), ``delay_ms`` (0: not claimable before), ``attempts``
                (:class:`taskhold.types.Attempts`; one unless given), ``lease`` (``{"worker": …, "lease_ms": …}``:
                the task begins in its creator's hands), ``operation_id`` (creating again gives the existing
                task, ``created`` False).

        Returns:
            The record; ``task`` is the only part that may reach a client.

        Raises:
            InvalidArgumentError: the creation is malformed.
            CapacityExhaustedError: the limit of unexpired tasks is reached; none is evicted.
            ConflictError: ``operation_mismatch``: the operation id stands for other work.
            LimitExceededError: a payload is too large or too deep.

        Source: ``taskhold_manager_create_task``.
        """
        creation = self._options({"endpoint": endpoint, "origin": origin, **options}, _CREATION_PAYLOADS)
        return self._text(lib.taskhold_manager_create_task, creation)

    @gives(TaskRecord)
    def find_task_json(self, task_id: str) -> str | None:
        """Find a task for trusted code: nobody's authorization is checked.

        Returns:
            The record, or None when there is no such task or it expired.

        Raises:
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_manager_find_task``.
        """
        return self._text_or_none(lib.taskhold_manager_find_task, text(task_id))

    @gives(TaskRecord)
    def mark_task_working_json(
        self, task_id: str, status_message: str | None = None, **options: Unpack[WorkingOptions]
    ) -> str:
        """Mark a task as working; its outstanding input requests are superseded.

        Args:
            task_id: the task's id.
            status_message: the new message for people; None clears it.
            **options: ``expected_revision``, ``unless_cancelation_requested``; ``withdraw_input_requests`` supersedes
                only these keys, and ``[]`` none, which sets the message of a task that goes on asking. Of queued work:
                ``lease`` (the token), ``force`` in its place for operators, ``checkpoint`` (any JSON).

        Returns:
            The record after the change.

        Raises:
            NotFoundError: no such task, or it expired.
            InvalidStateError: ``task_terminal``, ``cancelation_requested``, ``lease_required``.
            ConflictError: the revision is another, or the lease is lost.
            InvalidArgumentError: the id or an option is malformed.
            LimitExceededError: the message is too large.

        Source: ``taskhold_manager_mark_task_working``.
        """
        return self._text(
            lib.taskhold_manager_mark_task_working,
            text(task_id),
            optional_text(status_message),
            self._options(options),
        )

    @gives(TaskRecord)
    def request_task_input_json(
        self,
        task_id: str,
        input_requests: Payload,
        status_message: str | None = None,
        **options: Unpack[InputOptions],
    ) -> str:
        """Ask the client for input: adds requests and puts the task into status input_required.

        Args:
            task_id: the task's id.
            input_requests: an object of at least one member: input requests by keys that are used once in the
                task's life, ``{"method": "elicitation/create" | "sampling/createMessage" | "roots/list", …}``.
            status_message: the new message for people; None clears it.
            **options: ``expected_revision``, ``unless_cancelation_requested``. Of queued work: ``lease`` (the
                token), ``checkpoint`` (any JSON), ``park`` (nobody holds the task until the last answer).

        Returns:
            The record after the change.

        Raises:
            InvalidArgumentError: ``empty_input_requests``, ``input_request_key_reused``, ``invalid_payload``, …
            NotFoundError: no such task, or it expired.
            InvalidStateError: ``task_terminal``, ``input_responses_untaken``, ``cancelation_requested``.
            ConflictError: the revision is another, or the lease is lost.
            LimitExceededError: a payload is too large or too deep.

        Source: ``taskhold_manager_request_task_input``.
        """
        return self._text(
            lib.taskhold_manager_request_task_input,
            text(task_id),
            self._payload(input_requests),
            optional_text(status_message),
            self._options(options),
        )

    @gives(TaskRecord)
    def complete_task_json(
        self,
        task_id: str,
        result: Payload,
        status_message: str | None = None,
        **options: Unpack[TransitionOptions],
    ) -> str:
        """Complete a task: terminal and immutable from now on. Of any number of racing ends exactly one wins.

        Args:
            task_id: the task's id.
            result: an object, kept byte for byte; one whose ``isError`` is true completes the task all the same.
            status_message: the last message for people; None clears it.
            **options: ``expected_revision``, ``unless_cancelation_requested``, ``lease`` (the token, of queued work).

        Returns:
            The record after the change.

        Raises:
            InvalidArgumentError: the result, the id or an option is malformed.
            NotFoundError: no such task, or it expired.
            InvalidStateError: ``task_terminal``, ``cancelation_requested``, ``lease_required``.
            ConflictError: the revision is another, or the lease is lost.
            LimitExceededError: a payload is too large or too deep.

        Source: ``taskhold_manager_complete_task``.
        """
        return self._text(
            lib.taskhold_manager_complete_task,
            text(task_id),
            self._payload(result),
            optional_text(status_message),
            self._options(options),
        )

    @gives(TaskRecord)
    def fail_task_json(
        self,
        task_id: str,
        failure: Payload,
        status_message: str | None = None,
        **options: Unpack[ForcibleOptions],
    ) -> str:
        """Fail a task with an error that the client sees: terminal and immutable from now on.

        This is for JSON-RPC errors; a tool that ran and reports an error has completed.

        Args:
            task_id: the task's id.
            failure: a JSON-RPC error object: integer ``code``, string ``message``, optional ``data``.
            status_message: the last message for people; None clears it.
            **options: ``expected_revision``, ``unless_cancelation_requested``; of queued work ``lease`` (the
                token), or ``force`` in its place for operators.

        Returns:
            The record after the change.

        Raises:
            As :meth:`complete_task`.

        Source: ``taskhold_manager_fail_task``.
        """
        return self._text(
            lib.taskhold_manager_fail_task,
            text(task_id),
            self._payload(failure),
            optional_text(status_message),
            self._options(options),
        )

    @gives(TaskRecord)
    def cancel_task_json(
        self, task_id: str, status_message: str | None = None, **options: Unpack[ForcibleOptions]
    ) -> str:
        """Mark a task as cancelled: terminal and immutable from now on. The worker decides this, a client only asks.

        Args:
            task_id: the task's id.
            status_message: the last message for people; None clears it.
            **options: ``expected_revision``, ``unless_cancelation_requested``; of queued work ``lease`` (the
                token), or ``force`` in its place for operators.

        Returns:
            The record after the change.

        Raises:
            As :meth:`complete_task`.

        Source: ``taskhold_manager_cancel_task``.
        """
        return self._text(
            lib.taskhold_manager_cancel_task,
            text(task_id),
            optional_text(status_message),
            self._options(options),
        )

    @gives(JsonObject)
    def take_task_input_responses_json(self, task_id: str, **options: Unpack[TakeOptions]) -> str:
        """Take the answers that the client gave: returns and clears them in one step, so that each is taken once.

        Args:
            task_id: the task's id.
            **options: ``expected_revision``, ``unless_cancelation_requested``; ``peek`` (clears nothing). Of queued
                work: ``lease`` (the token), ``checkpoint`` (any JSON, stored in the same step).

        Returns:
            The answers by the keys of their requests; ``{}`` when there are none.

        Raises:
            NotFoundError: no such task, or it expired.
            InvalidStateError: ``cancelation_requested``.
            ConflictError: the revision is another, or the lease is lost.
            InvalidArgumentError: the id or an option is malformed.

        Source: ``taskhold_manager_take_task_input_responses``.
        """
        return self._text(lib.taskhold_manager_take_task_input_responses, text(task_id), self._options(options))

    def is_task_cancelation_requested(self, task_id: str) -> bool:
        """Tell whether a client has asked for the cancelation of a task; it stays so after the task's end.

        Raises:
            NotFoundError: no such task, or it expired.
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_manager_is_task_cancelation_requested``.
        """
        return self._flag(lib.taskhold_manager_is_task_cancelation_requested, text(task_id))

    @gives(TaskRecord)
    def wait_task_json(self, task_id: str, seen_revision: int = 0, timeout: Timeout = None) -> str:
        """Wait until a task's revision is greater than the one seen; Ctrl-C interrupts the wait.

        On asyncio, that queued work was claimed, given back or lapsed is seen within about a second.

        Args:
            task_id: the task's id.
            seen_revision: the revision seen last; 0 for any.
            timeout: longest wait in real time, seconds or a timedelta; None waits without end, 0 looks and returns.

        Returns:
            The record as it is now.

        Raises:
            TimeoutError: the revision is still the one seen.
            NotFoundError: no such task, or it expired, also during the wait.
            ClosedError: the manager was closed meanwhile.
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_manager_wait_task``.
        """
        seen = _native.uint64(seen_revision, "seen_revision")
        call = functools.partial(_native.call_text, lib.taskhold_manager_wait_task, self._token)
        return cast(bytes, self._wait(timeout, call, text(task_id), seen)).decode()

    async def wait_task_json_async(self, task_id: str, seen_revision: int = 0, timeout: Timeout = None) -> str:
        """As :meth:`wait_task_json`, on the running loop: no thread waits, and cancelling ends it at once."""
        from ._waits import wait_for_change

        return await wait_for_change(self, task_id, seen_revision, timeout)

    async def _look_async(self, task_id: str, seen_revision: int) -> str:
        return await self._made(lambda: self.wait_task_json(task_id, seen_revision, 0))

    @gives(TaskPage)
    def list_tasks_json(self, **params: Unpack[TaskListOptions]) -> str:
        """List tasks for operators, oldest first. Never for clients: nobody's authorization is checked.

        Args:
            **params: ``status``, ``endpoint``, ``authorization_partition`` (None: the anonymous one), ``queue``,
                ``worker``, ``work_state`` ("scheduled", "ready", "leased", "parked") as filters;
                ``page_size`` 1 to 1000 (100), ``page_token`` from the page before; ``include_payload`` (False).

        Returns:
            A page; a full walk meets every task that stays meanwhile, each once.

        Raises:
            InvalidArgumentError: ``invalid_page_token``, or a parameter is malformed or unknown.

        Source: ``taskhold_manager_list_tasks``.
        """
        return self._text(lib.taskhold_manager_list_tasks, self._options(params))

    def iter_tasks(self, **params: Unpack[TaskFilters]) -> Iterator[TaskRecord]:
        """Go through the tasks, oldest first, page by page; as :meth:`list_tasks`, for operators.

        Args:
            **params: the filters and ``include_payload`` of :meth:`list_tasks`. Records that cannot be read are left
                out; a page of :meth:`list_tasks` names them.
        """
        for page in pages(self.list_tasks_json, params):
            yield from page["records"]

    # Events

    def publish_task_changed(self, task_id: str) -> None:
        """Announce that a task changed, as the manager does by itself after each change it makes.

        Raises:
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_manager_publish_task_changed``.
        """
        self._do(lib.taskhold_manager_publish_task_changed, text(task_id))

    def open_events(self, capacity: int = 1024) -> Events:
        """Open a queue of the changes of all tasks under this manager's name, also by other processes.

        Args:
            capacity: most events that wait in the queue, at least 1.

        Raises:
            InvalidArgumentError: ``capacity`` is out of range.

        Source: ``taskhold_manager_open_events``.
        """
        size: Any = _native.uint32(capacity, "capacity")
        return Events(_native.call_handle(lib.taskhold_manager_open_events, self._token, size))

    async def open_events_async(self, capacity: int = 1024) -> Events:
        """As :meth:`open_events`, on asyncio; ``async for`` takes from the queue too."""
        return await self._made(lambda: self.open_events(capacity))


class AsyncManagerCalls(AsyncQueueCalls):
    """A manager of MCP tasks for asyncio: :class:`TaskManager` with the same methods, each to be awaited.

    On a durable store calls are made in threads of the store; waiting takes no thread, and can be cancelled.

    >>> import asyncio
    >>> async def main():
    ...     async with AsyncTaskManager() as tasks:
    ...         record = await tasks.create_task("/mcp", {"name": "hello"})
    ...         record = await tasks.complete_task(record["task"]["taskId"], {"content": []})
    ...         return record["task"]["status"]
    >>> asyncio.run(main())
    'completed'
    """

    def __init__(self, store: StoreLike = None, *, default: Default = None, **options: Unpack[ManagerOptions]) -> None:
        """Open a manager with the first call, or by ``async with``.

        Args:
            store: where the tasks live: a :class:`Store`, its URL or path, or None for a private one in memory.
            default: what is asked for a value that JSON does not have, as by :func:`json.dumps`.
            **options: as for :class:`TaskManager`; what is wrong with them shows when it is opened.
        """
        self._prepare(store, {"default": default, **options})

    async def iter_tasks(self, **params: Unpack[TaskFilters]) -> AsyncIterator[TaskRecord]:
        """Go through the tasks, oldest first, page by page; as :meth:`list_tasks`, for operators.

        Args:
            **params: the filters and ``include_payload`` of :meth:`list_tasks`. Records that cannot be read are left
                out; a page of :meth:`list_tasks` names them.
        """
        async for page in pages_async((await self._opened()).list_tasks_async, params):
            for record in page["records"]:
                yield record

    async def open_events(self, capacity: int = 1024) -> AsyncEvents:
        """Open a queue of the changes of all tasks under this manager's name, also by other processes.

        Args:
            capacity: most events that wait in the queue, at least 1.

        Raises:
            InvalidArgumentError: ``capacity`` is out of range.

        Source: ``taskhold_manager_open_events``.
        """
        return AsyncEvents(await (await self._opened()).open_events_async(capacity))
