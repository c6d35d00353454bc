"""An agent on the A2A SDK's own server, and its client: one process, and two over one file."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from a2a.client import Client
from a2a.client.errors import A2AClientError
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import BasePushNotificationSender, TaskUpdater
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import taskhold
from agents import Agent, a2a_server, agent, begin, client, context_of, message, started, step
from header import ROOT
from running import SOURCE, environment
from taskhold.a2a import PushNotificationConfigStore, TaskEventStream, TaskStore, VersionedTaskStore

pytestmark = pytest.mark.skipif("sqlite" not in taskhold.describe()["backends"], reason="this library has no SQLite")


def play(coroutine: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 300))


def pages(task: Task) -> list[str]:
    return [part.text for artifact in task.artifacts for part in artifact.parts]


async def next_page(stream: AsyncIterator[StreamResponse]) -> str:
    """The next page that comes; other events are passed over."""
    async for response in stream:
        if response.HasField("artifact_update"):
            page: str = response.artifact_update.artifact.parts[0].text
            return page
    raise AssertionError("the stream ended")


async def rest(stream: AsyncIterator[StreamResponse]) -> list[TaskState]:
    """The states that come until the stream ends."""
    states = []
    async for response in stream:
        assert response.HasField("status_update")
        states.append(response.status_update.status.state)
    return states


async def known(client: Client, task: Task) -> Task:
    return await client.get_task(GetTaskRequest(id=task.id))


def test_a_client_streams_at_one_process_what_the_other_does(tmp_path: Path) -> None:
    async def check(one: Agent, other: Agent) -> None:
        async with client(one.url) as at_one, client(other.url) as at_other:
            task = await begin(at_one)
            step(tmp_path, 1, "first")
            while pages(await known(at_other, task)) != ["first"]:
                await asyncio.sleep(0.01)
            streams = [each.subscribe(SubscribeToTaskRequest(id=task.id)) for each in (at_one, at_other)]
            for stream in streams:
                # The task as it is, then all that comes after.
                assert pages((await anext(stream)).task) == ["first"]
            for number in range(2, 8):
                step(tmp_path, number, f"page {number}")
                assert [await next_page(stream) for stream in streams] == [f"page {number}"] * 2
            step(tmp_path, 8, "done")
            for stream in streams:
                assert await rest(stream) == [TaskState.TASK_STATE_COMPLETED]
            found = [await known(each, task) for each in (at_one, at_other)]
            assert found[0] == found[1]
            assert pages(found[0]) == ["first", *(f"page {number}" for number in range(2, 8))]
            with pytest.raises(UnsupportedOperationError):
                await anext(at_other.subscribe(SubscribeToTaskRequest(id=task.id)))

    store = f"sqlite:{tmp_path / 'agent.db'}"
    with agent(store, tmp_path) as one, agent(store, tmp_path) as other:
        play(check(one, other))


def test_a_task_is_canceled_at_one_process_while_the_other_works_on_it(tmp_path: Path) -> None:
    async def check(one: Agent, other: Agent) -> None:
        async with client(one.url) as at_one, client(other.url) as at_other:
            task = await begin(at_one)
            stream = at_other.subscribe(SubscribeToTaskRequest(id=task.id))
            await anext(stream)
            canceled = await at_other.cancel_task(CancelTaskRequest(id=task.id))
            assert canceled.status.state == TaskState.TASK_STATE_CANCELED
            async for response in stream:
                last = response
            assert last.status_update.status.state == TaskState.TASK_STATE_CANCELED
            # The work that goes on changes nothing any more: the process notices with its next save.
            step(tmp_path, 1, "too late")
            for each in (at_one, at_other):
                with pytest.raises(TaskNotCancelableError):
                    await each.cancel_task(CancelTaskRequest(id=task.id))
                found = await known(each, task)
                assert (found.status.state, pages(found)) == (TaskState.TASK_STATE_CANCELED, [])

    store = f"sqlite:{tmp_path / 'agent.db'}"
    with agent(store, tmp_path) as one, agent(store, tmp_path) as other:
        play(check(one, other))


def test_an_answer_at_one_process_to_a_question_of_the_other(tmp_path: Path) -> None:
    async def check(one: Agent, other: Agent) -> None:
        async with client(one.url) as at_one, client(other.url) as at_other:
            step(tmp_path, 1, "ask")
            task = await begin(at_one)
            while (await known(at_other, task)).status.state != TaskState.TASK_STATE_INPUT_REQUIRED:
                await asyncio.sleep(0.01)
            step(tmp_path, 1, "page")
            step(tmp_path, 2, "done")
            answered = [
                response
                async for response in at_other.send_message(SendMessageRequest(message=message("this one", task)))
            ]
            assert answered[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
            found = await known(at_one, task)
            assert pages(found) == ["page"]
            assert [said.parts[0].text for said in found.history] == ["begin", "Which one?", "this one"]

    store = f"sqlite:{tmp_path / 'agent.db'}"
    with agent(store, tmp_path) as one, agent(store, tmp_path) as other:
        play(check(one, other))


def test_a_task_outlives_the_process_that_is_killed(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'agent.db'}"

    async def killed(one: Agent, other: Agent) -> Task:
        async with client(one.url) as at_one, client(other.url) as at_other:
            task = await begin(at_one)
            stream = at_other.subscribe(SubscribeToTaskRequest(id=task.id))
            assert (await anext(stream)).HasField("task")
            step(tmp_path, 1, "first")
            assert await next_page(stream) == "first"
            one.kill()
            assert pages(await known(at_other, task)) == ["first"]
            await at_other.cancel_task(CancelTaskRequest(id=task.id))
            assert await rest(stream) == [TaskState.TASK_STATE_CANCELED]
            return await known(at_other, task)

    async def restarted(one: Agent, task: Task) -> None:
        async with client(one.url) as at_one:
            assert await known(at_one, task) == task
            listed = await at_one.list_tasks(ListTasksRequest(include_artifacts=True))
            assert list(listed.tasks) == [task]

    with agent(store, tmp_path) as one, agent(store, tmp_path) as other:
        task = asyncio.run(asyncio.wait_for(killed(one, other), 300))
    with agent(store, tmp_path) as one:
        play(restarted(one, task))


def test_users_do_not_meet_at_either_process(tmp_path: Path) -> None:
    async def check(one: Agent, other: Agent) -> None:
        async with client(one.url, "ann") as ann:
            task = await begin(ann)
            for url in (one.url, other.url):
                async with client(url, "bob") as bob:
                    assert (await bob.list_tasks(ListTasksRequest())).total_size == 0
                    for refused in (
                        bob.get_task(GetTaskRequest(id=task.id)),
                        bob.cancel_task(CancelTaskRequest(id=task.id)),
                        anext(bob.subscribe(SubscribeToTaskRequest(id=task.id))),
                        anext(bob.send_message(SendMessageRequest(message=message("hello", task)))),
                        bob.list_task_push_notification_configs(
                            ListTaskPushNotificationConfigsRequest(task_id=task.id)
                        ),
                    ):
                        with pytest.raises(TaskNotFoundError):
                            await refused
            async with client(one.url, "eve") as eve:
                with pytest.raises((A2AClientError, UnsupportedOperationError)):
                    await eve.list_tasks(ListTasksRequest())
            step(tmp_path, 1, "done")
            async with client(other.url, "ann") as ann_elsewhere:
                while (await known(ann_elsewhere, task)).status.state != TaskState.TASK_STATE_COMPLETED:
                    await asyncio.sleep(0.01)

    store = f"sqlite:{tmp_path / 'agent.db'}"
    with agent(store, tmp_path, "ann,bob") as one, agent(store, tmp_path, "ann,bob") as other:
        play(check(one, other))


def test_the_example_serves_and_finds_its_tasks_again(tmp_path: Path) -> None:
    command = [str(ROOT / "examples/python/a2a_server.py"), "--port=0", "--seconds=0"]
    command.append(f"--store=sqlite:{tmp_path / 'agent.db'}")

    async def send(one: Agent) -> Task:
        async with client(one.url) as at_one:
            sent = at_one.send_message(SendMessageRequest(message=message("a report")))
            responses = [response async for response in sent]
            assert responses[-1].status_update.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
            task = responses[0].task
            sent = at_one.send_message(SendMessageRequest(message=message("3 pages", task)))
            responses = [response async for response in sent]
            assert responses[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
            found = await known(at_one, task)
            assert pages(found) == ["Page 1\n", "Page 2\n", "Page 3\n"]
            return found

    async def again(one: Agent, task: Task) -> None:
        async with client(one.url) as at_one:
            assert await known(at_one, task) == task

    with started(*command) as one:
        task = asyncio.run(asyncio.wait_for(send(one), 300))
    with started(*command) as one:
        play(again(one, task))


AGENT = """
import sys

