"""Waiting on threads: what ends a wait, and that Ctrl-C does."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

import taskhold
from running import environment, steady
from taskhold import ClosedError, InvalidHandleError, ManualClock, NotFoundError, Store, TaskManager, _native


def in_thread(work: Any) -> tuple[threading.Thread, list[Any]]:
    """Start work in a thread; its result or exception ends up in the list."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(work())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


def ended(thread: threading.Thread, outcome: list[Any]) -> Any:
    thread.join(10)
    assert not thread.is_alive()
    return outcome[0]


def waiters(store: Store, count: int) -> None:
    """Return once so many wait in the store."""
    deadline = time.monotonic() + 10
    while store.stats()["waiters"] < count:
        assert time.monotonic() < deadline
        threading.Event().wait(0.001)


def test_a_change_ends_a_wait() -> None:
    store = Store()
    tasks = TaskManager(store)
    task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
    waiting = [in_thread(lambda: tasks.wait_task(task_id, 1)) for _ in range(5)]
    waiters(store, 5)
    tasks.complete_task(task_id, {})
    for one in waiting:
        assert ended(*one)["revision"] == 2


def test_a_client_that_asks_for_cancelation_ends_a_wait() -> None:
    store = Store()
    tasks = TaskManager(store)
    task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
    waiting = in_thread(lambda: tasks.wait_task(task_id, 1, timeout=30))
    waiters(store, 1)
    tasks.request_task_cancelation("/mcp", None, task_id)
    assert ended(*waiting)["cancelationRequested"] is True


def test_a_timeout_is_a_timeout() -> None:
    tasks = TaskManager()
    task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
    start = time.monotonic()
    with pytest.raises(TimeoutError) as refused:
        tasks.wait_task(task_id, 1, timeout=0.25)
    assert 0.25 <= time.monotonic() - start < 5
    assert isinstance(refused.value, taskhold.TimeoutError)
    with pytest.raises(TimeoutError), tasks.open_events() as events:
        events.next(timeout=0.01)
    with pytest.raises(TimeoutError):
        tasks.wait_task(task_id, 1, timeout=-1)


def test_closing_ends_a_wait() -> None:
    store = Store()
    tasks = TaskManager(store)
    task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
    waiting = in_thread(lambda: tasks.wait_task(task_id, 1))
    waiters(store, 1)
    tasks.close()
    error = ended(*waiting)
    # Between two slices of the wait the handle is simply closed.
    assert isinstance(error, ClosedError | taskhold.InvalidHandleError)


def test_an_expiry_ends_a_wait() -> None:
    clock = ManualClock()
    store = Store(clock=clock)
    tasks = TaskManager(store, task_time_to_live_ms=1000)
    task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
    waiting = in_thread(lambda: tasks.wait_task(task_id, 1))
    waiters(store, 1)
    clock.advance(1000)
    assert isinstance(ended(*waiting), NotFoundError)


def test_iteration_gives_events_and_ends_when_the_queue_is_closed() -> None:
    tasks = TaskManager()
    events = tasks.open_events()
    seen: list[Any] = []
    first = threading.Event()

    def follow() -> int:
        for event in events:
            seen.append(event)
            first.set()
        return len(seen)

    following = in_thread(follow)
    task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
    assert first.wait(10)
    events.close()
    assert ended(*following) == 1
    assert seen == [{"event": "changed", "taskId": task_id}]
    assert list(events) == []


