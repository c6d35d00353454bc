"""asyncio: no thread waits, waits can be cancelled, and the loop goes on."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import taskhold
from running import environment, steady
from taskhold import ClosedError, ManualClock, NotFoundError, StateProvider, Store, TaskManager
from taskhold._async import Pool


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test's coroutine: it leaves no descriptor open, and takes no thread unless it says so."""
    gc.collect()
    before = os.listdir("/proc/self/fd")
    asyncio.run(asyncio.wait_for(main(), 60))
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == len(before)


def new(tasks: TaskManager) -> str:
    return tasks.create_task("/mcp", {})["task"]["taskId"]


async def settled(times: int = 20) -> None:
    """Let the others on the loop come to their waits."""
    for _ in range(times):
        await asyncio.sleep(0)


def test_two_hundred_wait_for_tasks_without_a_thread() -> None:
    async def main() -> None:
        tasks = TaskManager()
        ids = [new(tasks) for _ in range(100)]
        threads = threading.active_count()
        waiting = [asyncio.create_task(tasks.wait_task_async(task_id, 1)) for task_id in ids * 2]
        await settled()
        assert threading.active_count() <= threads  # Those of earlier tests may end meanwhile.
        assert not any(wait.done() for wait in waiting)
        for task_id in ids:
            tasks.complete_task(task_id, {})
        records = await asyncio.gather(*waiting)
        assert [record["task"]["taskId"] for record in records] == ids * 2
        assert {record["task"]["status"] for record in records} == {"completed"}

    run(main)


def test_a_wait_looks_first() -> None:
    async def main() -> None:
        tasks = TaskManager()
        task_id = new(tasks)
        assert (await tasks.wait_task_async(task_id))["revision"] == 1
        with pytest.raises(taskhold.TimeoutError):
            await tasks.wait_task_async(task_id, 1, timeout=0)
        start = time.monotonic()
        with pytest.raises(TimeoutError):
            await tasks.wait_task_async(task_id, 1, timeout=0.05)
        assert 0.05 <= time.monotonic() - start < 2
        with pytest.raises(NotFoundError):
            await tasks.wait_task_async("unknown", 1)

    run(main)


def test_changes_by_other_threads_wake() -> None:
    async def main() -> None:
        tasks = TaskManager()
        for _ in range(50):
            task_id = new(tasks)
            waiting = asyncio.create_task(tasks.wait_task_async(task_id, 1, timeout=30))
            await asyncio.sleep(0)
            thread = threading.Thread(target=tasks.complete_task, args=(task_id, {}))
            thread.start()
            assert (await waiting)["revision"] == 2
            thread.join()

    run(main)


def test_a_cancelation_request_and_another_handle_wake() -> None:
    async def main() -> None:
        store = Store()
        tasks, other = TaskManager(store), TaskManager(store)
        task_id = new(tasks)
        waiting = asyncio.create_task(tasks.wait_task_async(task_id, 1))
        await settled()
        other.request_task_cancelation("/mcp", None, task_id)
        record = await waiting
        assert record["cancelationRequested"]
        assert record["revision"] == 2

    run(main)


def test_an_overflowing_queue_loses_no_wake_up() -> None:
    async def main() -> None:
        tasks = TaskManager(maximum_retained_tasks=5000)
        task_id = new(tasks)
        waiting = asyncio.create_task(tasks.wait_task_async(task_id, 1))
        await settled()
        for _ in range(3000):
            new(tasks)
        tasks.complete_task(task_id, {})
        assert (await waiting)["revision"] == 2

    run(main)


def test_an_expiry_ends_a_wait_by_a_timer() -> None:
    async def main() -> None:
        tasks = TaskManager(task_time_to_live_ms=100)
        start = time.monotonic()
        with pytest.raises(NotFoundError):
            await tasks.wait_task_async(new(tasks), 1)
        assert 0.05 < time.monotonic() - start < 3

    run(main)


