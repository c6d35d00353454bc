"""The task manager: MCP tasks after the Tasks extension (``io.modelcontextprotocol/tasks``, SEP-2663).

Written by generate.py from _manager.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack, cast

from ._decode import loads
from ._manager import AsyncManagerCalls, ManagerCalls
from ._times import Timeout
from .types import (
    Conditions,
    CreationOptions,
    ForcibleOptions,
    InputOptions,
    JsonObject,
    Milliseconds,
    Payload,
    ReleaseOptions,
    RenderOptions,
    Renewal,
    RenewalOutcome,
    Revisioned,
    TakeOptions,
    TaskListOptions,
    TaskPage,
    TaskRecord,
    TransitionOptions,
    UpdateOutcome,
    WorkingOptions,
)


class TaskManager(ManagerCalls):
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

    def options(self) -> JsonObject:
        """The options that the manager works with, defaults filled in, with the library's names.

        Source: ``taskhold_manager_options``.
        """
        return cast(JsonObject, loads(self.options_json()))

    async def options_async(self) -> JsonObject:
        """As :meth:`options`, on asyncio."""
        return await self._made(lambda: self.options())

    async def options_json_async(self) -> str:
        """As :meth:`options_json`, on asyncio."""
        return await self._made(lambda: self.options_json())

    def create_task(self, endpoint: str, origin: Payload, **options: Unpack[CreationOptions]) -> TaskRecord:
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
        return cast(TaskRecord, loads(self.create_task_json(endpoint, origin, **options)))

    async def create_task_async(self, endpoint: str, origin: Payload, **options: Unpack[CreationOptions]) -> TaskRecord:
        """As :meth:`create_task`, on asyncio."""
        return await self._made(lambda: self.create_task(endpoint, origin, **options))

    async def create_task_json_async(self, endpoint: str, origin: Payload, **options: Unpack[CreationOptions]) -> str:
        """As :meth:`create_task_json`, on asyncio."""
        return await self._made(lambda: self.create_task_json(endpoint, origin, **options))

    def find_task(self, task_id: str) -> TaskRecord | None:
        """Find a task for trusted code: nobody's authorization is checked.

        Returns:
            The record, or None when there is no such task or it expired.

        Raises:
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_manager_find_task``.
        """
        text = self.find_task_json(task_id)
        return None if text is None else cast(TaskRecord, loads(text))

    async def find_task_async(self, task_id: str) -> TaskRecord | None:
        """As :meth:`find_task`, on asyncio."""
        return await self._made(lambda: self.find_task(task_id))

    async def find_task_json_async(self, task_id: str) -> str | None:
        """As :meth:`find_task_json`, on asyncio."""
        return await self._made(lambda: self.find_task_json(task_id))

    def mark_task_working(
        self, task_id: str, status_message: str | None = None, **options: Unpack[WorkingOptions]
    ) -> TaskRecord:
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
        return cast(TaskRecord, loads(self.mark_task_working_json(task_id, status_message, **options)))

    async def mark_task_working_async(
        self, task_id: str, status_message: str | None = None, **options: Unpack[WorkingOptions]
    ) -> TaskRecord:
        """As :meth:`mark_task_working`, on asyncio."""
        return await self._made(lambda: self.mark_task_working(task_id, status_message, **options))

    async def mark_task_working_json_async(
        self, task_id: str, status_message: str | None = None, **options: Unpack[WorkingOptions]
    ) -> str:
        """As :meth:`mark_task_working_json`, on asyncio."""
        return await self._made(lambda: self.mark_task_working_json(task_id, status_message, **options))

    def request_task_input(
        self, task_id: str, input_requests: Payload, status_message: str | None = None, **options: Unpack[InputOptions]
    ) -> TaskRecord:
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
        return cast(TaskRecord, loads(self.request_task_input_json(task_id, input_requests, status_message, **options)))

    async def request_task_input_async(
        self, task_id: str, input_requests: Payload, status_message: str | None = None, **options: Unpack[InputOptions]
    ) -> TaskRecord:
        """As :meth:`request_task_input`, on asyncio."""
        return await self._made(lambda: self.request_task_input(task_id, input_requests, status_message, **options))

    async def request_task_input_json_async(
        self, task_id: str, input_requests: Payload, status_message: str | None = None, **options: Unpack[InputOptions]
    ) -> str:
        """As :meth:`request_task_input_json`, on asyncio."""
        return await self._made(
            lambda: self.request_task_input_json(task_id, input_requests, status_message, **options)
        )

    def complete_task(
        self, task_id: str, result: Payload, status_message: str | None = None, **options: Unpack[TransitionOptions]
    ) -> TaskRecord:
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
        return cast(TaskRecord, loads(self.complete_task_json(task_id, result, status_message, **options)))

    async def complete_task_async(
        self, task_id: str, result: Payload, status_message: str | None = None, **options: Unpack[TransitionOptions]
    ) -> TaskRecord:
        """As :meth:`complete_task`, on asyncio."""
        return await self._made(lambda: self.complete_task(task_id, result, status_message, **options))

    async def complete_task_json_async(
        self, task_id: str, result: Payload, status_message: str | None = None, **options: Unpack[TransitionOptions]
    ) -> str:
        """As :meth:`complete_task_json`, on asyncio."""
        return await self._made(lambda: self.complete_task_json(task_id, result, status_message, **options))

    def fail_task(
        self, task_id: str, failure: Payload, status_message: str | None = None, **options: Unpack[ForcibleOptions]
    ) -> TaskRecord:
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
        return cast(TaskRecord, loads(self.fail_task_json(task_id, failure, status_message, **options)))

    async def fail_task_async(
        self, task_id: str, failure: Payload, status_message: str | None = None, **options: Unpack[ForcibleOptions]
    ) -> TaskRecord:
        """As :meth:`fail_task`, on asyncio."""
        return await self._made(lambda: self.fail_task(task_id, failure, status_message, **options))

    async def fail_task_json_async(
        self, task_id: str, failure: Payload, status_message: str | None = None, **options: Unpack[ForcibleOptions]
    ) -> str:
        """As :meth:`fail_task_json`, on asyncio."""
        return await self._made(lambda: self.fail_task_json(task_id, failure, status_message, **options))

    def cancel_task(
        self, task_id: str, status_message: str | None = None, **options: Unpack[ForcibleOptions]
    ) -> TaskRecord:
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
        return cast(TaskRecord, loads(self.cancel_task_json(task_id, status_message, **options)))

    async def cancel_task_async(
        self, task_id: str, status_message: str | None = None, **options: Unpack[ForcibleOptions]
    ) -> TaskRecord:
        """As :meth:`cancel_task`, on asyncio."""
        return await self._made(lambda: self.cancel_task(task_id, status_message, **options))

    async def cancel_task_json_async(
        self, task_id: str, status_message: str | None = None, **options: Unpack[ForcibleOptions]
    ) -> str:
        """As :meth:`cancel_task_json`, on asyncio."""
        return await self._made(lambda: self.cancel_task_json(task_id, status_message, **options))

    def take_task_input_responses(self, task_id: str, **options: Unpack[TakeOptions]) -> JsonObject:
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
        return cast(JsonObject, loads(self.take_task_input_responses_json(task_id, **options)))

    async def take_task_input_responses_async(self, task_id: str, **options: Unpack[TakeOptions]) -> JsonObject:
        """As :meth:`take_task_input_responses`, on asyncio."""
        return await self._made(lambda: self.take_task_input_responses(task_id, **options))

    async def take_task_input_responses_json_async(self, task_id: str, **options: Unpack[TakeOptions]) -> str:
        """As :meth:`take_task_input_responses_json`, on asyncio."""
        return await self._made(lambda: self.take_task_input_responses_json(task_id, **options))

    async def is_task_cancelation_requested_async(self, task_id: str) -> bool:
        """As :meth:`is_task_cancelation_requested`, on asyncio."""
        return await self._made(lambda: self.is_task_cancelation_requested(task_id))

    def wait_task(self, task_id: str, seen_revision: int = 0, timeout: Timeout = None) -> TaskRecord:
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
        return cast(TaskRecord, loads(self.wait_task_json(task_id, seen_revision, timeout)))

    async def wait_task_async(self, task_id: str, seen_revision: int = 0, timeout: Timeout = None) -> TaskRecord:
        """As :meth:`wait_task`, on asyncio: no thread waits."""
        return cast(TaskRecord, loads(await self.wait_task_json_async(task_id, seen_revision, timeout)))

    def list_tasks(self, **params: Unpack[TaskListOptions]) -> TaskPage:
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
        return cast(TaskPage, loads(self.list_tasks_json(**params)))

    async def list_tasks_async(self, **params: Unpack[TaskListOptions]) -> TaskPage:
        """As :meth:`list_tasks`, on asyncio."""
        return await self._made(lambda: self.list_tasks(**params))

    async def list_tasks_json_async(self, **params: Unpack[TaskListOptions]) -> str:
        """As :meth:`list_tasks_json`, on asyncio."""
        return await self._made(lambda: self.list_tasks_json(**params))

    async def publish_task_changed_async(self, task_id: str) -> None:
        """As :meth:`publish_task_changed`, on asyncio."""
        return await self._made(lambda: self.publish_task_changed(task_id))

    def claim_task(
        self, queues: Sequence[str], *, worker: str, lease_ms: Milliseconds = 30000, timeout: Timeout = None
    ) -> TaskRecord | None:
        """Claim a task of a queue, or wait for one: it is then held under a lease by this worker alone.

        :meth:`claim` does this too, keeps the lease, and gives the task back at the end.

        Args:
            queues: the queues to take from, 1 to 64, in strict order of preference.
            worker: who claims, 1 to 256 bytes; operators see it.
            lease_ms: for how long the task is held unless the lease is renewed, 1 to 86400000 milliseconds or a
                timedelta. Choose it above any pause that is to be survived.
            timeout: longest wait in real time, seconds or a timedelta; None waits without end, 0 looks and returns.

        Returns:
            The record with ``lease["token"]``, which every change of the task by its worker needs as the option
            ``lease``; None when no task came.

        Raises:
            InvalidArgumentError: an argument is malformed.
            ClosedError: the manager was closed.

        Source: ``taskhold_manager_claim_task``.
        """
        text = self.claim_task_json(queues, worker=worker, lease_ms=lease_ms, timeout=timeout)
        return None if text is None else cast(TaskRecord, loads(text))

    async def claim_task_async(
        self, queues: Sequence[str], *, worker: str, lease_ms: Milliseconds = 30000, timeout: Timeout = None
    ) -> TaskRecord | None:
        """As :meth:`claim_task`, on asyncio: no thread waits."""
        text = await self.claim_task_json_async(queues, worker=worker, lease_ms=lease_ms, timeout=timeout)
        return None if text is None else cast(TaskRecord, loads(text))

    def renew_leases(self, tasks: Sequence[Renewal], *, lease_ms: Milliseconds = 30000) -> RenewalOutcome:
        """Renew leases: the end of each is ``lease_ms`` from now. Renew at a third of the lease.

        Args:
            tasks: 1 to 1000, none twice: ``{"task_id": …, "lease": …}`` and, if a stored checkpoint is to be replaced,
                ``checkpoint`` (any JSON; a :class:`Json` is text).
            lease_ms: for how long from now, 1 to 86400000 milliseconds or a timedelta.

        Returns:
            The ids of the tasks whose lease was renewed, of those whose lease is lost (they spoil nothing for the
            rest), and of those of the first whose client asks for cancelation.

        Raises:
            InvalidArgumentError: an argument is malformed.
            LimitExceededError: the checkpoints together are too large; nothing was renewed.

        Source: ``taskhold_manager_renew_leases``.
        """
        return cast(RenewalOutcome, loads(self.renew_leases_json(tasks, lease_ms=lease_ms)))

    async def renew_leases_async(self, tasks: Sequence[Renewal], *, lease_ms: Milliseconds = 30000) -> RenewalOutcome:
        """As :meth:`renew_leases`, on asyncio."""
        return await self._made(lambda: self.renew_leases(tasks, lease_ms=lease_ms))

    async def renew_leases_json_async(self, tasks: Sequence[Renewal], *, lease_ms: Milliseconds = 30000) -> str:
        """As :meth:`renew_leases_json`, on asyncio."""
        return await self._made(lambda: self.renew_leases_json(tasks, lease_ms=lease_ms))

    def release_task(self, task_id: str, **options: Unpack[ReleaseOptions]) -> TaskRecord:
        """Give a held task back to its queue. With no attempt left it is failed.

        Args:
            task_id: the task's id.
            **options: ``lease`` (the token, needed); ``delay_ms`` (0: claimable after this and after the backoff,
                whichever is longer); ``counts_as_attempt`` (True; False for an orderly shutdown); ``status_message``
                (absent keeps the message, None clears it); ``checkpoint`` (any JSON, for who goes on);
                ``failure`` (a JSON-RPC error object: becomes ``lastFailure``).

        Returns:
            The record after the change.

        Raises:
            NotFoundError: no such task, or it expired.
            InvalidStateError: ``task_terminal``, ``lease_required``, ``not_queued``.
            ConflictError: ``lease_lost``.
            InvalidArgumentError: the id or an option is malformed.
            LimitExceededError: a payload is too large or too deep.

        Source: ``taskhold_manager_release_task``.
        """
        return cast(TaskRecord, loads(self.release_task_json(task_id, **options)))

    async def release_task_async(self, task_id: str, **options: Unpack[ReleaseOptions]) -> TaskRecord:
        """As :meth:`release_task`, on asyncio."""
        return await self._made(lambda: self.release_task(task_id, **options))

    async def release_task_json_async(self, task_id: str, **options: Unpack[ReleaseOptions]) -> str:
        """As :meth:`release_task_json`, on asyncio."""
        return await self._made(lambda: self.release_task_json(task_id, **options))

    def find_authorized_task(self, endpoint: str, partition: str | None, task_id: str) -> TaskRecord | None:
        """Find a task that the caller may see. Unknown, expired and foreign tasks give the same answer.

        Args:
            endpoint: the endpoint that the request came to.
            partition: the authorization partition of the caller; None is the anonymous one, and another than "".
            task_id: the task's id.

        Returns:
            The record, or None. Only its ``task`` may reach the client.

        Raises:
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_manager_find_authorized_task``.
        """
        text = self.find_authorized_task_json(endpoint, partition, task_id)
        return None if text is None else cast(TaskRecord, loads(text))

    async def find_authorized_task_async(self, endpoint: str, partition: str | None, task_id: str) -> TaskRecord | None:
        """As :meth:`find_authorized_task`, on asyncio."""
        return await self._made(lambda: self.find_authorized_task(endpoint, partition, task_id))

    async def find_authorized_task_json_async(self, endpoint: str, partition: str | None, task_id: str) -> str | None:
        """As :meth:`find_authorized_task_json`, on asyncio."""
        return await self._made(lambda: self.find_authorized_task_json(endpoint, partition, task_id))

    def update_task(
        self,
        endpoint: str,
        partition: str | None,
        task_id: str,
        input_responses: Payload,
        **options: Unpack[Conditions],
    ) -> UpdateOutcome:
        """Accept a client's answers to input requests (``tasks/update``).

        An answer counts when its key is outstanding and its shape matches; every other one is ignored without a
        trace. A working or terminal task is left alone: that is fine too.

        Args:
            endpoint: the endpoint that the request came to.
            partition: the authorization partition of the caller; None is the anonymous one.
            task_id: the task's id.
            input_responses: an object: answers by the keys of their requests.
            **options: ``expected_revision``, ``unless_cancelation_requested``.

        Returns:
            Which answers counted; for the host, not for the client.

        Raises:
            NotFoundError: unknown, expired or not the caller's.
            InvalidStateError: ``cancelation_requested``.
            ConflictError: the revision is another, or the lease is lost.
            InvalidArgumentError: an argument is malformed.
            LimitExceededError: a payload is too large or too deep.

        Source: ``taskhold_manager_update_task``.
        """
        return cast(
            UpdateOutcome, loads(self.update_task_json(endpoint, partition, task_id, input_responses, **options))
        )

    async def update_task_async(
        self,
        endpoint: str,
        partition: str | None,
        task_id: str,
        input_responses: Payload,
        **options: Unpack[Conditions],
    ) -> UpdateOutcome:
        """As :meth:`update_task`, on asyncio."""
        return await self._made(lambda: self.update_task(endpoint, partition, task_id, input_responses, **options))

    async def update_task_json_async(
        self,
        endpoint: str,
        partition: str | None,
        task_id: str,
        input_responses: Payload,
        **options: Unpack[Conditions],
    ) -> str:
        """As :meth:`update_task_json`, on asyncio."""
        return await self._made(lambda: self.update_task_json(endpoint, partition, task_id, input_responses, **options))

    async def request_task_cancelation_async(self, endpoint: str, partition: str | None, task_id: str) -> None:
        """As :meth:`request_task_cancelation`, on asyncio."""
        return await self._made(lambda: self.request_task_cancelation(endpoint, partition, task_id))

    def render_task(
        self, endpoint: str, partition: str | None, task_id: str, rendering: int, **options: Unpack[RenderOptions]
    ) -> Revisioned[JsonObject]:
        """Render a task as a client gets it.

        Args:
            endpoint: the endpoint of the client.
            partition: the authorization partition of the client; None is the anonymous one.
            task_id: the task's id.
            rendering: a :class:`Rendering`.
            **options: ``client_capabilities`` (checked as in a request, if given), ``subscription_id`` (goes into
                the notification's ``_meta``).

        Returns:
            What the client gets, and the revision that it shows, from one reading.

        Raises:
            NotFoundError: unknown, expired or not the caller's.
            InvalidStateError: ``undeliverable``: the task asks for input that it did not declare, or that the
                client has no capability for.
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_manager_render_task``.
        """
        text, revision = self.render_task_json(endpoint, partition, task_id, rendering, **options)
        return Revisioned(cast(JsonObject, loads(text)), revision)

    async def render_task_async(
        self, endpoint: str, partition: str | None, task_id: str, rendering: int, **options: Unpack[RenderOptions]
    ) -> Revisioned[JsonObject]:
        """As :meth:`render_task`, on asyncio."""
        return await self._made(lambda: self.render_task(endpoint, partition, task_id, rendering, **options))

    async def render_task_json_async(
        self, endpoint: str, partition: str | None, task_id: str, rendering: int, **options: Unpack[RenderOptions]
    ) -> Revisioned[str]:
        """As :meth:`render_task_json`, on asyncio."""
        return await self._made(lambda: self.render_task_json(endpoint, partition, task_id, rendering, **options))

    def handle_request(
        self, endpoint: str, partition: str | None, request: Payload, *, client_capabilities: Payload = None
    ) -> JsonObject | None:
        """Answer one JSON-RPC request of the extension: ``tasks/get``, ``tasks/update`` or ``tasks/cancel``.

        Whatever the request is, the answer is a whole JSON-RPC response, be it an error.

        Args:
            endpoint: the endpoint that the request came to.
            partition: the authorization partition of the caller; None is the anonymous one.
            request: the request as it came; bytes need not even be UTF-8.
            client_capabilities: what the client has declared; None takes it from the request's ``_meta``.

        Returns:
            The response, or None for a notification.

        Raises:
            InvalidArgumentError: an argument around the request is malformed.
            UnavailableError: the storage failed; ``response`` is a JSON-RPC response that is ready to be sent.
            CorruptError: a stored row cannot be read.

        Source: ``taskhold_manager_handle_request``.
        """
        text = self.handle_request_json(endpoint, partition, request, client_capabilities=client_capabilities)
        return None if text is None else cast(JsonObject, loads(text))

    async def handle_request_async(
        self, endpoint: str, partition: str | None, request: Payload, *, client_capabilities: Payload = None
    ) -> JsonObject | None:
        """As :meth:`handle_request`, on asyncio."""
        return await self._made(
            lambda: self.handle_request(endpoint, partition, request, client_capabilities=client_capabilities)
        )

    async def handle_request_json_async(
        self, endpoint: str, partition: str | None, request: Payload, *, client_capabilities: Payload = None
    ) -> str | None:
        """As :meth:`handle_request_json`, on asyncio."""
        return await self._made(
            lambda: self.handle_request_json(endpoint, partition, request, client_capabilities=client_capabilities)
        )


class AsyncTaskManager(AsyncManagerCalls):
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

    _opens = TaskManager

    async def options(self) -> JsonObject:
        """The options that the manager works with, defaults filled in, with the library's names.

        Source: ``taskhold_manager_options``.
        """
        client = self._client or await self._opened()
        return await client.options_async()

    async def options_json(self) -> str:
        """As :meth:`options`; gives the text."""
        client = self._client or await self._opened()
        return await client.options_json_async()

    async def create_task(self, endpoint: str, origin: Payload, **options: Unpack[CreationOptions]) -> TaskRecord:
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
        client = self._client or await self._opened()
        return await client.create_task_async(endpoint, origin, **options)

    async def create_task_json(self, endpoint: str, origin: Payload, **options: Unpack[CreationOptions]) -> str:
        """As :meth:`create_task`; gives the text."""
        client = self._client or await self._opened()
        return await client.create_task_json_async(endpoint, origin, **options)

    async def find_task(self, task_id: str) -> TaskRecord | None:
        """Find a task for trusted code: nobody's authorization is checked.

        Returns:
            The record, or None when there is no such task or it expired.

        Raises:
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_manager_find_task``.
        """
        client = self._client or await self._opened()
        return await client.find_task_async(task_id)

    async def find_task_json(self, task_id: str) -> str | None:
        """As :meth:`find_task`; gives the text."""
        client = self._client or await self._opened()
        return await client.find_task_json_async(task_id)

    async def mark_task_working(
        self, task_id: str, status_message: str | None = None, **options: Unpack[WorkingOptions]
    ) -> TaskRecord:
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
        client = self._client or await self._opened()
        return await client.mark_task_working_async(task_id, status_message, **options)

    async def mark_task_working_json(
        self, task_id: str, status_message: str | None = None, **options: Unpack[WorkingOptions]
    ) -> str:
        """As :meth:`mark_task_working`; gives the text."""
        client = self._client or await self._opened()
        return await client.mark_task_working_json_async(task_id, status_message, **options)

    async def request_task_input(
        self, task_id: str, input_requests: Payload, status_message: str | None = None, **options: Unpack[InputOptions]
    ) -> TaskRecord:
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
        client = self._client or await self._opened()
        return await client.request_task_input_async(task_id, input_requests, status_message, **options)

    async def request_task_input_json(
        self, task_id: str, input_requests: Payload, status_message: str | None = None, **options: Unpack[InputOptions]
    ) -> str:
        """As :meth:`request_task_input`; gives the text."""
        client = self._client or await self._opened()
        return await client.request_task_input_json_async(task_id, input_requests, status_message, **options)

    async def complete_task(
        self, task_id: str, result: Payload, status_message: str | None = None, **options: Unpack[TransitionOptions]
    ) -> TaskRecord:
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
        client = self._client or await self._opened()
        return await client.complete_task_async(task_id, result, status_message, **options)

    async def complete_task_json(
        self, task_id: str, result: Payload, status_message: str | None = None, **options: Unpack[TransitionOptions]
    ) -> str:
        """As :meth:`complete_task`; gives the text."""
        client = self._client or await self._opened()
        return await client.complete_task_json_async(task_id, result, status_message, **options)

    async def fail_task(
        self, task_id: str, failure: Payload, status_message: str | None = None, **options: Unpack[ForcibleOptions]
    ) -> TaskRecord:
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
        client = self._client or await self._opened()
        return await client.fail_task_async(task_id, failure, status_message, **options)

    async def fail_task_json(
        self, task_id: str, failure: Payload, status_message: str | None = None, **options: Unpack[ForcibleOptions]
    ) -> str:
        """As :meth:`fail_task`; gives the text."""
        client = self._client or await self._opened()
        return await client.fail_task_json_async(task_id, failure, status_message, **options)

    async def cancel_task(
        self, task_id: str, status_message: str | None = None, **options: Unpack[ForcibleOptions]
    ) -> TaskRecord:
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
        client = self._client or await self._opened()
        return await client.cancel_task_async(task_id, status_message, **options)

    async def cancel_task_json(
        self, task_id: str, status_message: str | None = None, **options: Unpack[ForcibleOptions]
    ) -> str:
        """As :meth:`cancel_task`; gives the text."""
        client = self._client or await self._opened()
        return await client.cancel_task_json_async(task_id, status_message, **options)

    async def take_task_input_responses(self, task_id: str, **options: Unpack[TakeOptions]) -> JsonObject:
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
        client = self._client or await self._opened()
        return await client.take_task_input_responses_async(task_id, **options)

    async def take_task_input_responses_json(self, task_id: str, **options: Unpack[TakeOptions]) -> str:
        """As :meth:`take_task_input_responses`; gives the text."""
        client = self._client or await self._opened()
        return await client.take_task_input_responses_json_async(task_id, **options)

    async def is_task_cancelation_requested(self, task_id: str) -> bool:
        """Tell whether a client has asked for the cancelation of a task; it stays so after the task's end.

        Raises:
            NotFoundError: no such task, or it expired.
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_manager_is_task_cancelation_requested``.
        """
        client = self._client or await self._opened()
        return await client.is_task_cancelation_requested_async(task_id)

    async def wait_task(self, task_id: str, seen_revision: int = 0, timeout: Timeout = None) -> TaskRecord:
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
        client = self._client or await self._opened()
        return await client.wait_task_async(task_id, seen_revision, timeout)

    async def wait_task_json(self, task_id: str, seen_revision: int = 0, timeout: Timeout = None) -> str:
        """As :meth:`wait_task`; gives the text."""
        client = self._client or await self._opened()
        return await client.wait_task_json_async(task_id, seen_revision, timeout)

    async def list_tasks(self, **params: Unpack[TaskListOptions]) -> TaskPage:
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
        client = self._client or await self._opened()
        return await client.list_tasks_async(**params)

    async def list_tasks_json(self, **params: Unpack[TaskListOptions]) -> str:
        """As :meth:`list_tasks`; gives the text."""
        client = self._client or await self._opened()
        return await client.list_tasks_json_async(**params)

    async def publish_task_changed(self, task_id: str) -> None:
        """Announce that a task changed, as the manager does by itself after each change it makes.

        Raises:
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_manager_publish_task_changed``.
        """
        client = self._client or await self._opened()
        return await client.publish_task_changed_async(task_id)

    async def claim_task(
        self, queues: Sequence[str], *, worker: str, lease_ms: Milliseconds = 30000, timeout: Timeout = None
    ) -> TaskRecord | None:
        """Claim a task of a queue, or wait for one: it is then held under a lease by this worker alone.

        :meth:`claim` does this too, keeps the lease, and gives the task back at the end.

        Args:
            queues: the queues to take from, 1 to 64, in strict order of preference.
            worker: who claims, 1 to 256 bytes; operators see it.
            lease_ms: for how long the task is held unless the lease is renewed, 1 to 86400000 milliseconds or a
                timedelta. Choose it above any pause that is to be survived.
            timeout: longest wait in real time, seconds or a timedelta; None waits without end, 0 looks and returns.

        Returns:
            The record with ``lease["token"]``, which every change of the task by its worker needs as the option
            ``lease``; None when no task came.

        Raises:
            InvalidArgumentError: an argument is malformed.
            ClosedError: the manager was closed.

        Source: ``taskhold_manager_claim_task``.
        """
        client = self._client or await self._opened()
        return await client.claim_task_async(queues, worker=worker, lease_ms=lease_ms, timeout=timeout)

    async def claim_task_json(
        self, queues: Sequence[str], *, worker: str, lease_ms: Milliseconds = 30000, timeout: Timeout = None
    ) -> str | None:
        """As :meth:`claim_task`; gives the text."""
        client = self._client or await self._opened()
        return await client.claim_task_json_async(queues, worker=worker, lease_ms=lease_ms, timeout=timeout)

    async def renew_leases(self, tasks: Sequence[Renewal], *, lease_ms: Milliseconds = 30000) -> RenewalOutcome:
        """Renew leases: the end of each is ``lease_ms`` from now. Renew at a third of the lease.

        Args:
            tasks: 1 to 1000, none twice: ``{"task_id": …, "lease": …}`` and, if a stored checkpoint is to be replaced,
                ``checkpoint`` (any JSON; a :class:`Json` is text).
            lease_ms: for how long from now, 1 to 86400000 milliseconds or a timedelta.

        Returns:
            The ids of the tasks whose lease was renewed, of those whose lease is lost (they spoil nothing for the
            rest), and of those of the first whose client asks for cancelation.

        Raises:
            InvalidArgumentError: an argument is malformed.
            LimitExceededError: the checkpoints together are too large; nothing was renewed.

        Source: ``taskhold_manager_renew_leases``.
        """
        client = self._client or await self._opened()
        return await client.renew_leases_async(tasks, lease_ms=lease_ms)

    async def renew_leases_json(self, tasks: Sequence[Renewal], *, lease_ms: Milliseconds = 30000) -> str:
        """As :meth:`renew_leases`; gives the text."""
        client = self._client or await self._opened()
        return await client.renew_leases_json_async(tasks, lease_ms=lease_ms)

    async def release_task(self, task_id: str, **options: Unpack[ReleaseOptions]) -> TaskRecord:
        """Give a held task back to its queue. With no attempt left it is failed.

        Args:
            task_id: the task's id.
            **options: ``lease`` (the token, needed); ``delay_ms`` (0: claimable after this and after the backoff,
                whichever is longer); ``counts_as_attempt`` (True; False for an orderly shutdown); ``status_message``
                (absent keeps the message, None clears it); ``checkpoint`` (any JSON, for who goes on);
                ``failure`` (a JSON-RPC error object: becomes ``lastFailure``).

        Returns:
            The record after the change.

        Raises:
            NotFoundError: no such task, or it expired.
            InvalidStateError: ``task_terminal``, ``lease_required``, ``not_queued``.
            ConflictError: ``lease_lost``.
            InvalidArgumentError: the id or an option is malformed.
            LimitExceededError: a payload is too large or too deep.

        Source: ``taskhold_manager_release_task``.
        """
        client = self._client or await self._opened()
        return await client.release_task_async(task_id, **options)

    async def release_task_json(self, task_id: str, **options: Unpack[ReleaseOptions]) -> str:
        """As :meth:`release_task`; gives the text."""
        client = self._client or await self._opened()
        return await client.release_task_json_async(task_id, **options)

    async def find_authorized_task(self, endpoint: str, partition: str | None, task_id: str) -> TaskRecord | None:
        """Find a task that the caller may see. Unknown, expired and foreign tasks give the same answer.

        Args:
            endpoint: the endpoint that the request came to.
            partition: the authorization partition of the caller; None is the anonymous one, and another than "".
            task_id: the task's id.

        Returns:
            The record, or None. Only its ``task`` may reach the client.

        Raises:
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_manager_find_authorized_task``.
        """
        client = self._client or await self._opened()
        return await client.find_authorized_task_async(endpoint, partition, task_id)

    async def find_authorized_task_json(self, endpoint: str, partition: str | None, task_id: str) -> str | None:
        """As :meth:`find_authorized_task`; gives the text."""
        client = self._client or await self._opened()
        return await client.find_authorized_task_json_async(endpoint, partition, task_id)

    async def update_task(
        self,
        endpoint: str,
        partition: str | None,
        task_id: str,
        input_responses: Payload,
        **options: Unpack[Conditions],
    ) -> UpdateOutcome:
        """Accept a client's answers to input requests (``tasks/update``).

        An answer counts when its key is outstanding and its shape matches; every other one is ignored without a
        trace. A working or terminal task is left alone: that is fine too.

        Args:
            endpoint: the endpoint that the request came to.
            partition: the authorization partition of the caller; None is the anonymous one.
            task_id: the task's id.
            input_responses: an object: answers by the keys of their requests.
            **options: ``expected_revision``, ``unless_cancelation_requested``.

        Returns:
            Which answers counted; for the host, not for the client.

        Raises:
            NotFoundError: unknown, expired or not the caller's.
            InvalidStateError: ``cancelation_requested``.
            ConflictError: the revision is another, or the lease is lost.
            InvalidArgumentError: an argument is malformed.
            LimitExceededError: a payload is too large or too deep.

        Source: ``taskhold_manager_update_task``.
        """
        client = self._client or await self._opened()
        return await client.update_task_async(endpoint, partition, task_id, input_responses, **options)

    async def update_task_json(
        self,
        endpoint: str,
        partition: str | None,
        task_id: str,
        input_responses: Payload,
        **options: Unpack[Conditions],
    ) -> str:
        """As :meth:`update_task`; gives the text."""
        client = self._client or await self._opened()
        return await client.update_task_json_async(endpoint, partition, task_id, input_responses, **options)

    async def request_task_cancelation(self, endpoint: str, partition: str | None, task_id: str) -> None:
        """Record that a client asks for a task's cancelation (``tasks/cancel``). The worker decides about it.

        Asking again, or for a terminal task, is fine and changes nothing.

        Raises:
            NotFoundError: unknown, expired or not the caller's.
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_manager_request_task_cancelation``.
        """
        client = self._client or await self._opened()
        return await client.request_task_cancelation_async(endpoint, partition, task_id)

    async def render_task(
        self, endpoint: str, partition: str | None, task_id: str, rendering: int, **options: Unpack[RenderOptions]
    ) -> Revisioned[JsonObject]:
        """Render a task as a client gets it.

        Args:
            endpoint: the endpoint of the client.
            partition: the authorization partition of the client; None is the anonymous one.
            task_id: the task's id.
            rendering: a :class:`Rendering`.
            **options: ``client_capabilities`` (checked as in a request, if given), ``subscription_id`` (goes into
                the notification's ``_meta``).

        Returns:
            What the client gets, and the revision that it shows, from one reading.

        Raises:
            NotFoundError: unknown, expired or not the caller's.
            InvalidStateError: ``undeliverable``: the task asks for input that it did not declare, or that the
                client has no capability for.
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_manager_render_task``.
        """
        client = self._client or await self._opened()
        return await client.render_task_async(endpoint, partition, task_id, rendering, **options)

    async def render_task_json(
        self, endpoint: str, partition: str | None, task_id: str, rendering: int, **options: Unpack[RenderOptions]
    ) -> Revisioned[str]:
        """As :meth:`render_task`; gives the text."""
        client = self._client or await self._opened()
        return await client.render_task_json_async(endpoint, partition, task_id, rendering, **options)

    async def handle_request(
        self, endpoint: str, partition: str | None, request: Payload, *, client_capabilities: Payload = None
    ) -> JsonObject | None:
        """Answer one JSON-RPC request of the extension: ``tasks/get``, ``tasks/update`` or ``tasks/cancel``.

        Whatever the request is, the answer is a whole JSON-RPC response, be it an error.

        Args:
            endpoint: the endpoint that the request came to.
            partition: the authorization partition of the caller; None is the anonymous one.
            request: the request as it came; bytes need not even be UTF-8.
            client_capabilities: what the client has declared; None takes it from the request's ``_meta``.

        Returns:
            The response, or None for a notification.

        Raises:
            InvalidArgumentError: an argument around the request is malformed.
            UnavailableError: the storage failed; ``response`` is a JSON-RPC response that is ready to be sent.
            CorruptError: a stored row cannot be read.

        Source: ``taskhold_manager_handle_request``.
        """
        client = self._client or await self._opened()
        return await client.handle_request_async(endpoint, partition, request, client_capabilities=client_capabilities)

    async def handle_request_json(
        self, endpoint: str, partition: str | None, request: Payload, *, client_capabilities: Payload = None
    ) -> str | None:
        """As :meth:`handle_request`; gives the text."""
        client = self._client or await self._opened()
        return await client.handle_request_json_async(
            endpoint, partition, request, client_capabilities=client_capabilities
        )
