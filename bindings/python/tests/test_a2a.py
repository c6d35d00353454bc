"""A2A tasks: logs of events, waits for saves on threads and on asyncio, and push notification configs."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import taskhold
from taskhold import AsyncStateProvider, ClosedError, Json, NotFoundError, StateProvider, Store
from test_waiting import ended, in_thread

DURABLE = pytest.mark.skipif(
    "sqlite" not in taskhold.describe()["backends"], reason="this library has no durable store to wait for"
)


def task(state: str = "working") -> Any:
    return {"id": "t", "status": {"state": state}}


def test_saves_append_to_the_log() -> None:
    provider = StateProvider(maximum_events_per_task=2)
    provider.save_task("alice", task(), event={"kind": "begun"})
    provider.save_task("alice", task(), event="text", must_exist=True)
    provider.save_task("alice", task(), event=Json('{"price": 1.10}'))
    log = provider.read_events("t")
    assert log == {
        "events": [{"revision": 2, "event": "text"}, {"revision": 3, "event": {"price": 1.1}}],
        "revision": 3,
        "missing": True,
    }
    assert taskhold.json_get(provider.read_events_json("t", after_revision=2), "/events/0/event") == '{"price": 1.10}'
    provider.save_task("alice", task("completed"))
    with pytest.raises(taskhold.InvalidStateError):
        provider.save_task("alice", task("completed"), unless_final=True)
    with pytest.raises(NotFoundError):
        provider.save_task("alice", {**task(), "id": "new"}, must_exist=True)


def test_a_wait_on_a_thread_ends_with_a_save() -> None:
    provider = StateProvider()
    provider.save_task(None, task())
    waiting = in_thread(lambda: provider.wait_task("t", 1))
    time.sleep(0.02)
    provider.save_task(None, task())
    assert ended(*waiting) == 2
    with pytest.raises(TimeoutError):
        provider.wait_task("t", 2, timeout=0.15)
    with pytest.raises(NotFoundError):
        provider.wait_task("unknown")


@pytest.mark.parametrize("announces", [False, True])
@pytest.mark.parametrize("durable", [False, pytest.param(True, marks=DURABLE)])
def test_two_hundred_wait_for_saves_on_asyncio_without_a_thread(announces: bool, durable: bool, tmp_path: Path) -> None:
    async def main() -> None:
        store = Store(tmp_path / "store.db") if durable else Store()
        async with AsyncStateProvider(store, announce_saves=announces) as provider:
            store.close()
            await provider.save_task(None, task())
            threads = threading.active_count()
            waiting = [asyncio.create_task(provider.wait_task("t", 1, timeout=20)) for _ in range(200)]
            await asyncio.sleep(0.05)
            if not durable:
                assert threading.active_count() == threads
            await provider.save_task(None, task())
            start = time.monotonic()
            assert await asyncio.gather(*waiting) == [2] * 200
            # By an event, and not by a look after a while.
            assert time.monotonic() - start < 0.9
            with pytest.raises(TimeoutError):
                await provider.wait_task("t", 2, timeout=0.01)
            deleted = asyncio.create_task(provider.wait_task("t", 2))
            await asyncio.sleep(0.02)
            start = time.monotonic()
            await provider.delete_task(None, "t")
            with pytest.raises(NotFoundError):
                await deleted
            assert time.monotonic() - start < 0.9
            await provider.save_task(None, task())
            closed = asyncio.create_task(provider.wait_task("t", 1))
            await asyncio.sleep(0.02)
            provider.close()
            with pytest.raises(ClosedError):
                await closed

    asyncio.run(main())


def test_a_wait_on_asyncio_notices_what_nothing_tells_of() -> None:
    async def main() -> None:
        store = Store()
        async with AsyncStateProvider(store) as provider:
            await provider.save_task(None, task())
            waiting = asyncio.create_task(provider.wait_task("t", 1))
            await asyncio.sleep(0.01)
            StateProvider(store).delete_task(None, "t")
            with pytest.raises(NotFoundError):
                await asyncio.wait_for(waiting, 10)

    asyncio.run(main())


def test_one_queue_tells_of_every_save_if_it_is_asked_to() -> None:
    provider = StateProvider(announce_saves=True)
    with provider.open_events() as events:
        provider.save_task(None, task())
        assert events.next(timeout=5) == {"event": "saved", "taskId": "t"}
    quiet = StateProvider()
    with quiet.open_events() as events:
        quiet.save_task(None, task())
        with pytest.raises(TimeoutError):
            events.next(timeout=0)


def test_push_configs() -> None:
    async def main() -> None:
        async with AsyncStateProvider() as provider:
            await provider.save_task("alice", task())
            await provider.set_push_config("alice", "t", None, {"url": "https://a.example/hook"})
            await provider.set_push_config("alice", "t", "second", Json('{"n": 1.10}'))
            listed = await provider.list_push_configs("alice", "t")
            assert [one["id"] for one in listed["configs"]] == ["t", "second"]
            assert await provider.list_push_configs("bob", "t") == {"configs": []}
            assert await provider.list_push_configs(None, "t", any_owner=True) == listed
            text = await provider.list_push_configs_json("alice", "t")
            assert taskhold.json_get(text, "/configs/1/config") == '{"n": 1.10}'
            await provider.delete_push_config("alice", "t", "second")
            assert len((await provider.list_push_configs("alice", "t"))["configs"]) == 1
            await provider.delete_push_config("alice", "t")
            assert await provider.list_push_configs("alice", "t") == {"configs": []}

    asyncio.run(main())
