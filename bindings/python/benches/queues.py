"""One queued job from its creation to its end, beside the libraries that hold such queues, in one run, in turns.

Each side does what its users write: it creates some jobs and then works them off one after another, with a worker of
its own in the same process, and keeps their results. With ``full``, and with huey's ``fsync``, each commit is on the
disk before it is acknowledged; with ``normal`` it is in the hands of the system, and so it is with huey otherwise, and
with Redis and a log that is written each second. The server for PostgreSQL is that of ``scripts/postgres.sh``, in whose
midst this runs; that for Redis is Debian's, on a free port, and goes with the program. A figure is the median of the
rounds, in microseconds for each job.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Literal, Unpack

import docket
import huey
import procrastinate

import taskhold
from taskhold.types import StoreOptions

ROUNDS, JOBS = 7, 200
BUILD = Path(__file__).resolve().parents[3] / "build"
Run = Callable[[int], Awaitable[None]]


def ours(tasks: taskhold.TaskManager) -> Run:
    """taskhold, by single calls."""

    async def run(jobs: int) -> None:
        for number in range(jobs):
            tasks.create_task("/mcp", {}, queue="reports", work={"n": number})
        for _ in range(jobs):
            task = tasks.claim_task(["reports"], worker="bench", timeout=0)
            assert task is not None
            assert task["lease"] is not None
            tasks.complete_task(task["task"]["taskId"], {"content": []}, lease=task["lease"]["token"])

    return run


def of_huey(path: Path, *, fsync: bool) -> Run:
    """huey over SQLite."""
    queue = huey.SqliteHuey(filename=str(path), fsync=fsync)

    @queue.task()  # type: ignore[untyped-decorator]
    def report(number: int) -> int:
        return number

    async def run(jobs: int) -> None:
        for number in range(jobs):
            report(number)
        for _ in range(jobs):
            queue.execute(queue.dequeue())

    return run


@asynccontextmanager
async def redis(folder: Path) -> AsyncIterator[str]:
    """A Redis server with a log; gives its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    server = subprocess.Popen([*command, "--appendonly", "yes", "--appendfsync", "everysec"], stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                assert server.poll() is None, "the server has ended"
                await asyncio.sleep(0.01)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()


@asynccontextmanager
async def of_docket(url: str) -> AsyncIterator[Run]:
    """docket over Redis."""

    async def report(number: int) -> int:
        return number

    async with (
        docket.Docket(name="bench", url=url) as queue,
        docket.Worker(queue, minimum_check_interval=timedelta(milliseconds=1)) as worker,
    ):
        queue.register(report)

        async def run(jobs: int) -> None:
            for number in range(jobs):
                await queue.add(report)(number)
            await worker.run_until_finished()

        yield run


@asynccontextmanager
async def of_procrastinate(url: str) -> AsyncIterator[Run]:
    """procrastinate over PostgreSQL."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url, kwargs={"client_encoding": "utf8"}))

    @app.task(queue="reports")  # type: ignore[untyped-decorator]
    async def report(number: int) -> int:
        return number

    async with app.open_async():
        await app.schema_manager.apply_schema_async()

        async def run(jobs: int) -> None:
            for number in range(jobs):
                await report.defer_async(number=number)
            await app.run_worker_async(wait=False, concurrency=1, install_signal_handlers=False)

        yield run


async def compare(name: str, mine: Run, peer: Run) -> None:
    took: tuple[list[float], list[float]] = ([], [])
    for side in (mine, peer):
        await side(JOBS // 10)
    for _ in range(ROUNDS):
        for run, figures in zip((mine, peer), took, strict=True):
            start = time.perf_counter()
            await run(JOBS)
            figures.append((time.perf_counter() - start) / JOBS * 1e6)
    one, other = (statistics.median(figures) for figures in took)
    print(f"{name:<44}{one:>10.1f}{other:>12.1f}{other / one:>9.2f}x", flush=True)


async def main() -> None:
    logging.disable(logging.CRITICAL)
    print(f"{'W5, us per job':<44}{'taskhold':>10}{'the other':>12}")
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=BUILD)))

        def manager(url: str, **options: Unpack[StoreOptions]) -> taskhold.TaskManager:
            store = stack.enter_context(taskhold.Store(url, **options))
            return stack.enter_context(taskhold.TaskManager(store))

        levels: tuple[tuple[Literal["full", "normal"], bool], ...] = (("full", True), ("normal", False))
        for level, fsync in levels:
            mine = ours(manager(f"sqlite:{folder / f'ours-{level}.db'}", durability=level))
            await compare(f"SQLite {level}, huey", mine, of_huey(folder / f"huey-{level}.db", fsync=fsync))
        url = await stack.enter_async_context(redis(folder))
        mine = ours(manager(f"sqlite:{folder / 'ours-docket.db'}", durability="normal"))
        await compare("SQLite normal, docket on Redis", mine, await stack.enter_async_context(of_docket(url)))
        if server := os.environ.get("TASKHOLD_TEST_POSTGRES"):
            peer = await stack.enter_async_context(of_procrastinate(server))
            await compare("PostgreSQL, procrastinate", ours(manager(server, schema="bench")), peer)


if __name__ == "__main__":
    if sys.argv[1:] == ["--small"]:
        ROUNDS, JOBS = 2, 20
    asyncio.run(main())
