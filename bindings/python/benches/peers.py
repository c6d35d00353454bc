"""The state provider as seen from Python against a2a-python's task stores, in one run, in turns.

Both sides do what their users do: the state provider is given a dict and gives one; a2a-python's stores, and
taskhold's in their place (taskhold.a2a), are given a Task message and give one. Each save changes the task, since
a2a-python writes nothing to its database otherwise. Files lie in one folder below `build`: the disk is part of the
figure. A figure is the median of the rounds, in microseconds; "event" is a save and its way to a subscriber.
`--small` takes fewer tasks and rounds.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from a2a.server.cluster import DatabaseTaskEventStream, TaskVersion, VersionedDatabaseTaskStore
from a2a.server.context import ServerCallContext
from a2a.server.tasks import DatabaseTaskStore, InMemoryTaskStore
from a2a.types.a2a_pb2 import ListTasksRequest, Task
from google.protobuf.json_format import ParseDict
from sqlalchemy.ext.asyncio import create_async_engine

from taskhold import StateProvider, describe
from taskhold.a2a import TaskEventStream, TaskStore, VersionedTaskStore

ROUNDS = 7
BUILD = Path(__file__).resolve().parents[3] / "build"
SIZES: tuple[int, ...] = (1_000, 20_000)
Step = Callable[[], Awaitable[object]]


def task(number: int) -> dict[str, Any]:
    """An A2A task of about 500 bytes."""
    text = f"Report {number}: " + "all is well. " * 15
    message = {"messageId": f"m-{number}", "role": "ROLE_AGENT", "parts": [{"text": text}]}
    status = {"state": "TASK_STATE_WORKING", "timestamp": f"2026-01-{number % 28 + 1:02}T12:00:00.{number % 1000:03}Z"}
    return {"id": f"task-{number}", "contextId": f"context-{number % 50}", "status": status, "history": [message]}


async def at_once(call: Callable[[], object]) -> None:
    call()


async def filled(size: int, save: Callable[[int], Awaitable[object]]) -> None:
    for number in range(size):
        await save(number)


async def ours(url: str, size: int) -> dict[str, tuple[int, Step]]:
    """taskhold's calls, each with how often it is made in a round."""
    provider = await StateProvider.open_async(url)
    documents = [task(number) for number in range(size)]
    await filled(size, lambda number: provider.save_task_async(None, documents[number]))
    turn = iter(range(10**9))

    def changed() -> dict[str, Any]:
        number = next(turn)
        document = documents[number * 7 % size]
        document["contextId"] = f"changed-{number}"
        return document

    steps: dict[str, tuple[int, Step]] = {
        "get": (200, lambda: provider.get_task_async(None, f"task-{next(turn) * 7 % size}")),
        "save": (50, lambda: provider.save_task_async(None, changed())),
        "list 50": (3, lambda: provider.list_tasks_async(None, page_size=50)),
    }
    if url != "memory:":
        # On a durable store the calls above go through a pool of threads; these are made in place.
        steps |= {
            "get, sync": (200, lambda: at_once(lambda: provider.get_task(None, f"task-{next(turn) * 7 % size}"))),
            "save, sync": (50, lambda: at_once(lambda: provider.save_task(None, changed()))),
        }
    return steps


async def theirs(store: Any, size: int) -> dict[str, tuple[int, Step]]:
    """The calls of a2a-python's interface, by a store of its own or of ours."""
    context = ServerCallContext()
    messages: list[Task] = [ParseDict(task(number), Task()) for number in range(size)]
    await filled(size, lambda number: store.save(messages[number], context))
    turn = iter(range(10**9))

    def changed() -> Task:
        number = next(turn)
        message: Task = messages[number * 7 % size]
        message.context_id = f"changed-{number}"
        return message

    return {
        "get": (200, lambda: store.get(f"task-{next(turn) * 7 % size}", context)),
        "save": (50, lambda: store.save(changed(), context)),
        "list 50": (3, lambda: store.list(ListTasksRequest(page_size=50), context)),
    }


async def compare(name: str, one: dict[str, tuple[int, Step]], other: dict[str, tuple[int, Step]]) -> None:
    figures: dict[str, tuple[list[float], list[float]]] = {row: ([], []) for row in one}
    for _ in range(ROUNDS):
        for row in one:
            for side, steps in enumerate((one, other)):
                count, step = steps[row if side == 0 else row.removesuffix(", sync")]
                start = time.perf_counter()
                for _ in range(count):
                    await step()
                figures[row][side].append((time.perf_counter() - start) / count * 1e6)
    for row, sides in figures.items():
        mine, peer = (statistics.median(side) for side in sides)
        print(f"{name:<26}{row:<12}{mine:>12.1f}{peer:>14.1f}{peer / mine:>9.2f}x", flush=True)


async def following(store: Any, stream: Any) -> dict[str, tuple[int, Step]]:
    """A save with an event, until a subscriber has it."""
    context, followed = ServerCallContext(), Task(id="followed")
    version = await store.save(followed, event=followed, prev=None, prev_version=TaskVersion.MISSING, context=context)
    events = stream.subscribe("followed", after=TaskVersion.MISSING)
    await anext(events)

    async def step() -> None:
        nonlocal version
        next_event = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        version = await store.save(followed, event=followed, prev=None, prev_version=version, context=context)
        await next_event

    return {"event": (1, step)}


async def main() -> None:
    print(f"{'us per call':<38}{'taskhold':>12}{'a2a-python':>14}{'':>10}")
    for size in SIZES:
        memory = await theirs(InMemoryTaskStore(), size)
        await compare(f"memory, {size:,}", await ours("memory:", size), memory)
        await compare(f"as its store, {size:,}", await theirs(TaskStore("memory:"), size), memory)
    if "sqlite" not in describe()["backends"]:
        print("This library has no SQLite store: its rows are left out.")
        return
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        for size in SIZES:
            engine = create_async_engine(f"sqlite+aiosqlite:///{Path(folder, f'peer-{size}.db')}")
            peer = await theirs(DatabaseTaskStore(engine), size)
            await compare(f"SQLite, {size:,}", await ours(f"sqlite:{Path(folder, f'ours-{size}.db')}", size), peer)
            plug = TaskStore(Path(folder, f"plug-{size}.db"))
            await compare(f"as its store, {size:,}", await theirs(plug, size), peer)
            await engine.dispose()
        engine = create_async_engine(f"sqlite+aiosqlite:///{Path(folder, 'peer-events.db')}")
        store = VersionedTaskStore(Path(folder, "events.db"))
        peer = await following(VersionedDatabaseTaskStore(engine), DatabaseTaskEventStream(engine))
        await compare("SQLite, stream", await following(store, TaskEventStream(store)), peer)
        await engine.dispose()


if __name__ == "__main__":
    if sys.argv[1:] == ["--small"]:
        SIZES, ROUNDS = (500,), 3
    asyncio.run(main())
