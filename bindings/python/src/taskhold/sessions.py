"""The session store: MCP sessions, admitted up to a limit and replaced by compare-and-set.

Written by generate.py from _sessions.py.
"""

from __future__ import annotations

from typing import Unpack, cast

from ._decode import loads
from ._sessions import AsyncSessionStoreCalls, SessionStoreCalls
from .types import ExpiredSession, JsonObject, Payload, Session, SessionListOptions, SessionOptions, SessionPage


class SessionStore(SessionStoreCalls):
    """A store of MCP sessions: it admits and finds them, and replaces them by compare-and-set.

    >>> sessions = SessionStore()
    >>> session = sessions.create("/mcp", authorization_partition="alice")
    >>> sessions.replace(session, {**session, "initialized": True, "version": session["version"] + 1})
    True
    >>> sessions.replace(session, {**session, "version": 7})
    False
    """

    def options(self) -> JsonObject:
        """The options that the session store works with, defaults filled in, with the library's names.

        Source: ``taskhold_session_store_options``.
        """
        return cast(JsonObject, loads(self.options_json()))

    async def options_async(self) -> JsonObject:
        """As :meth:`options`, on asyncio."""
        return await self._made(lambda: self.options())

    async def options_json_async(self) -> str:
        """As :meth:`options_json`, on asyncio."""
        return await self._made(lambda: self.options_json())

    def create(self, endpoint: str, **creation: Unpack[SessionOptions]) -> Session | None:
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
        text = self.create_json(endpoint, **creation)
        return None if text is None else cast(Session, loads(text))

    async def create_async(self, endpoint: str, **creation: Unpack[SessionOptions]) -> Session | None:
        """As :meth:`create`, on asyncio."""
        return await self._made(lambda: self.create(endpoint, **creation))

    async def create_json_async(self, endpoint: str, **creation: Unpack[SessionOptions]) -> str | None:
        """As :meth:`create_json`, on asyncio."""
        return await self._made(lambda: self.create_json(endpoint, **creation))

    def find_by_session_id(self, session_id: str) -> Session | None:
        """Find a session by its id.

        Returns:
            The session, or None when there is none or it expired.

        Raises:
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_session_store_find_by_session_id``.
        """
        text = self.find_by_session_id_json(session_id)
        return None if text is None else cast(Session, loads(text))

    async def find_by_session_id_async(self, session_id: str) -> Session | None:
        """As :meth:`find_by_session_id`, on asyncio."""
        return await self._made(lambda: self.find_by_session_id(session_id))

    async def find_by_session_id_json_async(self, session_id: str) -> str | None:
        """As :meth:`find_by_session_id_json`, on asyncio."""
        return await self._made(lambda: self.find_by_session_id_json(session_id))

    def find_authorized_session(self, endpoint: str, partition: str | None, session_id: str) -> Session | None:
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
        text = self.find_authorized_session_json(endpoint, partition, session_id)
        return None if text is None else cast(Session, loads(text))

    async def find_authorized_session_async(
        self, endpoint: str, partition: str | None, session_id: str
    ) -> Session | None:
        """As :meth:`find_authorized_session`, on asyncio."""
        return await self._made(lambda: self.find_authorized_session(endpoint, partition, session_id))

    async def find_authorized_session_json_async(
        self, endpoint: str, partition: str | None, session_id: str
    ) -> str | None:
        """As :meth:`find_authorized_session_json`, on asyncio."""
        return await self._made(lambda: self.find_authorized_session_json(endpoint, partition, session_id))

    def list_sessions(self, **params: Unpack[SessionListOptions]) -> SessionPage:
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
        return cast(SessionPage, loads(self.list_sessions_json(**params)))

    async def list_sessions_async(self, **params: Unpack[SessionListOptions]) -> SessionPage:
        """As :meth:`list_sessions`, on asyncio."""
        return await self._made(lambda: self.list_sessions(**params))

    async def list_sessions_json_async(self, **params: Unpack[SessionListOptions]) -> str:
        """As :meth:`list_sessions_json`, on asyncio."""
        return await self._made(lambda: self.list_sessions_json(**params))

    async def replace_async(self, expected: Payload, updated: Payload) -> bool:
        """As :meth:`replace`, on asyncio."""
        return await self._made(lambda: self.replace(expected, updated))

    async def delete_by_session_id_async(self, session_id: str) -> None:
        """As :meth:`delete_by_session_id`, on asyncio."""
        return await self._made(lambda: self.delete_by_session_id(session_id))

    async def pin_async(self, session_id: str) -> bool:
        """As :meth:`pin`, on asyncio."""
        return await self._made(lambda: self.pin(session_id))

    async def unpin_async(self, session_id: str) -> None:
        """As :meth:`unpin`, on asyncio."""
        return await self._made(lambda: self.unpin(session_id))

    def take_expired(self) -> list[ExpiredSession]:
        """Take the sessions that expired, each once.

        These are the ones that this process removed and, in a file, those that another process removed and that were
        created or pinned through this store.

        Returns:
            The last ``keep_expired`` ones; release what you kept beside them.

        Source: ``taskhold_session_store_take_expired``.
        """
        return cast(list[ExpiredSession], loads(self.take_expired_json()))

    async def take_expired_async(self) -> list[ExpiredSession]:
        """As :meth:`take_expired`, on asyncio."""
        return await self._made(lambda: self.take_expired())

    async def take_expired_json_async(self) -> str:
        """As :meth:`take_expired_json`, on asyncio."""
        return await self._made(lambda: self.take_expired_json())


