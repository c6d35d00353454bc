"""Work that is held while a block runs: how it ends, what interrupts it, questions, and workers."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import taskhold
from running import environment
from taskhold import (
    AsyncTaskManager,
    AsyncWork,
    ConflictError,
    ManualClock,
    Store,
    TaskManager,
    UnavailableError,
    Work,
    WorkInterrupted,
)
from test_queue import THREE, keeps_queues, queued, token
from test_waiting import ended, in_thread

EPOCH = 1_764_498_600_000
QUESTION = {"method": "elicitation/create", "params": {"message": "Your name?", "requestedSchema": {}}}
ANSWER = {"action": "accept", "content": {"name": "Luca"}}


def until(condition: Callable[[], Any]) -> Any:
    """Return what a condition gives once it is true."""
    deadline = time.monotonic() + 10
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return value


def found(tasks: TaskManager, task_id: str) -> Any:
    record = tasks.find_task(task_id)
    assert record is not None
    return record


class Fault(Exception):
    """What goes wrong in a block."""


# How a block ends


def leave(how: str, work: Work) -> None:
    match how:
        case "complete":
            work.complete({"content": []})
        case "fail":
            work.fail({"code": 1, "message": "m"})
        case "cancel":
            work.cancel("no more")
        case "release":
            work.release(delay_ms=1000)
        case "raise":
            raise Fault
        case "interrupt":
            raise KeyboardInterrupt


async def leave_async(how: str, work: AsyncWork) -> None:
    match how:
        case "complete":
            await work.complete({"content": []})
        case "fail":
            await work.fail({"code": 1, "message": "m"})
        case "cancel":
            await work.cancel("no more")
        case "release":
            await work.release(delay_ms=1000)
        case "raise":
            raise Fault
        case "interrupt":
            raise asyncio.CancelledError


ENDS = [
    # how the block is left, the status with an attempt left, and with none, and whether the next is another attempt
    ("complete", "completed", "completed", None),
    ("fail", "failed", "failed", None),
    ("cancel", "cancelled", "cancelled", None),
    ("release", "working", "failed", True),
    ("nothing", "working", "failed", True),
    ("raise", "working", "failed", True),
    ("interrupt", "working", "working", False),
]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(("how", "with_more", "with_none", "counts"), ENDS)
def test_a_block_ends_its_task_or_gives_it_back(
    how: str, with_more: str, with_none: str, counts: bool | None, last: bool, asynchronous: bool
) -> None:
    clock = ManualClock(EPOCH)
    store = Store(clock=clock)
    tasks = TaskManager(store)
    task_id = queued(tasks, attempts=THREE if not last else None, work={"n": 1})
    works: list[Any] = []

    async def block() -> None:
        async with AsyncTaskManager(store).claim(["reports"], worker="w") as work:
            works.append(work)
            assert (work.task_id, work.work, work.attempt) == (task_id, {"n": 1}, 1)
            await leave_async(how, work)

    try:
        if asynchronous:
            asyncio.run(block())
        else:
            with tasks.claim("reports", worker="w") as work:
                works.append(work)
                assert (work.task_id, work.work, work.attempt) == (task_id, {"n": 1}, 1)
                leave(how, work)
    except (Fault, KeyboardInterrupt, asyncio.CancelledError):
        assert how in ("raise", "interrupt")
    else:
        assert how not in ("raise", "interrupt")
    record = found(tasks, task_id)
    status = with_none if last else with_more
    assert record["task"]["status"] == status
    assert works[0].outcome == ("released" if status == "working" else status)
    if status == "working":
        clock.advance(2000)
        again = tasks.claim_task(["reports"], worker="v", timeout=0)
        assert again is not None
        assert again["attempt"] == (2 if counts else 1)


def test_nothing_to_claim_is_a_timeout() -> None:
    with pytest.raises(taskhold.TimeoutError), TaskManager().claim(["reports"], timeout=0):
        raise AssertionError

    async def main() -> None:
        async with AsyncTaskManager().claim(["reports"], timeout=0.01):
            raise AssertionError

    with pytest.raises(TimeoutError):
        asyncio.run(main())


def test_a_task_without_a_queue_is_held_by_its_creator() -> None:
    tasks = TaskManager()

    def created() -> Any:
        return tasks.create_task("/mcp", {}, lease={"worker": "w", "lease_ms": 30_000})

    with tasks.hold(created()) as work:
        work.progress("halfway", checkpoint={"at": 1})
        assert found(tasks, work.task_id)["checkpoint"] == {"at": 1}
        work.complete({})
    with pytest.raises(Fault), tasks.hold(created()) as work:
        raise Fault
    record = found(tasks, work.task_id)
    assert (record["task"]["status"], record["task"]["error"]["code"]) == ("failed", -32603)


# Leases


def test_one_call_renews_all_that_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(EPOCH)
    tasks = TaskManager(Store(clock=clock))
    calls: list[int] = []
    renew = TaskManager.renew_leases

    def counted(self: TaskManager, renewals: Any, **options: Any) -> Any:
        calls.append(len(renewals))
        return renew(self, renewals, **options)

    monkeypatch.setattr(TaskManager, "renew_leases", counted)
    ids = [queued(tasks) for _ in range(20)]
    blocks = [tasks.claim(["reports"]) for _ in ids]
    works = [block.__enter__() for block in blocks]
    until(lambda: calls)
    for _ in range(5):
        before = len(calls)
        clock.advance(10_000)
        while len(calls) == before or len({found(tasks, one)["lease"]["expiresAt"] for one in ids}) > 1:
            time.sleep(0.001)
    assert calls[1:] == [20] * (len(calls) - 1)
    assert len(calls) < 15
    for work, block in zip(works, blocks, strict=True):
        assert work.interrupted is None
        work.complete({})
        block.__exit__(None, None, None)


def test_leases_are_renewed_by_the_real_time_too() -> None:
    tasks = TaskManager()
    task_id = queued(tasks)
    with tasks.claim(["reports"], lease_ms=150) as work:
        first = found(tasks, task_id)["lease"]["expiresAt"]
        until(lambda: found(tasks, task_id)["lease"]["expiresAt"] > first)
        work.sleep(0.4)
        work.complete({})


def test_the_thread_of_leases_ends_when_nothing_is_held() -> None:
    def threads() -> int:
        return sum(thread.name == "taskhold-leases" for thread in threading.enumerate())

    until(lambda: threads() == 0)
    tasks = TaskManager()
    for _ in range(3):
        queued(tasks)
        with tasks.claim(["reports"]) as work:
            assert threads() == 1
            work.complete({})
    until(lambda: threads() == 0)
    queued(tasks)
    with tasks.claim(["reports"]) as work:
        assert threads() == 1
        tasks.close()
        until(lambda: threads() == 0)
        work.outcome = "lost"


# What interrupts


@pytest.mark.parametrize("reason", ["cancelation_requested", "lease_lost", "stopping"])
def test_an_interruption_on_a_thread(reason: str) -> None:
    clock = ManualClock(EPOCH)
    tasks = TaskManager(Store(clock=clock))
    task_id = queued(tasks, attempts=THREE)
    entered = threading.Event()
    works: list[Work] = []

    def work_on() -> str:
        with tasks.claim(["reports"]) as work:
            works.append(work)
            entered.set()
            work.sleep(30)
            raise AssertionError
        return "went on"

    working = in_thread(work_on)
    assert entered.wait(10)
    interrupt(tasks, clock, task_id, reason, works[0])
    assert ended(*working) == "went on"
    assert works[0].interrupted == reason
    check_interrupted(tasks, task_id, reason, works[0].outcome)
    with pytest.raises(WorkInterrupted):
        works[0].check()


@pytest.mark.parametrize("reason", ["cancelation_requested", "lease_lost", "stopping"])
@pytest.mark.parametrize("asks", [False, True])
def test_an_interruption_on_asyncio(reason: str, asks: bool) -> None:
    async def main() -> None:
        clock = ManualClock(EPOCH)
        store = Store(clock=clock)
        tasks = TaskManager(store)
        task_id = queued(tasks, attempts=THREE)
        entered = asyncio.Event()
        works: list[AsyncWork] = []
        cleaned: list[str] = []

        async def work_on() -> str:
            async with AsyncTaskManager(store).claim(["reports"]) as work:
                works.append(work)
                entered.set()
                try:
                    await (work.ask({"name": QUESTION}) if asks else asyncio.sleep(30))
                except asyncio.CancelledError:
                    await asyncio.sleep(0)
                    cleaned.append("cleaned")
                    raise
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0
            await asyncio.sleep(0)
            return "went on"

        working = asyncio.create_task(work_on())
        await entered.wait()
        await asyncio.sleep(0.01)
        interrupt(tasks, clock, task_id, reason, works[0])
        assert await asyncio.wait_for(working, 10) == "went on"
        assert cleaned == ["cleaned"]
        assert works[0].interrupted == reason
        check_interrupted(tasks, task_id, reason, works[0].outcome)

    asyncio.run(main())


def interrupt(tasks: TaskManager, clock: ManualClock, task_id: str, reason: str, work: Work | AsyncWork) -> None:
    if reason == "cancelation_requested":
        tasks.request_task_cancelation("/mcp", None, task_id)
    elif reason == "lease_lost":
        tasks.fail_task(task_id, {"code": 1, "message": "by an operator"}, force=True)
        clock.advance(10_000)
    else:
        work.interrupt("stopping")


def check_interrupted(tasks: TaskManager, task_id: str, reason: str, outcome: str | None) -> None:
    record = found(tasks, task_id)
    if reason == "cancelation_requested":
        assert (record["task"]["status"], outcome) == ("cancelled", "cancelled")
    elif reason == "lease_lost":
        assert (record["task"]["error"]["message"], outcome) == ("by an operator", "lost")
    else:
        assert outcome == "released"
        assert record["attempt"] == 1


def test_a_body_that_ends_as_it_is_interrupted_goes_on_undisturbed() -> None:
    async def main() -> None:
        store = Store()
        tasks = TaskManager(store)
        for turn in range(30):
            task_id = queued(tasks)
            async with AsyncTaskManager(store).claim(["reports"]) as work:
                tasks.request_task_cancelation("/mcp", None, task_id)
                if turn % 2:
                    time.sleep(0.002)  # The interruption is under way, and the body does not await.
            task = asyncio.current_task()
            assert task is not None
            await asyncio.sleep(0.001)
            assert task.cancelling() == 0
            assert work.outcome in ("cancelled", "failed")

    asyncio.run(main())


def test_whoever_else_cancels_finds_it_cancelled() -> None:
    async def main() -> None:
        store = Store()
        tasks = TaskManager(store)
        task_id = queued(tasks)

        async def work_on() -> None:
            async with AsyncTaskManager(store).claim(["reports"]):
                await asyncio.sleep(30)

        working = asyncio.create_task(work_on())
        await asyncio.sleep(0.01)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        record = found(tasks, task_id)
        assert (record["task"]["status"], record["lease"], record["attempt"]) == ("working", None, 1)
        again = tasks.claim_task(["reports"], worker="v", timeout=0)
        assert again is not None
        assert again["attempt"] == 1

    asyncio.run(main())


def test_a_worker_that_lost_its_lease_changes_nothing() -> None:
    clock = ManualClock(EPOCH)
    store = Store(clock=clock)
    tasks, other = TaskManager(store), TaskManager(store)
    task_id = queued(tasks, attempts=THREE)
    record = tasks.claim_task(["reports"], worker="w", lease_ms=1000, timeout=0)
    assert record is not None
    clock.advance(10_000)
    taken = other.claim_task(["reports"], worker="v", timeout=0)
    assert taken is not None
    with pytest.raises(ConflictError), tasks.hold(record, lease_ms=1000) as work:
        work.complete({"by": "w"})
    assert work.outcome == "lost"
    other.complete_task(task_id, {"by": "v"}, lease=token(taken))
    assert found(tasks, task_id)["task"]["result"] == {"by": "v"}


# Questions


def test_answers_outlive_the_worker() -> None:
    clock = ManualClock(EPOCH)
    store = Store(clock=clock)
    tasks, other = TaskManager(store), TaskManager(store)
    task_id = queued(tasks, attempts=THREE)
    questions = {"name": QUESTION, "age": QUESTION}

    def ask() -> Any:
        with tasks.claim(["reports"]) as work:
            work.progress(checkpoint={"step": 1})
            answers = work.ask(questions, "Who are you?")
            work.progress(checkpoint={"step": 2})
            assert work.ask(questions) == answers
            raise Fault

    asking = in_thread(ask)
    until(lambda: found(tasks, task_id)["task"]["status"] == "input_required")
    assert tasks.update_task("/mcp", None, task_id, {"age": ANSWER})["accepted"] == ["age"]
    # What was answered first is safe before the rest is there.
    until(lambda: "age" in ((found(tasks, task_id)["checkpoint"] or {}).get("answers") or {}))
    assert tasks.update_task("/mcp", None, task_id, {"name": ANSWER})["accepted"] == ["name"]
    assert isinstance(ended(*asking), Fault)
    clock.advance(5000)
    with other.claim(["reports"]) as work:
        assert (work.attempt, work.checkpoint["step"]) == (2, 2)
        assert work.ask(questions) == {"name": ANSWER, "age": ANSWER}
        work.complete({})


def test_an_answer_that_comes_while_others_are_taken_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, client = TaskManager(store := Store()), TaskManager(store)
    task_id = queued(tasks, attempts=THREE)
    peek = TaskManager.take_task_input_responses

    def answered(self: TaskManager, task_id: str, **options: Any) -> Any:
        taken = peek(self, task_id, **options)
        if options.get("peek") and set(taken) == {"age"}:
            assert client.update_task("/mcp", None, task_id, {"name": ANSWER})["accepted"] == ["name"]
        return taken

    monkeypatch.setattr(TaskManager, "take_task_input_responses", answered)
    questions = {"name": QUESTION, "age": QUESTION}
    with tasks.claim(["reports"]) as work:
        tasks.request_task_input(task_id, questions, lease=work.lease)
        client.update_task("/mcp", None, task_id, {"age": ANSWER})
        assert work.ask(questions, timeout=5) == {"name": ANSWER, "age": ANSWER}
        work.complete({})


def test_answers_that_came_while_nobody_held_the_task_are_taken() -> None:
    clock = ManualClock(EPOCH)
    tasks = TaskManager(Store(clock=clock))
    task_id = queued(tasks, attempts=THREE)
    with tasks.claim(["reports"], timeout=0) as work:
        work.ask({"name": QUESTION}, park=True)
        raise AssertionError
    assert work.outcome == "parked"
    assert tasks.claim_task(["reports"], worker="w", timeout=0) is None
    tasks.update_task("/mcp", None, task_id, {"name": ANSWER})
    with tasks.claim(["reports"], timeout=0) as work:
        assert work.attempt == 1
        assert work.ask({"name": QUESTION}, park=True) == {"name": ANSWER}
        work.complete({})


def test_a_question_on_asyncio_and_its_timeout() -> None:
    async def main() -> None:
        async with AsyncTaskManager() as tasks:
            record = await tasks.create_task("/mcp", {}, queue="q")
            async with tasks.claim(["q"]) as work:
                with pytest.raises(TimeoutError):
                    await work.ask({"name": QUESTION}, timeout=0.02)
                asking = asyncio.create_task(work.ask({"name": QUESTION}))
                await asyncio.sleep(0)
                await tasks.update_task("/mcp", None, record["task"]["taskId"], {"name": ANSWER})
                assert await asyncio.wait_for(asking, 5) == {"name": ANSWER}
                assert work.checkpoint == {"answers": {"name": ANSWER}}
                await work.complete({})

    asyncio.run(main())


# Workers


def statuses(tasks: TaskManager) -> list[str]:
    return [record["task"]["status"] for record in tasks.iter_tasks()]


def test_a_worker_runs_a_function_for_each_task(caplog: pytest.LogCaptureFixture) -> None:
    tasks = TaskManager()
    for n in range(20):
        queued(tasks, work=n)
    worker = tasks.worker(["reports"], concurrency=3)

    def function(work: Work) -> Any:
        if work.work == 7:
            raise Fault
        if work.work == 8:
            work.fail({"code": 8, "message": "m"})
        return {"n": work.work} if work.work % 2 else None

    running = in_thread(lambda: worker.run(function))
    until(lambda: "working" not in statuses(tasks))
    worker.stop()
    ended_with = running[0]
    ended_with.join(10)
    assert not ended_with.is_alive()
    assert [(n, status) for n, status in enumerate(statuses(tasks)) if status != "completed"] == [
        (7, "failed"), (8, "failed"),
    ]  # fmt: skip
    results = [record["task"].get("result") for record in tasks.iter_tasks(include_payload=True)]
    assert results[9] == {"n": 9}
    assert results[10] == {}
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [Fault]


def test_a_worker_on_asyncio_runs_a_coroutine_for_each_task(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        store = Store()
        tasks = TaskManager(store)
        for n in range(20):
            queued(tasks, work=n)
        worker = AsyncTaskManager(store).worker("reports", concurrency=3)
        most = [0, 0]

        async def function(work: AsyncWork) -> Any:
            most[0] += 1
            most[1] = max(most)
            await asyncio.sleep(0)
            most[0] -= 1
            if work.work == 7:
                raise Fault
            return {"n": work.work}

        running = asyncio.create_task(worker.run(function))
        while "working" in statuses(tasks):
            await asyncio.sleep(0.001)
        worker.stop()
        await asyncio.wait_for(running, 10)
        assert most[1] == 3
        assert [n for n, status in enumerate(statuses(tasks)) if status != "completed"] == [7]

    asyncio.run(main())
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [Fault]


def test_a_worker_ends_with_its_manager() -> None:
    async def main() -> None:
        async with AsyncTaskManager() as tasks:
            running = asyncio.create_task(tasks.worker(["q"], concurrency=2).run(lambda work: work.complete({})))
            await asyncio.sleep(0.01)
            tasks.close()
            await asyncio.wait_for(running, 10)

    asyncio.run(main())
    tasks = TaskManager()
    running = in_thread(lambda: tasks.worker(["q"], concurrency=2).run(lambda work: None))
    time.sleep(0.05)
    tasks.close()
    running[0].join(10)
    assert not running[0].is_alive()


def test_a_worker_whose_claims_are_refused_says_so() -> None:
    with pytest.raises(taskhold.InvalidArgumentError):
        TaskManager().worker([], concurrency=2).run(lambda work: None)

    async def main() -> None:
        async with AsyncTaskManager() as tasks:
            with pytest.raises(taskhold.InvalidArgumentError):
                await tasks.worker([], concurrency=2).run(lambda work: work.complete({}))

    asyncio.run(asyncio.wait_for(main(), 10))


def test_a_record_without_a_token_is_not_held() -> None:
    tasks = TaskManager()
    record = found(tasks, queued(tasks))
    with pytest.raises(taskhold.InvalidArgumentError), tasks.hold(record):
        raise AssertionError


THREADS = """
    import os, sys, taskhold
    tasks = taskhold.TaskManager()
    for n in range(3):
        tasks.create_task("/mcp", {}, queue="q", work=n)

    def function(work):
        os.write(1, b"begun\\n")
        if work.work == 0:
            sys.stdin.readline()
            return {}
        work.sleep(30)

    tasks.worker(["q"], concurrency=2, grace=GRACE).run(function)
    print([(one["task"]["status"], one["attempt"], one["lease"]) for one in tasks.iter_tasks()], flush=True)