def test_a_close_between_two_slices_of_a_wait_ends_it_as_any_close_does(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = TaskManager()
    task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
    with monkeypatch.context() as patch:
        look = _native.call_text

        def look_and_close(*arguments: Any) -> bytes | None:
            try:
                return look(*arguments)
            finally:
                tasks.close()

        patch.setattr(_native, "call_text", look_and_close)
        with pytest.raises(ClosedError):
            tasks.wait_task(task_id, 1, timeout=5)
    with pytest.raises(InvalidHandleError):
        tasks.wait_task(task_id, 1, timeout=5)


class Interruption(Exception):
    """What a signal's handler raises."""


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGUSR1 raises in the main thread."""

    def interrupt(*_: object) -> None:
        raise Interruption

    before = signal.signal(signal.SIGUSR1, interrupt)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("interruptible")
def test_a_wait_that_a_signal_interrupts_loses_no_event() -> None:
    tasks = TaskManager()
    with tasks.open_events() as events:
        for _ in range(20):
            made: list[str] = []

            def interrupt(made: list[str] = made) -> None:
                time.sleep(0.02)
                os.kill(os.getpid(), signal.SIGUSR1)
                made.append(tasks.create_task("/mcp", {})["task"]["taskId"])

            thread = threading.Thread(target=interrupt)
            thread.start()
            seen: list[Any] = []
            with contextlib.suppress(Interruption):
                seen.append(events.next(timeout=10))
            thread.join()
            if not seen:
                seen.append(events.next(timeout=5))
            assert [event["taskId"] for event in seen] == made


@pytest.mark.usefixtures("interruptible")
def test_a_signal_as_the_event_is_taken_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = TaskManager()
    with tasks.open_events() as events:
        task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
        take = _native.lib.taskhold_events_next

        def take_and_interrupt(*arguments: Any) -> int:
            take(*arguments)
            signal.raise_signal(signal.SIGUSR1)
            raise AssertionError("the handler raises")

        with monkeypatch.context() as patch:
            patch.setattr(_native.lib, "taskhold_events_next", take_and_interrupt)
            with pytest.raises(Interruption):
                events.next(timeout=5)
        assert events.next(timeout=0)["taskId"] == task_id
        with pytest.raises(TimeoutError):
            events.next(timeout=0)


@pytest.mark.parametrize("kind", ["task", "event"])
def test_a_wait_on_a_thread_is_one_call(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the main thread runs the handlers of signals, so only there a wait comes back in between."""
    store = Store()
    tasks = TaskManager(store)
    task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
    events = tasks.open_events()
    name = {"task": "taskhold_manager_wait_task", "event": "taskhold_events_next"}[kind]
    waits: list[int] = []
    call = getattr(_native.lib, name)

    def counted(*arguments: Any) -> Any:
        waits.append(arguments[-3])
        return call(*arguments)

    monkeypatch.setattr(_native.lib, name, counted)
    waiting = in_thread({"task": lambda: tasks.wait_task(task_id, 1), "event": lambda: events.next()}[kind])
    time.sleep(0.35)
    tasks.complete_task(task_id, {})
    ended(*waiting)
    assert [ms for ms in waits if ms > 0] == [_native.WAIT_FOREVER]


@pytest.mark.parametrize("forever", [None, math.inf])
def test_an_infinite_timeout_is_none(forever: float | None) -> None:
    tasks = TaskManager()
    task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
    assert tasks.wait_task(task_id, timeout=forever)["revision"] == 1
    with tasks.open_events() as events:
        tasks.complete_task(task_id, {})
        assert events.next(timeout=forever)["taskId"] == task_id

    async def main() -> None:
        assert (await tasks.wait_task_async(task_id, timeout=forever))["revision"] == 2
        with tasks.open_events() as events:
            tasks.create_task("/mcp", {})
            assert await events.next_async(timeout=forever)

    asyncio.run(main())


@pytest.mark.parametrize("brief", [timedelta(milliseconds=20), 0.02])
def test_a_timeout_may_be_a_timedelta(brief: Any) -> None:
    tasks = TaskManager()
    task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
    events = tasks.open_events()
    calls: list[Any] = [lambda: tasks.wait_task(task_id, 1, timeout=brief), lambda: events.next(timeout=brief)]
    calls += [
        lambda: asyncio.run(tasks.wait_task_async(task_id, 1, timeout=brief)),
        lambda: asyncio.run(events.next_async(timeout=brief)),
    ]
    for call in calls:
        start = time.monotonic()
        with pytest.raises(TimeoutError):
            call()
        assert 0.02 <= time.monotonic() - start < 5


def test_a_timeout_that_is_no_number_is_refused() -> None:
    tasks = TaskManager()
    with pytest.raises(taskhold.InvalidArgumentError) as refused:
        tasks.wait_task("x", timeout=math.nan)
    assert refused.value.key == "timeout"


def test_each_event_goes_to_one() -> None:
    tasks = TaskManager(maximum_retained_tasks=500)
    events = tasks.open_events()
    takers = [in_thread(lambda: [event["taskId"] for event in events]) for _ in range(4)]
    made = {tasks.create_task("/mcp", {})["task"]["taskId"] for _ in range(400)}
    deadline = time.monotonic() + 10
    while True:
        try:
            events.next(0)
        except TimeoutError:
            break
        finally:
            assert time.monotonic() < deadline
    # What this thread took is not with the others.
    events.close()
    taken = [task_id for one in takers for task_id in ended(*one)]
    assert len(taken) == len(set(taken))
    assert set(taken) <= made


@pytest.mark.parametrize(
    "wait",
    [
        "tasks.wait_task(task_id, 1)",
        "tasks.wait_task(task_id, 1, timeout=30)",
        "events.next()",
        "list(events)",
        "asyncio.run(tasks.wait_task_async(task_id, 1))",
        "asyncio.run(events.next_async())",
    ],
)
def test_ctrl_c_interrupts_a_wait(wait: str) -> None:
    program = f"""
        import asyncio, sys, taskhold
        tasks = taskhold.TaskManager()
        task_id = tasks.create_task("/mcp", {{}})["task"]["taskId"]
        events = tasks.open_events()
        print("waiting", flush=True)
        try:
            {wait}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, env=environment(), text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        # Past the line and into the wait; a signal that came earlier would be answered just as well.
        threading.Event().wait(0.05)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - start < 2
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_other_threads_run_while_one_waits() -> None:
    def attempt() -> float:
        tasks = TaskManager()
        task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
        waiting = in_thread(lambda: tasks.wait_task(task_id, 1, timeout=30))
        longest, last = 0.0, time.monotonic()
        until = last + 0.3
        while last < until:
            now = time.monotonic()
            longest, last = max(longest, now - last), now
        tasks.complete_task(task_id, {})
        assert ended(*waiting)["revision"] == 2
        return longest

    steady(attempt)
