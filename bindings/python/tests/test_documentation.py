"""What the documents show is what runs: the READMEs' Python, the docstrings' examples, and examples/python."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import taskhold
from header import ROOT
from running import environment, succeeds
from taskhold._handles import Handle

DOCUMENTS = [ROOT / "README.md", ROOT / "bindings/python/README.md"]


def blocks(document: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", document.read_text(), re.M | re.S)


@pytest.mark.parametrize(
    ("document", "at"),
    [pytest.param(one, at, id=f"{one.parent.name}-{at}") for one in DOCUMENTS for at in range(len(blocks(one)))],
)
def test_the_python_of_a_readme_runs(document: Path, at: int) -> None:
    succeeds(blocks(document)[at])


def test_both_readmes_show_python() -> None:
    assert all(blocks(document) for document in DOCUMENTS)


def test_the_quick_start_is_the_example_and_prints_what_stands_below_it() -> None:
    readme = (ROOT / "README.md").read_text()
    example = (ROOT / "examples/python/quickstart.py").read_text()
    assert blocks(ROOT / "README.md") == [example]
    assert "(examples/python/quickstart.py)" in readme
    assert succeeds(example).startswith('{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","taskId":"')


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(taskhold.__path__)])
def test_docstring_examples(name: str) -> None:
    module = importlib.import_module(f"taskhold.{name}")
    results = doctest.testmod(module, extraglobs=vars(taskhold))
    assert results.failed == 0
    assert name not in ("manager", "sessions", "a2a", "store", "events", "library") or results.attempted > 0


def test_every_public_thing_is_documented() -> None:
    for name in taskhold.__all__:
        thing = getattr(taskhold, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing) and issubclass(thing, Handle):
            for method, function in vars(thing).items():
                if not method.startswith("_"):
                    assert inspect.getdoc(function), f"{name}.{method}"


def test_help_shows_the_signatures_of_twins() -> None:
    shown = {
        method: str(inspect.signature(getattr(taskhold.TaskManager, method)))
        for method in ("find_task", "find_task_json", "find_task_async", "find_task_json_async", "render_task")
    }
    assert shown["find_task"] == "(self, task_id: 'str') -> 'TaskRecord | None'"
    assert shown["find_task_json"] == "(self, task_id: 'str') -> 'str | None'"
    assert shown["find_task_async"] == shown["find_task"]
    assert shown["find_task_json_async"] == shown["find_task_json"]
    assert shown["render_task"].endswith("-> 'Revisioned[dict[str, typing.Any]]'")


@pytest.mark.parametrize("example", sorted((ROOT / "examples/python").glob("*.py")), ids=lambda path: path.name)
def test_an_example_runs(example: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", example, *(["--demo"] if "--demo" in example.read_text() else [])],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd="/",
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
