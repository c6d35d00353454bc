"""What the operator's commands print: tables on a terminal, JSON lines into a pipe or a file."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from . import Events, json_get

PAGE = 100

COLUMNS = {
    "TASK": "/task/taskId",
    "STATUS": "/task/status",
    "REV": "/revision",
    "UPDATED": "/task/lastUpdatedAt",
    "ENDPOINT": "/endpoint",
    "PARTITION": "/authorizationPartition",
    "MESSAGE": "/task/statusMessage",
}
WIDTHS = {
    "TASK": 36,
    "SESSION": 32,
    "INITIALIZED": 11,
    "ACTIVE": 24,
    "TERMINATED": 24,
    "STATUS": 14,
    "STATE": 14,
    "REV": 5,
    "UPDATED": 24,
    "CONTEXT": 20,
    "OWNER": 20,
    "ENDPOINT": 12,
    "PARTITION": 12,
    "READY": 9,
    "SCHEDULED": 9,
    "LEASED": 9,
    "PARKED": 9,
    "ATTEMPT": 7,
    "UNTIL": 24,
}


def each(events: Events) -> Iterator[Any]:
    """The events of a queue, which is closed at the end."""
    with events:
        yield from events


def pages(read: Any) -> Iterator[str]:
    """The pages of a listing, as texts."""
    token = ""
    while True:
        page = read(page_size=PAGE, **({"page_token": token} if token else {}))
        yield page
        token = json_get(page, "/nextPageToken") or ""
        if not token:
            return


def elements(pages: Iterable[str], member: str) -> Iterator[str]:
    """The elements of pages, as texts; what cannot be read is named on standard error."""
    for page in pages:
        for index in range(PAGE):
            # As text, so that numbers keep their spelling.
            element = json_get(page, f"/{member}/{index}")
            if element is None:
                break
            yield element
        for index in range(PAGE):
            corrupt = json_get(page, f"/corrupt/{index}")
            if corrupt is None:
                break
            print(f"taskhold: a row cannot be read: {printable(corrupt)}", file=sys.stderr)


def limited(elements: Iterator[str], limit: int) -> Iterator[str]:
    """At most so many; all for 0."""
    for at, element in enumerate(elements, 1):
        yield element
        if at == limit:
            return


def print_rows(elements: Iterable[str], columns: dict[str, str]) -> None:
    """Print elements: a table on a terminal, lines elsewhere."""
    if not sys.stdout.isatty():
        for element in elements:
            print(one_line(element))
        return
    print_row(columns)
    for element in elements:
        print_row({name: cell(element, pointer) for name, pointer in columns.items()}, header=False)


def print_event(event: dict[str, Any], record: str | None, *, first: bool) -> None:
    """Print an event with the record that it is about."""
    if not sys.stdout.isatty():
        text = json.dumps(event, ensure_ascii=False)
        print(text if record is None else f'{text[:-1]}, "record": {one_line(record)}}}', flush=True)
        return
    names = ["EVENT", *COLUMNS]
    if first:
        print_row(dict.fromkeys(names, ""))
    cells = {name: "" if record is None else cell(record, pointer) for name, pointer in COLUMNS.items()}
    print_row({"EVENT": event["event"], **cells, "TASK": event.get("taskId", "")}, header=False)


def print_row(cells: dict[str, str], *, header: bool = True) -> None:
    """Print a line of a table: its names, or its cells."""
    line = "  ".join(f"{(name if header else printable(cell)):<{WIDTHS.get(name, 20)}}" for name, cell in cells.items())
    print(line[: max(shutil.get_terminal_size().columns, 40)].rstrip(), flush=True)


def cell(element: str, pointer: str) -> str:
    """A cell of a table."""
    value = json_get(element, pointer)
    return "-" if value in (None, "null") else str(value)


def flat(value: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The members of an object and of those in it, by their paths."""
    for name, member in value.items():
        if isinstance(member, dict):
            yield from flat(member, f"{before}{name}.")
        else:
            yield before + name, member


def one_line(text: str) -> str:
    """A JSON text on one line."""
    # Strings in JSON hold no raw line ends, so these stand between values only.
    return text.replace("\n", " ").replace("\r", " ")


def printable(text: str) -> str:
    """What a stored text may do to a terminal: nothing."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
