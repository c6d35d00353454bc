"""A worker for queued tasks, in a process of its own: what it holds when it dies is taken over by another.

    python worker.py --store sqlite:agents.db     work until SIGTERM, which lets what runs end
    python worker.py --demo                       make two tasks in memory, work on them, print how they end

The server creates a task with `queue` and hands out its id; here the demo does. Every worker that has the store open
claims from the queue, and each task goes to one of them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

from taskhold import AsyncTaskManager, AsyncWork

QUEUE = "reports"
QUESTION = {
    "method": "elicitation/create",
    "params": {
        "message": "For whom is the report?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    },
}


async def report(work: AsyncWork) -> dict[str, Any]:
    """Write a report, page by page. A later attempt goes on at the page that this one came to."""
    # The answer is kept in the checkpoint: it is asked for once, whoever goes on.
    answer = (await work.ask({"reader": QUESTION}))["reader"]
    reader = answer["content"]["name"] if answer["action"] == "accept" else "nobody"
    for page in range(work.checkpoint.get("page", 0), work.work["pages"]):
        await asyncio.sleep(0.01)  # Here it would be written.
        await work.progress(f"page {page + 1} of {work.work['pages']}", checkpoint={"page": page + 1})
    return {"content": [{"type": "text", "text": f"{work.work['pages']} pages for {reader}"}]}


async def demo(tasks: AsyncTaskManager) -> None:
    """Play the server and its client: create tasks, answer the questions, print the results."""
    async with await tasks.open_events() as events:
        for pages in (2, 3):
            await tasks.create_task("/mcp", {}, queue=QUEUE, work={"pages": pages}, attempts={"maximum": 3})
        ended = 0
        async for event in events:
            record = await tasks.find_task(event["taskId"])
            if record is None:
                continue
            if record["task"]["status"] == "input_required":
                answer = {"action": "accept", "content": {"name": "Luca"}}
                await tasks.update_task("/mcp", None, event["taskId"], {"reader": answer})
            elif record["task"]["status"] == "completed":
                print(record["task"]["result"]["content"][0]["text"], flush=True)
                ended += 1
                if ended == 2:
                    return


async def main(arguments: argparse.Namespace) -> None:
    """Work until SIGTERM, or until the demo is over."""
    async with AsyncTaskManager(arguments.store) as tasks:
        worker = tasks.worker([QUEUE], concurrency=4)
        working = asyncio.create_task(worker.run(report))
        if arguments.demo:
            await demo(tasks)
            worker.stop()
        await working


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A worker for the tasks of the queue `reports`.")
    parser.add_argument("--store", help="where the tasks are; in memory unless given")
    parser.add_argument("--demo", action="store_true", help="make tasks, work on them and end")
    try:
        asyncio.run(main(parser.parse_args()))
    except KeyboardInterrupt:
        sys.exit(130)
