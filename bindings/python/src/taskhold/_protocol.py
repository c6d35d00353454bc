"""The protocol's side of a task manager: the caller's endpoint and partition are checked."""

from __future__ import annotations

from typing import Unpack

from . import _native
from ._handles import gives
from ._json import untrusted
from ._native import lib, optional_text, text
from .store import StoreClient
from .types import (
    Conditions,
    JsonObject,
    Payload,
    RenderOptions,
    Revisioned,
    TaskRecord,
    UpdateOutcome,
)

_RENDERING_PAYLOADS = frozenset({"client_capabilities"})


class ProtocolCalls(StoreClient):
    """The calls of a manager that a server makes for its clients."""

    @gives(TaskRecord)
    def find_authorized_task_json(self, endpoint: str, partition: str | None, task_id: str) -> str | None:
        """Find a task that the caller may see. Unknown, expired and foreign tasks give the same answer.

        Args:
            endpoint: the endpoint that the request came to.
            partition: the authorization partition of the caller; None is the anonymous one, and another than "".
            task_id: the task's id.

        Returns:
            The record, or None. Only its ``task`` may reach the client.

        Raises:
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_manager_find_authorized_task``.
        """
        return self._text_or_none(
            lib.taskhold_manager_find_authorized_task,
            text(endpoint),
            optional_text(partition),
            text(task_id),
        )

    @gives(UpdateOutcome)
    def update_task_json(
        self,
        endpoint: str,
        partition: str | None,
        task_id: str,
        input_responses: Payload,
        **options: Unpack[Conditions],
    ) -> str:
        """Accept a client's answers to input requests (``tasks/update``).

        An answer counts when its key is outstanding and its shape matches; every other one is ignored without a
        trace. A working or terminal task is left alone: that is fine too.

        Args:
            endpoint: the endpoint that the request came to.
            partition: the authorization partition of the caller; None is the anonymous one.
            task_id: the task's id.
            input_responses: an object: answers by the keys of their requests.
            **options: ``expected_revision``, ``unless_cancelation_requested``.

        Returns:
            Which answers counted; for the host, not for the client.

        Raises:
            NotFoundError: unknown, expired or not the caller's.
            InvalidStateError: ``cancelation_requested``.
            ConflictError: the revision is another, or the lease is lost.
            InvalidArgumentError: an argument is malformed.
            LimitExceededError: a payload is too large or too deep.

        Source: ``taskhold_manager_update_task``.
        """
        return self._text(
            lib.taskhold_manager_update_task,
            text(endpoint),
            optional_text(partition),
            text(task_id),
            self._payload(input_responses),
            self._options(options),
        )

    def request_task_cancelation(self, endpoint: str, partition: str | None, task_id: str) -> None:
        """Record that a client asks for a task's cancelation (``tasks/cancel``). The worker decides about it.

        Asking again, or for a terminal task, is fine and changes nothing.

        Raises:
            NotFoundError: unknown, expired or not the caller's.
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_manager_request_task_cancelation``.
        """
        self._do(
            lib.taskhold_manager_request_task_cancelation,
            text(endpoint),
            optional_text(partition),
            text(task_id),
        )

    @gives(JsonObject)
    def render_task_json(
        self,
        endpoint: str,
        partition: str | None,
        task_id: str,
        rendering: int,
        **options: Unpack[RenderOptions],
    ) -> Revisioned[str]:
        """Render a task as a client gets it.

        Args:
            endpoint: the endpoint of the client.
            partition: the authorization partition of the client; None is the anonymous one.
            task_id: the task's id.
            rendering: a :class:`Rendering`.
            **options: ``client_capabilities`` (checked as in a request, if given), ``subscription_id`` (goes into
                the notification's ``_meta``).

        Returns:
            What the client gets, and the revision that it shows, from one reading.

        Raises:
            NotFoundError: unknown, expired or not the caller's.
            InvalidStateError: ``undeliverable``: the task asks for input that it did not declare, or that the
                client has no capability for.
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_manager_render_task``.
        """
        rendered, revision = _native.call_revised_text(
            lib.taskhold_manager_render_task,
            self._token,
            text(endpoint),
            optional_text(partition),
            text(task_id),
            _native.int32(rendering, "rendering"),
            self._options(options, _RENDERING_PAYLOADS),
        )
        return Revisioned((rendered or b"").decode(), revision)

    @gives(JsonObject)
    def handle_request_json(
        self, endpoint: str, partition: str | None, request: Payload, *, client_capabilities: Payload = None
    ) -> str | None:
        """Answer one JSON-RPC request of the extension: ``tasks/get``, ``tasks/update`` or ``tasks/cancel``.

        Whatever the request is, the answer is a whole JSON-RPC response, be it an error.

        Args:
            endpoint: the endpoint that the request came to.
            partition: the authorization partition of the caller; None is the anonymous one.
            request: the request as it came; bytes need not even be UTF-8.
            client_capabilities: what the client has declared; None takes it from the request's ``_meta``.

        Returns:
            The response, or None for a notification.

        Raises:
            InvalidArgumentError: an argument around the request is malformed.
            UnavailableError: the storage failed; ``response`` is a JSON-RPC response that is ready to be sent.
            CorruptError: a stored row cannot be read.

        Source: ``taskhold_manager_handle_request``.
        """
        return self._text_or_none(
            lib.taskhold_manager_handle_request,
            text(endpoint),
            optional_text(partition),
            self._optional_payload(client_capabilities),
            untrusted(request, self._default),
        )
