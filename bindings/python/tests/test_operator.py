"""`python -m taskhold`, on the stores there are: a table on a terminal, JSON lines in a pipe."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import taskhold
from running import environment
from taskhold import SessionStore, StateProvider, Store, TaskManager, __main__, _native

DURABLE = pytest.mark.skipif(
    "sqlite" not in taskhold.describe()["backends"], reason="this library has no durable store to look into"
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store in memory that the command line opens under any URL."""
    with Store() as one:

        class Same(Store):
            def __init__(self, url: str) -> None:
                self._hold(one._token)
                self._closing.detach()
                self._clock = None

        monkeypatch.setattr(__main__, "Store", Same)
        yield one


def piped(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Any]:
    assert __main__.main(arguments) == 0
    output = capsys.readouterr()
    assert output.err == ""
    return [json.loads(line) for line in output.out.splitlines()]


def on_terminal(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[str]:
    terminal = Terminal()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", terminal)
        patched.setenv("COLUMNS", "200")
        assert __main__.main(arguments) == 0
    return terminal.getvalue().splitlines()


def test_list_gives_a_json_line_for_each_task(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = TaskManager(store)
    made = [tasks.create_task("/mcp", {"n": n}, authorization_partition=f"p{n % 2}") for n in range(250)]
    assert piped(capsys, "list", "memory:") == made
    assert piped(capsys, "list", "memory:", "--limit", "3") == made[:3]
    assert piped(capsys, "list", "memory:", "--partition", "p1") == made[1::2]
    assert piped(capsys, "list", "memory:", "--endpoint", "/other") == []
    tasks.complete_task(made[7]["task"]["taskId"], {})
    (ended,) = piped(capsys, "list", "memory:", "--status", "completed")
    assert ended["task"]["taskId"] == made[7]["task"]["taskId"]


def test_numbers_keep_their_spelling_in_a_pipe(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = TaskManager(store)
    tasks.create_task("/mcp", '{"price":\n 1.10}')
    assert __main__.main(["list", "memory:"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert '"origin":{"price":  1.10}' in line


def test_list_is_a_table_on_a_terminal(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = TaskManager(store)
    record = tasks.create_task("/mcp", {})
    task_id = record["task"]["taskId"]
    tasks.mark_task_working(task_id, "halfway\x1b[2J\u009b31m there")
    header, row = on_terminal(monkeypatch, "list", "memory:")
    assert header.split() == ["TASK", "STATUS", "REV", "UPDATED", "ENDPOINT", "PARTITION", "MESSAGE"]
    assert row.split()[:6] == [
        task_id, "working", "2", row.split()[3], "/mcp", "-",
    ]  # fmt: skip
    # What a client stored does nothing to the terminal.
    assert row.endswith("halfway\N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}31m there")


def test_show(store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = TaskManager(store, name="other")
    task_id = tasks.create_task("/mcp", {"a": "\x1b"})["task"]["taskId"]
    done = tasks.complete_task(task_id, {"content": []})
    assert piped(capsys, "show", "memory:", task_id, "--name", "other") == [done]
    lines = on_terminal(monkeypatch, "show", "memory:", task_id, "--name", "other")
    assert len(lines) > 10
    assert json.loads("\n".join(lines)) == done
    assert __main__.main(["show", "memory:", "unknown"]) == 1
    assert capsys.readouterr().err == "taskhold: there is no such task, or it expired\n"


def test_a2a_tasks(store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    provider = StateProvider(store)
    task = {"id": "t-1", "contextId": "c", "status": {"state": "working"}}
    provider.save_task("alice", task)
    assert piped(capsys, "list", "memory:", "--a2a", "--owner", "alice") == [task]
    assert __main__.main(["list", "memory:", "--a2a"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "taskhold: only the anonymous owner's; --owner NAME for another's\n")
    assert piped(capsys, "show", "memory:", "t-1", "--a2a", "--owner", "alice") == [task]
    header, row = on_terminal(monkeypatch, "list", "memory:", "--a2a", "--owner", "alice")
    assert header.split() == ["TASK", "STATE", "CONTEXT", "UPDATED"]
    assert row.split() == ["t-1", "working", "c", "-"]


def test_a2a_tasks_of_all_owners(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = StateProvider(store)
    for owner, task_id in ((None, "t-0"), ("alice", "t-1")):
        provider.save_task(owner, {"id": task_id, "status": {"state": "working"}})
    found = piped(capsys, "list", "memory:", "--a2a", "--any-owner")
    assert [(one["owner"], one["task"]["id"]) for one in found] == [(None, "t-0"), ("alice", "t-1")]
    header, *rows = on_terminal(monkeypatch, "list", "memory:", "--a2a", "--any-owner")
    assert header.split() == ["OWNER", "TASK", "STATE", "CONTEXT", "UPDATED"]
    assert [row.split()[:3] for row in rows] == [["-", "t-0", "working"], ["alice", "t-1", "working"]]


@pytest.mark.parametrize(
    "options", [("--owner", "alice"), ("--any-owner",), ("--a2a", "--endpoint", "/mcp"), ("--a2a", "--partition", "p")]
)
def test_options_of_the_other_kind_are_refused(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        __main__.main(["list", "memory:", *options])
    assert refused.value.code == 2
    assert "is not for" in capsys.readouterr().err


def test_watch_follows_changes(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = TaskManager(store)

    def later(work: Any) -> threading.Thread:
        def run() -> None:
            # The queue of the command is open once the store says so.
            while store.stats()["eventQueues"] == 0:
                threading.Event().wait(0.001)
            work()

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    thread = later(lambda: tasks.create_task("/mcp", {}))
    (line,) = piped(capsys, "watch", "memory:", "--count", "1")
    thread.join()
    assert line["event"] == "changed"
    assert line["record"]["task"]["taskId"] == line["taskId"]

    thread = later(lambda: tasks.complete_task(line["taskId"], {}))
    header, row = on_terminal(monkeypatch, "watch", "memory:", "--count", "1")
    thread.join()
    assert header.split()[:3] == ["EVENT", "TASK", "STATUS"]
    assert row.split()[:3] == ["changed", line["taskId"], "completed"]

    thread = later(lambda: StateProvider(store).save_task(None, {"id": "t", "status": {"state": "failed"}}))
    assert piped(capsys, "watch", "memory:", "--a2a", "--count", "1") == [{"event": "finalized", "taskId": "t"}]
    thread.join()


def test_sessions(store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = SessionStore(store)
    ids = [
        session["sessionId"]
        for number in range(101)
        if (session := sessions.create("/mcp", session_context={"secret": number})) is not None
    ]
    SessionStore(store, name="other").create("/x", session_id="mine", authorization_partition="alice")
    lines = piped(capsys, "sessions", "memory:")
    assert [line["sessionId"] for line in lines] == ids
    assert not any("sessionContext" in line for line in lines)
    assert [line["sessionId"] for line in piped(capsys, "sessions", "memory:", "--limit", "2")] == ids[:2]
    assert piped(capsys, "sessions", "memory:", "--endpoint", "/x") == []
    assert piped(capsys, "sessions", "memory:", "--partition", "alice") == []
    (mine,) = piped(capsys, "sessions", "memory:", "--name", "other", "--endpoint", "/x", "--partition", "alice")
    assert (mine["sessionId"], mine["version"], mine["terminatedAt"]) == ("mine", 0, None)
    header, row = on_terminal(monkeypatch, "sessions", "memory:", "--name", "other")
    assert header.split() == ["SESSION", "INITIALIZED", "ACTIVE", "TERMINATED", "ENDPOINT", "PARTITION"]
    assert row.split() == ["mine", "false", mine["lastActivityAt"], "-", "/x", "alice"]


def test_work_shows_queues_and_who_holds_what(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, other = TaskManager(store), TaskManager(store, name="other")
    made = [tasks.create_task("/mcp", {}, queue="reports")["task"]["taskId"] for _ in range(3)]
    other.create_task("/mcp", {}, queue="mail", delay_ms=60_000)
    assert tasks.claim_task(["reports"], worker="h1:77", timeout=0) is not None
    lines = piped(capsys, "work", "memory:")
    queues = {line["queue"]: line for line in lines if "manager" in line}
    assert (queues["reports"]["ready"], queues["reports"]["leased"]) == (2, 1)
    assert queues["mail"]["scheduled"] == 1
    (held,) = [line for line in lines if "task" in line]
    assert (held["task"]["taskId"] in made, held["lease"]["worker"]) == (True, "h1:77")
    assert "token" not in held["lease"]
    assert [line["queue"] for line in piped(capsys, "work", "memory:", "--name", "other")] == ["mail"]
    shown = on_terminal(monkeypatch, "work", "memory:")
    assert shown[0].split() == ["MANAGER", "QUEUE", "READY", "SCHEDULED", "LEASED", "PARKED", "OLDEST", "READY"]
    assert any(line.split()[:6] == ["default", "reports", "2", "0", "1", "0"] for line in shown)
    assert shown[-1].split()[1:4] == ["reports", "h1:77", "1"]


def test_an_operator_fails_and_requeues_work(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = TaskManager(store)
    question = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}}
    held, parked = (tasks.create_task("/mcp", {}, queue="q")["task"]["taskId"] for _ in range(2))
    for task_id in (held, parked):
        record: Any = tasks.claim_task(["q"], worker="w", timeout=0)
        assert record["task"]["taskId"] == task_id
        if task_id == parked:
            tasks.request_task_input(parked, {"k": question}, lease=record["lease"]["token"], park=True)
    # Without a terminal nobody can be asked.
    assert __main__.main(["fail", "memory:", held]) == 1
    assert "pass --yes" in capsys.readouterr().err
    assert __main__.main(["requeue", "memory:", held, "--yes"]) == 1
    assert capsys.readouterr().err == "taskhold: the task is not parked\n"
    (failed,) = piped(capsys, "fail", "memory:", held, "--yes", "--message", "stuck")
    assert failed["task"]["error"] == {"code": -32603, "message": "stuck"}
    assert __main__.main(["fail", "memory:", held, "--yes"]) == 1
    assert capsys.readouterr().err == "taskhold: the task has ended: failed\n"
    assert tasks.claim_task(["q"], worker="v", timeout=0) is None
    (requeued,) = piped(capsys, "requeue", "memory:", parked, "--yes")
    assert requeued["task"]["status"] == "working"
    again = tasks.claim_task(["q"], worker="v", timeout=0)
    assert again is not None
    assert again["task"]["taskId"] == parked


@pytest.mark.parametrize(("answer", "status"), [("y", "failed"), ("n", "working"), ("", "working")])
def test_it_asks_before_it_changes_anything(
    store: Store, monkeypatch: pytest.MonkeyPatch, answer: str, status: str
) -> None:
    tasks = TaskManager(store)
    task_id = tasks.create_task("/mcp", {}, queue="q")["task"]["taskId"]
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdin", terminal)
    asked: list[str] = []

    def answered(question: str) -> str:
        asked.append(question)
        return answer

    monkeypatch.setattr("builtins.input", answered)
    assert __main__.main(["fail", "memory:", task_id]) == (0 if status == "failed" else 1)
    assert asked == ["The task is working, and nobody holds it. Really fail it? [y/N] "]
    record = tasks.find_task(task_id)
    assert record is not None
    assert record["task"]["status"] == status


def test_stats(store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    TaskManager(store).create_task("/mcp", {})
    (stats,) = piped(capsys, "stats", "memory:")
    assert (stats["backend"], stats["tasks"]["working"]) == ("memory", 1)
    assert "tasks.working            1" in on_terminal(monkeypatch, "stats", "memory:")


def test_check(store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(_native.lib, "taskhold_store_check"):
        assert __main__.main(["check", "memory:"]) == 1
        assert capsys.readouterr().err == "taskhold: this library has no check\n"
        with pytest.raises(taskhold.UnsupportedError):
            store.check()
        return
    (found,) = piped(capsys, "check", "memory:")
    assert found["ok"] is True
    assert found == store.check()
    assert on_terminal(monkeypatch, "check", "memory:") == ["the store is sound"]
    damaged = {"ok": False, "problems": ["torn"], "unreadable": [{"kind": "task", "name": "n", "id": "x"}]}
    monkeypatch.setattr(Store, "check_json", lambda _: json.dumps(damaged))
    assert __main__.main(["check", "memory:"]) == 1
    assert json.loads(capsys.readouterr().out) == damaged


@DURABLE
def test_copy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    url, to = f"sqlite:{tmp_path / 'store.db'}", f"sqlite:{tmp_path / 'copy.db'}"
    with TaskManager(url) as tasks:
        made = tasks.create_task("/mcp", {})
    (copied,) = piped(capsys, "copy", url, to)
    assert copied == {"tasks": 1, "sessions": 0, "a2aTasks": 0, "events": 0}
    with TaskManager(to) as tasks:
        assert tasks.find_task(made["task"]["taskId"]) == made
    assert __main__.main(["copy", url, to]) == 1
    assert "(store_not_empty)" in capsys.readouterr().err
    shown = on_terminal(monkeypatch, "copy", url, f"sqlite:{tmp_path / 'another.db'}")
    assert shown[0].split() == ["tasks", "1"]
    assert shown[-1] == "the copy was compared with the store, and is the same"


def test_refusals(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert __main__.main(["stats", "nowhere:"]) == 1
    assert "(invalid_store_url)" in capsys.readouterr().err
    missing = tmp_path / "missing.db"
    assert __main__.main(["stats", f"sqlite:{missing}"]) == 1
    assert capsys.readouterr().err == "taskhold: there is no such store\n"
    assert not missing.exists()
    with pytest.raises(SystemExit) as wrong:
        __main__.main(["dance", "memory:"])
    assert wrong.value.code == 2


def command(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "taskhold", *arguments], stdout=subprocess.PIPE, text=True, env=environment(), **options
    )


def test_a_reader_that_has_seen_enough(store: Store) -> None:
    with command("stats", "memory:", stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(20) == 0


@DURABLE
def test_watch_sees_another_process_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    import signal

    url = f"sqlite:{tmp_path / 'store.db'}"
    seen = threading.Event()

    def change(tasks: TaskManager) -> None:
        # Until the other process is there, which takes as long as it takes.
        while not seen.wait(0.02):
            tasks.create_task("/mcp", {})

    with TaskManager(url) as tasks, command("watch", url) as process:
        changing = threading.Thread(target=change, args=(tasks,))
        changing.start()
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["event"] == "changed"
        finally:
            seen.set()
            changing.join()
        process.send_signal(signal.SIGINT)
        # What it saw until then is in the pipe.
        process.stdout.read()
        assert process.wait(10) == 130
