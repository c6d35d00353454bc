"""The shapes of arguments and results. Results are plain dicts; a newer library may add members to them.

Names of members are the wire's (``taskId``), names of options are Python's (``expected_revision``). Every
duration whose name ends in ``_ms`` or ``Ms`` is in milliseconds, every ``timeout`` is in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import IntEnum
from typing import Any, Generic, Literal, NamedTuple, NotRequired, Required, TypeAlias, TypedDict, TypeVar

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


class Lease(TypedDict):
    """Who holds a task, and until when; the token is in the answers to a claim and to a creation alone."""

    worker: str
    expiresAt: str
    token: NotRequired[int]


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
    # Of tasks with a queue, a lease or an operation id:
    queue: NotRequired[str | None]
    work: NotRequired[Any]
    checkpoint: NotRequired[Any]
    attempt: NotRequired[int]
    attempts: NotRequired[JsonObject]
    availableAt: NotRequired[str | None]
    lease: NotRequired[Lease | None]
    lastFailure: NotRequired[JsonObject | None]
    operationId: NotRequired[str | None]
    created: NotRequired[bool]


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
    maximum_retained_tasks_per_partition: int | None
    task_time_to_live_ms: Milliseconds | None
    poll_interval_ms: Milliseconds | None
    maximum_payload_bytes: int | None


class Attempts(TypedDict, total=False):
    """How often queued work is begun: after attempt n the next waits ``backoff_ms`` times 2^(n-1)."""

    maximum: int
    backoff_ms: Milliseconds
    maximum_backoff_ms: Milliseconds


class NewLease(TypedDict):
    """Who holds a task from its creation on, and for how long."""

    worker: str
    lease_ms: Milliseconds


class CreationOptions(TypedDict, total=False):
    """What a task may be created with beside its endpoint and origin."""

    authorization_partition: str | None
    metadata: ObjectPayload | None
    declared_input_requests: Sequence[str] | None
    task_time_to_live_ms: Milliseconds | None
    queue: str | None
    delay_ms: Milliseconds | None
    attempts: Attempts | None
    work: Any
    lease: NewLease | None
    operation_id: str | None


class Conditions(TypedDict, total=False):
    """Conditions, decided in the same atomic step as the change."""

    expected_revision: int | None
    unless_cancelation_requested: bool | None


class TransitionOptions(Conditions, total=False):
    """Conditions, and the token of the lease under which queued work is moved on."""

    lease: int | None


class ForcibleOptions(TransitionOptions, total=False):
    """The same; operators may pass ``force`` in the place of a lease."""

    force: bool | None


class WorkingOptions(ForcibleOptions, total=False):
    """The same, which input requests to withdraw, and what another worker needs to go on."""

    withdraw_input_requests: Sequence[str] | None
    checkpoint: Any


class InputOptions(TransitionOptions, total=False):
    """The same, what another worker needs to go on, and whether the task is parked until the last answer."""

    checkpoint: Any
    park: bool | None


class TakeOptions(TransitionOptions, total=False):
    """The same, what another worker needs to go on, and whether to look only."""

    checkpoint: Any
    peek: bool | None


class ReleaseOptions(TypedDict, total=False):
    """Options of :meth:`taskhold.TaskManager.release_task`."""

    lease: Required[int]
    delay_ms: Milliseconds | None
    counts_as_attempt: bool | None
    status_message: str | None
    checkpoint: Any
    failure: ObjectPayload | None


class Renewal(TypedDict):
    """A lease to renew."""

    task_id: str
    lease: int
    checkpoint: NotRequired[Any]


class RenewalOutcome(TypedDict):
    """The ids of the tasks whose lease was renewed or is lost; the last is a part of the first."""

    renewed: list[str]
    lost: list[str]
    cancelationRequested: list[str]


class TaskFilters(TypedDict, total=False):
    """Which tasks :meth:`taskhold.TaskManager.iter_tasks` goes through, and whether with payloads."""

    status: TaskStatus | None
    endpoint: str | None
    authorization_partition: str | None
    queue: str | None
    worker: str | None
    work_state: Literal["scheduled", "ready", "leased", "parked"] | None
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


class SessionPage(TypedDict):
    """A page of :meth:`taskhold.SessionStore.list_sessions`; the token is "" on the last one."""

    sessions: list[Session]
    corrupt: list[str]
    nextPageToken: str


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
    concurrent_session_limit_per_partition: int | None
    initialization_timeout_ms: Milliseconds | None
    keep_expired: int | None


class SessionOptions(TypedDict, total=False):
    """What a session may be created with beside its endpoint."""

    session_id: str | None
    authorization_partition: str | None
    session_context: ObjectPayload | None


class SessionFilters(TypedDict, total=False):
    """Which sessions :meth:`taskhold.SessionStore.iter_sessions` goes through."""

    endpoint: str | None
    authorization_partition: str | None


class SessionListOptions(SessionFilters, total=False):
    """Filters and paging of :meth:`taskhold.SessionStore.list_sessions`."""

    page_size: int | None
    page_token: str | None


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
    active_retention_ms: Milliseconds | None
    maximum_events_per_task: int | None
    maximum_event_bytes_per_task: int | None
    announce_saves: bool | None
    maximum_payload_bytes: int | None


class SaveOptions(TypedDict, total=False):
    """Options of :meth:`taskhold.StateProvider.save_task`."""

    expected_revision: int | None
    must_exist: bool | None
    unless_final: bool | None
    event: Any
    is_replicated: bool | None


class ReadOptions(TypedDict, total=False):
    """Options of :meth:`taskhold.StateProvider.read_events`."""

    after_revision: int | None
    limit: int | None


class LoggedEvent(TypedDict):
    """An event of a task's log, and the revision of the save that brought it."""

    revision: int
    event: Any


class EventLog(TypedDict):
    """A part of a task's log."""

    events: list[LoggedEvent]
    revision: int
    missing: bool


class PushConfigListOptions(TypedDict, total=False):
    """Options of :meth:`taskhold.StateProvider.list_push_configs`."""

    any_owner: bool | None


class PushConfig(TypedDict):
    """A push notification config and its id."""

    id: str
    config: JsonObject


class PushConfigs(TypedDict):
    """The push notification configs of a task."""

    configs: list[PushConfig]


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
    any_owner: bool | None


# Stores and the library


class StoreOptions(TypedDict, total=False):
    """Options of :class:`taskhold.Store`: those of the backend in its URL. Memory has none."""

    # SQLite
    durability: Literal["full", "normal"] | None
    busy_timeout_ms: Milliseconds | None
    allow_network_file_system: bool | None
    # PostgreSQL
    pool_size: int | None
    acquire_timeout_ms: Milliseconds | None
    statement_timeout_ms: Milliseconds | None
    schema: str | None
    pooler_safe: bool | None
    event_poll_ms: Milliseconds | None


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


class StoreCopied(TypedDict):
    """How many records were copied, and how many events of the logs of A2A tasks."""

    tasks: int
    sessions: int
    a2aTasks: int
    events: int


class Description(TypedDict):
    """What the library is and can."""

    version: str
    abiVersion: int
    backends: list[str]
    limits: JsonObject
    defaults: JsonObject
    liveHandles: int
