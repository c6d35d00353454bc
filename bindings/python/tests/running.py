"""Runs Python programs in processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"


def steady(attempt: Callable[[], float]) -> None:
    """The longest gap of a heartbeat is below 250 ms.

    A machine that is busy with other work pauses any program now and then, but hardly in each of five attempts.
    """
    gaps: list[float] = []
    while not gaps or gaps[-1] >= 0.25:
        assert len(gaps) < 5, f"the heartbeat stood still for {gaps} seconds"
        gaps.append(attempt())


def environment(**changes: str | None) -> dict[str, str]:
    """The tests' environment, in which the package is found as it is here."""
    result = dict(os.environ)
    result["PYTHONPATH"] = str(SOURCE)
    for name, value in changes.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = value
    return result


def complaints(said: str) -> str:
    """What a program said on standard error, but for what asyncio says in development mode of a slow machine."""
    return re.sub(r"^Executing <.+> took \d+\.\d+ seconds\n", "", said, flags=re.M)


def python(
    program: str, *arguments: str, timeout: float = 60, **changes: str | None
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd="/",
        env=environment(**changes),
    )
    done.stderr = complaints(done.stderr)
    return done


def succeeds(program: str, *arguments: str, timeout: float = 60) -> str:
    """Run a program that must end well and say nothing on standard error."""
    done = python(program, *arguments, timeout=timeout)
    assert (done.returncode, done.stderr) == (0, ""), f"{done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout
