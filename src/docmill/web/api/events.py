"""Route for the stream of events about documents."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from time import monotonic
from typing import Annotated

from fastapi import Header, Query, Request
from starlette.responses import Response, StreamingResponse

from docmill.service.store import events
from docmill.service.store.events import EventRow
from docmill.web.access import Router, find_access, needs
from docmill.web.context import TheVault

router = Router(tags=["events"])

HEARTBEAT_S = 15.0
"""Shorter than the idle limits of common proxies; a client that is gone is noticed as fast. See live.js."""

_GREETING = b"retry: 2000\n\n"
_HEARTBEAT = b"event: heartbeat\ndata:\n\n"
"""A named event, since scripts of a page see no comments; one without a field of data is not dispatched."""


@router.get("/events", response_class=Response)
@needs("read")
async def follow(
    request: Request,
    vault: TheVault,
    *,
    after: Annotated[int | None, Query(ge=0, description="id of the last event received")] = None,
    last_event_id: Annotated[int | None, Header(ge=0)] = None,
) -> Response:
    """Changes of documents as server-sent events: from now on, or those after a given event."""
    start = after if last_event_id is None else last_event_id
    if start is None:
        async with vault.connection() as conn:
            start = await events.last_id(conn)

    async def may_follow() -> bool:
        now = await find_access(request, is_activity=False)
        return now is not None and now.tenant_id == vault.tenant_id and "read" in now.allows

    stream = frames(vault.service.feed.follow(vault.tenant_id, start), vault.closing, may_follow)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(stream, headers=headers, media_type="text/event-stream")


async def frames(
    batches: AsyncGenerator[list[EventRow]],
    closing: asyncio.Event,
    may_follow: Callable[[], Awaitable[bool]] | None = None,
    *,
    heartbeat_s: float = HEARTBEAT_S,
) -> AsyncGenerator[bytes]:
    """Stream events to one client, until `closing` is set, or the client may not follow them any more.

    may_follow: asked once in each `heartbeat_s`, since sessions end while their streams are open.

    There is no buffer: the next batch is read when the last one was sent, so a slow client costs no memory.
    """
    yield _GREETING
    async with aclosing(batches):
        ended = asyncio.ensure_future(closing.wait())
        batch = asyncio.ensure_future(anext(batches))
        try:
            checked_at = monotonic()
            while not ended.done():
                await asyncio.wait({ended, batch}, timeout=heartbeat_s, return_when=asyncio.FIRST_COMPLETED)
                if may_follow is not None and monotonic() - checked_at >= heartbeat_s:
                    if not await may_follow():
                        return
                    checked_at = monotonic()
                if batch.done():
                    yield b"".join(frame(event) for event in batch.result())
                    batch = asyncio.ensure_future(anext(batches))
                elif not ended.done():
                    yield _HEARTBEAT
        finally:
            for task in (ended, batch):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


def frame(event: EventRow) -> bytes:
    """Format one event. A client that was disconnected goes on from its id."""
    document_id = str(event.document_id) if event.document_id else None
    data = {"document_id": document_id, "kind": event.kind, "at": event.at.isoformat()}
    return f"id: {event.id}\ndata: {json.dumps(data)}\n\n".encode()
