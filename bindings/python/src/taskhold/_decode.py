"""JSON texts of the library as Python values."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any


def loads(given: str | bytes) -> Any:
    """A result as Python values. An integer of more than 4300 digits comes as a Decimal, exact too."""
    try:
        return json.loads(given)
    except ValueError:
        # Python refuses to convert such integers; the text itself is always well-formed.
        return json.loads(given, parse_int=_any_integer)


def _any_integer(digits: str) -> int | Decimal:
    try:
        return int(digits)
    except ValueError:
        return Decimal(digits)
