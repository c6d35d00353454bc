"""Plays a case in one of four ways: raw C calls, or the package's methods that give texts or dicts, or those for
asyncio.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from decimal import Decimal
from typing import Any, Literal

import taskhold
from taskhold import Revisioned, TaskholdError
from vectors import api, raw
from vectors.files import Case, Step
from vectors.matching import OF_TEXT, at, differences, parse
from vectors.raw import Outcome
from vectors.values import dumps, expand

Way = Literal["raw", "text", "dict", "asyncio"]
WAYS: tuple[Way, ...] = ("raw", "text", "dict", "asyncio")

# Functions that were reached through the package's methods, over all cases that were played.
reached: set[str] = set()


class Token:
    """A handle that the package has no object for: it was opened raw."""

    def __init__(self, kind: str, token: int) -> None:
        self.kind = kind
        self._token = token

    def close(self) -> None:
        """Close it."""
        raw.call(self.kind + "_close", self._token, {}, {})


def play(case: Case, way: Way, url: str, options: str | None) -> None:
    """Play a case on the store; an assertion says which step differed and how."""
    player = Player(way, url, options)
    try:
        if way == "asyncio":
            asyncio.run(player.play(case))
        else:
            # Without asyncio nothing is awaited, so one step runs it to its end.
            coroutine = player.play(case)
            try:
                coroutine.send(None)
            except StopIteration:
                pass
            else:
                raise AssertionError("something was awaited")
    finally:
        for handle in player.opened:
            handle.close()


class Player:
    """The state of a case while it is played."""

    def __init__(self, way: Way, url: str, options: str | None) -> None:
        backend = url.partition(":")[0].replace("postgresql", "postgres")
        self.way = way
        self.handles: dict[str, Any] = {}
        self.opened: list[Any] = []
        self.variables: dict[str, Any] = {"url": url, "options": options, "backend": backend}

    async def play(self, case: Case) -> None:
        """Open clock and store, and play the steps."""
        first = [
            Step("clock_open_manual", None, {"epoch_ms": case.epoch_ms}, "clock", {}, {}, 1),
            Step("store_open", None, {"url": "${url}", "options": "${options}", "clock": "clock"}, "store", {}, {}, 1),
        ]
        for number, step in enumerate(first + case.steps, -1):
            for self.variables["n"] in range(1, step.times + 1):
                try:
                    await self.step(step)
                except AssertionError as failure:
                    raise AssertionError(f"{case.title}: step {number} ({step.function}): {failure}") from failure
            self.variables["n"] = 1

    async def step(self, step: Step) -> None:
        """Make one call and compare."""
        arguments = expand(step.arguments, self.variables)
        outcome = await self.call(step, arguments)
        if step.opens is not None and outcome.status == "ok":
            if (old := self.handles.get(step.opens)) is not None:
                old.close()
            self.handles[step.opens] = outcome.opened
            self.opened.append(outcome.opened)

        expect = expand(step.expect, self.variables)
        wanted = expect.get("status", "ok")
        assert outcome.status == wanted, f"should be {wanted}, is {outcome.status}: {outcome.value}"
        if wanted != "ok":
            for name in ("reason", "message") if not step.function.endswith("_close") else ():
                assert outcome.value[name], f"the error has no {name}"
            for name in ("reason", "key", "limit"):
                if name in expect:
                    there = (outcome.value or {}).get(name)
                    assert there == expect[name], f"{name} should be {expect[name]}, is {there}"
        if "revision" in expect:
            assert outcome.revision == expect["revision"], f"revision is {outcome.revision}"
        if "out" in expect:
            found = differences(expect["out"], outcome.text, outcome.value)
            assert not found, "; ".join(found)
        for name, pointer in step.save.items():
            self.variables[name] = outcome.text if pointer == "" else at(pointer, outcome.value)

    async def call(self, step: Step, arguments: dict[str, Any]) -> Outcome:
        """Make the call in the way of this player, or raw where the methods cannot say it."""
        if self.way != "raw":
            try:
                return await self.call_method(step, arguments)
            except api.Inexpressible:
                pass
        receiver = None if step.on is None else token(self.handles[step.on])
        # Handles among the arguments.
        others = {"store_open": ["clock"], "store_copy": ["to"]}.get(step.function, [])
        named = {name: arguments.get(name) for name in others}
        tokens = {name: None if handle is None else token(self.handles[handle]) for name, handle in named.items()}
        outcome = raw.call(step.function, receiver, arguments, tokens)
        if step.opens is not None and outcome.status == "ok":
            assert self.way == "raw", "what the package cannot open is refused"
            outcome.opened = Token(kind_of(step.function), outcome.opened)
        return outcome

    async def call_method(self, step: Step, arguments: dict[str, Any]) -> Outcome:
        """Call the package."""
        try:
            return self.outcome(step, await self.result(step, arguments))
        except TaskholdError as error:
            members = {
                "status": error.status,
                "reason": error.reason,
                "message": str(error),
                "key": error.key,
                "limit": error.limit,
            }
            value = {name: member for name, member in members.items() if member is not None}
            return Outcome(error.status, dumps(value), value)
        finally:
            reached.add(step.function)

    async def result(self, step: Step, arguments: dict[str, Any]) -> Any:
        """What the package's function gives."""
        name = step.function
        if name in api.LIBRARY:
            return api.LIBRARY[name](arguments)
        if name == "clock_open_manual":
            return taskhold.ManualClock(arguments["epoch_ms"])
        if name == "store_open":
            named = api.keywords(arguments.get("options"))
            clock = None if arguments.get("clock") is None else self.handles[arguments["clock"]]
            url = api.optional(arguments.get("url"))
            if self.way == "asyncio":
                return await taskhold.Store.open_async(url, clock=clock, **named)
            return taskhold.Store(url, clock=clock, **named)
        receiver = None if step.on is None else self.handles[step.on]
        if name in api.SYSTEMS:
            if isinstance(receiver, Token) or not isinstance(receiver, taskhold.Store | None):
                raise api.Inexpressible
            named = api.keywords(arguments.get("options"))
            if self.way == "asyncio":
                return await api.ASYNC_SYSTEMS[name](receiver, **named).open()
            return api.SYSTEMS[name](receiver, **named)
        if name == "store_copy":
            arguments = arguments | {"to": self.handles[arguments["to"]]}
            if not isinstance(arguments["to"], taskhold.Store):
                raise api.Inexpressible
        method, positional, keyword = api.METHODS[name](arguments)
        if receiver is None or isinstance(receiver, Token) or kind_of_object(receiver) != kind_of(name):
            raise api.Inexpressible
        needs_text = "" in step.save.values() or OF_TEXT & step.expect.get("out", {}).keys()
        if hasattr(receiver, method + "_json") and (self.way == "text" or needs_text):
            method += "_json"
        if self.way == "asyncio" and not isinstance(receiver, ASYNC):
            method += "_async" if hasattr(receiver, method + "_async") else ""
        if not hasattr(receiver, method):
            # The descriptor of a queue: on asyncio there is no use for it.
            raise api.Inexpressible
        bound = getattr(receiver, method)
        try:
            inspect.signature(bound).bind(*positional, **keyword)
        except TypeError:
            # An option that is unknown to the library has the name of an argument.
            raise api.Inexpressible from None
        result = bound(*positional, **keyword)
        return await result if inspect.isawaitable(result) else result

    def outcome(self, step: Step, result: Any) -> Outcome:
        """A Python result as the outputs of the C function."""
        if step.opens is not None:
            return Outcome(opened=result)
        if step.function in ("state_provider_save_task", "state_provider_wait_task"):
            return Outcome(revision=result)
        revision = None
        if isinstance(result, Revisioned):
            result, revision = result
        elif result is None and step.function == "state_provider_get_task":
            revision = 0
        if isinstance(result, str):
            value = raw.readable(result) if step.function not in ("version", "status_name") else result
            return Outcome(text=result, value=value, revision=revision)
        if isinstance(result, int):
            return Outcome(text=str(int(result)), value=int(result), revision=revision)
        # A dict: floats and Decimals have lost their text, which `exact` and `subset` never look at.
        return Outcome(text=None if result is None else lossy(result), value=result, revision=revision)


