"""Arguments and expected values out of JSON: variables (`${name}`) and generated texts (`{"$text": […]}`)."""

from __future__ import annotations

import json
from typing import Any


def dumps(value: Any) -> str:
    """Compact JSON text."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def expand(value: Any, variables: dict[str, Any]) -> Any:
    """A value with its variables and generated texts put in; a text that is not UTF-8 becomes bytes."""
    if isinstance(value, str):
        return expand_string(value, variables)
    if isinstance(value, list):
        return [expand(element, variables) for element in value]
    if isinstance(value, dict):
        if value.keys() == {"$text"}:
            joined = b"".join(piece(one, variables) for one in value["$text"])
            try:
                return joined.decode()
            except UnicodeDecodeError:
                return joined
        return {expand_string(key, variables): expand(member, variables) for key, member in value.items()}
    return value


def expand_string(text: str, variables: dict[str, Any]) -> Any:
    """A string with its variables put in; when it is one variable and nothing else, the variable's value."""
    if text.startswith("${") and text.endswith("}") and text.count("${") == 1:
        return variables[text[2:-1]]
    first, *parts = text.split("${")
    whole = [first]
    for part in parts:
        name, closed, rest = part.partition("}")
        assert closed, f"a variable does not end: {text}"
        value = variables[name]
        whole += [value if isinstance(value, str) else dumps(value), rest]
    return "".join(whole)


def piece(given: Any, variables: dict[str, Any]) -> bytes:
    """A piece of a generated text."""
    if isinstance(given, str):
        value = expand_string(given, variables)
        return (value if isinstance(value, str) else dumps(value)).encode()
    if given.keys() == {"repeat", "times"}:
        return str(given["repeat"]).encode() * int(given["times"])
    assert given.keys() == {"hex"}, f"{given} is no piece of a text"
    return bytes.fromhex(given["hex"])


def c_text(value: Any) -> bytes | None:
    """What crosses for a C string."""
    if value is None or isinstance(value, bytes):
        return value
    text = (value if isinstance(value, str) else dumps(value)).encode()
    assert b"\0" not in text, "a C string cannot hold a NUL"
    return text