"""
ASYNCIO = """
    import asyncio, os, sys, taskhold

    async def main():
        async with taskhold.AsyncTaskManager() as tasks:
            for n in range(3):
                await tasks.create_task("/mcp", {}, queue="q", work=n)

            async def function(work):
                os.write(1, b"begun\\n")
                if work.work == 0:
                    await asyncio.to_thread(sys.stdin.readline)
                    return {}
                await asyncio.sleep(30)

            await tasks.worker(["q"], concurrency=2, grace=GRACE).run(function)
            found = [(one["task"]["status"], one["attempt"], one["lease"]) async for one in tasks.iter_tasks()]
            print(found, flush=True)

    asyncio.run(main())
"""


@pytest.mark.parametrize("program", [THREADS, ASYNCIO], ids=["threads", "asyncio"])
def test_sigterm_stops_a_worker_gracefully(program: str) -> None:
    """What can end in the grace time ends; the rest is given back, and the attempt does not count."""
    with subprocess.Popen(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(program.replace("GRACE", "2"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        try:
            assert process.stdout is not None
            assert [process.stdout.readline() for _ in range(2)] == ["begun\n"] * 2
            process.send_signal(signal.SIGTERM)
            # Past the moment at which the signal is noticed: the program would claim the third task otherwise.
            time.sleep(0.7)
            out, err = process.communicate("\n", timeout=20)
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "")
    assert out == "[('completed', 1, None), ('working', 1, None), ('working', 0, None)]\n"


# Processes that die or stand still


@pytest.fixture
def url(tmp_path: Path) -> Path:
    if not keeps_queues(tmp_path):
        pytest.skip("this library has no durable store for queued work")
    return tmp_path / "store.db"


HOLDER = """
    import sys, taskhold
    tasks = taskhold.TaskManager("sqlite:" + sys.argv[1])
    with tasks.claim(["reports"], worker="first", lease_ms=600) as work:
        print("held", flush=True)
        work.sleep(30)
    print(work.interrupted, work.outcome, flush=True)
