"""The stores for the A2A SDK beside the SDK's own: what is kept, and whose; pages, versions, events, push configs."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import threading
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from a2a.server import cluster
from a2a.server.cluster import (
    ConcurrentTaskModificationError,
    DatabaseTaskEventStream,
    TaskVersion,
    VersionedDatabaseTaskStore,
    VersionedEvent,
)
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore
from a2a.types import (
    Artifact,
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    Part,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import InternalError, InvalidParamsError
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from sqlalchemy.ext.asyncio import create_async_engine

import taskhold
from agents import a2a_server, context_of
from running import python
from taskhold import AsyncStateProvider, NotFoundError, StateProvider
from taskhold._a2a import messages, stream
from taskhold.a2a import PushNotificationConfigStore, TaskEventStream, TaskStore, VersionedTaskStore

T = TypeVar("T")

NOBODY, ANN, BOB = context_of(""), context_of("ann"), context_of("bob")
MISSING = TaskVersion.MISSING
DURABLE = "sqlite" in taskhold.describe()["backends"]
FINAL = {
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_REJECTED,
}


def play(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(coroutine, 300))


@pytest.fixture(params=["memory", pytest.param("sqlite", marks=pytest.mark.skipif(not DURABLE, reason="no SQLite"))])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[taskhold.Store]:
    """A store of each kind; how soon a disk has what was written is not what is tested here."""
    durable = request.param == "sqlite"
    opened = taskhold.Store(tmp_path / "agent.db", durability="normal") if durable else taskhold.Store("memory:")
    with opened as store:
        yield store


def task(task_id: str = "t", state: str = "WORKING", **more: Any) -> Task:
    return Task(id=task_id, status={"state": f"TASK_STATE_{state}"}, **more)


def same(one: Any, other: Any) -> bool:
    """Equal to the last bit: NaN is not equal to itself, and equality does not look at unknown fields."""
    encoded: list[bytes] = [message.SerializeToString(deterministic=True) for message in (one, other)]
    return encoded[0] == encoded[1]


# What is kept

PIECES = ["", "a", "ü€😀", "\0", "line\nbreak", '"\\', " ", "taskhold.protobuf", "x" * 300]
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.1, 1e22, -1e300, 5e-324, 2.0**53 + 2, float("nan"), float("inf"), float("-inf")]
UNKNOWN = b"\xfa\xff\x03\x03abc"


class Anything:
    """Messages with any fields set to anything, as their descriptors allow."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def fill(self, message: Any, depth: int = 0) -> Any:
        for field in message.DESCRIPTOR.fields:
            if self.random.random() < (0.35 if depth < 5 else 0.9):
                continue
            if field.is_repeated and not (field.message_type and field.message_type.GetOptions().map_entry):
                for _ in range(self.random.randrange(3)):
                    if field.message_type:
                        self.fill(getattr(message, field.name).add(), depth + 1)
                    else:
                        getattr(message, field.name).append(self.scalar(field))
            elif field.message_type:
                self.fill_known(getattr(message, field.name), depth + 1)
            else:
                setattr(message, field.name, self.scalar(field))
        if self.random.random() < 0.04:
            message.MergeFromString(UNKNOWN)
        return message

    def fill_known(self, message: Any, depth: int) -> None:
        message.SetInParent()
        match message:
            case Struct():
                for name in self.random.sample(PIECES, self.random.randrange(4)):
                    self.fill_known(message.fields[name], depth + 1)
            case Timestamp():
                message.seconds = self.random.choice([0, 1, -1, 1_764_547_200, 253_402_300_799, -62_135_596_800, 2**60])
                message.nanos = self.random.choice([0, 1, 999, 1000, 123_000_000, 999_999_999, 10**9])
            case _:
                self.fill(message, depth)

    def scalar(self, field: Any) -> Any:
        match field.type:
            case field.TYPE_STRING:
                return self.random.choice(PIECES)
            case field.TYPE_BYTES:
                return self.random.randbytes(self.random.randrange(5))
            case field.TYPE_BOOL:
                return self.random.choice([False, True])
            case field.TYPE_DOUBLE:
                return self.random.choice(NUMBERS)
            case field.TYPE_ENUM if field.enum_type.full_name == "google.protobuf.NullValue":
                return 0
            case field.TYPE_ENUM:
                return self.random.choice([*field.enum_type.values_by_number, 99, -1])
        return self.random.randrange(1000)

    def task(self) -> Task:
        filled: Task = self.fill(Task())
        filled.id = "t"
        # What the library refuses as a context's id has a test of its own.
        filled.context_id = self.random.choice(["", "c", "ü€😀"])
        return filled


