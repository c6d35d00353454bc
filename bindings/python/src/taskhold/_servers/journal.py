"""What a run leaves to the next attempt, in the checkpoint of its task."""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Mapping
from typing import Any


class Journal:
    """The tool's own checkpoint, and the answers that came since it was stored.

    An answer is found again by its question: the n-th one with this content since the checkpoint. So the answers before
    a checkpoint are dropped with it: a tool that goes on from there does not ask for them again.

    Attributes:
        checkpoint: what the tool stored last; None at first.
        answers: the answers by the names of their questions.
        lock: held while the whole is written.
    """

    def __init__(self, stored: Mapping[str, Any] | None = None) -> None:
        self.checkpoint: Any = (stored or {}).get("checkpoint")
        self.answers: dict[str, Any] = dict((stored or {}).get("answers", {}))
        self.lock = asyncio.Lock()
        self._asked: Counter[str] = Counter()

    def name(self, request: Mapping[str, Any]) -> str:
        """The name of the next question with this content."""
        digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:32]
        self._asked[digest] += 1
        return f"{digest}.{self._asked[digest]}"

    def with_answers(self, taken: Mapping[str, Any]) -> dict[str, Any]:
        """What is to be stored with these answers more, by their keys."""
        answers = {key.rpartition(".")[0]: answer for key, answer in taken.items()}
        return {"checkpoint": self.checkpoint, "answers": {**self.answers, **answers}}

    def begin(self, stored: Mapping[str, Any]) -> None:
        """Go on from a checkpoint that was stored."""
        self.checkpoint = stored["checkpoint"]
        self.answers = dict(stored["answers"])
        self._asked.clear()

    def add(self, stored: Mapping[str, Any]) -> None:
        """Have the answers that were stored."""
        self.answers = dict(stored["answers"])


def key(name: str | None) -> str:
    """A key that nobody used before in the life of the task, whoever worked on it; it tells the name."""
    unique = uuid.uuid4().hex
    return unique if name is None else f"{name}.{unique}"
