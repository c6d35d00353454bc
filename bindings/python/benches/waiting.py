"""Whether waiting keeps others waiting: the aims that the tests bound five to ten times more loosely.

Rows: the longest gap of a 10 ms heartbeat on an asyncio loop while 200 waits, an event stream and a flood of changes go
on beside it; the same while durable calls hang on a lock that another connection holds; the time from Ctrl-C to the
end of each kind of wait. A figure is the worst of the rounds; the median stands beside it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from taskhold import TaskManager

ROUNDS = 7
BEAT = 0.01

WAITS = {
    "wait_task": "tasks.wait_task(task_id, 1)",
    "events": "list(events)",
    "await wait_task_async": "asyncio.run(tasks.wait_task_async(task_id, 1))",
    "await next_async": "asyncio.run(events.next_async())",
}

PROGRAM = """
import asyncio, taskhold
tasks = taskhold.TaskManager()
task_id = tasks.create_task("/mcp", {{}})["task"]["taskId"]
events = tasks.open_events()
print("waiting", flush=True)
try:
    {wait}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


class Heartbeat:
    """Beats on the running loop and keeps its longest gap."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._task = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(BEAT)
            now = time.perf_counter()
            self.longest, last = max(self.longest, now - last), now

    def end(self) -> float:
        self._task.cancel()
        return self.longest


def new(tasks: TaskManager) -> str:
    return tasks.create_task("/mcp", {})["task"]["taskId"]


async def beside_waits() -> float:
    """200 waits and an event stream, each task changed five times by a thread."""
    tasks = TaskManager(maximum_retained_tasks=5000)
    events = tasks.open_events()
    ids = [new(tasks) for _ in range(200)]

    async def follow() -> None:
        async for _ in events:
            pass

    def change() -> None:
        for task_id in ids:
            for _ in range(5):
                tasks.mark_task_working_json(task_id, "on it")
            time.sleep(0.001)

    heartbeat = Heartbeat()
    following = asyncio.create_task(follow())
    waiting = [asyncio.create_task(tasks.wait_task_async(task_id, 1, timeout=30)) for task_id in ids]
    changing = asyncio.to_thread(change)
    await asyncio.gather(changing, *waiting)
    events.close()
    await following
    return heartbeat.end()


async def beside_a_lock() -> float:
    """Eight durable calls that hang for 300 ms on a lock of somebody else's."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "agents.db")
        with TaskManager(f"sqlite:{path}") as tasks:
            new(tasks)
            outsider = sqlite3.connect(path, isolation_level=None)
            outsider.execute("BEGIN IMMEDIATE")
            heartbeat = Heartbeat()
            hanging = [asyncio.create_task(tasks.create_task_async("/mcp", {})) for _ in range(8)]
            await asyncio.sleep(0.3)
            outsider.execute("ROLLBACK")
            outsider.close()
            await asyncio.gather(*hanging)
            return heartbeat.end()


def ctrl_c(wait: str) -> float:
    """From the signal to the handler behind the wait."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(wait=wait)], stdout=subprocess.PIPE, env=dict(os.environ), text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        # Past the line and into the wait.
        threading.Event().wait(0.05)
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        return time.perf_counter() - start
    finally:
        process.kill()
        process.communicate()


def main() -> None:
    print(f"{'ms':<44}{'median':>9}{'worst':>9}{'aim':>9}{'met':>6}")

    def row(name: str, figures: list[float], aim: float) -> None:
        worst = max(figures)
        cells = "".join(f"{figure * 1e3:>9.1f}" for figure in (statistics.median(figures), worst, aim))
        print(f"{name:<44}{cells}{'yes' if worst <= aim else 'no':>6}")

    row("heartbeat beside 200 waits and events", [asyncio.run(beside_waits()) - BEAT for _ in range(ROUNDS)], 0.05)
    row(
        "heartbeat beside calls that hang on a lock", [asyncio.run(beside_a_lock()) - BEAT for _ in range(ROUNDS)], 0.05
    )
    for name, wait in WAITS.items():
        row(f"Ctrl-C in {name}", [ctrl_c(wait) for _ in range(ROUNDS)], 0.2)


if __name__ == "__main__":
    main()
