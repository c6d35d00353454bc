"""The operator's commands about queued work: what waits, who holds what, and taking a task out of its way."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from typing import Any

from . import Store, TaskManager
from ._decode import loads
from ._output import elements, one_line, pages, print_row, print_rows, printable
from .types import ForcibleOptions

_ENDED = "The task was ended by an operator."

_HELD = {
    "TASK": "/task/taskId",
    "QUEUE": "/queue",
    "WORKER": "/lease/worker",
    "ATTEMPT": "/attempt",
    "UNTIL": "/lease/expiresAt",
    "MESSAGE": "/task/statusMessage",
}


class Refused(Exception):
    """The command cannot be carried out; the message says why."""


def work(store: Store, given: argparse.Namespace) -> None:
    """Print the queues, and what is held."""
    queues: list[Any] = list(loads(store.stats_json()).get("queues", []))
    names = {queue["manager"] for queue in queues} if given.name is None else {given.name}
    queues = [queue for queue in queues if queue["manager"] in names]
    terminal = sys.stdout.isatty()
    if terminal:
        print_row(dict.fromkeys(_QUEUE, ""))
    for queue in queues:
        if terminal:
            print_row({name: _shown(member, queue[member]) for name, member in _QUEUE.items()}, header=False)
        else:
            print(json.dumps(queue, ensure_ascii=False))
    # A task without a queue may be held too, also where there is no queue at all.
    for name in sorted(names | ({"default"} if given.name is None else set())):
        manager = TaskManager(store, name=name)
        held = elements(pages(lambda m=manager, **page: m.list_tasks_json(work_state="leased", **page)), "records")
        first = next(held, None)
        if first is None:
            continue
        if terminal:
            print()
        print_rows(itertools.chain([first], held), _HELD)


def requeue(store: Store, given: argparse.Namespace) -> None:
    """Make a parked task claimable."""
    manager, record = _found(store, given)
    lease = record.get("lease")
    if record.get("queue") is None:
        raise Refused("the task has no queue")
    if record["task"]["status"] != "input_required":
        raise Refused("the task is not parked")
    if lease is not None:
        raise Refused(f"the task is held until {lease['expiresAt']}; if its worker is gone, it is parked then")
    _confirm(given, record, "withdraw its questions and have a worker go on with it")
    options: ForcibleOptions = {"force": True, "expected_revision": record["revision"]}
    print(one_line(manager.mark_task_working_json(given.task_id, given.message, **options)))


def fail(store: Store, given: argparse.Namespace) -> None:
    """Fail a task, whoever holds it."""
    manager, record = _found(store, given)
    _confirm(given, record, "fail it")
    failure = {"code": -32603, "message": given.message or _ENDED}
    options: ForcibleOptions = {"force": True, "expected_revision": record["revision"]}
    print(one_line(manager.fail_task_json(given.task_id, failure, given.message, **options)))


_QUEUE = {
    "MANAGER": "manager",
    "QUEUE": "queue",
    "READY": "ready",
    "SCHEDULED": "scheduled",
    "LEASED": "leased",
    "PARKED": "parked",
    "OLDEST READY": "oldestReadyMs",
}


def _shown(member: str, value: Any) -> str:
    """A cell about a queue; an age in a unit that can be grasped."""
    if member != "oldestReadyMs" or value is None:
        return "-" if value is None else str(value)
    seconds = value // 1000
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _found(store: Store, given: argparse.Namespace) -> tuple[TaskManager, Any]:
    manager = TaskManager(store, **({} if given.name is None else {"name": given.name}))
    record = manager.find_task(given.task_id)
    if record is None:
        raise Refused("there is no such task, or it expired")
    if record["task"]["status"] in ("completed", "failed", "cancelled"):
        raise Refused(f"the task has ended: {record['task']['status']}")
    return manager, record


def _confirm(given: argparse.Namespace, record: Any, what: str) -> None:
    if given.yes:
        return
    lease = record.get("lease")
    held = "nobody holds" if lease is None else f"{printable(lease['worker'])} holds until {lease['expiresAt']}"
    question = f"The task is {record['task']['status']}, and {held} it. Really {what}? [y/N] "
    if not sys.stdin.isatty():
        raise Refused("pass --yes, as there is no terminal to ask on")
    if input(question).strip().lower() not in ("y", "yes"):
        raise Refused("nothing was changed")
