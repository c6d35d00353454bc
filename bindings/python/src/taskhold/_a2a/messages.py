"""Messages of A2A as the protocol's JSON, and back, with nothing lost.

JSON has no place for some of what a message can hold: NaN, values without a kind, fields and enum values that this SDK
does not know yet, times that are none. Whatever holds such a thing (a status, a message of the history, an artifact, a
config, or the rest of a task) also has its protobuf form, in one more member. Events are kept in that form alone.
"""

from __future__ import annotations

import base64
from typing import Any, TypeAlias, TypeVar

from a2a.types.a2a_pb2 import Message, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.json_format import ParseError
from google.protobuf.message import DecodeError

from .._errors import CorruptError
from .._json import dumps
from .protojson import Writer, read

Event: TypeAlias = Message | Task | TaskStatusUpdateEvent | TaskArtifactUpdateEvent
M = TypeVar("M")

# A point keeps it apart from every member that the protocol may ever have. Null stands for a status that is not there.
_PROTOBUF = "taskhold.protobuf"

# Parts of a task that are written and read by themselves: the library cuts some of them away in listings.
_PARTS = ("status", "history", "artifacts")

_UNSPECIFIED = TaskState.Name(TaskState.TASK_STATE_UNSPECIFIED)
_NO_STATUS = {"state": _UNSPECIFIED, _PROTOBUF: None}


def task_text(task: Task) -> str:
    """The JSON text of a task."""
    writer = Writer()
    document = writer.message(task, without=_PARTS)
    if not writer.exact:
        rest = Task()
        rest.CopyFrom(task)
        for part in _PARTS:
            rest.ClearField(part)
        document[_PROTOBUF] = _encoded(rest)
    document["status"] = _document(task.status) if task.HasField("status") else _NO_STATUS
    document["status"].setdefault("state", _UNSPECIFIED)
    if task.artifacts:
        document["artifacts"] = [_document(artifact) for artifact in task.artifacts]
    if task.history:
        document["history"] = [_document(message) for message in task.history]
    return dumps(document)


def read_task(document: dict[str, Any]) -> Task:
    """The task of a document.

    Raises:
        CorruptError: the document is not the protocol's.
    """
    task = Task()
    _read({name: value for name, value in document.items() if name not in _PARTS}, task)
    status = document["status"]
    if status.get(_PROTOBUF, "") is not None:
        task.status.SetInParent()
        _read({**status, "state": _state(status["state"])}, task.status)
    for artifact in document.get("artifacts") or ():
        _read(artifact, task.artifacts.add())
    for message in document.get("history") or ():
        _read(message, task.history.add())
    return task


def config_text(config: Any) -> str:
    """The JSON text of a push notification config."""
    return dumps(_document(config))


def read_config(document: dict[str, Any], config: M) -> M:
    """Read a push notification config into a message, and give it."""
    _read(document, config)
    return config


def event_value(event: Event) -> str:
    """What a task's log has for an event."""
    return _encoded(to_stream_response(event))


def read_event(value: Any) -> Event | None:
    """The event in a task's log; None for one that another kind of host appended, or that this SDK does not know."""
    response = StreamResponse()
    try:
        response.ParseFromString(base64.b64decode(value, validate=True))
    except (TypeError, ValueError, DecodeError):
        return None
    kind = response.WhichOneof("payload")
    event: Event | None = kind and getattr(response, kind)
    return event


def _encoded(message: Any) -> str:
    return base64.b64encode(message.SerializeToString()).decode()


def _document(message: Any) -> dict[str, Any]:
    writer = Writer()
    document = writer.message(message)
    if not writer.exact:
        document[_PROTOBUF] = _encoded(message)
    return document


def _read(document: dict[str, Any], message: Any) -> None:
    try:
        encoded = document.get(_PROTOBUF)
        if encoded is None:
            read(document, message)
        else:
            message.ParseFromString(base64.b64decode(encoded, validate=True))
    except (AttributeError, DecodeError, ParseError, TypeError, ValueError) as error:
        raise CorruptError("a stored A2A task or config is not of the protocol's form", reason="corrupt_row") from error


def _state(spelled: str) -> str:
    """A state as this version of the protocol spells it: hosts of earlier versions write ``input-required``."""
    if spelled in TaskState.keys():  # noqa: SIM118 - of an enum, not of a dict
        return spelled
    return "TASK_STATE_" + spelled.upper().replace("-", "_").replace("CANCELLED", "CANCELED")
