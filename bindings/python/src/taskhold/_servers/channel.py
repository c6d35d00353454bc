"""What a tool's body has for a client while it runs as a task: requests become input requests, progress a message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import MessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, REQUEST_TIMEOUT, RequestId
from pydantic import BaseModel

from .wire import Context

if TYPE_CHECKING:
    from .runs import Run


class RawNotification(BaseModel):
    """A notification that the SDK has no model for."""

    method: str
    params: dict[str, Any]


@dataclass
class TaskChannel:
    """The SDK's ``DispatchContext`` for a run. Until the run is a task, all goes where it would go without one."""

    run: Run
    request_id: RequestId | None
    message_metadata: MessageMetadata = None
    transport: TransportContext = field(default_factory=lambda: TransportContext(kind="task", can_send_request=True))
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    @property
    def can_send_request(self) -> bool:
        """Whether there is a task that can ask the client."""
        return self.run.task_id is not None

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Ask the client through the task, and wait for the answer."""
        if self.run.task_id is None:
            raise NoBackChannelError(method)
        request: dict[str, Any] = {"method": method}
        if params is not None:
            request["params"] = dict(params)
        try:
            with anyio.fail_after((opts or {}).get("timeout")):
                answer: dict[str, Any] = (await self.run.ask([request]))[0]
                return answer
        except TimeoutError:
            raise MCPError(REQUEST_TIMEOUT, "The client did not answer in time") from None

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Send a notification; while the run is a task there is nowhere to send it, but progress becomes a message."""
        given = dict(params or {})
        if method == "notifications/progress":
            await self.progress(given.get("progress", 0), given.get("total"), given.get("message"))
        elif self.run.task_id is None:
            notification = cast(Any, RawNotification(method=method, params=given))
            await self.run.context.session.send_notification(notification, self.request_id)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Make progress the status message of the task."""
        if self.run.task_id is None:
            await self.run.context.session.report_progress(progress, total, message)
            return
        await self.run.say(message or (f"{progress:g}" if total is None else f"{progress:g}/{total:g}"))


def redirected(run: Run) -> Context:
    """The context of the request that a run answers, with a session that talks through the run's task."""
    context = run.context
    channel = TaskChannel(run, context.request_id)
    meta = (context.params or {}).get("_meta") or {}
    # A session keeps its connection to itself, so an equal one is made of what the request says about its client.
    connection = Connection.from_envelope(
        context.protocol_version,
        meta.get(CLIENT_INFO_META_KEY),
        meta.get(CLIENT_CAPABILITIES_META_KEY),
        outbound=channel,
    )
    return replace(context, session=ServerSession(channel, connection))
