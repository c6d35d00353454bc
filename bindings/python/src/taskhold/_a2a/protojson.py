"""Protobuf messages as their JSON (ProtoJSON) and back, field by field in tables that are made once for each type.

The library for this, ``google.protobuf.json_format``, goes through descriptors anew for each value: reading a task
takes it three times as long. It reads what these tables do not know and other hosts may have written: other spellings,
nulls, members of later versions.
"""

from __future__ import annotations

import base64
import functools
import math
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from google.protobuf.json_format import ParseDict
from google.protobuf.unknown_fields import UnknownFieldSet


def read(document: dict[str, Any], message: Any) -> None:
    """Read a document into an empty message; members that the message does not have are passed over.

    Raises:
        ParseError: the document is not one of the message.
    """
    try:
        _read(message, document)
    except (AttributeError, LookupError, TypeError, ValueError):
        message.Clear()
        ParseDict(document, message, ignore_unknown_fields=True)


class Writer:
    """Writes messages as the protocol's JSON, and notices what JSON cannot hold."""

    def __init__(self) -> None:
        self.exact = True

    def message(self, message: Any, without: tuple[str, ...] = ()) -> dict[str, Any]:
        """Write a message, without some of its fields."""
        self.known(message)
        written = {}
        names = _fields(message.DESCRIPTOR).by_number
        for field, value in message.ListFields():
            name, write = names[field.number]
            if name not in without:
                written[name] = write(self, value)
        return written

    def known(self, message: Any) -> None:
        """Notice fields that this SDK has no name for."""
        if len(UnknownFieldSet(message)):
            self.exact = False

    def number(self, number: float) -> float | int | None:
        """Write a number as JSON's other writers do: a whole one without a point, unless it is -0."""
        if not math.isfinite(number):
            self.exact = False
            return None
        whole = int(number)
        return whole if whole == number and (whole or math.copysign(1, number) > 0) else number

    def name(self, values: Any, number: int) -> str:
        """Write the name of an enum's value, or the number of one that this SDK does not know."""
        known = values.get(number)
        if known is None:
            self.exact = False
            return str(number)
        return str(known.name)

    def time(self, timestamp: Any) -> str | None:
        """Write a time."""
        self.known(timestamp)
        try:
            return str(timestamp.ToJsonString())
        except ValueError:
            self.exact = False
            return None

    def struct(self, struct: Any) -> dict[str, Any]:
        """Write an object."""
        self.known(struct)
        return {name: self.value(value) for name, value in struct.fields.items()}

    def values(self, array: Any) -> list[Any]:
        """Write an array."""
        self.known(array)
        return [self.value(value) for value in array.values]

    def value(self, value: Any) -> Any:
        """Write any value."""
        self.known(value)
        match value.WhichOneof("kind"):
            case "string_value":
                return value.string_value
            case "number_value":
                return self.number(value.number_value)
            case "bool_value":
                return value.bool_value
            case "struct_value":
                return self.struct(value.struct_value)
            case "list_value":
                return self.values(value.list_value)
            case "null_value":
                return None
        return self.lost(value)

    def lost(self, value: object) -> Any:
        """Write nothing for what JSON has no place for."""
        self.exact = False
        return None


_Write: TypeAlias = Callable[[Writer, Any], Any]
# Reads a value into a field of a message, or a document into the message itself.
_Read: TypeAlias = Callable[[Any, Any], None]


class _Fields(NamedTuple):
    """The fields of a kind of message: by number, the name in JSON and what writes; by that name, what reads."""

    by_number: dict[int, tuple[str, _Write]]
    by_name: dict[str, _Read]


@functools.cache
def _fields(descriptor: Any) -> _Fields:
    fields = descriptor.fields
    return _Fields(
        {field.number: (field.json_name, _writing(field)) for field in fields},
        {field.json_name: _reading(field) for field in fields},
    )


def _writing(field: Any) -> _Write:
    write = _writing_one(field)
    if _is_repeated(field):
        return lambda writer, values: [write(writer, value) for value in values]
    return write


