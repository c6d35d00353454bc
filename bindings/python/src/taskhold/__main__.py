"""An operator's look into a store: ``python -m taskhold list | show | watch | sessions | work | … URL``.

Looks into a taskhold store. Prints a table on a terminal, and JSON lines into a pipe or a file. It is trusted: it sees
every partition, and the A2A tasks of any owner that is named. Only requeue and fail change something, and ask before
they do. It creates no store that is not there, except the one that copy fills.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import SessionStore, StateProvider, Store, TaskholdError, TaskManager, UnsupportedError, json_get, version
from ._decode import loads
from ._operate import Refused, fail, requeue, work
from ._output import (
    COLUMNS,
    each,
    elements,
    flat,
    limited,
    one_line,
    pages,
    print_event,
    print_rows,
    printable,
)
from .types import Revisioned

_STATUSES = ("working", "input_required", "completed", "failed", "cancelled")


class Unsound(Exception):
    """The check was carried out and found something: it is printed already."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line. Gives the exit status: 0, 1 on failure, 2 on a wrong command line, 130 on Ctrl-C."""
    parser = _parser()
    given = parser.parse_args(arguments)
    _check_combination(parser, given)
    try:
        _check_there(given.url)
        with Store(given.url, **_schema(given, "schema")) as store:
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
    listing.add_argument("--any-owner", action="store_true", help="A2A tasks of all owners, each with its owner")
    listing.add_argument("--limit", type=int, default=0, help="at most so many (default: all)")
    show = of_tasks(command("show", _show, "show one task with its payloads"))
    show.add_argument("task_id", metavar="TASK_ID")
    show.add_argument("--owner", help="whose A2A task (default: the anonymous owner's)")
    watch = of_tasks(command("watch", _watch, "follow changes as they happen, until Ctrl-C"))
    watch.add_argument("--count", type=int, default=0, help="stop after so many events")
    sessions = command("sessions", _sessions, "list MCP sessions, without the contexts that the host keeps in them")
    sessions.add_argument("--name", help='the name that the session stores use (default: "default")')
    sessions.add_argument("--endpoint", help="only sessions of this endpoint")
    sessions.add_argument("--partition", help="only sessions of this authorization partition")
    sessions.add_argument("--limit", type=int, default=0, help="at most so many (default: all)")
    working = command("work", work, "tell of queued work: how much waits, and who holds what")
    working.add_argument("--name", help="only of the managers of this name (default: of all)")
    for name, function, explanation in (
        ("requeue", requeue, "make a parked task claimable, without the answers that it waits for"),
        ("fail", fail, "fail a task, whoever holds it"),
    ):
        acting = command(name, function, explanation)
        acting.add_argument("task_id", metavar="TASK_ID")
        acting.add_argument("--name", help='the name that the managers use (default: "default")')
        acting.add_argument("--message", help="what people are told")
        acting.add_argument("--yes", action="store_true", help="do not ask")
    command("stats", _stats, "tell how the store is filled")
    command("check", _check, "check the store's integrity")
    copying = command("copy", _copy, "copy a store that nobody uses into an empty one, and compare the two")
    copying.add_argument("to", metavar="TO", help="the store to fill: sqlite:PATH")
    copying.add_argument("--schema", help="of a PostgreSQL database to copy from (default: public)")
    copying.add_argument("--to-schema", help="of a PostgreSQL database to copy to (default: public)")
    return parser