from a2a_server import Reporter, card

card = card(f"http://127.0.0.1:{sys.argv[1]}/")


class Agent(Reporter):
    def __init__(self):
        super().__init__(0)
"""


def test_the_guide_from_the_sdks_database_stores(tmp_path: Path) -> None:
    guide = (ROOT / "bindings/python/docs/from-a2a-database.md").read_text()
    for name, program in re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", guide, re.M | re.S):
        (tmp_path / name).write_text(program)
    assert {path.name for path in tmp_path.iterdir()} == {"before.py", "after.py", "move.py"}
    (tmp_path / "agent.py").write_text(AGENT)
    paths = {"PYTHONPATH": f"{SOURCE}:{ROOT / 'examples/python'}"}

    async def served(url: str, earlier: list[Task]) -> list[Task]:
        async with client(url) as at:
            assert list((await at.list_tasks(ListTasksRequest(include_artifacts=True))).tasks) == earlier
            request = SendMessageRequest(message=message("2 pages"))
            request.configuration.task_push_notification_config.url = "http://127.0.0.1/"
            responses = [response async for response in at.send_message(request)]
            task = responses[0].task
            listing = ListTaskPushNotificationConfigsRequest(task_id=(earlier or [task])[0].id)
            assert len((await at.list_task_push_notification_configs(listing)).configs) == 1
            return [await known(at, task), *earlier]

    tasks: list[Task] = []
    for program in ("before.py", "after.py"):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = [sys.executable, program, str(port)]
        process = subprocess.Popen(command, cwd=tmp_path, env=environment(**paths), stderr=subprocess.PIPE, text=True)
        try:
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                assert process.poll() is None, process.communicate()[1]
                time.sleep(0.02)
            tasks = asyncio.run(asyncio.wait_for(served(f"http://127.0.0.1:{port}/", tasks), 300))
        finally:
            process.terminate()
            said = process.communicate()[1]
        assert "Traceback" not in said, said
        assert pages(tasks[0]) == ["Page 1\n", "Page 2\n"]
        if program == "before.py":
            done = subprocess.run(
                [sys.executable, "move.py"], cwd=tmp_path, env=environment(**paths), timeout=300, check=False
            )
            assert done.returncode == 0


# In this process


class Eager(AgentExecutor):
    """Goes on after the end, as a careless agent does."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.complete()
        other = TaskUpdater(event_queue, task.id, task.context_id)
        await other.start_work()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("versioned", [False, True])