"""


def end_or_stop(process: subprocess.Popen[str], number: signal.Signals, tasks: TaskManager) -> None:
    """Stop it where it does not write: a process that stands still with the file locked keeps everyone else out."""
    while True:
        process.send_signal(number)
        try:
            tasks.create_task("/mcp", {})
        except UnavailableError:
            process.send_signal(signal.SIGCONT)
        else:
            return


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_work_of_a_process_that_dies_or_stands_still_is_taken_over(url: Path, number: signal.Signals) -> None:
    with TaskManager(url) as tasks:
        task_id = queued(tasks, attempts={"maximum": 2, "backoff_ms": 1})
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(HOLDER), os.fspath(url)],
            stdout=subprocess.PIPE,
            env=environment(),
            text=True,
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            # It renews its lease for as long as it lives.
            assert tasks.claim_task(["reports"], worker="second", timeout=1.2) is None
            end_or_stop(process, number, tasks)
            with tasks.claim(["reports"], worker="second", timeout=10) as work:
                assert (work.task_id, work.attempt) == (task_id, 2)
                if number == signal.SIGSTOP:
                    process.send_signal(signal.SIGCONT)
                    # It learns that its lease is lost, and changes nothing.
                    assert process.stdout.readline() == "lease_lost lost\n"
                    assert process.wait(10) == 0
                work.complete({"by": "second"})
            assert found(tasks, task_id)["task"]["result"] == {"by": "second"}
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def test_an_asyncio_worker_takes_over_from_a_killed_one(url: Path) -> None:
    async def main() -> None:
        async with AsyncTaskManager(url) as tasks:
            record = await tasks.create_task("/mcp", {}, queue="reports", attempts={"maximum": 2, "backoff_ms": 1})
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                textwrap.dedent(HOLDER),
                os.fspath(url),
                stdout=asyncio.subprocess.PIPE,
                env=environment(),
            )
            assert process.stdout is not None
            assert await process.stdout.readline() == b"held\n"
            process.kill()
            await process.wait()
            async with tasks.claim(["reports"], timeout=10) as work:
                assert (work.task_id, work.attempt) == (record["task"]["taskId"], 2)
                await work.complete({})

    asyncio.run(asyncio.wait_for(main(), 60))
