"""The guide from fastmcp-tasks: both servers of it, the earlier one where fastmcp-tasks is installed."""

from __future__ import annotations

import asyncio
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from header import ROOT
from kits import Client, serving

GUIDE = (ROOT / "bindings/python/docs/from-fastmcp-tasks.md").read_text()
PROGRAMS = dict(re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", GUIDE, re.M | re.S))
BEFORE = pytest.mark.skipif(find_spec("fastmcp_tasks") is None, reason="fastmcp-tasks is in the other environment")


def server(name: str) -> Any:
    """The server of a program, which is run but for its end."""
    found: dict[str, Any] = {"__name__": "guide"}
    exec(compile(PROGRAMS[name], name, "exec"), found)
    return found["mcp"].http_app(path="/mcp", json_response=True)


async def begun(client: Client) -> str:
    task_id = await client.task("report", pages=3)
    assert (await client.until(task_id, "input_required"))["taskId"] == task_id
    return task_id


async def ended(client: Client, task_id: str) -> None:
    (key,) = (await client.get(task_id))["inputRequests"]
    await client.answer(task_id, {key: {"action": "accept", "content": {}}})
    task = await client.until(task_id)
    assert task["status"] == "completed"
    assert task["result"]["content"] == [{"type": "text", "text": "3 pages"}]


def test_the_guide_has_two_programs_that_differ_in_the_extension() -> None:
    before, after = (set(PROGRAMS[name].splitlines()) for name in ("before.py", "after.py"))
    assert before - after == {
        "from fastmcp_tasks import TasksExtension",
        'mcp.add_extension(TasksExtension(url="memory://"))',
    }
    assert after - before == {
        "from taskhold.fastmcp import TaskholdTasks",
        'mcp.add_extension(TaskholdTasks("sqlite:tasks.db"))',
    }


@pytest.mark.parametrize("name", [pytest.param("before.py", marks=BEFORE), "after.py"])
def test_the_guide_serves(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def check() -> None:
        async with serving(server(name)) as clients:
            client = clients()
            await ended(client, await begun(client))

    asyncio.run(asyncio.wait_for(check(), 60))
