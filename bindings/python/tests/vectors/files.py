"""Reads the vector files and checks their shape, so that a mistake in one is an error and not a step left out."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from header import FUNCTIONS, ROOT, STATUSES
from vectors.matching import MATCHERS, PLACEHOLDERS

DIRECTORY = ROOT / "tests/vectors"
DEFAULT_EPOCH_MS = 1_764_498_600_000
BACKENDS = {"memory", "sqlite", "postgres"}
RESERVED = {"url", "options", "backend", "n"}
SYSTEMS = ("manager", "session_store", "state_provider")
INTEGERS = {"int32_t", "uint32_t", "int64_t", "uint64_t"}


@dataclass
class Step:
    """One call, and what it must give."""

    function: str
    on: str | None
    arguments: dict[str, Any]
    opens: str | None
    expect: dict[str, Any]
    save: dict[str, str]
    times: int


@dataclass
class Case:
    """A sequence of steps on a store of its own."""

    file: str
    name: str
    number: int
    backends: set[str]
    epoch_ms: int
    raw: bool
    steps: list[Step] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"{self.file}: {self.name}"


def known(value: Any, keys: Collection[str]) -> dict[str, Any]:
    """An object that has no other members."""
    assert isinstance(value, dict), f"{value!r} is not an object"
    assert not (unknown := value.keys() - set(keys)), f"nobody knows {unknown}"
    return value


def load() -> list[Case]:
    """Every case of every file."""
    cases: list[Case] = []
    for path in sorted(DIRECTORY.glob("*.json")):
        cases.extend(read_file(path, len(cases)))
    return cases


def read_file(path: Path, before: int) -> list[Case]:
    """The cases of a file, numbered from `before`."""
    root = known(json.loads(path.read_text()), ("description", "cases"))
    assert root["description"]
    cases = [read_case(path.stem, case, before + at) for at, case in enumerate(root["cases"])]
    assert len({case.name for case in cases}) == len(cases), f"{path.stem} has a name twice"
    return cases


def read_case(file: str, given: Any, number: int = 0) -> Case:
    """One case, checked."""
    known(given, ("name", "about", "backends", "epoch_ms", "raw", "steps"))
    assert given["about"]
    assert given.get("raw", True) is True
    backends = set(given.get("backends", BACKENDS))
    assert backends <= BACKENDS
    case = Case(file, given["name"], number, backends, given.get("epoch_ms", DEFAULT_EPOCH_MS), given.get("raw", False))
    handles = {"clock": "clock", "store": "store"}
    case.steps = [read_step(step, handles) for step in given["steps"]]
    assert case.steps
    return case


def read_step(given: Any, handles: dict[str, str]) -> Step:
    """One step, written out and checked; `handles` are the names that are known so far, with their kinds."""
    step = known(unabbreviated(given, handles), ("call", "on", "args", "as", "expect", "save", "times"))
    function = FUNCTIONS["taskhold_" + step["call"]]
    receiver = bool(function.parameters) and "_close" in step["call"]
    for at, parameter in enumerate(function.parameters):
        receiver |= at == 0 and parameter.type.startswith("taskhold_")
    assert receiver == ("on" in step), f"on is for functions with a handle: {step}"
    assert step.get("on") is None or step["on"] in handles, f"no handle {step['on']}"

    arguments = step.get("args") or {}
    takes = {
        parameter.name: parameter.type
        for at, parameter in enumerate(function.parameters)
        if not parameter.name.startswith("out_") and not (at == 0 and receiver)
    }
    assert arguments.keys() <= takes.keys(), f"{step['call']} takes no {arguments.keys() - takes.keys()}"
    for name, kind in takes.items():
        if kind in INTEGERS:
            assert isinstance(arguments[name], int | str), f"{name} is a number"
        elif kind.startswith("taskhold_"):
            assert arguments.get(name) is None or arguments[name] in handles, f"no handle {arguments[name]}"
        else:
            check_numbers(arguments.get(name))

    opened = next((p.type for p in function.parameters if p.type.endswith("**") and p.type != "char **"), None)
    assert (opened is None) == ("as" not in step), f"as is for functions that open: {step}"
    if opened is not None:
        handles[step["as"]] = opened.removeprefix("taskhold_").removesuffix(" **")
    expect = step.get("expect") or {}
    check_expectation(expect)
    save = step.get("save") or {}
    assert not RESERVED & save.keys()
    times = step.get("times", 1)
    assert isinstance(times, int)
    assert times > 0
    return Step(step["call"], step.get("on"), arguments, step.get("as"), expect, save, times)


def unabbreviated(step: dict[str, Any], handles: dict[str, str]) -> dict[str, Any]:
    """`open`, `close`, `advance_ms` and `step_wall_ms` written out as calls."""
    if "open" in step:
        known(step, ("open", "as", "on", "options", "expect"))
        assert step["open"] in SYSTEMS
        whole = {
            "call": step["open"] + "_open",
            "on": step.get("on", "store"),
            "as": step["as"],
            "args": {"options": step.get("options")},
        }
    elif "close" in step:
        known(step, ("close", "expect"))
        whole = {"call": handles[step["close"]] + "_close", "on": step["close"]}
    elif "advance_ms" in step:
        known(step, ("advance_ms",))
        whole = {"call": "clock_advance", "on": "clock", "args": {"ms": step["advance_ms"]}}
    elif "step_wall_ms" in step:
        known(step, ("step_wall_ms",))
        whole = {"call": "clock_step_wall", "on": "clock", "args": {"ms": step["step_wall_ms"]}}
    else:
        return step
    return whole | ({"expect": step["expect"]} if "expect" in step else {})


def check_expectation(expect: Any) -> None:
    """Only what can be expected is expected."""
    known(expect, ("status", "reason", "key", "limit", "out", "revision"))
    status = expect.get("status", "ok")
    assert status in STATUSES
    assert status != "ok" or not {"reason", "key", "limit"} & expect.keys()
    if "out" in expect:
        matcher = known(expect["out"], MATCHERS)
        assert matcher
        assert "null" not in matcher or len(matcher) == 1
        for kind in ("exact", "subset"):
            check_expected(matcher.get(kind))


def check_expected(value: Any) -> None:
    """Numbers are whole, and placeholders stand for something."""
    check_numbers(value)
    if isinstance(value, str) and value.startswith("$") and not value.startswith("${"):
        assert value in PLACEHOLDERS, f"{value} stands for nothing"
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        check_expected(part)


def check_numbers(value: Any) -> None:
    """JSON parsers spell other numbers than whole ones of 64 bits differently."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        assert isinstance(value, int), f"{value} is no whole number"
        assert -(2**63) <= value < 2**64, f"{value} does not fit 64 bits"
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        check_numbers(part)
