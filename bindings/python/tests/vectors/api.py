"""Calls the package's methods. What cannot be said through them (a malformed options text, a NULL for a required
argument, bytes for a name) is `Inexpressible`, and is called raw on the same handle.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import taskhold
from taskhold._json import camel
from vectors.values import dumps

Arguments = dict[str, Any]
Method = tuple[str, list[Any], dict[str, Any]]


class Inexpressible(Exception):
    """The methods cannot say this."""


def string(value: Any) -> str:
    """An argument that is a str in Python."""
    if not isinstance(value, str):
        raise Inexpressible
    return value


def optional(value: Any) -> str | None:
    """The same, or None."""
    return None if value is None else string(value)


def payload(value: Any) -> Any:
    """A required payload: ready text, or a value to dump."""
    if value is None:
        raise Inexpressible
    return value


def keywords(value: Any) -> dict[str, Any]:
    """Options as keywords."""
    if value is None:
        return {}
    if isinstance(value, str | bytes):
        try:
            text, value = value, json.loads(value)
        except (ValueError, RecursionError):
            raise Inexpressible from None
        if not isinstance(value, dict) or dumps(value) != text:
            raise Inexpressible
    if not isinstance(value, dict):
        raise Inexpressible
    named = {"".join("_" + c.lower() if c.isupper() else c for c in key): member for key, member in value.items()}
    for key, original in zip(named, value, strict=True):
        if not key.isidentifier() or camel(key) != original:
            raise Inexpressible
    return named


def members(value: Any, required: tuple[str, ...], payloads: tuple[str, ...]) -> tuple[list[Any], dict[str, Any]]:
    """An object of which some members are arguments of their own."""
    named = keywords(value)
    if any(named.get(name) is None for name in required) or "self" in named:
        raise Inexpressible
    for name in payloads:
        if isinstance(named.get(name), str):
            # As a member it is a JSON string; as an argument it would be JSON text.
            named[name] = dumps(named[name])
    return [named.pop(name) for name in required], named


def _creation(a: Arguments) -> Method:
    positional, named = members(a.get("creation"), ("endpoint", "origin"), ("origin", "metadata"))
    return "create_task", positional, named


def _session(a: Arguments) -> Method:
    _, named = members(a.get("creation"), (), ("session_context",))
    if "endpoint" in named:
        raise Inexpressible
    return "create", [string(a.get("endpoint"))], named


def _rendering(a: Arguments) -> Method:
    _, named = members(a.get("options"), (), ("client_capabilities",))
    return "render_task", [*_caller(a), string(a.get("task_id")), a["rendering"]], named


def _request(a: Arguments) -> Method:
    capabilities = {"client_capabilities": a.get("client_capabilities")}
    return "handle_request", [*_caller(a), payload(a.get("request"))], capabilities


def _claiming(a: Arguments) -> Method:
    positional, named = members(a.get("claim"), ("queues", "worker", "lease_ms"), ())
    queues, worker, lease_ms = positional
    if named or not isinstance(queues, list):
        raise Inexpressible
    return "claim_task", [queues], {"worker": worker, "lease_ms": lease_ms, "timeout": seconds(a["timeout_ms"])}


def _renewing(a: Arguments) -> Method:
    (tasks, lease_ms), named = members(a.get("renewals"), ("tasks", "lease_ms"), ())
    if named or not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise Inexpressible
    return "renew_leases", [[keywords(task) for task in tasks]], {"lease_ms": lease_ms}


def _caller(a: Arguments) -> list[Any]:
    return [string(a.get("endpoint")), optional(a.get("partition"))]


def _of_id(name: str) -> Callable[[Arguments], Method]:
    return lambda a: (name, [string(a.get("task_id"))], {})


def _of_session(name: str) -> Callable[[Arguments], Method]:
    return lambda a: (name, [string(a.get("session_id"))], {})


def _alone(name: str) -> Callable[[Arguments], Method]:
    return lambda a: (name, [], {})


def _transition(name: str, payload_name: str | None = None) -> Callable[[Arguments], Method]:
    def method(a: Arguments) -> Method:
        positional = [string(a.get("task_id"))]
        if payload_name:
            positional.append(payload(a.get(payload_name)))
        return name, [*positional, optional(a.get("status_message"))], keywords(a.get("options"))

    return method


def seconds(milliseconds: int) -> float | None:
    """A timeout as the methods take it."""
    return None if milliseconds == 0xFFFF_FFFF else milliseconds / 1000


METHODS: dict[str, Callable[[Arguments], Method]] = {
    "clock_advance": lambda a: ("advance", [a["ms"]], {}),
    "clock_step_wall": lambda a: ("step_wall", [a["ms"]], {}),
    "store_stats": _alone("stats"),
    "store_check": _alone("check"),
    "store_copy": lambda a: ("copy_to", [a["to"]], keywords(a.get("options"))),
    "manager_options": _alone("options"),
    "manager_create_task": _creation,
    "manager_find_task": _of_id("find_task"),
    "manager_mark_task_working": _transition("mark_task_working"),
    "manager_request_task_input": _transition("request_task_input", "input_requests"),
    "manager_complete_task": _transition("complete_task", "result"),
    "manager_fail_task": _transition("fail_task", "failure"),
    "manager_cancel_task": _transition("cancel_task"),
    "manager_take_task_input_responses": lambda a: (
        "take_task_input_responses",
        [string(a.get("task_id"))],
        keywords(a.get("options")),
    ),
    "manager_is_task_cancelation_requested": _of_id("is_task_cancelation_requested"),
    "manager_wait_task": lambda a: (
        "wait_task",
        [string(a.get("task_id")), a["seen_revision"], seconds(a["timeout_ms"])],
        {},
    ),
    "manager_claim_task": _claiming,
    "manager_renew_leases": _renewing,
    "manager_release_task": lambda a: (
        "release_task",
        [string(a.get("task_id"))],
        keywords(a.get("options")),
    ),
    "manager_list_tasks": lambda a: ("list_tasks", [], keywords(a.get("params"))),
    "manager_find_authorized_task": lambda a: ("find_authorized_task", [*_caller(a), string(a.get("task_id"))], {}),
    "manager_update_task": lambda a: (
        "update_task",
        [*_caller(a), string(a.get("task_id")), payload(a.get("input_responses"))],
        keywords(a.get("options")),
    ),
    "manager_request_task_cancelation": lambda a: (
        "request_task_cancelation",
        [*_caller(a), string(a.get("task_id"))],
        {},
    ),
    "manager_render_task": _rendering,
    "manager_handle_request": _request,
    "manager_publish_task_changed": _of_id("publish_task_changed"),
    "manager_open_events": lambda a: ("open_events", [a["capacity"]], {}),
    "events_next": lambda a: ("next", [seconds(a["timeout_ms"])], {}),
    "events_fd": _alone("fd"),
    "session_store_options": _alone("options"),
    "session_store_create": _session,
    "session_store_find_by_session_id": _of_session("find_by_session_id"),
    "session_store_find_authorized_session": lambda a: (
        "find_authorized_session",
        [*_caller(a), string(a.get("session_id"))],
        {},
    ),
    "session_store_list_sessions": lambda a: ("list_sessions", [], keywords(a.get("params"))),
    "session_store_replace": lambda a: ("replace", [payload(a.get("expected")), payload(a.get("updated"))], {}),
    "session_store_delete_by_session_id": _of_session("delete_by_session_id"),
    "session_store_pin": _of_session("pin"),
    "session_store_unpin": _of_session("unpin"),
    "session_store_take_expired": _alone("take_expired"),
    "state_provider_options": _alone("options"),
    "state_provider_save_task": lambda a: (
        "save_task",
        [optional(a.get("owner")), payload(a.get("task"))],
        keywords(a.get("save_options")),
    ),
    "state_provider_get_task": lambda a: (
        "get_task",
        [optional(a.get("owner")), string(a.get("task_id"))],
        keywords(a.get("params")),
    ),
    "state_provider_delete_task": lambda a: ("delete_task", [optional(a.get("owner")), string(a.get("task_id"))], {}),
    "state_provider_list_tasks": lambda a: ("list_tasks", [optional(a.get("owner"))], keywords(a.get("params"))),
    "state_provider_is_task_active": _of_id("is_task_active"),
    "state_provider_is_task_finalized": _of_id("is_task_finalized"),
    "state_provider_task_liveness": _of_id("task_liveness"),
    "state_provider_read_events": lambda a: (
        "read_events",
        [string(a.get("task_id"))],
        keywords(a.get("params")),
    ),
    "state_provider_wait_task": lambda a: (
        "wait_task",
        [string(a.get("task_id")), a["seen_revision"], seconds(a["timeout_ms"])],
        {},
    ),
    "state_provider_set_push_config": lambda a: (
        "set_push_config",
        [
            optional(a.get("owner")),
            string(a.get("task_id")),
            optional(a.get("config_id")),
            payload(a.get("config")),
        ],
        {},
    ),
    "state_provider_list_push_configs": lambda a: (
        "list_push_configs",
        [optional(a.get("owner")), string(a.get("task_id"))],
        keywords(a.get("params")),
    ),
    "state_provider_delete_push_config": lambda a: (
        "delete_push_config",
        [optional(a.get("owner")), string(a.get("task_id")), optional(a.get("config_id"))],
        {},
    ),
    "state_provider_open_events": lambda a: ("open_events", [a["capacity"]], {}),
} | {
    f"{kind}_close": _alone("close")
    for kind in ("clock", "store", "manager", "events", "session_store", "state_provider")
}

SYSTEMS: dict[str, Any] = {
    "manager_open": taskhold.TaskManager,
    "session_store_open": taskhold.SessionStore,
    "state_provider_open": taskhold.StateProvider,
}

ASYNC_SYSTEMS: dict[str, Any] = {
    "manager_open": taskhold.AsyncTaskManager,
    "session_store_open": taskhold.AsyncSessionStore,
    "state_provider_open": taskhold.AsyncStateProvider,
}

LIBRARY: dict[str, Callable[[Arguments], Any]] = {
    "abi_version": lambda a: taskhold.abi_version(),
    "version": lambda a: taskhold.version(),
    "status_name": lambda a: taskhold.status_name(a["status"]),
    "describe": lambda a: taskhold.describe_json(),
    "json_get": lambda a: taskhold.json_get(payload(a.get("json")), string(a.get("pointer"))),
}
