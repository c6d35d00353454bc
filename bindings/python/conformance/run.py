"""Runs the protocol's conformance suite against the example servers, and writes docs/conformance.md.

    python run.py SUITE [--fastmcp PYTHON] [--node NODE] [--java CLASSES] [--write]

SUITE is the folder where npm installed the suite and Node. PYTHON is an interpreter with another version of FastMCP, to
run that as well; NODE is one that runs TypeScript, to run the server of examples/node. CLASSES is the folder where
Maven built examples/java/server, with the libraries beside. Fails when a check fails or warns, or when
docs/conformance.md is not what came out.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
DOCUMENT = ROOT / "docs/conformance.md"
SCENARIOS = [
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-status-notifications",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
]
# It looks at what comes within a few hundred milliseconds, so nothing runs beside it.
ALONE = "server-stateless"
TEXT = """# Conformance

What `make conformance` saw: `@modelcontextprotocol/conformance` {suite} against the servers of
[examples/python](../examples/python), [examples/node](../examples/node) and [examples/java](../examples/java), each
check of its scenarios for tasks, and `server-stateless` with the extension and without. The suite itself skips
`tasks-status-notifications`; what it does not look at is tested by `bindings/python/tests/checks.py`,
`bindings/node/tests/mcp.test.ts` and the tests of `taskhold-mcp`. FastMCP does not serve `subscriptions/listen`: the
checks of it are skipped there. The SDK for Java answers with a stream where a tool sends something before its result,
else in JSON.

| server | answers | scenario | passed | failed | warnings | skipped |
|---|---|---|---|---|---|---|
{rows}
"""


class Server(NamedTuple):
    """A server to test: its name, the command that starts it on a port over a store, and how it answers."""

    name: str
    command: Callable[[int, str], list[str | Path]]
    answers: tuple[str, ...] = ("SSE", "JSON")
    # Its first answer of each kind takes long: classes are loaded for it.
    is_slow_at_first: bool = False


def python_server(name: str, kind: str, python: str) -> Server:
    """A server on one of the Python SDKs, with the interpreter that has it."""
    return Server(name, lambda port, store: [python, HERE / "diagnostics.py", kind, str(port), store])


def node_server(node: str) -> Server:
    """The server on the official TypeScript SDK."""
    program = ROOT / "bindings/node/conformance/diagnostics.mts"
    package = ROOT / "examples/node/node_modules/@modelcontextprotocol/server/package.json"
    version = json.loads(package.read_text())["version"]
    return Server(
        f"TypeScript SDK {version}",
        lambda port, store: [node, program, "--port", str(port), "--store", store],
    )


def java_server(classes: Path) -> Server:
    """The server on the official SDK for Java, which chooses by itself how it answers."""
    program = ROOT / "bindings/java/conformance/Diagnostics.java"
    libraries = classes.parent / "libraries"
    version = next(libraries.glob("mcp-core-*.jar")).stem.removeprefix("mcp-core-")
    return Server(
        f"Java SDK {version}",
        lambda port, store: [
            *("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{classes}:{libraries}/*", program),
            *("--port", str(port), "--store", store),
        ],
        ("either",),
        is_slow_at_first=True,
    )


class Row(NamedTuple):
    """What came of one scenario."""

    server: str
    answers: str
    scenario: str
    counts: Counter[str]

    def __str__(self) -> str:
        counts = [self.counts[status] for status in ("SUCCESS", "FAILURE", "WARNING", "SKIPPED")]
        return f"| {' | '.join(map(str, [self.server, self.answers, self.scenario, *counts]))} |"


def free_port() -> int:
    """A port of loopback that is free now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def play(suite: Path, port: int, scenario: str, counts: bool = True) -> Counter[str]:
    """Run a scenario; gives how many checks have which status, and prints which are not passed if that counts."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                suite / "node_modules/.bin/node",
                suite / "node_modules/.bin/conformance",
                *("server", "--url", f"http://127.0.0.1:{port}/mcp", "--scenario", scenario, "--output-dir", folder),
            ],
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        found = list(Path(folder).glob("*/checks.json"))
        if len(found) != 1:
            raise RuntimeError(f"{scenario} gave no checks: {done.stdout}{done.stderr}")
        checks = json.loads(found[0].read_text())
    for check in checks:
        if counts and check["status"] in ("FAILURE", "WARNING"):
            print(f"{check['status']}: {check['id']}: {check.get('errorMessage')}", file=sys.stderr)
    return Counter(check["status"] for check in checks)


def play_all(suite: Path, server: Server, answers: str, with_tasks: bool) -> list[Row]:
    """Start a server, and run the scenarios against it."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        options = [*(["--json"] if answers == "JSON" else []), *([] if with_tasks else ["--without-tasks"])]
        command = [*server.command(port, f"sqlite:{folder}/tasks.db"), *options]
        log = Path(folder) / "log"
        with log.open("wb") as output:
            environment = {**os.environ, "PYTHONPATH": str(ROOT / "bindings/python/src")}
            running = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            wait_for(running, port, log)
            if server.is_slow_at_first:
                play(suite, port, ALONE, counts=False)
            if not with_tasks:
                return [Row(server.name, answers, f"{ALONE}, without tasks", play(suite, port, ALONE))]
            with ThreadPoolExecutor(3) as pool:
                played = list(pool.map(lambda scenario: play(suite, port, scenario), SCENARIOS))
            rows = [Row(server.name, answers, *one) for one in zip(SCENARIOS, played, strict=True)]
            return [*rows, Row(server.name, answers, ALONE, play(suite, port, ALONE))]
        finally:
            running.send_signal(signal.SIGKILL)
            running.wait()


def wait_for(running: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until a server takes connections."""
    for _ in range(600):
        if running.poll() is not None:
            raise RuntimeError(f"the server ended: {log.read_text()}")
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {log.read_text()}")


def version(python: str, package: str) -> str:
    """The version of a package that an interpreter has."""
    program = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    return subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Run everything; gives the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--fastmcp", metavar="PYTHON", action="append", default=[])
    parser.add_argument("--node", metavar="NODE")
    parser.add_argument("--java", metavar="CLASSES", type=Path)
    parser.add_argument("--write", action="store_true", help="write the document instead of comparing it")
    arguments = parser.parse_args()
    servers = [python_server(f"official SDK {version(sys.executable, 'mcp')}", "official", sys.executable)]
    for python in [sys.executable, *arguments.fastmcp]:
        servers.append(python_server(f"FastMCP {version(python, 'fastmcp')}", "fastmcp", python))
    if arguments.node:
        servers.append(node_server(arguments.node))
    if arguments.java:
        servers.append(java_server(arguments.java))
    rows: list[Row] = []
    for server in servers:
        for answers in server.answers:
            for with_tasks in (True, False):
                new = play_all(arguments.suite, server, answers, with_tasks)
                print(*new, sep="\n", flush=True)
                rows += new
    package = json.loads((arguments.suite / "node_modules/@modelcontextprotocol/conformance/package.json").read_text())
    text = TEXT.format(suite=package["version"], rows="\n".join(map(str, rows)))
    bad = sum(row.counts["FAILURE"] + row.counts["WARNING"] for row in rows)
    if bad:
        print(f"{bad} checks failed or warned", file=sys.stderr)
        return 1
    if arguments.write:
        DOCUMENT.write_text(text)
    elif not DOCUMENT.exists() or DOCUMENT.read_text() != text:
        print("docs/conformance.md is not what came out: make conformance WRITE=--write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
