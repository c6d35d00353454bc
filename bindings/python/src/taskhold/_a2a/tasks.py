"""What the stores of the SDK share: one provider of tasks, and whose tasks a call is about."""

from __future__ import annotations

import hashlib
import logging
import os
from typing import Any, Self, TypeAlias

from a2a.server.context import ServerCallContext
from a2a.server.owner_resolver import OwnerResolver, resolve_user_scope
from a2a.types.a2a_pb2 import ListTasksRequest, ListTasksResponse, Task
from a2a.utils.errors import InvalidParamsError

from .._errors import CorruptError, InvalidArgumentError
from .._native import text
from ..provider import AsyncStateProvider
from ..store import Store
from . import listing
from .messages import read_task

logger = logging.getLogger("taskhold")

# The library's limit of an owner.
_LONGEST_OWNER = 1024

# Names that do not fit are kept as their digest, behind this.
_DIGEST = "sha256:"

# More than any task has: the protocol's own default is all of them.
_ALL_MESSAGES = 2**31 - 1


class Tasks:
    """Tasks of the SDK in a provider: what its two kinds of stores have in common."""

    def __init__(
        self,
        where: Where,
        owner_resolver: OwnerResolver | None,
        options: dict[str, Any],
    ) -> None:
        resolver = owner_resolver
        self.provider: AsyncStateProvider
        if isinstance(where, Tasks | AsyncStateProvider):
            if options:
                raise TypeError("tasks that are open take no options")
            self.provider = where if isinstance(where, AsyncStateProvider) else where.provider
            if resolver is None and isinstance(where, Tasks):
                resolver = where.owner_resolver
        else:
            self.provider = AsyncStateProvider(where, **options)
        self.owner_resolver: OwnerResolver = resolver or resolve_user_scope

    def _owner(self, context: ServerCallContext) -> str | None:
        """Whose tasks a caller may see. The SDK's name of nobody is the empty one."""
        name = self.owner_resolver(context)
        try:
            # A name that looks like a digest could be somebody else's.
            fits = len(text(name)) <= _LONGEST_OWNER and not name.startswith(_DIGEST)
        except InvalidArgumentError:
            fits = False
        if not fits:
            return _DIGEST + hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
        return name or None

    async def initialize(self) -> None:
        """Open the store now: what is wrong with it shows here, and not with the first call."""
        await self.provider.open()

    def close(self) -> None:
        """Close the store, for all that share it; subscriptions end. It does not block."""
        self.provider.close()

    async def aclose(self) -> None:
        """As :meth:`close`."""
        self.close()

    async def __aenter__(self) -> Self:
        await self.initialize()
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()

    async def _read(self, task_id: str, context: ServerCallContext) -> tuple[Task, int] | None:
        """One of the caller's tasks with its revision. An id that no task can have is unknown, too."""
        try:
            found = await self.provider.get_task(self._owner(context), task_id)
        except InvalidArgumentError:
            return None
        return None if found is None else (read_task(dict(found.value)), found.revision)

    async def _page(self, request: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """A page of the caller's tasks."""
        wanted: dict[str, Any] = {"include_artifacts": request.include_artifacts}
        wanted["history_length"] = request.history_length if request.HasField("history_length") else _ALL_MESSAGES
        if request.context_id:
            wanted["context_id"] = request.context_id
        if request.status:
            wanted["status"] = listing.state(request.status)
        if request.HasField("status_timestamp_after"):
            wanted["status_timestamp_after"] = listing.time(request.status_timestamp_after)
        owner = self._owner(context)

        async def fetch(token: str, size: int) -> listing.Fetched:
            page = await self.provider.list_tasks(owner, page_token=token, page_size=size, **wanted)
            tasks, unread = [], len(page.get("corrupt", ()))
            for document in page["tasks"]:
                try:
                    tasks.append(read_task(dict(document)))
                except CorruptError:
                    unread += 1
            if unread:
                logger.error("%d A2A tasks cannot be read, and are left out of a listing", unread)
            return listing.Fetched(tasks, page["nextPageToken"], page["totalSize"])

        try:
            return await listing.page(fetch, request)
        except InvalidArgumentError as error:
            raise InvalidParamsError(str(error)) from error

    async def _remove(self, task_id: str, context: ServerCallContext) -> None:
        """Delete one of the caller's tasks; what is not there is left alone."""
        try:
            await self.provider.delete_task(self._owner(context), task_id)
        except InvalidArgumentError:
            return


Where: TypeAlias = Tasks | AsyncStateProvider | Store | str | os.PathLike[str] | None