def test_an_expiry_by_a_manual_clock_ends_a_wait() -> None:
    async def main() -> None:
        clock = ManualClock(1_764_498_600_000)
        tasks = TaskManager(Store(clock=clock), task_time_to_live_ms=1000)
        waiting = [asyncio.create_task(tasks.wait_task_async(new(tasks), 1)) for _ in range(3)]
        await settled()
        clock.advance(999)
        await settled()
        assert not any(wait.done() for wait in waiting)
        thread = threading.Thread(target=clock.advance, args=(1,))
        thread.start()
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [NotFoundError] * 3
        thread.join()

    run(main)


@pytest.mark.parametrize("from_thread", [False, True])
def test_closing_ends_waits(from_thread: bool) -> None:
    async def main() -> None:
        tasks = TaskManager()
        events = tasks.open_events()
        waiting: list[asyncio.Task[Any]] = [asyncio.create_task(tasks.wait_task_async(new(tasks), 1)) for _ in range(3)]
        while True:
            try:
                events.next(0)
            except TimeoutError:
                break
        waiting += [asyncio.create_task(events.next_async()) for _ in range(3)]
        await settled()

        def close() -> None:
            tasks.close()
            events.close()

        if from_thread:
            thread = threading.Thread(target=close)
            thread.start()
            thread.join()
        else:
            close()
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [ClosedError] * 6
        with pytest.raises(taskhold.InvalidHandleError):
            await events.next_async()
        with pytest.raises(taskhold.InvalidHandleError):
            await tasks.wait_task_async("x", 1)

    run(main)


def test_a_cancelled_wait_is_gone_at_once() -> None:
    async def main() -> None:
        tasks = TaskManager()
        events = tasks.open_events()
        task_id = new(tasks)
        assert await events.next_async() == {"event": "changed", "taskId": task_id}
        for _ in range(20):
            waiting = [
                asyncio.create_task(tasks.wait_task_async(task_id, 1)),
                asyncio.create_task(events.next_async()),
            ]
            await settled(3)
            start = time.monotonic()
            for wait in waiting:
                wait.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            assert all(wait.cancelled() for wait in waiting)
            assert time.monotonic() - start < 1
        # A cancelled wait took no event.
        tasks.complete_task(task_id, {})
        assert (await events.next_async(timeout=5))["taskId"] == task_id

    run(main)


def test_a_wait_cancelled_as_its_event_comes_leaves_it_to_another() -> None:
    async def main() -> None:
        tasks = TaskManager()
        events = tasks.open_events()
        for _ in range(50):
            first, second = (asyncio.create_task(events.next_async()) for _ in range(2))
            await settled(5)
            task_id = new(tasks)
            first.cancel()
            assert await asyncio.wait_for(second, 5) == {"event": "changed", "taskId": task_id}

    run(main)


def test_async_iteration_gives_every_event_once_and_ends_with_the_queue() -> None:
    async def main() -> None:
        tasks = TaskManager(maximum_retained_tasks=3000)
        events = tasks.open_events(4096)
        taken: list[str] = []

        async def follow() -> None:
            async for event in events:
                taken.append(event["taskId"])

        following = [asyncio.create_task(follow()) for _ in range(3)]
        await settled()
        made: list[str] = []
        thread = threading.Thread(target=lambda: made.extend(new(tasks) for _ in range(2000)))
        thread.start()
        while len(taken) < 2000:
            await asyncio.sleep(0.001)
        thread.join()
        events.close()
        await asyncio.wait_for(asyncio.gather(*following), 10)
        assert sorted(taken) == sorted(made)

    run(main)


def test_two_loops_share_a_manager_and_a_queue() -> None:
    tasks = TaskManager()
    events = tasks.open_events()
    task_id = new(tasks)
    assert events.next(0)["taskId"] == task_id
    ready = threading.Barrier(3)
    results: list[Any] = []

    def loop() -> None:
        async def main() -> None:
            waiting: list[asyncio.Task[Any]] = [asyncio.create_task(tasks.wait_task_async(task_id, 1, timeout=30))]
            waiting.append(asyncio.create_task(events.next_async(timeout=30)))
            await settled()
            await asyncio.to_thread(ready.wait)
            results.extend(await asyncio.gather(*waiting))

        asyncio.run(main())

    threads = [threading.Thread(target=loop) for _ in range(2)]
    for thread in threads:
        thread.start()
    ready.wait(30)
    tasks.complete_task(task_id, {})
    new(tasks)
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert sorted("event" in result for result in results) == [False, False, True, True]


