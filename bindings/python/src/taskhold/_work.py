"""What is done with a task that is held, for threads and for asyncio alike."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from ._errors import ConflictError, InvalidArgumentError, InvalidStateError, NotFoundError, TaskholdError
from ._times import Timeout
from .types import JsonObject, ObjectPayload, TaskRecord

if TYPE_CHECKING:
    from .manager import TaskManager

R = TypeVar("R")

_UNSUCCESSFUL = {"code": -32603, "message": "The work on this task did not succeed."}
_ANSWERS = "answers"


class WorkInterrupted(Exception):
    """The work is to stop: raised by the methods of :class:`taskhold.work.Work`.

    Leave the block by it; the block ends the task, or gives it back, and goes on behind its end.

    Attributes:
        reason: ``"cancelation_requested"``, ``"lease_lost"`` or ``"stopping"``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Parked(Exception):
    """The task waits for its client, and nobody holds it: raised by ``ask(…, park=True)``.

    Leave the block by it. The task can be claimed again once its last question is answered, and ``ask`` then gives
    the answers.
    """


class Call(NamedTuple):
    """A call of a task manager."""

    name: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]


# What one step of the work does, for threads and for asyncio alike: it yields calls and is sent what they give.
Steps: TypeAlias = Generator[Call, Any, R]


