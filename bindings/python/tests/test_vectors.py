"""Plays the cases of tests/vectors, which every language plays, in four ways and on every backend there is; on the
server of scripts/postgres.sh, each in one way.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import taskhold
from header import FUNCTIONS
from taskhold import _native
from vectors import files
from vectors.play import WAYS, Way, play, reached

CASES = files.load()
BACKENDS = taskhold.describe()["backends"]
SERVER = os.environ.get("TASKHOLD_TEST_POSTGRES") if "postgres" in BACKENDS else None


def targets() -> list[str]:
    """The stores that cases are played on; `{case}` is replaced by the number of the case."""
    if given := os.environ.get("TASKHOLD_VECTOR_STORE"):
        return [given]
    return ["memory:"] + (["sqlite:{folder}/vectors.db"] if "sqlite" in BACKENDS else []) + ([SERVER] if SERVER else [])


def options_for(target: str) -> str | None:
    """The options of the store; `{case}` is replaced as in the target."""
    given = os.environ.get("TASKHOLD_VECTOR_STORE_OPTIONS")
    return '{"schema":"python_{case}"}' if given is None and target == SERVER else given


def is_played(case: files.Case, way: Way, target: str) -> bool:
    """Whether the case is played in this way."""
    # What needs raw calls is played in the raw way alone.
    if case.raw or target != SERVER:
        return way == "raw" or not case.raw
    return way == WAYS[1 + case.number % 3]


def parameters() -> list[Any]:
    wanted = os.environ.get("TASKHOLD_VECTOR_CASE", "")
    return [
        pytest.param(case, way, target, id=f"{target.partition(':')[0]}-{way}-{case.title}")
        for target in targets()
        for way in WAYS
        for case in CASES
        if target.partition(":")[0].replace("postgresql", "postgres") in case.backends
        and wanted in case.title
        and is_played(case, way, target)
    ]


@pytest.fixture(scope="module")
def schemas() -> Iterator[list[str]]:
    """Schemas of the server that cases are done with. They are dropped some at a time."""
    done: list[str] = []
    yield done
    drop(done)


def drop(schemas: list[str]) -> None:
    """Drop the schemas and forget their names."""
    commands = [word for schema in schemas for word in ("-c", f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')]
    if SERVER and commands:
        subprocess.run(["psql", "-X", "-q", *commands, SERVER], check=True, capture_output=True)
    schemas.clear()


@pytest.mark.parametrize(("case", "way", "target"), parameters())
def test_case(case: files.Case, way: Way, target: str, tmp_path: Path, schemas: list[str]) -> None:
    def filled(template: str) -> str:
        return template.replace("{case}", f"{way}-{case.number}").replace("{folder}", str(tmp_path))

    template = options_for(target)
    options = None if template is None else filled(template)
    play(case, way, filled(target), options)
    if options is not None and target == SERVER:
        schemas.append(json.loads(options)["schema"])
        if len(schemas) >= 50:
            drop(schemas)


def test_the_cases_reach_every_function_through_the_package() -> None:
    if not reached:
        pytest.skip("the cases were not played in this run")
    callable_ones = {name.removeprefix("taskhold_") for name in FUNCTIONS.keys() - _native.NOT_BOUND}
    assert callable_ones - reached <= {"string_free"}


@pytest.mark.parametrize(
    "broken",
    [
        {"call": "manager_find_task", "on": "store", "args": {"unknown": "x"}},
        {"call": "no_such_function"},
        {"call": "manager_find_task", "on": "nobody", "args": {"task_id": "x"}},
        {"call": "store_stats", "on": "store", "expect": {"out": {"resembles": {}}}},
        {"call": "store_stats", "on": "store", "expect": {"out": {"exact": "$something"}}},
        {"call": "store_stats", "on": "store", "expect": {"status": "fine"}},
        {"call": "store_stats", "on": "store", "sometimes": True},
        {"call": "store_stats", "on": "store", "expect": {"out": {"exact": 1.5}}},
    ],
)
def test_a_mistake_in_a_file_is_found(broken: dict[str, Any]) -> None:
    with pytest.raises((AssertionError, KeyError)):
        files.read_case("file", {"name": "x", "about": "y", "steps": [broken]})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "expect",
    [
        {"status": "timeout"},
        {"out": {"subset": {"backend": "another"}}},
        {"out": {"exact": {}}},
        {"out": {"null": True}},
        {"out": {"contains": ["no such words"]}},
        {"out": {"absent": ["/backend"]}},
    ],
)
def test_a_wrong_expectation_fails(expect: dict[str, Any], way: Way) -> None:
    step = {"call": "store_stats", "on": "store", "expect": expect}
    case = files.read_case("file", {"name": "x", "about": "y", "steps": [step]})
    with pytest.raises(AssertionError, match="step 1"):
        play(case, way, "memory:", None)
