"""What a tool's body finds of the run that it is in."""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .runs import Run

running: contextvars.ContextVar[Run | None] = contextvars.ContextVar("taskhold_run", default=None)


async def detach() -> None:
    """Become a task: the client gets the task's handle now, and the tool goes on in the background.

    For tools that first settle things with their client in the foreground. Where the call is no task, because the
    client does not know tasks, and in one that already is, this does nothing.
    """
    run = running.get()
    if run is not None:
        await run.create()


class TaskContext:
    """The task as which a tool's body runs; from :func:`current`."""

    def __init__(self, run: Run | None) -> None:
        self._run = run

    @property
    def task_id(self) -> str | None:
        """The task's id; None while the call is no task."""
        return None if self._run is None else self._run.task_id

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1 on."""
        return 1 if self._run is None or self._run.record is None else self._run.record.get("attempt", 1)

    @property
    def checkpoint(self) -> Any:
        """What this attempt stored last, or the one before; None at first."""
        return None if self._run is None or self._run.journal is None else self._run.journal.checkpoint

    async def set_checkpoint(self, value: Any) -> None:
        """Store what the next attempt needs to go on from here, should this process end before the tool does.

        The answers of the client before it are not kept beside it: those that the rest of the tool needs belong in it.
        Does nothing where the call cannot run again: it is no task, or its tool has one attempt.

        Args:
            value: any JSON value, which takes the place of the one before. With the answers after it, it obeys the
                manager's ``maximum_payload_bytes``.

        Raises:
            LimitExceededError: it is too large or too deep; the one before stays.
        """
        if self._run is not None:
            await self._run.set_checkpoint(value)


def current() -> TaskContext:
    """The task of the tool's body that calls this; also where the call is no task."""
    return TaskContext(running.get())


def within_run() -> bool:
    """Whether this is called by the body of a run."""
    return running.get() is not None
