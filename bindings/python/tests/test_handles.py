"""Handles: closed, shared by threads, dropped in the middle of a call, forked, at the interpreter's end."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import taskhold
from running import python, succeeds
from taskhold import InvalidHandleError, ManualClock, SessionStore, StateProvider, Store, TaskManager

OPENERS: list[Callable[[], Any]] = [
    ManualClock,
    Store,
    TaskManager,
    SessionStore,
    StateProvider,
    lambda: TaskManager().open_events(),
    lambda: StateProvider().open_events(1),
]
USES: dict[str, Callable[[Any], Any]] = {
    "ManualClock": lambda one: one.advance(0),
    "Store": lambda one: one.stats(),
    "TaskManager": lambda one: one.options(),
    "SessionStore": lambda one: one.options(),
    "StateProvider": lambda one: one.options(),
    "Events": lambda one: one.fd(),
}


@pytest.mark.parametrize("opener", OPENERS)
def test_a_closed_one_refuses_and_closing_again_is_fine(opener: Callable[[], Any]) -> None:
    with opener() as one:
        name = type(one).__name__
        USES[name](one)
        assert not one.closed
        assert repr(one) == f"<taskhold.{name} open>"
    assert one.closed
    assert repr(one) == f"<taskhold.{name} closed>"
    one.close()
    with pytest.raises(InvalidHandleError) as refused:
        USES[name](one)
    assert refused.value.reason == "closed"


@pytest.mark.parametrize("opener", OPENERS)
def test_one_cannot_be_pickled_or_copied(opener: Callable[[], Any]) -> None:
    one = opener()
    for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="belongs to its process"):
            duplicate(one)


@pytest.mark.parametrize("opener", OPENERS)
def test_a_dropped_one_is_closed(opener: Callable[[], Any]) -> None:
    gc.collect()
    before = taskhold.describe()["liveHandles"]
    one = opener()
    assert taskhold.describe()["liveHandles"] > before
    del one
    gc.collect()
    assert taskhold.describe()["liveHandles"] == before


def test_a_failed_opening_leaves_nothing_open() -> None:
    gc.collect()
    before = taskhold.describe()["liveHandles"]
    for attempt in (
        lambda: TaskManager("memory:", nonsense=1),  # type: ignore[call-arg]
        lambda: SessionStore("memory:", keep_expired=-1),
        lambda: StateProvider("nowhere:"),
        lambda: TaskManager().open_events(0),
    ):
        with pytest.raises(taskhold.InvalidArgumentError):
            attempt()
    gc.collect()
    assert taskhold.describe()["liveHandles"] == before


def test_a_url_opens_a_store_that_lives_with_the_manager() -> None:
    with TaskManager("memory:") as tasks:
        task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
        assert tasks.find_task(task_id) is not None


def test_systems_of_one_name_share_a_store_that_is_closed() -> None:
    with Store() as store:
        one, other, third = TaskManager(store), TaskManager(store), TaskManager(store, name="third")
    task_id = one.create_task("/mcp", {})["task"]["taskId"]
    assert other.find_task(task_id) is not None
    assert third.find_task(task_id) is None


def test_closing_while_others_call() -> None:
    """Every call ends in its result or in a refusal; nothing else happens."""
    outcomes: set[str] = set()

    def work(tasks: TaskManager) -> None:
        while True:
            try:
                tasks.find_task(tasks.create_task("/mcp", {})["task"]["taskId"])
                outcomes.add("ok")
            except taskhold.CapacityExhaustedError:
                outcomes.add("full")
            except InvalidHandleError as error:
                outcomes.add(error.reason)
                return

    for _ in range(20):
        tasks = TaskManager()
        threads = [threading.Thread(target=work, args=(tasks,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        tasks.close()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    assert "closed" in outcomes
    assert outcomes <= {"ok", "full", "closed"}


def test_threads_race_and_one_end_wins() -> None:
    tasks = TaskManager()
    for _ in range(50):
        task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
        start = threading.Barrier(4)
        wins: list[int] = []

        def end(number: int, task_id: str = task_id, start: threading.Barrier = start, wins: list[int] = wins) -> None:
            start.wait()
            try:
                tasks.complete_task(task_id, {"by": number})
            except taskhold.InvalidStateError as error:
                assert error.reason == "task_terminal"
            else:
                wins.append(number)

        threads = [threading.Thread(target=end, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        found = tasks.find_task(task_id)
        assert found is not None
        assert [found["task"]["result"]["by"]] == wins


def test_collected_in_the_middle_of_a_call() -> None:
    """Temporaries are dropped as soon as their call has begun; the collector closes them from any thread."""
    succeeds(
        """
        import gc, threading, taskhold

        def work():
            for _ in range(300):
                taskhold.TaskManager().create_task_json("/mcp", {})
                events = taskhold.TaskManager().open_events()
                cycle = [events]
                cycle.append(cycle)
                del events, cycle

        gc.set_threshold(5)
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        gc.collect()
        assert taskhold.describe()["liveHandles"] == 0
        """
    )


def test_a_fork_leaves_the_parents_handles_to_the_parent() -> None:
    output = succeeds(
        """
        import os, taskhold, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        tasks = taskhold.TaskManager()
        events = tasks.open_events()
        task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
        child = os.fork()
        if child == 0:
            for call in (lambda: tasks.find_task(task_id), lambda: events.next(0), lambda: tasks.create_task("/", {})):
                try:
                    call()
                except taskhold.InvalidHandleError as error:
                    assert error.reason == "forked", error.reason
                else:
                    os._exit(3)
            tasks.close()
            events.close()
            with taskhold.TaskManager() as own:
                own.create_task("/mcp", {})
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert tasks.find_task(task_id) is not None
        assert events.next(0)["event"] == "changed"
        print("fine")
        """
    )
    assert output == "fine\n"


def test_a_fork_with_asyncio_calls_in_the_parents_pool() -> None:
    succeeds(
        """
        import asyncio, os, taskhold, warnings
        from taskhold._async import Pool
        warnings.simplefilter("ignore", DeprecationWarning)
        pool = Pool()
        asyncio.run(pool.run(lambda: 1))
        child = os.fork()
        if child == 0:
            os._exit(0 if asyncio.run(pool.run(lambda: 41)) == 41 else 3)
        assert os.waitpid(child, 0)[1] == 0
        assert asyncio.run(pool.run(lambda: 2)) == 2
        """
    )


def test_multiprocessing_by_fork() -> None:
    succeeds(
        """
        import multiprocessing, taskhold, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        tasks = taskhold.TaskManager()

        def child(number):
            try:
                tasks.options()
            except taskhold.InvalidHandleError as error:
                return error
            return None

        with multiprocessing.get_context("fork").Pool(2) as pool:
            errors = pool.map(child, range(4))
        assert [error.reason for error in errors] == ["forked"] * 4, errors
        """
    )


@pytest.mark.parametrize("kind", ["wait_task", "events", "calls", "mixed"])
def test_the_interpreter_ends_with_daemon_threads_inside(kind: str) -> None:
    program = """
        import sys, threading, taskhold
        tasks = taskhold.TaskManager()
        events = tasks.open_events()
        task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
        started = threading.Semaphore(0)

        def wait_task():
            started.release()
            while True:
                tasks.wait_task(task_id, 1)

        def wait_events():
            started.release()
            for event in events:
                pass

        def calls():
            started.release()
            while True:
                tasks.find_task(task_id)

        kinds = {"wait_task": [wait_task], "events": [wait_events], "calls": [calls]}
        chosen = kinds.get(sys.argv[1]) or [wait_task, wait_events, calls]
        for number in range(16):
            threading.Thread(target=chosen[number % len(chosen)], daemon=True).start()
        for _ in range(16):
            started.acquire()
    """
    for _ in range(5):
        assert succeeds(program, kind, timeout=20) == ""


def test_everything_open_at_the_end_of_a_program() -> None:
    assert (
        succeeds(
            """
            import taskhold
            store = taskhold.Store()
            tasks, sessions = taskhold.TaskManager(store), taskhold.SessionStore(store)
            agent = taskhold.StateProvider(store)
            events = tasks.open_events()
            class Keeper:
                def __del__(self, tasks=tasks):
                    # Modules are going; the handle still answers.
                    assert tasks.find_task_json("x") is None
            keeper = Keeper()
            """
        )
        == ""
    )


@pytest.mark.skipif(sys.version_info < (3, 13), reason="the module that opens subinterpreters came with 3.13")
def test_subinterpreters() -> None:
    done = python(
        """
        import sys, threading
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        program = '''
        import taskhold
        with taskhold.TaskManager() as tasks, tasks.open_events() as events:
            for _ in range(50):
                task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
                assert events.next(1)["taskId"] == task_id
        '''
        import textwrap
        def run():
            one = interpreters.create("legacy")
            failure = interpreters.run_string(one, textwrap.dedent(program))
            assert failure is None, failure
            interpreters.destroy(one)
        threads = [threading.Thread(target=run) for _ in range(3)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        import taskhold
        print(taskhold.describe()["liveHandles"])
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "0\n"


def test_a_hundred_thousand_calls_without_growth() -> None:
    output = succeeds(
        """
        import os, taskhold

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        tasks = taskhold.TaskManager()
        events = tasks.open_events()
        origin = {"text": "x" * 500}
        task_id = tasks.create_task("/mcp", origin)["task"]["taskId"]

        def calls(count):
            for _ in range(count):
                tasks.find_task(task_id)
                tasks.mark_task_working_json(task_id, "message")
                events.next(0)
                try:
                    tasks.complete_task("unknown", origin)
                except taskhold.NotFoundError:
                    pass

        calls(2_000)
        before = resident()
        calls(25_000)
        print(resident() - before)
        """,
        timeout=120,
    )
    # A leak of one text of 700 bytes in each call would be 70 MB.
    assert int(output) < 3_000_000, output