def test_a_close_from_another_thread_meets_a_wait_that_begins() -> None:
    """The descriptor that the loop gets is the queue's, however the two meet."""

    async def main(tasks: TaskManager) -> list[object]:
        events = tasks.open_events()
        begin = threading.Barrier(2)

        def close() -> None:
            begin.wait(10)
            events.close()

        thread = threading.Thread(target=close)
        thread.start()
        waiting = [asyncio.ensure_future(events.next_async(timeout=10)) for _ in range(8)]
        begin.wait(10)
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        thread.join()
        return list(ends)

    with TaskManager() as tasks:
        for _ in range(300):
            ends = asyncio.run(main(tasks))
            assert {type(end) for end in ends} <= {taskhold.ClosedError, taskhold.InvalidHandleError}, ends


def test_the_loop_goes_on_while_others_wait() -> None:
    """A heartbeat of 10 ms has no gap of 250 ms while waits, events and calls in the pool go on beside it."""

    async def main() -> float:
        tasks = TaskManager(maximum_retained_tasks=5000)
        events = tasks.open_events()
        gaps: list[float] = []
        ended = False

        async def heartbeat() -> None:
            last = time.monotonic()
            while not ended:
                await asyncio.sleep(0.01)
                now = time.monotonic()
                gaps.append(now - last)
                last = now

        async def follow() -> None:
            async for _ in events:
                pass

        beating = asyncio.create_task(heartbeat())
        following = asyncio.create_task(follow())
        ids = [new(tasks) for _ in range(200)]
        waiting = [asyncio.create_task(tasks.wait_task_async(task_id, 1, timeout=30)) for task_id in ids]
        pool = Pool()
        slow = [asyncio.create_task(pool.run(lambda: time.sleep(0.3))) for _ in range(16)]

        def change() -> None:
            for task_id in ids:
                for _ in range(5):
                    tasks.mark_task_working_json(task_id, "on it")
                time.sleep(0.001)

        thread = threading.Thread(target=change)
        thread.start()
        await asyncio.gather(*waiting, *slow)
        thread.join()
        events.close()
        await following
        ended = True
        await beating
        assert len(gaps) > 5
        return max(gaps)

    steady(lambda: asyncio.run(asyncio.wait_for(main(), 60)))


def test_a_cancelled_await_of_a_durable_call_still_commits() -> None:
    async def main() -> None:
        tasks = TaskManager()
        # As on a durable store: calls go through the pool.
        tasks._pool = pool = Pool()
        task_id = new(tasks)
        begun, go_on = threading.Event(), threading.Event()

        def block() -> None:
            begun.set()
            go_on.wait(10)

        for _ in range(8):
            asyncio.get_running_loop().create_task(pool.run(block))
        await asyncio.to_thread(begun.wait, 10)
        # All threads of the pool are busy, so this call has not begun when it is cancelled.
        completing = asyncio.create_task(tasks.complete_task_async(task_id, {"kept": True}))
        await settled(3)
        completing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await completing
        assert tasks.wait_task(task_id)["task"]["status"] == "working"
        go_on.set()
        record = await tasks.wait_task_async(task_id, 1, timeout=10)
        assert record["task"]["result"] == {"kept": True}

    asyncio.run(main())


def test_calls_in_the_pool_give_results_and_errors() -> None:
    async def main() -> None:
        tasks = TaskManager()
        tasks._pool = Pool()
        record = await tasks.create_task_async("/mcp", {})
        task_id = record["task"]["taskId"]
        assert await tasks.find_task_async(task_id) == record
        assert await tasks.is_task_cancelation_requested_async(task_id) is False
        with pytest.raises(NotFoundError):
            await tasks.complete_task_async("unknown", {})
        with pytest.raises(taskhold.TimeoutError):
            await tasks.wait_task_async(task_id, 1, timeout=0.01)
        pool = [thread for thread in threading.enumerate() if thread.name.startswith("taskhold")]
        assert 1 <= len(pool) <= 8

    asyncio.run(main())


