"""Queued work by single calls: claims that wait on threads and on asyncio, renewals, releases."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import taskhold
from taskhold import AsyncTaskManager, ClosedError, ConflictError, Json, ManualClock, Store, TaskManager, _native
from test_waiting import Interruption, ended, in_thread, interruptible

__all__ = ["interruptible"]

THREE = {"maximum": 3, "backoff_ms": timedelta(seconds=1)}


def queued(tasks: TaskManager, queue: str = "reports", **options: Any) -> str:
    return tasks.create_task("/mcp", {}, queue=queue, **options)["task"]["taskId"]


def keeps_queues(folder: Path) -> bool:
    """Whether this library has a durable store for queued work."""
    if "sqlite" not in taskhold.describe()["backends"]:
        return False
    with TaskManager(folder / "probe.db") as tasks:
        try:
            queued(tasks)
        except taskhold.UnsupportedError:
            return False
    return True


def token(record: Any) -> int:
    return int(record["lease"]["token"])


def test_a_task_goes_through_its_attempts() -> None:
    clock = ManualClock(1_764_498_600_000)
    tasks = TaskManager(Store(clock=clock))
    task_id = queued(tasks, work={"report": 7}, attempts=THREE, delay_ms=timedelta(seconds=5))
    assert tasks.claim_task(["reports"], worker="w", timeout=0) is None
    clock.advance(5000)
    first = tasks.claim_task(["other", "reports"], worker="w", lease_ms=timedelta(seconds=30), timeout=0)
    assert first is not None
    assert (first["task"]["taskId"], first["work"], first["attempt"]) == (task_id, {"report": 7}, 1)
    renewal: Any = {"task_id": task_id, "lease": token(first), "checkpoint": Json('{"at": 1.10}')}
    assert tasks.renew_leases([renewal], lease_ms=30_000) == {
        "renewed": [task_id], "lost": [], "cancelationRequested": [],
    }  # fmt: skip
    found = tasks.find_task_json(task_id)
    assert taskhold.json_get(found or "", "/checkpoint") == '{"at": 1.10}'
    released = tasks.release_task(task_id, lease=token(first), failure={"code": 1, "message": "busy"})
    assert released["lastFailure"] == {"code": 1, "message": "busy"}
    clock.advance(1000)
    second = tasks.claim_task("reports", worker="v", timeout=0)
    assert second is not None
    assert (second["attempt"], token(second) > token(first)) == (2, True)
    with pytest.raises(ConflictError):
        tasks.complete_task(task_id, {}, lease=token(first))
    tasks.complete_task(task_id, {}, lease=token(second))


def test_an_operation_is_created_once() -> None:
    tasks = TaskManager()
    one = tasks.create_task("/mcp", {}, queue="q", work="a", operation_id="op")
    other = tasks.create_task("/mcp", {}, queue="q", work="a", operation_id="op")
    assert (one["created"], other["created"]) == (True, False)
    assert one["task"]["taskId"] == other["task"]["taskId"]
    assert one["work"] == "a"
    with pytest.raises(ConflictError):
        tasks.create_task("/mcp", {}, queue="q", work="b", operation_id="op")


def somebody_waits(store: Store) -> None:
    """Returns once somebody waits in the store."""
    limit = time.monotonic() + 20
    while store.stats()["waiters"] == 0:
        assert time.monotonic() < limit, "nobody waits"


def test_a_claim_on_a_thread_waits_and_a_close_ends_it() -> None:
    store = Store()
    tasks = TaskManager(store)
    waiting = in_thread(lambda: tasks.claim_task(["reports"], worker="w"))
    somebody_waits(store)
    task_id = queued(tasks)
    assert ended(*waiting)["task"]["taskId"] == task_id
    assert tasks.claim_task(["reports"], worker="w", timeout=0.15) is None
    waiting = in_thread(lambda: tasks.claim_task(["reports"], worker="w"))
    somebody_waits(store)
    tasks.close()
    assert isinstance(ended(*waiting), ClosedError)


@pytest.mark.usefixtures("interruptible")
def test_a_signal_as_a_task_is_claimed_gives_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = TaskManager()
    task_id = queued(tasks)
    claim = _native.lib.taskhold_manager_claim_task

    def claim_and_interrupt(*arguments: Any) -> int:
        claim(*arguments)
        signal.raise_signal(signal.SIGUSR1)
        raise AssertionError("the handler raises")

    with monkeypatch.context() as patch:
        patch.setattr(_native.lib, "taskhold_manager_claim_task", claim_and_interrupt)
        with pytest.raises(Interruption):
            tasks.claim_task(["reports"], worker="w")
    again = tasks.claim_task(["reports"], worker="w", timeout=0)
    assert again is not None
    assert (again["task"]["taskId"], again["attempt"]) == (task_id, 1)


def test_claims_on_asyncio_take_no_thread_and_get_one_task_each() -> None:
    async def main() -> None:
        async with AsyncTaskManager(maximum_retained_tasks=1000) as tasks:
            threads = threading.active_count()
            waiting = [asyncio.create_task(tasks.claim_task(["reports"], worker=f"w{n}")) for n in range(50)]
            await asyncio.sleep(0.01)
            made = {(await tasks.create_task("/mcp", {}, queue="reports"))["task"]["taskId"] for _ in range(50)}
            records = await asyncio.wait_for(asyncio.gather(*waiting), 10)
            assert threading.active_count() <= threads  # Those of earlier tests may end meanwhile.
            assert {record["task"]["taskId"] for record in records if record} == made
            start = time.monotonic()
            assert await tasks.claim_task(["reports"], worker="w", timeout=0.05) is None
            assert 0.05 <= time.monotonic() - start < 2
            closed = asyncio.create_task(tasks.claim_task(["reports"], worker="w"))
            await asyncio.sleep(0)
            tasks.close()
            with pytest.raises(ClosedError):
                await closed

    asyncio.run(main())


def test_a_claim_on_asyncio_meets_what_becomes_due_lapses_or_is_released() -> None:
    async def main() -> None:
        clock = ManualClock(1_764_498_600_000)
        async with AsyncTaskManager(Store(clock=clock)) as tasks:
            await tasks.create_task("/mcp", {}, queue="q", delay_ms=1000, attempts={"maximum": 2, "backoff_ms": 1})
            record: Any = None
            for elapsed, attempt in ((1000, 1), (30_001, 2)):
                waiting = asyncio.create_task(tasks.claim_task(["q"], worker="w"))
                await asyncio.sleep(0.01)
                assert not waiting.done()
                clock.advance(elapsed)
                record = await asyncio.wait_for(waiting, 5)
                assert record is not None
                assert record["attempt"] == attempt
            # Nothing announces a release that changes neither status nor message.
            waiting = asyncio.create_task(tasks.claim_task(["q"], worker="v"))
            await asyncio.sleep(0.01)
            await tasks.release_task(record["task"]["taskId"], lease=token(record), counts_as_attempt=False)
            again: Any = await asyncio.wait_for(waiting, 5)
            assert again["lease"]["worker"] == "v"

    asyncio.run(main())


@pytest.mark.parametrize("durable", [False, True])
def test_a_cancelled_claim_holds_no_task(durable: bool, tmp_path: Path) -> None:
    if durable and not keeps_queues(tmp_path):
        pytest.skip("this library has no durable store for queued work")

    async def main() -> None:
        async with AsyncTaskManager(tmp_path / "store.db" if durable else None) as tasks:
            record = await tasks.create_task("/mcp", {}, queue="q", attempts={"maximum": 2})
            for turns in range(40):
                waiting = asyncio.create_task(tasks.claim_task(["q"], worker="w"))
                for _ in range(turns % 8):
                    await asyncio.sleep(0)
                await asyncio.sleep(turns / 20_000)
                waiting.cancel()
                try:
                    claimed = await waiting
                except asyncio.CancelledError:
                    claimed = await asyncio.wait_for(tasks.claim_task(["q"], worker="v"), 10)
                assert claimed is not None
                # A claim for nobody did not count.
                assert claimed["attempt"] == 1
                await tasks.release_task(record["task"]["taskId"], lease=token(claimed), counts_as_attempt=False)

    asyncio.run(main())


def test_a_claim_that_was_told_and_is_cancelled_passes_it_on() -> None:
    async def main() -> None:
        async with AsyncTaskManager(maximum_retained_tasks=100) as tasks:
            for _ in range(30):
                first, second = (asyncio.create_task(tasks.claim_task(["q"], worker="w")) for _ in range(2))
                await asyncio.sleep(0.001)
                start = time.monotonic()
                await tasks.create_task("/mcp", {}, queue="q")
                first.cancel()
                assert await asyncio.wait_for(second, 5) is not None
                assert time.monotonic() - start < 0.2, "it waited for the next look"

    asyncio.run(main())


@pytest.mark.parametrize("others_handle", [False, True])
@pytest.mark.parametrize("manual", [False, True])
def test_a_wait_on_asyncio_sees_claims_and_releases(others_handle: bool, manual: bool) -> None:
    async def main() -> None:
        store = Store(clock=ManualClock(1_764_498_600_000)) if manual else Store()
        async with AsyncTaskManager(store) as tasks, AsyncTaskManager(store) as others:
            by = others if others_handle else tasks
            record = await tasks.create_task("/mcp", {}, queue="reports")
            task_id, lease = record["task"]["taskId"], 0

            async def after(step: Any) -> Any:
                waiting = asyncio.create_task(tasks.wait_task(task_id, record["revision"]))
                for _ in range(100):
                    await asyncio.sleep(0)
                made = await step()
                return made, await asyncio.wait_for(waiting, 20)

            claimed, record = await after(lambda: by.claim_task(["reports"], worker="w", timeout=0))
            assert record["lease"] is not None
            lease = token(claimed)
            _, record = await after(
                lambda: by.release_task(task_id, lease=lease, delay_ms=30_000, counts_as_attempt=False)
            )
            assert record["lease"] is None

    asyncio.run(main())


def test_waits_for_claims_leave_nothing_open() -> None:
    gc.collect()
    before = taskhold.describe()["liveHandles"]

    async def main() -> None:
        tasks = TaskManager()
        for _ in range(20):
            assert await tasks.claim_task_async(["q"], worker="w", timeout=0) is None
        waiting = asyncio.create_task(tasks.claim_task_async(["q"], worker="w"))
        await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(main())
    gc.collect()
    assert taskhold.describe()["liveHandles"] == before


def test_operators_find_work_by_its_state() -> None:
    tasks = TaskManager()
    ids = [queued(tasks) for _ in range(3)]
    claimed = tasks.claim_task(["reports"], worker="w", timeout=0)
    assert claimed is not None
    assert [record["task"]["taskId"] for record in tasks.iter_tasks(worker="w")] == [claimed["task"]["taskId"]]
    ready = [record["task"]["taskId"] for record in tasks.iter_tasks(queue="reports", work_state="ready")]
    assert sorted([*ready, claimed["task"]["taskId"]]) == sorted(ids)
    tasks.fail_task(claimed["task"]["taskId"], {"code": 1, "message": "m"}, force=True)


@pytest.mark.parametrize("renewals", ["q", ["q"], [1], b"x", [None]])
def test_what_is_no_renewal_is_a_type_error(renewals: Any) -> None:
    with TaskManager() as tasks, pytest.raises(TypeError, match="a dict of members is needed"):
        tasks.renew_leases(renewals, lease_ms=1000)