@pytest.mark.parametrize("seed", range(20))
def test_tasks_events_and_configs_are_kept_to_the_last_bit(seed: int, where: taskhold.Store) -> None:
    async def check() -> None:
        anything = Anything(seed)
        async with VersionedTaskStore(where) as store:
            stream, configs, version = TaskEventStream(store), PushNotificationConfigStore(store), MISSING
            sent: list[VersionedEvent] = []
            for _ in range(12):
                saved = anything.task()
                if saved.status.state in FINAL:
                    saved.status.state = TaskState.TASK_STATE_WORKING
                event = anything.fill(
                    anything.random.choice([Task, Message, TaskStatusUpdateEvent, TaskArtifactUpdateEvent])()
                )
                version = await store.save(saved, event=event, prev=None, prev_version=version, context=ANN)
                sent.append(VersionedEvent(event, version))
                found = await store.get("t", ANN)
                assert found is not None
                assert same(found.task, saved)
                assert found.version == version
                (listed,) = (await store.list(ListTasksRequest(include_artifacts=True), ANN)).tasks
                assert same(listed, saved)
                config = anything.fill(TaskPushNotificationConfig())
                config.task_id, config.id = "t", "c"
                assert same(await configs.set_info("t", config, ANN), config)
                assert same((await configs.get_info("t", ANN))[0], config)
            received = [one async for one in taken(stream.subscribe("t", after=MISSING), len(sent))]
            assert all(same(one.event, other.event) for one, other in zip(received, sent, strict=True))
            assert [type(one.event) for one in received] == [type(one.event) for one in sent]
            assert [one.version for one in received] == [one.version for one in sent]

    play(check())


async def taken(stream: Any, count: int) -> AsyncIterator[VersionedEvent]:
    """The next events of a stream, which is closed then."""
    async with contextlib.aclosing(stream):
        for _ in range(count):
            yield await anext(stream)


def test_what_is_stored_is_the_protocols_own_json() -> None:
    async def check() -> None:
        for seed in range(200):
            saved = Anything(seed).task()
            text = messages.task_text(saved)
            if saved.HasField("status") and '"taskhold.protobuf":' not in text:
                expected = MessageToDict(saved)
                expected["status"].setdefault("state", "TASK_STATE_UNSPECIFIED")
                assert json.loads(text) == expected

    play(check())


def test_messages_are_read_as_the_sdks_library_reads_them() -> None:
    document = {
        "id": "t",
        "contextId": None,
        "status": {"state": "input-required", "timestamp": "2026-01-01T12:00:00+02:00", "later": 1},
        "history": [{"messageId": "m", "role": 1, "parts": [{"kind": "text", "text": "hello", "metadata": None}]}],
        "artifacts": [{"artifact_id": "a"}],
        "kind": "task",
    }
    provider = StateProvider()
    provider.save_task(None, document)
    found = provider.get_task(None, "t")
    assert found is not None
    expected = ParseDict({**document, "status": {}}, Task(), ignore_unknown_fields=True)
    expected.status.state = TaskState.TASK_STATE_INPUT_REQUIRED
    expected.status.timestamp.FromJsonString("2026-01-01T10:00:00Z")
    assert messages.read_task(dict(found.value)) == expected
    with pytest.raises(taskhold.CorruptError):
        messages.read_task({**document, "history": [{"parts": "none"}]})
    for state in ("CANCELLED", "canceled", "TASK_STATE_CANCELED"):
        assert messages.read_task({"id": "t", "status": {"state": state}}).status.state == TaskState.TASK_STATE_CANCELED


def test_a_saved_task_may_be_changed_by_its_owner(where: taskhold.Store) -> None:
    async def check() -> None:
        async with TaskStore(where) as store:
            saved = task()
            saving = store.save(saved, NOBODY)
            await saving
            saved.status.state = TaskState.TASK_STATE_FAILED
            found = await store.get("t", NOBODY)
            assert found is not None
            found.metadata["changed"] = True
            assert await store.get("t", NOBODY) == task()

    play(check())


# The same as the SDK's own store

STATES = [TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_INPUT_REQUIRED]


def random_task(chance: random.Random, owner: str) -> Task:
    """A task whose place in a listing is often shared: of the same millisecond, of the same time, without one."""
    made = Task(id=f"{owner}-{chance.randrange(40)}", context_id=chance.choice(["", "one", "two"]))
    made.status.state = chance.choice(STATES)
    if chance.random() < 0.8:
        made.status.timestamp.seconds = 1_764_547_200 + chance.randrange(3)
        made.status.timestamp.nanos = chance.choice([0, 1, 999_999, 1_000_000, 1_000_001, 500_000_000])
    for number in range(chance.randrange(4)):
        made.history.append(Message(message_id=str(number), parts=[Part(text="said")]))
        made.artifacts.append(Artifact(artifact_id=str(number), parts=[Part(raw=b"\0\1")]))
    return made


