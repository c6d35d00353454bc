"""Exceptions: what they are, what they say, and that they travel between processes."""

from __future__ import annotations

import builtins
import copy
import pickle
import threading
from typing import Any

import pytest

import taskhold
from taskhold import _errors
from taskhold._native import _failure

BUILTINS: dict[type[taskhold.TaskholdError], type[Exception]] = {
    taskhold.InvalidArgumentError: ValueError,
    taskhold.InvalidHandleError: ValueError,
    taskhold.NotFoundError: LookupError,
    taskhold.InvalidStateError: RuntimeError,
    taskhold.CapacityExhaustedError: RuntimeError,
    taskhold.LimitExceededError: ValueError,
    taskhold.ConflictError: RuntimeError,
    taskhold.TimeoutError: builtins.TimeoutError,
    taskhold.ClosedError: RuntimeError,
    taskhold.UnavailableError: ConnectionError,
    taskhold.CorruptError: RuntimeError,
    taskhold.UnsupportedError: NotImplementedError,
    taskhold.InternalError: RuntimeError,
}


def test_each_is_the_builtin_that_is_expected() -> None:
    assert BUILTINS.keys() == set(_errors.BY_CODE.values())
    for error, builtin in BUILTINS.items():
        assert issubclass(error, builtin)


def test_an_error_says_why_and_where() -> None:
    with pytest.raises(ValueError, match="whole number") as refused:
        taskhold.TaskManager(poll_interval_ms=0)
    error = refused.value
    assert isinstance(error, taskhold.InvalidArgumentError)
    assert (error.status, error.code, error.reason) == ("invalid_argument", 1, "invalid_value")
    assert (error.key, error.limit, error.response) == ("pollIntervalMs", 1, None)


@pytest.mark.parametrize("error", list(BUILTINS))
def test_they_can_be_pickled_and_copied(error: type[taskhold.TaskholdError]) -> None:
    one = error("words", reason="a_reason", key="k", limit=3, response={"id": 1}, code=error.code)
    for other in (pickle.loads(pickle.dumps(one)), copy.copy(one)):
        assert type(other) is error
        assert str(other) == str(one) == "words: k (a_reason)"
        assert vars(other) == vars(one)


def test_the_response_of_a_failed_storage_is_at_hand() -> None:
    text = b'{"status":"unavailable","reason":"storage_unavailable","message":"m","response":{"jsonrpc":"2.0"}}'
    error = _errors.from_native(10, text)
    assert isinstance(error, taskhold.UnavailableError)
    assert error.response == {"jsonrpc": "2.0"}


def test_the_text_names_the_member_or_argument() -> None:
    with pytest.raises(taskhold.InvalidArgumentError) as refused:
        taskhold.TaskManager(None, time_to_live=5)  # type: ignore[call-arg]
    assert str(refused.value) == "the object has an unknown member: timeToLive (unknown_key)"


def test_the_status_of_a_newer_library_is_the_base_class() -> None:
    error = _errors.from_native(55, b'{"status":"odd","reason":"new","message":"words","more":1}')
    assert type(error) is taskhold.TaskholdError
    assert (error.code, error.reason, str(error)) == (55, "new", "words (new)")


def test_a_failure_without_an_error_object_keeps_its_status() -> None:
    import ctypes

    error: Any = _failure(4, ctypes.c_char_p())
    assert isinstance(error, taskhold.InvalidStateError)
    assert str(error) == "status 4"


def test_a_traceback_names_the_class_as_users_write_it() -> None:
    errors: list[type[Exception]] = [taskhold.TaskholdError, *BUILTINS]
    for error in errors:
        assert error.__module__ == "taskhold"
        assert getattr(taskhold, error.__name__) is error


def test_one_exception_tells_of_a_closed_object() -> None:
    """It is a ClosedError whether the close came before the call or during its wait, and an InvalidHandleError."""
    tasks = taskhold.TaskManager()
    task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
    threading.Timer(0.05, tasks.close).start()
    with pytest.raises(taskhold.ClosedError) as during:
        tasks.wait_task(task_id, 1)
    with pytest.raises(taskhold.ClosedError) as before:
        tasks.find_task(task_id)
    for error, reason in ((during.value, "closed_while_waiting"), (before.value, "closed")):
        assert isinstance(error, taskhold.InvalidHandleError)
        assert error.reason == reason
        assert vars(pickle.loads(pickle.dumps(error))) == vars(error)
    assert (during.value.status, during.value.code) == ("closed", 9)
    assert (before.value.status, before.value.code) == ("invalid_handle", 2)


def test_messages_hold_nothing_of_the_caller() -> None:
    tasks = taskhold.TaskManager()
    for call in (
        lambda: tasks.complete_task("secret-id", {}),
        lambda: tasks.complete_task("secret-id", "secret"),
        lambda: tasks.create_task("secret\0", {}),
        lambda: tasks.update_task("/secret", "secret", "secret-id", {}),
        lambda: taskhold.Store("secret://secret"),
    ):
        with pytest.raises(taskhold.TaskholdError) as refused:
            call()
        assert "secret" not in str(refused.value)