class HeldTask:
    """A task that this process holds; what :class:`Work` and :class:`AsyncWork` have in common.

    Attributes:
        record: the task's record, as the last call gave it.
        task_id: its id.
        lease: the token of the lease.
        lease_ms: its length.
        interrupted: None, or why the work is to stop: ``"cancelation_requested"``, ``"lease_lost"``, ``"stopping"``.
        outcome: None while it is held; then ``"completed"``, ``"failed"``, ``"cancelled"``, ``"released"``,
            ``"parked"`` or ``"lost"``.
    """

    def __init__(self, manager: TaskManager, record: TaskRecord, lease_ms: int) -> None:
        self._manager = manager
        self.record = record
        self.task_id = record["task"]["taskId"]
        lease = record.get("lease")
        if lease is None or "token" not in lease:
            message = "the record is not the answer to a claim, or to a creation with a lease"
            raise InvalidArgumentError(message, reason="missing_key", key="lease")
        self.lease: int = lease["token"]
        self.lease_ms = lease_ms
        self.interrupted: str | None = None
        self.outcome: str | None = None
        self._ending = False
        self._checkpoint = record.get("checkpoint")

    @property
    def work(self) -> Any:
        """What the task was created with as ``work``."""
        return self.record.get("work")

    @property
    def checkpoint(self) -> Any:
        """What the last attempt stored, or this one; None at first."""
        return self._checkpoint

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1 on."""
        return self.record.get("attempt", 1)

    def __repr__(self) -> str:
        return f"<taskhold.{type(self).__name__} {self.outcome or 'held'}>"

    def _ends(self, name: str, *arguments: Any, **options: Any) -> Steps[TaskRecord]:
        # From here on it is no fault of anybody's that the lease is not there any more.
        self._ending = True
        try:
            record: TaskRecord = yield Call(name, (self.task_id, *arguments), {"lease": self.lease, **options})
        except TaskholdError as error:
            if isinstance(error, NotFoundError) or error.reason in ("lease_lost", "task_terminal"):
                self.outcome = "lost"
            else:
                self._ending = False
            raise
        self.record = record
        status = record["task"]["status"]
        self.outcome = status if status in ("completed", "failed", "cancelled") else "released"
        return record

    def _complete(self, result: ObjectPayload, status_message: str | None) -> Steps[TaskRecord]:
        return self._ends("complete_task", result, status_message)

    def _fail(self, failure: ObjectPayload, status_message: str | None) -> Steps[TaskRecord]:
        return self._ends("fail_task", failure, status_message)

    def _cancel(self, status_message: str | None) -> Steps[TaskRecord]:
        return self._ends("cancel_task", status_message)

    def _release(self, **options: Any) -> Steps[TaskRecord]:
        try:
            return (yield from self._ends("release_task", **options))
        except InvalidStateError as error:
            if error.reason != "not_queued":
                raise
        # Nobody else can take it over.
        return (yield from self._fail(options.get("failure") or _UNSUCCESSFUL, options.get("status_message")))

    def _goes_on(self, steps: Steps[R]) -> Steps[R]:
        """Steps that do not end the task: that somebody else did, or holds it, is an interruption."""
        try:
            return (yield from steps)
        except (ConflictError, InvalidStateError, NotFoundError) as error:
            if self._ending or not (
                isinstance(error, NotFoundError) or error.reason in ("lease_lost", "task_terminal")
            ):
                raise
            self.interrupted = self.interrupted or "lease_lost"
            raise WorkInterrupted(self.interrupted) from error

    def _progress(self, status_message: str | None, checkpoint: Any) -> Steps[TaskRecord]:
        options: dict[str, Any] = {"lease": self.lease, "withdraw_input_requests": []}
        if checkpoint is not None:
            options["checkpoint"] = checkpoint = self._with_answers(checkpoint)
        self.record = yield Call("mark_task_working", (self.task_id, status_message), options)
        self._checkpoint = self._checkpoint if checkpoint is None else checkpoint
        return self.record

    def _with_answers(self, checkpoint: Any) -> Any:
        """A new checkpoint keeps the answers that are in the old one."""
        if isinstance(checkpoint, Mapping) and isinstance(self._checkpoint, Mapping) and _ANSWERS in self._checkpoint:
            return {_ANSWERS: self._checkpoint[_ANSWERS], **checkpoint}
        return checkpoint

    def _ask(
        self, requests: Mapping[str, Any], status_message: str | None, park: bool, timeout: Timeout
    ) -> Steps[JsonObject]:
        if not isinstance(self._checkpoint, Mapping | None):
            raise TypeError("ask() keeps the answers in the checkpoint, which must be an object")
        while missing := {key: one for key, one in requests.items() if key not in self._answers()}:
            try:
                yield from self._ask_once(missing, status_message, park, timeout)
            except ConflictError as error:
                if error.reason != "revision_mismatch":
                    raise
                # An answer came in between: look again.
                self.record = (yield Call("find_task", (self.task_id,), {})) or self.record
        return {key: self._answers()[key] for key in requests}

    def _ask_once(
        self, missing: Mapping[str, Any], status_message: str | None, park: bool, timeout: Timeout
    ) -> Steps[None]:
        """Take the answers that are there, or ask and wait for a change; all of one revision, so that none is lost."""
        held = {"lease": self.lease, "expected_revision": self.record["revision"]}
        taken: JsonObject = yield Call("take_task_input_responses", (self.task_id,), {**held, "peek": True})
        if taken:
            # Taken and kept in one step, so that no answer is lost with the worker.
            checkpoint = {**(self._checkpoint or {}), _ANSWERS: {**self._answers(), **taken}}
            yield Call("take_task_input_responses", (self.task_id,), {**held, "checkpoint": checkpoint})
            self._checkpoint = checkpoint
            return
        options = {**held, **({"park": True} if park else {})}
        self.record = yield Call("request_task_input", (self.task_id, missing, status_message), options)
        if park:
            self._ending, self.outcome = True, "parked"
            raise Parked
        # Any change: an answer, or what an operator did.
        self.record = yield Call("wait_task", (self.task_id, self.record["revision"], timeout), {})

    def _answers(self) -> JsonObject:
        return dict((self._checkpoint or {}).get(_ANSWERS, {}))

    def _settle(self, error: BaseException | None, interruption: bool) -> Steps[None]:
        """End the task, or give it back, as the block was left."""
        if self.outcome is not None:
            return
        try:
            if self.interrupted == "lease_lost":
                self.outcome = "lost"
            elif self.interrupted == "cancelation_requested" and (interruption or error is None):
                yield from self._cancel(None)
            elif interruption or not isinstance(error, Exception | None):
                yield from self._release(counts_as_attempt=False)
            else:
                yield from self._release()
        except (ConflictError, NotFoundError, InvalidStateError):
            self.outcome = "lost"