def random_listing(chance: random.Random) -> ListTasksRequest:
    request = ListTasksRequest(include_artifacts=True, page_size=chance.choice([0, 1, 2, 3, 7, 50, 100, 150]))
    if chance.random() < 0.3:
        request.context_id = chance.choice(["one", "two", "three"])
    if chance.random() < 0.3:
        request.status = chance.choice([*STATES, TaskState.TASK_STATE_FAILED])
    if chance.random() < 0.3:
        # Whole milliseconds; finer ones have a test of their own.
        request.status_timestamp_after.seconds = 1_764_547_200 + chance.randrange(3)
        request.status_timestamp_after.nanos = chance.choice([0, 1_000_000, 500_000_000])
    return request


async def walk(store: Any, request: ListTasksRequest, context: Any) -> list[ListTasksResponse]:
    pages: list[ListTasksResponse] = []
    request = ListTasksRequest.FromString(request.SerializeToString())
    while not pages or request.page_token:
        pages.append(await store.list(request, context))
        request.page_token = pages[-1].next_page_token
        assert len(pages) < 200
    return pages


@pytest.mark.parametrize("seed", range(6))
def test_the_same_calls_give_the_same_as_in_the_sdks_memory(seed: int, where: taskhold.Store) -> None:
    async def check() -> None:
        chance = random.Random(seed)
        theirs = InMemoryTaskStore()
        async with TaskStore(where) as ours:
            for _ in range(150):
                context = chance.choice([NOBODY, ANN, BOB])
                owner = context.user.user_name
                task_id = f"{chance.choice(['', 'ann', 'bob'])}-{chance.randrange(40)}"
                match chance.randrange(10):
                    case 0:
                        await ours.delete(task_id, context)
                        await theirs.delete(task_id, context)
                    case 1 | 2:
                        assert await ours.get(task_id, context) == await theirs.get(task_id, context)
                    case 3:
                        request = random_listing(chance)
                        pages = zip(
                            await walk(ours, request, context), await walk(theirs, request, context), strict=True
                        )
                        for mine, peer in pages:
                            assert bool(mine.next_page_token) == bool(peer.next_page_token)
                            mine.next_page_token = peer.next_page_token = ""
                            assert mine == peer
                    case _:
                        saved = random_task(chance, owner)
                        await ours.save(saved, context)
                        await theirs.save(saved, context)

    play(check())


def test_a_request_handler_gives_the_same_pages_and_tasks(where: taskhold.Store) -> None:
    """Artifacts and history are cut by the SDK's handler for its own store, and by the library for ours."""

    async def check() -> None:
        chance = random.Random(1)
        theirs = InMemoryTaskStore()
        async with TaskStore(where) as ours:
            card = a2a_server.card("http://127.0.0.1/")
            handlers = [
                DefaultRequestHandler(a2a_server.Reporter(0), store, agent_card=card) for store in (ours, theirs)
            ]
            for _ in range(30):
                saved = random_task(chance, "ann")
                await ours.save(saved, ANN)
                await theirs.save(saved, ANN)
            for artifacts, length in itertools.product([False, True], [None, 0, 1, 2, 100]):
                request = ListTasksRequest(include_artifacts=artifacts, history_length=length)
                mine, peer = [await handler.on_list_tasks(request, ANN) for handler in handlers]
                assert mine == peer
                assert mine.total_size == len(mine.tasks) > 10
                get = GetTaskRequest(id=mine.tasks[0].id, history_length=length)
                one, other = [await handler.on_get_task(get, ANN) for handler in handlers]
                assert one == other is not None

    play(check())


def test_pages_stay_good_while_tasks_change(where: taskhold.Store) -> None:
    """As the SDK's: a token is a place, so that a task on it may be saved again or deleted."""

    async def check() -> None:
        async with TaskStore(where) as store:
            for number in range(10):
                await store.save(Task(id=f"t{number}", status={"timestamp": {"seconds": 100}}), ANN)
            request = ListTasksRequest(page_size=4)
            first = await store.list(request, ANN)
            assert [one.id for one in first.tasks] == ["t9", "t8", "t7", "t6"]
            await store.delete("t6", ANN)
            await store.delete("t5", ANN)
            request.page_token = first.next_page_token
            second = await store.list(request, ANN)
            assert [one.id for one in second.tasks] == ["t4", "t3", "t2", "t1"]

    play(check())


