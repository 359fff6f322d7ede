"""Route for the stream of events about documents."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Annotated

from fastapi import Header, Query
from starlette.responses import Response, StreamingResponse

from docmill.service.store import events
from docmill.service.store.events import EventRow
from docmill.web.access import Router, needs
from docmill.web.context import TheVault

router = Router(tags=["events"])

HEARTBEAT_S = 15.0
"""Shorter than the idle limits of common proxies; a client that is gone is noticed as fast."""

_GREETING = b"retry: 2000\n\n"
_HEARTBEAT = b": still here\n\n"


@router.get("/events", response_class=Response)
@needs("read")
async def follow(
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
    stream = frames(vault.service.feed.follow(vault.tenant_id, start), vault.closing)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(stream, headers=headers, media_type="text/event-stream")


async def frames(
    batches: AsyncGenerator[list[EventRow]], closing: asyncio.Event, *, heartbeat_s: float = HEARTBEAT_S
) -> AsyncGenerator[bytes]:
    """Stream events to one client, until `closing` is set.

    There is no buffer: the next batch is read when the last one was sent, so a slow client costs no memory.
    """
    yield _GREETING
    async with aclosing(batches):
        ended = asyncio.ensure_future(closing.wait())
        batch = asyncio.ensure_future(anext(batches))
        try:
            while not ended.done():
                await asyncio.wait({ended, batch}, timeout=heartbeat_s, return_when=asyncio.FIRST_COMPLETED)
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