def lossy(value: Any) -> str:
    """The text of a dict, for pointers into it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=lambda one: str(Decimal(one)))


ASYNC = (taskhold.AsyncTaskManager, taskhold.AsyncSessionStore, taskhold.AsyncStateProvider, taskhold.AsyncEvents)


def token(handle: Any) -> int:
    """The C handle behind an object."""
    if isinstance(handle, ASYNC):
        handle = vars(handle).get("_client") or vars(handle)["_events"]
    return int(handle._token)


_KINDS: dict[type[Any], str] = {
    taskhold.AsyncTaskManager: "manager",
    taskhold.AsyncEvents: "events",
    taskhold.AsyncSessionStore: "session_store",
    taskhold.AsyncStateProvider: "state_provider",
    taskhold.ManualClock: "clock",
    taskhold.Store: "store",
    taskhold.TaskManager: "manager",
    taskhold.Events: "events",
    taskhold.SessionStore: "session_store",
    taskhold.StateProvider: "state_provider",
}


def kind_of_object(handle: Any) -> str:
    """The kind of a handle by its object."""
    return _KINDS[type(handle)]


def kind_of(function: str) -> str:
    """The kind of handle that a function opens, or is called on."""
    if function.endswith("_open_events"):
        return function.removesuffix("_open_events")
    return max((kind for kind in _KINDS.values() if function.startswith(kind)), key=len)


__all__ = ["WAYS", "Way", "parse", "play", "reached"]