def test_the_total_may_be_that_of_an_earlier_page(where: taskhold.Store) -> None:
    """The SDK's stores count anew for each page."""

    async def check() -> None:
        async with TaskStore(where) as store:
            for number in range(6):
                await store.save(Task(id=f"t{number}", status={"timestamp": {"seconds": number}}), ANN)
            first = await store.list(ListTasksRequest(page_size=2), ANN)
            await store.delete("t0", ANN)
            second = await store.list(ListTasksRequest(page_size=3, page_token=first.next_page_token), ANN)
            assert [one.id for one in second.tasks] == ["t3", "t2", "t1"]
            assert (first.total_size, second.total_size, second.next_page_token) == (6, 6, "")

    play(check())


def test_tokens_of_other_listings_and_none_at_all_are_refused(where: taskhold.Store) -> None:
    """The SDK's stores take a token for any listing; ours says that it belongs to another one."""

    async def check() -> None:
        async with TaskStore(where) as store:
            for number in range(3):
                for owner, context in [("a", ANN), ("b", BOB)]:
                    await store.save(Task(id=f"{owner}{number}", status={"timestamp": {"seconds": number}}), context)
            token = (await store.list(ListTasksRequest(page_size=1), ANN)).next_page_token
            second = await store.list(ListTasksRequest(page_size=1, page_token=token), ANN)
            token = second.next_page_token
            assert token
            others = ["x", "!", token[:-4], token + "AAAA", "W10", "ü"]
            unknown: Any = 99
            for request, context in [
                (ListTasksRequest(page_token=token), BOB),
                (ListTasksRequest(page_token=token, context_id="c"), ANN),
                *((ListTasksRequest(page_token=other), ANN) for other in others),
                (ListTasksRequest(status_timestamp_after=Timestamp(seconds=2**60)), ANN),
                (ListTasksRequest(status=unknown), ANN),
            ]:
                with pytest.raises(InvalidParamsError):
                    await store.list(request, context)

    play(check())


def test_a_time_finer_than_a_millisecond_lists_from_its_millisecond_on(where: taskhold.Store) -> None:
    """The SDK's store compares nanoseconds: it would not list the first of these."""

    async def check() -> None:
        async with TaskStore(where) as store:
            for name, nanos in {"before": 1_000_000, "at": 1_000_500, "other": 999_999}.items():
                await store.save(Task(id=name, status={"timestamp": {"seconds": 100, "nanos": nanos}}), ANN)
            after = Timestamp(seconds=100, nanos=1_000_500)
            found = await store.list(ListTasksRequest(status_timestamp_after=after), ANN)
            assert ([one.id for one in found.tasks], found.total_size) == (["at", "before"], 2)

    play(check())


def test_artifacts_are_listed_when_they_are_asked_for(where: taskhold.Store) -> None:
    """The SDK's stores give them always, and its handler takes them away again."""

    async def check() -> None:
        async with TaskStore(where) as store:
            saved = task(artifacts=[Artifact(artifact_id="a")], history=[Message(message_id="m")])
            await store.save(saved, ANN)
            (found,) = (await store.list(ListTasksRequest(include_artifacts=True), ANN)).tasks
            assert found == saved
            (found,) = (await store.list(ListTasksRequest(), ANN)).tasks
            saved.ClearField("artifacts")
            assert found == saved
            (found,) = (await store.list(ListTasksRequest(history_length=0), ANN)).tasks
            assert found == task()

    play(check())


def test_what_cannot_be_read_is_left_out_of_pages_and_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        async with TaskStore() as store:
            await store.save(task("good"), ANN)
            await store.provider.save_task("ann", {**MessageToDict(task("bad")), "history": [7]})
            with pytest.raises(taskhold.CorruptError):
                await store.get("bad", ANN)
            assert [one.id for one in (await store.list(ListTasksRequest(), ANN)).tasks] == ["good"]
            assert "1 A2A tasks cannot be read, and are left out" in caplog.text

    play(check())


# Whose it is


def test_owners_do_not_meet(where: taskhold.Store) -> None:
    async def check() -> None:
        async with VersionedTaskStore(where) as store:
            plain, configs = TaskStore(store), PushNotificationConfigStore(store)
            await store.save(task(), event=task(), prev=None, prev_version=MISSING, context=ANN)
            await configs.set_info("t", TaskPushNotificationConfig(url="http://127.0.0.1/"), ANN)
            for other in (BOB, NOBODY):
                assert await store.get("t", other) is None
                assert await plain.get("t", other) is None
                assert (await store.list(ListTasksRequest(), other)).total_size == 0
                assert await configs.get_info("t", other) == []
                await store.delete("t", other)
                await configs.delete_info("t", other)
                # Ids are of one space: the SDK's memory keeps one task for each owner.
                with pytest.raises(NotFoundError):
                    await plain.save(task(), other)
                with pytest.raises(NotFoundError):
                    await configs.set_info("t", TaskPushNotificationConfig(), other)
                for state, version in [("WORKING", MISSING), ("WORKING", TaskVersion(1)), ("CANCELED", MISSING)]:
                    with pytest.raises(ConcurrentTaskModificationError):
                        await store.save(task(state=state), prev_version=version, context=other)
            assert len(await configs.get_info_for_dispatch("t")) == 1
            assert len(await configs.get_info("t", ANN)) == 1
            assert await plain.get("t", ANN) == task()

    play(check())