def test_a_loop_that_ends_before_its_call() -> None:
    """The pool finishes the call, and says nothing about the loop that is gone."""
    go_on = threading.Event()
    done = threading.Event()

    def work() -> None:
        go_on.wait(10)
        done.set()

    async def main() -> None:
        asyncio.get_running_loop().create_task(Pool().run(work))
        await asyncio.sleep(0)

    asyncio.run(main())
    go_on.set()
    assert done.wait(10)


def test_a2a_events_on_asyncio() -> None:
    async def main() -> None:
        provider = StateProvider()
        with provider.open_events() as events:
            waiting = asyncio.create_task(events.next_async(timeout=10))
            await settled()
            await provider.save_task_async(None, {"id": "t-1", "status": {"state": "completed"}})
            assert await waiting == {"event": "finalized", "taskId": "t-1"}

    run(main)


def test_waits_come_and_go_without_growth() -> None:
    async def main() -> None:
        tasks = TaskManager()
        handles = taskhold.describe()["liveHandles"]
        task_id = new(tasks)
        for _ in range(500):
            with pytest.raises(TimeoutError):
                await tasks.wait_task_async(task_id, 1, timeout=0)
        # One queue for the loop, whoever waited.
        assert taskhold.describe()["liveHandles"] == handles + 1

    run(main)


def test_what_a_client_sent_does_not_end_a_wait() -> None:
    """An integer of more digits than Python converts, in the record that is waited for."""

    async def main() -> None:
        tasks = TaskManager()
        task_id = tasks.create_task_json("/mcp", f'{{"arguments": {{"n": {"9" * 5000}}}}}')
        task_id = taskhold.json_get(task_id, "/task/taskId") or ""
        waiting = asyncio.create_task(tasks.wait_task_json_async(task_id, 1))
        await settled()
        tasks.complete_task(task_id, {})
        assert taskhold.json_get(await waiting, "/revision") == "2"

    run(main)


@pytest.mark.parametrize("kind", ["task", "event"])
def test_a_loop_that_is_closed_while_somebody_waits_goes_with_its_descriptors(kind: str) -> None:
    with TaskManager() as tasks, tasks.open_events() as events:
        task_id = new(tasks)
        events.next(0)
        gone: list[weakref.ref[Any]] = []

        def once() -> None:
            loop = asyncio.new_event_loop()
            wait: Coroutine[Any, Any, Any]
            wait = tasks.wait_task_async(task_id, 1) if kind == "task" else events.next_async()
            waiting = loop.create_task(wait)
            loop.run_until_complete(settled())
            assert not waiting.done()
            loop.set_exception_handler(lambda *_: None)  # "Task was destroyed but it is pending!"
            loop.close()
            gone.append(weakref.ref(loop))

        events.fd()  # The queue's own descriptor stays.
        gc.collect()
        before = os.listdir("/proc/self/fd"), taskhold.describe()["liveHandles"]
        for _ in range(3):
            once()
        gc.collect()
        gc.collect()  # What the first one found closes others.
        assert [loop() for loop in gone] == [None] * 3
        assert (len(os.listdir("/proc/self/fd")), taskhold.describe()["liveHandles"]) == (len(before[0]), before[1])


DURABLE = pytest.mark.skipif(
    "sqlite" not in taskhold.describe()["backends"], reason="this library has no durable store to wait for"
)

