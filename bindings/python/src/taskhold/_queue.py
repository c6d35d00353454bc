"""Queued work of a task manager: claiming tasks, keeping their leases, giving tasks back."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack, cast

from . import _native
from ._clients import AsyncClient
from ._errors import InvalidHandleError, TaskholdError, closed_while_waiting
from ._handles import SLICE_MS, gives, on_main_thread
from ._json import composed
from ._loops import PerLoop
from ._native import lib, text
from ._renewal import Renewer
from ._times import Deadline, Timeout
from .library import json_get
from .store import StoreClient
from .types import Milliseconds, ReleaseOptions, Renewal, RenewalOutcome, TaskRecord
from .work import AsyncClaim, Claim, claiming
from .worker import AsyncWorker, Worker

if TYPE_CHECKING:
    from ._claims import Claimers
    from ._manager import ManagerCalls
    from .manager import AsyncTaskManager, TaskManager

_RELEASE_PAYLOADS = frozenset({"failure"})


class QueueCalls(StoreClient):
    """The calls of a manager that are about queued work."""

    def _prepare_claims(self) -> None:
        self._renewer = Renewer(cast("TaskManager", self))
        if self._clock is not None:
            self._clock._tell(self._renewer)
        self._claimers: PerLoop[Claimers] = PerLoop(self._clock)

    def claim(
        self,
        queues: Sequence[str],
        *,
        worker: str | None = None,
        lease_ms: Milliseconds = 30_000,
        timeout: Timeout = None,
    ) -> Claim:
        """Claim a task and hold it while a block runs: ``with tasks.claim(["reports"]) as work: …``.

        The lease is renewed at a third of its length, by one call for all work that is held through this manager. A
        task that the block does not end is given back; see :class:`taskhold.work.Work`.

        Args:
            queues: the queues to take from, 1 to 64, in strict order of preference.
            worker: who claims, 1 to 256 bytes; None is this host and process.
            lease_ms: for how long the task stays this worker's when the process dies or stands still, 1 to 86400000
                milliseconds or a timedelta.
            timeout: longest wait for a task, seconds or a timedelta; None waits without end.

        Raises:
            TimeoutError: no task came.
            InvalidArgumentError: an argument is malformed.
            ClosedError: the manager is closed.
        """
        return Claim(cast("TaskManager", self), lease_ms, claim=claiming(queues, worker, lease_ms, timeout))

    def hold(self, record: TaskRecord, *, lease_ms: Milliseconds = 30_000) -> Claim:
        """Hold a task while a block runs that this process has claimed, or has created with ``lease``.

        A task without a queue, which nobody else can claim, fails when the block does not end it.

        Args:
            record: the record, with the lease's token, as the claim or the creation gave it.
            lease_ms: how long each renewal holds it.
        """
        return Claim(cast("TaskManager", self), lease_ms, record)

    def worker(
        self,
        queues: Sequence[str],
        *,
        concurrency: int = 1,
        worker: str | None = None,
        lease_ms: Milliseconds = 30_000,
        grace: Timeout = 30.0,
    ) -> Worker:
        """Make a worker: ``tasks.worker(["reports"], concurrency=4).run(function)``.

        Args:
            queues: the queues to take from, 1 to 64, in strict order of preference.
            concurrency: how many tasks at once, each in a thread.
            worker: who claims, 1 to 256 bytes; None is this host and process.
            lease_ms: as for :meth:`claim`.
            grace: for how long, after SIGTERM, tasks that run may go on; seconds, a timedelta, or None for ever.
        """
        return Worker(cast("TaskManager", self), queues, concurrency, worker, lease_ms, grace)

    @gives(TaskRecord)
    def claim_task_json(
        self,
        queues: Sequence[str],
        *,
        worker: str,
        lease_ms: Milliseconds = 30_000,
        timeout: Timeout = None,
    ) -> str | None:
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
        claim = _claim(queues, worker, lease_ms)
        deadline = Deadline(timeout)
        longest = SLICE_MS if on_main_thread() else _native.WAIT_FOREVER
        waited = False
        while True:
            try:
                record = self._claim(claim, deadline.left_ms(longest))
            except InvalidHandleError as error:
                if waited and error.reason == "closed":
                    raise closed_while_waiting() from None
                raise
            if record is not None or deadline.passed():
                return record
            waited = True

    async def claim_task_json_async(
        self,
        queues: Sequence[str],
        *,
        worker: str,
        lease_ms: Milliseconds = 30_000,
        timeout: Timeout = None,
    ) -> str | None:
        """As :meth:`claim_task_json`, on asyncio: no thread waits, and a cancelled await holds no task."""
        from ._claims import claim

        names = (queues,) if isinstance(queues, str) else tuple(queues)
        return await claim(cast("ManagerCalls", self), names, _claim(names, worker, lease_ms), timeout)

    def _claim(self, claim: bytes, timeout_ms: int) -> str | None:
        # A signal's handler may raise as soon as the call returns: nobody would know of the task.
        claiming = lib.taskhold_manager_claim_task
        record = _native.call_taking(claiming, self._unclaim, self._token, claim, timeout_ms)
        return None if record is None else record.decode()

    def _unclaim(self, record: str | bytes) -> None:
        """Give back a task that was claimed for nobody; the attempt does not count."""
        task_id, lease = json_get(record, "/task/taskId"), json_get(record, "/lease/token")
        # A lease that is lost already is nobody's to give back, and one that cannot be given back lapses.
        with contextlib.suppress(TaskholdError):
            self.release_task_json(task_id or "", lease=int(lease or 0), counts_as_attempt=False)

    @gives(RenewalOutcome)
    def renew_leases_json(self, tasks: Sequence[Renewal], *, lease_ms: Milliseconds = 30_000) -> str:
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
        each = b",".join(composed(task, self._default) for task in tasks)
        head = composed({"lease_ms": lease_ms})
        return self._text(lib.taskhold_manager_renew_leases, head[:-1] + b',"tasks":[' + each + b"]}")

    @gives(TaskRecord)
    def release_task_json(self, task_id: str, **options: Unpack[ReleaseOptions]) -> str:
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
        return self._text(lib.taskhold_manager_release_task, text(task_id), self._options(options, _RELEASE_PAYLOADS))


def _claim(queues: Sequence[str], worker: str, lease_ms: Milliseconds) -> bytes:
    names = [queues] if isinstance(queues, str) else list(queues)
    return composed({"worker": worker, "queues": names, "lease_ms": lease_ms})


class AsyncQueueCalls(AsyncClient["TaskManager"]):
    """What is about queued work, on asyncio."""

    def claim(
        self,
        queues: Sequence[str],
        *,
        worker: str | None = None,
        lease_ms: Milliseconds = 30_000,
        timeout: Timeout = None,
    ) -> AsyncClaim:
        """Claim a task and hold it while a block runs: ``async with tasks.claim(["reports"]) as work: …``.

        The lease is renewed at a third of its length, by one call for all work that is held through this manager. A
        task that the block does not end is given back; see :class:`taskhold.work.AsyncWork`. No thread waits.

        Args:
            queues: the queues to take from, 1 to 64, in strict order of preference.
            worker: who claims, 1 to 256 bytes; None is this host and process.
            lease_ms: for how long the task stays this worker's when the process dies or stands still, 1 to 86400000
                milliseconds or a timedelta.
            timeout: longest wait for a task, seconds or a timedelta; None waits without end.

        Raises:
            TimeoutError: no task came.
            InvalidArgumentError: an argument is malformed.
            ClosedError: the manager is closed.
        """
        manager = cast("AsyncTaskManager", self)
        return AsyncClaim(manager, lease_ms, claim=claiming(queues, worker, lease_ms, timeout))

    def hold(self, record: TaskRecord, *, lease_ms: Milliseconds = 30_000) -> AsyncClaim:
        """Hold a task while a block runs that this process has claimed, or has created with ``lease``.

        A task without a queue, which nobody else can claim, fails when the block does not end it.

        Args:
            record: the record, with the lease's token, as the claim or the creation gave it.
            lease_ms: how long each renewal holds it.
        """
        return AsyncClaim(cast("AsyncTaskManager", self), lease_ms, record)

    def worker(
        self,
        queues: Sequence[str],
        *,
        concurrency: int = 1,
        worker: str | None = None,
        lease_ms: Milliseconds = 30_000,
        grace: Timeout = 30.0,
    ) -> AsyncWorker:
        """Make a worker: ``await tasks.worker(["reports"], concurrency=4).run(function)``.

        Args:
            queues: the queues to take from, 1 to 64, in strict order of preference.
            concurrency: how many tasks at once, each in a task of asyncio.
            worker: who claims, 1 to 256 bytes; None is this host and process.
            lease_ms: as for :meth:`claim`.
            grace: for how long, after SIGTERM, tasks that run may go on; seconds, a timedelta, or None for ever.
        """
        return AsyncWorker(cast("AsyncTaskManager", self), queues, concurrency, worker, lease_ms, grace)
