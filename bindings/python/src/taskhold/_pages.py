"""Walks over the pages of a listing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

from ._decode import loads

P = TypeVar("P")

# Enough that a page costs little beside its records, and in every listing's bounds.
_PAGE_SIZE = 100


def pages(listing: Callable[..., str], params: Mapping[str, Any]) -> Iterator[Any]:
    """Each page of a listing that gives texts."""
    token = ""
    while True:
        page = loads(listing(**params, page_size=_PAGE_SIZE, page_token=token))
        yield page
        token = page["nextPageToken"]
        if not token:
            return


async def pages_async(listing: Callable[..., Awaitable[P]], params: Mapping[str, Any]) -> AsyncIterator[P]:
    """Each page of a listing on asyncio."""
    token = ""
    while True:
        page: Any = await listing(**params, page_size=_PAGE_SIZE, page_token=token)
        yield page
        token = page["nextPageToken"]
        if not token:
            return