def _writing_one(field: Any) -> _Write:
    if field.type in _plain(field):
        return lambda writer, value: value
    if field.type == field.TYPE_BYTES:
        return lambda writer, value: base64.b64encode(value).decode()
    if field.type == field.TYPE_ENUM:
        values = dict(field.enum_type.values_by_number)
        return lambda writer, number: writer.name(values, number)
    if _is_message(field):
        return _WRITE.get(field.message_type.full_name, Writer.message)
    # None of the kinds that A2A has today.
    return Writer.lost


def _reading(field: Any) -> _Read:
    name = field.name
    if _is_message(field):
        read = _READ.get(field.message_type.full_name, _read)

        def read_message(message: Any, value: Any) -> None:
            inner = getattr(message, name)
            inner.SetInParent()
            read(inner, value)

        def read_messages(message: Any, values: Any) -> None:
            inner = getattr(message, name)
            for value in values:
                read(inner.add(), value)

        return read_messages if _is_repeated(field) else read_message
    convert = _converting(field)
    if _is_repeated(field):
        return lambda message, values: getattr(message, name).extend([convert(value) for value in values])
    return lambda message, value: setattr(message, name, convert(value))


def _converting(field: Any) -> Callable[[Any], Any]:
    if field.type in _plain(field):
        return _as_it_is
    if field.type == field.TYPE_BYTES:
        return lambda value: base64.b64decode(value, validate=True)
    if field.type == field.TYPE_ENUM:
        numbers = {name: value.number for name, value in field.enum_type.values_by_name.items()}
        return numbers.__getitem__
    return _unknown


def _plain(field: Any) -> tuple[int, ...]:
    return field.TYPE_STRING, field.TYPE_BOOL, field.TYPE_INT32, field.TYPE_UINT32


def _is_repeated(field: Any) -> bool:
    # Versions of protobuf before 6.31 have the latter only.
    repeated = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if repeated is None else repeated)


def _is_message(field: Any) -> bool:
    if field.type != field.TYPE_MESSAGE or field.message_type.GetOptions().map_entry:
        return False
    name = field.message_type.full_name
    return name in _WRITE or not name.startswith("google.")


def _as_it_is(value: Any) -> Any:
    return value


def _unknown(value: Any) -> Any:
    raise TypeError("a field of a kind that these tables do not know")


# Lengths of times that are written with no fraction, milliseconds or microseconds.
_TIMES = (20, 24, 27)


def _read(message: Any, document: Any) -> None:
    by_name = _fields(message.DESCRIPTOR).by_name
    for name, value in document.items():
        by_name[name](message, value)


def _read_time(timestamp: Any, text: Any) -> None:
    if text[-1:] == "Z" and len(text) in _TIMES:
        # A fifth of what the reading of a task takes otherwise.
        timestamp.FromDatetime(datetime.fromisoformat(text))
    else:
        timestamp.FromJsonString(text)


def _read_struct(struct: Any, document: Any) -> None:
    for name, value in document.items():
        _read_value(struct.fields[name], value)


def _read_values(array: Any, values: Any) -> None:
    for value in values:
        _read_value(array.values.add(), value)


def _read_value(message: Any, value: Any) -> None:
    match value:
        case str():
            message.string_value = value
        case bool():
            message.bool_value = value
        case int() | float():
            message.number_value = value
        case None:
            message.null_value = 0
        case dict():
            message.struct_value.SetInParent()
            _read_struct(message.struct_value, value)
        case list():
            message.list_value.SetInParent()
            _read_values(message.list_value, value)
        case _:
            raise TypeError("not a value of JSON")


_WRITE: dict[str, _Write] = {
    "google.protobuf.Timestamp": Writer.time,
    "google.protobuf.Struct": Writer.struct,
    "google.protobuf.ListValue": Writer.values,
    "google.protobuf.Value": Writer.value,
}

_READ: dict[str, _Read] = {
    "google.protobuf.Timestamp": _read_time,
    "google.protobuf.Struct": _read_struct,
    "google.protobuf.ListValue": _read_values,
    "google.protobuf.Value": _read_value,
}
