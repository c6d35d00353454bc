"""Two servers over one PostgreSQL database: one is killed while a client waits on its task, and the other goes on.

    python fleet.py --store postgresql://user@host/database     play the story, with two servers of its own
    python fleet.py --serve A --store postgresql://…            one server: HTTP for clients, and a worker

Each server answers for every task, whoever made it, and works on what is queued. A task that is in the hands of a
server which dies is claimed by another as soon as its lease has lapsed, and goes on at its last checkpoint.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

from own_server import ENDPOINT, Server, post

from taskhold import AsyncTaskManager, AsyncWork, Rendering

QUEUE = "reports"
PAGES = 8
# How long a server that says nothing keeps its work. Far too short for anything but a story.
LEASE_MS = 2000


class FleetServer(Server):
    """A server whose tool runs wherever there is a worker."""

    async def call_tool(self, request: dict[str, Any], user: str | None) -> dict[str, Any]:
        """Queue the work, and hand out the task's id."""
        work = {"pages": PAGES}
        attempts = {"maximum": 3, "backoff_ms": 100}
        record = await self.tasks.create_task_async(
            ENDPOINT, request["params"], authorization_partition=user, queue=QUEUE, work=work, attempts=attempts
        )
        created = await self.tasks.render_task_async(ENDPOINT, user, record["task"]["taskId"], Rendering.CREATE_RESULT)
        return {"jsonrpc": "2.0", "id": request["id"], "result": created.value}


async def serve(name: str, store: str) -> None:
    """Serve clients and work on the queue until SIGTERM."""

    async def report(work: AsyncWork) -> dict[str, Any]:
        writers = list((work.checkpoint or {}).get("writers", []))
        if writers:
            await work.progress(f"server {name} takes over after page {len(writers)}, attempt {work.attempt}")
        while len(writers) < work.work["pages"]:
            await asyncio.sleep(0.4)  # Here the page would be written.
            writers.append(name)
            message = f"server {name} has written page {len(writers)} of {work.work['pages']}"
            await work.progress(message, checkpoint={"writers": writers})
        return {"content": [{"type": "text", "text": "pages written by " + ", ".join(writers)}]}

    server = FleetServer(store)
    async with AsyncTaskManager(store) as tasks:
        worker = tasks.worker([QUEUE], concurrency=2, worker=f"server {name}", lease_ms=LEASE_MS)
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        print(listening.sockets[0].getsockname()[1], flush=True)
        await worker.run(report)


@contextlib.asynccontextmanager
async def started(name: str, store: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """A server in a process of its own, and its port."""
    command = [sys.executable, __file__, "--serve", name, "--store", store]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield process, int(await process.stdout.readline())
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def ask(port: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Alice's client sends a request to whichever server has this port."""
    with contextlib.redirect_stdout(None):
        response = await post(port, {"method": method, "params": params})
    result: dict[str, Any] = response["result"]
    return result


async def story(store: str) -> None:
    """Tell what happens while it happens."""
    begun: float | None = None

    def tell(text: str) -> None:
        nonlocal begun
        begun = begun or time.monotonic()
        print(f"{time.monotonic() - begun:4.1f} s  {text}", flush=True)

    async with started("A", store) as first, started("B", store) as second:
        servers = {"A": first, "B": second}
        tell("Servers A and B run. Nothing but the database connects them.")
        called = await ask(first[1], "tools/call", {"name": "report", "arguments": {}})
        task_id = called["taskId"]
        tell("Alice calls a tool on server A, and gets a task.")
        said, holder, killed = None, None, False
        while True:
            # Through the server that does not have the work.
            asked = "A" if holder == "B" else "B"
            task = await ask(servers[asked][1], "tasks/get", {"taskId": task_id})
            message = task.get("statusMessage") or ""
            if message and message != said:
                tell(f"Server {asked} says of the task: {message}")
                said, holder = message, holder or message.split()[1]
            if task["status"] == "completed":
                break
            if holder is not None and not killed and message.startswith(f"server {holder} has written page 3"):
                killed = True
                victim, _ = servers[holder]
                victim.send_signal(signal.SIGKILL)
                await victim.wait()
                tell(f"Server {holder} is killed with kill -9. Alice goes on asking server {asked}.")
            await asyncio.sleep(0.1)
        tell(f"The result: {task['result']['content'][0]['text']}")
        async with AsyncTaskManager(store) as tasks:
            record = await tasks.find_task(task_id)
            assert record is not None
            tell(f"An operator sees: attempt {record['attempt']} of {record['attempts']['maximum']}.")


async def main(arguments: argparse.Namespace) -> None:
    """Be one server, or play the story."""
    await (serve(arguments.serve, arguments.store) if arguments.serve else story(arguments.store))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Two servers over one database, of which one is killed.")
    parser.add_argument("--store", required=True, help="postgresql://…, or any store that processes share")
    parser.add_argument("--serve", metavar="NAME", help="be one server, and print its port")
    try:
        asyncio.run(main(parser.parse_args()))
    except KeyboardInterrupt:
        sys.exit(130)
