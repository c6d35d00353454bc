"""The plugs into the official SDK and into FastMCP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple

import anyio.to_thread
import httpx2
import pytest
from mcp.shared.inbound import MCP_NAME_HEADER

import checks
import taskhold.fastmcp
import taskhold.mcp
from header import ROOT
from kits import Build, Client, accept, official, on_fastmcp
from running import environment
from taskhold import AsyncTaskManager
from taskhold._renewal import Renewer
from taskhold._servers import listen, runs, tasks, wire

BUILDS = {"official": official, "fastmcp": on_fastmcp}


def play(check: Any, build: Build) -> None:
    asyncio.run(asyncio.wait_for(check(build), 60))


@pytest.mark.parametrize("check", checks.COMMON, ids=lambda one: one.__name__)
@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
def test_on_both(build: Build, check: Any) -> None:
    play(check, build)


@pytest.mark.parametrize("check", checks.OFFICIAL, ids=lambda one: one.__name__)
def test_on_the_official_sdk(check: Any) -> None:
    play(check, official)


class Breakage(NamedTuple):
    """A hook that is broken on purpose, and the check that has to notice."""

    break_it: Callable[[pytest.MonkeyPatch], None]
    check: Any
    on: tuple[str, ...] = ("official",)


def no_name_check(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tasks, "check_name", lambda context: None)


def tolerant_of_a_missing_name(patch: pytest.MonkeyPatch) -> None:
    def check(context: Any) -> None:
        if MCP_NAME_HEADER in context.request.headers:
            real(context)

    real = wire.check_name
    patch.setattr(tasks, "check_name", check)


def answers_whoever_declared_nothing(patch: pytest.MonkeyPatch) -> None:
    async def handle(self: Any, endpoint: str, partition: Any, request: Any, **options: Any) -> Any:
        return await real(self, endpoint, partition, request, client_capabilities={"extensions": {wire.EXTENSION: {}}})

    real = AsyncTaskManager.handle_request
    patch.setattr(AsyncTaskManager, "handle_request", handle)


def tasks_for_whoever_declared_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tasks, "declared", lambda context: True)


def always_at_the_start(patch: pytest.MonkeyPatch) -> None:
    async def call(self: Any, context: Any, tool: str, when: str, body: Any, attempts: int) -> Any:
        return await real(self, context, tool, "start", body, attempts)

    real = tasks.Tasks.call
    patch.setattr(tasks.Tasks, "call", call)


def the_original_session(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(runs, "redirected", lambda run: run.context)


def no_result_type(patch: pytest.MonkeyPatch) -> None:
    for module in (taskhold.mcp, taskhold.fastmcp):
        patch.setattr(module, "created", lambda run: dict(run.record["task"]))


def nobody_owns_anything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tasks, "partition", lambda context: None)


def the_loop_cancels_tasks(patch: pytest.MonkeyPatch) -> None:
    async def stopped(self: Any) -> None:
        self._cancelation_requested = True
        await real(self)

    real = runs.Run._stopped
    patch.setattr(runs.Run, "_stopped", stopped)


def cancelation_never_reaches_the_tool(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(runs.Run, "stop", lambda self: None)


def progress_withdraws_questions(patch: pytest.MonkeyPatch) -> None:
    async def mark(self: Any, task_id: str, message: str | None = None, **options: Any) -> Any:
        return await real(self, task_id, message)

    real = AsyncTaskManager.mark_task_working
    patch.setattr(AsyncTaskManager, "mark_task_working", mark)


def questions_stay_when_nobody_waits(patch: pytest.MonkeyPatch) -> None:
    async def withdraw(self: Any, task_id: str, keys: list[str]) -> None:
        pass

    patch.setattr(runs.Run, "_withdraw", withdraw)


def keys_by_number(patch: pytest.MonkeyPatch) -> None:
    constant = uuid.UUID(int=1)
    patch.setattr(uuid, "uuid4", lambda: constant)


def everything_is_a_result(patch: pytest.MonkeyPatch) -> None:
    async def failed(self: Any, error: Exception) -> None:
        await self._completed(self.task_id, {"content": [], "isError": True, "resultType": "complete"})

    patch.setattr(runs.Run, "_failed", failed)


def the_terminal_state_is_looked_up_apart(patch: pytest.MonkeyPatch) -> None:
    """The older snapshot is sent, and the newer revision waited for: the last frame is lost."""

    async def render(self: Any, *arguments: Any, **options: Any) -> Any:
        value, _ = await real(self, *arguments, **options)
        await asyncio.sleep(0.05)
        record = await self.find_task(arguments[2])
        return value, record["revision"]

    real = AsyncTaskManager.render_task
    patch.setattr(AsyncTaskManager, "render_task", render)


def no_lease(patch: pytest.MonkeyPatch) -> None:
    async def create(self: Any, context: Any, tool: str, kinds: Any, lease_ms: Any, queued: Any) -> Any:
        return await real(self, context, tool, kinds, None, queued)

    real = tasks.Tasks._create
    patch.setattr(tasks.Tasks, "_create", create)


def leases_that_nobody_renews(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Renewer, "_renew", lambda self, manager, length: self._due.update({length: time.monotonic() + 1000}))


def subscriptions_of_whoever_declared_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(listen, "require_declared", lambda context: None)


def waits_in_threads(patch: pytest.MonkeyPatch) -> None:
    async def wait(self: Any, task_id: str, seen: int = 0, timeout: Any = None) -> Any:
        client = self._client or await self._opened()
        return await anyio.to_thread.run_sync(
            lambda: client.wait_task(task_id, seen, timeout or 8), abandon_on_cancel=True
        )

    patch.setattr(AsyncTaskManager, "wait_task", wait)


BREAKAGES = [
    Breakage(no_name_check, checks.a_name_that_is_missing_or_another_is_refused),
    Breakage(tolerant_of_a_missing_name, checks.a_name_that_is_missing_or_another_is_refused),
    Breakage(answers_whoever_declared_nothing, checks.only_who_declares_tasks_gets_them),
    Breakage(tasks_for_whoever_declared_nothing, checks.only_who_declares_tasks_gets_them),
    Breakage(always_at_the_start, checks.a_tool_that_detaches_negotiates_in_the_foreground, ("official", "fastmcp")),
    Breakage(the_original_session, checks.questions_at_once_are_answered_one_by_one, ("official", "fastmcp")),
    Breakage(no_result_type, checks.the_rest_of_the_wire_is_as_it_should_be, ("official", "fastmcp")),
    Breakage(nobody_owns_anything, checks.tasks_of_another_principal_are_unknown),
    Breakage(the_loop_cancels_tasks, checks.a_stopped_server_fails_what_it_leaves),
    Breakage(cancelation_never_reaches_the_tool, checks.cancelation_races_completion),
    Breakage(progress_withdraws_questions, checks.progress_is_a_message_and_withdraws_no_question),
    Breakage(questions_stay_when_nobody_waits, checks.a_question_whose_answer_nobody_awaits_is_withdrawn),
    Breakage(keys_by_number, checks.keys_are_used_once_and_late_or_wrong_answers_are_ignored),
    Breakage(everything_is_a_result, checks.ends_are_stored_as_what_they_are),
    Breakage(the_terminal_state_is_looked_up_apart, checks.the_last_notification_always_comes),
    Breakage(subscriptions_of_whoever_declared_nothing, checks.notifications_need_the_declaration),
    Breakage(no_lease, checks.a_lapsed_lease_abandons_the_task_and_stops_its_tool),
    Breakage(leases_that_nobody_renews, checks.leases_are_renewed_together_while_the_process_lives),
    Breakage(waits_in_threads, checks.two_hundred_wait_without_threads),
]


@pytest.mark.parametrize(
    ("build", "breakage"),
    [
        pytest.param(BUILDS[build], breakage, id=f"{build}-{breakage.break_it.__name__}")
        for breakage in BREAKAGES
        for build in breakage.on
    ],
)
def test_each_breakage_is_noticed(build: Build, breakage: Breakage, monkeypatch: pytest.MonkeyPatch) -> None:
    breakage.break_it(monkeypatch)
    # An assertion, or a wait that ends by its own time limit; nothing else counts as noticing.
    with pytest.raises((AssertionError, TimeoutError)):
        asyncio.run(asyncio.wait_for(breakage.check(build), 4))


STDIO = """
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel
from taskhold.mcp import TasksExtension

