"""An operator's look into a store: ``python -m taskhold list | show | watch | stats | check URL``.

Looks into a taskhold store. Prints a table on a terminal, and JSON lines into a pipe or a file. It is trusted: it sees
every partition, and the A2A tasks of any owner that is named. It changes nothing, and creates no store that is not
there.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from . import Events, StateProvider, Store, TaskholdError, TaskManager, UnsupportedError, json_get, version
from ._decode import loads
from .types import Revisioned

_STATUSES = ("working", "input_required", "completed", "failed", "cancelled")
_PAGE = 100


class Unsound(Exception):
    """The check was carried out and found something: it is printed already."""


class Refused(Exception):
    """The command cannot be carried out; the message says why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line. Gives the exit status: 0, 1 on failure, 2 on a wrong command line, 130 on Ctrl-C."""
    parser = _parser()
    given = parser.parse_args(arguments)
    _check_combination(parser, given)
    try:
        _check_there(given.url)
        with Store(given.url) as store:
            given.command(store, given)
        sys.stdout.flush()
    except TaskholdError as error:
        print(f"taskhold: {error}", file=sys.stderr)
        return 1
    except Refused as refused:
        print(f"taskhold: {refused}", file=sys.stderr)
        return 1
    except Unsound:
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read has seen enough. What is still buffered goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="taskhold", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--version", action="version", version=f"taskhold {version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, function: Any, explanation: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=explanation, description=explanation.capitalize() + ".")
        added.set_defaults(command=function)
        added.add_argument("url", metavar="URL", help="the store: sqlite:PATH")
        return added

    def of_tasks(added: argparse.ArgumentParser) -> argparse.ArgumentParser:
        added.add_argument("--name", help='the name that the managers or providers use (default: "default")')
        added.add_argument("--a2a", action="store_true", help="A2A tasks instead of MCP tasks")
        return added

    listing = of_tasks(command("list", _list, "list tasks"))
    listing.add_argument("--status", help=f"only these: {', '.join(_STATUSES)}, or an A2A state")
    listing.add_argument("--endpoint", help="only tasks of this endpoint")
    listing.add_argument("--partition", help="only tasks of this authorization partition")
    listing.add_argument("--owner", help="whose A2A tasks (default: the anonymous owner's)")
    listing.add_argument("--limit", type=int, default=0, help="at most so many (default: all)")
    show = of_tasks(command("show", _show, "show one task with its payloads"))
    show.add_argument("task_id", metavar="TASK_ID")
    show.add_argument("--owner", help="whose A2A task (default: the anonymous owner's)")
    watch = of_tasks(command("watch", _watch, "follow changes as they happen, until Ctrl-C"))
    watch.add_argument("--count", type=int, default=0, help="stop after so many events")
    command("stats", _stats, "tell how the store is filled")
    command("check", _check, "check the store's integrity")
    return parser


def _check_combination(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Refuse what would be passed over, and say whose A2A tasks are meant when that is not said."""
    if not hasattr(given, "a2a"):
        return
    of_the_other_kind = ("endpoint", "partition") if given.a2a else ("owner",)
    for option in of_the_other_kind:
        if getattr(given, option, None) is not None:
            parser.error(f"--{option} is not for {'A2A' if given.a2a else 'MCP'} tasks")
    if given.a2a and hasattr(given, "owner") and given.owner is None:
        print("taskhold: only the anonymous owner's; --owner NAME for another's", file=sys.stderr)


def _check_there(url: str) -> None:
    scheme, _, path = url.partition(":")
    if scheme == "sqlite" and not Path(path).is_file():
        raise Refused("there is no such store")


def _named(given: argparse.Namespace) -> dict[str, Any]:
    return {} if given.name is None else {"name": given.name}


# Commands


def _list(store: Store, given: argparse.Namespace) -> None:
    filters = {name: getattr(given, name) for name in ("status", "endpoint") if getattr(given, name) is not None}
    if given.a2a:
        provider = StateProvider(store, **_named(given))
        pages = _pages(lambda **page: provider.list_tasks_json(given.owner, **filters, **page))
        _print_rows(
            _limited(_elements(pages, "tasks"), given.limit),
            {"TASK": "/id", "STATE": "/status/state", "CONTEXT": "/contextId", "UPDATED": "/status/timestamp"},
        )
        return
    if given.partition is not None:
        filters["authorization_partition"] = given.partition
    manager = TaskManager(store, **_named(given))
    pages = _pages(lambda **page: manager.list_tasks_json(**filters, **page))
    _print_rows(_limited(_elements(pages, "records"), given.limit), _COLUMNS)


def _show(store: Store, given: argparse.Namespace) -> None:
    record: Revisioned[str] | str | None
    if given.a2a:
        record = StateProvider(store, **_named(given)).get_task_json(given.owner, given.task_id)
        record = None if record is None else record.value
    else:
        record = TaskManager(store, **_named(given)).find_task_json(given.task_id)
    if record is None:
        raise Refused("there is no such task, or it expired")
    if sys.stdout.isatty():
        for line in json.dumps(loads(record), indent=2, ensure_ascii=False, default=str).splitlines():
            print(_printable(line))
    else:
        print(_one_line(record))


