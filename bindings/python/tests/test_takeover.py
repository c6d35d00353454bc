"""Tools that another process of the server runs again, on either SDK."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import httpx2
import pytest

import taskhold.fastmcp
import taskhold.mcp
from checks import logged, questions, text
from kits import Build, Client, Kit, accept, official, on_fastmcp, serving
from running import environment
from taskhold import AsyncTaskManager, ManualClock, Store, TaskManager
from taskhold._renewal import Renewer

BUILDS = {"official": official, "fastmcp": on_fastmcp}
ON_BOTH = pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)

SECRET = "an argument that no client sees"


def play(coroutine: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 120))


@contextlib.asynccontextmanager
async def process(name: str, store: str) -> AsyncIterator[tuple[subprocess.Popen[str], Client]]:
    """A server in a process of its own, with a client of alice."""
    command = [sys.executable, str(Path(__file__).parent / "serve.py"), name, store]
    server = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(await asyncio.to_thread(server.stdout.readline))
        async with httpx2.AsyncClient(timeout=60) as http:
            yield server, Client(http, f"http://127.0.0.1:{port}/mcp", user="alice")
    finally:
        server.kill()
        server.communicate()


async def message(client: Client, task_id: str, wanted: str) -> None:
    """Wait until the task has this message."""
    while (task := await client.get(task_id)).get("statusMessage") != wanted:
        assert task["status"] == "working", task
        await asyncio.sleep(0.02)


async def end(client: Client, task_id: str) -> dict[str, Any]:
    """Poll until the task has ended, without a limit but that of the test."""
    while True:
        task = await client.get(task_id)
        if task["status"] not in ("working", "input_required"):
            return task
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("name", BUILDS)
def test_another_process_ends_what_a_killed_one_began(name: str, tmp_path: Path) -> None:
    async def main() -> None:
        store = f"sqlite:{tmp_path / 'tasks.db'}"
        async with process(name, store) as (killed, client), process(name, store) as (_, other):
            resumed = await client.task("resume", pages=4, secret=SECRET)
            await message(client, resumed, "stopped")
            answered = await client.task("ask_then_stop")
            (key,) = await questions(client, answered)
            await client.answer(answered, {key: accept("Ada")})
            await message(client, answered, "stopped")
            asking = await client.task("ask")
            (open_question,) = await questions(client, asking)
            once = await client.task("ask_both")
            await questions(client, once, 2)
            killed.kill()
            killed.wait()

            # The question stays open, and its answer reaches the next attempt.
            assert await questions(other, asking) == [open_question]
            await other.answer(asking, {open_question: accept("Eve")})
            assert text(await end(other, asking)) == "Eve"
            # It goes on from the checkpoint, with the same arguments and for the same caller.
            assert text(await end(other, resumed)) == f"alice: 2 to 4, {SECRET}"
            # What was answered is not asked again; a question more is.
            while (asked := list((await other.get(answered)).get("inputRequests", {}))) == []:
                await asyncio.sleep(0.05)
            assert key not in asked
            await other.answer(answered, {asked[0]: accept("Bob")})
            assert text(await end(other, answered)) == "Ada, Bob"
            # One attempt is one.
            task = await end(other, once)
            assert (task["status"], task.get("error", {}).get("code")) == ("failed", -32603)

    play(main())


async def record(kit: Kit, task_id: str) -> Any:
    found = await kit.tasks.manager.find_task(task_id)
    assert found is not None
    return found


@ON_BOTH
def test_an_orderly_end_hands_over_without_using_an_attempt(build: Build) -> None:
    async def main() -> None:
        # A clock that stands: no lease lapses, and no pause between attempts is over.
        store = Store(clock=ManualClock(1_764_498_600_000))
        first, second = (build(store, queue="tools") for _ in range(2))
        async with serving(first.app, orderly=True) as clients:
            client = clients()
            held, canceled, stopped = (
                await client.task("hold"),
                await client.task("hold"),
                await client.task("ask_both"),
            )
            await questions(client, stopped, 2)
            question = (await client.call("negotiate")).result
            again = {
                "name": "negotiate",
                "arguments": {},
                "inputResponses": {"who": accept("Ada")},
                "requestState": question["requestState"],
            }
            detached = (await client.send("tools/call", again)).result["taskId"]
            asking = await client.task("ask")
            (key,) = await questions(client, asking)
        assert first.bench.log.count("cancelled") == 2
        async with serving(second.app) as clients:
            client = clients()
            while second.bench.log.count("started") < 2:
                await asyncio.sleep(0.01)
            assert [(await record(second, one))["attempt"] for one in (held, canceled)] == [1, 1]
            await client.send("tasks/cancel", {"taskId": canceled})
            assert (await end(client, canceled))["status"] == "cancelled"
            await logged(second.bench.log, "cancelled")
            second.bench.go.set()
            assert text(await end(client, held)) == "held"
            assert text(await end(client, detached)) == "Ada 1"
            assert await questions(client, asking) == [key]
            await client.answer(asking, {key: accept("Eve")})
            assert text(await end(client, asking)) == "Eve"
            # A tool with one attempt was begun, and is not begun again.
            assert (await client.get(stopped))["status"] == "failed"

    play(main())


@ON_BOTH
def test_what_a_process_that_slept_does_changes_nothing(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    async def takes_calls_only(worker: Any, again: Any) -> None:
        pass

    async def main() -> None:
        clock = ManualClock(1_764_498_600_000)
        store = Store(clock=clock)
        slept, other = (build(store, queue="tools", lease_ms=30_000) for _ in range(2))
        monkeypatch.setattr(slept.tasks, "_take_over", takes_calls_only)
        # As long as it sleeps, nothing is renewed.
        later = time.monotonic() + 1000
        monkeypatch.setattr(Renewer, "_renew", lambda self, manager, length: self._due.update({length: later}))
        async with serving(slept.app) as clients, serving(other.app):
            client = clients()
            task_id = await client.task("hold")
            await logged(slept.bench.log, "started")
            clock.advance(31_000)
            while "started" not in other.bench.log:
                await asyncio.sleep(0.01)
            before = await record(other, task_id)
            assert before["attempt"] == 2
            slept.bench.go.set()
            while slept.tasks._runs:
                await asyncio.sleep(0.01)
            assert await record(other, task_id) == before
            other.bench.go.set()
            assert text(await end(client, task_id)) == "held"

    play(main())


@ON_BOTH
def test_nothing_of_a_stored_call_is_on_the_wire(build: Build) -> None:
    async def main() -> None:
        kit = build(queue="tools")
        async with serving(kit.app) as clients:
            client = clients()
            created = (await client.call("resume", pages=4, secret=SECRET)).result
            task_id = created["taskId"]
            await message(client, task_id, "stopped")
            kept = await record(kit, task_id)
            assert kept["work"]["params"]["arguments"]["secret"] == SECRET
            assert kept["checkpoint"]["checkpoint"] == {"page": 2, "secret": SECRET}
            shown = [created, await client.get(task_id)]
            for method in ("tasks/update", "tasks/cancel"):
                shown.append((await client.send(method, {"taskId": task_id, "inputResponses": {}})).response)
            shown.append(await end(client, task_id))
            for one in shown:
                assert SECRET not in json.dumps(one)
                assert not {"work", "checkpoint", "queue", "attempt", "attempts", "lease"} & one.keys()

    play(main())


def test_the_bearer_token_is_not_kept() -> None:
    async def main() -> None:
        kit = official(queue="tools", users=True)
        async with serving(kit.app) as clients:
            client = clients(user="alice")
            work = (await record(kit, await client.task("hold")))["work"]
            assert work["caller"]["subject"] == "alice"
            assert "token" not in work["caller"]

    play(main())


@ON_BOTH
def test_a_task_of_another_endpoint_goes_back(build: Build) -> None:
    async def main() -> None:
        store = Store(clock=ManualClock(1_764_498_600_000))
        kit = build(store, queue="tools")
        async with AsyncTaskManager(store) as tasks, serving(kit.app):
            other = await tasks.create_task("/other", {"name": "other"}, queue="tools", work={"params": {}})
            unknown = await tasks.create_task(
                "/mcp",
                {"name": "unknown"},
                queue="tools",
                work={
                    "protocolVersion": "2026-07-28",
                    "requestId": 1,
                    "params": {"name": "unknown"},
                    "meta": None,
                    "caller": None,
                },
            )
            for made in (other, unknown):
                found = made
                while found["revision"] < 3:
                    await asyncio.sleep(0.01)
                    found = await record(kit, made["task"]["taskId"])
                assert found["task"]["status"] == "working"
                assert found["lease"] is None

    play(main())


def test_attempts_need_a_queue_and_a_queue_a_lease() -> None:
    with pytest.raises(ValueError, match="queue"):
        taskhold.mcp.TasksExtension().tool(attempts=2)(test_attempts_need_a_queue_and_a_queue_a_lease)
    with pytest.raises(ValueError, match="attempts"):
        taskhold.mcp.TasksExtension(queue="tools").opt_in("one", attempts=1001)
    with pytest.raises(ValueError, match="attempts"):
        taskhold.fastmcp.attempts(0)
    for plug in (taskhold.mcp.TasksExtension, taskhold.fastmcp.TaskholdTasks):
        with pytest.raises(ValueError, match="lease_ms"):
            plug(queue="tools", lease_ms=None)
        with pytest.raises(ValueError, match="concurrency"):
            plug(queue="tools", concurrency=0)


def test_a_tool_that_runs_inline_has_a_first_attempt_without_checkpoint() -> None:
    async def main() -> None:
        task = taskhold.mcp.current()
        assert (task.task_id, task.attempt, task.checkpoint) == (None, 1, None)
        await task.set_checkpoint({"page": 1})
        assert task.checkpoint is None

    play(main())


def test_a_wake_during_a_renewal_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, again = [], threading.Event()

    def renew(self: TaskManager, *arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            self._renewer.wake_all_soon()
        else:
            again.set()
        return real(self, *arguments, **options)

    real = TaskManager.renew_leases
    monkeypatch.setattr(TaskManager, "renew_leases", renew)
    with TaskManager() as tasks:
        made = tasks.create_task("/mcp", {}, lease={"worker": "one", "lease_ms": 3_600_000})
        with tasks.hold(made, lease_ms=3_600_000) as work:
            assert again.wait(60)
            work.complete({})
