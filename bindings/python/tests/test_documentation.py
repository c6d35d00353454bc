"""What the documents show is what runs: the READMEs' Python, the docstrings' examples, and examples/python."""

from __future__ import annotations

import ast
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
from running import complaints, environment, succeeds

# Guides that come "from" something have tests of their own.
PAGES = [page for page in sorted((ROOT / "bindings/python/docs").glob("*.md")) if not page.name.startswith("from-")]
DOCUMENTS = [ROOT / "README.md", ROOT / "bindings/python/README.md", *PAGES]


def blocks(document: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", document.read_text(), re.M | re.S)


@pytest.mark.parametrize(
    ("document", "at"),
    [
        pytest.param(one, at, id=f"{one.parent.name}-{one.stem}-{at}")
        for one in DOCUMENTS
        for at in range(len(blocks(one)))
    ],
)
def test_the_python_of_a_readme_runs(document: Path, at: int) -> None:
    program = blocks(document)[at]
    if document in PAGES:
        # Servers: everything but serving.
        program = f"exec(compile({program!r}, 'page', 'exec'), {{'__name__': 'page'}})"
    succeeds(program)


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
    assert name not in ("manager", "sessions", "provider", "store", "events", "library") or results.attempted > 0


CLASSES = [thing for name in taskhold.__all__ if inspect.isclass(thing := getattr(taskhold, name))]


def test_every_public_thing_is_documented() -> None:
    for name in taskhold.__all__:
        thing = getattr(taskhold, name)
        assert inspect.getdoc(thing), name
        for method, function in inspect.getmembers(thing if inspect.isclass(thing) else None):
            if not method.startswith("_") and inspect.isroutine(function):
                assert inspect.getdoc(function), f"{name}.{method}"


def test_what_is_generated_is_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "bindings/python/generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("cls", CLASSES)
def test_methods_are_functions_in_the_source(cls: type) -> None:
    """An editor that reads the source alone finds each method's signature and documentation."""
    defined = {
        node.name
        for base in cls.__mro__
        if base.__module__.startswith("taskhold")
        for node in ast.walk(ast.parse(inspect.getsource(sys.modules[base.__module__])))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for name, function in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_"):
            assert name in defined, name
            assert "args" not in inspect.signature(function).parameters, name


@pytest.mark.parametrize(
    ("threads", "asyncio"),
    [
        (taskhold.TaskManager, taskhold.AsyncTaskManager),
        (taskhold.SessionStore, taskhold.AsyncSessionStore),
        (taskhold.StateProvider, taskhold.AsyncStateProvider),
        (taskhold.Events, taskhold.AsyncEvents),
    ],
)
def test_the_class_for_asyncio_has_the_same_methods(threads: type, asyncio: type) -> None:
    def methods(cls: type) -> dict[str, inspect.Signature]:
        found = inspect.getmembers(cls, inspect.isfunction)
        return {name: inspect.signature(one) for name, one in found if not name.startswith("_")}

    with_names = {name: one for name, one in methods(threads).items() if not name.endswith("_async")}
    with_names.pop("fd", None)  # For loops of one's own.
    same = methods(asyncio)
    assert same.keys() - {"open", "aclose"} == with_names.keys()
    for name, signature in with_names.items():
        if name not in ("open_events", "iter_tasks", "iter_sessions", "claim", "hold", "worker"):
            assert same[name] == signature, name


# Those that stand on an SDK; test_plugs.py and test_a2a_agent.py run them.
ON_AN_SDK = ("server.py", "fastmcp_server.py", "story.py", "a2a_server.py")
EXAMPLES = [path for path in sorted((ROOT / "examples/python").glob("*.py")) if path.name not in ON_AN_SDK]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    source = example.read_text()
    arguments = ["--demo"] if '"--demo"' in source else []
    # Its servers meet in any store that processes share.
    arguments += ["--store", f"sqlite:{tmp_path / 'agents.db'}"] if '"--store", required' in source else []
    done = subprocess.run(
        [sys.executable, "-X", "dev", example, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd="/",
        env=environment(),
    )
    assert (done.returncode, complaints(done.stderr)) == (0, "")
    assert done.stdout


def test_a_machine_that_is_slow_is_no_complaint() -> None:
    assert succeeds("import asyncio, time\nasync def main(): time.sleep(0.2)\nasyncio.run(main())") == ""
