"""Server-sent events about documents."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

from docmill.service.store.events import EventRow

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