@pytest.mark.parametrize("name", ["a" * 1024, "a" * 1025, "ü" * 600, "sha256:x", "\0", "\ud800", " ", "\n"])
def test_every_name_is_an_owner(name: str) -> None:
    async def check() -> None:
        async with TaskStore() as store:
            await store.save(task(), context_of(name))
            assert await store.get("t", context_of(name)) == task()
            assert await store.get("t", context_of(name + "x")) is None
            assert await store.get("t", NOBODY) is None
            # Nobody gets at it by the name that stands for it in the store.
            ((owner, *_),) = [one.values() for one in (await store.provider.list_tasks(None, any_owner=True))["tasks"]]
            assert (await store.get("t", context_of(str(owner))) is None) == (owner != name)

    play(check())


def test_the_owner_is_what_the_resolver_says() -> None:
    async def check() -> None:
        async with TaskStore(owner_resolver=lambda context: f"tenant:{context.tenant}") as store:
            context = context_of("ann")
            context.tenant = "acme"
            await store.save(task(), context)
            assert await store.get("t", ANN) is None
            provider = store.provider
            assert await provider.get_task("tenant:acme", "t") is not None
            # What shares the tasks resolves alike, unless told otherwise.
            assert await VersionedTaskStore(store).get("t", context) is not None
            assert await VersionedTaskStore(provider).get("t", context) is None
            await PushNotificationConfigStore(store).set_info("t", TaskPushNotificationConfig(), context)

    play(check())


def test_the_user_without_a_name_is_the_anonymous_owner() -> None:
    async def check() -> None:
        async with TaskStore() as store:
            await store.save(task(), NOBODY)
            assert await store.provider.get_task(None, "t") is not None

    play(check())


# What no task can have

BAD_IDS = ["", " ", "a\nb", "a\0b", "x" * 1025]


@pytest.mark.parametrize("bad", BAD_IDS)
def test_an_id_that_no_task_can_have_is_an_unknown_one(bad: str, where: taskhold.Store) -> None:
    """Whatever a client sends as an id; the SDK's memory takes it for the id of a task as well."""

    async def check() -> None:
        async with VersionedTaskStore(where) as store:
            plain, configs = TaskStore(store), PushNotificationConfigStore(store)
            assert await store.get(bad, ANN) is None
            assert await plain.get(bad, ANN) is None
            await store.delete(bad, ANN)
            assert await configs.get_info(bad, ANN) == []
            assert await configs.get_info_for_dispatch(bad) == []
            await configs.delete_info(bad, ANN)
            assert [one async for one in TaskEventStream(store).subscribe(bad, after=MISSING)] == []
            with pytest.raises(InvalidParamsError):
                await plain.save(task(bad), ANN)
            with pytest.raises(InvalidParamsError):
                await store.save(task(bad), prev_version=MISSING, context=ANN)
            if bad:
                with pytest.raises(InvalidParamsError):
                    await plain.save(task(context_id=bad), ANN)
                with pytest.raises(InvalidParamsError):
                    await configs.set_info("t", TaskPushNotificationConfig(id=bad), ANN)

    play(check())


def test_limits_are_taskholds_own_refusals() -> None:
    async def check() -> None:
        async with TaskStore(maximum_retained_tasks=1, maximum_payload_bytes=1000) as store:
            await store.save(task(), ANN)
            with pytest.raises(taskhold.CapacityExhaustedError):
                await store.save(task("more"), ANN)
            with pytest.raises(taskhold.LimitExceededError):
                await store.save(task(history=[Message(message_id="m" * 1000)]), ANN)
            with pytest.raises(TypeError):
                TaskStore(store, maximum_retained_tasks=1)

    play(check())


# Versions


async def outcome(saving: Awaitable[TaskVersion]) -> Any:
    try:
        return await saving
    except ConcurrentTaskModificationError as error:
        return type(error), error.task_id, str(error)


@contextlib.asynccontextmanager
async def database() -> AsyncIterator[tuple[VersionedDatabaseTaskStore, DatabaseTaskEventStream]]:
    engine = create_async_engine("sqlite+aiosqlite:///:memory:")
    try:
        store = VersionedDatabaseTaskStore(engine)
        await store.initialize()
        yield store, DatabaseTaskEventStream(engine, poll_interval_s=0.01)
    finally:
        await engine.dispose()


