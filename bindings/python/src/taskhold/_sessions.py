"""The session store: MCP sessions, admitted up to a limit and replaced by compare-and-set."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Self, Unpack

from ._clients import AsyncClient
from ._handles import gives
from ._json import Default
from ._native import lib, optional_text, text
from ._pages import pages, pages_async
from .store import StoreClient, StoreLike, opened
from .types import (
    ExpiredSession,
    JsonObject,
    Payload,
    Session,
    SessionFilters,
    SessionListOptions,
    SessionOptions,
    SessionPage,
    SessionStoreOptions,
)

if TYPE_CHECKING:
    from .sessions import SessionStore  # noqa: F401 - of the class below

_SESSION_PAYLOADS = frozenset({"session_context"})


class SessionStoreCalls(StoreClient):
    """A store of MCP sessions: it admits and finds them, and replaces them by compare-and-set.

    >>> sessions = SessionStore()
    >>> session = sessions.create("/mcp", authorization_partition="alice")
    >>> sessions.replace(session, {**session, "initialized": True, "version": session["version"] + 1})
    True
    >>> sessions.replace(session, {**session, "version": 7})
    False
    """

    _close = lib.taskhold_session_store_close

    def __init__(
        self, store: StoreLike = None, *, default: Default = None, **options: Unpack[SessionStoreOptions]
    ) -> None:
        """Open a session store.

        Args:
            store: where the sessions live: a :class:`Store`, its URL or path, or None for a private one in memory.
            default: what is asked for a value that JSON does not have, as by :func:`json.dumps`.
            **options: ``name`` ("default"; session stores with one name over one store share their sessions),
                ``idle_timeout_ms`` (86400000; 0: never), ``concurrent_session_limit`` (8192; 0: none),
                ``concurrent_session_limit_per_partition`` (0: none),
                ``initialization_timeout_ms`` (60000; 0: off), ``keep_expired`` (0: how many expired sessions are
                kept for :meth:`take_expired`).

        Raises:
            InvalidArgumentError: an option is malformed or unknown, or the URL is of no known form.
            UnsupportedError: this build has no such backend.
            UnavailableError: the storage failed.

        Source: ``taskhold_session_store_open``.
        """
        self._open_over(store, lib.taskhold_session_store_open, options, default)

    @classmethod
    async def open_async(
        cls, store: StoreLike = None, *, default: Default = None, **options: Unpack[SessionStoreOptions]
    ) -> Self:
        """Open a session store without blocking the loop; arguments as for the class."""
        return await opened(store, lambda: cls(store, default=default, **options))

    @gives(JsonObject)
    def options_json(self) -> str:
        """The options that the session store works with, defaults filled in, with the library's names.

        Source: ``taskhold_session_store_options``.
        """
        return self._text(lib.taskhold_session_store_options)

    @gives(Session)
    def create_json(self, endpoint: str, **creation: Unpack[SessionOptions]) -> str | None:
        """Create and admit a session: new, not initialized, version 0.

        Args:
            endpoint: the endpoint that the session belongs to, at most 1024 bytes.
            **creation: ``session_id`` (1 to 1024 visible ASCII characters; else a random one is made),
                ``authorization_partition`` (the user that it is bound to), ``session_context`` (an object).

        Returns:
            The session, or None when it is declined because the limit is reached.

        Raises:
            InvalidArgumentError: an argument is malformed.
            ConflictError: ``session_id_in_use``.
            LimitExceededError: the context is too large or too deep.

        Source: ``taskhold_session_store_create``.
        """
        return self._text_or_none(
            lib.taskhold_session_store_create,
            text(endpoint),
            self._options(creation, _SESSION_PAYLOADS),
        )

    @gives(Session)
    def find_by_session_id_json(self, session_id: str) -> str | None:
        """Find a session by its id.

        Returns:
            The session, or None when there is none or it expired.

        Raises:
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_session_store_find_by_session_id``.
        """
        return self._text_or_none(lib.taskhold_session_store_find_by_session_id, text(session_id))

    @gives(Session)
    def find_authorized_session_json(self, endpoint: str, partition: str | None, session_id: str) -> str | None:
        """Find a session that the caller may use. Unknown, expired and foreign sessions give the same answer.

        Args:
            endpoint: the endpoint that the request came to.
            partition: the authorization partition of the caller; None is the anonymous one.
            session_id: the session's id.

        Returns:
            The session, or None.

        Raises:
            InvalidArgumentError: an argument is malformed.

        Source: ``taskhold_session_store_find_authorized_session``.
        """
        return self._text_or_none(
            lib.taskhold_session_store_find_authorized_session,
            text(endpoint),
            optional_text(partition),
            text(session_id),
        )

    @gives(SessionPage)
    def list_sessions_json(self, **params: Unpack[SessionListOptions]) -> str:
        """List sessions for operators, oldest first. Never for clients: nobody's authorization is checked.

        Sessions that expired are not shown, terminated ones are. To be listed keeps no session alive.

        Args:
            **params: ``endpoint``, ``authorization_partition`` (None: the anonymous one) as filters; ``page_size`` 1 to
                1000 (100), ``page_token`` from the page before.

        Returns:
            A page; a full walk meets every session that stays meanwhile, each once.

        Raises:
            InvalidArgumentError: ``invalid_page_token``, or a parameter is malformed or unknown.

        Source: ``taskhold_session_store_list_sessions``.
        """
        return self._text(lib.taskhold_session_store_list_sessions, self._options(params))

    def iter_sessions(self, **params: Unpack[SessionFilters]) -> Iterator[Session]:
        """Go through the sessions, oldest first, page by page; as :meth:`list_sessions`, for operators.

        Args:
            **params: the filters of :meth:`list_sessions`. Sessions that cannot be read are left out; a page of
                :meth:`list_sessions` names them.
        """
        for page in pages(self.list_sessions_json, params):
            yield from page["sessions"]

    def replace(self, expected: Payload, updated: Payload) -> bool:
        """Replace a session only if it has not expired and is stored exactly as expected.

        A context with decimals compares by their spelling: go through the ``…_json`` methods then.

        Args:
            expected: the session as it was given out.
            updated: the session as it shall be: the same id, endpoint, partition and ``createdAt``, a greater
                ``version``, a ``terminatedAt`` that does not go back to None. Its first one frees its slot.
                Timestamps are written exactly as they are given out: ``2026-01-31T12:00:00.000Z``.

        Returns:
            Whether it was replaced; if not, somebody was faster or it is gone, and nothing changed.

        Raises:
            InvalidArgumentError: ``invalid_replacement``, ``invalid_timestamp``, or an argument is malformed.
            LimitExceededError: a session is too large or too deep.

        Source: ``taskhold_session_store_replace``.
        """
        return self._flag(lib.taskhold_session_store_replace, self._payload(expected), self._payload(updated))

    def delete_by_session_id(self, session_id: str) -> None:
        """Delete a session. One that is not there is fine.

        Raises:
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_session_store_delete_by_session_id``.
        """
        self._do(lib.taskhold_session_store_delete_by_session_id, text(session_id))

    def pin(self, session_id: str) -> bool:
        """Pin a session: a stream uses it, and it does not expire. Pins are counted and end with this object.

        Returns:
            Whether it is pinned; False when there is no such session or it expired.

        Raises:
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_session_store_pin``.
        """
        return self._flag(lib.taskhold_session_store_pin, text(session_id))

    def unpin(self, session_id: str) -> None:
        """Take back one pin of this object. The session's idle time starts at its last unpin.

        Raises:
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_session_store_unpin``.
        """
        self._do(lib.taskhold_session_store_unpin, text(session_id))

    @gives(list[ExpiredSession])
    def take_expired_json(self) -> str:
        """Take the sessions that expired, each once.

        These are the ones that this process removed and, in a file, those that another process removed and that were
        created or pinned through this store.

        Returns:
            The last ``keep_expired`` ones; release what you kept beside them.

        Source: ``taskhold_session_store_take_expired``.
        """
        return self._text(lib.taskhold_session_store_take_expired)


class AsyncSessionStoreCalls(AsyncClient["SessionStore"]):
    """A store of MCP sessions for asyncio: :class:`SessionStore` with the same methods, each to be awaited.

    >>> import asyncio
    >>> async def main():
    ...     async with AsyncSessionStore() as sessions:
    ...         session = await sessions.create("/mcp")
    ...         return await sessions.find_by_session_id(session["sessionId"]) == session
    >>> asyncio.run(main())
    True
    """

    def __init__(
        self, store: StoreLike = None, *, default: Default = None, **options: Unpack[SessionStoreOptions]
    ) -> None:
        """Open a session store with the first call, or by ``async with``.

        Args:
            store: where the sessions live: a :class:`Store`, its URL or path, or None for a private one in memory.
            default: what is asked for a value that JSON does not have, as by :func:`json.dumps`.
            **options: as for :class:`SessionStore`; what is wrong with them shows when it is opened.
        """
        self._prepare(store, {"default": default, **options})

    async def iter_sessions(self, **params: Unpack[SessionFilters]) -> AsyncIterator[Session]:
        """Go through the sessions, oldest first, page by page; as :meth:`list_sessions`, for operators.

        Args:
            **params: the filters of :meth:`list_sessions`. Sessions that cannot be read are left out; a page of
                :meth:`list_sessions` names them.
        """
        async for page in pages_async((await self._opened()).list_sessions_async, params):
            for session in page["sessions"]:
                yield session
