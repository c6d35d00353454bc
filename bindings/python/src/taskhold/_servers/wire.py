"""What stands in a request about tasks: who calls, what the client declared, and which task the header names."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, TypeAlias

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import require_client_extension
from mcp.server.request_state import authenticated_principal
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types import HEADER_MISMATCH, ClientCapabilities, RequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ConfigDict

Context: TypeAlias = ServerRequestContext[Any, Any]

EXTENSION = "io.modelcontextprotocol/tasks"
METHODS = ("tasks/get", "tasks/update", "tasks/cancel")
# Before 2026-07-28 the SDK lets neither the extension's declaration nor its results through.
VERSIONS = frozenset(MODERN_PROTOCOL_VERSIONS)

# The library's limit of a partition.
_LONGEST_PARTITION = 1024


class TaskParams(RequestParams):
    """Parameters as they came: the library judges them, so that every server refuses the same with the same words."""

    model_config = ConfigDict(extra="allow")


def partition(context: Context) -> str | None:
    """Whose tasks the caller may see: the client, issuer and subject of the access token, None without one."""
    principal = authenticated_principal(context)
    if principal is not None and len(principal.encode(errors="surrogatepass")) > _LONGEST_PARTITION:
        return "sha256:" + hashlib.sha256(principal.encode(errors="surrogatepass")).hexdigest()
    return principal


def declared(context: Context) -> bool:
    """Whether the client said, with this request, that it knows tasks."""
    capabilities = context.session.client_capabilities
    extensions = capabilities.extensions if capabilities is not None else None
    return context.protocol_version in VERSIONS and extensions is not None and EXTENSION in extensions


def require_declared(context: Context) -> None:
    """Refuse with -32021 a client that did not say that it knows tasks."""
    if not declared(context):
        require_client_extension(context, EXTENSION)
        raise missing_capability({"extensions": {EXTENSION: {}}})


def missing_capability(required: Mapping[str, Any]) -> MCPError:
    """The error for a client that did not declare what is needed."""
    return MCPError(-32021, "Missing required client capability", {"requiredCapabilities": dict(required)})


def kinds(capabilities: ClientCapabilities | None) -> list[str]:
    """The kinds of input requests that a client can answer."""
    if capabilities is None:
        return []
    found = []
    if (elicitation := capabilities.elicitation) is not None:
        # An empty declaration means forms: it is older than the other kind.
        if elicitation.form is not None or elicitation.url is None:
            found.append("elicitation/form")
        if elicitation.url is not None:
            found.append("elicitation/url")
    if capabilities.sampling is not None:
        found.append("sampling/createMessage")
    if capabilities.roots is not None:
        found.append("roots/list")
    return found


def kind(request: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of an input request, and the capability that a client needs for it."""
    method = request["method"]
    if method == "elicitation/create":
        mode = (request.get("params") or {}).get("mode", "form")
        return f"elicitation/{mode}", {"elicitation": {mode: {}}}
    return method, {method.partition("/")[0]: {}}


def check_name(context: Context) -> None:
    """Refuse a request over HTTP whose ``Mcp-Name`` header is missing or names another task than its body.

    The SDK checks the header for the methods that it knows; those of extensions are not among them.
    """
    headers = getattr(context.request, "headers", None)
    task_id = (context.params or {}).get("taskId")
    if headers is None or not isinstance(task_id, str):
        return
    if decode_header_value(headers.get(MCP_NAME_HEADER)) != task_id:
        message = f"The {MCP_NAME_HEADER} header is missing or does not match the parameter 'taskId'"
        raise MCPError(HEADER_MISMATCH, message)
