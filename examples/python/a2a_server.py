"""An A2A agent on the official SDK that writes reports, page by page; its tasks are in an SQLite file.

pip install 'taskhold[a2a]' 'a2a-sdk[http-server]' uvicorn
python a2a_server.py [--port 8001] [--store sqlite:agent.db] [--users ann,bob]

Start it twice over one file, with two ports: a client sees, streams and cancels at the one what the other does.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator

import uvicorn
from a2a.auth.user import UnauthenticatedUser, User
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.server.tasks import TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part
from a2a.utils.errors import UnsupportedOperationError
from starlette.applications import Starlette
from starlette.requests import Request

from taskhold.a2a import PushNotificationConfigStore, TaskEventStream, VersionedTaskStore


class Reporter(AgentExecutor):
    """Writes as many pages as the message says, one each moment."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Work on a message: a new task, or one that waits for this answer."""
        assert context.message is not None
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        report = TaskUpdater(event_queue, task.id, task.context_id)
        found = re.search(r"\d+", context.get_user_input())
        if found is None:
            await report.requires_input(report.new_agent_message([Part(text="How many pages?")]))
            return
        await report.start_work()
        pages = int(found[0])
        for page in range(1, pages + 1):
            await asyncio.sleep(self.seconds)
            await report.add_artifact(
                [Part(text=f"Page {page}\n")], artifact_id="report", append=page > 1, last_chunk=page == pages
            )
        await report.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Tell that the work was canceled; the SDK stops it."""
        assert context.task_id is not None
        assert context.context_id is not None
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class NamedUser(User):
    """A user who is known by name."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def is_authenticated(self) -> bool:
        """Somebody checked the name."""
        return True

    @property
    def user_name(self) -> str:
        """The name: tasks belong to it."""
        return self.name


class Users(DefaultServerCallContextBuilder):
    """Each user's token is the name: a real server checks what an authorization server issued."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def build_user(self, request: Request) -> User:
        """Tell whose call it is."""
        if not self.names:
            return UnauthenticatedUser()
        name = request.headers.get("authorization", "").removeprefix("Bearer ")
        if name not in self.names:
            raise UnsupportedOperationError("Who are you?")
        return NamedUser(name)


def card(url: str) -> AgentCard:
    """What the agent tells about itself."""
    return AgentCard(
        name="Reporter",
        description="Writes reports page by page",
        version="1",
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="report", name="Report", description="A report of so many pages", tags=["report"])],
    )


def serve(store: str | None, url: str, users: list[str] | None = None, seconds: float = 1) -> Starlette:
    """Make the application."""
    tasks = VersionedTaskStore(store)
    agent = card(url)
    handler = DefaultRequestHandler(
        agent_executor=Reporter(seconds),
        agent_card=agent,
        task_store=tasks,
        event_stream=TaskEventStream(tasks),
        push_config_store=PushNotificationConfigStore(tasks),
    )

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with tasks:
            yield
            await handler.aclose()

    routes = create_agent_card_routes(agent) + create_jsonrpc_routes(handler, "/", context_builder=Users(users or []))
    return Starlette(routes=routes, lifespan=lifespan)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="An A2A agent whose tasks outlive it.")
    parser.add_argument("--port", type=int, default=8001, help="0 takes a free one")
    parser.add_argument("--store", default="sqlite:agent.db", help="where tasks are kept")
    parser.add_argument("--users", help="names, separated by commas: each is the token of its user")
    parser.add_argument("--seconds", type=float, default=1, help="how long a page takes")
    arguments = parser.parse_args()
    with socket.create_server(("127.0.0.1", arguments.port)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        print(f"The agent is at {url}", flush=True)
        users = arguments.users.split(",") if arguments.users else None
        config = uvicorn.Config(serve(arguments.store, url, users, arguments.seconds), log_level="warning")
        uvicorn.Server(config).run(sockets=[listening])
