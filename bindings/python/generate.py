"""Writes the modules manager, sessions and provider of the package: ``python generate.py``, or ``--check`` to compare.

A module has two classes, one for threads and one for asyncio, with a real method for each form of a call, so that an
editor shows its signature and documentation. They are written from the ``…_json`` methods and those that give no text,
which are written by hand in _manager, _queue, _protocol, _sessions and _provider.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).with_name("src") / "taskhold"


class Module(NamedTuple):
    """A module to write: where from, and the names of its classes."""

    name: str
    calls: str
    threads: str
    asyncio: str


MODULES = [
    Module("manager", "Manager", "TaskManager", "AsyncTaskManager"),
    Module("sessions", "SessionStore", "SessionStore", "AsyncSessionStore"),
    Module("provider", "StateProvider", "StateProvider", "AsyncStateProvider"),
]

# Written by hand in both classes, or inherited.
_BY_HAND = re.compile(r"_|close$|open_async$|open_events$|iter_|claim$|hold$|worker$")


class Call(NamedTuple):
    """One form of a call."""

    name: str
    parameters: str
    passed: str
    returns: str
    documentation: str


def arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, str]:
    """The parameters of a method, and how they are passed on."""
    given = function.args
    passed = [argument.arg for argument in given.args[1:]]
    passed += [f"{argument.arg}={argument.arg}" for argument in given.kwonlyargs]
    if given.kwarg:
        passed.append(f"**{given.kwarg.arg}")
    return ast.unparse(given), ", ".join(passed)


def method(prefix: str, call: Call, documentation: str, body: str) -> str:
    """The source of a method."""
    quoted = textwrap.indent(f'"""{documentation}"""', "        ").replace("\n        \n", "\n\n")
    return (
        f"    {prefix}def {call.name}({call.parameters}) -> {call.returns}:\n{quoted}\n"
        f"{textwrap.indent(body, '        ')}\n"
    )


def parsing(returns: str, shape: str, text: str) -> str:
    """The body that gives the values in a text."""
    match returns:
        case "str":
            return f"return cast({shape}, loads({text}))"
        case "str | None":
            return f"text = {text}\nreturn None if text is None else cast({shape}, loads(text))"
        case "Revisioned[str]":
            return f"text, revision = {text}\nreturn Revisioned(cast({shape}, loads(text)), revision)"
        case "Revisioned[str] | None":
            return (
                f"found = {text}\n"
                f"return None if found is None else Revisioned(cast({shape}, loads(found.value)), found.revision)"
            )
    raise ValueError(returns)


def documented(text: str) -> str:
    """A docstring with its lines at the left, and its end on a line of its own if it has several."""
    return f"{text}\n" if "\n" in text else text


def written(module: Module) -> str:
    """The source of a module."""
    tree = ast.parse((PACKAGE / f"_{module.name}.py").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    source = classes[module.calls + "Calls"]
    # The protocol's side and what is about queued work have files of their own.
    files = ("_queue.py", "_protocol.py") if module.name == "manager" else ()
    more = [node for file in files for node in ast.parse((PACKAGE / file).read_text()).body]
    bodies = [source.body] + [node.body for node in more if isinstance(node, ast.ClassDef)]
    functions = {
        node.name: node
        for body in bodies
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _BY_HAND.match(node.name)
    }
    threads: list[str] = []
    asynchronous: list[str] = []

    def forwarded(call: Call, documentation: str) -> None:
        body = f"client = self._client or await self._opened()\nreturn await client.{call.name}_async({call.passed})"
        asynchronous.append(method("async ", call, documentation, body))

    for name, function in functions.items():
        if name.endswith("_async"):
            continue
        parameters, passed = arguments(function)
        returns = ast.unparse(function.returns) if function.returns else "None"
        documentation = documented(ast.get_docstring(function) or "")
        call = Call(name, parameters, passed, returns, documentation)
        made = f"return await self._made(lambda: self.{name}({passed}))"
        if not name.endswith("_json"):
            if f"{name}_async" not in functions:
                also = call._replace(name=f"{name}_async")
                threads.append(method("async ", also, f"As :meth:`{name}`, on asyncio.", made))
            forwarded(call, documentation)
            continue
        (mark,) = function.decorator_list
        assert isinstance(mark, ast.Call)
        shape = ast.unparse(mark.args[0])
        plain = call._replace(name=name.removesuffix("_json"), returns=returns.replace("str", shape, 1))
        threads.append(method("", plain, documentation, parsing(returns, shape, f"self.{name}({passed})")))
        also = plain._replace(name=f"{plain.name}_async")
        if f"{name}_async" in functions:
            # It waits, and is written by hand.
            awaited = parsing(returns, shape, f"await self.{name}_async({passed})")
            threads.append(method("async ", also, f"As :meth:`{plain.name}`, on asyncio: no thread waits.", awaited))
        else:
            body = f"return await self._made(lambda: self.{plain.name}({passed}))"
            threads.append(method("async ", also, f"As :meth:`{plain.name}`, on asyncio.", body))
            also = call._replace(name=f"{name}_async")
            threads.append(method("async ", also, f"As :meth:`{name}`, on asyncio.", made))
        forwarded(plain, documentation)
        forwarded(call, f"As :meth:`{plain.name}`; gives the text.")

    def opening(name: str, base: str, more: str) -> str:
        documentation = documented(ast.get_docstring(classes[base]) or "")
        quoted = textwrap.indent(f'"""{documentation}"""', "    ").replace("\n    \n", "\n\n")
        return f"class {name}({base}):\n{quoted}\n\n{more}"

    body = "\n".join(
        [
            opening(module.threads, f"{module.calls}Calls", ""),
            *threads,
            "",
            opening(module.asyncio, f"Async{module.calls}Calls", f"    _opens = {module.threads}\n"),
            *asynchronous,
        ]
    )
    shapes = sorted(
        name
        for name in re.findall(r"^(?:class )?(\w+)(?:\(|:| =)", (PACKAGE / "types.py").read_text(), re.M)
        if re.search(rf"\b{name}\b", body)
    )
    abstract = [name for name in ("Sequence",) if re.search(rf"\b{name}\b", body)]
    typing = [name for name in ("Any", "Unpack", "cast") if re.search(rf"\b{name}\b", body)]
    text = (
        f'"""{ast.get_docstring(tree)}\n\nWritten by generate.py from _{module.name}.py.\n"""\n\n'
        "from __future__ import annotations\n\n"
        + "".join(f"from collections.abc import {name}\n" for name in abstract)
        + f"from typing import {', '.join(typing)}\n\n"
        "from ._decode import loads\n"
        f"from ._{module.name} import Async{module.calls}Calls, {module.calls}Calls\n"
        + ("from ._times import Timeout\n" if "Timeout" in body else "")
        + f"from .types import {', '.join(shapes)}\n\n\n{body}"
    )
    return formatted(text, module.name)


def formatted(text: str, name: str) -> str:
    """The text as ruff formats it, without imports that are not used."""
    for command in (["check", "--select=F401,I", "--fix"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", f"src/taskhold/{name}.py", "-"]
        root = Path(__file__).resolve().parent
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True, cwd=root).stdout
    return text


def main(check: bool) -> int:
    """Write the modules, or tell whether they are as they would be written."""
    for module in MODULES:
        path = PACKAGE / f"{module.name}.py"
        text = written(module)
        if not check:
            path.write_text(text)
        elif path.read_text() != text:
            print(f"{path} is not what generate.py writes", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