def _check_combination(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Refuse what would be passed over, and say whose A2A tasks are meant when that is not said."""
    if not hasattr(given, "a2a"):
        return
    any_owner = getattr(given, "any_owner", False)
    of_the_other_kind = ("endpoint", "partition") if given.a2a else ("owner", "any_owner")
    for option in of_the_other_kind:
        if getattr(given, option, None) not in (None, False):
            parser.error(f"--{option.replace('_', '-')} is not for {'A2A' if given.a2a else 'MCP'} tasks")
    if any_owner and given.owner is not None:
        parser.error("--owner and --any-owner exclude each other")
    if given.a2a and hasattr(given, "owner") and given.owner is None and not any_owner:
        print("taskhold: only the anonymous owner's; --owner NAME for another's", file=sys.stderr)


def _check_there(url: str) -> None:
    scheme, _, path = url.partition(":")
    if scheme == "sqlite" and not Path(path).is_file():
        raise Refused("there is no such store")


def _schema(given: argparse.Namespace, option: str) -> dict[str, Any]:
    name = getattr(given, option, None)
    return {} if name is None else {"schema": name}


def _named(given: argparse.Namespace) -> dict[str, Any]:
    return {} if given.name is None else {"name": given.name}


_A2A_COLUMNS = {"TASK": "/id", "STATE": "/status/state", "CONTEXT": "/contextId", "UPDATED": "/status/timestamp"}

_SESSION_COLUMNS = {
    "SESSION": "/sessionId",
    "INITIALIZED": "/initialized",
    "ACTIVE": "/lastActivityAt",
    "TERMINATED": "/terminatedAt",
    "ENDPOINT": "/endpoint",
    "PARTITION": "/authorizationPartition",
}

# Commands


def _list(store: Store, given: argparse.Namespace) -> None:
    filters = {name: getattr(given, name) for name in ("status", "endpoint") if getattr(given, name) is not None}
    if given.a2a:
        provider = StateProvider(store, **_named(given))
        columns = _A2A_COLUMNS
        if given.any_owner:
            filters["any_owner"] = True
            columns = {"OWNER": "/owner"} | {name: "/task" + pointer for name, pointer in columns.items()}
        read = pages(lambda **page: provider.list_tasks_json(given.owner, **filters, **page))
        print_rows(limited(elements(read, "tasks"), given.limit), columns)
        return
    if given.partition is not None:
        filters["authorization_partition"] = given.partition
    manager = TaskManager(store, **_named(given))
    read = pages(lambda **page: manager.list_tasks_json(**filters, **page))
    print_rows(limited(elements(read, "records"), given.limit), COLUMNS)


def _sessions(store: Store, given: argparse.Namespace) -> None:
    filters = {} if given.endpoint is None else {"endpoint": given.endpoint}
    if given.partition is not None:
        filters["authorization_partition"] = given.partition
    sessions = SessionStore(store, **_named(given))
    read = pages(lambda **page: sessions.list_sessions_json(**filters, **page))
    found = limited(elements(read, "sessions"), given.limit)
    print_rows(map(_without_context, found), _SESSION_COLUMNS)


def _without_context(session: str) -> str:
    members = loads(session)
    del members["sessionContext"]
    return json.dumps(members, ensure_ascii=False, default=str)


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
            print(printable(line))
    else:
        print(one_line(record))


def _watch(store: Store, given: argparse.Namespace) -> None:
    if given.a2a:
        provider = StateProvider(store, **_named(given))
        events, find = provider.open_events(), None
    else:
        manager = TaskManager(store, **_named(given))
        events, find = manager.open_events(), manager.find_task_json
    for count, event in enumerate(each(events), 1):
        task_id = event.get("taskId")
        record = find(task_id) if find is not None and task_id is not None else None
        print_event(event, record, first=count == 1)
        if count == given.count:
            return


def _stats(store: Store, given: argparse.Namespace) -> None:
    text = store.stats_json()
    if not sys.stdout.isatty():
        print(one_line(text))
        return
    for name, value in flat(loads(text)):
        print(f"{name:<24} {printable(str(value))}")


def _copy(store: Store, given: argparse.Namespace) -> None:
    # What a copy is worth is decided when it is complete: until then its commits need not be on the disk.
    options: dict[str, Any] = {"durability": "normal"} if given.to.startswith("sqlite:") else {}
    with Store(given.to, **options, **_schema(given, "to_schema")) as to:
        text = store.copy_to_json(to)
    if not sys.stdout.isatty():
        print(one_line(text))
        return
    for name, value in flat(loads(text)):
        print(f"{name:<24} {printable(str(value))}")
    print("the copy was compared with the store, and is the same")


def _check(store: Store, given: argparse.Namespace) -> None:
    try:
        text = store.check_json()
    except UnsupportedError:
        raise Refused("this library has no check") from None
    if not sys.stdout.isatty():
        print(one_line(text))
    else:
        found = loads(text)
        for problem in found["problems"]:
            print(printable(f"problem      {problem}"))
        for record in found["unreadable"]:
            print(printable(f"unreadable   {record['kind']} {record['id']} of {record['name']}"))
        print("the store is sound" if found["ok"] else "the store is not sound")
    if json_get(text, "/ok") != "true":
        raise Unsound


if __name__ == "__main__":
    sys.exit(main())
