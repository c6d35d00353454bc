"""An A2A agent whose work goes on step by step as a test says, and clients of it; as a program, the agent serves.

``python agents.py STORE FOLDER [NAMES]``: each file in the folder is a step, told by its text.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import uvicorn
from a2a.client import Client, ClientConfig, create_client
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Message, Part, Role, SendMessageConfiguration, SendMessageRequest, Task

from header import ROOT
from running import environment

sys.path.insert(0, str(ROOT / "examples/python"))
import a2a_server

__all__ = ["a2a_server"]

TESTS = Path(__file__).parent


class Steps(AgentExecutor):
    """Does what files in a folder say, in the order of their names: 1, 2, 3 …"""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        for number in itertools.count(1):
            step = self.folder / str(number)
            while not step.exists():
                await asyncio.sleep(0.01)
            match step.read_text():
                case "done":
                    await updater.complete()
                    return
                case "ask":
                    await updater.requires_input(updater.new_agent_message([Part(text="Which one?")]))
                    return
                case page:
                    await updater.add_artifact([Part(text=page)], artifact_id="report", append=number > 1)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id is not None
        assert context.context_id is not None
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def step(folder: Path, number: int, text: str) -> None:
    """Let the agent take a step."""
    new = folder / f"{number}.new"
    new.write_text(text)
    new.rename(folder / str(number))


class Agent(NamedTuple):
    """A process that serves."""

    process: subprocess.Popen[str]
    url: str

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def started(*command: str) -> Iterator[Agent]:
    """A program that serves an agent, and says where."""
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, text=True, cwd="/", env=environment()
    )
    try:
        assert process.stdout is not None
        yield Agent(process, process.stdout.readline().split()[-1])
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def agent(store: str, folder: Path, users: str = "") -> contextlib.AbstractContextManager[Agent]:
    """The agent of this file in a process of its own."""
    return started(str(TESTS / "agents.py"), store, str(folder), users)


@contextlib.asynccontextmanager
async def client(url: str, user: str = "") -> AsyncIterator[Client]:
    """The SDK's client."""
    headers = {"authorization": f"Bearer {user}"} if user else {}
    async with (
        httpx.AsyncClient(headers=headers, timeout=60) as http,
        await create_client(url, client_config=ClientConfig(httpx_client=http)) as made,
    ):
        yield made


def message(text: str, task: Task | None = None) -> Message:
    """A user's message, about a task if there is one."""
    about = {"task_id": task.id, "context_id": task.context_id} if task is not None else {}
    return Message(message_id=f"m-{text}", role=Role.ROLE_USER, parts=[Part(text=text)], **about)


async def begin(client: Client, text: str = "begin") -> Task:
    """Have the agent begin a task; gives it as it is once it is stored."""
    configuration = SendMessageConfiguration(return_immediately=True)
    request = SendMessageRequest(message=message(text), configuration=configuration)
    stream = client.send_message(request)
    async for response in stream:
        if response.HasField("task"):
            # The agent goes on without a listener.
            await stream.aclose()  # type: ignore[attr-defined]
            return response.task
    raise AssertionError("no task came")


def context_of(user: str) -> ServerCallContext:
    """The context of a call by a user."""
    return ServerCallContext(user=a2a_server.NamedUser(user)) if user else ServerCallContext()


if __name__ == "__main__":
    _, store, folder, users = sys.argv
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        print(f"The agent is at {url}", flush=True)
        steps: Any = Steps(Path(folder))
        a2a_server.Reporter = lambda seconds: steps  # type: ignore[misc, assignment]
        app = a2a_server.serve(store, url, users.split(",") if users else None)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