@pytest.mark.parametrize("seed", range(4))
def test_saves_win_and_lose_as_in_the_sdks_database(seed: int, where: taskhold.Store) -> None:
    async def check() -> None:
        chance = random.Random(seed)
        states = [*STATES, TaskState.TASK_STATE_CANCELED, TaskState.TASK_STATE_COMPLETED]
        async with VersionedTaskStore(where) as ours, database() as (theirs, their_stream):
            for _ in range(120):
                saved = Task(id=f"t{chance.randrange(6)}", status={"state": chance.choice(states)})
                stored = await theirs.get(saved.id, ANN)
                version = chance.choice(
                    [MISSING, TaskVersion(1), TaskVersion(2), stored.version if stored else MISSING]
                )
                if stored and stored.task.status.state in FINAL and saved.status.state not in FINAL:
                    # A final task goes back to none that is not: theirs stores it. See below.
                    continue
                event = TaskStatusUpdateEvent(task_id=saved.id, status=saved.status) if chance.random() < 0.8 else None
                mine, peer = [
                    await outcome(store.save(saved, event=event, prev=None, prev_version=version, context=ANN))
                    for store in (ours, theirs)
                ]
                assert mine == peer
                assert await ours.get(saved.id, ANN) == await theirs.get(saved.id, ANN)
                page, their_page = [await store.list(ListTasksRequest(), ANN) for store in (ours, theirs)]
                assert [one.id for one in page.tasks] == [one.id for one in their_page.tasks]
            stream = TaskEventStream(ours)
            for number in range(6):
                revision = (await ours.provider.read_events(f"t{number}"))["revision"]
                for after in range(revision + 1):
                    log = await ours.provider.read_events(f"t{number}", after_revision=after)
                    count = len(log["events"])
                    streams = [one.subscribe(f"t{number}", after=TaskVersion(after)) for one in (stream, their_stream)]
                    mine, peer = [[event async for event in taken(one, count)] for one in streams]
                    assert mine == peer

    play(check())


def test_a_final_task_stays_final(where: taskhold.Store) -> None:
    """The SDK's stores take it back to any state."""

    async def check() -> None:
        async with VersionedTaskStore(where) as store:
            version = await store.save(task(state="COMPLETED"), prev_version=MISSING, context=ANN)
            for one in (version, TaskVersion(7)):
                with pytest.raises(ConcurrentTaskModificationError):
                    await store.save(task(), prev_version=one, context=ANN)
            with pytest.raises(ConcurrentTaskModificationError):
                await TaskStore(store).save(task(), ANN)
            assert await store.save(task(state="FAILED"), prev_version=version, context=ANN) == TaskVersion(2)

    play(check())


def test_of_racing_writers_one_wins(where: taskhold.Store) -> None:
    async def check() -> None:
        async with VersionedTaskStore(where) as store:
            version = await store.save(task(), prev_version=MISSING, context=ANN)
            for _ in range(20):
                saves = [store.save(task(), prev_version=version, context=ANN) for _ in range(8)]
                outcomes = await asyncio.gather(*(outcome(save) for save in saves))
                (version,) = [one for one in outcomes if isinstance(one, TaskVersion)]
            assert version == TaskVersion(21)

    play(check())


def test_versions_of_other_stores_are_refused() -> None:
    async def check() -> None:
        async with VersionedTaskStore() as store:
            with pytest.raises(TypeError, match="versions of this store are integers, not str"):
                await store.save(task(), prev_version=TaskVersion("2026"), context=ANN)

    play(check())


# Events


def update(number: int) -> TaskStatusUpdateEvent:
    return TaskStatusUpdateEvent(task_id="t", metadata={"number": number})


async def saved(store: VersionedTaskStore, *numbers: int) -> None:
    for number in numbers:
        await store.save(task(), event=update(number), prev_version=TaskVersion(number), context=ANN)


def test_subscribers_get_what_comes_after_their_version(where: taskhold.Store) -> None:
    async def check() -> None:
        async with VersionedTaskStore(where) as store:
            stream = TaskEventStream(store)
            await saved(store, 0, 1)
            streams = [stream.subscribe("t", after=TaskVersion(after)) for after in (0, 1, 2)]
            waiting = [asyncio.create_task(collect(one, 4 - after)) for after, one in enumerate(streams)]
            await asyncio.sleep(0)
            await saved(store, 2, 3)
            for after, one in enumerate(waiting):
                assert await one == [
                    VersionedEvent(update(number), TaskVersion(number + 1)) for number in range(after, 4)
                ]
            # What the SDK does around it changes nothing.
            await stream.publish("t", VersionedEvent(update(9), TaskVersion(9)))
            await stream.destroy("t")
            assert len((await store.provider.read_events("t"))["events"]) == 4

    play(check())


