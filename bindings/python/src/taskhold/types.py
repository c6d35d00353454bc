"""The shapes of arguments and results. Results are plain dicts; a newer library may add members to them.

Names of members are the wire's (``taskId``), names of options are Python's (``expected_revision``). Every
duration whose name ends in ``_ms`` or ``Ms`` is in milliseconds, every ``timeout`` is in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import IntEnum
from typing import Any, Generic, Literal, NamedTuple, NotRequired, TypeAlias, TypedDict, TypeVar

T = TypeVar("T")

JsonObject: TypeAlias = dict[str, Any]


class Json:
    """JSON text that crosses byte for byte, where a value would be dumped.

    >>> Json('{"price": 1.10}')
    Json('{"price": 1.10}')
    """

    __slots__ = ("text",)

    def __init__(self, text: str | bytes) -> None:
        """Mark a text; the library checks that it is JSON when it is used."""
        self.text = text

    def __repr__(self) -> str:
        return f"Json({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Json) else NotImplemented

    def __hash__(self) -> int:
        return hash((Json, self.text))


# A Json, str or bytes is JSON text and crosses byte for byte; anything else is dumped.
Payload: TypeAlias = Json | str | bytes | Mapping[str, Any] | Sequence[Any] | int | float | None

# A payload that is an object.
ObjectPayload: TypeAlias = Json | str | bytes | Mapping[str, Any]

# A timedelta of less than a millisecond counts as one.
Milliseconds: TypeAlias = int | timedelta

TaskStatus: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]


class Rendering(IntEnum):
    """What a task is rendered as; see :meth:`taskhold.TaskManager.render_task`."""

    CREATE_RESULT = 1
    """The flat ``CreateTaskResult`` (``resultType`` "task")."""
    GET_RESULT = 2
    """The result of ``tasks/get`` (``resultType`` "complete")."""
    NOTIFICATION = 3
    """The whole ``notifications/tasks`` message."""


class Liveness(IntEnum):
    """Where an A2A task stands; see :meth:`taskhold.StateProvider.task_liveness`."""

    ABSENT = 0
    """Unknown, deleted, or not retained any more."""
    ACTIVE = 1
    """Not final."""
    GRACE = 2
    """Final, and still counting as active for the rest of its grace period."""
    FINALIZED = 3
    """Final, with its grace period over."""


class Revisioned(NamedTuple, Generic[T]):
    """A value and the revision that it shows, from one reading."""

    value: T
    revision: int


# MCP tasks


class Task(TypedDict):
    """The extension's DetailedTask: the only part of a record that may reach a client."""

    taskId: str
    status: TaskStatus
    statusMessage: NotRequired[str]
    createdAt: str
    lastUpdatedAt: str
    ttlMs: int | None
    pollIntervalMs: NotRequired[int]
    inputRequests: NotRequired[dict[str, JsonObject]]
    result: NotRequired[JsonObject]
    error: NotRequired[JsonObject]


class TaskRecord(TypedDict):
    """A task with what the server keeps beside it."""

    task: Task
    revision: int
    endpoint: str
    authorizationPartition: str | None
    origin: Any
    metadata: NotRequired[JsonObject]
    declaredInputRequests: NotRequired[list[str]]
    cancelationRequested: bool


class TaskPage(TypedDict):
    """A page of :meth:`taskhold.TaskManager.list_tasks`; the token is "" on the last one."""

    records: list[TaskRecord]
    corrupt: list[str]
    nextPageToken: str


class UpdateOutcome(TypedDict):
    """Which answers counted; for the host, not for the client."""

    accepted: list[str]
    ignored: list[str]


class Event(TypedDict):
    """What a queue gives; ``taskId`` is absent from ``lagged``. Ignore events that you do not know."""

    event: str
    taskId: NotRequired[str]


class ManagerOptions(TypedDict, total=False):
    """Options of :class:`taskhold.TaskManager`; None restores a default."""

    name: str | None
    maximum_retained_tasks: int | None
    task_time_to_live_ms: Milliseconds | None
    poll_interval_ms: Milliseconds | None
    maximum_payload_bytes: int | None


class CreationOptions(TypedDict, total=False):
    """What a task may be created with beside its endpoint and origin."""

    authorization_partition: str | None
    metadata: ObjectPayload | None
    declared_input_requests: Sequence[str] | None


class TransitionOptions(TypedDict, total=False):
    """Conditions, decided in the same atomic step as the change."""

    expected_revision: int | None
    unless_cancelation_requested: bool | None


class WorkingOptions(TransitionOptions, total=False):
    """Conditions, and which input requests to withdraw."""

    withdraw_input_requests: Sequence[str] | None


class TaskFilters(TypedDict, total=False):
    """Which tasks :meth:`taskhold.TaskManager.iter_tasks` goes through, and whether with payloads."""

    status: TaskStatus | None
    endpoint: str | None
    authorization_partition: str | None
    include_payload: bool | None


