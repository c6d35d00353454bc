"""Compares an output with what a step expects."""

from __future__ import annotations

import json
import re
from typing import Any

import taskhold

MATCHERS = ("null", "exact", "subset", "bytes", "text", "absent", "differs", "contains")
PLACEHOLDERS = ("$any", "$string", "$integer", "$timestamp", "$uuid4", "$session_id")
# These look at the output's text; the others at its value.
OF_TEXT = {"bytes", "text", "absent", "differs", "contains"}

_FORMS = {
    "$timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
    "$uuid4": r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "$session_id": r"[!-~]{22,1024}",
}


class Number(str):
    """A number that is no small integer, by its text."""

    __slots__ = ()


def parse(text: str) -> Any:
    """JSON whose numbers keep their digits."""
    return json.loads(
        text, parse_float=Number, parse_int=lambda digits: int(digits) if len(digits) < 25 else Number(digits)
    )


def differences(matcher: dict[str, Any], text: str | None, value: Any) -> list[str]:
    """Where the output is not as it should be: its text where there is one, and its value."""
    if "null" in matcher:
        return [] if text is None else [f"should be NULL, is {text}"]
    if text is None:
        return ["is NULL"]
    found: list[str] = []
    if "exact" in matcher:
        compare("", matcher["exact"], value, True, found)
    if "subset" in matcher:
        compare("", matcher["subset"], value, False, found)
    if OF_TEXT & matcher.keys():
        if "bytes" in matcher and text != matcher["bytes"]:
            found.append(f"should be {matcher['bytes']!r}, is {text!r}")
        for pointer, wanted in matcher.get("text", {}).items():
            if (there := taskhold.json_get(text, pointer)) != wanted:
                found.append(f"{pointer}: should be {wanted!r}, is {there!r}")
        for pointer in matcher.get("absent", []):
            if (there := taskhold.json_get(text, pointer)) is not None:
                found.append(f"{pointer}: should not be there, is {there!r}")
        for pointer, unwanted in matcher.get("differs", {}).items():
            if taskhold.json_get(text, pointer) in (None, unwanted):
                found.append(f"{pointer}: should be there and differ from {unwanted!r}")
        found += [f"should contain {part!r}" for part in matcher.get("contains", []) if part not in text]
    return found


def compare(path: str, wanted: Any, actual: Any, exact: bool, found: list[str]) -> None:
    """Both as JSON values; the order of members does not count."""
    if isinstance(wanted, dict) and isinstance(actual, dict):
        if exact and (more := actual.keys() - wanted.keys()):
            found.append(f"{path}: should not have {sorted(more)}")
        for key, member in wanted.items():
            if key in actual:
                compare(f"{path}/{key}", member, actual[key], exact, found)
            else:
                found.append(f"{path}/{key} is missing")
    elif isinstance(wanted, list) and isinstance(actual, list):
        if len(wanted) != len(actual):
            found.append(f"{path}: should have {len(wanted)} elements, has {len(actual)}: {actual!r}")
        for at, (one, other) in enumerate(zip(wanted, actual, strict=False)):
            compare(f"{path}/{at}", one, other, exact, found)
    elif isinstance(wanted, str) and wanted.startswith("$"):
        if not stands_for(wanted, actual):
            found.append(f"{path}: should be {wanted}, is {actual!r}")
    elif not same(wanted, actual):
        found.append(f"{path}: should be {wanted!r}, is {actual!r}")


def same(wanted: Any, actual: Any) -> bool:
    """Equality that tells 1 from true and from 1.0."""
    return type(wanted) is type(actual) and bool(wanted == actual)


def stands_for(placeholder: str, actual: Any) -> bool:
    """Whether a placeholder stands for a value."""
    if placeholder == "$any":
        return True
    if placeholder == "$integer":
        return isinstance(actual, int) and not isinstance(actual, bool)
    if not isinstance(actual, str) or isinstance(actual, Number):
        return False
    return placeholder == "$string" or re.fullmatch(_FORMS[placeholder], actual, re.S) is not None


def at(pointer: str, value: Any) -> Any:
    """The value at an RFC 6901 pointer."""
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        value = value[int(token)] if isinstance(value, list) else value[token]
    return value
