"""Requests that arrive slowly or in part, at a real server."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from fastapi import FastAPI, Request

from docmill.service.config.web import Web
from docmill.web.request_limits import BodyPace, RequestLimits
from docmill.web.server import answer, listen

SHORT = RequestLimits(head_s=0.3, body_s=0.3, slowest_bytes_s=100)
LONG = RequestLimits(head_s=60, body_s=60, slowest_bytes_s=1)
POST = b"POST /read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"


def application() -> FastAPI:
    """/read: answers the body. /ignore: answers before the body. The outcomes of reading are kept."""
    app = FastAPI()
    app.state.outcomes = []

    @app.post("/read")
    async def read(request: Request) -> str:
        try:
            body = await request.body()
        except Exception as error:
            app.state.outcomes.append(type(error).__name__)
            raise
        return body.decode()

    @app.post("/ignore")
    async def ignore() -> str:
        return "refused"

    @app.get("/slow")
    async def slow() -> str:
        await app.state.goes_on.wait()
        return "done"

    return app


@asynccontextmanager
async def serving(app: FastAPI, limits: RequestLimits) -> AsyncGenerator[int]:
    """The port of a server with these limits."""
    stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
    with listen("127.0.0.1", 0, setting="web.port") as listener:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(answer(app, listener, stop, ready.set_result, limits=limits))
            await ready
            yield listener.getsockname()[1]
            stop.set()


async def sent(port: int, *pieces: bytes) -> bytes:
    """Send pieces and return everything that comes back until the server ends the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
    try:
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


@pytest.mark.parametrize(
    "beginning", [b"G", b"GET /read HTTP/1.1\r\nHost: local", b"GET / HTTP/1.1\r\nX: y\r\n"]
)
async def test_a_head_that_does_not_end_is_given_up(beginning: bytes) -> None:
    async with serving(application(), SHORT) as port:
        answer = await sent(port, beginning)

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert answer.endswith(b"The request did not arrive in time. Send it again.")


async def test_a_connection_on_which_nothing_comes_is_closed_without_a_word() -> None:
    async with serving(application(), SHORT) as port:
        assert await sent(port) == b""


async def test_the_head_of_a_second_request_has_a_limit_of_its_own() -> None:
    async with serving(application(), SHORT) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(POST + b"0123456789")
        first = await reader.readuntil(b'"0123456789"')
        writer.write(b"GET /read HTTP/1.1\r\nHo")
        second = await asyncio.wait_for(reader.read(), 20)
        writer.close()

    assert first.startswith(b"HTTP/1.1 200 ")
    assert second.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(
    "request_",
    [POST, POST + b"012", POST.replace(b"Content-Length: 10", b"Transfer-Encoding: chunked") + b"5\r\n01"],
)
async def test_a_body_that_does_not_arrive_is_given_up_and_looks_like_a_broken_connection(
    request_: bytes,
) -> None:
    app = application()
    async with serving(app, SHORT) as port:
        answer = await sent(port, request_)

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert app.state.outcomes == ["ClientDisconnect"]


async def test_the_rest_of_a_body_that_nobody_wants_is_not_awaited_for_ever() -> None:
    async with serving(application(), SHORT) as port:
        answer = await sent(port, POST.replace(b"/read", b"/ignore"), b"0")

    assert answer.startswith(b"HTTP/1.1 200 ")


async def test_what_arrives_in_pieces_and_a_slow_answer_are_no_fault_of_the_client() -> None:
    app = application()
    app.state.goes_on = asyncio.Event()
    async with serving(app, SHORT) as port:
        slow = asyncio.create_task(
            sent(port, b"GET /slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        )
        given_up = await sent(port, b"GET /sl")  # a whole limit has passed when this ends
        app.state.goes_on.set()
        answers = [await slow]
    async with serving(app, LONG) as port:
        pieces = [
            POST[:30],
            POST[30:-2].replace(b"Host", b"Connection: close\r\nHost"),
            b"\r\n",
            b"01234",
            b"56789",
        ]
        answers.append(await sent(port, *pieces))

    assert given_up.startswith(b"HTTP/1.1 408 ")
    assert [answer[:13] for answer in answers] == [b"HTTP/1.1 200 "] * 2
    assert answers[1].endswith(b'"0123456789"')


def test_a_slow_but_steady_body_is_taken() -> None:
    pace = BodyPace(least=100)

    for _ in range(500):
        pace.add(10)
        assert not pace.is_too_slow(is_awaited=True)


def test_a_body_that_comes_to_a_stop_is_too_slow_after_one_more_time() -> None:
    pace = BodyPace(least=100)
    pace.add(10**9)
    assert not any(pace.is_too_slow(is_awaited=True) for _ in range(10))

    assert [pace.is_too_slow(is_awaited=True) for _ in range(10)] == [False] * 9 + [True]


def test_the_time_of_the_server_is_not_that_of_the_client() -> None:
    pace = BodyPace(least=100)

    assert not any(pace.is_too_slow(is_awaited=False) for _ in range(1000))


def test_the_limits_are_those_of_the_settings() -> None:
    assert RequestLimits.of(Web()) == RequestLimits()
    assert RequestLimits.of(Web(head_s=1, body_s=2, slowest_bytes_s=3)) == RequestLimits(1, 2, 3)
