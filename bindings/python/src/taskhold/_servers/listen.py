"""``notifications/tasks`` on ``subscriptions/listen``: the state of each task as it changes, its last one always.

The SDK has no hook for kinds of notifications that it does not know: this stands before its handler as middleware,
adds the tasks to the acknowledgement, and sends on the same stream.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, cast

from mcp.server.context import CallNext, HandlerResult
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    RequestId,
    ServerNotification,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
)

from .._errors import ClosedError, InvalidStateError, NotFoundError
from ..types import Rendering
from .channel import RawNotification
from .tasks import Tasks
from .wire import Context, partition, require_declared

# Tasks of one subscription; each has a coroutine that waits for it.
_MOST_TASKS = 1000


async def listen(tasks: Tasks, context: Context, call_next: CallNext) -> HandlerResult:
    """Serve a subscription; every other request goes on as it came."""
    if context.method != "subscriptions/listen" or context.request_id is None:
        return await call_next(context)
    wanted = ((context.params or {}).get("notifications") or {}).get("taskIds")
    if wanted is None:
        return await call_next(context)
    require_declared(context)
    if not isinstance(wanted, list) or not all(isinstance(task_id, str) for task_id in wanted):
        raise MCPError(INVALID_PARAMS, "taskIds must be an array of strings")
    if len(wanted) > _MOST_TASKS:
        raise MCPError(INVALID_PARAMS, f"taskIds must not name more than {_MOST_TASKS} tasks")
    honored = await _honored(tasks, context, list(dict.fromkeys(wanted)))
    session = _AcknowledgingSession(context.session, honored)
    sending = [asyncio.create_task(_send(tasks, context, session.acknowledged, task_id)) for task_id in honored]
    try:
        return await call_next(replace(context, session=cast(ServerSession, session)))
    finally:
        for one in sending:
            one.cancel()
        await asyncio.gather(*sending, return_exceptions=True)


async def _honored(tasks: Tasks, context: Context, wanted: list[str]) -> list[str]:
    """The tasks that the caller may see; the others are left out without a word, as unknown ones are."""
    honored = []
    for task_id in wanted:
        try:
            record = await tasks.manager.find_authorized_task(tasks.endpoint, partition(context), task_id)
        except ValueError:
            continue
        if record is not None:
            honored.append(task_id)
    return honored


async def _send(tasks: Tasks, context: Context, acknowledged: asyncio.Event, task_id: str) -> None:
    """Send the task now and after each change, until it ends or expires."""
    capabilities = context.session.client_capabilities
    declared = {} if capabilities is None else capabilities.model_dump(by_alias=True, mode="json", exclude_none=True)
    owner = partition(context)
    await acknowledged.wait()
    revision = 0
    try:
        while True:
            try:
                # Text and revision are of one moment, so the change that comes after it is the next one sent.
                message, revision = await tasks.manager.render_task(
                    tasks.endpoint,
                    owner,
                    task_id,
                    Rendering.NOTIFICATION,
                    client_capabilities=declared,
                    subscription_id=context.request_id,
                )
            except InvalidStateError:
                # It asks for what this client cannot answer: the next change may be for it again.
                revision = (await tasks.manager.wait_task(task_id, 0))["revision"]
            else:
                notification = cast(Any, RawNotification(method=message["method"], params=message["params"]))
                await context.session.send_notification(notification, context.request_id)
                if message["params"]["status"] in ("completed", "failed", "cancelled"):
                    return
            await tasks.manager.wait_task(task_id, revision)
    except (NotFoundError, ClosedError):
        return


class _AcknowledgingSession:
    """The session of a subscription, which adds the tasks to the acknowledgement that the SDK's handler sends."""

    def __init__(self, session: ServerSession, task_ids: list[str]) -> None:
        self.acknowledged = asyncio.Event()
        self._session = session
        self._task_ids = task_ids

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    async def send_notification(
        self, notification: ServerNotification, related_request_id: RequestId | None = None
    ) -> None:
        """Send it; nothing about tasks is sent before the acknowledgement."""
        if not isinstance(notification, SubscriptionsAcknowledgedNotification):
            await self._session.send_notification(notification, related_request_id)
            return
        honored = notification.params.notifications.model_dump(by_alias=True, exclude_none=True)
        params = SubscriptionsAcknowledgedNotificationParams(
            notifications=SubscriptionFilter.model_validate({**honored, "taskIds": self._task_ids}),
            _meta=notification.params.meta,
        )
        await self._session.send_notification(SubscriptionsAcknowledgedNotification(params=params), related_request_id)
        self.acknowledged.set()