def test_two_hundred_subscribers_take_no_threads(where: taskhold.Store) -> None:
    async def check() -> None:
        async with VersionedTaskStore(where) as store:
            await saved(store, 0)
            stream = TaskEventStream(store)
            subscribers = [asyncio.create_task(collect(stream.subscribe("t", after=MISSING), 2)) for _ in range(200)]
            # A durable store's calls are made in eight threads.
            before = threading.active_count()
            for _ in range(20):
                await asyncio.sleep(0.001)
                assert threading.active_count() - before <= 8
            await saved(store, 1)
            expected = [VersionedEvent(update(number), TaskVersion(number + 1)) for number in range(2)]
            assert await asyncio.gather(*subscribers) == [expected] * 200

    play(check())


async def collect(stream: Any, count: int) -> list[VersionedEvent]:
    return [one async for one in taken(stream, count)]


def test_a_save_without_an_event_is_passed_over(where: taskhold.Store) -> None:
    async def check() -> None:
        async with VersionedTaskStore(where) as store:
            waiting = asyncio.create_task(collect(TaskEventStream(store).subscribe("t", after=TaskVersion(1)), 1))
            await store.save(task(), prev_version=MISSING, context=ANN)
            waiting.cancel()
            waiting = asyncio.create_task(collect(TaskEventStream(store).subscribe("t", after=TaskVersion(1)), 1))
            await store.save(task(), prev_version=TaskVersion(1), context=ANN)
            # Another kind of host's, of a form that is its own.
            await store.provider.save_task("ann", MessageToDict(task()), event={"kind": "status-update"})
            await saved(store, 3)
            assert await waiting == [VersionedEvent(update(3), TaskVersion(4))]

    play(check())


def test_a_subscription_ends_with_its_task_or_its_store(where: taskhold.Store) -> None:
    async def check() -> None:
        async with VersionedTaskStore(where) as store:
            stream = TaskEventStream(store)
            assert [one async for one in stream.subscribe("t", after=MISSING)] == []
            await saved(store, 0)
            ending = stream.subscribe("t", after=MISSING)
            await anext(ending)
            waiting = asyncio.create_task(collect(ending, 1))
            await asyncio.sleep(0.01)
            await store.delete("t", ANN)
            with pytest.raises(RuntimeError, match="StopAsyncIteration"):
                await waiting
            await saved(store, 0)
            closing = stream.subscribe("t", after=MISSING)
            await anext(closing)
            waiting = asyncio.create_task(collect(closing, 1))
            await asyncio.sleep(0.01)
        with pytest.raises(RuntimeError, match="StopAsyncIteration"):
            await waiting

    play(check())


def test_a_subscription_outlives_a_storage_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        async with VersionedTaskStore() as store:
            await saved(store, 0)
            failures = iter([taskhold.UnavailableError("busy"), None, taskhold.UnavailableError("busy")])
            read = AsyncStateProvider.read_events

            async def failing(self: Any, task_id: str, **params: Any) -> Any:
                if (failure := next(failures, None)) is not None:
                    raise failure
                return await read(self, task_id, **params)

            monkeypatch.setattr(AsyncStateProvider, "read_events", failing)
            monkeypatch.setattr(stream, "_PAUSE", 0.001)
            waiting = asyncio.create_task(collect(TaskEventStream(store).subscribe("t", after=MISSING), 2))
            await saved(store, 1)
            assert [one.version for one in await waiting] == [TaskVersion(1), TaskVersion(2)]

    play(check())


def test_events_that_are_missing_are_an_error(where: taskhold.Store) -> None:
    async def check() -> None:
        async with VersionedTaskStore(where, maximum_events_per_task=2) as store:
            stream = TaskEventStream(store)
            await saved(store, 0, 1, 2, 3)
            with pytest.raises(InternalError, match="Events of the task are missing: subscribe again"):
                await anext(stream.subscribe("t", after=TaskVersion(1)))
            assert await collect(stream.subscribe("t", after=TaskVersion(2)), 2) == [
                VersionedEvent(update(2), TaskVersion(3)),
                VersionedEvent(update(3), TaskVersion(4)),
            ]
            await store.delete("t", ANN)
            await saved(store, 0)
            with pytest.raises(InternalError):
                await anext(stream.subscribe("t", after=TaskVersion(4)))

    play(check())


# Push notification configs


