"""The types say what the library takes, and strict type checking of a user's program agrees."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import taskhold
from header import ROOT
from running import environment, python
from taskhold import SessionStore, StateProvider, Store, TaskManager, types

DURABLE = pytest.mark.skipif(
    "sqlite" not in taskhold.describe()["backends"], reason="this library has no durable store to open"
)


@pytest.mark.parametrize(
    ("shape", "opened"),
    [
        (types.ManagerOptions, TaskManager),
        (types.SessionStoreOptions, SessionStore),
        (types.StateProviderOptions, StateProvider),
    ],
)
def test_the_options_of_a_system_are_the_librarys(shape: type, opened: Any) -> None:
    known = get_type_hints(shape)
    with opened(**dict.fromkeys(known)) as one:
        assert {"".join("_" + c.lower() if c.isupper() else c for c in key) for key in one.options()} == known.keys()


@DURABLE
def test_the_options_of_a_store_are_the_librarys(tmp_path: Path) -> None:
    known = get_type_hints(types.StoreOptions)
    of_sqlite = ("durability", "busy_timeout_ms", "allow_network_file_system")
    Store(tmp_path / "store.db", **dict.fromkeys(of_sqlite)).close()
    Store(tmp_path / "store.db", durability="normal", busy_timeout_ms=10_000, allow_network_file_system=True).close()
    if "postgres" in taskhold.describe()["backends"]:
        # Options are read before anybody is connected to, and nobody listens there.
        with pytest.raises(taskhold.UnavailableError):
            Store("postgresql://user@127.0.0.1:1/", **dict.fromkeys(known.keys() - of_sqlite))


def test_a_users_program_passes_strict_type_checking(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            from datetime import timedelta
            from pathlib import Path

            from taskhold import SessionStore, StateProvider, Store, TaskManager
            from taskhold.types import Task, TaskRecord


            def opened(path: Path) -> Store:
                return Store(path, durability="normal", busy_timeout_ms=10, allow_network_file_system=True)


            def used(store: Store) -> Task:
                tasks = TaskManager(
                    store, name="a", maximum_payload_bytes=1000, task_time_to_live_ms=timedelta(hours=1)
                )
                StateProvider(store, maximum_payload_bytes=1000, grace_period_ms=timedelta(seconds=1))
                SessionStore(store, idle_timeout_ms=None)
                record: TaskRecord = tasks.create_task("/mcp", {}, metadata={"a": [1]})
                return tasks.wait_task(record["task"]["taskId"], timeout=timedelta(seconds=1))["task"]
            """
        )
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, program],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment(MYPYPATH=str(ROOT / "bindings/python/src")),
    )
    assert done.returncode == 0, done.stdout + done.stderr


@DURABLE
def test_a_path_is_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with TaskManager(Path("agents.db")) as tasks:
        task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
    with Store(tmp_path / "agents.db") as store, TaskManager(store) as tasks:
        assert tasks.find_task(task_id) is not None
    with TaskManager(f"sqlite:{tmp_path / 'agents.db'}") as tasks:
        assert tasks.find_task(task_id) is not None
    # Names that mean something else after "sqlite:".
    for name in (":memory:", "file:x"):
        Store(Path(name)).close()
        assert (tmp_path / name).is_file()


@DURABLE
@pytest.mark.parametrize("way", ["pathlib.Path(sys.argv[1])", "'sqlite:' + sys.argv[1]"])
def test_a_path_of_other_bytes_under_an_ascii_locale(tmp_path: Path, way: str) -> None:
    path = tmp_path / "zürich.db"
    done = python(
        f"import pathlib, sys, taskhold; taskhold.TaskManager({way}).create_task('/mcp', {{}})",
        str(path),
        LC_ALL="C",
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert path.is_file()