# In a process of its own: a second SQLite in this one would take the library's file locks away when it closes.
LOCKER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
connection.close()
"""


@DURABLE
def test_the_loop_goes_on_while_a_durable_store_is_locked(tmp_path: Path) -> None:
    async def main() -> float:
        file = tmp_path / "store.db"
        tasks = await TaskManager.open_async(f"sqlite:{file}")
        record = await tasks.create_task_async("/mcp", {})
        task_id = record["task"]["taskId"]
        waiting = asyncio.create_task(tasks.wait_task_async(task_id, 1, timeout=30))
        locker = await asyncio.create_subprocess_exec(
            sys.executable, "-c", LOCKER, file, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert locker.stdout is not None
        assert await locker.stdout.readline() == b"locked\n"
        completing = [asyncio.create_task(tasks.complete_task_async(task_id, {"by": n})) for n in range(12)]
        gaps: list[float] = []
        last = time.monotonic()
        until = last + 1
        while last < until:
            await asyncio.sleep(0.01)
            now = time.monotonic()
            gaps.append(now - last)
            last = now
        assert not any(one.done() for one in completing)
        await locker.communicate(b"\n")
        outcomes = await asyncio.gather(*completing, return_exceptions=True)
        assert sum(isinstance(outcome, dict) for outcome in outcomes) == 1
        assert (await waiting)["task"]["status"] == "completed"
        tasks.close()
        return max(gaps)

    steady(lambda: asyncio.run(asyncio.wait_for(main(), 60)))


@DURABLE
def test_a_locked_store_holds_up_no_other(tmp_path: Path) -> None:
    async def main() -> None:
        locked = await TaskManager.open_async(tmp_path / "locked.db")
        other = await TaskManager.open_async(tmp_path / "other.db")
        locker = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            LOCKER,
            tmp_path / "locked.db",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert locker.stdout is not None
        assert await locker.stdout.readline() == b"locked\n"
        held_up = [asyncio.create_task(locked.create_task_async("/mcp", {})) for _ in range(20)]
        await settled()
        await asyncio.wait_for(asyncio.gather(*(other.create_task_async("/mcp", {}) for _ in range(20))), 4)
        await asyncio.wait_for(TaskManager.open_async(tmp_path / "third.db"), 4)
        assert not any(one.done() for one in held_up)
        await locker.communicate(b"\n")
        await asyncio.gather(*held_up)

    asyncio.run(asyncio.wait_for(main(), 60))


@DURABLE
def test_the_threads_of_a_store_may_be_the_users(tmp_path: Path) -> None:
    async def main() -> None:
        with ThreadPoolExecutor(1, thread_name_prefix="mine") as mine:
            store = await Store.open_async(tmp_path / "store.db", executor=mine)
            tasks = await TaskManager.open_async(store)
            before = threading.active_count()
            await asyncio.gather(*(tasks.create_task_async("/mcp", {}) for _ in range(5)))
            assert threading.active_count() == before
            assert [thread.name for thread in threading.enumerate()].count("mine_0") == 1
            tasks.close()
            store.close()

    asyncio.run(main())


@DURABLE
def test_the_threads_of_a_store_go_with_it(tmp_path: Path) -> None:
    def pooled() -> int:
        return sum(thread.name.startswith("taskhold") for thread in threading.enumerate())

    async def main() -> None:
        tasks = await TaskManager.open_async(tmp_path / "store.db")
        await asyncio.gather(*(tasks.create_task_async("/mcp", {}) for _ in range(5)))

    before = pooled()
    asyncio.run(main())
    deadline = time.monotonic() + 10
    while pooled() > before:
        gc.collect()
        assert time.monotonic() < deadline
        time.sleep(0.01)


@DURABLE
def test_a_wait_on_a_durable_store_sees_another_process_and_an_expiry(tmp_path: Path) -> None:
    async def main() -> None:
        url = f"sqlite:{tmp_path / 'store.db'}"
        tasks = await TaskManager.open_async(url, task_time_to_live_ms=30_000)
        task_id = (await tasks.create_task_async("/mcp", {}))["task"]["taskId"]
        waiting = asyncio.create_task(tasks.wait_task_async(task_id, 1, timeout=30))
        complete = "import sys, taskhold; taskhold.TaskManager(sys.argv[1]).complete_task(sys.argv[2], {})"
        other = await asyncio.create_subprocess_exec(sys.executable, "-c", complete, url, task_id, env=environment())
        assert await other.wait() == 0
        assert (await waiting)["revision"] == 2
        brief = await TaskManager.open_async(url, task_time_to_live_ms=200)
        with pytest.raises(NotFoundError):
            await brief.wait_task_async((await brief.create_task_async("/mcp", {}))["task"]["taskId"], 1, timeout=30)

    asyncio.run(asyncio.wait_for(main(), 60))
