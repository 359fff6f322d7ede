"""Route for the stream of events about documents."""

from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.responses import Response, StreamingResponse

from docmill.service.store import events
from docmill.web.context import TheVault
from docmill.web.stream import frames

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