def test_push_configs_are_kept_as_in_the_sdks_memory(where: taskhold.Store) -> None:
    async def check() -> None:
        chance = random.Random(3)
        theirs = InMemoryPushNotificationConfigStore()
        async with TaskStore(where) as store:
            ours = PushNotificationConfigStore(store)
            owners = {"a": ANN, "b": BOB, "n": NOBODY}
            saved_ids: set[str] = set()
            for number in range(200):
                task_id = f"{chance.choice('abn')}{chance.randrange(3)}"
                context, config_id = owners[task_id[0]], chance.choice(["", "one", "two", "three"])
                match chance.randrange(6):
                    case 0:
                        chosen = chance.choice([config_id, None])
                        await ours.delete_info(task_id, context, chosen)
                        await theirs.delete_info(task_id, context, chosen)
                    case 1:
                        # Configs may come before their task; they go with it, which is not the SDK's.
                        await store.save(task(task_id), context)
                        saved_ids.add(task_id)
                    case _:
                        config = TaskPushNotificationConfig(id=config_id, url=f"http://127.0.0.1/{number}", token="x")
                        mine = await ours.set_info(task_id, config, context)
                        assert mine == await theirs.set_info(task_id, config, context)
                        assert config.task_id == ""
                # One that is set again keeps its place; in the SDK's memory it becomes the last.
                found = [await one.get_info(task_id, context) for one in (ours, theirs)]
                found += [await one.get_info_for_dispatch(task_id) for one in (ours, theirs)]
                own, their_own, every, their_every = [sorted(one, key=lambda config: config.id) for one in found]
                assert own == their_own == every == their_every
            assert len(saved_ids) > 5

    play(check())


def test_push_configs_go_with_their_task_and_have_a_limit(where: taskhold.Store) -> None:
    async def check() -> None:
        async with TaskStore(where) as store:
            configs = PushNotificationConfigStore(store)
            await store.save(task(), ANN)
            for number in range(100):
                await configs.set_info("t", TaskPushNotificationConfig(id=str(number)), ANN)
            await configs.set_info("t", TaskPushNotificationConfig(id="0", url="http://127.0.0.1/"), ANN)
            assert [one.id for one in await configs.get_info("t", ANN)] == [str(number) for number in range(100)]
            with pytest.raises(taskhold.CapacityExhaustedError):
                await configs.set_info("t", TaskPushNotificationConfig(id="100"), ANN)
            await store.delete("t", ANN)
            assert await configs.get_info_for_dispatch("t") == []

    play(check())


# The package


@pytest.mark.skipif(not DURABLE, reason="no SQLite")
def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    async def check() -> None:
        path = tmp_path / "agent.db"
        async with VersionedTaskStore(path) as store:
            await saved(store, 0, 1)
            await PushNotificationConfigStore(store).set_info("t", TaskPushNotificationConfig(), ANN)
        with pytest.raises(taskhold.ClosedError):
            await store.get("t", ANN)
        async with VersionedTaskStore(taskhold.Store(path)) as store:
            stored = await store.get("t", ANN)
            assert stored == cluster.StoredTask(task(), TaskVersion(2))
            assert len(await PushNotificationConfigStore(store).get_info("t", ANN)) == 1
            assert len(await collect(TaskEventStream(store).subscribe("t", after=MISSING), 2)) == 2
            await saved(store, 2)

    play(check())


def test_a_store_is_opened_by_its_first_call_or_before() -> None:
    async def check() -> None:
        store = TaskStore("sqlite:/no/such/folder/agent.db" if DURABLE else "postgresql://nowhere")
        with pytest.raises(taskhold.TaskholdError):
            await store.initialize()
        async with AsyncStateProvider() as provider:
            for one in (TaskStore(provider), VersionedTaskStore(provider)):
                await one.initialize()
                assert one.provider is provider
            await TaskStore(provider).save(task(), ANN)
            assert await VersionedTaskStore(provider).get("t", ANN) is not None
            await one.aclose()
            assert provider.closed

    play(check())


WITHOUT = """
import sys

sys.modules.update(dict.fromkeys(["a2a", "google", "google.protobuf"]))
import taskhold
from taskhold.a2a import AsyncStateProvider, StateProvider

assert StateProvider is taskhold.StateProvider
try:
    from taskhold.a2a import TaskStore
except ImportError as error:
    print(error)
import taskhold.a2a
print(hasattr(taskhold.a2a, "Unknown"))
"""


def test_the_package_needs_no_sdk_and_says_what_its_stores_need() -> None:
    done = python(WITHOUT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "taskhold.a2a.TaskStore needs the A2A SDK: pip install 'taskhold[a2a]'\nFalse\n"
    done = python("import sys, taskhold; assert not any(name in sys.modules for name in ('a2a', 'google', 'asyncio'))")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_stores_are_the_sdks() -> None:
    from a2a.server import tasks as sdk

    assert issubclass(TaskStore, sdk.TaskStore)
    assert issubclass(VersionedTaskStore, cluster.VersionedTaskStore)
    assert issubclass(TaskEventStream, cluster.TaskEventStream)
    assert issubclass(PushNotificationConfigStore, sdk.PushNotificationConfigStore)
    for name in taskhold.a2a.__all__:
        assert getattr(taskhold.a2a, name).__doc__
