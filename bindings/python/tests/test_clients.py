"""The classes for asyncio, and walks over listings."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import taskhold
from taskhold import (
    AsyncSessionStore,
    AsyncStateProvider,
    AsyncTaskManager,
    ClosedError,
    InvalidArgumentError,
    SessionStore,
    StateProvider,
    Store,
    TaskManager,
)

DURABLE = pytest.mark.skipif(
    "sqlite" not in taskhold.describe()["backends"], reason="this library has no durable store to open"
)


def test_the_three_over_one_store() -> None:
    async def main() -> None:
        store = Store()
        async with AsyncTaskManager(store) as tasks, AsyncSessionStore(store) as sessions:
            async with AsyncStateProvider(store, grace_period_ms=0) as agent:
                record = await tasks.create_task("/mcp", {})
                assert TaskManager(store).find_task(record["task"]["taskId"]) == record
                session = await sessions.create("/mcp")
                assert session is not None
                assert await sessions.replace(session, {**session, "version": 1})
                assert await agent.save_task(None, {"id": "t", "status": {"state": "completed"}}) == 1
                assert await agent.is_task_finalized("t")
            assert not tasks.closed
        assert tasks.closed
        assert sessions.closed
        assert agent.closed
        with pytest.raises(ClosedError):
            await tasks.find_task("x")

    asyncio.run(main())


@DURABLE
def test_one_is_opened_with_its_first_call_off_the_loop(tmp_path: Path) -> None:
    async def main() -> None:
        tasks = AsyncTaskManager(tmp_path / "store.db")
        assert not (tmp_path / "store.db").exists()
        records = await asyncio.gather(*(tasks.create_task("/mcp", {"n": n}) for n in range(5)))
        # All of them met in one opening.
        assert [record async for record in tasks.iter_tasks()] != []
        assert {record["origin"]["n"] for record in records} == set(range(5))
        tasks.close()
        with pytest.raises(ClosedError):
            await tasks.options()
        await tasks.aclose()

    asyncio.run(main())


def test_what_is_wrong_shows_when_it_is_opened() -> None:
    async def main() -> None:
        with pytest.raises(InvalidArgumentError):
            async with AsyncTaskManager(poll_interval_ms=0):
                pass
        with pytest.raises(InvalidArgumentError):
            await AsyncTaskManager("nowhere:").open()
        with pytest.raises(InvalidArgumentError):
            await AsyncSessionStore(keep_expired=-1).create("/mcp")
        unused = AsyncTaskManager()
        unused.close()
        with pytest.raises(ClosedError):
            await unused.open()

    asyncio.run(main())


def test_waits_and_events() -> None:
    async def main() -> None:
        async with AsyncTaskManager() as tasks, await tasks.open_events() as events:
            record = await tasks.create_task("/mcp", {})
            task_id = record["task"]["taskId"]
            waiting = asyncio.create_task(tasks.wait_task(task_id, record["revision"], timeout=10))
            await asyncio.sleep(0)
            await tasks.complete_task(task_id, {})
            assert (await waiting)["task"]["status"] == "completed"
            assert await events.next(timeout=5) == {"event": "changed", "taskId": task_id}
            await tasks.create_task("/mcp", {})
            assert taskhold.json_get(await events.next_json(timeout=5), "/event") == "changed"

            async def follow() -> list[str]:
                return [event["event"] async for event in events]

            following = asyncio.create_task(follow())
            await asyncio.sleep(0)
            events.close()
            assert await following == []
            assert events.closed

    asyncio.run(main())


def test_a_walk_meets_every_session() -> None:
    async def collected(sessions: AsyncSessionStore) -> list[str]:
        assert (await sessions.list_sessions(page_size=1))["sessions"][0]["sessionId"] == "0"
        return [session["sessionId"] async for session in sessions.iter_sessions(authorization_partition=None)]

    async def main(store: Store) -> list[str]:
        async with AsyncSessionStore(store) as sessions:
            return await collected(sessions)

    with Store() as store:
        sessions = SessionStore(store)
        for number in range(250):
            sessions.create("/mcp", session_id=str(number), authorization_partition="a" if number % 2 else None)
        assert [session["sessionId"] for session in sessions.iter_sessions()] == list(map(str, range(250)))
        assert list(sessions.iter_sessions(endpoint="/other")) == []
        even = list(map(str, range(0, 250, 2)))
        assert [session["sessionId"] for session in sessions.iter_sessions(authorization_partition=None)] == even
        assert asyncio.run(main(store)) == even


def test_a_walk_meets_every_task() -> None:
    async def collected(tasks: AsyncTaskManager, agent: AsyncStateProvider) -> tuple[list[int], list[str]]:
        origins = [record["origin"] async for record in tasks.iter_tasks(status="working")]
        return origins, [task["id"] async for task in agent.iter_tasks("alice")]

    store = Store()
    tasks, agent = TaskManager(store), StateProvider(store)
    for n in range(250):
        tasks.create_task("/mcp", n)
        agent.save_task("alice", {"id": f"t-{n:03}", "status": {"state": "working"}})
    assert [record["origin"] for record in tasks.iter_tasks()] == list(range(250))
    assert [record["origin"] for record in tasks.iter_tasks(endpoint="/other")] == []
    ids = [task["id"] for task in agent.iter_tasks("alice")]
    assert ids == [f"t-{n:03}" for n in range(250)]
    assert list(agent.iter_tasks("bob")) == []
    found = asyncio.run(collected(AsyncTaskManager(store), AsyncStateProvider(store)))
    assert found == (list(range(250)), ids)