class Name(BaseModel):
    name: str

tasks = TasksExtension()

@tasks.tool()
async def ask(ctx: Context) -> str:
    return (await ctx.elicit("Your name?", Name)).data.name

MCPServer("test", version="1", extensions=[tasks], middleware=[tasks.listen]).run("stdio")
"""


def test_stdio_has_tasks_without_headers() -> None:
    client = Client(None, "")  # type: ignore[arg-type]
    with subprocess.Popen(
        [sys.executable, "-c", STDIO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def send(method: str, params: dict[str, Any]) -> Any:
            message, _ = client.message(method, params)
            print(json.dumps(message), file=server.stdin, flush=True)
            return json.loads(server.stdout.readline())["result"]  # type: ignore[union-attr]

        task_id = send("tools/call", {"name": "ask", "arguments": {}})["taskId"]
        while not (asked := send("tasks/get", {"taskId": task_id}).get("inputRequests")):
            pass
        answers = {key: accept("Ada") for key in asked}
        assert send("tasks/update", {"taskId": task_id, "inputResponses": answers})["resultType"] == "complete"
        while (task := send("tasks/get", {"taskId": task_id}))["status"] != "completed":
            pass
        assert checks.text(task) == "Ada"
        server.stdin.close()
        assert server.wait(20) == 0


@contextlib.asynccontextmanager
async def example(name: str, store: str) -> AsyncIterator[tuple[subprocess.Popen[bytes], Client]]:
    """Serve an example in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(ROOT / "examples/python" / name), "--json", "--port", str(port), "--store", store]
    command += ["--lease-ms", "5000"]
    server = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        async with httpx2.AsyncClient(timeout=30) as http:
            client = Client(http, f"http://127.0.0.1:{port}/mcp")
            while True:
                assert server.poll() is None
                with contextlib.suppress(httpx2.ConnectError):
                    await client.call("greet", name="Ada")
                    break
                await asyncio.sleep(0.05)
            yield server, client
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("name", ["server.py", "fastmcp_server.py"])
def test_tasks_outlive_a_server_that_is_killed(name: str, tmp_path: Path) -> None:
    async def main() -> None:
        store = f"sqlite:{tmp_path / 'tasks.db'}"
        async with example(name, store) as (server, client):
            done = await client.task("slow_compute", seconds=0, label="kept")
            before = await client.until(done)
            asking = await client.task("confirm_delete", filename="a.txt")
            await client.until(asking, "input_required")
            server.kill()
        async with example(name, store) as (server, client):
            assert await client.get(done) == before
            assert checks.text(before) == "kept took 0 seconds"
            # Nobody works on it any more, which shows once its lease is over.
            task = await client.until(asking)
            assert (task["status"], task.get("error", {}).get("code")) == ("failed", -32603)
            # An orderly end, with work that is left.
            left = await client.task("slow_compute", seconds=60)
            server.send_signal(signal.SIGINT)
            await asyncio.to_thread(server.wait, 20)
        async with example(name, store) as (_, client):
            task = await client.get(left)
            assert (task["status"], task.get("error", {}).get("code")) == ("failed", -32603)

    asyncio.run(asyncio.wait_for(main(), 60))


def test_the_story_is_played_to_its_end() -> None:
    story = ROOT / "examples/python/story.py"
    done = subprocess.run(
        [sys.executable, story], capture_output=True, text=True, timeout=60, check=False, env=environment()
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "result: Deleted draft.txt" in done.stdout
    assert "alice cancels a call, which is: cancelled" in done.stdout
    assert done.stdout.endswith("alice comes back for it: work took 0 seconds\nbob asks for it: Task not found\n")
