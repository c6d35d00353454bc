"""Pages of tasks in the SDK's order: the latest status first, those without a time last, then ids from Z to A.

The library orders by whole milliseconds, then by ids from A to Z. So the tasks of one millisecond are read together and
put in order here. A token holds the library's own, from where a page is read, and behind which task it begins.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias

from a2a.types.a2a_pb2 import ListTasksRequest, ListTasksResponse, Task, TaskState
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import InvalidParamsError

# The library's limit of a page.
_LARGEST_PAGE = 100

# Whether it has a time, the time in nanoseconds, the id: the SDK lists by this, descending.
_Place: TypeAlias = tuple[bool, int, str]


class Fetched(NamedTuple):
    """Some tasks as the library lists them, where it goes on ("" at the end), and how many there are in all."""

    tasks: list[Task]
    following: str
    total: int


async def page(fetch: Callable[[str, int], Awaitable[Fetched]], request: ListTasksRequest) -> ListTasksResponse:
    """A page, out of what ``fetch`` gives for the library's token and a number of tasks."""
    wanted = request.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
    token, behind = _position(request.page_token)
    found: list[Task] = []
    # Tasks of one millisecond, and the token with which they can be read again.
    group: list[Task] = []
    group_token = token
    following = None
    while following is None:
        # Once there are enough, one more tells whether the last millisecond is complete.
        fetched = await fetch(token, 1 if len(found) + len(group) == wanted else min(wanted, _LARGEST_PAGE))
        for number, task in enumerate(fetched.tasks):
            if group and _millisecond(task) != _millisecond(group[0]):
                found += _ordered(group, behind)
                group = []
                if len(found) == wanted and number == 0:
                    following = _token(token, None)
                    break
                if len(found) >= wanted:
                    following = _token(group_token, _place(found[wanted - 1]))
                    break
            if not group:
                group_token = token
            group.append(task)
        else:
            if not fetched.following:
                found += _ordered(group, behind)
                following = _token(group_token, _place(found[wanted - 1])) if len(found) > wanted else ""
            token = fetched.following
    return ListTasksResponse(
        tasks=found[:wanted], next_page_token=following, page_size=wanted, total_size=fetched.total
    )


def state(number: int) -> str:
    """The name of a state to list.

    Raises:
        InvalidParamsError: the protocol has none with this number.
    """
    try:
        return str(TaskState.Name(number))
    except ValueError:
        raise InvalidParamsError("The protocol has no such task state") from None


def time(timestamp: Any) -> str:
    """A time, as text.

    Raises:
        InvalidParamsError: it is none.
    """
    try:
        return str(timestamp.ToJsonString())
    except ValueError:
        raise InvalidParamsError("status_timestamp_after is out of range") from None


def _place(task: Task) -> _Place:
    if not task.status.HasField("timestamp"):
        return False, 0, task.id
    return True, task.status.timestamp.seconds * 10**9 + task.status.timestamp.nanos, task.id


def _millisecond(task: Task) -> int | None:
    """The millisecond that the library lists a task by."""
    dated, nanoseconds, _ = _place(task)
    return nanoseconds // 10**6 if dated else None


def _ordered(tasks: list[Task], behind: _Place | None) -> list[Task]:
    """In order, those that stand behind a place."""
    tasks = sorted(tasks, key=_place, reverse=True)
    return tasks if behind is None else [task for task in tasks if _place(task) < behind]


def _token(token: str, behind: _Place | None) -> str:
    text = json.dumps([token, *(behind or ())], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _position(token: str) -> tuple[str, _Place | None]:
    if not token:
        return "", None
    try:
        match json.loads(base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)):
            case [str(start)]:
                return start, None
            case [str(start), bool(dated), int(nanoseconds), str(task_id)]:
                return start, (dated, nanoseconds, task_id)
    except ValueError:
        pass
    raise InvalidParamsError("Invalid page token")