def _watch(store: Store, given: argparse.Namespace) -> None:
    if given.a2a:
        provider = StateProvider(store, **_named(given))
        events, find = provider.open_events(), None
    else:
        manager = TaskManager(store, **_named(given))
        events, find = manager.open_events(), manager.find_task_json
    for count, event in enumerate(_each(events), 1):
        task_id = event.get("taskId")
        record = find(task_id) if find is not None and task_id is not None else None
        _print_event(event, record, first=count == 1)
        if count == given.count:
            return


def _stats(store: Store, given: argparse.Namespace) -> None:
    text = store.stats_json()
    if not sys.stdout.isatty():
        print(_one_line(text))
        return
    for name, value in _flat(loads(text)):
        print(f"{name:<24} {_printable(str(value))}")


def _check(store: Store, given: argparse.Namespace) -> None:
    try:
        text = store.check_json()
    except UnsupportedError:
        raise Refused("this library has no check") from None
    if not sys.stdout.isatty():
        print(_one_line(text))
    else:
        found = loads(text)
        for problem in found["problems"]:
            print(_printable(f"problem      {problem}"))
        for record in found["unreadable"]:
            print(_printable(f"unreadable   {record['kind']} {record['id']} of {record['name']}"))
        print("the store is sound" if found["ok"] else "the store is not sound")
    if json_get(text, "/ok") != "true":
        raise Unsound


# Output

_COLUMNS = {
    "TASK": "/task/taskId",
    "STATUS": "/task/status",
    "REV": "/revision",
    "UPDATED": "/task/lastUpdatedAt",
    "ENDPOINT": "/endpoint",
    "PARTITION": "/authorizationPartition",
    "MESSAGE": "/task/statusMessage",
}
_WIDTHS = {
    "TASK": 36,
    "STATUS": 14,
    "STATE": 14,
    "REV": 5,
    "UPDATED": 24,
    "CONTEXT": 20,
    "ENDPOINT": 12,
    "PARTITION": 12,
}


def _each(events: Events) -> Iterator[Any]:
    with events:
        yield from events


def _pages(read: Any) -> Iterator[str]:
    token = ""
    while True:
        page = read(page_size=_PAGE, **({"page_token": token} if token else {}))
        yield page
        token = json_get(page, "/nextPageToken") or ""
        if not token:
            return


def _elements(pages: Iterable[str], member: str) -> Iterator[str]:
    for page in pages:
        for index in range(_PAGE):
            # As text, so that numbers keep their spelling.
            element = json_get(page, f"/{member}/{index}")
            if element is None:
                break
            yield element
        for index in range(_PAGE):
            corrupt = json_get(page, f"/corrupt/{index}")
            if corrupt is None:
                break
            print(f"taskhold: a row cannot be read: {_printable(corrupt)}", file=sys.stderr)


def _limited(elements: Iterator[str], limit: int) -> Iterator[str]:
    for at, element in enumerate(elements, 1):
        yield element
        if at == limit:
            return


def _print_rows(elements: Iterable[str], columns: dict[str, str]) -> None:
    if not sys.stdout.isatty():
        for element in elements:
            print(_one_line(element))
        return
    _print_row(columns)
    for element in elements:
        _print_row({name: _cell(element, pointer) for name, pointer in columns.items()}, header=False)


def _print_event(event: dict[str, Any], record: str | None, *, first: bool) -> None:
    if not sys.stdout.isatty():
        text = json.dumps(event, ensure_ascii=False)
        print(text if record is None else f'{text[:-1]}, "record": {_one_line(record)}}}', flush=True)
        return
    names = ["EVENT", *_COLUMNS]
    if first:
        _print_row(dict.fromkeys(names, ""))
    cells = {name: "" if record is None else _cell(record, pointer) for name, pointer in _COLUMNS.items()}
    _print_row({"EVENT": event["event"], **cells, "TASK": event.get("taskId", "")}, header=False)


def _print_row(cells: dict[str, str], *, header: bool = True) -> None:
    line = "  ".join(
        f"{(name if header else _printable(cell)):<{_WIDTHS.get(name, 20)}}" for name, cell in cells.items()
    )
    print(line[: max(shutil.get_terminal_size().columns, 40)].rstrip(), flush=True)


def _cell(element: str, pointer: str) -> str:
    value = json_get(element, pointer)
    return "-" if value in (None, "null") else str(value)


def _flat(value: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, member in value.items():
        if isinstance(member, dict):
            yield from _flat(member, f"{before}{name}.")
        else:
            yield before + name, member


def _one_line(text: str) -> str:
    # Strings in JSON hold no raw line ends, so these stand between values only.
    return text.replace("\n", " ").replace("\r", " ")


def _printable(text: str) -> str:
    """What a stored text may do to a terminal: nothing."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


if __name__ == "__main__":
    sys.exit(main())
