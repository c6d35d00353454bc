"""include/taskhold.h as data: prototypes, constants, statuses and reasons."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "include/taskhold.h").read_text()
_CODE = re.sub(r"/\*.*?\*/|//[^\n]*|^\s*#.*?$", "", TEXT, flags=re.S | re.M)


class Parameter(NamedTuple):
    type: str
    """Without `const` before a handle, with single spaces: `const char *`, `char **`, `taskhold_store *`."""
    name: str


class Function(NamedTuple):
    returns: str
    parameters: list[Parameter]


def _declaration(text: str) -> Parameter:
    match = re.fullmatch(r"(.*?)(\w+)", " ".join(text.split()))
    assert match, text
    return Parameter(match[1].strip(), match[2])


def _functions() -> dict[str, Function]:
    found = {}
    # A callback's own parameters stand in parentheses inside the list.
    pattern = r"([\w][\w\s]*?[\s*]+)(taskhold_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*;"
    for returns, name, parameters in re.findall(pattern, _CODE):
        listed = [] if parameters.strip() == "void" else re.split(r",(?![^()]*\))", parameters)
        found[name] = Function(
            " ".join(returns.split()), [_declaration(one) for one in listed if "(*" not in one and "release" not in one]
        )
    return found


FUNCTIONS = _functions()
CONSTANTS = {name: int(value, 0) for name, value in re.findall(r"^#define (TASKHOLD_\w+) (\d+)$", TEXT, flags=re.M)}
STATUSES = {
    name.removeprefix("TASKHOLD_").lower(): value
    for name, value in CONSTANTS.items()
    if not re.match(r"TASKHOLD_(VERSION|ABI|RENDER|LIVENESS|WAIT)", name)
}