class AsyncSessionStore(AsyncSessionStoreCalls):
    """A store of MCP sessions for asyncio: :class:`SessionStore` with the same methods, each to be awaited.

    >>> import asyncio
    >>> async def main():
    ...     async with AsyncSessionStore() as sessions:
    ...         session = await sessions.create("/mcp")
    ...         return await sessions.find_by_session_id(session["sessionId"]) == session
    >>> asyncio.run(main())
    True
    """

    _opens = SessionStore

    async def options(self) -> JsonObject:
        """The options that the session store works with, defaults filled in, with the library's names.

        Source: ``taskhold_session_store_options``.
        """
        client = self._client or await self._opened()
        return await client.options_async()

    async def options_json(self) -> str:
        """As :meth:`options`; gives the text."""
        client = self._client or await self._opened()
        return await client.options_json_async()

    async def create(self, endpoint: str, **creation: Unpack[SessionOptions]) -> Session | None:
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
        client = self._client or await self._opened()
        return await client.create_async(endpoint, **creation)

    async def create_json(self, endpoint: str, **creation: Unpack[SessionOptions]) -> str | None:
        """As :meth:`create`; gives the text."""
        client = self._client or await self._opened()
        return await client.create_json_async(endpoint, **creation)

    async def find_by_session_id(self, session_id: str) -> Session | None:
        """Find a session by its id.

        Returns:
            The session, or None when there is none or it expired.

        Raises:
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_session_store_find_by_session_id``.
        """
        client = self._client or await self._opened()
        return await client.find_by_session_id_async(session_id)

    async def find_by_session_id_json(self, session_id: str) -> str | None:
        """As :meth:`find_by_session_id`; gives the text."""
        client = self._client or await self._opened()
        return await client.find_by_session_id_json_async(session_id)

    async def find_authorized_session(self, endpoint: str, partition: str | None, session_id: str) -> Session | None:
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
        client = self._client or await self._opened()
        return await client.find_authorized_session_async(endpoint, partition, session_id)

    async def find_authorized_session_json(self, endpoint: str, partition: str | None, session_id: str) -> str | None:
        """As :meth:`find_authorized_session`; gives the text."""
        client = self._client or await self._opened()
        return await client.find_authorized_session_json_async(endpoint, partition, session_id)

    async def list_sessions(self, **params: Unpack[SessionListOptions]) -> SessionPage:
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
        client = self._client or await self._opened()
        return await client.list_sessions_async(**params)

    async def list_sessions_json(self, **params: Unpack[SessionListOptions]) -> str:
        """As :meth:`list_sessions`; gives the text."""
        client = self._client or await self._opened()
        return await client.list_sessions_json_async(**params)

    async def replace(self, expected: Payload, updated: Payload) -> bool:
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
        client = self._client or await self._opened()
        return await client.replace_async(expected, updated)

    async def delete_by_session_id(self, session_id: str) -> None:
        """Delete a session. One that is not there is fine.

        Raises:
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_session_store_delete_by_session_id``.
        """
        client = self._client or await self._opened()
        return await client.delete_by_session_id_async(session_id)

    async def pin(self, session_id: str) -> bool:
        """Pin a session: a stream uses it, and it does not expire. Pins are counted and end with this object.

        Returns:
            Whether it is pinned; False when there is no such session or it expired.

        Raises:
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_session_store_pin``.
        """
        client = self._client or await self._opened()
        return await client.pin_async(session_id)

    async def unpin(self, session_id: str) -> None:
        """Take back one pin of this object. The session's idle time starts at its last unpin.

        Raises:
            InvalidArgumentError: the id is malformed.

        Source: ``taskhold_session_store_unpin``.
        """
        client = self._client or await self._opened()
        return await client.unpin_async(session_id)

    async def take_expired(self) -> list[ExpiredSession]:
        """Take the sessions that expired, each once.

        These are the ones that this process removed and, in a file, those that another process removed and that were
        created or pinned through this store.

        Returns:
            The last ``keep_expired`` ones; release what you kept beside them.

        Source: ``taskhold_session_store_take_expired``.
        """
        client = self._client or await self._opened()
        return await client.take_expired_async()

    async def take_expired_json(self) -> str:
        """As :meth:`take_expired`; gives the text."""
        client = self._client or await self._opened()
        return await client.take_expired_json_async()
