"""Route for the stream of events about documents."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from starlette.responses import Response, StreamingResponse

from docmill.service.store import events
from docmill.service.store.events import EventRow
from docmill.web.context import TheVault

router = APIRouter(tags=["events"])


@router.get("/events", response_class=Response)
async def follow(
    vault: TheVault,
    *,
    after: Annotated[int | None, Query(ge=0, description="the last event known")] = None,
    last_event_id: Annotated[int | None, Header(ge=0)] = None,
) -> Response:
    """Changes of documents as server-sent events: from now on, or those after an event that is known."""
    start = after if last_event_id is None else last_event_id
    if start is None:
        async with vault.connection() as conn:
            start = await events.last_id(conn)
    stream = frames(vault.service.feed.follow(vault.tenant_id, start), vault.closing)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(stream, headers=headers, media_type="text/event-stream")


HEARTBEAT_S = 15.0
"""Shorter than the shortest idle limit of common proxies, and how soon a vanished client is noticed."""

_GREETING = b"retry: 2000\n\n"
_HEARTBEAT = b": still here\n\n"


async def frames(
    batches: AsyncGenerator[list[EventRow]], closing: asyncio.Event, *, heartbeat_s: float = HEARTBEAT_S
) -> AsyncGenerator[bytes]:
    """The stream for one client, until `closing` is set.

    Nothing is kept per client: the next batch is read when the last one was sent, so a slow client costs no
    memory.
    """
    yield _GREETING
    async with aclosing(batches):
        ended = asyncio.ensure_future(closing.wait())
        batch = asyncio.ensure_future(_next(batches))
        try:
            while not ended.done():
                await asyncio.wait({ended, batch}, timeout=heartbeat_s, return_when=asyncio.FIRST_COMPLETED)
                if batch.done():
                    yield b"".join(frame(event) for event in batch.result())
                    batch = asyncio.ensure_future(_next(batches))
                elif not ended.done():
                    yield _HEARTBEAT
        finally:
            await _stop(ended)
            await _stop(batch)


def frame(event: EventRow) -> bytes:
    """One event. Its id is where a client goes on after a break."""
    document_id = str(event.document_id) if event.document_id else None
    data = {"document_id": document_id, "kind": event.kind, "at": event.at.isoformat()}
    return f"id: {event.id}\ndata: {json.dumps(data)}\n\n".encode()


async def _next(batches: AsyncIterator[list[EventRow]]) -> list[EventRow]:
    return await anext(batches)


async def _stop(task: asyncio.Future[Any]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