class TaskListOptions(TaskFilters, total=False):
    """Filters and paging of :meth:`taskhold.TaskManager.list_tasks`."""

    page_size: int | None
    page_token: str | None


class RenderOptions(TypedDict, total=False):
    """Options of :meth:`taskhold.TaskManager.render_task`."""

    client_capabilities: ObjectPayload | None
    subscription_id: Any


# MCP sessions


class Session(TypedDict):
    """A session as it is given out, and as it is given to replace."""

    sessionId: str
    endpoint: str
    authorizationPartition: str | None
    createdAt: str
    lastActivityAt: str
    initialized: bool
    initializedNotificationReceived: bool
    protocolVersion: str | None
    clientCapabilities: JsonObject | None
    negotiatedCapabilities: JsonObject | None
    sessionContext: JsonObject
    terminatedAt: str | None
    version: int


class ExpiredSession(TypedDict):
    """A session that this process removed because it expired."""

    reason: Literal["idle", "uninitialized"]
    sessionId: str
    endpoint: str


class SessionStoreOptions(TypedDict, total=False):
    """Options of :class:`taskhold.SessionStore`; None restores a default."""

    name: str | None
    idle_timeout_ms: Milliseconds | None
    concurrent_session_limit: int | None
    initialization_timeout_ms: Milliseconds | None
    keep_expired: int | None


class SessionOptions(TypedDict, total=False):
    """What a session may be created with beside its endpoint."""

    session_id: str | None
    authorization_partition: str | None
    session_context: ObjectPayload | None


# A2A tasks


class A2AStatus(TypedDict):
    """The status of an A2A task."""

    state: str
    timestamp: NotRequired[str]
    message: NotRequired[JsonObject]


class A2ATask(TypedDict):
    """An A2A Task object."""

    id: str
    status: A2AStatus
    contextId: NotRequired[str]
    history: NotRequired[list[JsonObject]]
    artifacts: NotRequired[list[JsonObject]]
    metadata: NotRequired[JsonObject]


class A2ATaskPage(TypedDict):
    """A page of A2A tasks; ``pageSize`` is the number on it, the token is "" on the last one."""

    tasks: list[A2ATask]
    totalSize: int
    pageSize: int
    nextPageToken: str
    revisions: NotRequired[list[int]]
    corrupt: NotRequired[list[str]]


class StateProviderOptions(TypedDict, total=False):
    """Options of :class:`taskhold.StateProvider`; None restores a default."""

    name: str | None
    grace_period_ms: Milliseconds | None
    maximum_retained_tasks: int | None
    finalized_retention_ms: Milliseconds | None
    maximum_payload_bytes: int | None


class SaveOptions(TypedDict, total=False):
    """Options of :meth:`taskhold.StateProvider.save_task`."""

    expected_revision: int | None
    is_replicated: bool | None


class GetOptions(TypedDict, total=False):
    """Options of :meth:`taskhold.StateProvider.get_task`."""

    history_length: int | None


class A2AFilters(TypedDict, total=False):
    """Which tasks :meth:`taskhold.StateProvider.iter_tasks` goes through, and how much of each."""

    context_id: str | None
    status: str | None
    status_timestamp_after: str | None
    history_length: int | None
    include_artifacts: bool | None


class A2AListOptions(A2AFilters, total=False):
    """Filters and paging of :meth:`taskhold.StateProvider.list_tasks`."""

    page_size: int | None
    page_token: str | None
    include_revisions: bool | None


# Stores and the library


class StoreOptions(TypedDict, total=False):
    """Options of :class:`taskhold.Store`: those of the backend in its URL. Memory has none."""

    durability: Literal["full", "normal"] | None
    busy_timeout_ms: Milliseconds | None
    allow_network_file_system: bool | None


class StoreStats(TypedDict):
    """How a store is filled."""

    backend: str
    tasks: dict[str, int]
    sessions: int
    a2aTasks: int
    expiredPending: int
    bytes: int
    waiters: int
    eventQueues: int


class UnreadableRecord(TypedDict):
    """A record that cannot be read."""

    kind: Literal["task", "session", "a2a"]
    name: str
    id: str


class StoreCheck(TypedDict):
    """What a look through a store found; both lists have the first 100."""

    ok: bool
    problems: list[str]
    unreadable: list[UnreadableRecord]
    backend: NotRequired[str]
    schemaVersion: NotRequired[int]
    newestSchemaVersion: NotRequired[int]
    records: NotRequired[int]
    unreadableCount: NotRequired[int]


class Description(TypedDict):
    """What the library is and can."""

    version: str
    abiVersion: int
    backends: list[str]
    limits: JsonObject
    defaults: JsonObject
    liveHandles: int
