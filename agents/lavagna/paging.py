"""Paging: long answers, a page at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeVar


class _Request(Protocol):
    page_token: str


class _Page(Protocol):
    next_page_token: str


Request = TypeVar("Request", bound=_Request)
Page = TypeVar("Page", bound=_Page)


async def pages(
    fetch: Callable[[Request], Awaitable[Page]], request: Request
) -> AsyncIterator[Page]:
    """Every page of the answer, each asked for when the one before has been used up."""
    while True:
        page = await fetch(request)
        yield page
        if not page.next_page_token:
            return
        request.page_token = page.next_page_token
