"""What crosses: payloads byte for byte, texts that C cannot hold refused, numbers exact."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

import taskhold
from taskhold import InvalidArgumentError, Json, LimitExceededError, Rendering, TaskManager
from taskhold._errors import from_native

CLIENT: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.fixture
def tasks() -> TaskManager:
    return TaskManager()


def new(tasks: TaskManager) -> str:
    return tasks.create_task("/mcp", {})["task"]["taskId"]


@pytest.mark.parametrize("text", ['{ "b":1.10, "a" :1e2 }', '{"s":"\\u00e9\\ud83d\\ude00"}', '{"é":"\\u0000"}'])
@pytest.mark.parametrize("crossing", [str, str.encode])
def test_ready_json_crosses_as_it_is(tasks: TaskManager, text: str, crossing: Callable[[str], Any]) -> None:
    record = tasks.complete_task_json(new(tasks), crossing(text))
    assert taskhold.json_get(record, "/task/result") == text
    record = tasks.create_task_json("/mcp", crossing(text), metadata=crossing(text))
    assert taskhold.json_get(record, "/origin") == text
    assert taskhold.json_get(record, "/metadata") == text


def test_values_are_dumped_compactly_in_their_order(tasks: TaskManager) -> None:
    record = tasks.complete_task_json(new(tasks), {"b": [1, True, None, 1.5], "a": "é\U0001f600"})
    assert taskhold.json_get(record, "/task/result") == '{"b":[1,true,null,1.5],"a":"é\U0001f600"}'


def test_integers_of_4300_digits_stay_exact_and_longer_ones_too(tasks: TaskManager) -> None:
    large, larger = "9" * 4300, "8" * 5000
    record = tasks.complete_task(new(tasks), f'{{"large": {large}, "larger": -{larger}, "small": -7}}')
    result = record["task"]["result"]
    assert result["large"] == int(large)
    assert result["larger"] == Decimal("-" + larger)
    assert result["small"] == -7
    again = tasks.complete_task_json(new(tasks), {"large": result["large"]})
    assert taskhold.json_get(again, "/task/result/large") == large


def test_decimals_keep_their_spelling_in_the_text(tasks: TaskManager) -> None:
    text = tasks.complete_task_json(new(tasks), '{"price": 0.10, "huge": 1e999}')
    assert taskhold.json_get(text, "/task/result") == '{"price": 0.10, "huge": 1e999}'


@pytest.mark.parametrize(
    "call",
    [
        lambda tasks, bad: tasks.find_task(bad),
        lambda tasks, bad: tasks.create_task(bad, {}),
        lambda tasks, bad: tasks.create_task("/mcp", bad),
        lambda tasks, bad: tasks.create_task("/mcp", {}, authorization_partition=bad),
        lambda tasks, bad: tasks.complete_task("x", bad),
        lambda tasks, bad: tasks.cancel_task("x", bad),
        lambda tasks, bad: tasks.find_authorized_task("/mcp", bad, "x"),
        lambda tasks, bad: tasks.list_tasks(endpoint=bad),
        lambda tasks, bad: taskhold.Store(bad),
        lambda tasks, bad: taskhold.json_get("{}", bad),
        lambda tasks, bad: taskhold.SessionStore().create("/mcp", session_context=bad),
        lambda tasks, bad: taskhold.StateProvider().save_task(bad, "{}"),
    ],
)
def test_nul_and_lone_surrogates_are_refused(tasks: TaskManager, call: Callable[[TaskManager, str], Any]) -> None:
    with pytest.raises(InvalidArgumentError) as nul:
        call(tasks, "a\0b")
    # A member of an object crosses escaped, and is refused by the library.
    assert nul.value.reason in ("embedded_nul", "invalid_value")
    with pytest.raises(InvalidArgumentError) as surrogate:
        call(tasks, "a\ud800b")
    assert surrogate.value.reason == "lone_surrogate"
    assert tasks.list_tasks()["records"] == []


def test_bytes_with_a_nul_or_no_utf8_are_refused(tasks: TaskManager) -> None:
    task_id = new(tasks)
    for bad, reason in ((b'{"a":1}\0{', "embedded_nul"), (b'{"a":"\xff"}', "invalid_utf8")):
        with pytest.raises(InvalidArgumentError) as refused:
            tasks.complete_task(task_id, bad)
        assert refused.value.reason == reason
        with pytest.raises(InvalidArgumentError) as refused:
            tasks.create_task("/mcp", bad)
        assert refused.value.reason == reason


def test_an_escaped_nul_in_a_payload_is_fine(tasks: TaskManager) -> None:
    assert tasks.create_task("/mcp", '"\\u0000"')["origin"] == "\0"
    assert tasks.complete_task(new(tasks), {"a": "\0"})["task"]["result"] == {"a": "\0"}


@pytest.mark.parametrize(
    "smuggled",
    [
        '{},"authorizationPartition":"bob"',
        '{},"metadata":{}',
        "{}}",
        '{},"taskId":"mine"',
        '1,"x":2',
        "",
        " ",
        "{} {}",
        '"a","b":"c"',
    ],
)
def test_a_payload_is_one_value_and_smuggles_nothing_in(tasks: TaskManager, smuggled: str) -> None:
    task_id = new(tasks)
    for call in (
        lambda: tasks.create_task("/mcp", smuggled),
        lambda: tasks.create_task("/mcp", {}, metadata=smuggled),
        lambda: tasks.render_task("/mcp", None, task_id, Rendering.NOTIFICATION, client_capabilities=smuggled),
        lambda: taskhold.SessionStore().create("/mcp", session_context=smuggled),
    ):
        with pytest.raises(InvalidArgumentError) as refused:
            call()
        assert refused.value.reason == "invalid_json"


def test_too_deep_payloads_are_refused_by_the_library(tasks: TaskManager) -> None:
    for payload in ("[" * 200 + "]" * 200, json.loads("[" * 200 + "]" * 200)):
        with pytest.raises(LimitExceededError) as refused:
            tasks.create_task("/mcp", payload)
        assert (refused.value.reason, refused.value.limit) == ("nesting_too_deep", 128)


def test_nan_is_refused_by_the_library(tasks: TaskManager) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        tasks.complete_task(new(tasks), {"x": float("nan")})
    assert refused.value.reason == "invalid_json"


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda tasks: tasks.open_events(2**32), "capacity"),
        (lambda tasks: tasks.open_events(-1), "capacity"),
        (lambda tasks: tasks.wait_task("x", 2**64, 0), "seen_revision"),
        (lambda tasks: tasks.wait_task("x", -1, 0), "seen_revision"),
        (lambda tasks: tasks.render_task("/mcp", None, "x", 2**31), "rendering"),
        (lambda tasks: taskhold.ManualClock(2**63), "epoch_ms"),
        (lambda tasks: taskhold.ManualClock().advance(2**63), "ms"),
        (lambda tasks: taskhold.status_name(2**31), "status"),
    ],
)
def test_integers_that_c_would_cut_are_refused(
    tasks: TaskManager, call: Callable[[TaskManager], Any], key: str
) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        call(tasks)
    assert (refused.value.reason, refused.value.key) == ("invalid_value", key)


@pytest.mark.parametrize("request_", ["{\0}", "\ud800", b"\xff\xfe", b"{}\0", b"", "", "nonsense", {"a": "\ud800"}])
def test_a_clients_request_is_always_answered(tasks: TaskManager, request_: Any) -> None:
    response = tasks.handle_request("/mcp", None, request_, client_capabilities=CLIENT)
    assert response is not None
    assert response["error"]["code"] == -32700


@pytest.mark.parametrize("subscription", ["7", "abc", '"x"', 7, "{}"])
def test_a_subscription_id_is_a_value_whatever_it_looks_like(tasks: TaskManager, subscription: Any) -> None:
    task_id = new(tasks)
    message = tasks.render_task("/mcp", None, task_id, Rendering.NOTIFICATION, subscription_id=subscription).value
    assert message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == subscription


@pytest.mark.parametrize(
    "call",
    [
        lambda tasks, other: tasks.find_task(other),
        lambda tasks, other: tasks.complete_task(other, {}),
        lambda tasks, other: tasks.cancel_task("x", other),
        lambda tasks, other: tasks.find_authorized_task(other, None, "x"),
        lambda tasks, other: tasks.find_authorized_task("/mcp", other, "x"),
        lambda tasks, other: tasks.wait_task(other, timeout=0),
        lambda tasks, other: taskhold.SessionStore().find_by_session_id(other),
        lambda tasks, other: taskhold.StateProvider().get_task(None, other),
        lambda tasks, other: taskhold.json_get("{}", other),
        lambda tasks, other: taskhold.Store(other),
    ],
)
@pytest.mark.parametrize("other", [7, b"x", ["x"], object()])
def test_a_text_that_is_no_str_is_a_type_error(
    tasks: TaskManager, call: Callable[[TaskManager, Any], Any], other: Any
) -> None:
    with pytest.raises(TypeError, match=f"a str is expected, not {type(other).__name__}"):
        call(tasks, other)


def test_what_python_cannot_write_is_refused_as_other_texts_are(tasks: TaskManager) -> None:
    itself: list[Any] = []
    itself.append(itself)
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for payload, error in (
        (10**5000, InvalidArgumentError),
        (itself, InvalidArgumentError),
        (deep, LimitExceededError),
    ):
        with pytest.raises(error):
            tasks.create_task("/mcp", payload)
        options: Any = {"page_size": payload}
        with pytest.raises(error):
            tasks.list_tasks(**options)
        response = tasks.handle_request("/mcp", None, {"id": payload})
        assert response is not None
        assert response["error"]["code"] == -32700


def test_a_long_integer_in_an_error_is_exact() -> None:
    text = b'{"status":"unavailable","reason":"r","message":"m","response":{"id":' + b"7" * 5000 + b"}}"
    assert from_native(10, text).response == {"id": Decimal("7" * 5000)}


def test_a_marked_text_crosses_as_it_is(tasks: TaskManager) -> None:
    text = '{"price": 1.10}'
    for marked in (Json(text), Json(text.encode())):
        record = tasks.complete_task_json(new(tasks), marked)
        assert taskhold.json_get(record, "/task/result") == text
        assert taskhold.json_get(tasks.create_task_json("/mcp", marked, metadata=marked), "/metadata") == text
        request = Json('{"jsonrpc": "2.0", "id": "\\u0061", "method": "tasks/nothing"}')
        assert taskhold.json_get(tasks.handle_request_json("/mcp", None, request) or "", "/id") == "a"
    with pytest.raises(InvalidArgumentError):
        tasks.create_task("/mcp", Json("1, 2"))
    assert Json("1") == Json("1") != Json("2")
    assert len({Json("1"), Json("1"), "1"}) == 2


@dataclass
class Price:
    amount: Decimal


def test_what_json_cannot_write_is_asked_of_the_user() -> None:
    def default(value: Any) -> Any:
        return {"amount": str(value.amount)} if isinstance(value, Price) else str(value)

    price, written = Price(Decimal("1.10")), {"amount": "1.10"}
    tasks = TaskManager(default=default)
    record = tasks.create_task("/mcp", [price], metadata={"at": price})
    assert (record["origin"], record["metadata"]) == ([written], {"at": written})
    assert tasks.complete_task(record["task"]["taskId"], {"p": price})["task"]["result"] == {"p": written}
    session = taskhold.SessionStore(default=default).create("/mcp", session_context={"p": price})
    assert session is not None
    assert session["sessionContext"] == {"p": written}
    provider = taskhold.StateProvider(default=default)
    provider.save_task(None, {"id": "t", "status": {"state": "working"}, "metadata": {"p": price}})
    saved = provider.get_task(None, "t")
    assert saved is not None
    assert saved.value["metadata"] == {"p": written}
    with pytest.raises(TypeError):
        TaskManager().create_task("/mcp", [price])


def test_durations_may_be_timedeltas() -> None:
    options = TaskManager(poll_interval_ms=timedelta(seconds=2), task_time_to_live_ms=timedelta(hours=1)).options()
    assert (options["pollIntervalMs"], options["taskTimeToLiveMs"]) == (2000, 3_600_000)
    assert TaskManager(poll_interval_ms=timedelta(microseconds=1)).options()["pollIntervalMs"] == 1
    clock = taskhold.ManualClock()
    clock.advance(timedelta(seconds=1))
    clock.step_wall(timedelta(seconds=-1))
    with pytest.raises(InvalidArgumentError):
        clock.advance(timedelta(seconds=-1))


def test_options_of_a_newer_library_need_no_newer_package(tasks: TaskManager) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        TaskManager(future_option=1)  # type: ignore[call-arg]
    assert (refused.value.reason, refused.value.key) == ("unknown_key", "futureOption")
    with pytest.raises(InvalidArgumentError) as refused:
        tasks.list_tasks(tag="x")  # type: ignore[call-arg]
    assert (refused.value.reason, refused.value.key) == ("unknown_key", "tag")


def test_none_restores_a_default() -> None:
    assert TaskManager(poll_interval_ms=None).options()["pollIntervalMs"] == 1000
    assert TaskManager(poll_interval_ms=5).options()["pollIntervalMs"] == 5
