"""The stream of changes."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI

from docmill.service.config.settings import Settings
from docmill.service.config.web import Web
from docmill.service.store.events import EventRow
from docmill.web.api.events import HEARTBEAT_S, frame, frames
from docmill.web.server import serve
from docmill.web.templating import STATIC

Add = Callable[..., Awaitable[UUID]]
ID = UUID("00000000-0000-7000-8000-00000000000a")


def event(number: int) -> EventRow:
    return EventRow(number, ID, ID, "created", datetime(2026, 11, 3, tzinfo=UTC))


async def batches_of(*numbers: int) -> AsyncGenerator[list[EventRow]]:
    for number in numbers:
        yield [event(number)]
    await asyncio.Event().wait()


def test_an_event_says_what_happened_to_which_document() -> None:
    text = frame(event(7)).decode()

    data = {"document_id": str(ID), "kind": "created", "at": "2026-11-03T00:00:00+00:00"}
    assert text == f"id: 7\ndata: {json.dumps(data)}\n\n"


def test_an_event_of_the_installation_names_no_document() -> None:
    text = frame(EventRow(7, ID, None, "paused", datetime(2026, 11, 3, tzinfo=UTC))).decode()

    data = {"document_id": None, "kind": "paused", "at": "2026-11-03T00:00:00+00:00"}
    assert text == f"id: 7\ndata: {json.dumps(data)}\n\n"


async def test_a_stream_without_news_says_that_it_lives() -> None:
    stream = frames(batches_of(), asyncio.Event(), heartbeat_s=0)

    assert await anext(stream) == b"retry: 2000\n\n"
    assert await anext(stream) == b"event: heartbeat\ndata:\n\n"
    await stream.aclose()


def test_pages_take_a_server_for_silent_after_two_and_a_half_heartbeats() -> None:
    module = (STATIC / "live.js").read_text()

    assert f"SILENCE_MS = {HEARTBEAT_S * 2500:.0f};" in module


async def test_a_stream_ends_when_the_vault_closes() -> None:
    closing = asyncio.Event()
    stream = frames(batches_of(1), closing)

    seen = [await anext(stream), await anext(stream)]
    closing.set()

    assert [part async for part in stream] == []
    assert seen[1] == frame(event(1))


async def test_a_fault_of_the_feed_ends_the_stream() -> None:
    async def broken() -> AsyncGenerator[list[EventRow]]:
        yield [event(1)]
        raise ConnectionError

    stream = frames(broken(), asyncio.Event())

    with pytest.raises(ConnectionError):
        _ = [part async for part in stream]


@pytest.fixture
async def running(
    app: FastAPI, settings: Settings
) -> AsyncIterator[tuple[str, asyncio.Event, asyncio.Task[None]]]:
    """A served vault: its address, what stops it, and its task."""
    stop, ready = asyncio.Event(), asyncio.Future[str]()
    somewhere = settings.model_copy(update={"web": Web(port=0)})
    task = asyncio.create_task(serve(app, somewhere, stop, ready.set_result))
    yield await asyncio.wait_for(ready, 10), stop, task
    stop.set()
    await asyncio.wait_for(task, 10)


@asynccontextmanager
async def listening(
    address: str, query: str = "", headers: dict[str, str] | None = None
) -> AsyncGenerator[AsyncIterator[dict[str, str]]]:
    """The events of a stream, as they come."""
    async with (
        httpx.AsyncClient(timeout=10) as client,
        client.stream("GET", f"{address}api/v1/events{query}", headers=headers) as response,
    ):
        assert response.headers["content-type"].startswith("text/event-stream")
        assert "content-encoding" not in response.headers
        yield _parsed(response.aiter_lines())


async def _parsed(lines: AsyncIterator[str]) -> AsyncGenerator[dict[str, str]]:
    number = ""
    async for line in lines:
        if line.startswith("id: "):
            number = line[4:]
        if line.startswith("data: "):
            yield {"id": number, **json.loads(line[6:])}


async def test_what_changes_is_told_as_it_changes(
    running: tuple[str, asyncio.Event, asyncio.Task[None]], add: Add
) -> None:
    await add("before.pdf")

    async with listening(running[0]) as events:
        document_id = await add("after.pdf")
        first = await asyncio.wait_for(anext(events), 10)

    assert (first["document_id"], first["kind"]) == (str(document_id), "created")


async def test_a_client_goes_on_after_the_last_event_it_has_seen(
    running: tuple[str, asyncio.Event, asyncio.Task[None]], add: Add
) -> None:
    known, missed = await add("known.pdf"), await add("missed.pdf")
    async with listening(running[0], "?after=0") as events:
        last = await anext(events)
        while (following := await anext(events))["document_id"] == str(known):
            last = following

    async with listening(running[0], "?after=0", {"last-event-id": last["id"]}) as events:
        resumed = await anext(events)

    assert resumed["document_id"] == str(missed)


async def test_the_vault_stops_at_once_while_streams_are_open(
    running: tuple[str, asyncio.Event, asyncio.Task[None]], add: Add
) -> None:
    address, stop, task = running
    async with listening(address, "?after=0") as events:
        await add()
        await anext(events)

        stop.set()
        await asyncio.wait_for(task, 4)  # sooner than requests are cut off

        assert [event async for event in events if event["kind"] == "deleted"] == []
