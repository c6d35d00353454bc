"""A tool call as it is kept with its task, so that another process of the server can run it again.

It stands in the task's ``work``, which no client sees. The bearer token itself is never kept: who called is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypedDict, cast

from mcp.server.auth.middleware.auth_context import auth_context_var, get_access_token
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, RequestId

from .wire import Context


class StoredCall(TypedDict):
    """What of a request a tool's body can read, but for its transport."""

    protocolVersion: str
    requestId: RequestId | None
    params: dict[str, Any]
    meta: dict[str, Any] | None
    caller: dict[str, Any] | None


def stored(context: Context) -> StoredCall:
    """The call that a request makes."""
    token = get_access_token()
    return {
        "protocolVersion": context.protocol_version,
        "requestId": context.request_id,
        "params": dict(context.params or {}),
        "meta": None if context.meta is None else dict(context.meta),
        "caller": None if token is None else token.model_dump(mode="json", exclude={"token"}, exclude_none=True),
    }


def restored(call: StoredCall, lifespan_context: Any) -> Context:
    """The context of a stored call: that of a request whose transport is gone."""
    meta = call["params"].get("_meta") or {}
    connection = Connection.from_envelope(
        call["protocolVersion"], meta.get(CLIENT_INFO_META_KEY), meta.get(CLIENT_CAPABILITIES_META_KEY)
    )
    return ServerRequestContext(
        # Nothing goes through this session: a run talks through its task.
        session=ServerSession(cast(Any, connection.outbound), connection),
        lifespan_context=lifespan_context,
        protocol_version=call["protocolVersion"],
        method="tools/call",
        params=call["params"],
        request_id=call["requestId"],
        meta=cast(Any, call["meta"]),
    )


@contextmanager
def calling(call: StoredCall) -> Iterator[None]:
    """Have the SDKs see the caller of a stored call, whose token is empty."""
    caller = call["caller"]
    user = None if caller is None else AuthenticatedUser(AccessToken.model_validate({**caller, "token": ""}))
    before = auth_context_var.set(user)
    try:
        yield
    finally:
        auth_context_var.reset(before)