def test_an_agent_that_goes_on_after_the_end_does_not_take_it_back(versioned: bool) -> None:
    """With the SDK's stores the task is working again."""

    async def check() -> None:
        store: Any = VersionedTaskStore() if versioned else TaskStore()
        handler = DefaultRequestHandler(
            Eager(),
            store,
            agent_card=a2a_server.card("http://127.0.0.1/"),
            event_stream=TaskEventStream(store) if versioned else None,
        )
        ann = context_of("ann")
        sent = await handler.on_message_send(SendMessageRequest(message=message("hello")), ann)
        assert isinstance(sent, Task)
        await handler.aclose()
        found = await handler.on_get_task(GetTaskRequest(id=sent.id), ann)
        assert found is not None
        assert found.status.state == TaskState.TASK_STATE_COMPLETED

    play(check())


def test_notifications_are_pushed_to_where_a_first_message_asked_for_them(tmp_path: Path) -> None:
    """The config comes before its task is stored."""
    received: list[dict[str, Any]] = []

    async def hook(request: Request) -> Response:
        received.append({"token": request.headers["x-a2a-notification-token"], **await request.json()})
        return Response()

    async def check() -> None:
        async with (
            receiving(Starlette(routes=[Route("/hook", hook, methods=["POST"])])) as url,
            httpx.AsyncClient() as http,
            VersionedTaskStore(tmp_path / "agent.db") as store,
        ):
            configs = PushNotificationConfigStore(store)
            handler = DefaultRequestHandler(
                a2a_server.Reporter(0),
                store,
                agent_card=a2a_server.card("http://127.0.0.1/"),
                event_stream=TaskEventStream(store),
                push_config_store=configs,
                push_sender=BasePushNotificationSender(http, configs),
            )
            config = TaskPushNotificationConfig(url=f"{url}/hook", token="secret")
            request = SendMessageRequest(
                message=message("2 pages"),
                configuration=SendMessageConfiguration(task_push_notification_config=config),
            )
            ann = context_of("ann")
            sent = await handler.on_message_send(request, ann)
            assert isinstance(sent, Task)
            listing = ListTaskPushNotificationConfigsRequest(task_id=sent.id)
            (stored,) = (await handler.on_list_task_push_notification_configs(listing, ann)).configs
            assert (stored.id, stored.task_id, stored.url) == (sent.id, sent.id, config.url)
            await handler.aclose()
        assert {one["token"] for one in received} == {"secret"}
        kinds = [next(name for name in one if name != "token") for one in received]
        assert kinds == ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]

    play(check())


@contextlib.asynccontextmanager
async def receiving(app: Starlette) -> AsyncIterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    running = asyncio.create_task(server.serve())
    while not server.started:
        assert not running.done()
        await asyncio.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
